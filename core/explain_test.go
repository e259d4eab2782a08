package core

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"handrail/core/hint"
)

func TestExplain(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o := Options{State: dir + "/state", Work: dir + "/rooms", Workspace: dir + "/space", Home: dir + "/home", Executable: dir + "/handrail"}
	granted := filepath.Join(o.Workspace, "proj")
	for _, d := range []string{granted, o.Home + "/.ssh", o.State} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(o.Home+"/.ssh", granted+"/link"); err != nil {
		t.Fatal(err)
	}
	dot := filepath.Join(o.Workspace, "dot")
	if err := os.Mkdir(dot, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dot+"/zshrc", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dot+"/zshrc", o.Home+"/.zshrc"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		question string
		allowed  bool
		want     string // in what is said
	}{
		{"write $G/a.txt", true, "edit grant on"},
		{"delete $G/a.txt", true, "edit grant on"},
		{"create $G/new/deep/a.txt", true, "edit grant on"},
		{"attributes $G/a.txt", true, "edit grant on"},
		{"write $G/.git/config", false, "ask you for this file alone"},
		{"write $G/.BashRC", false, "protected"},
		{"create $G/.vscode/x", false, "protected"},
		{"write $W/dot/zshrc", false, "a start-up file of the home folder leads to it"},
		{"read $G/link/id", false, "nothing opens it"},
		{"delete $G", false, "opened by an edit grant"},
		{"read $W/a.txt", true, "workspace"},
		{"write $W/a.txt", false, "opened by an edit grant"},
		{"read $H/letter.txt", false, "opened by a look grant"},
		{"read ~/letter.txt", false, "opened by a look grant"},
		{"read $H/.ssh/id", false, "nothing opens it"},
		{"read $S/tokens", false, "Handrail's own files"},
		{"write /usr/bin/ls", false, "nothing opens it"},
		{"read /usr/lib/x", true, "system"},
		{"write /dev/null", true, "device"},
		{"write $G/with space (x).txt", true, "with space (x).txt"},
	} {
		question := strings.NewReplacer("$G", granted, "$W", o.Workspace, "$H", o.Home, "$S", o.State).Replace(c.question)
		e, err := Explain(o, []string{granted, dot}, question)
		if err != nil {
			t.Errorf("%s: %v", c.question, err)
			continue
		}
		if e.Allowed != c.allowed || !strings.Contains(e.String(), c.want) {
			t.Errorf("%s: allowed %v, want %v and %q:\n%s", c.question, e.Allowed, c.allowed, c.want, e)
		}
		if err := e.Err(); err != nil || !strings.Contains(e.String(), "they agree") {
			t.Errorf("%s: %v\n%s", c.question, err, e)
		}
	}
	for _, bad := range []string{"", "write", "write ", "eat /x", "nothing /x", "/x"} {
		if _, err := Explain(o, nil, bad); hint.Code(err) != "bad_arguments" {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := Explain(o, []string{dir + "/none"}, "read /x"); err == nil {
		t.Error("a folder that doesn't exist counts as granted")
	}
	// What the person's login shell adds to PATH is installed software, as it is for commands.
	installed, shell := filepath.Join(o.Home, "opt", "bin"), filepath.Join(dir, "shell")
	if err := os.MkdirAll(installed, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(shell, []byte("#!/bin/sh\nshift; PATH="+installed+":$PATH; export PATH\nexec /bin/sh \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for s, want := range map[string]bool{"": false, shell: true} {
		o.Shell = s
		if e, err := Explain(o, nil, "read "+installed+"/tool"); err != nil || e.Allowed != want {
			t.Errorf("with the shell %q: allowed %v, %v; want %v\n%s", s, e.Allowed, err, want, e)
		}
	}
	// A defect is told: the profile's text against the policy.
	e := Explanation{}
	e.Last.Allowed = true
	if e.Err() == nil || strings.Contains(e.String(), "they agree") {
		t.Error("a difference isn't told")
	}
}
