package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sys/unix"

	"handrail/core/client"
	"handrail/core/job"
)

// git runs git outside the sandbox, as the person whose computer it is would: it prepares the repositories of a conversation.
// %W in an argument is the workspace, %20 a blank.
func (w *world) git(dir string, args []string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for i := range args {
		args[i] = strings.NewReplacer("%W", w.gate.Workspace, "%20", " ").Replace(args[i])
	}
	cmd := exec.Command("/usr/bin/git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + w.home, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann",
		"GIT_COMMITTER_EMAIL=ann@example.com", "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z", "GIT_CONFIG_COUNT=2",
		"GIT_CONFIG_KEY_0=init.defaultBranch", "GIT_CONFIG_VALUE_0=main", "GIT_CONFIG_KEY_1=core.hooksPath", "GIT_CONFIG_VALUE_1=/dev/null"}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %q: %w\n%s", args, err, out)
	}
	return nil
}

// fakeGit has the session find a script in place of git, which does what before says and then what git does. room gives the
// session's folders once it has made a call.
func (w *world) fakeGit(before string) (room func() Room) {
	w.put("w/bin/git", []byte("#!/bin/sh\n"+before+"\nexec /usr/bin/git \"$@\"\n"))
	w.do([]string{"program", "w/bin/git"})
	var made Room
	session := w.gate.Session
	w.gate.Session = func(s *client.Session) (Room, error) {
		r, err := session(s)
		r.Env = append(slices.Clone(r.Env), "PATH="+w.path("w/bin")+":/usr/bin:/bin")
		made = r
		return r, err
	}
	return func() Room { return made }
}

// origin makes w/from, a repository to clone.
func (w *world) origin() {
	for name, text := range map[string]string{"w/from/f.txt": "one\n", "w/from/d/g.txt": "two\n"} {
		w.put(name, []byte(text))
	}
	for _, args := range []string{"init", "add .", "commit -m x"} {
		w.do(append([]string{"git", "w/from"}, strings.Fields(args)...))
	}
}

// signal makes a named pipe into which a command writes when it has come so far. wait waits for that; it is a failure that the call is
// answered without.
func signal(t *testing.T, pipe string) (wait func(answered <-chan struct{})) {
	t.Helper()
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(pipe, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0) // also for writing: neither side waits for the other to open it
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), pipe)
	t.Cleanup(func() { f.Close() })
	return func(answered <-chan struct{}) {
		t.Helper()
		read := make(chan byte, 1)
		go func() {
			b := []byte{0}
			f.Read(b)
			read <- b[0]
		}()
		select {
		case <-answered:
			f.Write([]byte{0}) // after what the command wrote, if it did
		case b := <-read:
			read <- b
		case <-time.After(ages):
			t.Fatal("the command neither comes so far nor ends")
		}
		if <-read == 0 {
			t.Fatal("the command didn't come so far")
		}
	}
}

// A command that is cancelled, or killed, while it changes a repository's settings leaves them as they were, and no lock.
func TestSettingsStopped(t *testing.T) {
	for _, how := range []string{"cancelled", "killed"} {
		t.Run(how, func(t *testing.T) {
			w := newWorld(t, true)
			defer w.close()
			room := w.fakeGit("case \"$*\" in *--replace-all*) echo > \"$TMPDIR/begun\"; exec sleep 100 ;; esac")
			w.do([]string{"git", "w/proj", "init"})
			w.person.will("allow")
			if got := w.play(`{"request_access": {"folder": "proj"}}`); !strings.Contains(got, "You may") {
				t.Fatal(got)
			}
			config := w.path("w/proj/.git/config")
			before, err := os.ReadFile(config)
			if err != nil {
				t.Fatal(err)
			}
			begun := filepath.Join(room().Temp, "begun")
			wait := signal(t, begun)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var got string
			answered := make(chan struct{})
			c := w.connect()
			go func() {
				defer close(answered)
				got = outcome(c.CallTool(ctx, &mcp.CallToolParams{Name: "git", Arguments: json.RawMessage(`{"action": "remote", "mode": "add", "repo": "proj", "name": "a", "url": "https://example.com/a"}`)}))
			}()
			wait(answered)
			var running *job.Job
			for _, j := range w.gate.Jobs.List(w.sessions.Live()[0].ID) {
				if j.Running() {
					running = j
				}
			}
			if how == "killed" {
				running.Stop(job.Stopped)
			} else {
				cancel()
			}
			within(t, running.Done(), "the command goes on")
			within(t, answered, "the call isn't answered")
			if strings.HasPrefix(got, "no answer: ") != (how == "cancelled") {
				t.Error(got)
			}
			w.close() // waits for the call
			after, err := os.ReadFile(config)
			if err != nil || string(after) != string(before) {
				t.Errorf("the settings are %q now, %v", after, err)
			}
			if _, err := os.Lstat(config + ".lock"); err == nil {
				t.Error("there is a lock")
			}
		})
	}
}

// outcome is what a call was answered with, in one text.
func outcome(r *mcp.CallToolResult, err error) string {
	if err != nil {
		return "no answer: " + err.Error()
	}
	data, err := json.Marshal(r.Content)
	if err != nil {
		return "no answer: " + err.Error()
	}
	return string(data)
}

// A clone that is cancelled, or killed, or fails leaves nothing of its own: neither while it fetches nor while it writes files.
func TestCloneStopped(t *testing.T) {
	for _, where := range []string{"clone", "checkout"} {
		for _, how := range []string{"cancelled", "killed", "failed"} {
			for _, repo := range []string{"new", "proj/sub", "proj/there"} {
				t.Run(where+" "+how+" "+repo, func(t *testing.T) {
					t.Parallel()
					w := newWorld(t, true)
					defer w.close()
					w.gate.Jobs.Grace = job.Grace // what is stopped ends, whatever becomes of the signal
					then := "exec sleep 100"
					if how == "failed" {
						then = "exit 1"
					}
					// It leaves what it made, as git does when it is killed at once.
					room := w.fakeGit("for last in \"$@\"; do :; done\ncase \"$1\" in\n" + where + ")\n[ $1 = checkout ] && echo one > \"$GIT_WORK_TREE/f.txt\" || mkdir -p \"$last/.git/objects\"\n" +
						"echo > \"$TMPDIR/begun\"; " + then + " ;;\nesac")
					w.origin()
					w.put("w/proj/mine.txt", []byte("mine\n"))
					w.do([]string{"mkdir", "w/proj/there"})
					w.person.will("allow")
					if got := w.play(`{"request_access": {"folder": "proj"}}`); !strings.Contains(got, "You may") {
						t.Fatal(got)
					}
					w.person.will("allow")
					begun := filepath.Join(room().Temp, "begun")
					wait := signal(t, begun)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					answered := make(chan struct{})
					c := w.connect()
					go func() {
						defer close(answered)
						_, _ = c.CallTool(ctx, &mcp.CallToolParams{Name: "git", Arguments: map[string]any{"action": "clone", "url": "from", "repo": repo}})
					}()
					wait(answered)
					jobs := w.gate.Jobs.List(w.sessions.Live()[0].ID)
					for _, j := range jobs {
						if j.Running() && how == "killed" {
							j.Stop(job.Stopped)
						}
					}
					if how == "cancelled" {
						cancel()
					}
					within(t, answered, "the call isn't answered")
					for _, j := range jobs {
						within(t, j.Done(), "the command goes on")
					}
					w.close() // waits for the call
					left, err := os.ReadDir(w.path("w/" + repo))
					switch {
					case how == "failed" && where == "checkout": // the repository is whole; the person may want the rest
						if len(left) == 0 {
							t.Error("what could be used was taken away")
						}
					case len(left) > 0:
						t.Errorf("it left %v", left)
					case repo == "proj/sub" && !os.IsNotExist(err), repo == "proj/there" && err != nil:
						t.Errorf("the folder itself: %v", err)
					}
					if _, err := os.Stat(w.path("w/proj/mine.txt")); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// A clone that takes longer than a client waits goes on as a job, and its files are had as the answer says; one that fails then
// leaves nothing.
func TestCloneGoesOn(t *testing.T) {
	for _, fails := range []bool{false, true} {
		w := newWorld(t, true)
		defer w.close()
		then := ""
		if fails {
			then = "mkdir -p \"$last/.git/objects\"; exit 1"
		}
		room := w.fakeGit("for last in \"$@\"; do :; done\ncase \"$1\" in clone) read x < \"$TMPDIR/go\"; " + then + " ;; esac")
		w.origin()
		w.person.will("allow")
		if got := w.play(`{"write_file": {"path": "copy/x", "content": ""}}`); strings.HasPrefix(got, "error") {
			t.Fatal(got)
		}
		w.do([]string{"rm", "w/copy/x"})
		if err := unix.Mkfifo(filepath.Join(room().Temp, "go"), 0o600); err != nil {
			t.Fatal(err)
		}
		w.gate.testOnlyAnswerBy = time.Millisecond
		got := w.play(`{"git": {"action": "clone", "url": "from", "repo": "copy"}}`)
		w.gate.testOnlyAnswerBy = ages
		if !strings.Contains(got, "still running") || !strings.Contains(got, `action checkout, ref HEAD and paths ["."]`) {
			t.Fatal(got)
		}
		if err := os.WriteFile(filepath.Join(room().Temp, "go"), []byte("\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, j := range w.gate.Jobs.List(w.sessions.Live()[0].ID) {
			within(t, j.Done(), "the command goes on")
		}
		w.gate.telling.Wait()
		if fails {
			if left, err := os.ReadDir(w.path("w/copy")); err != nil || len(left) > 0 {
				t.Errorf("it left %v, %v", left, err)
			}
			continue
		}
		if got := w.play(`{"git": {"action": "checkout", "repo": "copy", "ref": "HEAD", "paths": ["."]}}`); strings.HasPrefix(got, "error") {
			t.Error(got)
		}
		if got := w.play(`{"git": {"action": "status", "repo": "copy"}}`); !strings.Contains(got, "the work tree is clean") {
			t.Error(got)
		}
		if text, err := os.ReadFile(w.path("w/copy/d/g.txt")); err != nil || string(text) != "two\n" {
			t.Errorf("%q, %v", text, err)
		}
	}
}
