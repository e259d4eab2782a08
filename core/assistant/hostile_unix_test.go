//go:build unix

package assistant

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"handrail/core/hint"
)

// What isn't an ordinary file that can be replaced is left alone, and said. Nothing waits for a FIFO.
func TestHostileFiles(t *testing.T) {
	for _, x := range []struct {
		name  string
		make  func(file string) error
		state State
	}{
		{"a folder", func(file string) error { return os.Mkdir(file, 0o700) }, Broken},
		{"a FIFO", func(file string) error { return syscall.Mkfifo(file, 0o600) }, Broken},
		{"a link to a FIFO", func(file string) error {
			return errors.Join(syscall.Mkfifo(file+".fifo", 0o600), os.Symlink(file+".fifo", file))
		}, Broken},
		{"a link to a device", func(file string) error { return os.Symlink("/dev/zero", file) }, Broken},
		{"a link to itself", func(file string) error { return os.Symlink(filepath.Base(file), file) }, Broken},
		{"links in a circle", func(file string) error { return errors.Join(os.Symlink(file+".b", file), os.Symlink(file, file+".b")) }, Broken},
		{"a link to nothing", func(file string) error { return os.Symlink(file+".none", file) }, Broken},
		{"a huge file", func(file string) error { return errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, 1<<40)) }, Broken},
		{"a large file", func(file string) error {
			return errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, maxBytes+1))
		}, Broken},
		{"a write-protected file", func(file string) error { return os.WriteFile(file, []byte("{}"), 0o400) }, Apart},
		{"a file with two names", func(file string) error {
			return errors.Join(os.WriteFile(file, []byte("{}"), 0o600), os.Link(file, file+".b"))
		}, Apart},
		{"a folder in the copy's place", func(file string) error {
			return errors.Join(os.WriteFile(file, []byte("{}"), 0o600), os.MkdirAll(file+backupEnding+"/x", 0o700))
		}, Apart},
	} {
		c := standIn(t, "linux")
		file := c.with(t, "cursor", "")
		if err := errors.Join(os.Remove(file), x.make(file)); err != nil {
			t.Fatal(x.name, err)
		}
		before, err := os.Lstat(file)
		if err != nil {
			t.Fatal(err)
		}
		if s := c.state(t, "cursor", testCommand); s != x.state {
			t.Errorf("%s: %v", x.name, s)
		}
		if _, err := c.Connect("cursor", testCommand, true); hint.Code(err) != "config_file" {
			t.Errorf("%s: %v", x.name, err)
		} else {
			t.Logf("%s: %v", x.name, err)
		}
		if after, err := os.Lstat(file); err != nil || !os.SameFile(before, after) || after.ModTime() != before.ModTime() || after.Mode() != before.Mode() {
			t.Errorf("%s was changed: %v", x.name, err)
		}
		if x.name != "a folder in the copy's place" {
			gone(t, file+backupEnding)
		}
	}
}
