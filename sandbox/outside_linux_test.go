package sandbox

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// outside starts a script outside the sandbox and gives it with its output.
func (b *bench) outside(script string) (*Process, *bufio.Reader) {
	b.t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { r.Close() })
	at := b.place(b.m.Workspace)
	proc, err := Start(Outside(b.m), Command{Argv: []string{"/bin/sh", "-c", script}, Dir: b.m.Workspace, DirDevice: at.Device, DirInode: at.Inode, Env: []string{"PATH=/usr/bin:/bin", "HOME=" + b.m.Home}, Stdout: w, Stderr: w})
	w.Close()
	if err != nil {
		b.t.Fatal(err)
	}
	return proc, bufio.NewReader(r)
}

// A command outside the sandbox has the person's rights, its own environment and folder, and none of our descriptors.
func TestOutside(t *testing.T) {
	b := newBench(t)
	proc, out := b.outside("echo x > ~/a && cat ~/a && pwd && ls /proc/self/fd | wc -l && env | grep -c GOMAXPROCS; exit 7")
	var lines []string
	for {
		line, err := out.ReadString('\n')
		if err != nil {
			break
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	exit, err := proc.Wait()
	if err != nil || exit.Code != 7 || exit.Signal != "" || strings.Join(lines, " ") != "x "+b.m.Workspace+" 4 0" { // 3 and the folder that ls reads
		t.Errorf("%+v, %v: %q", exit, err, lines)
	}
	top, other := b.place("/"), b.place(b.m.Workspace)
	for _, c := range []Command{{Argv: []string{"/nosuch"}, Dir: "/", DirDevice: top.Device, DirInode: top.Inode}, {Argv: []string{"/bin/true"}, Dir: "/nosuch", DirDevice: top.Device, DirInode: top.Inode},
		{Argv: []string{"true"}, Dir: "/", DirDevice: top.Device, DirInode: top.Inode}, {Argv: []string{"/bin/true"}, Dir: "/"},
		{Argv: []string{"/bin/true"}, Dir: "/", DirDevice: other.Device, DirInode: other.Inode}} { // the last: another folder than was said
		if _, err := Start(Outside(b.m), c); err == nil {
			t.Errorf("%q in %s was started", c.Argv, c.Dir)
		}
	}
	if _, err := Start(Policy{}, Command{Argv: []string{"/bin/true"}, Dir: "/"}); err == nil {
		t.Error("the zero policy starts something")
	}
}

// deep is a script that leaves processes behind in sessions of their own, whose parents have ended, and prints their numbers.
const deep = `trap '' TERM; setsid sh -c 'trap "" TERM HUP; echo $$; sh -c "sleep 1000 & echo \$!" ; exec sleep 1000' & sleep 0; `

// However it ends, nothing of it is left: not what has another session, not what no longer has its parent.
func TestOutsideLeavesNothing(t *testing.T) {
	for _, c := range []struct {
		name, script string
		do           func(p *Process)
		left         bool // counted as left running
	}{
		{"by itself", deep + "while ! [ -e go ]; do sleep 0.01; done; exit 0", func(*Process) {}, true},
		{"killed", deep + "exec sleep 1000", func(p *Process) { p.Kill() }, false},
		{"asked, then killed", deep + "exec sleep 1000", func(p *Process) { p.Terminate(); p.Kill() }, false},
		{"with its launcher stopped", deep + "kill -STOP $PPID; exec sleep 1000", func(p *Process) { p.Kill() }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			proc, out := b.outside(c.script)
			processes := make(map[int]int) // and their pidfds
			for range 2 {
				line, err := out.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				pid, err := strconv.Atoi(strings.TrimSpace(line))
				if err != nil || parentOf(pid) == 0 {
					t.Fatalf("%q is no process that runs: %v", line, err)
				}
				fd, err := unix.PidfdOpen(pid, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer unix.Close(fd)
				processes[pid] = fd
			}
			if err := os.WriteFile(b.m.Workspace+"/go", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			c.do(proc)
			exit, err := proc.Wait()
			if err != nil || c.left && exit.LeftRunning == 0 {
				t.Errorf("%+v, %v", exit, err)
			}
			for pid, fd := range processes {
				var n int
				for err = unix.EINTR; err == unix.EINTR; { // the system takes a moment
					n, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 60_000)
				}
				if err != nil || n == 0 {
					t.Errorf("%d is left: %v", pid, err)
				}
			}
			if err := proc.Kill(); err != nil {
				t.Errorf("killed again: %v", err)
			}
		})
	}
}
