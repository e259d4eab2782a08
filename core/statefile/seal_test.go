package statefile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A MAC fits the text, the key and the purpose for which it was made, and nothing fits without a key.
func TestSeal(t *testing.T) {
	s := NewSeal([]byte("key"), "a")
	mac := s.Of([]byte("text"))
	if !s.Fits([]byte("text"), mac) || mac == "" {
		t.Error("its own MAC doesn't fit")
	}
	for name, fits := range map[string]bool{
		"another text":       s.Fits([]byte("text "), mac),
		"no MAC":             s.Fits([]byte("text"), ""),
		"another purpose":    NewSeal([]byte("key"), "b").Fits([]byte("text"), mac),
		"another key":        NewSeal([]byte("kez"), "a").Fits([]byte("text"), mac),
		"no key":             NewSeal(nil, "a").Fits([]byte("text"), mac),
		"no key and no MAC":  Seal{}.Fits([]byte("text"), Seal{}.Of([]byte("text"))),
		"an empty key's MAC": Seal{}.Fits([]byte("text"), NewSeal([]byte{}, "a").Of([]byte("text"))),
	} {
		if fits {
			t.Errorf("%s fits", name)
		}
	}
}

// What another user could have written, a link, and what is too long aren't read.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.json")
	if err := os.WriteFile(file, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := Read(file, 5, 0o077); err != nil || string(text) != "12345" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := Read(file, 4, 0o077); err == nil {
		t.Error("five bytes of four were read")
	}
	if err := os.Chmod(file, 0o620); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(file, 5, 0o022); !errors.Is(err, ErrForeign) {
		t.Errorf("what a group may write: %v", err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, dir} {
		if _, err := Read(path, 5, 0); !errors.Is(err, ErrForeign) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := Read(filepath.Join(dir, "none"), 5, 0); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
