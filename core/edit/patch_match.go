package edit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"handrail/core/hint"
)

// tiers are how alike lines of a patch and of a file must be, the strictest first. The first with a match counts. A line
// that isn't UTF-8 is like none but itself.
var tiers = [...]struct {
	fold func(string) string
	note string // what was let pass
}{
	{func(s string) string { return s }, ""},
	{func(s string) string { return strings.TrimRight(s, blanks) }, "blanks at the end of lines"},
	{func(s string) string { return strings.Trim(s, blanks) }, "blanks at both ends of lines"},
	{func(s string) string {
		if !utf8.ValidString(s) {
			return s
		}
		return strings.Trim(strings.Map(plainPunctuation, s), blanks)
	}, "blanks at both ends of lines, and typographic dashes, quotes and spaces"},
}

const blanks = " \t\r\v\f\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000"

func plainPunctuation(r rune) rune {
	switch {
	case r < utf8.RuneSelf:
		return r
	case r >= 0x2010 && r <= 0x2015, r == 0x2212:
		return '-'
	case r >= 0x2018 && r <= 0x201B:
		return '\''
	case r >= 0x201C && r <= 0x201F:
		return '"'
	case r == 0xA0, r >= 0x2002 && r <= 0x200A, r == 0x202F, r == 0x205F, r == 0x3000:
		return ' '
	}
	return r
}

// span is a line of a file: its text from start to stop, its line end from there to end.
type span struct{ start, stop, end int }

// patcher applies the hunks of a patch to the text of one file.
type patcher struct {
	body
	whole  string // b
	lines  []span
	folded [len(tiers)][]string // the lines, as each tier sees them
	steps  int                  // work done
	notes  []string
	runs   []run
	ended  bool   // the last line will have an end
	fresh  string // the line end of new lines
}

// run puts lines in the place of the lines from to to of the file, counted from 0.
type run struct {
	from, to int
	lines    []string
}

// mostSteps bounds the work for one file: lines that are compared. mostLines is how many it may have.
const (
	mostSteps = 1 << 28
	mostLines = 2_000_000
)

func newPatcher(b body) *patcher {
	p := &patcher{body: b, whole: string(b.b), fresh: "\n", ended: len(b.b) == 0 || endsLine(b.b)}
	for at := 0; at < len(b.b); {
		stop, n := b.next(at)
		if n > 0 && len(p.lines) == 0 {
			p.fresh = string(b.b[stop : stop+n])
		}
		p.lines = append(p.lines, span{at, stop, stop + n})
		at = stop + n
	}
	return p
}

func (p *patcher) tier(t int) []string {
	if p.folded[t] == nil {
		p.folded[t] = make([]string, len(p.lines))
		for i, l := range p.lines {
			p.folded[t][i] = tiers[t].fold(p.whole[l.start:l.stop])
		}
	}
	return p.folded[t]
}

// find looks for lines from the line from on: all places at the first tier that has one, at most mostFound.
func (p *patcher) find(want []string, from int, atEnd bool) (found []int, tier int, err error) {
	if len(want) > len(p.lines)-from {
		return nil, 0, nil
	}
	if atEnd {
		from = len(p.lines) - len(want)
	}
	for t := range tiers {
		if p.steps += len(p.lines) - from + len(want); p.steps > mostSteps {
			return nil, 0, hint.New("too_large", "the file has too many lines for so many hunks").Then("send the patch in parts")
		}
		fold := make([]string, len(want))
		for i, w := range want {
			fold[i] = tiers[t].fold(w)
		}
		if found = search(p.tier(t)[from:], fold); len(found) > 0 {
			for i := range found {
				found[i] += from
			}
			return found, t, nil
		}
	}
	return nil, 0, nil
}

const mostFound = 11

// search finds want in text, also where places overlap, in linear time (Knuth, Morris and Pratt). want is not empty.
func search(text, want []string) (found []int) {
	back := make([]int, len(want)+1) // for each length, how much of it the text may still be the beginning of
	back[0] = -1
	for i, k := 0, -1; i < len(want); {
		for k >= 0 && want[i] != want[k] {
			k = back[k]
		}
		i, k = i+1, k+1
		back[i] = k
	}
	k := 0
	for i, line := range text {
		for k >= 0 && (k == len(want) || line != want[k]) {
			k = back[k]
		}
		if k++; k == len(want) {
			if found = append(found, i+1-k); len(found) == mostFound {
				break
			}
		}
	}
	return found
}

// apply plans all hunks of f.
func (p *patcher) apply(f FilePatch, o Options) error {
	next, shift := 0, 0
	for i, c := range f.chunks {
		at, err := p.place(f, c, next, shift, o)
		if err != nil {
			return inChunk(f, i, c, err)
		}
		if at >= 0 {
			next = at
		}
		if c.at > 0 && at >= 0 {
			shift = at - len(c.old()) - (c.at - 1)
		}
	}
	slices.SortStableFunc(p.runs, func(a, b run) int { return a.from - b.from })
	return nil
}

func inChunk(f FilePatch, i int, c chunk, err error) error {
	h := *hint.Of(err)
	where := ""
	if c.line > 0 {
		where = fmt.Sprintf(" (line %d of the patch)", c.line)
	}
	h.What = fmt.Sprintf("in %s: hunk %d%s: %s", shown(f.Path), i+1, where, h.What)
	return &h
}

// place finds where a hunk goes, from the line next on, and gives the line after it; -1 where it doesn't matter to the hunks
// that follow. shift is how much further down than it said the hunk before was found.
func (p *patcher) place(f FilePatch, c chunk, next, shift int, o Options) (int, error) {
	fresh := c.fresh()
	for _, l := range fresh {
		if err := p.admits(l); err != nil {
			return 0, err
		}
	}
	if err := o.checkOmission(strings.Join(c.old(), "\n"), strings.Join(fresh, "\n")); err != nil {
		return 0, err
	}
	from := next
	for _, context := range c.contexts {
		found, t, err := p.find([]string{context}, from, false)
		if err != nil {
			return 0, err
		}
		switch {
		case len(found) == 0:
			return 0, p.missing([]string{context}, from, "failed to find context "+quoted(context))
		case len(found) > 1:
			return 0, p.ambiguous("context "+quoted(context), found, 1)
		}
		p.pass(t)
		from = found[0] + 1
	}
	old := c.old()
	if len(old) == 0 {
		return p.insert(f, c, fresh)
	}
	found, t, err := p.find(old, from, c.atEnd)
	if err == nil && len(found) == 0 && old[len(old)-1] == "" && len(old) > 1 {
		// An empty line at the end of a hunk may be none of the file.
		if shorter := c.withoutLast(); shorter.pick('+', '-') != nil {
			if found, t, err = p.find(shorter.old(), from, c.atEnd); len(found) > 0 {
				c, old = shorter, shorter.old()
			}
		}
	}
	if err != nil {
		return 0, err
	}
	if len(found) > 1 && c.at > 0 && slices.Contains(found, c.at-1+shift) {
		found = []int{c.at - 1 + shift} // a unified diff says which
	}
	switch {
	case len(found) == 0:
		return 0, p.absent(c, old, from)
	case len(found) > 1:
		return 0, p.ambiguous("these lines", found, len(old))
	}
	p.pass(t)
	if c.ended != nil {
		p.ended = *c.ended
	}
	p.plan(c, found[0])
	return found[0] + len(old), nil
}

// insert takes lines that come without any that stay or go: at the end of the file.
func (p *patcher) insert(f FilePatch, c chunk, fresh []string) (int, error) {
	switch {
	case len(p.lines) == 0, c.atEnd && !f.git:
	case f.git:
		return 0, badPatch("it says nothing of the lines around the new ones").Because("their place can't be checked").Then("make the diff with context (git diff -U3)")
	case len(c.contexts) > 0:
		return 0, badPatch("it doesn't say where the new lines go").Because("@@ only says where to begin to look").
			Then("give the line before or after them as context, with a blank in front, or *** End of File")
	}
	if c.ended != nil {
		p.ended = *c.ended
	}
	p.runs = append(p.runs, run{len(p.lines), len(p.lines), fresh})
	return -1, nil
}

// withoutLast gives a hunk without the empty line that it ends with, on both sides.
func (c chunk) withoutLast() chunk {
	lines := slices.Clone(c.lines)
	for _, ops := range []string{" -", "+"} {
		for i := len(lines) - 1; i >= 0; i-- {
			if !strings.ContainsRune(ops, rune(lines[i].op)) {
				continue
			}
			if lines[i].text == "" {
				stays := lines[i].op == ' '
				lines = slices.Delete(lines, i, i+1)
				if stays {
					c.lines = lines
					return c
				}
			}
			break
		}
	}
	c.lines = lines
	return c
}

// plan turns a hunk that was found at the line at into runs.
func (p *patcher) plan(c chunk, at int) {
	r := run{from: at, to: at}
	end := func(next int) {
		if r.to > r.from || len(r.lines) > 0 {
			p.runs = append(p.runs, r)
		}
		r = run{from: next, to: next}
	}
	for _, l := range c.lines {
		switch l.op {
		case ' ':
			at++
			end(at)
		case '-':
			at++
			r.to = at
		case '+':
			r.lines = append(r.lines, l.text)
		}
	}
	end(at)
}

func (p *patcher) pass(tier int) {
	if note := tiers[tier].note; note != "" {
		if note = "matched without regard to " + note; !slices.Contains(p.notes, note) {
			p.notes = append(p.notes, note)
		}
	}
}

func (p *patcher) ambiguous(what string, found []int, height int) error {
	places := make([]string, 0, len(found))
	for _, at := range found[:min(len(found), mostFound-1)] {
		places = append(places, fmt.Sprint(at+1))
	}
	count, more := fmt.Sprint(len(found)), ""
	if len(found) == mostFound {
		count, more = fmt.Sprintf("more than %d", mostFound-1), " …"
	}
	next := "they must be unique: give more lines around the ones that are meant, or @@ and a line that stands only before them"
	if height == 1 {
		next = "it must be unique: give more lines around the one that is meant, or @@ and a line that stands only before it"
	}
	return hint.New("ambiguous", fmt.Sprintf("found %s occurrences of %s, on lines %s%s", count, what, strings.Join(places, ", "), more)).Then(next)
}

// absent says why the old lines of a hunk weren't found.
func (p *patcher) absent(c chunk, old []string, from int) error {
	var now []string
	for _, l := range c.lines {
		if l.op != '-' {
			now = append(now, l.text)
		}
	}
	const what = "failed to find expected lines"
	if len(c.fresh()) > 0 {
		if found, _, err := p.find(now, 0, false); err == nil && len(found) > 0 {
			return hint.New("not_found", what).Because(fmt.Sprintf("the new lines already stand there, on line %d", found[0]+1)).
				Then("call read_file; the patch may have been applied before")
		}
	}
	return p.missing(old, from, what)
}

// missing says why lines weren't found from the line from on.
func (p *patcher) missing(old []string, from int, what string) error {
	h := hint.New("not_found", what)
	if found, _, err := p.find(old, 0, false); err == nil && len(found) > 0 {
		why := fmt.Sprintf("they stand on line %d", found[0]+1)
		if from > 0 && found[0] < from {
			why += ", before the place where this hunk begins to look"
		} else {
			why += ", not at the end of the file"
		}
		return h.Because(why).Then("give the hunks in the order of the file, each after the lines of the one before")
	}
	near := hint.Of(notFound(p.normal().b, strings.Join(old, "\n")))
	return h.Because(strings.ReplaceAll(near.Why, "old_string", "the patch")).Then("call read_file and copy the lines exactly")
}

// text gives the file as it becomes, and what of it changed.
func (p *patcher) text() ([]byte, []region) {
	out := make([]byte, 0, len(p.b))
	var regions []region
	at := 0 // the line of the file that comes next
	keep := func(to int) {
		if at >= to {
			return
		}
		b := p.b[p.lines[at].start:p.lines[to-1].end]
		if len(b) > 0 && b[0] == '\n' && bytes.HasSuffix(out, []byte{'\r'}) { // else the two would be one line end
			out = append(out, '\r')
			if n := len(regions) - 1; n >= 0 {
				regions[n].b1++
			}
		}
		out = append(out, b...)
		at = to
	}
	offset := func(line int) int {
		if line == len(p.lines) {
			return len(p.b)
		}
		return p.lines[line].start
	}
	for _, r := range p.runs {
		keep(r.from)
		g := region{a0: offset(r.from), a1: offset(r.to), b0: len(out)}
		for _, l := range r.lines {
			if len(out) > 0 && !endsLine(out) {
				out = append(out, p.fresh...)
			}
			out = addEnd(append(out, l...), p.fresh)
		}
		g.b1 = len(out)
		if n := len(regions) - 1; n >= 0 && regions[n].a1 == g.a0 && regions[n].b1 == g.b0 {
			regions[n].a1, regions[n].b1 = g.a1, g.b1
		} else {
			regions = append(regions, g)
		}
		at = r.to
	}
	keep(len(p.lines))
	return p.finish(out, regions)
}

// finish sees to the end of the last line.
func (p *patcher) finish(out []byte, regions []region) ([]byte, []region) {
	n := len(regions) - 1
	switch {
	case len(out) == 0 || endsLine(out) == p.ended:
	case p.ended:
		if n < 0 || regions[n].b1 != len(out) {
			regions = append(regions, region{len(p.b), len(p.b), len(out), len(out)})
			n++
		}
		out = append(out, p.fresh...)
		regions[n].b1 = len(out)
	default:
		stop, _ := newBody(out, p.enc).prev(len(out))
		cut := len(out) - stop
		if n < 0 || regions[n].b1 != len(out) { // of a line that stays
			regions = append(regions, region{len(p.b), len(p.b), len(out), len(out)})
			n++
		}
		if regions[n].b0 > stop { // the line end before all that went is one of a line that stays
			back := regions[n].b0 - stop
			regions[n].a0, regions[n].b0 = regions[n].a0-back, stop
		}
		out = out[:len(out)-cut]
		regions[n].b1 = len(out)
	}
	return out, regions
}

// patched is the result of a file's hunks.
func (f FilePatch) patched(content []byte, o Options) (Result, []byte, []region, error) {
	before, mark, enc, err := decode(content)
	if err != nil {
		return Result{}, nil, nil, inFile(f.Path, err)
	}
	p := newPatcher(newBody(before, enc))
	if len(p.lines) > mostLines {
		return Result{}, nil, nil, hint.New("too_large", fmt.Sprintf("%s has more than %d lines", shown(f.Path), mostLines))
	}
	if err := p.apply(f, o); err != nil {
		return Result{}, nil, nil, err
	}
	after, regions := p.text()
	if len(after) > mostText {
		return Result{}, nil, nil, inFile(f.Path, tooLarge("the file after the patch", int64(len(after))))
	}
	r := describe(before, after, regions)
	r.Replaced, r.Encoding, r.Notes = len(p.runs), enc, p.notes
	r.Text = encode(after, mark, enc)
	if len(r.Text) > MaxBytes {
		return Result{}, nil, nil, inFile(f.Path, tooLarge("the file after the patch", int64(len(r.Text))))
	}
	r.Unchanged = bytes.Equal(r.Text, content)
	return r, after, regions, nil
}
