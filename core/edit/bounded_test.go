package edit

import (
	"slices"
	"strings"
	"testing"
	"time"

	"handrail/core/hint"
)

// large are inputs that would take minutes if any part of the engine took time by the square of the size.
func large() []largeCase {
	prose := func(n int) string {
		return strings.Repeat("the quick brown fox jumps over the lazy dog, again and again\n", n/61)
	}
	all := func(old, new string) []Hunk {
		return []Hunk{{OldString: &old, NewString: &new, ReplaceAll: true}}
	}
	return []largeCase{
		{"nothing alike", func(n int) (string, []Hunk) { return prose(n), str("func somethingElse() {\n\treturn false\n}", "x") }, "not_found"},
		{"almost there", func(n int) (string, []Hunk) { return prose(n) + "const retries = 3;\n", str("const retriez = 3;", "x") }, "not_found"},
		{"almost there everywhere", func(n int) (string, []Hunk) {
			return prose(n), str(strings.Replace(prose(n/100), "dog", "dig", 1), "x")
		}, "not_found"},
		{"one letter", func(n int) (string, []Hunk) { return strings.Repeat("a", n), str(strings.Repeat("a", n/64)+"b", "x") }, "not_found"},
		{"one letter and line ends", func(n int) (string, []Hunk) {
			return strings.Repeat("a\n", n/2), str(strings.Repeat("a\n", n/128)+"b", "x")
		}, "not_found"},
		{"blanks", func(n int) (string, []Hunk) { return strings.Repeat(" ", n), str("   x   ", "x") }, "not_found"},
		{"thai, normalised", func(n int) (string, []Hunk) {
			return strings.Repeat("ภาษาไทยที่นี่ ", n/40), str("ภาษาไทยทีนี่", "x")
		}, "not_found"},
		{"marks upon marks", func(n int) (string, []Hunk) { return "e" + strings.Repeat("\u0301", n/2), str("e\u0301x", "x") }, "not_found"},
		{"only cr", func(n int) (string, []Hunk) { return strings.Repeat("abc\r", n/4), str("zzz\nyyy", "x") }, "not_found"},
		{"many matches on one line", func(n int) (string, []Hunk) { return strings.Repeat("ab", n/2), all("a", "x\ny") }, ""},
		{"many matches, crlf", func(n int) (string, []Hunk) { return strings.Repeat("a\r\n", n/3), all("a\n", "b\nc\n") }, ""},
		{"many matches, listed", func(n int) (string, []Hunk) { return strings.Repeat("a\n", n/2), str("a", "b") }, "ambiguous"},
		{"many matches, near a line", func(n int) (string, []Hunk) {
			return strings.Repeat("a\n", n/2), []Hunk{{OldString: new("a"), NewString: new("b"), NearLine: new(n / 4)}}
		}, ""},
		{"long lines of dots", func(n int) (string, []Hunk) {
			return prose(n), str("the quick", strings.Repeat("... existing "+strings.Repeat("x ", 50)+"\n", n/1000))
		}, "ambiguous"},
		{"too many matches", func(n int) (string, []Hunk) { return strings.Repeat("a", n), all("a", "b") }, "too_large"},
		{"too many matches in all hunks", func(n int) (string, []Hunk) {
			return strings.Repeat("ab\n", n/3), append(all("a", "b"), all("b", "a")...)
		}, "too_large"},
		{"too much work", func(n int) (string, []Hunk) {
			return strings.Repeat("ab\n", 5*n), slices.Repeat([]Hunk{{LineStart: new(1), LineEnd: new(1), NewString: new("x")}}, MaxHunks)
		}, "too_large"},
		{"grown too far", func(n int) (string, []Hunk) {
			return strings.Repeat("a", n), all("a", strings.Repeat("b", 200<<20/n))
		}, "too_large"},
	}
}

type largeCase struct {
	name string
	make func(n int) (file string, hunks []Hunk) // n is about the size of the file
	code string
}

const largeSize = 2 << 20

// A part that took time by the square of the size would run into the test's own limit.
func TestLargeInputs(t *testing.T) {
	for _, c := range large() {
		file, hunks := c.make(largeSize)
		if _, err := Apply([]byte(file), hunks, Options{}); hint.Code(err) != c.code {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// BenchmarkLarge has as its floor eight inputs of an eighth of the size: work that grows with the size takes as long.
func BenchmarkLarge(b *testing.B) {
	for _, c := range large() {
		b.Run(c.name, func(b *testing.B) {
			file, hunks := c.make(largeSize)
			part, partHunks := c.make(largeSize / 8)
			var whole, floor time.Duration
			for b.Loop() {
				start := time.Now()
				Apply([]byte(file), hunks, Options{})
				whole += time.Since(start)
				start = time.Now()
				for range 8 {
					Apply([]byte(part), partHunks, Options{})
				}
				floor += time.Since(start)
			}
			b.ReportMetric(float64(whole.Milliseconds())/float64(b.N), "ms/op")
			b.ReportMetric(float64(floor.Milliseconds())/float64(b.N), "floor-ms/op")
		})
	}
}
