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

// A command that is cancelled, or killed, while it changes a repository's settings leaves them as they were, and no lock.
func TestSettingsStopped(t *testing.T) {
	for _, how := range []string{"cancelled", "killed"} {
		t.Run(how, func(t *testing.T) {
			w := newWorld(t, true)
			defer w.close()
			w.put("w/bin/git", []byte("#!/bin/sh\ncase \"$*\" in *--replace-all*) echo > \"$TMPDIR/begun\"; exec sleep 600 ;; esac\nexec /usr/bin/git \"$@\"\n"))
			w.do([]string{"program", "w/bin/git"})
			var room Room
			session := w.gate.Session
			w.gate.Session = func(s *client.Session) (Room, error) {
				r, err := session(s)
				r.Env = append(slices.Clone(r.Env), "PATH="+w.path("w/bin")+":/usr/bin:/bin")
				room = r
				return r, err
			}
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
			begun := filepath.Join(room.Temp, "begun")
			if err := unix.Mkfifo(begun, 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			answered := make(chan error)
			c := w.connect()
			go func() {
				_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "git", Arguments: json.RawMessage(`{"action": "remote", "mode": "add", "repo": "proj", "name": "a", "url": "https://example.com/a"}`)})
				answered <- err
			}()
			f, err := os.Open(begun) // waits for the one who writes
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
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
			<-running.Done()
			if err := <-answered; (err != nil) != (how == "cancelled") {
				t.Error(err)
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
