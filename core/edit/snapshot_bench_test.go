package edit

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// manyFiles makes n small files, twenty in a folder.
func manyFiles(t testing.TB, dir string, n int) {
	t.Helper()
	for i := range n {
		folder := filepath.Join(dir, fmt.Sprintf("part%d", i/400), fmt.Sprintf("sub%d", i/20))
		if i%20 == 0 {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("file%d.txt", i)), fmt.Appendf(nil, "file %d\n", i), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkSnapshot is what keeping adds to a command that changes one file of many: the looks before and after it, and
// keeping that file. The floor is two walks that stat every file. "first" is the first command, which copies everything.
func BenchmarkSnapshot(b *testing.B) {
	for _, n := range []int{1000, 18_000} {
		dir := b.TempDir()
		manyFiles(b, dir, n)
		file := filepath.Join(dir, "part0", "sub0", "file0.txt")
		median := func(b *testing.B, f func(i int)) {
			var times []time.Duration
			for i := 0; b.Loop(); i++ {
				start := time.Now()
				f(i)
				times = append(times, time.Since(start))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
		}
		open := func(b *testing.B) *Snapshots {
			s, err := OpenSnapshots(SnapshotOptions{Dir: filepath.Join(b.TempDir(), "snapshots")})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { s.Close() })
			return s
		}
		place := placeOf(b, dir, false)
		command := func(b *testing.B, s *Snapshots, f func()) {
			w := s.Begin(context.Background(), By{}, place)
			f()
			if r := w.End(); len(r.Notes) > 0 || r.Partly {
				b.Fatal(r)
			}
		}
		b.Run(fmt.Sprintf("floor/%d", n), func(b *testing.B) {
			median(b, func(int) {
				for range 2 {
					filepath.WalkDir(dir, func(_ string, d fs.DirEntry, _ error) error {
						_, err := d.Info()
						return err
					})
				}
			})
		})
		b.Run(fmt.Sprintf("nothing changed/%d", n), func(b *testing.B) {
			s := open(b)
			command(b, s, func() {})
			median(b, func(int) { command(b, s, func() {}) })
		})
		b.Run(fmt.Sprintf("a file changed/%d", n), func(b *testing.B) {
			s := open(b)
			command(b, s, func() {})
			median(b, func(i int) {
				command(b, s, func() {
					if err := os.WriteFile(file, fmt.Appendf(nil, "changed %d\n", i), 0o644); err != nil {
						b.Fatal(err)
					}
				})
			})
		})
		b.Run(fmt.Sprintf("first/%d", n), func(b *testing.B) {
			median(b, func(int) {
				b.StopTimer()
				s := open(b)
				b.StartTimer()
				command(b, s, func() {})
			})
		})
	}
}
