package sandboxtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"handrail/sandbox"
)

// Life tests how commands start and end, and that nothing is left behind.
func Life(t *testing.T) {
	for _, c := range []struct {
		name, script string
		want         sandbox.Exit
	}{
		{"success", "true", sandbox.Exit{}},
		{"failure", "exit 3", sandbox.Exit{Code: 3}},
		{"code of a failed profile", "exit 65", sandbox.Exit{Code: 65}},
		{"code of a failed start", "exit 71", sandbox.Exit{Code: 71}},
		{"high code", "exit 255", sandbox.Exit{Code: 255}},
		{"killed", "kill -KILL $$", sandbox.Exit{Code: 137, Signal: "SIGKILL"}},
		{"terminated", "kill -TERM $$", sandbox.Exit{Code: 143, Signal: "SIGTERM"}},
		{"pipe", "kill -PIPE $$", sandbox.Exit{Code: 141, Signal: "SIGPIPE"}},
		{"left running", "sleep 1000 & sleep 1001 &", sandbox.Exit{LeftRunning: 2}},
		{"left running in a session of its own", "python3 -c 'import os,time\np=os.fork()\nif p==0:\n os.setsid()\n if os.fork()==0: time.sleep(1000)\n os._exit(0)\nos.waitpid(p,0)'", sandbox.Exit{LeftRunning: 1}},
		{"orphans that end are reaped", "for i in 1 2 3 4 5; do (sh -c 'sleep 0.01 &'); done; sleep 0.3", sandbox.Exit{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := NewBench(t)
			out, exit := b.Sh(b.Guarded(), c.script)
			if exit != c.want {
				t.Errorf("%+v, want %+v\n%s", exit, c.want, out)
			}
		})
	}

	t.Run("kill", func(t *testing.T) {
		b := NewBench(t)
		proc, ready := b.start(deserter(b))
		if n := processes(b.Root); n < 3 {
			t.Fatalf("only %d of its processes are seen: %s", n, ready)
		}
		if err := proc.Kill(); err != nil {
			t.Fatal(err)
		}
		exit, err := proc.Wait()
		if err != nil || exit.Signal != "SIGKILL" || exit.Code != 137 {
			t.Errorf("%+v, %v", exit, err)
		}
		gone(t, b.Root)
		if err := errors.Join(proc.Kill(), proc.Terminate()); err != nil {
			t.Errorf("ending what has ended: %v", err)
		}
		if again, err := proc.Wait(); again != exit || err != nil {
			t.Errorf("waiting again: %+v, %v", again, err)
		}
	})

	t.Run("terminate", func(t *testing.T) {
		b := NewBench(t)
		proc, _ := b.start("trap 'echo caught > $G/caught; exit 7' TERM; echo ready; while :; do sleep 0.05; done")
		if err := proc.Terminate(); err != nil {
			t.Fatal(err)
		}
		exit, err := proc.Wait()
		if err != nil || exit.Code != 7 {
			t.Errorf("%+v, %v", exit, err)
		}
		if _, err := os.Stat(b.Machine.Workspace + "/granted/caught"); err != nil {
			t.Error("the command didn't hear of it")
		}
	})

	t.Run("host killed", func(t *testing.T) {
		b := NewBench(t)
		before, err := tree(b.Root)
		if err != nil {
			t.Fatal(err)
		}
		machine, err := json.Marshal(b.Machine)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(b.Machine.Executable, hostCommand, deserter(b))
		cmd.Stdin = bytes.NewReader(machine)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill() })
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
			t.Fatalf("%q, %v", line, err)
		}
		if n := processes(b.Root); n < 3 {
			t.Fatalf("only %d of its processes are seen", n)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		gone(t, b.Root)
		after, err := tree(b.Root)
		if err != nil {
			t.Fatal(err)
		}
		for path, what := range after {
			if before[path] != what && filepath.Dir(path) != b.Machine.Temp {
				t.Errorf("%s was %q and is %q", path, before[path], what)
			}
		}
	})

	t.Run("refusals", func(t *testing.T) {
		b := NewBench(t)
		good := sandbox.Command{Argv: []string{"/bin/sh", "-c", "echo x > $G/ran"}, Dir: b.Machine.Workspace, Env: b.env()}
		granted := b.Machine.Workspace + "/granted"
		b.File(b.Machine.Workspace+"/plain", "#!/bin/sh\n")
		place := b.Place(granted)
		other := place
		other.Inode++
		link := filepath.Join(b.Machine.Workspace, "link")
		if err := os.Symlink(granted, link); err != nil {
			t.Fatal(err)
		}
		linked := place
		linked.Path = link
		missing := place
		missing.Path = b.Machine.Workspace + "/missing"
		outside := b.Place(b.Outside)
		outside.Inode++
		for _, c := range []struct {
			name    string
			policy  sandbox.Policy
			change  func(*sandbox.Command)
			isPlace bool
			is      error
		}{
			{"zero policy", sandbox.Policy{}, nil, false, nil},
			{"another folder", sandbox.Guarded(b.Machine).AllowWrite(other), nil, true, nil},
			{"another folder outside", sandbox.Guarded(b.Machine).AllowWrite(outside), nil, true, nil},
			{"another folder to read", sandbox.Guarded(b.Machine).AllowRead(outside), nil, true, nil},
			{"a link", sandbox.Guarded(b.Machine).AllowWrite(linked), nil, true, nil},
			{"a missing folder", sandbox.Guarded(b.Machine).AllowWrite(missing), nil, true, fs.ErrNotExist},
			{"no program", b.Guarded(), func(c *sandbox.Command) { c.Argv = nil }, false, nil},
			{"relative program", b.Guarded(), func(c *sandbox.Command) { c.Argv = []string{"sh"} }, false, nil},
			{"missing program", b.Guarded(), func(c *sandbox.Command) { c.Argv = []string{"/usr/bin/no-such-program"} }, false, fs.ErrNotExist},
			{"program that isn't one", b.Guarded(), func(c *sandbox.Command) { c.Argv = []string{b.Machine.Workspace + "/plain"} }, false, fs.ErrPermission},
			{"program out of reach", b.Guarded(), func(c *sandbox.Command) { c.Argv = []string{b.Outside + "/x"} }, false, nil},
			{"missing folder", b.Guarded(), func(c *sandbox.Command) { c.Dir = b.Machine.Workspace + "/missing" }, false, nil},
			{"folder out of reach", b.Guarded(), func(c *sandbox.Command) { c.Dir = b.Outside }, false, nil},
			{"folder that is a file", b.Guarded(), func(c *sandbox.Command) { c.Dir = "/etc/hosts" }, false, nil},
			{"relative folder", b.Guarded(), func(c *sandbox.Command) { c.Dir = "work" }, false, nil},
			{"too many processes", b.Guarded(), func(c *sandbox.Command) { c.Processes = sandbox.MaxProcesses + 1 }, false, nil},
			{"fewer processes than none", b.Guarded(), func(c *sandbox.Command) { c.Processes = -1 }, false, nil},
			{"nul", b.Guarded(), func(c *sandbox.Command) { c.Argv = append(c.Argv, "a\x00b") }, false, nil},
			{"nul in the environment", b.Guarded(), func(c *sandbox.Command) { c.Env = []string{"A=\x00"} }, false, nil},
			{"our own program is missing", sandbox.Guarded(b.with(func(m *sandbox.Machine) { m.Executable = b.Root + "/missing" })), nil, false, nil},
		} {
			command := good
			if c.change != nil {
				c.change(&command)
			}
			proc, err := sandbox.Start(c.policy, command)
			if err == nil {
				proc.Wait()
				t.Errorf("%s: it was run", c.name)
				continue
			}
			var place *sandbox.PlaceError
			if errors.As(err, &place) != c.isPlace || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%s: %T %v", c.name, err, err)
			}
			if strings.TrimSpace(err.Error()) == "" {
				t.Errorf("%s: no words", c.name)
			}
		}
		if _, err := os.Stat(granted + "/ran"); err == nil {
			t.Error("a refused command ran")
		}
	})

	t.Run("check", func(t *testing.T) {
		b := NewBench(t)
		for _, p := range []sandbox.Policy{b.Guarded(), sandbox.ReadOnly(b.Machine), sandbox.Classic(b.Machine), b.Guarded().AllowNetwork().AllowLoopback()} {
			if err := sandbox.Check(t.Context(), p); err != nil {
				t.Errorf("%s: %v", p.Profile(), err)
			}
		}
		for _, canary := range sandbox.Canaries(t.Context(), b.Guarded()) {
			if canary.Err != nil {
				t.Errorf("%s: %v", canary.Tool, canary.Err)
			}
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if sandbox.Check(ended, b.Guarded()) == nil {
			t.Error("a check passed after its time")
		}
		if sandbox.Check(t.Context(), sandbox.Policy{}) == nil {
			t.Error("a policy that allows nothing can be checked")
		}
	})
}

func (b *Bench) with(change func(*sandbox.Machine)) sandbox.Machine {
	m := b.Machine
	change(&m)
	return m
}

// deserter is a script whose processes leave its session and ignore signals, and that says when all of them run. Each bears
// the bench's path in its arguments, by which it is found.
func deserter(b *Bench) string {
	up := filepath.Join(b.Machine.Temp, "up")
	return fmt.Sprintf(`python3 -c '
import os, signal, sys, time
for s in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(s, signal.SIG_IGN)
def run():
    print("up", flush=True)
    time.sleep(1000)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        run()
    run()
time.sleep(1000)
' %q > %q 2>&1 &
while [ "$(grep -c up %q 2>/dev/null)" != 2 ]; do sleep 0.02; done; echo ready; sleep 1000`, b.Root, up, up)
}

// start starts a script and waits for its first line.
func (b *Bench) start(script string) (*sandbox.Process, string) {
	b.T.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		b.T.Fatal(err)
	}
	b.T.Cleanup(func() { r.Close() })
	proc, err := sandbox.Start(b.Guarded(), sandbox.Command{Argv: []string{"/bin/sh", "-c", script}, Dir: b.Machine.Workspace, Env: b.env(), Stdout: w, Stderr: w})
	w.Close()
	if err != nil {
		b.T.Fatal(err)
	}
	b.T.Cleanup(func() { proc.Kill(); proc.Wait() })
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil || line != "ready\n" {
		b.T.Fatalf("%q, %v", line, err)
	}
	return proc, line
}

// processes counts the processes of this computer that bear a mark in their arguments.
func processes(mark string) int {
	if files, err := filepath.Glob("/proc/[0-9]*/cmdline"); err == nil && len(files) > 0 {
		n := 0
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil && bytes.Contains(text, []byte(mark)) && !bytes.Contains(text, []byte(hostCommand)) && !bytes.Contains(text, []byte("\x00-c\x00python3")) {
				n++
			}
		}
		return n
	}
	out, err := exec.Command("/bin/ps", "-axo", "command").Output()
	if err != nil {
		return -1
	}
	return strings.Count(string(out), mark)
}

// gone waits until no process bears the mark.
func gone(t *testing.T, mark string) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
		if processes(mark) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond) // there is nothing to wait on: they are no children of ours
	}
	t.Errorf("%d processes are left", processes(mark))
}
