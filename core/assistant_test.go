package core

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"handrail/core/assistant"
	"handrail/sandbox"
)

// No command and no tool reads or writes a file that an assistant keeps its servers in, nor the copy that Connect leaves, not even with a
// grant on the home folder; and a copy of such a file is known as a secret by its name, wherever it lies.
func TestAssistantsFiles(t *testing.T) {
	const home = "/home/somchai"
	at := sandbox.Place{Path: home, Device: 1, Inode: 1}
	for _, system := range []string{"darwin", "linux"} {
		files := assistant.Computer{Home: home, System: system}.Files()
		if len(files) < 24 {
			t.Fatalf("only %v", files)
		}
		named := sandbox.Machine{Home: home, Workspace: home + "/Handrail", System: system}
		listed := named
		listed.Secrets = files
		for _, file := range files {
			if _, ok := sandbox.Sensitive("/elsewhere" + strings.TrimPrefix(file, home)); !ok {
				t.Errorf("%s: a copy of %s isn't known as a secret", system, file)
			}
			machines := []sandbox.Machine{listed}
			if !strings.HasSuffix(file, ".before-handrail") { // the sandbox's own list
				machines = append(machines, named)
			}
			for _, m := range machines {
				for _, p := range []sandbox.Policy{sandbox.Guarded(m).AllowRead(at).AllowWrite(at), sandbox.ReadOnly(m).AllowRead(at), sandbox.Classic(m).AllowWrite(at)} {
					if p.Profile() != "readonly" && !p.Decide(sandbox.Write, home+"/notes.txt").Allowed {
						t.Fatalf("%s: the folder isn't open", p.Profile())
					}
					for _, op := range []sandbox.Op{sandbox.Read, sandbox.Write, sandbox.Create, sandbox.Delete, sandbox.Attributes} {
						if p.Decide(op, file).Allowed {
							t.Errorf("%s, %s: may %v %s", system, p.Profile(), op, file)
						}
					}
				}
			}
		}
	}
}

// Where such a file is a link, or was moved by a variable, what it leads to is closed too, in the workspace as elsewhere.
func TestAssistantsMovedFiles(t *testing.T) {
	o := options(t)
	dots, moved := filepath.Join(o.Workspace, "dots"), filepath.Join(o.Workspace, "moved")
	t.Setenv("CODEX_HOME", moved)
	for _, dir := range []string{o.Work, dots, moved, filepath.Join(o.Home, ".config/zed")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dots, "zed.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dots, "zed.json"), filepath.Join(o.Home, ".config/zed/settings.json")); err != nil {
		t.Fatal(err)
	}
	r, err := newRoom(o, "room", "")
	if err != nil {
		t.Fatal(err)
	}
	p := r.policy.AllowWrite(sandbox.Place{Path: dots, Device: 1, Inode: 1}, sandbox.Place{Path: moved, Device: 1, Inode: 1})
	for path, want := range map[string]bool{"dots/zed.json": false, "moved/config.toml": false, "moved/config.toml.before-handrail": false, "dots/other.json": true, "moved/other": true} {
		for _, op := range []sandbox.Op{sandbox.Read, sandbox.Create} {
			if got := p.Decide(op, filepath.Join(o.Workspace, path)).Allowed; got != want {
				t.Errorf("%v %s: %v", op, path, got)
			}
		}
	}
}
