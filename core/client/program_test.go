package client

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestNearest(t *testing.T) {
	type proc struct {
		program string
		parent  int
	}
	chain := func(programs ...string) map[int]proc { // the first is 100, its parent 101 …; above the last is 1
		m := map[int]proc{}
		for i, p := range programs {
			m[100+i] = proc{p, 101 + i}
			if i == len(programs)-1 {
				m[100+i] = proc{p, 1}
			}
		}
		return m
	}
	const own = "/opt/handrail/handrail"
	var deep []string
	for range 2 * maxChain {
		deep = append(deep, "/bin/sh")
	}
	for _, c := range []struct {
		name  string
		procs map[int]proc
		want  string
	}{
		{"direct", chain("/usr/bin/claude-desktop"), "/usr/bin/claude-desktop"},
		{"our bridge", chain(own, "/usr/bin/cursor"), "/usr/bin/cursor"},
		{"bridge, shell, interpreter", chain(own, "/bin/zsh", "/usr/bin/node", "/opt/zed"), "/opt/zed"},
		{"versions", chain("/usr/bin/python3.12", "/usr/bin/lua5.4", "/usr/bin/ruby-3.3", "/opt/app"), "/opt/app"},
		{"upper case", chain("/Library/Python.app/Contents/MacOS/Python", "/Applications/Zed.app/Contents/MacOS/zed"), "/Applications/Zed.app/Contents/MacOS/zed"},
		{"a name that only starts like a shell's", chain("/opt/shell"), "/opt/shell"},
		{"digits only", chain("/opt/7"), "/opt/7"},
		{"only shells", chain(own, "/bin/bash"), ""},
		{"session root", chain("/bin/sh", "/usr/lib/systemd/systemd", "/opt/never"), ""},
		{"not told", map[int]proc{100: {"/bin/sh", 101}}, ""},
		{"no path", map[int]proc{100: {"", 101}, 101: {"/opt/never", 1}}, ""},
		{"itself its parent", map[int]proc{100: {"/bin/sh", 100}}, ""},
		{"too deep", chain(append(deep, "/opt/never")...), ""},
		{"gone", nil, ""},
	} {
		got := nearest(100, own, func(pid int) (string, int, bool) {
			p, ok := c.procs[pid]
			return p.program, p.parent, ok
		})
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A real process: a copy of sleep(1) under another name.
func TestCaller(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	program, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(program, "assistant")
	if err := os.WriteFile(program, text, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	who := Caller(cmd.Process.Pid)
	if who.Program != program || who.ID != "stdio:"+program || who.PID != cmd.Process.Pid || who.Signed != "" {
		t.Errorf("Caller(sleep) = %+v", who)
	}
	if own := Caller(os.Getpid()); own.Program == self() || self() == "" {
		t.Errorf("Caller names our own program: %+v", own)
	}
	if none := Caller(1 << 30); none.Program != "" || none.ID != "stdio:unknown" {
		t.Errorf("Caller of nobody = %+v", none)
	}
}
