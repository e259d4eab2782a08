package edit

import (
	"os"
	"path/filepath"
	"testing"

	"handrail/core/hint"
)

// What was harmless when it was changed isn't put back where Git obeys it by now, also not with the rest of a change.
func TestUndoSettings(t *testing.T) {
	const git = "put x/HEAD ref;mkdir x/objects;put x/objects/o o;mkdir x/refs;put x/refs/r r"
	for _, c := range []struct {
		name, before, change, since string
		left                        string // what stays as it is; "" if all is put back
	}{
		{"settings deleted, then a repository", "put x/config evil", "rm x/config", git, "x/config"},
		{"settings changed, then a repository", "put x/config evil", "put x/config good", git, "x/config"},
		{"settings in capitals", "put x/CONFIG evil", "rm x/CONFIG", git, "x/CONFIG"},
		{"settings renamed", "put x/config evil", "mv x/config x/c", git, "x/config"},
		{"a link", "link x/config ../evil", "rm x/config", git, "x/config"},
		{"a hook", "mkdir x/hooks;put x/hooks/pre-push evil", "rm x/hooks/pre-push", git, "x/hooks/pre-push"},
		{"a folder of hooks", "mkdir x/hooks;put x/hooks/pre-push evil", "rm x/hooks", git, "x/hooks"},
		{"a sample", "mkdir x/hooks;put x/hooks/pre-push.sample text", "rm x/hooks/pre-push.sample", git, ""},
		{"HEAD, where settings came", git, "rm x/HEAD", "put x/config evil", "x/HEAD"},
		{"refs, where settings came", git, "rm x/refs", "put x/config evil", "x/refs"},
		{"a whole repository", git + ";put x/config good", "rm x", "", ""},
		{"a whole repository, where settings came", git, "rm x/HEAD;rm x/objects;rm x/refs", "put x/config evil", "x/HEAD"},
		{"a new repository", "put x/config evil", "rm x/config;" + git, "", ""},
		{"a new repository of which a part is left", "put x/config evil", "put x/config good;" + git, "put x/HEAD other;put x/objects/p p;put x/refs/s s", "x/config"},
		{"settings nothing obeys", "put x/config text", "rm x/config", "put x/HEAD ref;mkdir x/objects;put x/objects/o o", ""},
		{"a branch", git, "rm x/refs/r", "", ""},
		{"the head of a repository", git, "put x/HEAD other", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := keeping(t, map[string]string{"x/f": "f", "x/g": "g"}, nil)
			k.sh(c.before)()
			r := k.command(k.sh(c.change + ";rm x/f"))
			if len(r.Changes) != 1 {
				t.Fatalf("%+v", r)
			}
			k.sh(c.since)()
			u, err := k.Undo(r.Changes[0], false)
			if c.left == "" {
				if err != nil || len(u.Left) > 0 {
					t.Fatalf("%+v, %v", u, err)
				}
				return
			}
			named := false
			for _, l := range u.Left {
				named = named || l.Path == filepath.Join(k.dir, c.left) && l.Why == whyGit
			}
			if hint.Code(err) != "stale" || !named {
				t.Fatalf("%+v, %v, want %s left", u, err, c.left)
			}
			want := picture(t, k.dir)[c.left]
			if _, err := k.Undo(r.Changes[0], true); err != nil && hint.Code(err) != "stale" {
				t.Fatal(err)
			}
			if got := picture(t, k.dir)[c.left]; got != want {
				t.Errorf("%s was put back with the rest: %q", c.left, got)
			}
		})
	}
}

func TestUndoSettingsOfEdits(t *testing.T) {
	_, dir := scratch(t, map[string]string{"x/config": "evil\n"})
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	u := openUndo(t, filepath.Join(t.TempDir(), "undo"), 1<<20)
	s, err := OpenSnapshots(SnapshotOptions{Dir: filepath.Join(t.TempDir(), "state", "snapshots"), Undo: u})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	one, err := Edit(root, "x/config", str("evil", "good"), Options{Undo: u})
	if err != nil {
		t.Fatal(err)
	}
	patch, err := ParsePatch("*** Begin Patch\n*** Update File: x/config\n@@\n-good\n+better\n*** Add File: y\n+y\n*** End Patch")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ApplyPatch(patch, func(name string) (At, error) { return At{root, name}, nil }, Options{Undo: u}); err != nil {
		t.Fatal(err)
	}
	many := s.Changes()[0].ID
	for _, name := range []string{"x/HEAD", "x/objects/o", "x/refs/r"} {
		os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{many, one.UndoID} {
		if r, err := s.Undo(id, false); hint.Code(err) != "stale" {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "x/config")); err != nil || string(text) != "better\n" {
		t.Errorf("%q, %v", text, err)
	}
	if err := os.Remove(filepath.Join(dir, "x/HEAD")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Undo(many, false); err != nil {
		t.Error(err)
	}
}
