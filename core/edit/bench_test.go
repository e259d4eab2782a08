package edit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"handrail/core/hint"
)

// TestBoundedWork gives the engine what would take minutes if any part of it took time by the square of the size.
func TestBoundedWork(t *testing.T) {
	const size = 2 << 20
	prose := strings.Repeat("the quick brown fox jumps over the lazy dog, again and again\n", size/61)
	for _, c := range []struct {
		name  string
		file  string
		hunks []Hunk
		code  string
	}{
		{"nothing alike", prose, str("func somethingElse() {\n\treturn false\n}", "x"), "not_found"},
		{"almost there", prose + "const retries = 3;\n", str("const retriez = 3;", "x"), "not_found"},
		{"almost there everywhere", prose, str(strings.Repeat("the quick brown fox jumps over the lazy dig, again and again\n", 100), "x"), "not_found"},
		{"one letter", strings.Repeat("a", size), str(strings.Repeat("a", 30000)+"b", "x"), "not_found"},
		{"one letter and line ends", strings.Repeat("a\n", size/2), str(strings.Repeat("a\n", 15000)+"b", "x"), "not_found"},
		{"blanks", strings.Repeat(" ", size), str("   x   ", "x"), "not_found"},
		{"thai, normalised", strings.Repeat("ภาษาไทยที่นี่ ", size/40), str("ภาษาไทยทีนี่", "x"), "not_found"},
		{"marks upon marks", "e" + strings.Repeat("\u0301", size/2), str("e\u0301x", "x"), "not_found"},
		{"only cr", strings.Repeat("abc\r", size/4), str("zzz\nyyy", "x"), "not_found"},
		{"many matches on one line", strings.Repeat("ab", size/2), []Hunk{{OldString: new("a"), NewString: new("x\ny"), ReplaceAll: true}}, ""},
		{"many matches, crlf", strings.Repeat("a\r\n", size/3), []Hunk{{OldString: new("a\n"), NewString: new("b\nc\n"), ReplaceAll: true}}, ""},
		{"many matches, listed", strings.Repeat("a\n", size/2), str("a", "b"), "ambiguous"},
		{"many matches, near a line", strings.Repeat("a\n", size/2), []Hunk{{OldString: new("a"), NewString: new("b"), NearLine: new(500000)}}, ""},
		{"every line by number", strings.Repeat("a\n", 1000), func() (h []Hunk) {
			for i := range 1000 {
				h = append(h, line(1000-i, "new"))
			}
			return h
		}(), ""},
		{"long lines of dots", prose, str("the quick", strings.Repeat("... existing "+strings.Repeat("x ", 50)+"\n", 2000)), "ambiguous"},
		{"grown too far", strings.Repeat("a", size), []Hunk{{OldString: new("a"), NewString: new(strings.Repeat("b", 1000)), ReplaceAll: true}}, "too_large"},
	} {
		start := time.Now()
		_, err := Apply([]byte(c.file), c.hunks, Options{})
		took := time.Since(start)
		t.Logf("%-28s %v", c.name, took.Round(100*time.Microsecond))
		if hint.Code(err) != c.code || took > 5*time.Second {
			t.Errorf("%s: %v after %v", c.name, err, took)
		}
	}
}

// BenchmarkEdit1MB edits a file of 1 MB in memory-backed storage where there is one. "floor" only writes the same bytes to
// a new file, flushes it and renames it. Each reports its median.
func BenchmarkEdit1MB(b *testing.B) {
	dir, err := os.MkdirTemp("/dev/shm", "edit")
	if err != nil {
		dir = b.TempDir()
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	root, err := os.OpenRoot(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close()
	undo := openUndo(b, filepath.Join(dir, "undo"), 64<<20)
	text := strings.Repeat("func handle(w Writer, r Request) error { return nil } // a line\n", 1<<20/64)
	text = text[:len(text)/2] + "NEEDLE one\n" + text[len(text)/2:]
	put(b, filepath.Join(dir, "f"), text, false)
	words := []string{"one", "two"}
	n := 0
	edit := func(o Options) func() error {
		return func() error {
			n++
			_, err := Edit(root, "f", str("NEEDLE "+words[(n+1)%2], "NEEDLE "+words[n%2]), o)
			return err
		}
	}
	for _, c := range []struct {
		name string
		run  func() error
	}{
		{"floor", func() error {
			f, err := os.Create(filepath.Join(dir, "f.tmp"))
			if err != nil {
				return err
			}
			if _, err = f.WriteString(text); err == nil {
				err = f.Sync()
			}
			f.Close()
			if err == nil {
				err = os.Rename(f.Name(), filepath.Join(dir, "g"))
			}
			return err
		}},
		{"edit", edit(Options{})},
		{"edit with undo", edit(Options{Undo: undo})},
		{"not found", func() error {
			if _, err := Edit(root, "f", str("NEEDLE oen", "x"), Options{}); hint.Code(err) != "not_found" {
				return err
			}
			return nil
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var times []time.Duration
			for b.Loop() {
				start := time.Now()
				if err := c.run(); err != nil {
					b.Fatal(err)
				}
				times = append(times, time.Since(start))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
		})
	}
}
