package edit

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"handrail/core/hint"
)

// TestBoundedWork gives the engine what would take minutes if any part of it took time by the square of the size: a case
// that takes long must not take much longer than 8 cases of an eighth of its size.
func TestBoundedWork(t *testing.T) {
	prose := func(n int) string {
		return strings.Repeat("the quick brown fox jumps over the lazy dog, again and again\n", n/61)
	}
	all := func(old, new string) []Hunk {
		return []Hunk{{OldString: &old, NewString: &new, ReplaceAll: true}}
	}
	for _, c := range []struct {
		name string
		make func(n int) (file string, hunks []Hunk) // n is about the size of the file
		code string
	}{
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
		{"grown too far", func(n int) (string, []Hunk) {
			return strings.Repeat("a", n), all("a", strings.Repeat("b", 200<<20/n))
		}, "too_large"},
	} {
		run := func(n int) time.Duration {
			file, hunks := c.make(n)
			before := used(t)
			_, err := Apply([]byte(file), hunks, Options{})
			if hint.Code(err) != c.code {
				t.Errorf("%s: %v", c.name, err)
			}
			return used(t) - before
		}
		const size = 2 << 20
		took := run(size)
		if took < 200*time.Millisecond {
			t.Logf("%-28s %v", c.name, took)
			continue
		}
		var eighths time.Duration
		for range 8 {
			eighths += run(size / 8)
		}
		if took > 4*eighths {
			took = min(took, run(size)) // the first run may have paid for the memory
		}
		t.Logf("%-28s %v, 8 times an eighth of it %v", c.name, took, eighths)
		if took > 4*eighths {
			t.Errorf("%s takes %v, but 8 times an eighth of it only %v", c.name, took, eighths)
		}
	}
}

// used is the processor time of this process.
func used(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
