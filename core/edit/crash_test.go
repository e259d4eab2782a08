//go:build unix

package edit

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"handrail/core/hint"
)

// The variable that makes a test binary do one thing in a folder instead of running tests.
const childRole = "HANDRAIL_EDIT_CHILD"

func TestMain(m *testing.M) {
	role, dir, _ := strings.Cut(os.Getenv(childRole), ":")
	switch role {
	case "":
		os.Exit(m.Run())
	case "loop":
		childLoop(dir)
	case "limit":
		childLimit(dir)
	case "patch":
		childPatch(dir)
	case "commands":
		childCommands(dir)
	}
}

func child(t *testing.T, role, dir string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childRole+"="+role+":"+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

const block = 300 << 10

// childLoop turns a file of one letter into a file of the next, for ever, and says each time that it begins.
func childLoop(dir string) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		panic(err)
	}
	undo, err := OpenUndo(filepath.Join(dir, "undo"), 4<<20)
	if err != nil {
		panic(err)
	}
	for {
		b, err := root.ReadFile("f")
		if err != nil {
			panic(err)
		}
		next := string([]byte{b[0]%26 + 'a'}) // any other letter
		o := Options{Undo: undo, testOnlyStep: func(s string) error {
			fmt.Println(s)
			return nil
		}}
		if _, err := Edit(root, "f", str(strings.Repeat(string(b[:1]), block), strings.Repeat(next, block)), o); err != nil {
			panic(err)
		}
	}
}

// killAfter starts a child and kills it once it has said that many lines.
func killAfter(t *testing.T, lines int, what, dir string) {
	t.Helper()
	cmd := child(t, what, dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewScanner(out)
	for n := 0; n < lines && in.Scan(); n++ {
	}
	cmd.Process.Signal(syscall.SIGKILL)
	cmd.Wait()
	if !cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled() {
		t.Fatalf("the child ended by itself: %v", cmd.ProcessState)
	}
}

// A process that is killed while it edits, at any point, leaves the old or the new text, whole. What it left behind can
// be told, and goes at a later write.
func TestKilled(t *testing.T) {
	root, dir := scratch(t, map[string]string{"f": strings.Repeat("a", block)})
	left := 0
	for i := range 20 {
		killAfter(t, i+1, "loop", dir) // each time one step further
		b, err := os.ReadFile(filepath.Join(dir, "f"))
		if err != nil || len(b) != block || bytes.Count(b, b[:1]) != block {
			t.Fatalf("after kill %d: %d bytes, %v", i, len(b), err)
		}
		for name := range tree(t, dir) {
			switch {
			case name == "f" || strings.HasPrefix(name, "undo/"):
			case ours(name):
				left++
			default:
				t.Errorf("after kill %d there is %s", i, name)
			}
		}
	}
	if left == 0 {
		t.Error("no kill met an edit in the middle")
	}
	d, err := rootFolder(root)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	sweepAt(d, time.Now().Add(2*leftAlone))
	for name := range tree(t, dir) {
		if ours(name) {
			t.Errorf("%s is still there", name)
		}
	}
	// Every undo entry that can be read is whole.
	undo := openUndo(t, filepath.Join(dir, "undo"), 4<<20)
	list := undo.List()
	for _, e := range list {
		_, f, err := undo.open(e.ID)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, e.Size)
		if _, err := f.ReadAt(b, 0); err != nil || hashOf(b) != e.OldHash {
			t.Errorf("entry %s is damaged: %v", e.ID, err)
		}
		f.Close()
	}
	if len(list) == 0 {
		t.Error("nothing was kept")
	}
}

// childLimit edits under a limit on the size of files.
func childLimit(dir string) {
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1000, Max: 1000}); err != nil {
		panic(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		panic(err)
	}
	_, err = Edit(root, "f", str("old", strings.Repeat("x", 5000)), Options{})
	fmt.Println(hint.Code(err))
	_, err = Write(root, "a/g", strings.Repeat("x", 5000), Options{})
	fmt.Println(hint.Code(err))
}

// The system itself cuts a write short: the file stays, and nothing is left.
func TestWriteCutShort(t *testing.T) {
	_, dir := scratch(t, map[string]string{"f": "old\n"})
	out, err := child(t, "limit", dir).Output()
	if err != nil || string(out) != "too_large\ntoo_large\n" {
		t.Errorf("%q, %v", out, err)
	}
	wantTree(t, dir, map[string]string{"f": "old\n"})
	if _, err := os.Stat(filepath.Join(dir, "a")); err == nil {
		t.Error("a folder was left")
	}
}

const patchedFiles = 4

// childPatch applies a patch and stops at each of its steps until it is told to go on.
func childPatch(dir string) {
	root, err := os.OpenRoot(filepath.Join(dir, "files"))
	if err != nil {
		panic(err)
	}
	undo, err := OpenUndo(filepath.Join(dir, "undo"), 4<<20)
	if err != nil {
		panic(err)
	}
	in := bufio.NewScanner(os.Stdin)
	o := Options{Undo: undo, testOnlyStep: func(s string) error {
		fmt.Println(s)
		in.Scan()
		return nil
	}}
	const text = "*** Update File: a\n-1\n+ONE\n*** Delete File: b\n*** Add File: x/new\n+n\n*** Update File: m\n*** Move to: moved\n-4\n+FOUR\n"
	if _, err := patch(root, text, o); err != nil {
		panic(err)
	}
}

// A process that is killed while it applies a patch, at any step, leaves each file old or new, whole, and the patch in the list
// of what can be undone as soon as one is new: undoing it puts all of them back.
func TestPatchKilled(t *testing.T) {
	files := map[string]string{"a": "1\n", "b": "2\n", "m": "4\n"}
	half, whole := 0, false
	for steps := 1; !whole; steps++ {
		_, dir := scratch(t, map[string]string{"files/a": "1\n", "files/b": "2\n", "files/m": "4\n"})
		cmd := child(t, "patch", dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for range steps {
			if !lines.Scan() {
				whole = true
				break
			}
			fmt.Fprintln(in)
		}
		if !whole {
			lines.Scan() // it stands at the next step, or has ended
		}
		cmd.Process.Signal(syscall.SIGKILL)
		cmd.Wait()
		got := tree(t, filepath.Join(dir, "files"))
		for name := range got {
			if ours(name) || ours(filepath.Base(name)) {
				delete(got, name)
			}
		}
		undo := openUndo(t, filepath.Join(dir, "undo"), 4<<20)
		s, err := OpenSnapshots(SnapshotOptions{Dir: filepath.Join(dir, "snapshots"), Undo: undo})
		if err != nil {
			t.Fatal(err)
		}
		list := s.Changes()
		if maps.Equal(got, files) {
			s.Close()
			continue
		}
		half++
		if len(list) != 1 {
			t.Fatalf("after %d steps: %q, and %d changes can be undone", steps, got, len(list))
		}
		if _, err := s.Undo(list[0].ID, false); err != nil {
			t.Fatalf("after %d steps: %v", steps, err)
		}
		s.Close()
		got = tree(t, filepath.Join(dir, "files"))
		for name := range got {
			if ours(filepath.Base(name)) {
				delete(got, name)
			}
		}
		if !maps.Equal(got, files) {
			t.Errorf("after %d steps and an undo: %q", steps, got)
		}
	}
	if half < patchedFiles {
		t.Errorf("only %d kills met the patch in the middle", half)
	}
}
