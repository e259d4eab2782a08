package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFollowStartUps(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := Machine{System: "linux", Home: root + "/home", State: root + "/state", Workspace: root + "/home/space", Temp: root + "/temp"}
	for _, dir := range []string{m.Workspace + "/dot/fish", m.Workspace + "/code", m.Home + "/.config", m.Temp} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(m.Workspace+"/dot/zshrc", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{
		".zshrc": m.Workspace + "/dot/zshrc", ".config/fish": "../space/dot/fish", ".vscode": m.Workspace + "/code", ".bashrc": m.Workspace + "/nowhere", ".idea": m.Workspace, ".emacs": "/dev/null",
		"Documents": m.Workspace + "/dot", ".unheard-of": m.Workspace + "/dot",
	} {
		if err := os.Symlink(to, filepath.Join(m.Home, name)); err != nil {
			t.Fatal(err)
		}
	}
	got := m.FollowStartUps()
	want := []string{m.Workspace + "/code", m.Workspace + "/dot/fish", m.Workspace + "/dot/zshrc", m.Workspace + "/nowhere"}
	if !slices.Equal(got.Obeyed, want) || m.Obeyed != nil {
		t.Fatalf("%q, want %q", got.Obeyed, want)
	}
	p := Guarded(got).AllowWrite(at(m.Workspace + "/dot"))
	for _, c := range []struct {
		op    Op
		path  string
		want  bool
		opens string
	}{
		{Write, "dot/zshrc", false, OpensProtected}, {Delete, "dot/zshrc", false, OpensProtected}, {Create, "dot/fish/config.fish", false, OpensProtected}, {Write, "dot/ZshRC", false, OpensProtected},
		{Read, "dot/zshrc", true, ""}, {Write, "dot/zshrc.bak", true, ""}, {Write, "dot/other", true, ""},
	} {
		if d := p.Decide(c.op, filepath.Join(m.Workspace, c.path)); d.Allowed != c.want || d.Opens != c.opens {
			t.Errorf("%s %s: %+v", c.op, c.path, d)
		}
	}
	if d := Guarded(got).AllowWrite(at(m.Workspace+"/dot")).AllowProtected(m.Workspace+"/dot/zshrc").Decide(Write, m.Workspace+"/dot/zshrc"); !d.Allowed {
		t.Errorf("opened alone: %+v", d)
	}
	if d := Guarded(got).AllowWrite(at(m.Home+"/space")).Decide(Delete, m.Workspace+"/dot"); d.Allowed { // with it the file would go
		t.Errorf("the folder that holds it: %+v", d)
	}
}

// Each link on the way to a start-up file is protected, and a name that is missing at its end: for Decide and in the profile.
func TestFollowStartUpChains(t *testing.T) {
	m := chains(t)
	got := m.FollowStartUps()
	place := at(m.Home + "/dots")
	p := Guarded(got).AllowWrite(place)
	for _, c := range chained {
		for _, op := range []Op{Write, Create, Delete} {
			if d := p.Decide(op, m.Home+"/dots/"+c.path); d.Allowed != c.open {
				t.Errorf("%s %s: %+v", op, c.path, d)
			}
		}
	}
	got.System = "darwin"
	profile, params, err := Guarded(got).AllowWrite(place).sbpl()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range chained {
		named := slices.ContainsFunc(params, func(p Param) bool {
			return strings.HasPrefix(p.Name, "OBEYED") && p.Value == m.Home+"/dots/"+c.path && strings.Contains(profile, p.Name)
		})
		if named == (c.open || c.within) {
			t.Errorf("the profile and %s: %v", c.path, named)
		}
	}
}

// chained are names below ~/dots and whether a command may change them.
var chained = []struct {
	path         string
	open, within bool // within: it is closed with the folder that holds it
}{
	{"zshrc", false, false}, {"current", false, false}, {"v1/bashrc", false, false}, {"gone", false, false}, {"missing", false, false}, {"missing/deep", false, true},
	{"config.fish", false, false}, {"unit.service", false, false}, {"loop", false, false}, {"round", false, false},
	{"other", true, false}, {"v1/other", true, false}, {"v2", true, false},
}

// chains makes a home folder whose start-up files are links to links in ~/dots.
func chains(t *testing.T) Machine {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := Machine{System: "linux", Home: root + "/home", State: root + "/state", Workspace: root + "/home/space", Temp: root + "/temp"}
	for _, dir := range []string{"/dots/v1", "/.config/fish", "/.config/systemd/user", "/space"} {
		if err := os.MkdirAll(m.Home+dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(m.Temp, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"/real-zshrc", "/dots/v1/bashrc", "/dots/config.fish", "/dots/unit.service"} {
		if err := os.WriteFile(m.Home+file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		"dots/zshrc": m.Home + "/real-zshrc", ".zshrc": "dots/zshrc", "dots/current": "v1", ".bashrc": "dots/current/bashrc", ".zprofile": "dots/gone", ".profile": "dots/missing/deep",
		".config/fish/config.fish": "../../dots/config.fish", ".config/systemd/user/unit.service": "../../../dots/unit.service", ".zshenv": "dots/loop", "dots/loop": "round", "dots/round": "loop",
	} {
		if err := os.Symlink(to, filepath.Join(m.Home, name)); err != nil {
			t.Fatal(err)
		}
	}
	return m
}
