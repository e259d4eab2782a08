package edit

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAttributesKept(t *testing.T) {
	root, dir := scratch(t, map[string]string{"f": "old\n"})
	path := filepath.Join(dir, "f")
	want := map[string]string{"com.example.plain": "value", "com.apple.metadata:_kMDItemUserTags": "tags\x00"}
	for name, value := range want {
		if err := unix.Setxattr(path, name, []byte(value), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Chflags(path, unix.UF_HIDDEN); err != nil {
		t.Fatal(err)
	}
	var before unix.Stat_t
	if err := unix.Stat(path, &before); err != nil {
		t.Fatal(err)
	}
	for what, f := range map[string]func() (Result, error){
		"edit": func() (Result, error) { return Edit(root, "f", []Hunk{line(0, "x")}, Options{}) },
		"copy": func() (Result, error) { return EditCopy(root, "f", []Hunk{line(0, "x")}, Options{}) },
	} {
		r, err := f()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		path := filepath.Join(dir, r.Name)
		for name, value := range want {
			buf := make([]byte, 100)
			if n, err := unix.Getxattr(path, name, buf); err != nil || string(buf[:n]) != value {
				t.Errorf("%s: %s is %q, %v", what, name, buf[:max(n, 0)], err)
			}
		}
		var now unix.Stat_t
		if err := unix.Stat(path, &now); err != nil || now.Flags&unix.UF_HIDDEN == 0 || now.Btim != before.Btim || now.Mode != before.Mode {
			t.Errorf("%s: flags %x, created %v (was %v), mode %o, %v", what, now.Flags, now.Btim, before.Btim, now.Mode, err)
		}
	}
}

// An immutable file ("locked" in the Finder) is not replaced.
func TestLocked(t *testing.T) {
	root, dir := scratch(t, map[string]string{"f": "old\n"})
	path := filepath.Join(dir, "f")
	if err := unix.Chflags(path, unix.UF_IMMUTABLE); err != nil {
		t.Fatal(err)
	}
	defer unix.Chflags(path, 0)
	_, err := Edit(root, "f", str("old", "new"), Options{})
	wantError(t, err, "denied", nil)
	wantTree(t, dir, map[string]string{"f": "old\n"})
}

// The folder's own spelling of a name stays, whichever was used.
func TestSpelling(t *testing.T) {
	root, dir := scratch(t, map[string]string{"README.md": "old\n"})
	if !folds(t) {
		t.Log("names that differ in case are different files here")
		return
	}
	r, err := Edit(root, "readme.md", str("old", "new"), Options{})
	if err != nil || r.Name != "README.md" {
		t.Errorf("%q, %v", r.Name, err)
	}
	wantTree(t, dir, map[string]string{"README.md": "new\n"})
}

func TestClone(t *testing.T) {
	root, dir := scratch(t, map[string]string{"f": "old\n"})
	if err := os.Chmod(filepath.Join(dir, "f"), 0o444); err != nil {
		t.Fatal(err)
	}
	d, err := rootFolder(root)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	f, err := d.openRead("f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := d.clone(f, "g")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if st, err := os.Stat(filepath.Join(dir, "g")); err != nil || st.Mode() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	wantTree(t, dir, map[string]string{"f": "old\n", "g": "old\n"})
}

// Programs that an assistant writes bear the mark, also one that was there; other files don't.
func TestQuarantine(t *testing.T) {
	root, dir := scratch(t, map[string]string{"tool": "#!/bin/sh\n", "text": "old\n"})
	for name, write := range map[string]func() (Result, error){
		"tool": func() (Result, error) { return Edit(root, "tool", []Hunk{line(0, "#!/bin/bash")}, Options{}) },
		"new":  func() (Result, error) { return Write(root, "new", "#!/bin/sh\n", Options{}) },
		"text": func() (Result, error) { return Edit(root, "text", []Hunk{line(0, "x")}, Options{}) },
	} {
		if _, err := write(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		buf := make([]byte, 100)
		_, err := unix.Getxattr(filepath.Join(dir, name), quarantineName, buf)
		if marked := err == nil; marked != (name != "text") {
			t.Errorf("%s: marked %v (%v)", name, marked, err)
		}
	}
}
