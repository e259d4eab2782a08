package edit

import (
	"bytes"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"handrail/core/hint"
)

// LineEnds says which line ends a text has: "none", "lf", "crlf", "cr" or "mixed".
type LineEnds string

const (
	NoLineEnds LineEnds = "none"
	LF         LineEnds = "lf"
	CRLF       LineEnds = "crlf"
	CR         LineEnds = "cr"
	Mixed      LineEnds = "mixed"
)

// body is decoded text. A line end is \n, \r\n or \r; what Unicode calls a line separator is not.
type body struct {
	b   []byte
	enc Encoding
	cr  bool // holds a \r
}

func newBody(b []byte, enc Encoding) body {
	return body{b: b, enc: enc, cr: bytes.IndexByte(b, '\r') >= 0}
}

// next finds the first line end at or after i: its place and length, or the end of the text and 0.
func (t body) next(i int) (at, n int) {
	if !t.cr {
		if at = bytes.IndexByte(t.b[i:], '\n'); at < 0 {
			return len(t.b), 0
		}
		return i + at, 1
	}
	for ; i < len(t.b); i++ {
		switch t.b[i] {
		case '\n':
			return i, 1
		case '\r':
			if i+1 < len(t.b) && t.b[i+1] == '\n' {
				return i, 2
			}
			return i, 1
		}
	}
	return len(t.b), 0
}

// prev finds the last line end that lies wholly before i.
func (t body) prev(i int) (at, n int) {
	for i--; i >= 0; i-- {
		switch t.b[i] {
		case '\n':
			if i > 0 && t.b[i-1] == '\r' {
				return i - 1, 2
			}
			return i, 1
		case '\r':
			return i, 1
		}
	}
	return 0, 0
}

// ends counts the line ends between from and to.
func (t body) ends(from, to int) int {
	if !t.cr {
		return bytes.Count(t.b[from:to], []byte{'\n'})
	}
	count := 0
	for ; from < to; from++ {
		if c := t.b[from]; c == '\n' || c == '\r' {
			count++
			if c == '\r' && from+1 < to && t.b[from+1] == '\n' {
				from++
			}
		}
	}
	return count
}

// span finds the lines from to to, counted from 1: where they start and end, the last line end included. lines is how
// many lines there are up to to, less than to where the text is shorter.
func (t body) span(from, to int) (start, end, lines int) {
	start = len(t.b)
	for at := 0; lines < to && at < len(t.b); lines++ {
		if lines+1 == from {
			start = at
		}
		e, n := t.next(at)
		at = e + n
		end = at
	}
	return start, end, lines
}

// lineEnds tells the kind of line ends.
func (t body) lineEnds() LineEnds {
	pairs := bytes.Count(t.b, []byte("\r\n"))
	found := NoLineEnds
	for kind, n := range map[LineEnds]int{
		CRLF: pairs,
		CR:   bytes.Count(t.b, []byte{'\r'}) - pairs,
		LF:   bytes.Count(t.b, []byte{'\n'}) - pairs,
	} {
		switch {
		case n == 0:
		case found != NoLineEnds:
			return Mixed
		default:
			found = kind
		}
	}
	return found
}

// lf puts \n in the place of every line end.
func lf(s string) string {
	if strings.IndexByte(s, '\r') < 0 {
		return s
	}
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
}

// normal is a text with \n for every line end, and the way back.
type normal struct {
	b    []byte
	crlf []int // places in b of the \n that stand for \r\n
}

func (t body) normal() normal {
	if !t.cr {
		return normal{b: t.b}
	}
	n := normal{b: make([]byte, 0, len(t.b))}
	for i := 0; i < len(t.b); i++ {
		c := t.b[i]
		if c == '\r' {
			c = '\n'
			if i+1 < len(t.b) && t.b[i+1] == '\n' {
				n.crlf = append(n.crlf, len(n.b))
				i++
			}
		}
		n.b = append(n.b, c)
	}
	return n
}

// offset gives the place in the text of place i in n.b.
func (n normal) offset(i int) int { return i + sort.SearchInts(n.crlf, i) }

// neighbour is the line end that new text at start to end takes where it replaces none: that of the line it stands on,
// else that of the line before, else the one that the new text came with.
func (t body) neighbour(start, end int, given string) string {
	if at, n := t.next(end); n > 0 {
		return string(t.b[at : at+n])
	}
	if at, n := t.prev(start); n > 0 {
		return string(t.b[at : at+n])
	}
	given = given[:strings.LastIndexAny(given, "\r\n")+1]
	switch {
	case strings.HasSuffix(given, "\r\n"):
		return "\r\n"
	case strings.HasSuffix(given, "\r"):
		return "\r"
	}
	return "\n"
}

// list gives the line ends between start and end.
func (t body) list(start, end int) []string {
	var ends []string
	within := body{b: t.b[:end], cr: t.cr} // else each call would look through the rest of the text
	for {
		at, n := within.next(start)
		if n == 0 {
			return ends
		}
		ends = append(ends, string(t.b[at:at+n]))
		start = at + n
	}
}

// fit writes text, whose line ends are \n, with the line ends given: one after another, then the last one again.
func fit(text string, ends []string) []byte {
	var out []byte
	for i := 0; ; i++ {
		line, rest, more := strings.Cut(text, "\n")
		out = append(out, line...)
		if !more {
			return out
		}
		out = addEnd(out, ends[min(i, len(ends)-1)])
		text = rest
	}
}

// addEnd ends a line. A \n after a \r that ends the line before gets a \r of its own: the two would be one line end.
func addEnd(out []byte, end string) []byte {
	if end == "\n" && bytes.HasSuffix(out, []byte{'\r'}) {
		end = "\r\n"
	}
	return append(out, end...)
}

// lineSplices replaces a range of lines, or inserts lines.
func (h Hunk) lineSplices(t body, o Options) ([]replacement, error) {
	from, to := *h.LineStart, *h.LineStart
	if h.LineEnd != nil {
		to = *h.LineEnd
	}
	start, end, lines := t.span(from, to)
	if lines < to {
		return nil, hint.New("out_of_range", fmt.Sprintf("there is no line %d: the file has %s", to, plural(lines, "line"))).
			Then("call read_file and count again; in a batch, lines are counted after the hunks before")
	}
	if h.LineEnd == nil {
		start = end
	}
	touched := t.b[start:end]
	if !utf8.Valid(touched) {
		return nil, notUTF8(t.ends(0, start) + 1)
	}
	if err := t.admits(*h.NewString); err != nil {
		return nil, err
	}
	text := lf(*h.NewString)
	if err := o.checkOmission(string(touched), text); err != nil {
		return nil, err
	}
	one := replacement{start: start, end: end}
	ended := endsLine(touched)
	if h.LineEnd != nil && text == "" {
		// The text keeps having, or not having, an end of its last line.
		if !ended && start > 0 {
			one.start, _ = t.prev(start)
		}
		return []replacement{one}, nil
	}
	text = strings.TrimSuffix(text, "\n")
	ends := t.list(start, end)
	if len(ends) == 0 {
		ends = []string{t.neighbour(start, end, *h.NewString)}
	}
	switch {
	case h.LineEnd == nil && end > 0 && !endsLine(t.b[:end]): // after a last line without an end
		ends = []string{t.neighbour(start, end, *h.NewString)}
		one.text = fit("\n"+text, ends)
	case h.LineEnd == nil:
		if p, n := t.prev(end); n > 0 {
			ends = []string{string(t.b[p : p+n])}
		}
		one.text = fit(text+"\n", ends)
	case ended:
		// The last new line takes the end of the last old one.
		one.text = addEnd(fit(text, ends), ends[len(ends)-1])
	default:
		one.text = fit(text, ends)
	}
	return []replacement{one}, nil
}

func endsLine(b []byte) bool {
	return len(b) > 0 && (b[len(b)-1] == '\n' || b[len(b)-1] == '\r')
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
