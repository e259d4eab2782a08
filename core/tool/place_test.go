package tool

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"handrail/core/grant"
	"handrail/core/hint"
)

func idOf(t *testing.T, path string) grant.ID {
	t.Helper()
	id, err := grant.Identify(path)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestExpand(t *testing.T) {
	g := &Gate{Workspace: "/w", Home: grant.Home{Home: "/home/me"}}
	for _, c := range []struct{ path, want string }{
		{"a/b", "/w/a/b"}, {".", "/w"}, {"../x", "/x"}, {"/a/../b", "/b"}, {"/a//b/", "/a/b"}, {"~", "/home/me"}, {"~/x", "/home/me/x"},
		{"~bob/x", "/w/~bob/x"}, {"a/~", "/w/a/~"}, {"%2e%2e/x", "/w/%2e%2e/x"}, {"..test", "/w/..test"}, {"com~apple~CloudDocs/a", "/w/com~apple~CloudDocs/a"},
		{"", ""}, {"a\x00b", ""},
	} {
		got, err := g.expand(c.path, "/w")
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q: %q, %v; want %q", c.path, got, err, c.want)
		}
	}
}

func TestLocate(t *testing.T) {
	w := newWorld(t, true)
	for _, f := range []string{"w/a/b/x.txt", "w/top.txt", "h/docs/d.txt"} {
		w.put(f, []byte("x"))
	}
	link := func(to, at string) {
		if err := os.Symlink(to, w.path(at)); err != nil {
			t.Fatal(err)
		}
	}
	link(w.path("h/docs"), "w/out")
	link("x.txt", "w/a/b/inside")
	link("/nowhere/at/all", "w/a/broken")
	link("loop", "w/a/loop")
	link(w.path("w/a"), "h/into")
	for _, c := range []struct {
		name, path string
		folder     bool
		real, unit string // as plain gives them; real empty: refused
		outside    bool
		file       bool
		exists     bool
	}{
		{"below a unit", "a/b/x.txt", false, "$W/a/b/x.txt", "$W/a", false, false, true},
		{"unit", "a", true, "$W/a", "$W/a", false, false, true},
		{"workspace", ".", true, "$W", "$W", false, false, true},
		{"file in the workspace", "top.txt", false, "$W/top.txt", "$W/top.txt", false, true, true},
		{"new file", "a/b/new", false, "$W/a/b/new", "$W/a", false, false, false},
		{"new unit", "n/b/new", false, "$W/n/b/new", "$W/n", false, false, false},
		{"new file in the workspace", "n.txt", false, "$W/n.txt", "$W/n.txt", false, true, false},
		{"new folder", "n", true, "$W/n", "$W/n", false, false, false},
		{"outside", "~/docs/d.txt", false, "$H/docs/d.txt", "$H/docs", true, false, true},
		{"by dots", "../docs/d.txt", false, "$H/docs/d.txt", "$H/docs", true, false, true},
		{"link out", "out/d.txt", false, "$H/docs/d.txt", "$H/docs", true, false, true},
		{"link inside", "a/b/inside", false, "$W/a/b/x.txt", "$W/a", false, false, true},
		{"link in from outside", "~/into/b/x.txt", false, "$W/a/b/x.txt", "$W/a", false, false, true},
		{"other spaces", "a/b/x.txt/", false, "$W/a/b/x.txt", "$W/a", false, false, true},
		{"broken link", "a/broken", false, "", "", false, false, false},
		{"below a broken link", "a/broken/x", false, "", "", false, false, false},
		{"loop", "a/loop", false, "", "", false, false, false},
		{"below a file", "top.txt/x", false, "", "", false, false, false},
		{"outside, no folder", "~/no/such/d.txt", false, "", "", false, false, false},
	} {
		p, err := w.gate.locate(c.path, w.gate.Workspace, c.folder)
		if c.real == "" {
			if err == nil {
				t.Errorf("%s: located at %s", c.name, p.real)
				p.close()
			} else if hint.Code(err) == "internal" {
				t.Errorf("%s: %v has no hint", c.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if w.plain(p.real) != c.real || w.plain(p.unit.Folder) != c.unit || p.unit.Outside != c.outside || p.unit.File != c.file || (p.info != nil) != c.exists {
			t.Errorf("%s: %s in %+v, exists %v", c.name, w.plain(p.real), p.unit, p.info != nil)
		}
		if joined := filepath.Join(p.dir.Name(), p.name); c.exists && joined != p.real {
			t.Errorf("%s: dir and name lead to %s", c.name, joined)
		}
		p.close()
	}
}

// A name that a model can't write is found by its twin.
func TestTwin(t *testing.T) {
	w := newWorld(t, true)
	w.put("w/shots/Screenshot at 9.41.00\u202fAM.png", []byte("x"))
	w.put("w/cafe\u0301/menu.txt", []byte("x"))
	for _, c := range []struct{ path, want string }{
		{"shots/Screenshot at 9.41.00 AM.png", "$W/shots/Screenshot at 9.41.00\u202fAM.png"},
		{"caf\u00e9/menu.txt", "$W/cafe\u0301/menu.txt"},
	} {
		p, err := w.gate.locate(c.path, w.gate.Workspace, false)
		if err != nil {
			t.Fatal(err)
		}
		if w.plain(p.real) != c.want || p.info == nil {
			t.Errorf("%s led to %q", c.path, w.plain(p.real))
		}
		p.close()
	}
}

// A folder on the way that is swapped for a link is not followed: neither outside the workspace nor in it.
func TestLocateAgainstSwaps(t *testing.T) {
	w := newWorld(t, true)
	w.put("h/secret/key.txt", []byte("secret"))
	w.put("h/docs/key.txt", []byte("mine"))
	w.put("w/a/key.txt", []byte("mine"))
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, at := range []string{w.path("h/docs"), w.path("w/a")} {
				os.Rename(at, at+".old")
				os.Symlink(w.path("h/secret"), at)
				syscall.Unlink(at)
				os.Rename(at+".old", at)
			}
		}
	}()
	reached := 0
	for range 3000 {
		for _, path := range []string{w.path("h/docs/key.txt"), "a/key.txt"} {
			p, err := w.gate.locate(path, w.gate.Workspace, false)
			if err != nil {
				continue
			}
			if data, err := p.dir.ReadFile(p.name); err == nil && string(data) == "secret" && w.plain(p.real) != "$H/secret/key.txt" {
				t.Errorf("%s, judged as %s, led to the secret", path, w.plain(p.real))
			} else if err == nil {
				reached++
			}
			p.close()
		}
	}
	close(stop)
	<-done
	if reached == 0 {
		t.Error("nothing was reached, so nothing was tested")
	}
}
