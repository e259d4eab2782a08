package edit

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// checkResult holds a result against what its text says.
func checkResult(t testing.TB, file []byte, r Result) {
	t.Helper()
	if !utf8.ValidString(r.Diff) || len(r.Diff) > MaxDiff {
		t.Errorf("the diff is invalid or has %d bytes", len(r.Diff))
	}
	before, _, _, err := decode(file)
	if err != nil {
		t.Fatal(err)
	}
	after, _, _, err := decode(r.Text)
	if err != nil {
		t.Fatalf("the result can't be read again: %v", err)
	}
	a, b := newBody(before, ""), newBody(after, "")
	if got, want := b.height(0, len(after))-a.height(0, len(before)), r.Added-r.Removed; got != want {
		t.Errorf("%d lines more, but added %d and removed %d", got, r.Added, r.Removed)
	}
	if got := b.lineEnds(); got != r.LineEnds {
		t.Errorf("line ends %s, said %s", got, r.LineEnds)
	}
	last := 0
	for _, l := range r.Lines {
		if l.From < last || l.To < l.From {
			t.Errorf("ranges %v are not in order", r.Lines)
		}
		last = l.To
	}
	if !r.DiffCut && !strings.Contains(r.Diff, "…") {
		if got := patched(t, a, r.Diff); got != shownLines(b) {
			t.Errorf("the diff gives\n%q, want\n%q\ndiff:\n%s", got, shownLines(b), r.Diff)
		}
	}
}

// shownLines is a text as a diff shows it.
func shownLines(t body) string {
	var b strings.Builder
	for _, l := range t.lines(0, len(t.b)) {
		b.WriteString(visible([]byte(strings.TrimRight(l, "\r\n")), 0) + "\n")
	}
	return b.String()
}

// patched applies a diff to a text.
func patched(t testing.TB, a body, diff string) string {
	old := strings.SplitAfter(shownLines(a), "\n")
	var out []string
	at := 0
	for l := range strings.Lines(diff) {
		switch l[0] {
		case '@':
			var from, n int
			if _, err := fmt.Sscanf(l, "@@ -%d,%d", &from, &n); err != nil {
				t.Fatalf("heading %q: %v", l, err)
			}
			if n > 0 {
				from--
			}
			out = append(out, old[at:from]...)
			at = from
		case '+':
			out = append(out, l[1:])
		case '-', ' ':
			if at >= len(old) || old[at] != l[1:] {
				t.Errorf("diff line %q stands for %q", l, old[min(at, len(old)-1)])
				return ""
			}
			if l[0] == ' ' {
				out = append(out, old[at])
			}
			at++
		case '\\':
		default:
			t.Errorf("diff line %q", l)
		}
	}
	return strings.Join(slices.Concat(out, old[at:]), "")
}
