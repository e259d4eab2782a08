package edit

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"handrail/core/hint"
)

// How hard notFound looks: at so much of the text, for an old_string of so many bytes. Its work grows with the text alone.
const (
	searched   = 8 << 20
	longestOld = 64 << 10
	// alike is the least share of three-letter pieces that a block must have in common with old_string to be named.
	alike = 0.6
)

// notFound says why old doesn't occur in b: what differs from it and where, or which block is closest. b has \n as its
// only line end. Nothing is ever changed on the strength of it.
func notFound(b []byte, old string) error {
	h := hint.New("not_found", "old_string does not occur in the file")
	again := "call read_file and copy the text exactly"
	want := lf(old)
	if len(want) > longestOld || len(b) > searched {
		return h.Then(again)
	}
	if plain := strings.TrimRight(want, "\n"); plain != want && plain != "" && bytes.HasSuffix(b, []byte(plain)) {
		return h.Because(fmt.Sprintf("it ends with a line end, and the file ends without one on line %d", 1+bytes.Count(b, []byte{'\n'}))).
			Then("leave the line end out of old_string")
	}
	if plain := unnumbered(want); plain != want && bytes.Contains(b, []byte(plain)) {
		return h.Because("it holds line numbers, which are not part of the file").Then("leave them out")
	}
	if plain := unescaped(want); plain != want && bytes.Contains(b, []byte(plain)) {
		return h.Because(`it holds \n, \t or \" as two characters where the file has the character itself`).Then("escape it once, not twice")
	}
	if line, what := differs(b, want); line > 0 {
		return h.Because(what).Then(again)
	}
	if first, last, what := closest(b, want); first > 0 {
		return h.Because("the closest text is " + rangeOf(first, last) + "; " + what).Then(again)
	}
	return h.Then(again)
}

var lineNumber = regexp.MustCompile(`(?m)^[ \t]*\d+(?:\t|[|:→] ?)`)

func unnumbered(s string) string {
	if len(lineNumber.FindAllStringIndex(s, -1)) <= strings.Count(strings.TrimSuffix(s, "\n"), "\n") {
		return s
	}
	return lineNumber.ReplaceAllString(s, "")
}

func unescaped(s string) string {
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`, `\\`, `\`).Replace(s)
}

// difference is a kind of difference that fold takes away.
type difference uint16

const (
	byCase difference = 1 << iota
	byForm
	byQuotes
	bySpaces
	byIndent
	byTrail
	byGap
	byHidden
	byBytes
	allDifferences = 1<<iota - 1
)

var differences = []struct {
	d    difference
	name string
	// has tells whether a character is the odd one; nil where the difference isn't one character.
	has func(rune) bool
}{
	{byCase, "in upper and lower case", nil},
	{byForm, "in Unicode normalisation (composed and decomposed characters)", nil},
	{byQuotes, "in quotes or dashes", func(r rune) bool { return r >= utf8.RuneSelf && plainRune(r) != r && plainRune(r) != ' ' }},
	{bySpaces, "in the kind of spaces", func(r rune) bool { return r >= utf8.RuneSelf && plainRune(r) == ' ' }},
	{byIndent, "in indentation (tabs, or the number of blanks)", nil},
	{byTrail, "in blanks at the end of a line", nil},
	{byGap, "in tabs or the number of blanks inside a line", nil},
	{byHidden, "in invisible characters", hidden},
	{byBytes, "in bytes that are not UTF-8 (shown as U+FFFD)", nil},
}

// differs looks for a place that is equal to old but for case, normalisation, quotes, blanks and the like. It gives its
// line and a sentence; line is 0 where there is none.
func differs(b []byte, old string) (line int, what string) {
	if !foldable(old) {
		return 0, ""
	}
	folded := fold(b, allDifferences)
	at := bytes.Index(folded, fold([]byte(old), allDifferences))
	if at < 0 {
		return 0, ""
	}
	line = 1 + bytes.Count(folded[:at], []byte{'\n'})
	place := blockAt(b, line, 1+strings.Count(old, "\n"))
	var names []string
	for _, d := range differences {
		// A difference counts if without looking past it the place isn't equal.
		if bytes.Contains(fold(place, allDifferences&^d.d), fold([]byte(old), allDifferences&^d.d)) {
			continue
		}
		name := d.name
		if d.has != nil {
			if r, in := odd(place, old, d.has); in != "" {
				name += fmt.Sprintf(" (%s has %s)", in, show(r))
			}
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return 0, ""
	}
	last := line + strings.Count(strings.TrimSuffix(old, "\n"), "\n")
	return line, fmt.Sprintf("only what differs %s keeps it from matching at %s", strings.Join(names, ", and "), rangeOf(line, last))
}

func rangeOf(first, last int) string {
	if first == last {
		return fmt.Sprintf("line %d", first)
	}
	return fmt.Sprintf("lines %d to %d", first, last)
}

// foldable reports whether enough of old is left to compare.
func foldable(old string) bool {
	return len(bytes.TrimSpace(fold([]byte(old), allDifferences))) > 0
}

// odd finds a character that has reports in the file but not in old, or the other way round.
func odd(place []byte, old string, has func(rune) bool) (r rune, in string) {
	for _, r := range string(place) {
		if has(r) && !strings.ContainsRune(old, r) {
			return r, "the file"
		}
	}
	for _, r := range old {
		if has(r) && !bytes.ContainsRune(place, r) {
			return r, "old_string"
		}
	}
	return 0, ""
}

// blockAt gives n lines from line on.
func blockAt(b []byte, line, n int) []byte {
	start, end, _ := body{b: b}.span(line, line+n-1)
	return b[start:max(start, end)]
}

// fold takes the differences d away. It keeps the number of lines.
func fold(b []byte, d difference) []byte {
	if d&byForm != 0 {
		b = norm.NFC.Bytes(b)
	}
	out := make([]byte, 0, len(b))
	lineStart, blanks := true, 0 // blanks counts those that wait at the end of out
	for i := 0; i < len(b); {
		r, n := rune(b[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(b[i:])
		}
		i += n
		if r == utf8.RuneError && n == 1 && d&byBytes == 0 {
			out = append(out, b[i-1])
			continue
		}
		if r >= utf8.RuneSelf {
			if d&byHidden != 0 && hidden(r) {
				continue
			}
			if p := plainRune(r); p == ' ' && d&bySpaces != 0 || p != ' ' && d&byQuotes != 0 {
				r = p
			}
		}
		switch {
		case r == '\n':
			if d&byTrail != 0 {
				out = out[:len(out)-blanks]
			}
			out = append(out, '\n')
			lineStart, blanks = true, 0
		case r == ' ' || r == '\t':
			if lineStart && d&byIndent != 0 {
				continue
			}
			if !lineStart && d&byGap != 0 {
				r = ' '
				if blanks > 0 {
					continue
				}
			}
			out = append(out, byte(r))
			blanks++
		default:
			lineStart, blanks = false, 0
			if d&byCase != 0 {
				r = unicode.ToLower(r)
			}
			out = utf8.AppendRune(out, r)
		}
	}
	if d&byTrail != 0 {
		out = out[:len(out)-blanks]
	}
	return out
}

// plainRune gives the ASCII character that people type for a typographic one, else r.
func plainRune(r rune) rune {
	switch {
	case r >= 0x2018 && r <= 0x201B, r == 0x2032, r == 0xFF07:
		return '\''
	case r >= 0x201C && r <= 0x201F, r == 0x2033, r == 0xFF02, r == 0xAB, r == 0xBB:
		return '"'
	case r >= 0x2010 && r <= 0x2015, r == 0x2212, r == 0xFE63, r == 0xFF0D:
		return '-'
	case r >= utf8.RuneSelf && unicode.Is(unicode.Zs, r):
		return ' '
	}
	return r
}

// hidden reports characters that nobody sees: zero-width ones, direction marks, soft hyphens.
func hidden(r rune) bool { return unicode.Is(unicode.Cf, r) }

// show names a character by its code point, and shows it if it can be seen.
func show(r rune) string {
	if unicode.IsGraphic(r) && !unicode.IsSpace(r) && !unicode.Is(unicode.Mn, r) {
		return fmt.Sprintf("U+%04X %c", r, r)
	}
	return fmt.Sprintf("U+%04X", r)
}

// closest finds the lines that have most three-letter pieces in common with old, and says where they first differ. first
// is 0 where nothing is alike enough.
func closest(b []byte, old string) (first, last int, what string) {
	const looked = byCase | byIndent | byTrail | byGap
	text, want := fold(b, looked), bytes.Trim(fold([]byte(old), looked), "\n")
	if len(want) < 6 || len(text) < 3 {
		return 0, 0, ""
	}
	have := make([]bool, 1<<16)
	for i := 0; i+3 <= len(want); i++ {
		have[piece(want[i:])] = true
	}
	// A window as long as want goes over the text; hits counts its pieces that want has too.
	hits, best, at := 0, -1, 0
	width := len(want) - 2
	for i := 0; i+3 <= len(text); i++ {
		if have[piece(text[i:])] {
			hits++
		}
		if i >= width && have[piece(text[i-width:])] {
			hits--
		}
		if hits >= best && hits > 0 {
			best, at = hits, max(i-width+1, 0)
		}
	}
	// The window may begin in the line before or after the one that is meant: take the line most like old's first.
	line := 1 + bytes.Count(text[:at], []byte{'\n'})
	oldLines := strings.Split(strings.Trim(lf(old), "\n"), "\n")
	top, score := line, -1.0
	for l := max(line-1, 1); l <= line+1; l++ {
		if s := similarity(blockAt(text, l, 1), fold([]byte(oldLines[0]), looked)); s > score {
			top, score = l, s
		}
	}
	block := blockAt(text, top, len(oldLines))
	if similarity(block, want) < alike {
		return 0, 0, ""
	}
	lines := strings.Split(strings.TrimSuffix(string(blockAt(b, top, len(oldLines))), "\n"), "\n")
	for i, o := range oldLines {
		if i == len(lines) {
			return top, top + len(lines) - 1, fmt.Sprintf("the file ends there, and old_string goes on with %s", quote(o, 0))
		}
		if l := lines[i]; l != o {
			col := 0
			a, z := []rune(l), []rune(o)
			for col < len(a) && col < len(z) && a[col] == z[col] {
				col++
			}
			return top, top + len(lines) - 1, fmt.Sprintf("the first difference is in line %d, column %d: the file has %s, old_string has %s",
				top+i, col+1, quote(l, col), quote(o, col))
		}
	}
	return 0, 0, ""
}

func piece(b []byte) uint16 {
	return uint16(uint32(b[0])*0x9E37 ^ uint32(b[1])*0x85EB ^ uint32(b[2])*0xC2B3)
}

// similarity is the share of three-letter pieces that a and b have in common, 0 to 1.
func similarity(a, b []byte) float64 {
	a, b = bytes.Trim(a, "\n"), bytes.Trim(b, "\n")
	if len(a) < 3 || len(b) < 3 || len(a) > 3*len(b)+100 {
		return 0
	}
	count := make(map[uint16]int, len(b))
	for i := 0; i+3 <= len(b); i++ {
		count[piece(b[i:])]++
	}
	common := 0
	for i := 0; i+3 <= len(a); i++ {
		if p := piece(a[i:]); count[p] > 0 {
			count[p]--
			common++
		}
	}
	return 2 * float64(common) / float64(len(a)+len(b)-4)
}

// quote shows a line from a column on, cut short.
func quote(line string, from int) string {
	const most = 40
	r := []rune(line)[from:]
	if len(r) == 0 {
		return "the end of the line"
	}
	if len(r) > most {
		return strconv.QuoteToGraphic(string(r[:most])) + " …"
	}
	return strconv.QuoteToGraphic(string(r))
}
