package sandboxtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Escapes tries each escape in a sandbox of its own, once with every permission that shares the network and once with none.
func Escapes(t *testing.T) {
	if len(escapes) < 60 {
		t.Fatalf("only %d escapes", len(escapes))
	}
	for _, mode := range []string{"own", "shared"} {
		t.Run(mode, func(t *testing.T) {
			b := NewBench(t)
			// The person's programs, which the command must not reach.
			stream, err := net.Listen("unix", filepath.Join(b.Machine.Workspace, "host.sock"))
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Close()
			app, err := net.Listen("unix", filepath.Join(b.Outside, "app.sock")) // below /tmp, as those of X11 and terminals are
			if err != nil {
				t.Fatal(err)
			}
			defer app.Close()
			datagrams, err := net.ListenPacket("unixgram", filepath.Join(b.Machine.Workspace, "host.dgram"))
			if err != nil {
				t.Fatal(err)
			}
			defer datagrams.Close()
			name := fmt.Sprintf("sandboxtest-%d", os.Getpid())
			abstract, err := net.Listen("unix", "@"+name)
			if err != nil {
				t.Fatal(err)
			}
			defer abstract.Close()
			port, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer port.Close()
			b.Machine.Ports = []int{port.Addr().(*net.TCPAddr).Port}
			b.File(b.Outside+"/f", "outside\n")
			b.File(b.Machine.Workspace+"/f", "workspace\n")
			for _, args := range [][]string{{"init", "-q", "r"}, {"-C", "r", "-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "--allow-empty", "-m", "x"}} {
				cmd := exec.Command("git", args...)
				cmd.Dir = b.Machine.Workspace + "/granted"
				cmd.Env = append(b.env(), "PATH="+os.Getenv("PATH"))
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}
			b.File(b.Machine.Workspace+"/granted/r/one", "one\n")
			p := b.Guarded()
			if mode == "shared" {
				p = p.AllowNetwork().AllowLoopback()
			}
			program := b.program()
			for _, e := range escapes {
				before := b.closed()
				script := fmt.Sprintf("HOSTPID=%d HOSTEXE=%q ABSTRACT=%s OURPORT=%d NETWORK=%s exec \"$0\" %s \"$1\"", os.Getpid(), b.Machine.Executable, name, b.Machine.Ports[0], mode, escapeCommand)
				out, exit := b.Run(p, nil, "/bin/sh", "-c", script, program, e.name)
				out = strings.TrimSpace(out)
				held, how := true, out
				switch {
				case exit.Signal != "":
					how = exit.Signal
				case exit.Code != 0 || strings.HasPrefix(out, "not tried"):
					held = false
					t.Errorf("%s: it ended with %+v:\n%s", e.name, exit, out)
				case out == "":
					held, how = false, "it got out"
					t.Errorf("%s: it got out", e.name)
				}
				if after := b.closed(); after != before {
					held, how = false, "something changed"
					t.Errorf("%s: something changed:\n%s\nwas\n%s", e.name, after, before)
				}
				tried(mode+" network", e.name, held, how)
			}
		})
	}
}

// closed describes what no escape may change: everything outside the granted folder, and what is protected in it.
func (b *Bench) closed() string {
	b.T.Helper()
	var s strings.Builder
	for _, dir := range []string{b.Outside, b.Machine.Home + "/Documents", b.Machine.Home + "/.ssh", b.Machine.State, b.Machine.Workspace + "/other", b.Machine.Workspace + "/private"} {
		files, err := tree(dir)
		if err != nil {
			b.T.Fatal(err)
		}
		fmt.Fprintln(&s, files)
	}
	for _, path := range []string{"f", "granted/.envrc", "granted/.vscode", "granted/second", "granted/r/.git/config", "granted/r/.git/hooks/pre-commit", "granted/r/.git/hooks/pre-push", "granted/key.pem"} {
		fmt.Fprintln(&s, path, state(filepath.Join(b.Machine.Workspace, path)))
	}
	return s.String()
}
