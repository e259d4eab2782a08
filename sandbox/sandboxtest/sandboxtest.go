// Package sandboxtest is the suite that every backend of package sandbox must pass.
//
// It has three tables. The grid says, for every class of path, every profile and grant, and every operation, whether it is
// allowed; each cell is tried for real in a subprocess by every route there is (a file is made by opening, linking, renaming …), and
// compared with Policy.Decide and with the printed Seatbelt profile. The cases are scripts with their right outcome. The
// escapes are ways out of sandboxes that were found elsewhere.
//
// Everything happens in scratch folders, on a home folder that is made for it. The tests that use the suite hand TestMain
// to Main: the test program is started again inside the sandbox, as the launcher and as the probe.
package sandboxtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"handrail/sandbox"
)

// Main is the body of TestMain.
func Main(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "launch":
			os.Exit(sandbox.Launch(os.Args[2:]))
		case probeCommand:
			os.Exit(probe(os.Stdin, os.Stdout))
		case escapeCommand:
			os.Exit(tryEscape(os.Args[2:]))
		case chaosCommand:
			os.Exit(chaos(os.Args[2:]))
		case hostCommand:
			os.Exit(host(os.Args[2:]))
		case bombCommand:
			os.Exit(bombHost())
		}
	}
	code := m.Run()
	if *lines {
		fmt.Printf("\n%d attacks were denied, %d got through.\n", deniedCount, throughCount)
		if throughCount > 0 || deniedCount == 0 {
			code = 1
		}
	}
	os.Exit(code)
}

// Bench is a scratch computer: a home folder with what a person has in it.
type Bench struct {
	T       *testing.T
	Machine sandbox.Machine
	Root    string // everything is below it
	Outside string // a folder outside the home folder
}

// NewBench makes one.
func NewBench(t *testing.T) *Bench {
	t.Helper()
	// Not t.TempDir: the address of a unix socket has room for about a hundred bytes.
	root, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(root); err != nil {
			t.Errorf("cleaning up: %v", err)
		}
	})
	if root, err = filepath.EvalSymlinks(root); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(root, "home")
	b := &Bench{T: t, Root: root, Outside: filepath.Join(root, "outside"), Machine: sandbox.Machine{
		Home: home, State: filepath.Join(home, ".local/share/Handrail"), Workspace: filepath.Join(home, "work"), Temp: filepath.Join(root, "temp"),
		Caches: filepath.Join(root, "caches"), Executable: self, Path: []string{"/usr/local/bin", "/usr/bin", "/bin", filepath.Join(home, "tools/bin")},
		Secrets: []string{filepath.Join(home, "work/granted/key.pem"), filepath.Join(home, "work/private")},
	}}
	for _, dir := range []string{b.Machine.State, b.Machine.Temp, b.Machine.Caches, b.Machine.Workspace, b.Outside, b.Machine.Workspace + "/granted", b.Machine.Workspace + "/other", b.Machine.Workspace + "/private",
		home + "/Documents", home + "/Pictures", home + "/Music", home + "/.ssh", home + "/tools/bin", home + "/tools/lib"} {
		b.Dir(dir)
	}
	b.File(home+"/.ssh/id_ed25519", "secret key\n")
	b.File(b.Machine.State+"/tokens", "secret token\n")
	b.File(b.Machine.Workspace+"/granted/key.pem", "secret key\n")
	b.File(b.Machine.Workspace+"/private/diary.txt", "secret diary\n")
	b.File(home+"/Documents/letter.txt", "letter\n")
	b.File(home+"/.bashrc", "# mine\n")
	return b
}

// Dir makes a folder.
func (b *Bench) Dir(path string) {
	b.T.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		b.T.Fatal(err)
	}
}

// File makes a file, and the folders above it.
func (b *Bench) File(path, text string) {
	b.T.Helper()
	b.Dir(filepath.Dir(path))
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		b.T.Fatal(err)
	}
}

// Place identifies a folder.
func (b *Bench) Place(path string) sandbox.Place {
	b.T.Helper()
	p, err := sandbox.PlaceAt(path)
	if err != nil {
		b.T.Fatal(err)
	}
	return p
}

// Guarded is the profile with an edit grant on work/granted.
func (b *Bench) Guarded() sandbox.Policy {
	return sandbox.Guarded(b.Machine).AllowWrite(b.Place(filepath.Join(b.Machine.Workspace, "granted")))
}

// limit bounds each command.
const limit = 2 * time.Minute

// Run runs a program and gives what it wrote and how it ended.
func (b *Bench) Run(p sandbox.Policy, stdin io.Reader, argv ...string) (string, sandbox.Exit) {
	b.T.Helper()
	out, exit, err := b.run(p, stdin, argv...)
	if err != nil {
		b.T.Fatalf("%s: %v", strings.Join(argv, " "), err)
	}
	return out, exit
}

func (b *Bench) run(p sandbox.Policy, stdin io.Reader, argv ...string) (string, sandbox.Exit, error) {
	in, inW, err := os.Pipe()
	if err != nil {
		return "", sandbox.Exit{}, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return "", sandbox.Exit{}, err
	}
	defer outR.Close()
	proc, err := sandbox.Start(p, sandbox.Command{Argv: argv, Dir: b.Machine.Workspace, Env: b.env(), Stdin: in, Stdout: outW, Stderr: outW})
	in.Close()
	outW.Close()
	if err != nil {
		inW.Close()
		return "", sandbox.Exit{}, err
	}
	timer := time.AfterFunc(limit, func() { proc.Kill() })
	defer timer.Stop()
	go func() {
		if stdin != nil {
			io.Copy(inW, stdin)
		}
		inW.Close()
	}()
	var out bytes.Buffer
	io.Copy(&out, outR)
	exit, err := proc.Wait()
	return out.String(), exit, err
}

func (b *Bench) env() []string {
	m := b.Machine
	return []string{"PATH=" + strings.Join(m.Path, ":"), "HOME=" + m.Home, "TMPDIR=" + m.Temp, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "W=" + m.Workspace, "G=" + m.Workspace + "/granted", "OUT=" + b.Outside}
}

// Sh runs a script.
func (b *Bench) Sh(p sandbox.Policy, script string) (string, sandbox.Exit) {
	b.T.Helper()
	return b.Run(p, nil, "/bin/sh", "-c", script)
}

// program gives a copy of the test program in the session's own folder, where a command can run it.
func (b *Bench) program() string {
	b.T.Helper()
	path := filepath.Join(b.Machine.Temp, "probe-program")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	from, err := os.Open(b.Machine.Executable)
	if err != nil {
		b.T.Fatal(err)
	}
	defer from.Close()
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		b.T.Fatal(err)
	}
	_, err = io.Copy(to, from)
	if err := errors.Join(err, to.Close()); err != nil {
		b.T.Fatal(err)
	}
	return path
}

// Probe has the probe try attempts under a policy, and gives the error of each; "" is success.
func (b *Bench) Probe(p sandbox.Policy, attempts []Attempt) []string {
	b.T.Helper()
	program := b.program()
	text, err := json.Marshal(attempts)
	if err != nil {
		b.T.Fatal(err)
	}
	out, exit := b.Run(p, bytes.NewReader(text), program, probeCommand)
	var results []string
	if err := json.Unmarshal([]byte(out), &results); err != nil || exit.Code != 0 || len(results) != len(attempts) {
		b.T.Fatalf("the probe ended with %+v: %v\n%s", exit, err, out)
	}
	return results
}

// Require fails a test where the sandbox doesn't work: there is nothing to test then, and no pass.
func (b *Bench) Require(p sandbox.Policy) {
	b.T.Helper()
	proc, err := sandbox.Start(p, sandbox.Command{Argv: []string{"/bin/sh", "-c", ":"}, Dir: b.Machine.Workspace})
	if err != nil {
		b.T.Fatalf("the sandbox of %s doesn't work here: %v", runtime.GOOS, err)
	}
	if exit, err := proc.Wait(); err != nil || exit.Code != 0 {
		b.T.Fatalf("the sandbox of %s doesn't work here: %+v, %v", runtime.GOOS, exit, err)
	}
}

// tree lists what is below a folder, with what it is and holds, to compare before and after.
func tree(root string) (map[string]string, error) {
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		what := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			what += fmt.Sprintf(" %d %q", info.ModTime().UnixNano(), text)
		case info.Mode()&os.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			what += " -> " + to
		}
		out[path] = what
		return nil
	})
	return out, err
}
