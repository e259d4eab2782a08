package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Names are resolved as filepath.EvalSymlinks does, with each folder looked at once.
func TestRealFolders(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(dir+"/a", 0o700), os.WriteFile(dir+"/a/file", nil, 0o600), os.Symlink("a", dir+"/link"), os.Symlink("../link/file", dir+"/a/in"),
		os.Symlink("nowhere", dir+"/a/dangling"), os.Symlink("round", dir+"/round")); err != nil {
		t.Fatal(err)
	}
	folders := realFolders{}
	for _, path := range []string{"/", "/missing", dir + "/a", dir + "/a/file", dir + "/link", dir + "/link/file", dir + "/link/in", dir + "/a/in", dir + "/a/dangling", dir + "/round", dir + "/round/x", dir + "/b/c"} {
		want, wantErr := filepath.EvalSymlinks(path)
		got, err := folders.resolve(path)
		if (err == nil) != (wantErr == nil) || err == nil && got != want {
			t.Errorf("%s is %q, %v, want %q, %v", path, got, err, want, wantErr)
		}
	}
}

// A home folder that can't be listed, and one whose names are in other letters, hides nothing that exists.
func TestListing(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.MkdirAll(dir+"/.config/gh", 0o700), os.WriteFile(dir+"/.NETRC", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, l := range []listing{newListing(dir), {dir: dir}} {
		for path, want := range map[string]bool{dir: true, dir + "/.config": true, dir + "/.config/gh": true, dir + "/.config/x": false, dir + "/.ssh/id": false, "/": true, "/missing": false} {
			if l.exists(path) != want {
				t.Errorf("%s: %v", path, !want)
			}
		}
	}
	if !newListing(dir).names[".netrc"] { // on a file system that takes one for the other it exists
		t.Error("names are not folded")
	}
}
