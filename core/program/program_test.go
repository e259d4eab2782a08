package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"handrail/core/hint"
)

func TestJudge(t *testing.T) {
	const home = "/Users/me"
	const inside = "/Contents/MacOS/handrail"
	for _, c := range []struct {
		name   string
		facts  Facts
		folder string
		want   Verdict
	}{
		{"nothing known", Facts{}, "", Unknown},
		{"not absolute", Facts{System: "darwin", Executable: "handrail", Home: home}, "", Unknown},
		{"installed", Facts{System: "darwin", Executable: "/Applications/Handrail.app" + inside, Home: home}, "/Applications/Handrail.app", Stays},
		{"installed, with another copy there", Facts{System: "darwin", Executable: home + "/Applications/Handrail.app" + inside, Home: home, Installed: "/Applications/Handrail.app"},
			home + "/Applications/Handrail.app", SecondCopy},
		{"renamed, spaces, Thai", Facts{System: "darwin", Executable: home + "/แอป ของฉัน/ราวจับ 2.app" + inside, Home: home}, home + "/แอป ของฉัน/ราวจับ 2.app", Stays},
		{"not in a bundle", Facts{System: "darwin", Executable: home + "/src/handrail/build/handrail", Home: home, Installed: "/Applications/Handrail.app"}, home + "/src/handrail/build", Stays},
		{"a folder called MacOS", Facts{System: "darwin", Executable: "/opt/MacOS/handrail", Home: home}, "/opt/MacOS", Stays},
		{"translocated", Facts{System: "darwin", Executable: "/private/var/folders/zz/x/T/AppTranslocation/8C5F/d/Handrail.app" + inside, Home: home, ReadOnly: true},
			"/private/var/folders/zz/x/T/AppTranslocation/8C5F/d/Handrail.app", Translocated},
		{"disk image", Facts{System: "darwin", Executable: "/Volumes/Handrail 1.0/Handrail.app" + inside, Home: home, ReadOnly: true}, "/Volumes/Handrail 1.0/Handrail.app", DiskImage},
		{"external disk", Facts{System: "darwin", Executable: "/Volumes/Apps/Handrail.app" + inside, Home: home}, "/Volumes/Apps/Handrail.app", Stays},
		{"read-only system volume", Facts{System: "darwin", Executable: "/opt/handrail", Home: home, ReadOnly: true}, "/opt", Stays},
		{"trash", Facts{System: "darwin", Executable: home + "/.Trash/Handrail.app" + inside, Home: home}, home + "/.Trash/Handrail.app", Trash},
		{"trash of a volume", Facts{System: "darwin", Executable: "/Volumes/Apps/.Trashes/501/Handrail.app" + inside, Home: home}, "/Volumes/Apps/.Trashes/501/Handrail.app", Trash},
		{"trash on Linux", Facts{System: "linux", Executable: "/home/me/.local/share/Trash/files/handrail", Home: "/home/me"}, "/home/me/.local/share/Trash/files", Trash},
		{"another user's", Facts{System: "darwin", Executable: "/Users/other/Applications/Handrail.app" + inside, Home: home}, "/Users/other/Applications/Handrail.app", OtherUser},
		{"a name that begins alike", Facts{System: "darwin", Executable: "/Users/me2/Handrail.app" + inside, Home: home}, "/Users/me2/Handrail.app", OtherUser},
		{"shared by all users", Facts{System: "darwin", Executable: "/Users/Shared/Handrail.app" + inside, Home: home}, "/Users/Shared/Handrail.app", Stays},
		{"home directly below /", Facts{System: "linux", Executable: "/usr/bin/handrail", Home: "/root"}, "/usr/bin", Stays},
		{"no home", Facts{System: "linux", Executable: "/usr/bin/handrail"}, "/usr/bin", Stays},
		{"package", Facts{System: "linux", Executable: "/usr/lib/handrail/handrail", Home: "/home/me"}, "/usr/lib/handrail", Stays},
	} {
		got := Judge(c.facts)
		if got.Verdict != c.want || got.Folder != c.folder || got.Executable != c.facts.Executable {
			t.Errorf("%s: %+v, want %v in %s", c.name, got, c.want, c.folder)
		}
		if err := got.Err(); (err == nil) != (c.want == Stays) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Each verdict has a name and words of its own, and only one lets the path be written down.
func TestVerdicts(t *testing.T) {
	seen := map[string]bool{}
	for v := Unknown; v <= SecondCopy+1; v++ {
		err := Place{Verdict: v, Installed: "/Applications/Handrail.app"}.Err()
		if (err == nil) != (v == Stays) {
			t.Errorf("%v: %v", v, err)
		}
		if err == nil || v > SecondCopy {
			continue
		}
		h := hint.Of(err)
		if seen[h.Why] || h.Why == "" || h.Next == "" || seen[h.Code] || strings.Contains(h.Code, "-") {
			t.Errorf("%v says %q, code %q", v, h, h.Code)
		}
		seen[h.Why], seen[h.Code] = true, true
	}
}

func TestInstalled(t *testing.T) {
	dir := t.TempDir()
	ours, other, link := filepath.Join(dir, "a b.app"), filepath.Join(dir, "Handrail.app"), filepath.Join(dir, "link.app")
	for _, path := range []string{ours, other} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(ours, link); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "missing.app")
	for _, c := range []struct {
		copies []string
		want   string
	}{
		{nil, ""}, {[]string{missing}, ""}, {[]string{missing, other}, other}, {[]string{ours}, ""}, {[]string{other, link}, ""},
	} {
		if got := installed(ours, c.copies...); got != c.want {
			t.Errorf("%v: %q, want %q", c.copies, got, c.want)
		}
	}
}

func TestFind(t *testing.T) {
	p, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(p.Executable); err != nil || info.IsDir() || p.Folder != filepath.Dir(p.Executable) || p.Verdict == Unknown {
		t.Errorf("%+v: %v", p, err)
	}
}

// The path that is written down outlives an update, and is that of the same program.
func TestLasting(t *testing.T) {
	dir := t.TempDir()
	bin, versioned := filepath.Join(dir, "bin"), filepath.Join(dir, "Cellar/handrail/1.2/bin/handrail")
	bundled, other := filepath.Join(dir, "a b.app/Contents/MacOS/handrail"), filepath.Join(dir, "other/handrail")
	for _, file := range []string{versioned, bundled, other, filepath.Join(bin, "x")} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(bin, "handrail")
	for _, c := range []struct{ leads, executable, want string }{
		{versioned, versioned, link}, {versioned, other, other}, {bundled, bundled, bundled}, {"missing", versioned, versioned}, {versioned, "/none/handrail", "/none/handrail"},
	} {
		if err := os.Symlink(c.leads, link); err != nil {
			t.Fatal(err)
		}
		p := Place{Executable: c.executable, Folder: folder(c.executable), Verdict: Stays}
		if got := p.Lasting([]string{"", ".", "/none", bin}); got != c.want {
			t.Errorf("%s, with a link to %s: %s", c.executable, c.leads, got)
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
}
