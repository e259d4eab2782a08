package edit

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// MaxDiff is the most bytes that Result.Diff takes. It shows a few lines around a change, so many lines of each side of a
// change, and so many characters of a line.
const (
	MaxDiff   = 4096
	around    = 3
	sideLines = 30
	lineRunes = 200
	// compared is the size of a change up to which the lines that stayed in it are looked for; changesKept is how many
	// changes can stand in a diff.
	compared    = 32 << 10
	changesKept = 200
)

// change is whole lines of the old text, a0 to a1, that became whole lines of the new one, b0 to b1. The lines before it
// are counted, and its own.
type change struct {
	a0, a1, b0, b1 int
	aLine, bLine   int
	removed, added int
}

// describe gives the part of a Result that tells what changed.
func describe(before, after []byte, regions []region) Result {
	a, b := newBody(before, ""), newBody(after, "")
	r := Result{LineEnds: b.lineEnds()}
	var kept []change
	for c := range allChanges(a, b, regions) {
		r.Removed += c.removed
		r.Added += c.added
		if len(r.Lines) < MaxRanges {
			r.Lines = append(r.Lines, Range{c.bLine + 1, c.bLine + max(c.added, 1)})
		}
		if len(kept) <= changesKept {
			kept = append(kept, c)
		}
	}
	r.Diff, r.DiffCut = unified(a, b, kept)
	return r
}

// wholeDiff is a unified diff without a heading that leaves nothing out, valid UTF-8.
func wholeDiff(before, after []byte, regions []region) string {
	a, b := newBody(before, ""), newBody(after, "")
	d := diffText{whole: true}
	d.changes(a, b, slices.Collect(allChanges(a, b, regions)))
	return d.String()
}

// allChanges gives what changed, in order.
func allChanges(a, b body, regions []region) iter.Seq[change] {
	return func(yield func(change) bool) {
		var g region
		aLine, bLine := 0, 0
		for i := 0; i < len(regions); {
			lastA, lastB := g.a1, g.b1
			g, i = wholeLines(a, b, regions, i, lastA)
			aLine += a.ends(lastA, g.a0)
			bLine += b.ends(lastB, g.b0)
			for _, c := range changes(a, b, g) {
				c.aLine, c.bLine = c.aLine+aLine, c.bLine+bLine
				if !yield(c) {
					return
				}
			}
			aLine += a.ends(g.a0, g.a1)
			bLine += b.ends(g.b0, g.b1)
		}
	}
}

// wholeLines grows regions[i] to whole lines, joined with the regions that it then touches. It gives the first region
// that is left. Nothing before done, in the old text, is taken.
func wholeLines(a, b body, regions []region, i, done int) (region, int) {
	g := regions[i]
	for i++; g.a0 > done && !(a.boundary(g.a0) && b.boundary(g.b0)); {
		at := max(a.lineStart(g.a0-1), done)
		g.b0 -= g.a0 - at
		g.a0 = at
	}
	for {
		limit := len(a.b)
		if i < len(regions) {
			limit = regions[i].a0
			if limit <= g.a1 {
				g.a1, g.b1 = regions[i].a1, regions[i].b1
				i++
				continue
			}
		}
		if a.boundary(g.a1) && b.boundary(g.b1) {
			return g, i
		}
		at, n := body{b: a.b[:limit], cr: a.cr}.next(g.a1)
		g.b1 += at + n - g.a1
		g.a1 = at + n
	}
}

// boundary reports whether a line begins at i, or the text ends there.
func (t body) boundary(i int) bool {
	if i == 0 || i == len(t.b) {
		return true
	}
	c := t.b[i-1]
	return c == '\n' || c == '\r' && t.b[i] != '\n'
}

// lineStart gives the start of the line on which the byte i stands.
func (t body) lineStart(i int) int {
	for !t.boundary(i) {
		i--
	}
	return i
}

// changes finds the lines of g that differ. Line numbers are counted from the start of g.
func changes(a, b body, g region) []change {
	if g.a1-g.a0+g.b1-g.b0 > compared {
		return []change{{a0: g.a0, a1: g.a1, b0: g.b0, b1: g.b1, removed: a.height(g.a0, g.a1), added: b.height(g.b0, g.b1)}}
	}
	la, lb := a.lines(g.a0, g.a1), b.lines(g.b0, g.b1)
	var list []change
	c := change{a1: g.a0, b1: g.b0}
	at, bt := 0, 0
	for _, d := range lcs.DiffLines(la, lb) {
		c = change{a0: c.a1 + size(la[at:d.Start]), b0: c.b1 + size(lb[bt:d.ReplStart]), aLine: d.Start, bLine: d.ReplStart,
			removed: d.End - d.Start, added: d.ReplEnd - d.ReplStart}
		c.a1, c.b1 = c.a0+size(la[d.Start:d.End]), c.b0+size(lb[d.ReplStart:d.ReplEnd])
		at, bt = d.End, d.ReplEnd
		list = append(list, c)
	}
	return list
}

func size(lines []string) (n int) {
	for _, l := range lines {
		n += len(l)
	}
	return n
}

// lines gives the lines from start to end, with their line ends.
func (t body) lines(start, end int) []string {
	var list []string
	for start < end {
		at, n := t.next(start)
		stop := min(at+n, end)
		list = append(list, string(t.b[start:stop]))
		start = stop
	}
	return list
}

// height counts the lines from start to end, the last one too if it has no end.
func (t body) height(start, end int) int {
	n := t.ends(start, end)
	if start < end && !endsLine(t.b[start:end]) {
		n++
	}
	return n
}

// unified writes the changes as a unified diff without a heading.
func unified(a, b body, list []change) (diff string, cut bool) {
	var d diffText
	d.changes(a, b, list)
	if d.full || d.cut {
		d.WriteString("… the diff is cut here\n")
	}
	return d.String(), d.full || d.cut
}

func (d *diffText) changes(a, b body, list []change) {
	for i := 0; i < len(list) && !d.full; {
		first := list[i]
		if i == changesKept && !d.whole {
			d.cut = true
			break
		}
		start, lead := a.stepBack(first.a0, around)
		end, trail := a.stepOn(first.a1, around)
		last, j := first, i+1
		for ; j < len(list) && (j < changesKept || d.whole); j++ {
			if list[j].aLine > last.aLine+last.removed+2*around {
				break
			}
			last = list[j]
			end, trail = a.stepOn(last.a1, around)
		}
		d.line(fmt.Sprintf("@@ -%s +%s @@",
			extent(first.aLine-lead, last.aLine+last.removed+trail), extent(first.bLine-lead, last.bLine+last.added+trail)))
		at := start
		for ; i < j; i++ {
			c := list[i]
			col := commonPrefix(a.b[c.a0:c.a1], b.b[c.b0:c.b1])
			d.side(' ', a, at, c.a0, 0)
			d.side('-', a, c.a0, c.a1, col)
			d.side('+', b, c.b0, c.b1, col)
			at = c.a1
		}
		d.side(' ', a, at, end, 0)
	}
}

// extent is a range of lines as a diff has it; from and to are counted from 0.
func extent(from, to int) string {
	if from == to {
		return fmt.Sprintf("%d,0", from)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// stepBack goes n lines back from i, which begins a line; stepOn goes n lines on.
func (t body) stepBack(i, n int) (at, lines int) {
	for ; lines < n && i > 0; lines++ {
		i = t.lineStart(i - 1)
	}
	return i, lines
}

func (t body) stepOn(i, n int) (at, lines int) {
	for ; lines < n && i < len(t.b); lines++ {
		e, w := t.next(i)
		i = e + w
	}
	return i, lines
}

// diffText is a diff that stops growing when it is full. One that is whole has all of it.
type diffText struct {
	strings.Builder
	full, cut bool
	whole     bool
}

func (d *diffText) line(s string) {
	const left = 64 // for the mark that it is cut
	if d.full = !d.whole && (d.full || d.Len()+len(s)+1 > MaxDiff-left); !d.full {
		d.WriteString(s)
		d.WriteByte('\n')
	}
}

// side writes the lines from start to end. The first is shown around column col, counted in bytes, if it is long.
func (d *diffText) side(mark byte, t body, start, end, col int) {
	for n := 0; start < end && !d.full; n++ {
		if n == sideLines && !d.whole {
			d.cut = true
			d.line(fmt.Sprintf("%c… %s more", mark, plural(t.height(start, end), "line")))
			return
		}
		at, w := t.next(start)
		line := t.b[start:min(at, end)]
		if d.whole {
			d.line(string(mark) + strings.ToValidUTF8(string(line), "\uFFFD"))
		} else {
			d.line(string(mark) + visible(line, col))
		}
		if w == 0 {
			d.line(`\ No newline at end of file`)
		}
		start, col = at+w, 0
	}
}

// visible shows a line, or lineRunes of it around col: valid UTF-8, control characters as their pictures.
func visible(line []byte, col int) string {
	var b strings.Builder
	if skip := col - lineRunes/4; skip > 0 && len(line) > lineRunes {
		for skip > 0 && !utf8.RuneStart(line[min(skip, len(line)-1)]) {
			skip--
		}
		line = line[min(skip, len(line)):]
		b.WriteString("…")
	}
	for n := 0; len(line) > 0; n++ {
		if n == lineRunes {
			b.WriteString("…")
			break
		}
		r, w := utf8.DecodeRune(line)
		switch {
		case r < 0x20 && r != '\t':
			r += 0x2400
		case r == 0x7F:
			r = 0x2421
		}
		b.WriteRune(r)
		line = line[w:]
	}
	return b.String()
}

// replaced gives the region in which two texts differ.
func replaced(a, b []byte) []region {
	head := commonPrefix(a, b)
	tail := 0
	for n := min(len(a), len(b)) - head; tail < n && a[len(a)-1-tail] == b[len(b)-1-tail]; {
		tail++
	}
	if head == len(a) && head == len(b) || bytes.Equal(a, b) {
		return nil
	}
	return []region{{head, len(a) - tail, head, len(b) - tail}}
}
