package core

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"handrail/core/search"
	"handrail/core/search/document"
)

// extract is what `handrail extract` does; for two kinds that there aren't it is a hostile document's captive.
func extract(kind string) int {
	switch kind {
	case "hang":
		select {}
	case "flood":
		for {
			if _, err := fmt.Println(strings.Repeat("x", 1<<16)); err != nil {
				return 1
			}
		}
	case "reach":
		return reach()
	}
	pages, err := document.Extract(kind, os.Stdin)
	if err != nil {
		return 1
	}
	_ = json.NewEncoder(os.Stdout).Encode(pages)
	return 0
}

// reach tries what an extractor that a document has taken over would try. It tells what it could do as a page.
func reach() int {
	var could []string
	told, err := os.ReadFile("/dev/stdin")
	if err != nil {
		return 1
	}
	for _, path := range strings.Fields(string(told)) {
		if _, err := os.ReadFile(path); err == nil {
			could = append(could, "read "+path)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err == nil {
			could = append(could, "write "+path)
		}
		if err := os.WriteFile(path+".new", nil, 0o600); err == nil {
			could = append(could, "make "+path)
		}
	}
	if c, err := net.Dial("tcp", "127.0.0.1:"+filepath.Base(strings.Fields(string(told))[0])); err == nil {
		c.Close()
		could = append(could, "connect")
	}
	_ = json.NewEncoder(os.Stdout).Encode([]search.Page{{Number: 1, Text: strings.Join(append(could, "tried"), "\n")}})
	return 0
}

// docx makes a Word document.
func docx(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("word/document.xml")
	if err == nil {
		_, err = fmt.Fprintf(w, `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>%s</w:t></w:r></w:p></w:body></w:document>`, text)
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The person chooses a folder; its documents are read in a sandbox, and what is there is found.
func TestSearch(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "letter.docx"), docx(t, "The pelican has landed."), 0o600); err != nil {
		t.Fatal(err)
	}
	o := options(t)
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	index := searcher{h}
	q := search.Query{Text: "pelican", Readable: func(string) bool { return true }}
	if hits, status, err := index.Find(t.Context(), q); err != nil || len(hits) > 0 || len(status.Folders) > 0 || h.Status().Search != nil {
		t.Errorf("before a folder is chosen: %v, %+v, %v", hits, status, err)
	}
	if _, err := os.Stat(filepath.Join(o.State, "search")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is an index before a folder is chosen: %v", err)
	}
	if err := h.AddSearchFolders(dir); err != nil {
		t.Fatal(err)
	}
	changed := make(chan struct{}, 1)
	unsubscribe := h.Subscribe(func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	defer unsubscribe()
	for {
		hits, status, err := index.Find(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if !status.Busy && status.Files == 1 {
			if len(hits) != 1 || hits[0].Page != 1 || hits[0].Text != "The pelican has landed." {
				t.Errorf("found %+v", hits)
			}
			break
		}
		within(t, changed, "nothing changes")
	}
	if err := h.RemoveSearchFolders(dir); err != nil {
		t.Fatal(err)
	}
	if hits, _, err := index.Find(t.Context(), q); err != nil || len(hits) > 0 || h.Status().Search != nil {
		t.Errorf("after the folder was taken out: %v, %v", hits, err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if _, err := os.Stat(filepath.Join(o.State, "search")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was read stays on the disk: %v", err)
	}
}

// What is added and taken out at the same time, by links or twice, is kept once; what is no folder changes nothing.
func TestChangeSearchFolders(t *testing.T) {
	state, home := filepath.Join(t.TempDir(), "state"), t.TempDir()
	var all sync.WaitGroup
	for i := range 8 {
		dir := filepath.Join(home, fmt.Sprint(i))
		link := dir + "-link"
		if err := errors.Join(os.Mkdir(dir, 0o700), os.Symlink(dir, link)); err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			if err := errors.Join(AddSearchFolders(state, dir, link), AddSearchFolders(state, link)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	file := filepath.Join(home, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"a file": AddSearchFolders(state, home, file), "what isn't there": AddSearchFolders(state, home, file+"x"),
		"what isn't in the list": RemoveSearchFolders(state, filepath.Join(home, "1"), home)} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	if err := os.Remove(filepath.Join(home, "2")); err != nil {
		t.Fatal(err)
	}
	if err := RemoveSearchFolders(state, filepath.Join(home, "0-link"), filepath.Join(home, "2")); err != nil {
		t.Error(err)
	}
	got, err := SearchFolders(state)
	var want []string
	for _, i := range []int{1, 3, 4, 5, 6, 7} {
		want = append(want, filepath.Join(home, fmt.Sprint(i)))
	}
	if slices.Sort(got); err != nil || !slices.Equal(got, want) {
		t.Errorf("chosen are %q, %v; want %q", got, err, want)
	}
}

// A document that takes its extractor over reads no file of the person's, writes nothing and connects to nothing.
func TestExtractorIsBounded(t *testing.T) {
	o := options(t)
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if err := AddSearchFolders(o.State, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if _, err := h.searching.open(); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	targets := []string{filepath.Join(o.Home, port)}
	for _, dir := range []string{o.Home, o.State, o.Workspace, o.Work, filepath.Dir(o.Executable), t.TempDir()} {
		file := filepath.Join(dir, "target.txt")
		if err := os.WriteFile(file, []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Remove(file) })
		targets = append(targets, file)
	}
	pages, err := h.searching.extract(t.Context(), h.searching.room, "reach", strings.NewReader(strings.Join(targets, "\n")))
	if err != nil || len(pages) != 1 || pages[0].Text != "tried" {
		t.Errorf("it could: %v, %v", pages, err)
	}
	if pages, err := h.searching.extract(t.Context(), h.searching.room, "flood", strings.NewReader("")); err == nil {
		t.Errorf("it may say %d pages without end", len(pages))
	}
	h.searching.patience = 100 * time.Millisecond
	if _, err := h.searching.extract(t.Context(), h.searching.room, "hang", strings.NewReader("")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it may take as long as it likes: %v", err)
	}
	h.searching.patience = 0
	for _, kind := range []string{"pdf", "docx", "nothing"} {
		if pages, err := h.searching.extract(t.Context(), h.searching.room, kind, strings.NewReader("broken")); err == nil {
			t.Errorf("%s: %v", kind, pages)
		}
	}
}

func TestSearchFolders(t *testing.T) {
	state := t.TempDir()
	for _, c := range []struct {
		text string
		want []string
		bad  bool
	}{
		{`{"folders":["/a","/b"]}`, []string{"/a", "/b"}, false},
		{`{}`, nil, false},
		{`{"folder":["/a"]}`, nil, true},
		{`nonsense`, nil, true},
		{``, nil, true},
	} {
		if err := os.WriteFile(searchFile(state), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := SearchFolders(state)
		if (err != nil) != c.bad || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v", c.text, got, err)
		}
	}
}
