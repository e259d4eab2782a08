package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestFollowStartUps(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := Machine{System: "linux", Home: root + "/home", State: root + "/state", Workspace: root + "/home/work", Temp: root + "/temp"}
	for _, dir := range []string{m.Workspace + "/dot/fish", m.Workspace + "/code", m.Home + "/.config", m.Temp} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(m.Workspace+"/dot/zshrc", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{
		".zshrc": m.Workspace + "/dot/zshrc", ".config/fish": "../work/dot/fish", ".vscode": m.Workspace + "/code", ".bashrc": m.Workspace + "/nowhere", ".idea": m.Workspace, ".emacs": "/dev/null",
		"Documents": m.Workspace + "/dot", ".unheard-of": m.Workspace + "/dot",
	} {
		if err := os.Symlink(to, filepath.Join(m.Home, name)); err != nil {
			t.Fatal(err)
		}
	}
	got := m.FollowStartUps()
	want := []string{m.Workspace + "/code", m.Workspace + "/dot/fish", m.Workspace + "/dot/zshrc"}
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
	if d := Guarded(got).AllowWrite(at(m.Home+"/work")).Decide(Delete, m.Workspace+"/dot"); d.Allowed { // with it the file would go
		t.Errorf("the folder that holds it: %+v", d)
	}
}
