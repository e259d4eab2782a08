package edit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"handrail/core/hint"
)

func openUndo(t testing.TB, dir string, limit int64) *Undo {
	t.Helper()
	u, err := OpenUndo(dir, limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { u.Close() })
	return u
}

// Undo, undo of that, and so on, through an edit, a deletion and a new file.
func TestUndo(t *testing.T) {
	root, dir := scratch(t, map[string]string{"d/f": "old\n"})
	store := filepath.Join(t.TempDir(), "state", "undo")
	u := openUndo(t, store, 1<<20)
	if err := os.Chmod(filepath.Join(dir, "d", "f"), 0o750); err != nil {
		t.Fatal(err)
	}
	edited, err := Edit(root, "d/f", str("old", "new"), Options{Undo: u})
	if err != nil {
		t.Fatal(err)
	}
	made, err := Write(root, "d/g", "g\n", Options{Undo: u})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Edit(root, "d/f", str("new", "dry"), Options{Undo: u, DryRun: true}); err != nil {
		t.Fatal(err)
	}
	list := u.List()
	if len(list) != 2 || list[0].ID != made.UndoID || list[1].ID != edited.UndoID {
		t.Fatalf("entries %+v", list)
	}
	if e := list[1]; e.Folder != dir || e.Name != "d/f" || e.OldHash != hashOf([]byte("old\n")) || e.NewHash != edited.Hash || e.Mode != 0o750 || e.Size != 4 || e.Inode == 0 {
		t.Errorf("entry %+v", e)
	}
	if e := list[0]; e.OldHash != "" || e.Size != 0 {
		t.Errorf("entry of a new file %+v", e)
	}
	for path, mode := range map[string]os.FileMode{store: 0o700, filepath.Join(store, list[1].ID+undoSuffix): 0o600} {
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, st.Mode(), err)
		}
	}

	id, gid := edited.UndoID, made.UndoID
	for range 3 {
		r, err := u.Restore(root, id) // back to old
		if err != nil || !strings.Contains(r.Diff, "+old") {
			t.Fatal(r, err)
		}
		g, err := u.Restore(root, gid) // g is gone
		if err != nil {
			t.Fatal(err)
		}
		wantTree(t, dir, map[string]string{"d/f": "old\n"})
		r2, err := u.Restore(root, r.UndoID) // new again
		if err != nil {
			t.Fatal(err)
		}
		g2, err := u.Restore(root, g.UndoID) // g is there again
		if err != nil || !g2.Created {
			t.Fatal(err)
		}
		wantTree(t, dir, map[string]string{"d/f": "new\n", "d/g": "g\n"})
		if st, err := os.Stat(filepath.Join(dir, "d", "f")); err != nil || st.Mode().Perm() != 0o750 {
			t.Errorf("mode %v, %v", st.Mode(), err)
		}
		id, gid = r2.UndoID, g2.UndoID
	}
}

func TestUndoChangedSince(t *testing.T) {
	root, dir := scratch(t, map[string]string{"d/f": "old\n"})
	u := openUndo(t, filepath.Join(t.TempDir(), "undo"), 1<<20)
	r, err := Edit(root, "d/f", str("old", "new"), Options{Undo: u})
	if err != nil {
		t.Fatal(err)
	}
	g, err := Write(root, "d/g", "g\n", Options{Undo: u})
	if err != nil {
		t.Fatal(err)
	}
	refused := func(id, why string) {
		t.Helper()
		before := tree(t, dir)
		_, err := u.Restore(root, id)
		wantError(t, err, "stale", []string{why})
		wantTree(t, dir, before)
	}
	put(t, filepath.Join(dir, "d/f"), "theirs\n", false)
	put(t, filepath.Join(dir, "d/g"), "theirs\n", false)
	refused(r.UndoID, "another text")
	refused(g.UndoID, "another text")
	os.Remove(filepath.Join(dir, "d/f"))
	refused(r.UndoID, "gone")
	put(t, filepath.Join(dir, "d/f"), "new\n", false)
	if err := os.Rename(filepath.Join(dir, "d"), filepath.Join(dir, "e")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "d/f"), "new\n", false)
	refused(r.UndoID, "another folder")
	os.RemoveAll(filepath.Join(dir, "d"))
	put(t, filepath.Join(dir, "d"), "-> e", false)
	if _, err := u.Restore(root, r.UndoID); hint.Code(err) != "is_link" {
		t.Errorf("through a link: %v", err)
	}
	for _, id := range []string{"", "x", "../x", "a/b", r.UndoID + "x"} {
		if _, err := u.Restore(root, id); hint.Code(err) != "not_found" {
			t.Errorf("entry %q: %v", id, err)
		}
	}
}

func TestUndoDeleted(t *testing.T) {
	root, dir := scratch(t, nil)
	u := openUndo(t, filepath.Join(t.TempDir(), "undo"), 1<<20)
	r, err := Write(root, "g", "g\n", Options{Undo: u})
	if err != nil {
		t.Fatal(err)
	}
	gone, err := u.Restore(root, r.UndoID)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "g"), "theirs\n", false)
	_, err = u.Restore(root, gone.UndoID)
	wantError(t, err, "stale", []string{"exists again"})
	wantTree(t, dir, map[string]string{"g": "theirs\n"})
}

func TestUndoLimits(t *testing.T) {
	root, dir := scratch(t, map[string]string{"f": strings.Repeat("x", 3000)})
	store := filepath.Join(t.TempDir(), "undo")
	u := openUndo(t, store, 10000)
	var last Result
	for i := range 10 {
		var err error
		if last, err = Edit(root, "f", []Hunk{line(0, fmt.Sprint(i))}, Options{Undo: u}); err != nil {
			t.Fatal(err)
		}
	}
	list := u.List()
	if len(list) < 2 || len(list) > 3 || list[0].ID != last.UndoID {
		t.Errorf("%d entries", len(list))
	}
	put(t, filepath.Join(dir, "big"), strings.Repeat("x", 20000), false)
	_, err := Edit(root, "big", []Hunk{line(0, "y")}, Options{Undo: u})
	wantError(t, err, "no_undo", nil)
	if b, err := os.ReadFile(filepath.Join(dir, "big")); err != nil || len(b) != 20000 {
		t.Error("it was edited without undo")
	}
	// What is damaged can't be put back; it isn't in the list where it can't be read.
	path := filepath.Join(store, list[0].ID+undoSuffix)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1
	put(t, path, string(b), false)
	_, err = u.Restore(root, list[0].ID)
	wantError(t, err, "no_undo", []string{"damaged"})
	for _, cut := range []int{len(b) - 1, len(b) - 20, 5, 0} {
		put(t, path, string(b[:cut]), false)
		if _, err = u.Restore(root, list[0].ID); hint.Code(err) != "not_found" {
			t.Errorf("cut to %d: %v", cut, err)
		}
	}
	put(t, path, string(b[:4])+"ffffffff\n", false)
	if _, err = u.Restore(root, list[0].ID); hint.Code(err) != "not_found" {
		t.Errorf("a length that can't be: %v", err)
	}
	if n := len(u.List()); n != len(list)-1 {
		t.Errorf("%d entries", n)
	}
}

// The folder must be ours alone, and no link.
func TestOpenUndo(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "open/"), "", true)
	put(t, filepath.Join(dir, "good/"), "", true)
	put(t, filepath.Join(dir, "link"), "-> good", false)
	put(t, filepath.Join(dir, "file"), "", false)
	if err := os.Chmod(filepath.Join(dir, "good"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, ok := range map[string]bool{"open": false, "link": false, "file": false, "file/x": false, "good": true, "new/new": true} {
		u, err := OpenUndo(filepath.Join(dir, name), 1)
		if (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			u.Close()
		}
	}
}
