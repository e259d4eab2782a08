package grant

import (
	"os"
	"path/filepath"
	"testing"
)

func TestUnitOf(t *testing.T) {
	for _, c := range []struct {
		name, path string
		dir        bool
		want       Unit
	}{
		{"file below", "/w/a/b/c.txt", false, Unit{Folder: "/w/a"}},
		{"folder below", "/w/a/b", true, Unit{Folder: "/w/a"}},
		{"child folder", "/w/a", true, Unit{Folder: "/w/a"}},
		{"file in the workspace", "/w/c.txt", false, Unit{Folder: "/w/c.txt", File: true}},
		{"workspace", "/w", true, Unit{Folder: "/w"}},
		{"name that starts alike", "/w2/c.txt", false, Unit{Folder: "/w2", Outside: true}},
		{"dots in a name", "/w/..a/c.txt", false, Unit{Folder: "/w/..a"}},
		{"outside", "/x/y/c.txt", false, Unit{Folder: "/x/y", Outside: true}},
		{"folder outside", "/x/y", true, Unit{Folder: "/x/y", Outside: true}},
	} {
		if got := UnitOf("/w", c.path, c.dir); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		folder, path string
		want         bool
	}{
		{"/a/b", "/a/b", true}, {"/a/b", "/a/b/c", true}, {"/a/b", "/a/bc", false}, {"/a/b", "/a", false},
		{"/a/b", "/a/b/..c", true}, {"/a/b", "/a/b/../c", false}, {"/", "/a", true}, {"", "/a", false}, {"/a", "", false},
		{"a", "a/b", false}, {"/a/b", "b", false}, {"/a b (x)", "/a b (x)_backup", false},
	} {
		if got := Within(c.folder, c.path); got != c.want {
			t.Errorf("Within(%q, %q) = %v", c.folder, c.path, got)
		}
	}
}

func grantOn(t *testing.T, right Right, folder string) Grant {
	t.Helper()
	id, err := Identify(folder)
	if err != nil {
		t.Fatal(err)
	}
	return Grant{Right: right, Folder: folder, ID: id}
}

func TestStoreCovers(t *testing.T) {
	w := realTemp(t)
	a, b := filepath.Join(w, "a"), filepath.Join(w, "ab")
	blind := filepath.Join(w, "blind")
	for _, d := range []string{a, b, blind} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var s Store
	byPhrase := grantOn(t, Copies, blind)
	byPhrase.Blind = true
	s.Add("s", byPhrase)
	s.Add("s", grantOn(t, Edit, a))
	s.Add("s", grantOn(t, Look, b))
	for _, c := range []struct {
		name, session string
		right         Right
		path          string
		want          bool
	}{
		{"granted", "s", Edit, filepath.Join(a, "x", "y"), true},
		{"folder itself", "s", Edit, a, true},
		{"less", "s", Look, filepath.Join(a, "x"), true},
		{"more", "s", Edit, filepath.Join(b, "x"), false},
		{"name that starts alike", "s", Edit, a + "c", false},
		{"parent", "s", Look, w, false},
		{"another session", "t", Look, a, false},
		{"no session", "", Look, a, false},
		{"no right", "s", None, a, false},
		{"by a phrase", "s", Copies, blind, true},
		{"by a phrase: no reading", "s", Look, blind, false},
		{"by a phrase: no more", "s", Edit, blind, false},
	} {
		if _, got := s.Covers(c.session, c.right, c.path); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	s.Revoke("s", a)
	if _, ok := s.Covers("s", Edit, a); ok {
		t.Error("a revoked grant covers")
	}
	s.Revoke("s", "")
	if len(s.List("s")) != 0 {
		t.Error("grants are left after all were revoked")
	}
}

func TestStoreRefusesNothings(t *testing.T) {
	var s Store
	dir := realTemp(t)
	good := grantOn(t, Edit, dir)
	for name, g := range map[string]Grant{"zero": {}, "no right": {Folder: dir, ID: good.ID}, "no identity": {Right: Edit, Folder: dir}, "no folder": {Right: Edit, ID: good.ID}} {
		s.Add("s", g)
		if g.Check() == nil || len(s.List("s")) != 0 {
			t.Errorf("%s grant counts", name)
		}
	}
	s.Add("", good)
	if len(s.All()) != 0 {
		t.Error("a grant without a session counts")
	}
}

// A folder that was swapped after it was granted is not the one the person allowed.
func TestSwappedFolder(t *testing.T) {
	for _, c := range []struct {
		name string
		swap func(t *testing.T, folder, other string)
	}{
		{"another folder", func(t *testing.T, folder, other string) { must(t, os.Rename(other, folder)) }},
		{"a link", func(t *testing.T, folder, other string) { must(t, os.Symlink(other, folder)) }},
		{"a link to itself", func(t *testing.T, folder, other string) { must(t, os.Symlink(folder+".old", folder)) }},
		{"nothing", func(*testing.T, string, string) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := realTemp(t)
			folder, other := filepath.Join(w, "a"), filepath.Join(w, "other")
			must(t, os.Mkdir(folder, 0o755))
			must(t, os.Mkdir(other, 0o755))
			var s Store
			s.Add("s", grantOn(t, Edit, folder))
			must(t, os.Rename(folder, folder+".old"))
			c.swap(t, folder, other)
			if _, ok := s.Covers("s", Edit, filepath.Join(folder, "x")); ok {
				t.Error("the grant still covers")
			}
			// Putting the folder back doesn't revive the grant.
			os.Remove(folder)
			must(t, os.Rename(folder+".old", folder))
			if _, ok := s.Covers("s", Edit, filepath.Join(folder, "x")); ok {
				t.Error("the grant came back")
			}
		})
	}
}

func TestFileGrant(t *testing.T) {
	w := realTemp(t)
	file := filepath.Join(w, "notes.txt")
	must(t, os.WriteFile(file, nil, 0o644))
	id, err := Identify(w)
	must(t, err)
	g := Grant{Right: Edit, Folder: file, ID: id, File: true}
	if !g.Contains(file) || g.Contains(filepath.Join(file, "x")) || g.Contains(w) {
		t.Error("a file's grant covers another path")
	}
	must(t, os.Remove(file))
	if err := g.Check(); err != nil {
		t.Errorf("the grant ended with the file's replacement: %v", err)
	}
}

func TestGrantable(t *testing.T) {
	h := Home{Home: "/home/me", State: "/home/me/.local/state/handrail", Program: "/opt/handrail", Workspace: "/home/me/Handrail"}
	work := Home{Home: "/home/me", State: "/home/me/h", Work: "/home/me/h-work"}
	loose := Home{Home: "/home/me", State: "/home/me/.local/state/handrail", Program: "/home/me"} // the program lies in the home folder
	mac := Home{Home: "/Users/me", State: "/Users/me/Library/Application Support/Handrail", Program: "/Applications/Handrail.app", Workspace: "/Users/me/Handrail"}
	for _, c := range []struct {
		home   Home
		folder string
		want   bool
	}{
		{h, "/home/me/Handrail", true}, {h, "/home/me/Handrail/.github", true}, {h, "/home/me/Photos", true}, {h, "/srv/data", true},
		{h, "/mnt/disk/proj", true}, {h, "/tmp/x", true}, {h, "/home/me/Photos/2026", true},
		{h, "/", false}, {h, "/home", false}, {h, "/home/me", false}, {h, "", false}, {h, "Photos", false}, {h, "/home/me/../me/Photos", false},
		{h, "/home/me/.ssh", false}, {h, "/home/me/.config/x", false}, {h, "/home/me/.local/state", false}, {h, "/home/me/.local/state/handrail/out", false},
		{h, "/opt/handrail", false}, {h, "/opt", false}, {h, "/usr/local/x", false}, {h, "/usr", false}, {h, "/etc", false}, {h, "/var", false},
		{h, "/mnt/disk", false}, {h, "/media", false},
		{Home{}, "/home/me/Photos", false},
		{loose, "/home/me/Handrail", true}, {loose, "/home/me", false}, {mac, "/Applications/Handrail.app/Contents", false},
		{mac, "/Users/me/Documents/Taxes", true}, {mac, "/Volumes/Disk/proj", true},
		{mac, "/Users", false}, {mac, "/Users/me/Library", false}, {mac, "/Users/me/Library/Mail", false}, {mac, "/Applications", false},
		{mac, "/Volumes/Disk", false}, {mac, "/System/x", false}, {mac, "/private", false},
		// On a file system without case these are the same folders.
		{mac, "/users/me", false}, {mac, "/Users/ME/LIBRARY/Mail", false}, {mac, "/users/me/library/application support/handrail", false},
		{mac, "/applications/HANDRAIL.app", false}, {mac, "/system/x", false}, {mac, "/volumes/Disk", false}, {mac, "/Volumes/Disk/Library", true},
		{Home{Home: "/Users/zo\u00eb", State: "/Users/zo\u00eb/x"}, "/Users/zoe\u0308", false},
		{work, "/home/me/h-work", false}, {work, "/home/me/h-work/room", false}, {work, "/home/me/h-works", true},
	} {
		if err := c.home.Grantable(c.folder); (err == nil) != c.want {
			t.Errorf("%q: %v, want %v", c.folder, err, c.want)
		}
	}
	inside := h
	inside.State = "/home/me/Handrail/state"
	for _, f := range []string{"/home/me/Handrail", "/home/me/Handrail/state", "/home/me/Handrail/state/logs"} {
		if inside.Grantable(f) == nil {
			t.Errorf("%q holds our own files and was granted", f)
		}
	}
}

func realTemp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestReach(t *testing.T) {
	var s Store
	if s.Reaches("a", Network, "") || s.Reaches("a", 0, "") {
		t.Fatal("an empty store reaches something")
	}
	s.AddReach("", Network, "")
	s.AddReach("a", 0, "")
	s.AddReach("a", SignIn, "")
	s.AddReach("a", SignIn, "example.com")
	for _, c := range []struct {
		session string
		what    Reach
		host    string
		want    bool
	}{
		{"a", SignIn, "example.com", true}, {"a", SignIn, "example.org", false}, {"a", SignIn, "", false}, {"a", Network, "", false}, {"a", Network, "example.com", false},
		{"a", Loopback, "", false}, {"b", SignIn, "example.com", false}, {"", Network, "", false}, {"a", 0, "", false},
	} {
		if got := s.Reaches(c.session, c.what, c.host); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	s.AddReach("a", Network, "")
	s.Revoke("a", "/some/folder")
	if !s.Reaches("a", Network, "") {
		t.Error("taking back a folder took back the network")
	}
	s.Revoke("a", "")
	if s.Reaches("a", Network, "") || s.Reaches("a", SignIn, "example.com") {
		t.Error("a session without grants reaches something")
	}
}
