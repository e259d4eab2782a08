package tool

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"handrail/core/approval"
	"handrail/core/client"
	"handrail/core/grant"
	"handrail/core/hint"
)

// answers is a person to whom something happens while they are asked.
type answers func(approval.Request) approval.Decision

func (f answers) Ask(_ context.Context, r approval.Request) approval.Decision { return f(r) }

// An answer about a protected file is for one call: what another call would write there is another question.
func TestProtectedIsAskedForEachCall(t *testing.T) {
	w := newWorld(t, true)
	w.put("w/proj/a.txt", []byte("one\n"))
	started, waits := make(chan struct{}), make(chan struct{}, 10)
	questions := 0
	w.gate.Queue = approval.NewQueue(answers(func(r approval.Request) approval.Decision {
		if questions++; questions > 1 {
			return approval.Refuse(approval.Refused, "dialog", "")
		}
		<-started
		return approval.Allow(r, "dialog")
	}), func() { waits <- struct{}{} })
	w.connect()
	write := func(content string) (answer chan string) {
		answer = make(chan string, 1)
		go func() {
			answer <- w.play(fmt.Sprintf(`{"write_file": {"path": "proj/.mcp.json", "content": %q}}`, content))
		}()
		select {
		case <-waits:
		case text := <-answer:
			t.Fatalf("%s: no question of its own: %s", content, text)
		}
		return answer
	}
	first, second := write("{}"), write(`{"evil": 1}`)
	close(started)
	if text := within(t, first, "no answer"); strings.Contains(text, "error") {
		t.Errorf("the call that was allowed: %s", text)
	}
	if text := within(t, second, "no answer"); !strings.Contains(text, "[refused]") {
		t.Errorf("the call that was refused: %s", text)
	}
	if text := w.do([]string{"cat", "w/proj/.mcp.json"}); text != "{}\n" {
		t.Errorf("the file holds %q", text)
	}
	w.close()
}

// The question says that a folder will be made. One that another makes meanwhile is another folder, with who knows what
// in it.
func TestFolderAppearsWhileAsked(t *testing.T) {
	w := newWorld(t, true)
	w.gate.Queue = approval.NewQueue(answers(func(r approval.Request) approval.Decision {
		if r.Makes {
			w.put("w/new/private.txt", []byte("one\n"))
		}
		return approval.Allow(r, "dialog")
	}), nil)
	if text := w.play(`{"write_file": {"path": "new/a.txt", "content": "x"}}`); !strings.Contains(text, "[changed]") {
		t.Errorf("a folder that was not in the question: %s", text)
	}
	if text := w.play(`{"edit": {"path": "new/private.txt", "old_string": "one", "new_string": "two"}}`); strings.Contains(text, "error") {
		t.Errorf("asked again, for the folder as it is: %s", text)
	}
	w.close()
}

// A grant is on a folder, not on its path: one that stood there for a moment, while the call opened it, isn't granted.
func TestFolderSwappedForAMoment(t *testing.T) {
	w := newWorld(t, true)
	for _, f := range []string{"w/proj/a.txt", "w/other/a.txt", "h/docs/a.txt", "h/private/a.txt"} {
		w.put(f, []byte("one\n"))
	}
	s := w.sessions.Connect(client.Identity{ID: "stdio:x"}, client.Ask)
	give := func(folder string, right grant.Right) {
		w.gate.Grants.Add(s.ID, grant.Grant{Right: right, Folder: w.path(folder), ID: idOf(t, w.path(folder))})
	}
	give("w/proj", grant.Edit)
	give("h/docs", grant.Look)
	swap := func(a, b string) {
		for _, step := range [][2]string{{a, a + "-"}, {b, a}, {a + "-", b}} {
			if err := os.Rename(w.path(step[0]), w.path(step[1])); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		granted, other string
		kind           effectKind
		is, want       class
	}{
		{"w/proj", "w/other", write, writeHere, writeElse},
		{"h/docs", "h/private", read, readHere, readElse},
	} {
		for _, swapped := range []bool{false, true} {
			if swapped {
				swap(c.granted, c.other)
			}
			p, err := w.gate.locate(filepath.Join(w.path(c.granted), "a.txt"), w.gate.Workspace, false)
			if err != nil {
				t.Fatal(err)
			}
			want := c.is
			if swapped {
				swap(c.granted, c.other) // the granted folder is back when the call is judged
				want = c.want
			}
			if got, _, err := w.gate.classify(s, effect{kind: c.kind, place: p}); got != want || err != nil {
				t.Errorf("%s, swapped %v: %v, %v; want %v", c.granted, swapped, got, err, want)
			}
			p.close()
		}
	}
}

// A person who pauses while they are asked, and then allows, has paused.
func TestPausedWhileAsked(t *testing.T) {
	w := newWorld(t, true)
	w.put("w/proj/a.txt", []byte("one\n"))
	paused := false
	w.gate.Paused = func() bool { return paused }
	w.gate.Queue = approval.NewQueue(answers(func(r approval.Request) approval.Decision {
		paused = true
		return approval.Allow(r, "dialog")
	}), nil)
	if text := w.play(`{"edit": {"path": "proj/a.txt", "old_string": "one", "new_string": "two"}}`); !strings.Contains(text, "[paused]") {
		t.Errorf("%s", text)
	}
	if text := w.do([]string{"cat", "w/proj/a.txt"}); text != "one\n\n" {
		t.Errorf("the file was changed: %q", text)
	}
	w.close()
}

// When the log fails while a call acts, the answer doesn't say that nothing was done.
func TestResultCannotBeRecorded(t *testing.T) {
	w := newWorld(t, true)
	s := w.sessions.Connect(client.Identity{ID: "stdio:x"}, client.Ask)
	_, err := w.gate.pass(t.Context(), &Call{Session: s}, plan{run: func(context.Context) (answer, error) {
		return answer{}, w.gate.Audit.Close()
	}})
	if hint.Code(err) != "no_record" || strings.Contains(err.Error(), "nothing was done") {
		t.Errorf("%v", err)
	}
	ran := false
	_, err = w.gate.pass(t.Context(), &Call{Session: s}, plan{run: func(context.Context) (answer, error) {
		ran = true
		return answer{}, nil
	}})
	if hint.Code(err) != "no_record" || ran {
		t.Errorf("%v; ran: %v", err, ran)
	}
}

// A session has mostCalls calls under way at once; another one is told to wait, and nothing of it happens. Other sessions don't mind.
func TestTooManyCalls(t *testing.T) {
	w := newWorld(t, true)
	defer w.close()
	w.play(`{"list_files": {}}`)
	s := w.sessions.Live()[0]
	var leave []func()
	for range mostCalls {
		l, err := w.gate.enter(&Call{Session: s})
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, l)
	}
	if got := w.play(`{"write_file": {"path": "proj/a.txt", "content": "x"}}`); !strings.HasPrefix(got, "error [too_many_calls] the call was not made: 100 calls") {
		t.Errorf("one call more: %s", got)
	}
	if len(w.person.asked) > 0 {
		t.Error("the person was asked for it")
	}
	w.now = "b"
	if got := w.play(`{"list_files": {}}`); strings.HasPrefix(got, "error") {
		t.Errorf("another session: %s", got)
	}
	w.now = "a"
	leave[0]()
	if got := w.play(`{"list_files": {}}`); strings.HasPrefix(got, "error") {
		t.Errorf("after one has ended: %s", got)
	}
	for _, l := range leave[1:] {
		l()
	}
	if len(w.gate.calls) != 0 {
		t.Errorf("%v is kept", w.gate.calls)
	}
}

// Close waits for the calls under way, which may have something to put back, and no other begins.
func TestGateClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		leave, err := g.enter(&Call{})
		if err != nil {
			t.Fatal(err)
		}
		closed := make(chan struct{})
		go func() {
			g.Close()
			close(closed)
		}()
		synctest.Wait()
		select {
		case <-closed:
			t.Fatal("it didn't wait")
		default:
		}
		if _, err := g.enter(&Call{}); err == nil {
			t.Error("a call began")
		}
		leave()
		<-closed
	})
}
