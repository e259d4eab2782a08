package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
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
		Home: root + "/home", State: root + "/home/.local/share/Handrail", Workspace: root + "/home/space", Temp: root + "/temp", Executable: self,
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

// A session that may look at the whole home folder sees its own folders there, and of other sessions' nothing; secrets and our own
// files stay closed, and nothing can be changed.
func TestRunHome(t *testing.T) {
	b := newBench(t)
	rooms := b.m.Home + "/.cache/rooms"
	b.m.Rooms, b.m.Temp, b.m.Caches = rooms, rooms+"/mine/tmp", rooms+"/caches-mine"
	for path, text := range map[string]string{"/letter.txt": "dear", "/.ssh/id": "secret", "/.local/share/Handrail/tokens": "ours", "/.cache/rooms/mine/tmp/a": "temp", "/.cache/rooms/mine/out/a": "mine",
		"/.cache/rooms/caches-mine/a": "cached", "/.cache/rooms/theirs/tmp/a": "theirs", "/.cache/rooms/caches-theirs/a": "theirs", "/space/site/a": "page"} {
		b.mkdir(filepath.Dir(b.m.Home + path))
		if err := os.WriteFile(b.m.Home+path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	read := Guarded(b.m).AllowRead(b.place(b.m.Home), b.place(rooms+"/mine/out"))
	for _, p := range []Policy{read.AllowWrite(b.place(b.m.Home + "/space/site")), read.Reading()} {
		for script, want := range map[string]string{
			"cat ~/letter.txt":                                                      "dear",
			"cat ~/space/site/a":                                                    "page",
			"cat $TMPDIR/a":                                                         "temp",
			"cat ~/.cache/rooms/mine/out/a":                                         "mine",
			"cat ~/.cache/rooms/caches-mine/a":                                      "cached",
			"ls ~/.cache/rooms ~/.cache/rooms/mine":                                 b.m.Home + "/.cache/rooms:\ncaches-mine\nmine\n\n" + b.m.Home + "/.cache/rooms/mine:\nout\ntmp",
			"cat ~/.cache/rooms/theirs/tmp/a 2>&-":                                  "",
			"cat ~/.cache/rooms/caches-theirs/a 2>&-":                               "",
			"cat ~/.ssh/id ~/.local/share/Handrail/* 2>&-":                          "",
			"(echo x > ~/letter.txt) 2>&-; cat ~/letter.txt":                        "dear",
			"(echo x > ~/.cache/rooms/b) 2>&-; ls ~/.cache/rooms | wc -l":           "2",
			"(echo x > ~/.cache/rooms/mine/out/b) 2>&-; ls ~/.cache/rooms/mine/out": "a",
		} {
			if got, _ := b.sh(p, script); got != want {
				t.Errorf("%s: %s: %q, want %q", p.Profile(), script, got, want)
			}
		}
		for path, allowed := range map[string]bool{"/letter.txt": true, "/.cache/rooms": false, "/.cache/rooms/mine": false, "/.cache/rooms/theirs/tmp/a": false, "/.cache/rooms/mine/tmp/a": true,
			"/.cache/rooms/mine/out/a": true, "/.cache/Rooms/theirs": false, "/.ssh/id": false, "/.local/share/Handrail/tokens": false} {
			if d := p.Decide(Read, b.m.Home+path); d.Allowed != allowed {
				t.Errorf("%s: %s: %+v", p.Profile(), path, d)
			}
		}
	}
	// With an edit grant a command still writes, in the session's own folders as well.
	if got, _ := b.sh(read.AllowWrite(b.place(b.m.Home+"/space/site")), "echo x > ~/space/site/b && echo y > $TMPDIR/b && echo z > ~/.cache/rooms/caches-mine/b && cat ~/space/site/b"); got != "x" {
		t.Errorf("writing: %q", got)
	}
}

func TestNoBubblewrap(t *testing.T) {
	b := newBench(t)
	was := bwrapPaths
	t.Cleanup(func() { bwrapPaths = was })
	bwrapPaths = []string{b.m.Temp + "/bwrap"}
	refused := func(say string) {
		t.Helper()
		_, err := Start(Guarded(b.m), Command{Argv: []string{"/bin/sh", "-c", "echo x > $TMPDIR/ran"}, Dir: b.m.Workspace, Env: []string{"TMPDIR=" + b.m.Temp}})
		var unavailable *UnavailableError
		if !errors.As(err, &unavailable) || !strings.Contains(err.Error(), say) {
			t.Errorf("%v, want %q", err, say)
		}
		if _, err := os.Stat(b.m.Temp + "/ran"); err == nil {
			t.Error("it ran all the same")
		}
	}
	refused("install the package bubblewrap")
	for _, c := range []struct{ said, say string }{
		{"bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces.", "user.max_user_namespaces"},
		{"bwrap: setting up uid map: Permission denied", "apparmor_restrict_unprivileged_userns"},
		{"bwrap: Unknown option --as-pid-1", "install bubblewrap 0.5"},
		{"bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "Can't mount proc"},
		{"", "exit status 1"},
	} {
		if err := os.WriteFile(bwrapPaths[0], []byte("#!/bin/sh\necho \""+c.said+"\" >&2\nexit 1\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		refused(c.say)
	}
	// One that runs the program without any sandbox: the launcher isn't the first process then, and refuses.
	if err := os.WriteFile(bwrapPaths[0], []byte("#!/bin/sh\nshift 3\nexec \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	refused("only Handrail starts this")
}

func TestManyFolders(t *testing.T) {
	b := newBench(t)
	p := Guarded(b.m)
	for i := range 1000 {
		p = p.AllowWrite(b.mkdir(fmt.Sprintf("%s/g%04d", b.m.Workspace, i)))
	}
	if out, exit := b.sh(p, `echo x > g0000/a && echo x > g0999/a && ! echo x > g1000 && cat g0999/a`); exit.Code != 0 {
		t.Errorf("%+v: %s", exit, out)
	}
	for i := range maxBinds {
		p = p.AllowWrite(b.mkdir(fmt.Sprintf("%s/outside%d", b.m.Home, i)))
	}
	if _, err := Start(p, Command{Argv: []string{"/bin/true"}, Dir: b.m.Workspace}); err == nil || !strings.Contains(err.Error(), "grant a folder that holds several") {
		t.Errorf("%v", err)
	}
}

func TestTerminal(t *testing.T) {
	b := newBench(t)
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	proc, err := Start(Guarded(b.m), Command{Argv: []string{"/bin/sh", "-c", `tty > /dev/null; echo to > /dev/tty; read line; echo "got $line"; stty -a | head -1; python3 -c 'import fcntl,termios
try: fcntl.ioctl(0, termios.TIOCSTI, b"x"); print("typed")
except PermissionError: print("refused")'`}, Dir: b.m.Workspace, Env: []string{"PATH=/usr/bin:/bin"}, Stdin: slave, Stdout: slave, Stderr: slave, Terminal: true})
	slave.Close()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := master.WriteString("hello\n"); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	io.Copy(&out, master) // ends with an error when the last one closes the other side
	if exit, err := proc.Wait(); err != nil || exit.Code != 0 {
		t.Errorf("%+v, %v", exit, err)
	}
	for _, want := range []string{"to\r\n", "got hello", "speed", "refused"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %q", want, out.String())
		}
	}
}

// Descriptors of the host that are open by mistake don't reach the command.
func TestDescriptors(t *testing.T) {
	b := newBench(t)
	var open []int
	for range 20 {
		fd, err := unix.Open(b.m.State, unix.O_RDONLY|unix.O_DIRECTORY, 0) // without O_CLOEXEC
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, fd)
	}
	defer func() {
		for _, fd := range open {
			unix.Close(fd)
		}
	}()
	if out, exit := b.sh(Guarded(b.m), `for f in /proc/self/fd/*; do readlink $f; done | grep -v pipe: | grep -v /dev/null | grep -v '^/proc/'`); out != "" {
		t.Errorf("%+v: %s", exit, out)
	}
}

// A folder on PATH that is reached by a link shows no more than it is.
func TestLinkedPath(t *testing.T) {
	b := newBench(t)
	alias := filepath.Join(filepath.Dir(b.m.Home), "alias") // the home folder by another name
	for _, dir := range []string{"/.local/bin", "/.local/share/keyrings", "/apps/x/bin", "/apps/x/lib", "/real-go/bin", "/.ssh"} {
		b.mkdir(b.m.Home + dir)
	}
	for path, text := range map[string]string{"/.local/bin/tool": "#!/bin/sh\necho tool\n", "/apps/x/bin/x": "#!/bin/sh\ncat $(dirname $0)/../lib/x\n", "/apps/x/lib/x": "x\n",
		"/.local/share/keyrings/login": "secret\n", "/.ssh/id": "secret\n", "/real-go/bin/gotool": "#!/bin/sh\necho go\n"} {
		if err := os.WriteFile(b.m.Home+path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink(b.m.Home, alias), os.Symlink("real-go", b.m.Home+"/go"), os.Symlink(".ssh", b.m.Home+"/sdk")); err != nil {
		t.Fatal(err)
	}
	b.m.Path = []string{"/bin", "/usr/bin", alias + "/.local/bin", alias + "/apps/x/bin", b.m.Home + "/go/bin", alias}
	out, exit := b.sh(Guarded(b.m), fmt.Sprintf(`%[1]s/.local/bin/tool && %[1]s/apps/x/bin/x && %[2]s/go/bin/gotool && ls %[2]s/.local/bin
		! cat %[1]s/.local/share/keyrings/login && ! cat %[2]s/.local/share/keyrings/login && ! cat %[2]s/sdk/id && ! cat %[1]s/.ssh/id && ! ls %[1]s/.local/share`, alias, b.m.Home))
	if exit.Code != 0 || !strings.HasPrefix(out, "tool\nx\ngo\n") || strings.Contains(out, "secret") {
		t.Errorf("%+v: %s", exit, out)
	}
}

// Every protected name is closed for commands, in whatever way they would make it, and nothing of it is left behind.
func TestRunProtected(t *testing.T) {
	b := newBench(t)
	p := Guarded(b.m).AllowWrite(b.mkdir(b.m.Workspace + "/granted"))
	var dirs, script strings.Builder
	n := 0
	for _, name := range protectedSamples() {
		if strings.EqualFold(filepath.Base(name), "head") {
			continue // it is the kind of folder that counts: the suite's cases of bare repositories
		}
		path := fmt.Sprintf("t%d/%s", n, name)
		fmt.Fprintf(&dirs, " %q", filepath.Dir(path))
		tries := []string{"echo evil > %q"} // the shell does it itself
		if n++; n%20 == 0 {
			tries = append(tries, "mv f %q", "mv d %q", "ln f %q", "ln -s ../f %q", "cp f %q")
		}
		for _, try := range tries {
			fmt.Fprintf(&script, "("+try+") 2>/dev/null && echo %q\n", path, "made: "+fmt.Sprintf(try, path))
		}
	}
	out, exit := b.sh(p, "cd granted && echo evil > f && mkdir d && echo evil > d/x || exit 9\nmkdir -p"+dirs.String()+" 2>/dev/null\n"+script.String()+"test -f f && test -f d/x && echo end\n")
	if exit.Code != 0 || out != "end" {
		t.Errorf("%+v\n%s", exit, out)
	}
	evil := 0
	filepath.WalkDir(b.m.Workspace+"/granted", func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			t.Error(err)
		} else if !entry.IsDir() {
			evil++
		}
		return nil
	})
	if evil != 2 || n < 100 {
		t.Errorf("%d files are there after %d names, want the two that tried", evil, n)
	}
}

// A command changes nothing on the way to a start-up file, also where the links came after the policy was made.
func TestRunStartUpChains(t *testing.T) {
	b := newBench(t)
	m := chains(t)
	b.m.Home, b.m.State, b.m.Workspace, b.m.Temp = m.Home, m.State, m.Workspace, m.Temp
	if err := os.Mkdir(m.State, 0o700); err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	fmt.Fprintf(&script, "cd %s/dots || exit 9\n", m.Home)
	for _, c := range chained {
		if c.open {
			fmt.Fprintf(&script, "echo x > %[1]s && rm %[1]s || echo closed: %[1]s\n", c.path)
			continue
		}
		for _, try := range []string{"rm", "ln -sfn other", "mkdir -p", "mv -T v1"} {
			fmt.Fprintf(&script, "%[1]s %[2]s 2>/dev/null && test ! -d %[2]s && echo %[1]s %[2]s\n", try, c.path)
		}
	}
	script.WriteString("mkdir missing 2>/dev/null; ls -R; readlink zshrc current loop\n")
	out, _ := b.sh(Guarded(b.m).AllowWrite(b.place(m.Home+"/dots")), script.String())
	want := ".:\nconfig.fish\ncurrent\nloop\nround\nunit.service\nv1\nzshrc\n\n./v1:\nbashrc\n" + m.Home + "/real-zshrc\nv1\nround"
	if out != want {
		t.Errorf("%s", out)
	}
}
