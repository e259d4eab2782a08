package sandboxtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"handrail/sandbox"
)

// bombCommand makes the test program a host whose command forks as often as it can.
const bombCommand = "sandboxtest-bomb"

// bombProcesses is how many processes the commands may have in the test.
const bombProcesses = 60

// bombScript tries to make 1024 processes, each of which forks in its turn: a number that hurts nobody if nothing stops it. Its
// first process says whether one of them was stopped, and how many there are.
const bombScript = `
import errno, os, resource, time
try:
    resource.setrlimit(resource.RLIMIT_NPROC, (2000, 2000))
    print("the limit was raised")
except (ValueError, OSError):
    pass
first = os.getpid()
r, w = os.pipe()
said = b"."
for i in range(10):
    try:
        os.fork()
    except OSError as e:
        said = b"E" if e.errno == errno.EAGAIN else b"?"
os.write(w, said)
if os.getpid() != first:
    time.sleep(1000)
said, n = b"", 0
while n < 1024 and said in (b"", b"."):
    said, n = os.read(r, 1), n + 1
while True: # until no process forks any more: then their number stands
    n = len([p for p in os.listdir("/proc") if p.isdigit()])
    time.sleep(0.2)
    if n == len([p for p in os.listdir("/proc") if p.isdigit()]):
        break
print(said.decode(), n, flush=True)
time.sleep(1000)
`

// bombHost starts a bomb, and, while it holds all that it may have, a command that makes many processes one after another, and a few
// at once. The machine is on standard input.
func bombHost() int {
	var m sandbox.Machine
	if err := json.NewDecoder(os.Stdin).Decode(&m); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	start := func(argv ...string) (*sandbox.Process, *bufio.Reader, error) {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, nil, err
		}
		defer w.Close()
		proc, err := sandbox.Start(sandbox.Guarded(m), sandbox.Command{Argv: argv, Dir: m.Workspace, Env: []string{"PATH=/usr/bin:/bin"}, Stdout: w, Stderr: w, Processes: bombProcesses})
		return proc, bufio.NewReader(r), err
	}
	bomb, said, err := start("/usr/bin/python3", "-c", bombScript, m.Temp)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	line, err := said.ReadString('\n')
	fmt.Print(line)
	other, heard, err2 := start("/bin/sh", "-c", "i=0; while [ $i -lt 400 ]; do /bin/true || exit 9; i=$((i+1)); done; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 1000 & done; echo others can")
	if err := errors.Join(err, err2); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	line, _ = heard.ReadString('\n')
	fmt.Print(line)
	exit, err := other.Wait()
	fmt.Println(exit, err)
	bomb.Kill()
	exit, err = bomb.Wait()
	fmt.Println(exit, err)
	return 0
}

// rootMore is how many processes more a command may have if Handrail runs as root.
const rootMore = 320

// Bomb lets a command fork without end: it is stopped, other commands aren't, and it goes as a whole. As root it is done for an
// ordinary user too. (Before Linux 6.14 nothing bounds root: see sandbox.Limits.)
func Bomb(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Run("user", func(t *testing.T) { bombAs(t, nil, bombProcesses) })
		return
	}
	t.Run("user", func(t *testing.T) {
		const nobody = 65534
		bombAs(t, &syscall.Credential{Uid: nobody, Gid: nobody}, bombProcesses)
	})
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		t.Fatal(err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor); err != nil {
		t.Fatal(err)
	}
	if major > 6 || major == 6 && minor >= 14 {
		t.Run("root", func(t *testing.T) { bombAs(t, nil, bombProcesses+rootMore) })
	}
}

func bombAs(t *testing.T, user *syscall.Credential, most int) {
	b := NewBench(t)
	program := b.program()
	m := b.Machine
	m.Executable = program
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, bombCommand)
	cmd.Dir, cmd.Stdin, cmd.Env = b.Root, bytes.NewReader(text), []string{"PATH=/usr/bin:/bin"}
	if user != nil {
		err := filepath.WalkDir(b.Root, func(path string, _ os.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, int(user.Uid), int(user.Gid)))
		})
		if err != nil {
			t.Fatal(err)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user}
	}
	out, err := cmd.CombinedOutput()
	lines := strings.Split(string(out), "\n")
	if err != nil || len(lines) < 4 {
		t.Fatalf("%v\n%s", err, out)
	}
	var word string
	var n int
	if _, err := fmt.Sscan(lines[0], &word, &n); err != nil || word != "E" || n > most {
		t.Errorf("the bomb: %q; at most %d processes may be there, and the next fails with EAGAIN", lines[0], most)
	}
	if lines[1] != "others can" || lines[2] != "{0  20} <nil>" {
		t.Errorf("another command: %q", lines[1:3])
	}
	if lines[3] != "{137 SIGKILL 0} <nil>" {
		t.Errorf("the bomb's end: %q", lines[3])
	}
	gone(t, b.Root)
}
