package edit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"handrail/core/hint"
)

func TestCopyName(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"a/b/name.ext", "a/b/name.edited.ext"},
		{"name", "name.edited"},
		{"a.b/name", "a.b/name.edited"},
		{".bashrc", ".bashrc.edited"},
		{".config.json", ".config.edited.json"},
		{"a.min.js", "a.min.edited.js"},
		{"a.tar.gz", "a.edited.tar.gz"},
		{".tar.gz", ".tar.edited.gz"},
		{"name.", "name..edited"},
		{"รายงาน.txt", "รายงาน.edited.txt"},
		{".edited", ".edited.edited"},
	} {
		got := CopyName(c.name)
		if got != c.want {
			t.Errorf("CopyName(%q) = %q, want %q", c.name, got, c.want)
		}
		if again := CopyName(got); again != got {
			t.Errorf("the copy of the copy %q is %q", got, again)
		}
		if back := originalName(got); back != c.name {
			t.Errorf("%q is the copy of %q, not %q", got, back, c.name)
		}
	}
}

func TestEditCopy(t *testing.T) {
	root, dir := scratch(t, map[string]string{"f.txt": "one\ntwo\n", "l": "-> f.txt"})
	if err := os.Chmod(filepath.Join(dir, "f.txt"), 0o450); err != nil {
		t.Fatal(err)
	}
	r, err := EditCopy(root, "f.txt", str("one", "ONE"), Options{})
	if err != nil || r.Name != "f.edited.txt" || r.CopyOf != "f.txt" || !r.CopyStarted {
		t.Fatalf("%+v, %v", r, err)
	}
	want := map[string]string{"f.txt": "one\ntwo\n", "l": "-> f.txt", "f.edited.txt": "ONE\ntwo\n"}
	wantTree(t, dir, want)
	if st, err := os.Stat(filepath.Join(dir, "f.edited.txt")); err != nil || st.Mode().Perm() != 0o650 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	// It goes on in the copy, by any name, the copy's own too.
	for name, h := range map[string][]Hunk{"l": str("two", "TWO"), "f.edited.txt": {line(0, "zero")}} {
		r, err := EditCopy(root, name, h, Options{})
		if err != nil || r.Name != "f.edited.txt" || r.CopyOf != "f.txt" || r.CopyStarted || r.Created {
			t.Errorf("%+v, %v", r, err)
		}
	}
	want["f.edited.txt"] = "zero\nONE\nTWO\n"
	wantTree(t, dir, want)
	// write_file shares it.
	_, err = WriteCopy(root, "f.txt", "all\n", Options{})
	wantError(t, err, "exists", []string{"f.edited.txt", "overwrite=true"})
	r, err = WriteCopy(root, "f.txt", "all\n", Options{Overwrite: true})
	if err != nil || r.Name != "f.edited.txt" || r.CopyOf != "f.txt" || r.CopyStarted {
		t.Fatalf("%+v, %v", r, err)
	}
	want["f.edited.txt"] = "all\n"
	wantTree(t, dir, want)
	// Text that is only in the original is not found; the hash is the copy's.
	_, err = EditCopy(root, "f.txt", str("one", "x"), Options{})
	wantError(t, err, "not_found", []string{`working copy "f.edited.txt"`})
	_, err = EditCopy(root, "f.txt", str("all", "x"), Options{BaseHash: hashOf([]byte("one\ntwo\n"))})
	wantError(t, err, "stale", nil)
	wantTree(t, dir, want)
}

func TestCopyRefused(t *testing.T) {
	outside := t.TempDir()
	put(t, filepath.Join(outside, "f"), "old\n", false)
	root, dir := scratch(t, map[string]string{
		"a": "old\n", "a.edited": "-> " + filepath.Join(outside, "f"),
		"b": "old\n", "b.edited": "-> c", "c": "old\n",
		"d": "old\n", "d.edited/": "", "e": "old\n",
	})
	before := tree(t, dir)
	for name, code := range map[string]string{"a": "is_link", "b": "is_link", "d": "not_regular", "none": "not_found", "../a": "outside"} {
		_, err := EditCopy(root, name, str("old", "new"), Options{})
		wantError(t, err, code, nil)
		if name != "none" {
			_, err = WriteCopy(root, name, "new", Options{Overwrite: true})
			wantError(t, err, code, nil)
		}
	}
	// An edit that fails makes no copy, and neither does one that is only tried, or changes nothing.
	_, err := EditCopy(root, "e", str("zzz", "new"), Options{})
	wantError(t, err, "not_found", nil)
	if _, err := EditCopy(root, "e", str("old", "new"), Options{DryRun: true}); err != nil {
		t.Error(err)
	}
	if r, err := WriteCopy(root, "e", "old\n", Options{Overwrite: true}); err != nil || !r.Unchanged {
		t.Errorf("%+v, %v", r, err)
	}
	wantTree(t, dir, before)
	wantTree(t, outside, map[string]string{"f": "old\n"})
	// A new file is made as it is asked for.
	if r, err := WriteCopy(root, "new", "x", Options{}); err != nil || r.Name != "new" || r.CopyOf != "" {
		t.Errorf("%+v, %v", r, err)
	}
}

// Fifty first edits at once make one copy with all of them.
func TestCopyParallel(t *testing.T) {
	root, dir := scratch(t, map[string]string{"f": ""})
	var wg sync.WaitGroup
	var mu sync.Mutex
	started := 0
	for i := range 50 {
		wg.Go(func() {
			r, err := EditCopy(root, "f", []Hunk{line(0, fmt.Sprint(i))}, Options{})
			if err != nil {
				t.Error(hint.Code(err), err)
			}
			mu.Lock()
			defer mu.Unlock()
			if r.CopyStarted {
				started++
			}
		})
	}
	wg.Wait()
	b, err := os.ReadFile(filepath.Join(dir, "f.edited"))
	if err != nil || strings.Count(string(b), "\n") != 50 || started != 1 || len(tree(t, dir)) != 2 {
		t.Errorf("%d started; %q, %v", started, b, err)
	}
}
