package main

import (
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"handrail/core"
)

// workTag is what marks Handrail's folder of temporary files.
const workTag = "Signature: 8a477f597d28d172789f06886806bc55\n# Handrail keeps here what its sessions need for a while.\n"

// What Handrail made goes only when the person types yes, and what is theirs never.
func TestUninstall(t *testing.T) {
	for _, c := range []struct {
		name, typed string // "": there is no terminal
		state       string // below the home folder
		before      func(t *testing.T, c computer, state string)
		removed, ok bool
		says        string
	}{
		{"yes", "yes\n", "state", nil, true, true, "Removed."},
		{"no", "no\n", "state", nil, false, false, "nothing was removed"},
		{"something that begins alike", "yes!\n", "state", nil, false, false, "nothing was removed"},
		{"end of input", "\x04", "state", nil, false, false, "nothing was removed"},
		{"nobody can be asked", "", "state", nil, false, false, "nobody can be asked"},
		{"a folder that isn't Handrail's", "", "Documents", func(t *testing.T, c computer, state string) {
			log, _ := core.LogFiles(state)
			if err := os.Remove(log); err != nil {
				t.Fatal(err)
			}
		}, false, true, "has made nothing else"},
		{"a folder beside it that isn't Handrail's", "yes\n", "state", func(t *testing.T, c computer, state string) {
			write(t, filepath.Join(state+"-work", "CACHEDIR.TAG"), workTag[:43]+"\n# another's\n")
			write(t, filepath.Join(state+"-work", "tokens.json"), "")
		}, false, true, "state-work stays"},
		{"a folder that holds the workspace", "", ".", nil, false, false, "holds more than"},
		{"a folder in which the workspace lies, by a link", "", "link", func(t *testing.T, c computer, state string) {
			if err := os.Rename(state, state+"2"); err != nil {
				t.Fatal(err)
			}
			log, _ := core.LogFiles(c.home)
			write(t, log, "")
			if err := os.Symlink(c.home, state); err != nil {
				t.Fatal(err)
			}
		}, false, false, "holds more than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			computer := newComputer(t)
			state := filepath.Join(computer.home, c.state)
			mine := filepath.Join(computer.home, "Handrail", "mine.txt")
			beside := filepath.Join(computer.home, "state-2", "x")
			log, _ := core.LogFiles(state)
			for _, path := range []string{mine, beside, log, filepath.Join(state, "tokens.json"), filepath.Join(state+"-work", "x")} {
				write(t, path, "x")
			}
			write(t, filepath.Join(state+"-work", "CACHEDIR.TAG"), workTag)
			if c.before != nil {
				c.before(t, computer, state)
			}
			cmd := computer.command("uninstall", "--state", state)
			out, err := typing(t, cmd, c.typed)
			if (err == nil) != c.ok || !strings.Contains(out, c.says) {
				t.Errorf("%v\n%s", err, out)
			}
			for _, path := range []string{mine, beside} {
				if _, err := os.Stat(path); err != nil {
					t.Error(err)
				}
			}
			if gone := !exists(filepath.Join(state, "tokens.json")) && !exists(state+"-work"); strings.Contains(c.says, "stays") && exists(state) {
				t.Errorf("the state folder is there: %s", out)
			} else if gone != c.removed && c.state != "link" {
				t.Errorf("removed: %v, want %v\n%s", gone, c.removed, out)
			}
		})
	}
}

// What is removed is what was listed: another folder that has taken its place by the time of the yes stays.
func TestUninstallExchanged(t *testing.T) {
	c := newComputer(t)
	log, _ := core.LogFiles(c.state)
	write(t, log, "")
	terminal, err := pty.Start(c.command("uninstall", "--state", c.state))
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	if err := terminal.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	var out []byte
	for buf := make([]byte, 4096); !bytes.Contains(out, []byte("Type yes: ")); {
		n, err := terminal.Read(buf)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		out = append(out, buf[:n]...)
	}
	if err := os.Rename(c.state, c.state+".old"); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(c.state, "mine.txt")
	write(t, mine, "mine")
	if _, err := io.WriteString(terminal, "yes\n"); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(terminal)
	if !strings.Contains(string(rest), "another one is there by now") || strings.Contains(string(rest), "Removed.") || !exists(mine) || !exists(strings.Replace(log, c.state, c.state+".old", 1)) {
		t.Errorf("%s", rest)
	}
}

// The assistants that start this Handrail are listed too, and no longer start it then; not those that start another, or another program.
func TestUninstallAssistants(t *testing.T) {
	const codex = "# mine\nmodel = \"x\"\n"
	const entry = "\n[mcp_servers.handrail]\ncommand = \"/usr/bin/handrail\"\nargs = [\"stdio\"]\n"
	const gemini = `{"mcpServers": {"handrail": {"command": "/usr/bin/handrail", "args": ["stdio", "--state", "/other"]}}}`
	const cursor = `{"mcpServers": {"handrail": {"command": "npx", "args": ["handrail"]}}}`
	for _, x := range []struct {
		typed string
		args  []string
		codex string // afterwards
	}{
		{"no\n", nil, codex + entry}, {"yes\n", nil, codex}, {"yes\n", []string{"--state", "/of/another"}, codex + entry},
	} {
		c := newComputer(t)
		files := map[string]string{".codex/config.toml": codex + entry, ".gemini/settings.json": gemini, ".cursor/mcp.json": cursor}
		for path, text := range files {
			write(t, filepath.Join(c.home, path), text)
		}
		files[".codex/config.toml"] = x.codex
		out, err := typing(t, c.command(append([]string{"uninstall"}, x.args...)...), x.typed)
		if listed := strings.Contains(out, "Codex"); (err == nil) != (x.typed == "yes\n") || listed != (x.args == nil) || strings.Contains(out, "Gemini") || strings.Contains(out, "Cursor") {
			t.Errorf("%q %q: %v\n%s", x.typed, x.args, err, out)
		}
		for path, want := range files {
			if got, err := os.ReadFile(filepath.Join(c.home, path)); err != nil || string(got) != want {
				t.Errorf("%q %q: %s is\n%s\n%v", x.typed, x.args, path, got, err)
			}
		}
	}
}

// While Handrail runs nothing is removed.
func TestUninstallRunning(t *testing.T) {
	c := newComputer(t)
	c.serving(t, "--surface", "none")
	cmd := c.command("uninstall", "--state", c.state)
	out, err := typing(t, cmd, "yes\n")
	if err == nil || !strings.Contains(out, "quit it first") || !exists(c.state) {
		t.Errorf("%v\n%s", err, out)
	}
}

// What listens but doesn't answer as this version does may be a Handrail that runs: an older one, or one that is busy.
func TestUninstallUnanswered(t *testing.T) {
	c := newComputer(t)
	log, _ := core.LogFiles(c.state)
	write(t, log, "")
	l, err := net.Listen("unix", core.Socket(c.state))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	out, err := typing(t, c.command("uninstall", "--state", c.state), "yes\n")
	if err == nil || !strings.Contains(out, "quit it first") || !exists(log) {
		t.Errorf("%v\n%s", err, out)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// typing runs a command on a terminal of its own on which a person types, or with typed "" without one, and gives all it said.
func typing(t *testing.T, cmd *exec.Cmd, typed string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	if typed == "" {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		return out.String(), err
	}
	terminal, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	if _, err := io.WriteString(terminal, typed); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(&out, terminal) // ends with EIO when nobody has the terminal open any more
	return out.String(), cmd.Wait()
}
