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
