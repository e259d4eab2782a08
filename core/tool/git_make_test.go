package tool

import (
	"os"
	"path/filepath"
	"testing"
)

// A clone that is taken away is the folder that was made for it, whatever another command put in its place meanwhile.
func TestUnmakeSwapped(t *testing.T) {
	for _, how := range []string{"link", "folder", "stays"} {
		t.Run(how, func(t *testing.T) {
			base := t.TempDir()
			for _, dir := range []string{"important/.git/objects", "important/src"} {
				if err := os.MkdirAll(filepath.Join(base, dir), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			root, err := os.OpenRoot(base)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			at := &place{given: "new", name: "new", dir: root}
			clone, err := at.hold()
			if err != nil {
				t.Fatal(err)
			}
			defer clone.Close()
			if err := clone.MkdirAll(".git/objects", 0o700); err != nil {
				t.Fatal(err)
			}
			do := func(err error) {
				if err != nil {
					t.Fatal(err)
				}
			}
			made, important := "new", "important"
			if how != "stays" {
				made = "moved"
				do(root.Rename("new", made))
			}
			switch how {
			case "link":
				do(root.Symlink("important", "new"))
			case "folder":
				important = "new"
				do(root.Rename("important", "new"))
			}
			unmake(at, root, clone, []string{"src"})
			for _, name := range []string{"/.git/objects", "/src"} {
				if _, err := root.Stat(important + name); err != nil {
					t.Error(err)
				}
			}
			if _, err := root.Lstat(made + "/.git"); !os.IsNotExist(err) {
				t.Errorf("what the clone left: %v", err)
			}
			if _, err := root.Lstat("new"); os.IsNotExist(err) != (how == "stays") {
				t.Errorf("the folder: %v", err)
			}
		})
	}
	base := t.TempDir()
	root, err := os.OpenRoot(base)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := os.Mkdir(filepath.Join(base, "important"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("important", filepath.Join(base, "new")); err != nil {
		t.Fatal(err)
	}
	if dir, err := (&place{given: "new", name: "new", dir: root}).hold(); err == nil {
		dir.Close()
		t.Error("a link was held")
	}
}
