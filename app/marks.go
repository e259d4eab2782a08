package app

import (
	"slices"
	"strings"

	"handrail/core/approval"
)

// Mark says how a part of a fact's value is shown, so that a command is read faster. It takes nothing away: what isn't marked, or
// is marked wrongly, stands there all the same.
type Mark struct {
	// From and To are places in the value, in bytes.
	From int    `json:"from"`
	To   int    `json:"to"`
	As   MarkAs `json:"as"`
}

// MarkAs is what a part of a command is. The zero value is an argument, which isn't marked.
type MarkAs string

const (
	MarkProgram  MarkAs = "program"
	MarkRedirect MarkAs = "redirect" // where its output goes or its input comes from, with the sign before it
	MarkDelete   MarkAs = "delete"   // what it deletes or overwrites
)

// mostMarks is how many parts of a command are marked.
const mostMarks = 1000

// shellWords begin or join commands and are none.
var shellWords = strings.Fields("if then elif else fi for while until do done case esac in { } ! time function select")

// marks finds the parts of a command in its text as it is shown: programs where a command begins and where one of its files is
// named, redirects, and what the question says that it deletes. It reads quotes and signs as a shell does, and nothing more.
func marks(value string, c *approval.Command) (list []Mark) {
	var programs, deletes []string
	for _, f := range c.Files {
		programs = append(programs, Escape(f.Path))
	}
	for _, d := range c.Deletes {
		deletes = append(deletes, Escape(d))
	}
	begins, redirects := true, false
	for i := 0; i < len(value) && len(list) < mostMarks; {
		switch b := value[i]; {
		case b == ' ' || b == '\t':
			i++
		case b == '#': // at the beginning of a word
			for i < len(value) && value[i] != '\n' {
				i++
			}
		case b == '\n' || strings.IndexByte(";|&()", b) >= 0:
			if b != '&' || i+1 == len(value) || value[i+1] != '>' {
				begins, redirects = true, false
				i++
				continue
			}
			fallthrough
		case b == '<' || b == '>' || b >= '0' && b <= '9' && i+1 < len(value) && (value[i+1] == '<' || value[i+1] == '>'):
			from := i
			for i++; i < len(value) && strings.IndexByte("<>&|", value[i]) >= 0; i++ {
			}
			list = append(list, Mark{from, i, MarkRedirect})
			redirects = true
		default:
			from := i
			i = wordEnds(value, i)
			word := value[from:i]
			bare := strings.Trim(word, `'"`)
			as := MarkAs("")
			switch name, _, assigns := strings.Cut(word, "="); {
			case slices.Contains(deletes, bare):
				as = MarkDelete
			case redirects:
				as = MarkRedirect
			case begins && assigns && name != "" && !strings.ContainsAny(name, `/'"$`), begins && slices.Contains(shellWords, word):
				continue // the command still comes
			case begins, slices.Contains(programs, bare):
				as = MarkProgram
			}
			if !redirects {
				begins = false
			}
			if redirects = false; as != "" {
				list = append(list, Mark{from, i, as})
			}
		}
	}
	return list
}

// wordEnds gives the end of the word that begins at i.
func wordEnds(value string, i int) int {
	for ; i < len(value); i++ {
		switch b := value[i]; {
		case b == '\\':
			i++
		case b == '\'' || b == '"':
			for i++; i < len(value) && value[i] != b; i++ {
				if b == '"' && value[i] == '\\' {
					i++
				}
			}
		case strings.IndexByte(" \t\n;|&()<>", b) >= 0:
			return i
		}
	}
	return min(i, len(value))
}

// Parts takes a fact's value apart: lines, each in parts that are shown alike.
func (f Fact) Parts() (lines [][]Part) {
	at := 0
	for line := range strings.SplitSeq(f.Value, "\n") {
		end := at + len(line)
		var parts []Part
		add := func(from, to int, as MarkAs) {
			if from < to {
				parts = append(parts, Part{f.Value[from:to], as})
			}
		}
		done := at
		for _, m := range f.Marks {
			from, to := max(m.From, done), min(m.To, end)
			if from >= to { // on another line
				continue
			}
			add(done, from, "")
			add(from, to, m.As)
			done = to
		}
		add(done, end, "")
		lines = append(lines, parts)
		at = end + 1
	}
	return lines
}

// Part is a piece of a line.
type Part struct {
	Text string
	As   MarkAs
}
