package statefile

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// What can't be put in place leaves nothing behind, and what was there as it was.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.json")
	if err := os.WriteFile(file, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := Replace(file, []byte("new")); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(file)
	if text, err2 := os.ReadFile(file); err != nil || err2 != nil || string(text) != "new" || after.Mode().Perm() != 0o600 || os.SameFile(before, after) {
		t.Errorf("%q %v, the same file: %v; %v, %v", text, after.Mode(), os.SameFile(before, after), err, err2)
	}
	folder := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(folder, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{folder, filepath.Join(dir, "missing", "a.json")} {
		if err := Replace(path, []byte("new")); err == nil {
			t.Errorf("%s: replaced", path)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Who has the lock is alone with the file, and a link in place of the lock isn't followed.
func TestLock(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.json")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 20 {
				unlock, err := Lock(file)
				if err != nil {
					t.Error(err)
					return
				}
				text, err := os.ReadFile(file)
				if err != nil && !os.IsNotExist(err) {
					t.Error(err)
				}
				if err := os.WriteFile(file, append(text, 'x'), 0o600); err != nil {
					t.Error(err)
				}
				unlock()
			}
		})
	}
	all.Wait()
	if text, err := os.ReadFile(file); err != nil || len(text) != 80 {
		t.Errorf("%d of 80 changes, %v", len(text), err)
	}
	elsewhere := filepath.Join(t.TempDir(), "b.json")
	if err := os.Symlink(file, elsewhere+".lock"); err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(elsewhere); err == nil {
		t.Error("a link was followed")
	}
}
