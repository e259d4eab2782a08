package search

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
)

// trees is a system that tells of whole trees, when the test says so.
type trees struct {
	folders []string
	tell    func(path string, lost bool)
	stopped atomic.Bool
}

func (s *trees) source(folders []string, tell func(string, bool)) (func(), error) {
	s.folders, s.tell = folders, tell
	return func() { s.stopped.Store(true) }, nil
}

func TestTreeWatch(t *testing.T) {
	const data = "/System/Volumes/Data"
	for _, c := range []struct {
		name   string
		events []string // ! before one that says that something was lost
		want   []string
		lost   bool
	}{
		{"nothing", nil, nil, false},
		{"a file, a folder, the folder itself", []string{"/a/b/c.txt", "/a/b/", "/a/b"}, []string{"/a/b/c.txt", "/a/b", "/a/b"}, false},
		{"two folders", []string{"/d/x", "/a/b/x"}, []string{"/d/x", "/a/b/x"}, false},
		{"on the volume of data", []string{data + "/a/b/x"}, []string{"/a/b/x"}, false},
		{"as the disk spells it", []string{"/A/B/X.txt", "/e\u0301/x"}, []string{"/a/b/X.txt", "/\u00e9/x"}, false},
		{"lost", []string{"/a/b/x", "!/a/b", "/a/b/y"}, []string{"/a/b/x"}, true},
		{"of no folder", []string{"/a/bc/x"}, nil, true},
		{"above", []string{"/a"}, nil, true},
		{"up and out", []string{"/a/b/../../x"}, nil, true},
	} {
		var s trees
		w := watchTrees(s.source, []string{"/a/b", "/d", "/\u00e9"}, filepath.Join(t.TempDir(), "proof"), func() {})
		for _, e := range c.events {
			if e[0] == '!' {
				s.tell(e[1:], true)
			} else {
				s.tell(e, false)
			}
		}
		if !c.lost { // close ends what is told
			w.close()
		}
		var got []string
		for name := range w.changes() {
			got = append(got, name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		w.close()
		s.tell("/a/b/late", false)
		s.tell("/a/b/late", true)
		if !s.stopped.Load() {
			t.Errorf("%s: it isn't stopped", c.name)
		}
	}
}

// More than can wait is as if it were lost; nobody is kept waiting meanwhile.
func TestTreeWatchOverflows(t *testing.T) {
	var s trees
	w := watchTrees(s.source, []string{"/a"}, filepath.Join(t.TempDir(), "proof"), func() {})
	for i := range mostWaiting + 10 {
		s.tell(fmt.Sprintf("/a/%d", i), false)
	}
	n := 0
	for range w.changes() {
		n++
	}
	if n != mostWaiting {
		t.Errorf("%d changes", n)
	}
	w.close()
}

// A system that says nothing, or that can't be asked, isn't believed: folders are looked through at each search.
func TestTreeWatchProves(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "a.txt"), "a heron")
	var s trees
	x, err := Open(Options{File: filepath.Join(t.TempDir(), "search.db"), Closed: func(string) bool { return false }})
	if err != nil {
		t.Fatal(err)
	}
	fails := false
	x.watch = func(folders []string, proof string, heard func()) watcher {
		if fails {
			return watchTrees(func([]string, func(string, bool)) (func(), error) { return nil, errors.New("no") }, folders, proof, heard)
		}
		return watchTrees(s.source, folders, proof, heard)
	}
	if err := x.SetFolders([]string{dir}); err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	defer running(t, x)()
	x.awaitRound(t, 1)
	if !x.blind.Load() {
		t.Error("it is believed unproven")
	}
	proof := s.folders[0]
	if _, err := os.Stat(filepath.Join(proof, "heard")); err != nil || proof == dir || !slices.Equal(s.folders[1:], []string{dir}) {
		t.Errorf("watched are %q, %v", s.folders, err)
	}
	s.tell(filepath.Join(proof, "heard"), false)
	if x.blind.Load() {
		t.Error("it isn't believed")
	}
	round := func() int {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.round
	}
	write(t, filepath.Join(dir, "b.txt"), "a crane")
	before := round()
	if hits := find(t, x, Query{Text: "crane"}); len(hits) > 0 || round() != before {
		t.Errorf("found %v before it was told of it: the folders are still looked through", hits)
	}
	s.tell(filepath.Join(dir, "b.txt"), false)
	x.awaitRound(t, before+1)
	if hits := find(t, x, Query{Text: "crane"}); len(hits) != 1 {
		t.Errorf("found %v after it was told of it", hits)
	}
	write(t, filepath.Join(dir, "c.txt"), "a stork")
	fails = true // for the next watcher
	before = round()
	s.tell(dir, true)
	x.awaitRound(t, before+1)
	if hits := find(t, x, Query{Text: "stork"}); len(hits) != 1 || !x.blind.Load() {
		t.Errorf("found %v after changes were lost; blind: %v", hits, x.blind.Load())
	}
}
