package tool

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"handrail/core/approval"
	"handrail/core/client"
	"handrail/core/grant"
	"handrail/core/job"
)

// slow is a person who answers when told.
type slow struct {
	shown   chan approval.Request
	answers chan func(approval.Request) approval.Decision
}

func newSlow() *slow {
	return &slow{shown: make(chan approval.Request, 100), answers: make(chan func(approval.Request) approval.Decision)}
}

func (s *slow) Ask(ctx context.Context, r approval.Request) approval.Decision {
	s.shown <- r
	select {
	case answer := <-s.answers:
		return answer(r)
	case <-ctx.Done():
		return approval.Refuse(approval.Withdrawn, "dialog", "")
	}
}

// within gives what comes, or is closed, before the test has waited for ages.
func within[T any](t *testing.T, from <-chan T, otherwise string) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(ages):
		t.Fatal(otherwise)
	}
	return v
}

// sees waits for the next question.
func (s *slow) sees(t *testing.T) approval.Request {
	t.Helper()
	return within(t, s.shown, "nothing is asked")
}

// says answers a question.
func (s *slow) says(t *testing.T, answer func(approval.Request) approval.Decision) {
	t.Helper()
	select {
	case s.answers <- answer:
	case <-time.After(ages):
		t.Fatal("no question takes an answer")
	}
}

func allow(r approval.Request) approval.Decision { return approval.Allow(r, "dialog") }

func refuse(approval.Request) approval.Decision {
	return approval.Refuse(approval.Refused, "dialog", "")
}

// waitingWorld is a world in which calls answer at once that a question waits.
func waitingWorld(t *testing.T) (*world, *slow) {
	w, p := newWorld(t, true), newSlow()
	w.queued = make(chan struct{}, 1)
	w.gate.Queue = approval.NewQueue(p, func() {
		select {
		case w.queued <- struct{}{}:
		default:
		}
	})
	w.gate.testOnlyAnswerBy = time.Millisecond
	t.Cleanup(w.close)
	return w, p
}

var approvalID = regexp.MustCompile(`id (approval-[a-z2-7]{10})`)

// pending makes an exec call that must answer that it waits, and gives its id.
func (w *world) pending(t *testing.T, args string) (id string) {
	t.Helper()
	raw, _ := w.raw(`{"exec": ` + args + `}`)
	m := approvalID.FindStringSubmatch(raw)
	if m == nil || !strings.Contains(raw, "has not started") {
		t.Fatalf("exec %s: no question waits: %s", args, raw)
	}
	return m[1]
}

// raw plays a call and gives its text as it is.
func (w *world) raw(line string) (text string, failed bool) {
	w.rawText = true
	defer func() { w.rawText = false }()
	out := w.play(line)
	return out, strings.HasPrefix(out, "error ")
}

// poll polls until something has ended.
func (w *world) poll(t *testing.T, id string) string {
	t.Helper()
	w.gate.testOnlyAnswerBy = ages
	var all strings.Builder
	for range 100 {
		text, failed := w.raw(fmt.Sprintf(`{"process": {"action": "poll", "sessionId": %q, "timeout": 30000}}`, id))
		all.WriteString(text)
		if failed || strings.Contains(text, "Process exited") || strings.Contains(text, "Process stopped") {
			return all.String()
		}
	}
	t.Fatal("it doesn't end")
	return ""
}

// A command that the person allows after its call has answered starts by itself, once, as it was shown.
func TestAskedCommandRunsByItself(t *testing.T) {
	w, p := waitingWorld(t)
	w.put("w/proj/a.txt", []byte("one\n"))
	args := `{"command": "cat a.txt; pwd", "workdir": "proj", "ask": "always", "env": {"B": "2", "A": "1"}, "timeoutSeconds": 600}`
	id := w.pending(t, args)
	r := p.sees(t)
	c := r.Command
	if r.Kind != approval.Exec || !r.Kind.Once() || c.Text != "cat a.txt; pwd" || c.Runs != "/usr/bin/cat a.txt; pwd" && c.Runs != "/bin/cat a.txt; pwd" || fmt.Sprint(c.Env) != "[A=1 B=2]" || r.Folder != filepath.Join(w.gate.Workspace, "proj") {
		t.Errorf("asked %+v %+v", r, c)
	}
	if again := w.pending(t, args); again != id {
		t.Errorf("the same call again asks again: %s, %s", id, again)
	}
	if text, _ := w.raw(`{"process": {"action": "list"}}`); !strings.Contains(text, id+" approval-pending") {
		t.Errorf("it isn't listed: %s", text)
	}
	for _, action := range []string{`"write", "data": "x"`, `"submit"`, `"send-keys", "keys": ["Enter"]`, `"paste", "text": "x"`} {
		if text, failed := w.raw(fmt.Sprintf(`{"process": {"action": %s, "sessionId": %q}}`, action, id)); !failed || !strings.Contains(text, "[not_started]") {
			t.Errorf("%s before it started: %s", action, text)
		}
	}
	if n := len(w.gate.Jobs.List("")); n != 0 {
		t.Errorf("%d jobs run before the answer", n)
	}
	p.says(t, allow)
	if text := w.poll(t, id); !strings.Contains(text, "one\n") || !strings.Contains(text, r.Folder) || !strings.Contains(text, "code 0") {
		t.Errorf("poll: %s", text)
	}
	if n := len(w.gate.Jobs.List("")); n != 1 {
		t.Errorf("it ran %d times", n)
	}
	w.gate.testOnlyAnswerBy = time.Millisecond
	if again := w.pending(t, args); again == id {
		t.Error("an answer was used twice")
	}
	p.sees(t)
}

// What was shown and what is there when it starts must be the same; every difference keeps it from running.
func TestAskedCommandChanges(t *testing.T) {
	for _, c := range []struct {
		name, command string
		change        func(t *testing.T, w *world)
		want          string // a hint's code
	}{
		{"nothing", "./run.sh", func(*testing.T, *world) {}, ""},
		{"the program's text", "./run.sh", func(_ *testing.T, w *world) { w.script("w/proj/run.sh", "touch hacked") }, "changed"},
		{"the program, by another of the same text", "./run.sh", func(_ *testing.T, w *world) {
			w.do([]string{"move", "w/proj/run.sh", "w/proj/old.sh"}) // which keeps its inode: a file system gives that of a removed file to the next
			w.script("w/proj/run.sh", "echo ran")
		}, "changed"},
		{"the program, by a link", "./run.sh", func(_ *testing.T, w *world) {
			w.script("w/proj/evil.sh", "touch hacked")
			w.do([]string{"rm", "w/proj/run.sh"})
			w.do([]string{"link", "w/proj/evil.sh", "w/proj/run.sh"})
		}, "changed"},
		{"the program is gone", "./run.sh", func(_ *testing.T, w *world) { w.do([]string{"rm", "w/proj/run.sh"}) }, "changed"},
		{"the script of an interpreter", "sh run.sh", func(_ *testing.T, w *world) { w.script("w/proj/run.sh", "touch hacked") }, "changed"},
		{"a script in a chain", "true && timeout 60 sh run.sh", func(_ *testing.T, w *world) { w.script("w/proj/run.sh", "touch hacked") }, "changed"},
		{"a program on the PATH", "mytool", func(_ *testing.T, w *world) { w.script("w/proj/bin/mytool", "touch hacked") }, "changed"},
		{"the folder, by another", "./run.sh", func(_ *testing.T, w *world) {
			w.do([]string{"move", "w/proj", "w/old"})
			w.script("w/proj/run.sh", "echo ran")
		}, "changed"},
		{"the folder, by a link", "./run.sh", func(_ *testing.T, w *world) {
			w.do([]string{"move", "w/proj", "w/old"})
			w.do([]string{"link", "w/old", "w/proj"})
		}, "changed"},
		{"the policy refuses now", "./run.sh", func(_ *testing.T, w *world) {
			w.put("h/policy/deny.json", []byte(`{"version": 1, "sandbox": {"mode": "deny"}}`))
			w.do([]string{"policy", "deny"})
		}, "denied"},
		{"the person has paused", "./run.sh", func(_ *testing.T, w *world) { w.gate.Paused = func() bool { return true } }, "paused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, p := waitingWorld(t)
			w.script("w/proj/run.sh", "echo ran")
			w.script("w/proj/bin/mytool", "echo ran")
			id := w.pending(t, fmt.Sprintf(`{"command": %q, "workdir": "proj", "ask": "always", "env": {"PATH": %q}}`, c.command, w.path("w/proj/bin")))
			p.sees(t)
			c.change(t, w)
			p.says(t, allow)
			settle(t, w, id)
			if paused := w.gate.Paused(); paused {
				w.gate.Paused = func() bool { return false }
			}
			text := w.poll(t, id)
			if c.want == "" && !strings.Contains(text, "ran\n") || c.want != "" && !strings.Contains(text, "["+c.want+"]") {
				t.Errorf("got %s", text)
			}
			if ran := len(w.gate.Jobs.List("")); (ran > 0) != (c.want == "") {
				t.Errorf("%d jobs ran", ran)
			}
			if _, err := os.Stat(filepath.Join(w.gate.Workspace, "proj", "hacked")); err == nil {
				t.Error("what was never shown ran")
			}
		})
	}
}

// settle waits until it is known what becomes of a question.
func settle(t *testing.T, w *world, id string) {
	t.Helper()
	w.gate.mu.Lock()
	a := w.gate.asked[id]
	w.gate.mu.Unlock()
	within(t, a.settled, "the question isn't settled")
}

// script makes a shell script that can be run.
func (w *world) script(name, text string) {
	w.put(name, []byte("#!/bin/sh\n"+text+"\n"))
	w.do([]string{"program", name})
}

// The attack table: what must not start a command that the person was asked about.
func TestAskedCommandAttacks(t *testing.T) {
	const args = `{"command": "echo one", "ask": "always"}`
	other := func(r approval.Request) approval.Request {
		r.Command = &approval.Command{Text: "x", Runs: "x"}
		return r
	}
	for _, c := range []struct {
		name   string
		answer func(approval.Request) approval.Decision
	}{
		{"refused", refuse},
		{"the zero decision", func(approval.Request) approval.Decision { return approval.Decision{} }},
		{"forged: allowed, bound to nothing", func(approval.Request) approval.Decision {
			return approval.Decision{Verdict: approval.Allowed, Surface: "dialog"}
		}},
		{"forged: allowed, by the model's words", func(approval.Request) approval.Decision { return approval.Refuse(approval.Allowed, "dialog", "yes") }},
		{"an answer to another command", func(r approval.Request) approval.Decision { return approval.Allow(other(r), "dialog") }},
		{"an answer to another session", func(r approval.Request) approval.Decision { r.Session = "B"; return approval.Allow(r, "dialog") }},
		{"an answer to another client", func(r approval.Request) approval.Decision {
			r.Who.ID = "http:other"
			return approval.Allow(r, "dialog")
		}},
		{"an answer to another folder", func(r approval.Request) approval.Decision {
			r.FolderID = grant.ID{}
			return approval.Allow(r, "dialog")
		}},
		{"an answer to another kind", func(r approval.Request) approval.Decision {
			r.Kind = approval.Network
			return approval.Allow(r, "dialog")
		}},
		{"an answer with another environment", func(r approval.Request) approval.Decision {
			q := *r.Command
			q.Env = []string{"X=1"}
			r.Command = &q
			return approval.Allow(r, "dialog")
		}},
		{"no answer", func(approval.Request) approval.Decision { return approval.Refuse(approval.NoAnswer, "dialog", "") }},
		{"could not show", func(approval.Request) approval.Decision { return approval.Refuse(approval.CouldNotShow, "", "") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, p := waitingWorld(t)
			id := w.pending(t, args)
			p.sees(t)
			p.says(t, c.answer)
			if text := w.poll(t, id); !strings.HasPrefix(text, "error ") {
				t.Errorf("poll: %s", text)
			}
			if n := len(w.gate.Jobs.List("")); n != 0 {
				t.Errorf("%d jobs ran", n)
			}
		})
	}
	t.Run("replay", func(t *testing.T) {
		w, p := waitingWorld(t)
		id := w.pending(t, args)
		var kept approval.Decision
		p.sees(t)
		p.says(t, func(r approval.Request) approval.Decision { kept = approval.Allow(r, "dialog"); return kept })
		w.poll(t, id)
		w.gate.testOnlyAnswerBy = time.Millisecond
		next := w.pending(t, `{"command": "echo two", "ask": "always"}`)
		p.sees(t)
		p.says(t, func(approval.Request) approval.Decision { return kept })
		if text := w.poll(t, next); !strings.HasPrefix(text, "error ") {
			t.Errorf("an answer was good for another command: %s", text)
		}
	})
	t.Run("impersonation", func(t *testing.T) {
		w, p := waitingWorld(t)
		id := w.pending(t, args)
		p.sees(t)
		w.now = "b"
		for _, action := range []string{"poll", "log", "kill", "clear", "remove"} {
			if text, failed := w.raw(fmt.Sprintf(`{"process": {"action": %q, "sessionId": %q}}`, action, id)); !failed || !strings.Contains(text, "[not_found]") {
				t.Errorf("another session: %s: %s", action, text)
			}
		}
		if text, _ := w.raw(`{"process": {"action": "list"}}`); strings.Contains(text, id) {
			t.Errorf("another session's list: %s", text)
		}
		if other := w.pending(t, args); other == id {
			t.Error("another session joined the question")
		}
		w.now = "a"
		p.says(t, allow)
		if text := w.poll(t, id); !strings.Contains(text, "one") {
			t.Errorf("its own session: %s", text)
		}
	})
	t.Run("flood", func(t *testing.T) {
		w, p := waitingWorld(t)
		for i := range approval.PerClient {
			w.pending(t, fmt.Sprintf(`{"command": "echo %d", "ask": "always"}`, i))
			w.waiting(t, i+1)
		}
		w.gate.testOnlyAnswerBy = ages
		if text, failed := w.raw(`{"exec": {"command": "echo more", "ask": "always"}}`); !failed || !strings.Contains(text, "too many questions") {
			t.Errorf("one question more: %s", text)
		}
		if n := len(w.gate.Queue.Waiting()); n != approval.PerClient {
			t.Errorf("%d questions wait", n)
		}
		if p.sees(t); len(p.shown) != 0 {
			t.Error("more than one question is on the screen")
		}
	})
	t.Run("the session ends while it is shown", func(t *testing.T) {
		w, p := waitingWorld(t)
		id := w.pending(t, args)
		p.sees(t)
		w.gate.mu.Lock()
		a := w.gate.asked[id]
		w.gate.mu.Unlock()
		w.sessions.EndAll()
		<-a.settled
		if a.job != nil || a.err == nil {
			t.Error("a command of a session that has ended started")
		}
	})
	t.Run("withdrawn by its client", func(t *testing.T) {
		w, p := waitingWorld(t)
		id := w.pending(t, args)
		p.sees(t)
		if text, failed := w.raw(fmt.Sprintf(`{"process": {"action": "kill", "sessionId": %q}}`, id)); failed || !strings.Contains(text, "does not run") {
			t.Errorf("kill: %s", text)
		}
		w.waiting(t, 0)
		if len(w.gate.Jobs.List("")) != 0 {
			t.Error("it ran")
		}
	})
	t.Run("race: many calls, one answer", func(t *testing.T) {
		w, p := waitingWorld(t)
		s := w.sessions.Connect(client.Identity{ID: "stdio:race", Name: "Race"}, client.Ask)
		ask := func() *askedCommand {
			c := &Call{ID: "c", Session: s, Tool: execTool, Began: time.Now(), patience: time.Minute}
			x := &execution{in: ExecInput{Command: "echo one", Ask: ptr("always")}, dir: w.gate.Workspace, shell: "/bin/bash"}
			room, err := w.gate.room(s)
			if err == nil {
				err = x.judge(w.gate, room)
			}
			if err != nil {
				t.Error(err)
				return nil
			}
			a, _, err := w.gate.putToPerson(c, x)
			if err != nil {
				t.Error(err)
			}
			return a
		}
		var calls sync.WaitGroup
		got := make([]*askedCommand, 20)
		for i := range got {
			calls.Go(func() { got[i] = ask() })
		}
		calls.Wait()
		p.sees(t)
		p.says(t, allow)
		for _, a := range got {
			if a != got[0] {
				t.Fatal("more than one question")
			}
		}
		within(t, got[0].settled, "the question isn't settled")
		if n := len(w.gate.Jobs.List("")); got[0].err != nil || n != 1 {
			t.Errorf("%d jobs ran: %v", n, got[0].err)
		}
	})
}

// waiting waits until n questions do.
func (w *world) waiting(t *testing.T, n int) {
	t.Helper()
	for len(w.gate.Queue.Waiting()) != n {
		within(t, w.queued, "other questions wait")
	}
}

func ptr[T any](v T) *T { return &v }

// A client that goes away takes its question along, unless it was told to come back.
func TestAskedCommandClientGone(t *testing.T) {
	w, p := waitingWorld(t)
	w.gate.testOnlyAnswerBy = ages
	ctx, cancel := context.WithCancel(t.Context())
	c, ended := w.connect(), make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = c.CallTool(ctx, &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"command": "echo one", "ask": "always"}})
	}()
	p.sees(t)
	cancel()
	within(t, ended, "the call goes on")
	w.waiting(t, 0)
	w.gate.Jobs.Close(job.Stopped)
	if n := len(w.gate.Jobs.List("")); n != 0 {
		t.Errorf("%d jobs ran", n)
	}
}

// A program that was swapped for a pipe after it was found is refused: it doesn't keep the question waiting.
func TestFileHashOfPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o700); err != nil {
		t.Fatal(err)
	}
	if sum, err := fileHash(pipe); err == nil {
		t.Errorf("a pipe has the hash %q", sum)
	}
}

// Without process a client couldn't follow a command, so it is waited for until it ends, whatever the call says and clients wait.
func TestExecWithoutProcess(t *testing.T) {
	w, p := waitingWorld(t)
	w.gate.Switches = grant.OpenSwitches(w.gate.Home.State, nil, true)
	for _, on := range []bool{true, false} {
		if err := w.gate.Switches.Set("stdio:aask", "process", on); err != nil {
			t.Fatal(err)
		}
		for _, how := range []string{`"background": true`, `"yieldMs": 10`, `"timeoutSeconds": 60`} {
			first := "sleep 0.1" // it is waited for
			if on {
				first = "sleep 300" // it isn't, however slow the machine
			}
			text, failed := w.raw(`{"exec": {"command": "` + first + `; echo ended", ` + how + `}}`)
			if waits := strings.HasSuffix(text, "ended"); failed || waits == on || strings.Contains(text, "runs to its end") != (!on && !strings.Contains(how, "timeout")) {
				t.Errorf("process on: %v, %s: %s", on, how, text)
			}
		}
	}
	if n := w.gate.runningExec(w.sessions.Live()[0].ID); n != 3 {
		t.Errorf("%d run on", n)
	}
	args := `{"command": "echo asked", "ask": "always"}`
	w.pending(t, args)
	p.sees(t)
	if text, _ := w.raw(`{"exec": ` + args + `}`); !strings.Contains(text, "same call again") || strings.Contains(text, "process, action") {
		t.Errorf("it waits: %s", text)
	}
	p.says(t, allow)
	w.gate.testOnlyAnswerBy = ages
	if text, failed := w.raw(`{"exec": ` + args + `}`); failed || text != "asked" {
		t.Errorf("it was allowed: %s", text)
	}
}
