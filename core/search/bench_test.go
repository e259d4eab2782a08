package search

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	benchFiles = flag.Int("files", 10_000, "how many files of 10 KB BenchmarkFind makes")
)

// tree makes a tree of text files: words as frequent as in a language (Zipf's law), from a vocabulary of 200,000, in lines and
// paragraphs. It gives the words, the most frequent first, and how many bytes it wrote.
func tree(b *testing.B, dir string, files int) (vocabulary []string, size int64) {
	b.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	syllables := strings.Fields("ba be bi bo bu da de di do du fa fe fi fo fu ka ke ki ko ku la le li lo lu ma me mi mo mu na ne ni no nu ra re ri ro ru sa se si so su ta te ti to tu")
	seen := make(map[string]bool)
	for len(vocabulary) < 200_000 {
		var w strings.Builder
		for range 1 + random.IntN(4) + len(vocabulary)/50_000 {
			w.WriteString(syllables[random.IntN(len(syllables))])
		}
		if !seen[w.String()] {
			seen[w.String()] = true
			vocabulary = append(vocabulary, w.String())
		}
	}
	zipf := rand.NewZipf(random, 1.1, 2.7, uint64(len(vocabulary)-1))
	for i := range files {
		var text strings.Builder
		for text.Len() < 10<<10 {
			for range 12 {
				text.WriteString(vocabulary[zipf.Uint64()])
				text.WriteByte(' ')
			}
			text.WriteByte('\n')
		}
		name := filepath.Join(dir, fmt.Sprint(i%100), fmt.Sprintf("%s %d.txt", vocabulary[random.IntN(len(vocabulary))], i))
		write(b, name, text.String())
		size += int64(text.Len())
	}
	return vocabulary, size
}

// BenchmarkFind measures the index on files that it makes (-files 100000 for 1 GB): how fast they are read, how large the
// database is beside them, how long a query takes at the 95th percentile, and how long it takes until a changed file is found.
// The floor of a query is ripgrep on the same files, looking for the rarest of its words.
func BenchmarkFind(b *testing.B) {
	rg, err := exec.LookPath("rg")
	if err != nil {
		b.Fatal("ripgrep is needed: ", err)
	}
	dir := b.TempDir()
	vocabulary, size := tree(b, dir, *benchFiles)
	file := filepath.Join(b.TempDir(), "search.db")
	began := time.Now()
	x := open(b, Options{File: file}, dir)
	read := time.Since(began)
	if s := x.Status(); s.Files != int64(*benchFiles) {
		b.Fatalf("%d files are in the index", s.Files)
	}
	var busy, pages, moved int
	if err := x.write.QueryRow("pragma wal_checkpoint(truncate)").Scan(&busy, &pages, &moved); err != nil || busy != 0 {
		b.Fatal(err, busy)
	}
	info, err := os.Stat(file)
	if err != nil {
		b.Fatal(err)
	}

	random := rand.New(rand.NewPCG(3, 4))
	var took, floor []time.Duration
	for b.Loop() {
		// Two to five words, the first of them rare: as a question has.
		n := 2 + random.IntN(4)
		text := vocabulary[2000+random.IntN(20_000)]
		rare := text
		for range n - 1 {
			text += " " + vocabulary[random.IntN(3000)]
		}
		began := time.Now()
		find(b, x, Query{Text: text})
		took = append(took, time.Since(began))
		if len(floor) < 20 {
			began = time.Now()
			out, err := exec.Command(rg, "--files-with-matches", "--word-regexp", rare, dir).Output()
			if err != nil && len(out) > 0 {
				b.Fatal(err)
			}
			floor = append(floor, time.Since(began))
		}
	}
	b.StopTimer()
	x.mu.Lock()
	round := x.round
	x.mu.Unlock()
	began = time.Now()
	write(b, filepath.Join(dir, "0", "new.txt"), "aardvark\n")
	x.awaitRound(b, round+1)
	if len(find(b, x, Query{Text: "aardvark"})) == 0 {
		b.Fatal("a new file isn't found")
	}
	fresh := time.Since(began)
	b.ReportMetric(float64(size)/1e6/read.Seconds(), "MB/s-read")
	b.ReportMetric(100*float64(info.Size())/float64(size), "%-index-of-text")
	b.ReportMetric(float64(peak())/1e6, "MB-memory-peak")
	b.ReportMetric(percentile(took, 50), "ms-p50")
	b.ReportMetric(percentile(took, 95), "ms-p95")
	b.ReportMetric(percentile(floor, 50), "ms-ripgrep-p50")
	b.ReportMetric(fresh.Seconds()*1000, "ms-until-found")
	b.ReportMetric(0, "ns/op")
}

func percentile(list []time.Duration, p int) float64 {
	slices.Sort(list)
	return float64(list[min(len(list)-1, len(list)*p/100)].Microseconds()) / 1000
}
