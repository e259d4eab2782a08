package search

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
)

// open makes an index over folders and has it read once.
func open(t testing.TB, o Options, folders ...string) *Index {
	t.Helper()
	if o.File == "" {
		o.File = filepath.Join(t.TempDir(), "search.db")
	}
	if o.Closed == nil {
		o.Closed = func(string) bool { return false }
	}
	x, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range folders {
		if real, err := filepath.EvalSymlinks(f); err == nil {
			folders[i] = real
		}
	}
	if err := x.SetFolders(folders); err != nil {
		t.Fatal(err)
	}
	stop := running(t, x)
	t.Cleanup(func() {
		stop()
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	x.awaitRound(t, 1)
	return x
}

// running has an index read until stop.
func running(t testing.TB, x *Index) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		x.Run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// awaitRound waits until so many rounds of reading have ended.
func (x *Index) awaitRound(t testing.TB, n int) {
	t.Helper()
	x.await(t, func() bool { return x.round >= n })
}

// ages are more than any machine takes for what a test waits for.
const ages = time.Hour

// await waits until something is true after a round of reading. It is called with x.mu held.
func (x *Index) await(t testing.TB, is func() bool) {
	t.Helper()
	timeout := time.AfterFunc(ages, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.scans.Broadcast()
	})
	began := time.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	for !is() {
		if x.scans.Wait(); time.Since(began) > ages {
			t.Fatal("it isn't there after an hour")
		}
	}
	timeout.Stop()
}

func everything(string) bool { return true }

func find(t testing.TB, x *Index, q Query) []Hit {
	t.Helper()
	if q.Readable == nil {
		q.Readable = everything
	}
	hits, err := x.Find(t.Context(), q)
	if err != nil {
		t.Fatalf("finding %q: %v", q.Text, err)
	}
	return hits
}

func names(hits []Hit) []string {
	list := []string{}
	for _, h := range hits {
		list = append(list, filepath.Base(h.Path))
	}
	return list
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func encode(t testing.TB, e encoding.Encoding, text string) string {
	t.Helper()
	out, err := e.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestFinds(t *testing.T) {
	dir := t.TempDir()
	thai := "สัญญาเช่าบ้านฉบับนี้ทำขึ้นระหว่างผู้ให้เช่ากับผู้เช่า โดยมีกำหนดเวลาสองปี และต้องชำระค่าเช่าภายในวันที่ห้าของทุกเดือน\n"
	for name, text := range map[string]string{
		"lease.txt":        "The lease begins in May.\nIt ends on 30 April 2031, unless it is renewed.\nRent is due on the first.\n",
		"recipe.md":        "# Plum cake\n\nBake the plums for 40 minutes.\n",
		"server.go":        "package web\n\n// ListenAndServe starts the server.\nfunc ListenAndServe(addr string) error { return read_config(addr) }\n",
		"café.txt":         "Les horaires d'été du café à Besançon\n",
		"Straße.txt":       "Die Straßenbahn fährt nach Köln.\n",
		"เช่าบ้าน.txt":     thai,
		"zh.txt":           "人工智能正在改变我们的生活和工作方式。\n",
		"ja.txt":           "東京都の天気は晴れです。カタカナのテスト。\n",
		"utf16.txt":        encode(t, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), "Zebras graze at dawn.\nการประชุมประจำปี\n"),
		"bom.txt":          "\xEF\xBB\xBFgiraffe\n",
		"latin1.txt":       encode(t, charmap.ISO8859_1, strings.Repeat("Où est la bibliothèque de la préfecture, près de la forêt?\n", 5)),
		"tis620.txt":       encode(t, charmap.Windows874, strings.Repeat("รายงานการประชุมคณะกรรมการโรงเรียนประจำจังหวัดเชียงใหม่\n", 5)),
		"sjis.txt":         encode(t, japanese.ShiftJIS, strings.Repeat("これは会議の議事録です。次回は大阪で開催します。\n", 5)),
		"gbk.txt":          encode(t, simplifiedchinese.GBK, strings.Repeat("会议记录：下次会议将在北京举行，请大家准时参加。\n", 5)),
		"data.csv":         "name,town\nAnanda,Lampang\n",
		"page.html":        "unread",
		"photo.jpg":        "\xFF\xD8\xFF\x00\x00 kangaroo",
		"deep/er/note.txt": "a note on wombats\n",
		"empty.txt":        "",
		"one line.json":    `{"list":[` + strings.Repeat(`"filler filler",`, 3000) + `"platypus"]}`,
		"long.txt":         strings.Repeat("nothing of note here, line after line\n", 2000) + "the albatross is on line 2001\n" + strings.Repeat("and on it goes\n", 2000),
	} {
		write(t, filepath.Join(dir, name), text)
	}
	x := open(t, Options{}, dir)
	for _, c := range []struct {
		query string
		first string // the file that is found first; "" for none
		text  string // stands in its passage
		line  int
	}{
		{"when does the lease end?", "lease.txt", "30 April 2031", 1},
		{"renewed", "lease.txt", "renewed", 2},
		{"baking plums", "recipe.md", "plums", 0},
		{"plum cake", "recipe.md", "# Plum cake", 1},
		{"ListenAndServe", "server.go", "func ListenAndServe", 0},
		{"listen and serve", "server.go", "", 0},
		{"read_config", "server.go", "read_config", 4},
		{"\"starts the server\"", "server.go", "starts the server", 3},
		{"\"server the starts\"", "", "", 0},
		{"ete cafe besancon", "café.txt", "Besançon", 1},
		{"CAFÉ", "café.txt", "", 0},
		{"straßenbahn koln", "Straße.txt", "Köln", 1},
		{"ผู้ให้เช่า", "เช่าบ้าน.txt", "ผู้ให้เช่า", 1},
		{"ค่าเช่าต้องชำระภายในวันที่เท่าไร", "เช่าบ้าน.txt", "วันที่ห้า", 1},
		{"人工智能", "zh.txt", "人工智能", 1},
		{"天気", "ja.txt", "天気", 1},
		{"カタカナ", "ja.txt", "カタカナ", 1},
		{"zebra", "utf16.txt", "Zebras graze", 1},
		{"ประชุมประจำปี", "utf16.txt", "การประชุมประจำปี", 2},
		{"giraffe", "bom.txt", "giraffe", 1},
		{"bibliotheque prefecture", "latin1.txt", "bibliothèque", 1},
		{"เชียงใหม่", "tis620.txt", "จังหวัดเชียงใหม่", 1},
		{"大阪", "sjis.txt", "大阪", 1},
		{"北京举行", "gbk.txt", "北京举行", 1},
		{"Lampang", "data.csv", "Ananda,Lampang", 2},
		{"kangaroo", "", "", 0},
		{"photo", "photo.jpg", "", 0},
		{"wombat", "note.txt", "wombats", 1},
		{"platypus", "one line.json", "platypus", 1},
		{"albatross", "long.txt", "line 2001", 2001},
		{"nosuchwordanywhere", "", "", 0},
	} {
		hits := find(t, x, Query{Text: c.query})
		switch {
		case c.first == "" && len(hits) > 0:
			t.Errorf("%s: found %v, want nothing", c.query, names(hits))
		case c.first == "":
		case len(hits) == 0:
			t.Errorf("%s: found nothing, want %s", c.query, c.first)
		case names(hits)[0] != c.first || !strings.Contains(hits[0].Text, c.text):
			t.Errorf("%s: found %v, the first with %q; want %s with %q", c.query, names(hits), hits[0].Text, c.first, c.text)
		case c.line > 0 && hits[0].Line != c.line:
			t.Errorf("%s: line %d, want %d", c.query, hits[0].Line, c.line)
		case len(hits[0].Text) > snippetBytes+8:
			t.Errorf("%s: the passage has %d bytes", c.query, len(hits[0].Text))
		}
	}
	for _, q := range []string{"", "  ", "?!", `""`, "*"} {
		if _, err := x.Find(t.Context(), Query{Text: q, Readable: everything}); !errors.Is(err, ErrNoWords) {
			t.Errorf("%q: %v, want %v", q, err, ErrNoWords)
		}
	}
}

func TestFilters(t *testing.T) {
	dir := t.TempDir()
	old := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, name := range []string{"a/one.txt", "a/two.md", "b/three.txt"} {
		write(t, filepath.Join(dir, name), "tapir\n")
	}
	if err := os.Chtimes(filepath.Join(dir, "a/one.txt"), old, old); err != nil {
		t.Fatal(err)
	}
	x := open(t, Options{}, dir)
	for _, c := range []struct {
		name string
		q    Query
		want []string
	}{
		{"none", Query{}, []string{"one.txt", "three.txt", "two.md"}},
		{"folder", Query{Folder: filepath.Join(dir, "a")}, []string{"one.txt", "two.md"}},
		{"a folder whose name begins alike", Query{Folder: filepath.Join(dir, "a/o")}, []string{}},
		{"kind", Query{Kinds: []string{"md"}}, []string{"two.md"}},
		{"after", Query{After: old.Add(time.Hour)}, []string{"three.txt", "two.md"}},
		{"before", Query{Before: old.Add(time.Hour)}, []string{"one.txt"}},
		{"limit", Query{Limit: 1, Kinds: []string{"txt"}, Folder: filepath.Join(dir, "b")}, []string{"three.txt"}},
		{"readable", Query{Readable: func(p string) bool { return filepath.Base(p) == "two.md" }}, []string{"two.md"}},
	} {
		c.q.Text = "tapir"
		got := names(find(t, x, c.q))
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if hits, err := x.Find(t.Context(), Query{Text: "tapir"}); err != nil || len(hits) > 0 {
		t.Errorf("who may read nothing finds %v, %v", hits, err)
	}
}

// Nothing that is hidden, closed, behind a link or no file is read, and no word of it is in the database.
func TestLeftOut(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "seen.txt"), "okapi\n")
	for _, name := range []string{".hidden.txt", ".git/note.txt", "node_modules/m/readme.txt", "closed/note.txt", "closed.txt"} {
		write(t, filepath.Join(dir, name), "quagga\n")
	}
	write(t, filepath.Join(other, "away.txt"), "quagga\n")
	for from, to := range map[string]string{"link.txt": filepath.Join(other, "away.txt"), "links": other, "loop": dir} {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	if err := makePipe(filepath.Join(dir, "pipe.txt")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "search.db")
	x := open(t, Options{File: file, Closed: func(p string) bool { return strings.HasPrefix(filepath.Base(p), "closed") }}, dir)
	if got := names(find(t, x, Query{Text: "okapi quagga"})); !slices.Equal(got, []string{"seen.txt"}) {
		t.Errorf("found %v", got)
	}
	for _, end := range []string{"", "-wal"} {
		if raw, err := os.ReadFile(file + end); err != nil || strings.Contains(string(raw), "quagga") {
			t.Errorf("%s: %v, or it holds the word", file+end, err)
		}
	}
}

// What was read isn't what stands there now: it gives no hit, and what stands there is read.
func TestStaysFresh(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	write(t, path("a.txt"), "ibis\n")
	write(t, path("b.txt"), "ibis\n")
	write(t, path("sub/c.txt"), "ibis\n")
	file := filepath.Join(t.TempDir(), "search.db")
	x := open(t, Options{File: file}, dir)
	has := func(word string, want ...string) {
		t.Helper()
		var got []string
		ok := func() bool {
			hits, err := x.Find(t.Context(), Query{Text: word, Readable: everything})
			if err != nil {
				t.Fatal(err)
			}
			got = names(hits)
			slices.Sort(got)
			return slices.Equal(got, want)
		}
		for deadline := time.Now().Add(time.Minute); !ok(); {
			x.mu.Lock()
			round := x.round
			x.mu.Unlock()
			if time.Now().After(deadline) {
				t.Fatalf("%s: found %v, want %v", word, got, want)
			}
			if x.blind.Load() {
				continue
			}
			if !ok() {
				x.awaitRound(t, round+1)
			}
		}
	}
	has("ibis", "a.txt", "b.txt", "c.txt")

	write(t, path("a.txt"), "heron\n")
	has("heron", "a.txt")
	has("ibis", "b.txt", "c.txt")

	if err := os.Remove(path("b.txt")); err != nil {
		t.Fatal(err)
	}
	has("ibis", "c.txt")

	if err := os.Rename(path("sub"), path("moved")); err != nil {
		t.Fatal(err)
	}
	write(t, path("moved/deep/d.txt"), "ibis\n")
	has("ibis", "c.txt", "d.txt")

	if err := os.RemoveAll(path("moved")); err != nil {
		t.Fatal(err)
	}
	has("ibis")

	// A file of the same name in another place is not the file.
	away := t.TempDir()
	write(t, filepath.Join(away, "a.txt"), "bustard\n")
	if err := os.Rename(filepath.Join(away, "a.txt"), path("a.txt")); err != nil {
		t.Fatal(err)
	}
	has("bustard", "a.txt")
	has("heron")
}

// A link that comes later leads nowhere, in the folder's own place, above it, or inside.
func TestLinksThatCome(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := func(name string) string { return filepath.Join(top, name) }
	write(t, path("private/diary.txt"), "my secret quagga\n")
	write(t, path("private/tax/sum.txt"), "my secret quagga\n")
	write(t, path("mine/notes/a.txt"), "ibis\n")
	write(t, path("mine/docs/sub/tax/b.txt"), "ibis\n")
	x := open(t, Options{}, path("mine/notes"), path("mine/docs"))
	for _, c := range []struct{ name, from, to, link string }{
		{"in the folder's own place", "mine/notes", "mine/old", "private"},
		{"inside", "mine/docs/sub", "mine/docs/sub2", "private"},
		{"above it", "mine", "gone", "private"},
	} {
		if err := os.Rename(path(c.from), path(c.to)); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path(c.link), path(c.from)); err != nil {
			t.Fatal(err)
		}
		x.mu.Lock()
		round := x.round
		x.mu.Unlock()
		x.poke()
		x.awaitRound(t, round+1)
		if got := find(t, x, Query{Text: "quagga"}); len(got) > 0 {
			t.Errorf("%s: found %v", c.name, got)
		}
	}
	if err := x.SetFolders([]string{path("mine/notes"), path("mine")}); err != nil {
		t.Fatal(err)
	}
	for _, f := range x.Status().Folders {
		if f.Err == "" {
			t.Errorf("%s is taken for a folder, and a link leads to it", f.Path)
		}
	}
}

// What a client may not read doesn't show in the scores and the order of what it may.
func TestScoresTellNothing(t *testing.T) {
	scores := func(secret string) (list []string) {
		dir := t.TempDir()
		for i := range 5 {
			write(t, filepath.Join(dir, "secret", fmt.Sprintf("%d.txt", i)), "the partner is "+secret+"\n")
		}
		for i := range 8 {
			write(t, filepath.Join(dir, fmt.Sprintf("own%d.txt", i)), fmt.Sprintf("the partner is cand%d\n", i))
		}
		x := open(t, Options{}, dir)
		for i := range 8 {
			for _, text := range []string{fmt.Sprintf("cand%d", i), fmt.Sprintf("partner is cand%d", i), "cand1 cand2 cand3", fmt.Sprintf("%q", fmt.Sprintf("partner is cand%d", i))} {
				for _, h := range find(t, x, Query{Text: text, Readable: func(p string) bool { return !strings.Contains(p, "secret") }}) {
					list = append(list, fmt.Sprint(text, filepath.Base(h.Path), h.Score))
				}
			}
		}
		return list
	}
	if a, b := scores("cand2"), scores("cand5"); !slices.Equal(a, b) {
		t.Errorf("they differ:\n%v\n%v", a, b)
	}
}

// The person changes the folders while a document takes its time.
func TestFoldersChangeWhileReading(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.docx"), "x")
	write(t, filepath.Join(dir, "b.docx"), "x")
	began, release := make(chan struct{}), make(chan struct{})
	x, err := Open(Options{File: filepath.Join(t.TempDir(), "search.db"), Closed: func(string) bool { return false },
		Extract: func(context.Context, string, io.Reader) ([]Page, error) {
			began <- struct{}{}
			<-release
			return nil, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if err := x.SetFolders([]string{dir}); err != nil {
		t.Fatal(err)
	}
	defer running(t, x)()
	defer close(release)
	<-began
	release <- struct{}{} // one is written, in a transaction that stays open
	<-began
	for deadline := time.Now().Add(5 * time.Second); x.write.Stats().InUse == 0 && time.Now().Before(deadline); {
		runtime.Gosched()
	}
	if err := x.SetFolders(nil); err != nil {
		t.Error(err)
	}
	if s := x.Status(); len(s.Folders) != 0 {
		t.Errorf("status %+v", s)
	}
}

// After many files the index is put together anew, and what that frees goes back to the disk.
func TestMerges(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	x, err := Open(Options{File: filepath.Join(t.TempDir(), "search.db"), Closed: func(string) bool { return false }})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if err := x.SetFolders([]string{dir}); err != nil {
		t.Fatal(err)
	}
	w := newWatch(nil, "", func() {})
	defer w.close()
	read := func() (parts, free int) {
		t.Helper()
		if err := errors.Join(x.scan(t.Context(), x.folders[0], ".", w), x.merge(t.Context()),
			x.write.QueryRow("select count(distinct segid) from entry_idx").Scan(&parts), x.write.QueryRow("pragma freelist_count").Scan(&free)); err != nil {
			t.Fatal(err)
		}
		return parts, free
	}
	parts := 0
	for i := range 3 {
		for j := range manyFiles / 5 {
			write(t, filepath.Join(dir, fmt.Sprintf("%d-%d.txt", i, j)), fmt.Sprintf("a bird of kind %d-%d\n", i, j))
		}
		parts, _ = read()
	}
	if parts < 2 || x.written != 3*(manyFiles/5) {
		t.Fatalf("%d parts, %d files since the last merge", parts, x.written)
	}
	for i := range 3 { // parts that were merged before, of one size and of another, are merged with what is new
		for j := range manyFiles {
			write(t, filepath.Join(dir, fmt.Sprintf("%d/%d.txt", i, j)), fmt.Sprintf("another bird, %d-%d\n", i, j))
		}
		if parts, free := read(); parts != 1 || free != 0 || x.written != 0 {
			t.Errorf("%d parts, %d free pages, %d files since the last merge", parts, free, x.written)
		}
	}
}

// One query doesn't take as long as it likes.
func TestLongPhrase(t *testing.T) {
	list := termsOf(`"` + strings.Repeat("e ", 499) + `"`)
	if len(list) != 1 || strings.Count(list[0].match, "e ") > mostTerms {
		t.Errorf("%d terms, the first is %q", len(list), list[0].match)
	}
}

func TestRestart(t *testing.T) {
	dir, second := t.TempDir(), t.TempDir()
	for i := range 5 {
		write(t, filepath.Join(dir, fmt.Sprintf("%d.docx", i)), "x")
	}
	write(t, filepath.Join(second, "s.txt"), "bittern\n")
	file := filepath.Join(t.TempDir(), "search.db")
	read := 0
	o := Options{File: file, Extract: func(ctx context.Context, kind string, in io.Reader) ([]Page, error) {
		read++
		return []Page{{Number: 1, Text: "stork"}, {Number: 2, Text: "crane"}}, nil
	}}
	t.Run("first", func(t *testing.T) {
		x := open(t, o, dir, second)
		if got := find(t, x, Query{Text: "crane"}); len(got) != 5 || got[0].Page != 2 || got[0].Line != 0 || got[0].Text != "crane" {
			t.Errorf("found %v", got)
		}
		if got := len(find(t, x, Query{Text: "bittern"})); got != 1 {
			t.Errorf("found %d in the second folder", got)
		}
	})
	write(t, filepath.Join(dir, "3.docx"), "changed")
	if err := os.Remove(filepath.Join(dir, "4.docx")); err != nil {
		t.Fatal(err)
	}
	t.Run("again", func(t *testing.T) {
		x := open(t, o, dir)
		if read != 6 {
			t.Errorf("documents were read %d times, want 6: 5 at first, and the one that changed", read)
		}
		if got := len(find(t, x, Query{Text: "stork"})); got != 4 {
			t.Errorf("found %d", got)
		}
		if got := find(t, x, Query{Text: "bittern"}); len(got) > 0 {
			t.Errorf("found %v, of a folder that isn't chosen any more", got)
		}
		if s := x.Status(); s.Files != 4 || len(s.Folders) != 1 || s.Trouble != "" {
			t.Errorf("status %+v", s)
		}
	})
	if err := os.WriteFile(file, []byte("this is no database, whatever it says"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("after damage", func(t *testing.T) {
		x := open(t, o, dir)
		if got := len(find(t, x, Query{Text: "stork"})); got != 4 {
			t.Errorf("found %d", got)
		}
	})
}

// A document that can't be read is found by its name, and is not tried again until it changes.
func TestBrokenDocument(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "broken.pdf"), "x")
	tried := 0
	x := open(t, Options{Extract: func(context.Context, string, io.Reader) ([]Page, error) {
		tried++
		return nil, errors.New("it is broken")
	}}, dir)
	x.poke()
	x.awaitRound(t, 2)
	if got := names(find(t, x, Query{Text: "broken"})); !slices.Equal(got, []string{"broken.pdf"}) || tried != 1 {
		t.Errorf("found %v, tried %d times", got, tried)
	}
}

func TestRests(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.txt"), "x\n")
	asked := make(chan struct{}, 10)
	x, err := Open(Options{File: filepath.Join(t.TempDir(), "search.db"), Closed: func(string) bool { return false }, Rest: func() bool {
		asked <- struct{}{}
		return true
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if err := x.SetFolders([]string{dir}); err != nil {
		t.Fatal(err)
	}
	defer running(t, x)()
	<-asked
	if s := x.Status(); s.Files != 0 || s.Waiting != 1 || !s.Busy {
		t.Errorf("status %+v", s)
	}
}

func TestFolders(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "sub/a.txt"), "x\n")
	x := open(t, Options{}, filepath.Join(dir, "sub"), dir, filepath.Join(dir, "nowhere"), dir)
	if got := x.Folders(); !slices.Equal(got, []string{dir}) {
		t.Errorf("folders %v, want the one that holds all others", got)
	}
	if err := x.SetFolders([]string{filepath.Join(dir, "gone")}); err != nil {
		t.Fatal(err)
	}
	x.await(t, func() bool { return x.folders[0].err != nil && x.round > 1 })
	if got := find(t, x, Query{Text: "x"}); len(got) > 0 {
		t.Errorf("found %v", got)
	}
}

// No text of a query is taken for FTS5's language.
func FuzzFind(f *testing.F) {
	for _, s := range []string{`a AND b`, `"`, `""`, `"a`, `a" OR "b`, `NEAR(a b)`, `name : x`, `* ^ + - ( ) { }`, "'; drop table file; --", "ก", "กขค งจ", "a\x00b", "é́", `{name} : "x"`,
		"x\u00b2", "ﬁ", "東", "\xff", `words:a*`, strings.Repeat("a ", 600)} {
		f.Add(s)
	}
	dir := f.TempDir()
	write(f, filepath.Join(dir, "a.txt"), "a b x name file กขคงจ 東京\n")
	x := open(f, Options{}, dir)
	f.Fuzz(func(t *testing.T, text string) {
		_, err := x.Find(t.Context(), Query{Text: text, Readable: everything})
		if err != nil && !errors.Is(err, ErrNoWords) {
			t.Errorf("%q: %v", text, err)
		}
	})
}

var verbose = flag.Bool("ranks", false, "print where each file of TestRetrieval is found")

// Files that something else found are read as those of an index, and no others.
func TestRead(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in, other := filepath.Join(dir, "in"), filepath.Join(dir, "other")
	long := strings.Repeat("a line of other words\n", 2000)
	for name, text := range map[string]string{"in/heron.txt": "nothing", "in/a.txt": long + "the heron and the crane\n" + long, "in/b.md": "a heron", "in/none.txt": "a crow", "in/.hidden/c.txt": "a heron",
		"in/closed/d.txt": "a heron", "in/unreadable.txt": "a heron", "in/x.docx": "not a document", "other/e.txt": "a heron"} {
		write(t, filepath.Join(dir, name), text)
	}
	if err := errors.Join(os.Symlink(other, filepath.Join(in, "link")), os.Symlink(filepath.Join(other, "e.txt"), filepath.Join(in, "link.txt"))); err != nil {
		t.Fatal(err)
	}
	top, err := openTop(in)
	if err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	is, err := statAt(top, ".")
	if err != nil {
		t.Fatal(err)
	}
	place := Place{in, uint64(is.device), uint64(is.inode)}
	o := Options{Closed: func(p string) bool { return strings.Contains(p, "closed") },
		Extract: func(context.Context, string, io.Reader) ([]Page, error) {
			return []Page{{Number: 1, Text: "no\n"}, {Number: 2, Text: "the heron and the crane, in a document\n"}}, nil
		}}
	q := Query{Text: "heron crane", Readable: func(p string) bool { return !strings.Contains(p, "unreadable") }}
	var files []string
	for _, name := range []string{"none.txt", "b.md", "a.txt", "heron.txt", ".hidden/c.txt", "closed/d.txt", "unreadable.txt", "x.docx", "link/e.txt", "link.txt", "../other/e.txt", "gone.txt", "", "."} {
		files = append(files, in+"/"+name)
	}
	hits, err := Read(t.Context(), o, q, place, append(files, "relative.txt", filepath.Join(other, "e.txt")))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range hits {
		got = append(got, fmt.Sprintf("%s %d %d %.20s", strings.TrimPrefix(h.Path, in), h.Line, h.Page, h.Text))
	}
	if slices.Sort(got); !slices.Equal(got, []string{"/a.txt 2001 0 the heron and the cr", "/b.md 1 0 a heron", "/heron.txt 0 0 ", "/x.docx 0 2 the heron and the cr"}) {
		t.Errorf("found %q", got)
	}
	if !slices.IsSortedFunc(hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) }) {
		t.Errorf("not the best first: %+v", hits)
	}
	if hits, err := Read(t.Context(), o, Query{Text: "heron", Kinds: []string{"md"}, Readable: everything}, place, files); err != nil || len(hits) != 1 {
		t.Errorf("of one type: %v, %v", hits, err)
	}
	place.Inode++
	if hits, err := Read(t.Context(), o, q, place, files); err == nil || hits != nil {
		t.Errorf("in another folder: %v, %v", hits, err)
	}
	if _, err := Read(t.Context(), o, Query{Text: "?", Readable: everything}, place, files); !errors.Is(err, ErrNoWords) {
		t.Errorf("for no word: %v", err)
	}
}
