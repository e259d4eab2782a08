package sandbox

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// bench is a scratch machine: a home folder with a workspace and what a person has in it.
type bench struct {
	t testing.TB
	m Machine
}

func newBench(t *testing.T) *bench { t.Helper(); return benchFor(t) }

func benchFor(t testing.TB) *bench {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, m: Machine{
		Home: root + "/home", State: root + "/home/.local/share/Handrail", Workspace: root + "/home/work", Temp: root + "/temp", Executable: self,
	}}
	for _, dir := range []string{b.m.Home, b.m.State, b.m.Workspace, b.m.Temp} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func (b *bench) mkdir(path string) Place {
	b.t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		b.t.Fatal(err)
	}
	return b.place(path)
}

func (b *bench) place(path string) Place {
	b.t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		b.t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	return Place{Path: path, Device: st.Dev, Inode: st.Ino}
}

// sh runs a script and gives its output (both streams) and exit.
func (b *bench) sh(p Policy, script string) (string, Exit) {
	b.t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		b.t.Fatal(err)
	}
	proc, err := Start(p, Command{Argv: []string{"/bin/sh", "-c", script}, Dir: b.m.Workspace,
		Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + b.m.Home, "TMPDIR=" + b.m.Temp, "LC_ALL=C.UTF-8"}, Stdout: w, Stderr: w})
	w.Close()
	if err != nil {
		r.Close()
		b.t.Fatalf("%s: %v", script, err)
	}
	var out bytes.Buffer
	io.Copy(&out, r)
	r.Close()
	exit, err := proc.Wait()
	if err != nil {
		b.t.Fatalf("%s: %v", script, err)
	}
	return strings.TrimSpace(out.String()), exit
}

func TestTry(t *testing.T) { // a script from the environment, for trying things by hand
	b := newBench(t)
	g := b.mkdir(b.m.Workspace + "/g")
	b.mkdir(b.m.Workspace + "/other")
	p := Guarded(b.m).AllowWrite(g)
	script := os.Getenv("TRY")
	if script == "" {
		script = "id; ls -la; echo hi > g/a; cat g/a; echo x > other/b; ls -la g other; echo t > $TMPDIR/x; ls -l $TMPDIR /tmp; cat /proc/self/status | grep -i 'nonewp\\|seccomp\\|Cap'"
	}
	for _, perm := range os.Getenv("PERM") {
		switch perm {
		case 'n':
			p = p.AllowNetwork()
		case 'l':
			p = p.AllowLoopback()
		}
	}
	out, exit := b.sh(p, script)
	t.Logf("%+v\n%s", exit, out)
}
