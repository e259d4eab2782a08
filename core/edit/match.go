package edit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"handrail/core/hint"
)

// stringSplices replaces OldString where h says.
func (h Hunk) stringSplices(t body, o Options) ([]replacement, error) {
	old, text := lf(*h.OldString), lf(*h.NewString)
	if old == text {
		return nil, hint.New("no_change", "old_string and new_string differ in line ends only").
			Because("new text takes the line ends of the file")
	}
	if err := o.checkOmission(old, text); err != nil {
		return nil, err
	}
	if err := t.admits(text); err != nil {
		return nil, err
	}
	n := t.normal()
	found := occurrences(n.b, []byte(old))
	switch {
	case len(found) == 0:
		return nil, notFound(n.b, *h.OldString)
	case len(found) > MaxPlaces:
		return nil, tooMany()
	}
	chosen, err := h.choose(n.b, found, old)
	if err != nil {
		return nil, err
	}

	// Whole lines that old and new text have in common at either end are not touched, nor are their line ends.
	head, tail := commonLines(old, text)
	given := text[head : len(text)-tail]
	plain := slices.Clip([]byte(given)) // shared by all places, as far as they take it as it is
	size := len(old)
	if grown := len(t.b) + len(chosen)*(len(given)-(size-head-tail)); grown > mostText {
		return nil, tooLarge("the file after the edit", int64(grown))
	}
	list := make([]replacement, len(chosen))
	var near neighbours
	for i, at := range chosen {
		s := replacement{start: n.offset(at + head), end: n.offset(at + size - tail)}
		if t.enc == NotUTF8 || t.enc == Legacy {
			if err := t.clean(s.start, s.end); err != nil {
				return nil, err
			}
		}
		if strings.IndexByte(given, '\n') < 0 {
			s.text = plain
		} else {
			ends := t.list(s.start, s.end)
			if len(ends) == 0 {
				ends = []string{near.of(t, s.start, s.end, *h.NewString)}
			}
			s.text = fit(given, ends)
		}
		list[i] = s
	}
	return list, nil
}

// occurrences finds sep without overlap; it stops when there are more than MaxPlaces.
func occurrences(b, sep []byte) []int {
	var found []int
	for at := 0; ; {
		i := bytes.Index(b[at:], sep)
		if i < 0 || len(found) > MaxPlaces {
			return found
		}
		found = append(found, at+i)
		at += i + len(sep)
	}
}

// choose picks the occurrences that h means.
func (h Hunk) choose(b []byte, found []int, old string) ([]int, error) {
	want := h.ExpectedReplacements
	switch {
	case want != nil && *want != len(found):
		return nil, hint.New("count_mismatch", fmt.Sprintf("old_string occurs %s, not %d", times(len(found)), *want)).
			Because("it was found " + listLines(b, found)).Then("look at those places and give the right count, or more text around the one that is meant")
	case want != nil || h.ReplaceAll || len(found) == 1:
		return found, nil
	case h.NearLine == nil:
		return nil, hint.New("ambiguous", fmt.Sprintf("old_string occurs %s, %s", times(len(found)), listLines(b, found))).
			Then("give more text around the one that is meant, or near_line, or replace_all=true for all")
	}
	best, tie, bestGap := 0, -1, -1
	height := strings.Count(strings.TrimSuffix(old, "\n"), "\n")
	for i, first := range lineNumbers(b, found) {
		gap := max(first-*h.NearLine, *h.NearLine-first-height, 0)
		switch {
		case bestGap < 0 || gap < bestGap:
			best, bestGap, tie = i, gap, -1
		case gap == bestGap:
			tie = i
		}
	}
	if tie >= 0 {
		return nil, hint.New("ambiguous", fmt.Sprintf("two occurrences of old_string are equally near to line %d, %s", *h.NearLine, listLines(b, []int{found[best], found[tie]}))).
			Then("give more text around the one that is meant")
	}
	return found[best : best+1], nil
}

// lineNumbers gives the lines, from 1, on which places in b stand; b has \n as its only line end.
func lineNumbers(b []byte, places []int) []int {
	lines := make([]int, len(places))
	line, at := 1, 0
	for i, p := range places {
		line += bytes.Count(b[at:p], []byte{'\n'})
		at = p
		lines[i] = line
	}
	return lines
}

func listLines(b []byte, places []int) string {
	const most = 10
	lines := slices.Compact(lineNumbers(b, places[:min(len(places), most)]))
	word := "on lines "
	if len(lines) == 1 {
		word = "on line "
	}
	list := word + strings.Trim(strings.ReplaceAll(fmt.Sprint(lines), " ", ", "), "[]")
	if len(places) > most {
		list += " …"
	}
	return list
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// commonLines gives the length of the whole lines that a and b begin with, and of those that they end with. The end of
// the line before the last ones is counted to them.
func commonLines(a, b string) (head, tail int) {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[i] == b[i] {
		i++
	}
	head = strings.LastIndexByte(a[:i], '\n') + 1
	n -= head
	j := 0
	for j < n && a[len(a)-1-j] == b[len(b)-1-j] {
		j++
	}
	if k := strings.IndexByte(a[len(a)-j:], '\n'); k >= 0 {
		tail = j - k
	}
	return head, tail
}

// clean refuses a place in a text that isn't all UTF-8 if the bytes there aren't, or if its first letter may be the second
// half of a character of an encoding such as Shift JIS or Big5 (their second bytes are 0x40 to 0x7E).
func (t body) clean(start, end int) error {
	bad := !utf8.Valid(t.b[start:end])
	if !bad && start > 0 && start < end && t.b[start] >= 0x40 && t.b[start] < utf8.RuneSelf {
		r, n := utf8.DecodeLastRune(t.b[:start])
		bad = r == utf8.RuneError && n == 1
	}
	if bad {
		return notUTF8(t.ends(0, start) + 1)
	}
	return nil
}

// neighbours remembers the last answer of body.neighbour: many places may stand on one long line.
type neighbours struct {
	known bool
	until int // the answer holds for places that end before
	end   string
}

func (m *neighbours) of(t body, start, end int, given string) string {
	if !m.known || end > m.until {
		m.until, _ = t.next(end)
		m.end, m.known = t.neighbour(start, end, given), true
	}
	return m.end
}
