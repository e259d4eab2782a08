package tool

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The file is whatever the command made of it: it names a folder, or nothing.
func TestFolderKept(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(outside, []byte("/secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, text, want string
		make             func(path string) error
	}{
		{"a path", "/usr/lib\n", "/usr/lib", nil},
		{"nothing", "", "", nil},
		{"relative", "usr\n", "", nil},
		{"no end", "/usr", "", nil},
		{"two lines", "/usr\n/lib\n", "", nil},
		{"NUL", "/usr\x00\n", "", nil},
		{"too long", "/" + strings.Repeat("x", maxFolder) + "\n", "", nil},
		{"a link", "", "", func(path string) error { return os.Symlink(outside, path) }},
		{"a link beside it", "", "", func(path string) error { return os.Symlink("a path", path) }},
		{"a folder", "", "", func(path string) error { return os.Mkdir(path, 0o700) }},
		{"a FIFO", "", "", func(path string) error { return syscall.Mkfifo(path, 0o600) }},
		{"no file", "", "", func(string) error { return nil }},
	} {
		path := filepath.Join(dir, c.name)
		if c.make == nil {
			c.make = func(path string) error { return os.WriteFile(path, []byte(c.text), 0o600) }
		}
		if err := c.make(path); err != nil {
			t.Fatal(err)
		}
		if got := folderKept(path); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s: the file is still there", c.name)
		}
	}
}
