package git

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(root, name) }
	folder := func(names ...string) {
		for _, n := range names {
			if err := os.MkdirAll(at(n), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	file := func(name, text string) {
		folder(filepath.Dir(name))
		if err := os.WriteFile(at(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	repository := func(name string) {
		folder(name+"/objects", name+"/refs")
		file(name+"/HEAD", "ref: refs/heads/main\n")
	}
	repository("above/.git")
	folder("above/proj/plain/deep")
	repository("above/proj/site/.git")
	folder("above/proj/site/css/a")
	repository("above/proj/bare.git")
	repository("above/proj/site/.git/modules/lib")
	file("above/proj/site/lib/.git", "gitdir: ../.git/modules/lib\n")
	folder("above/proj/site/.git/worktrees/second")
	file("above/proj/site/.git/worktrees/second/HEAD", "ref: refs/heads/second\n")
	file("above/proj/site/.git/worktrees/second/commondir", "../..\n")
	file("above/proj/second/.git", "gitdir: "+at("above/proj/site/.git/worktrees/second")+"\n")
	file("above/proj/gone/.git", "gitdir: /nowhere/at/all\n")
	file("above/proj/noise/.git", "hello\n")
	file("above/proj/plain2/.git", "gitdir: ../plain\n")
	folder("above/proj/empty/.git")
	file("above/proj/lost/.git", "gitdir: ../lostdir\n")
	file("above/proj/lostdir/commondir", "../plain\n")
	if err := os.Symlink(at("above/proj/site/.git"), at("above/proj/plain/.git")); err != nil {
		t.Fatal(err)
	}
	proj := "above/proj"
	for _, c := range []struct {
		name, dir string
		want      Repository // paths below root
		err       string
	}{
		{"the top", proj + "/site", Repository{proj + "/site", proj + "/site/.git", proj + "/site/.git"}, ""},
		{"below the top", proj + "/site/css/a", Repository{proj + "/site", proj + "/site/.git", proj + "/site/.git"}, ""},
		{"inside the Git folder", proj + "/site/.git", Repository{proj + "/site", proj + "/site/.git", proj + "/site/.git"}, ""},
		{"bare", proj + "/bare.git", Repository{"", proj + "/bare.git", proj + "/bare.git"}, ""},
		{"below bare", proj + "/bare.git/refs", Repository{"", proj + "/bare.git", proj + "/bare.git"}, ""},
		{"submodule", proj + "/site/lib", Repository{proj + "/site/lib", proj + "/site/.git/modules/lib", proj + "/site/.git/modules/lib"}, ""},
		{"linked work tree", proj + "/second", Repository{proj + "/second", proj + "/site/.git/worktrees/second", proj + "/site/.git"}, ""},
		{"through a link", proj + "/plain/deep", Repository{proj + "/plain", proj + "/site/.git", proj + "/site/.git"}, ""},
		{"not above the ceiling", proj, Repository{}, ErrNone.Error()},
		{"an empty .git is none", proj + "/empty", Repository{}, ErrNone.Error()},
		{"leads nowhere", proj + "/gone", Repository{}, "it leads to \"/nowhere/at/all\", which is not there"},
		{"no pointer", proj + "/noise", Repository{}, "it doesn't say where the Git folder is"},
		{"leads to a plain folder", proj + "/plain2", Repository{}, "it leads to no Git folder"},
		{"leads on to a plain folder", proj + "/lost", Repository{}, "it leads to no Git folder"},
	} {
		got, err := Find(at(c.dir), at(proj))
		for _, p := range []*string{&c.want.Top, &c.want.Dir, &c.want.Common} {
			if *p != "" {
				*p = at(*p)
			}
		}
		if got != c.want || err == nil != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %+v, %v; want %+v, %q", c.name, got, err, c.want, c.err)
		}
	}
	if _, err := Find(at("above"), at("above")); err != nil {
		t.Error("a repository at the ceiling:", err)
	}
	if _, err := Find(string(filepath.Separator), at("above")); !errors.Is(err, ErrNone) {
		t.Error("outside the ceiling:", err)
	}
}

func TestRepository(t *testing.T) {
	for _, c := range []struct {
		r                       Repository
		folders                 []string
		bare, linked, submodule bool
	}{
		{Repository{"/w/a", "/w/a/.git", "/w/a/.git"}, []string{"/w/a"}, false, false, false},
		{Repository{"", "/w/a.git", "/w/a.git"}, []string{"/w/a.git"}, true, false, false},
		{Repository{"/w/b", "/w/a/.git/worktrees/b", "/w/a/.git"}, []string{"/w/b", "/w/a/.git"}, false, true, false},
		{Repository{"/w/a/lib", "/w/a/.git/modules/lib", "/w/a/.git/modules/lib"}, []string{"/w/a/lib", "/w/a/.git/modules/lib"}, false, false, true},
	} {
		if got := c.r.Folders(); !slices.Equal(got, c.folders) || c.r.Bare() != c.bare || c.r.Linked() != c.linked || c.r.Submodule() != c.submodule {
			t.Errorf("%+v: %q, bare %v, linked %v, submodule %v", c.r, got, c.r.Bare(), c.r.Linked(), c.r.Submodule())
		}
	}
}

func TestParseRemote(t *testing.T) {
	for _, c := range []struct {
		address string
		want    Remote // the zero Remote: refused
	}{
		{"https://example.com/a/b.git", Remote{Reach: HTTPS, Scheme: "https", Host: "example.com", Path: "/a/b.git"}},
		{"https://Example.COM:8443/a", Remote{Reach: HTTPS, Scheme: "https", Host: "example.com:8443", Path: "/a"}},
		{"https://ann@example.com/a", Remote{Reach: HTTPS, Scheme: "https", Host: "example.com", User: "ann", Path: "/a"}},
		{"https://ann:pw@example.com/a", Remote{Reach: HTTPS, Address: "https://ann:xxxxx@example.com/a", Scheme: "https", Host: "example.com", User: "ann", Path: "/a", Secret: true}},
		{"http://127.0.0.1:9/a", Remote{Reach: Loopback, Scheme: "http", Host: "127.0.0.1:9", Path: "/a"}},
		{"https://localhost/a", Remote{Reach: Loopback, Scheme: "https", Host: "localhost", Path: "/a"}},
		{"http://[::1]:9/a", Remote{Reach: Loopback, Scheme: "http", Host: "[::1]:9", Path: "/a"}},
		{"http://127.0.0.1.example.com/a", Remote{}},
		{"http://example.com/a", Remote{}},
		{"https://example.com/a?x", Remote{}},
		{"https://exаmple.com/a", Remote{}}, // a Cyrillic а
		{"https:///a", Remote{}},
		{"https://example.com\\@evil.example/a", Remote{}},
		{"git://example.com/a", Remote{}},
		{"git@example.com:a/b.git", Remote{Reach: SSH, Scheme: "ssh", Host: "example.com", User: "git", Path: "a/b.git"}},
		{"ssh://git@example.com:22/a", Remote{Reach: SSH, Scheme: "ssh", Host: "example.com:22", User: "git", Path: "/a"}},
		{"-oProxyCommand=evil:a", Remote{}},
		{"ssh://-oProxyCommand=evil/a", Remote{}},
		{"git@-oProxyCommand=evil:a", Remote{}},
		{"/home/ann/a.git", Remote{Reach: Folder, Scheme: "file", Path: "/home/ann/a.git"}},
		{"../a.git", Remote{Reach: Folder, Scheme: "file", Path: "../a.git"}},
		{"./a:b", Remote{Reach: Folder, Scheme: "file", Path: "a:b"}},
		{"file:///home/ann/a.git", Remote{Reach: Folder, Scheme: "file", Path: "/home/ann/a.git"}},
		{"file://host/a", Remote{}},
		{"file:///a%2e", Remote{}},
		{"ext::sh -c evil", Remote{}},
		{"ext::evil", Remote{}},
		{"fd::3", Remote{}},
		{"persistent-https://example.com/a", Remote{}},
		{"--upload-pack=evil", Remote{}},
		{"a b", Remote{}},
		{"a\nb", Remote{}},
		{"", Remote{}},
	} {
		got, err := ParseRemote(c.address)
		if c.want.Reach != Nowhere && c.want.Address == "" {
			c.want.Address = c.address
			if strings.HasPrefix(c.address, "https://Example") {
				c.want.Address = got.Address
			}
		}
		if got != c.want || (err == nil) != (c.want.Reach != Nowhere) {
			t.Errorf("%q: %+v, %v", c.address, got, err)
		}
	}
}

func TestParseStatus(t *testing.T) {
	const zero = "0000000000000000000000000000000000000000"
	text := strings.Join([]string{
		"# branch.oid 1234", "# branch.head main", "# branch.upstream origin/main", "# branch.ab +2 -3",
		"1 M. N... 100644 100644 100644 " + zero + " " + zero + " a file.txt",
		"1 .D N... 100644 100644 000000 " + zero + " " + zero + " gone",
		"1 AM S.M. 000000 160000 160000 " + zero + " " + zero + " lib",
		"2 R. N... 100644 100644 100644 " + zero + " " + zero + " R100 new\nname", "old name",
		"u UU N... 100644 100644 100644 100644 " + zero + " " + zero + " " + zero + " both",
		"? un tracked", "! ignored", ""}, "\x00")
	got, err := ParseStatus([]byte(text))
	want := Status{Head: "1234", Branch: "main", Upstream: "origin/main", Ahead: 2, Behind: 3, Files: []File{
		{Path: "a file.txt", Staged: "M"}, {Path: "gone", Unstaged: "D"}, {Path: "lib", Staged: "A", Unstaged: "M", Submodule: true},
		{Path: "new\nname", From: "old name", Staged: "R"}, {Path: "both", Conflict: true}, {Path: "un tracked", Untracked: true}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if c := got.Conflicts(); !slices.Equal(c, []string{"both"}) {
		t.Errorf("conflicts %q", c)
	}
	got, err = ParseStatus([]byte("# branch.oid (initial)\x00# branch.head (detached)\x00"))
	if err != nil || got.Head != "" || got.Branch != "" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"1 M. N... 100644\x00", "2 R. N... 1 2 3 4 5 R1 new\x00", "? no end", "x y\x00", "1 M N... 1 2 3 4 5 p\x00"} {
		if s, err := ParseStatus([]byte(bad)); err == nil {
			t.Errorf("%q: %+v", bad, s)
		}
	}
}

func FuzzParseStatus(f *testing.F) {
	f.Add([]byte("# branch.oid (initial)\x00? a\x00"))
	f.Add([]byte("2 R. N... 1 2 3 4 5 R100 new\x00old\x00"))
	f.Add([]byte("u UU N... 1 2 3 4 5 6 7 both\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseStatus(text)
		if err != nil && len(s.Files) > 0 {
			t.Error("files beside an error")
		}
	})
}
