package tool

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"handrail/core/command"
	"handrail/core/credential"
	"handrail/core/hint"
	"handrail/sandbox"
)

// withhold refuses an answer that holds a credential, whatever tool it is from: the whole of it, for what
// surrounds a credential may say what it opens.
func withhold(a answer) error {
	kind, ok := credential.Find([]byte(a.text))
	if !ok && a.data != nil {
		text, err := json.Marshal(a.data)
		if err != nil {
			return err
		}
		var data any
		if err := json.Unmarshal(text, &data); err != nil {
			return err
		}
		for s := range texts(data) {
			if kind, ok = credential.Find([]byte(s)); ok {
				break
			}
		}
	}
	if !ok {
		return nil
	}
	return withheld(kind)
}

func withheld(kind string) error {
	return hint.New("credential", "the result was withheld").Because("it holds what looks like a credential: " + kind).
		Then("leave that file or line out, or ask the person to look themselves")
}

// texts gives every text in what a JSON text stands for.
func texts(data any) func(func(string) bool) {
	return func(yield func(string) bool) { eachText(data, yield) }
}

func eachText(data any, yield func(string) bool) bool {
	switch data := data.(type) {
	case string:
		return yield(data)
	case []any:
		return !slices.ContainsFunc(data, func(d any) bool { return !eachText(d, yield) })
	case map[string]any:
		for _, d := range data {
			if !eachText(d, yield) {
				return false
			}
		}
	}
	return true
}

// nameFilter leaves out the lines that name what is closed to assistants, of what programs write that list names (find, ls,
// du, git ls-files …) or put the name before a line (grep, rg, git grep), and the parts of a diff that are about such a file. It
// reads lines as these programs usually write them, so a name that a format of the model's own cuts up goes through: the
// content of such a file doesn't, for it is closed by itself.
type nameFilter struct {
	decide func(sandbox.Op, string) sandbox.Decision
	// bases are folders that a relative name may start at.
	bases               []string
	lists, greps, diffs bool
	outside             bool   // what can't be read is left out too (mdfind)
	part                string // the folder of which ls -R tells
	inClosed            bool   // in a part of a diff
	left                int
}

// newNameFilter makes the filter for a pipeline's output; nil if none of its programs names files.
func newNameFilter(v command.Verdict, dir string, decide func(sandbox.Op, string) sandbox.Decision) *nameFilter {
	f := &nameFilter{decide: decide, bases: []string{dir}}
	for _, s := range v.Stages {
		switch filepath.Base(s.Argv[0]) {
		case "find", "ls", "du":
			f.lists = true
		case "mdfind":
			f.lists, f.outside = true, true
		case "grep", "rg":
			f.greps = true
		case "git":
			switch subcommand(s.Argv) {
			case "grep":
				f.greps = true
			case "diff", "log", "show":
				f.diffs = true
			default:
				f.lists = true
			}
		}
	}
	for _, p := range v.Paths {
		if len(f.bases) < 8 && p.Path != "" && !slices.Contains(f.bases, p.Path) {
			f.bases = append(f.bases, p.Path)
		}
	}
	if !f.lists && !f.greps && !f.diffs {
		return nil
	}
	return f
}

// subcommand is git's.
func subcommand(argv []string) string {
	for _, w := range argv[1:] {
		if !strings.HasPrefix(w, "-") {
			return w
		}
	}
	return ""
}

// text filters output. It makes it plain text too: what colours would hide in a name is seen. complaints says that it is error
// text, in which names are quoted.
func (f *nameFilter) text(raw []byte, complaints bool) string {
	var b strings.Builder
	for line := range bytes.SplitAfterSeq(raw, []byte("\n")) {
		parts := bytes.Split(line, []byte{0})
		if len(parts) == 1 {
			if text := plainText(line).text; f == nil || f.keep(text, complaints) {
				b.WriteString(text)
			}
			continue
		}
		// Names that end in NUL: alone (find -print0), or before a line (grep -Z).
		for i, part := range parts {
			text := plainText(part).text
			if f != nil && !f.keep(text, complaints) {
				if f.greps {
					break
				}
				continue
			}
			b.WriteString(text)
			if i < len(parts)-1 {
				b.WriteString("\n")
			}
		}
	}
	return b.String()
}

// keep reports whether a line stays.
func (f *nameFilter) keep(line string, complaint bool) bool {
	line = strings.TrimRight(line, "\r\n")
	closed := complaint && slices.ContainsFunc(quoted.FindAllStringSubmatch(line, 4), func(m []string) bool { return f.closed(m[1] + m[2] + m[3]) })
	if f.diffs && !complaint {
		closed = f.diff(line)
	}
	if f.lists && !closed {
		closed = f.listed(line)
	}
	if f.greps && !closed {
		closed = f.before(line)
	}
	if closed {
		f.left++
	}
	return !closed
}

// decoration is what ls, git and shells put around a name.
const decoration = " \t\"'`*/=>@|"

func (f *nameFilter) closed(name string) bool {
	name = strings.Trim(name, decoration[:5])
	if trimmed := strings.TrimRight(name, decoration); trimmed != "" {
		name = trimmed
	}
	if name == "" || len(name) > 4096 {
		return false
	}
	if _, ok := sandbox.Sensitive(name); ok && (!filepath.IsAbs(name) || !f.decide(sandbox.Read, filepath.Clean(name)).Allowed) {
		return true
	}
	if filepath.IsAbs(name) {
		d := f.decide(sandbox.Read, filepath.Clean(name))
		return d.Closed || f.outside && !d.Allowed
	}
	for _, base := range append(f.bases, f.part) {
		if base != "" && f.decide(sandbox.Read, filepath.Join(base, name)).Closed {
			return true
		}
	}
	return false
}

var separators = regexp.MustCompile(`[\s,|;:"'<>()\[\]{}=*@]+`)

// listed looks for a closed name in a line of a listing: the line itself, what stands behind a number of columns, each word,
// and both sides of a link's arrow.
func (f *nameFilter) listed(line string) bool {
	if folder, ok := strings.CutSuffix(line, ":"); ok {
		f.part = folder
		if !filepath.IsAbs(folder) {
			f.part = filepath.Join(f.bases[0], folder)
		}
	}
	if f.closed(line) {
		return true
	}
	if !strings.ContainsAny(line, " \t,|;:\"'<>()[]{}=*@") {
		return false
	}
	for _, word := range separators.Split(line, -1) {
		if f.closed(word) {
			return true
		}
	}
	rest := line
	for range 12 { // columns before the name
		at := strings.IndexAny(rest, " \t")
		if at < 0 {
			break
		}
		rest = strings.TrimLeft(rest[at:], " \t")
		if f.closed(rest) {
			return true
		}
		if name, target, ok := strings.Cut(rest, " -> "); ok && (f.closed(name) || f.closed(target)) {
			return true
		}
	}
	return false
}

// contextLine is how grep marks lines around a match: name-12-text.
var contextLine = regexp.MustCompile(`[-:=]\d+[-:=]`)

// before looks for a closed name before a line of a file: up to a colon, or up to the number of the line.
func (f *nameFilter) before(line string) bool {
	from := 0
	if !strings.Contains(line, ":") && f.closed(line) {
		return true
	}
	for range 3 {
		at := strings.IndexByte(line[from:], ':')
		if at < 0 {
			break
		}
		if f.closed(line[:from+at]) || f.closed(line[from:from+at]) {
			return true
		}
		from += at + 1
	}
	for _, m := range contextLine.FindAllStringIndex(line, 3) {
		if f.closed(line[:m[0]]) {
			return true
		}
	}
	if rest, ok := strings.CutPrefix(line, "Binary file "); ok {
		return f.closed(strings.TrimSuffix(strings.TrimSuffix(rest, "."), " matches"))
	}
	return false
}

var (
	diffHead   = regexp.MustCompile(`^[|*/\\_ ]*(diff --(?:git|cc|combined) .*)$`)
	commitHead = regexp.MustCompile(`^[|*/\\_ ]*commit [0-9a-f]{7,64}`)
)

// diff looks for names in what git diff, log and show write, and leaves a file's whole part out.
func (f *nameFilter) diff(line string) bool {
	if m := diffHead.FindStringSubmatch(line); m != nil {
		f.inClosed = false
		for _, word := range separators.Split(m[1], -1) {
			if f.closed(word) {
				f.inClosed = true
			}
		}
		return f.inClosed
	}
	if f.inClosed {
		if f.inClosed = !commitHead.MatchString(line); f.inClosed {
			return true
		}
	}
	// --name-only, --name-status, --numstat, --raw: the name alone or behind a tab; --stat: before a bar.
	name := line[strings.LastIndexByte(line, '\t')+1:]
	if at := strings.Index(name, " | "); at >= 0 {
		name = name[:at]
	}
	if name = strings.TrimLeft(name, "|*\\_ "); strings.Contains(name, " ") && name == strings.TrimSpace(line) {
		return false // a sentence
	}
	return f.closed(name)
}
