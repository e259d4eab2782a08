package core

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"handrail/core/approval"
	"handrail/core/audit"
	"handrail/core/client"
	"handrail/core/grant"
	"handrail/core/hint"
)

// until waits until the host's status is as wanted; it is looked at again each time that it changes.
func until(t *testing.T, h *Host, what string, is func(Status) bool) Status {
	t.Helper()
	changed := make(chan struct{}, 1)
	defer h.Subscribe(func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})()
	late := time.After(60 * time.Second)
	for {
		if s := h.Status(); is(s) {
			return s
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("not seen: %s", what)
		}
	}
}

func TestStop(t *testing.T) {
	h := newHost(t, options(t))
	c, _ := joined(t, h)
	for range 2 {
		if text, failed := call(t, c, "bash_bg", map[string]any{"action": "start", "command": "sleep 600"}); failed {
			t.Fatal(text)
		}
	}
	s := h.Status()
	if len(s.Running) != 2 || s.Running[0].Client != "test" || !strings.Contains(s.Running[0].Text, "sleep 600") {
		t.Fatalf("%+v", s.Running)
	}
	h.Stop("job-99")
	h.Stop("")
	h.Stop(s.Running[0].ID)
	now := until(t, h, "one job less", func(s Status) bool { return len(s.Running) == 1 })
	if now.Running[0].ID != s.Running[1].ID {
		t.Errorf("%s runs", now.Running[0].ID)
	}
}

// What is taken back from a client is gone at once, for what runs too, and nothing else is.
func TestRevoke(t *testing.T) {
	o := options(t)
	h := newHost(t, o)
	c, _ := joined(t, h)
	other, _ := joined(t, h)
	for _, x := range []struct {
		folder, level string
	}{{"proj", "edit"}, {"kept", "edit"}, {"", "network"}} {
		args := map[string]any{"level": x.level}
		if x.folder != "" {
			args["folder"] = x.folder
		}
		if text, failed := call(t, c, "request_access", args); failed {
			t.Fatal(text)
		}
	}
	if text, failed := call(t, other, "request_access", map[string]any{"folder": "proj"}); failed {
		t.Fatal(text)
	}
	s := h.Status()
	proj, kept := filepath.Join(h.opts.Workspace, "proj"), filepath.Join(h.opts.Workspace, "kept")
	if len(s.Clients) != 1 || s.Clients[0].Sessions != 2 || s.Clients[0].Level != client.Ask || len(s.Clients[0].Tools) < 10 || len(s.Clients[0].Reach) != 1 {
		t.Fatalf("%+v", s.Clients)
	}
	if len(s.Granted) != 2 || s.Granted[0].Folder != kept || s.Granted[1].Folder != proj || s.Granted[1].Right != grant.Edit {
		t.Fatalf("%+v", s.Granted)
	}
	id := s.Clients[0].ID
	if text, failed := call(t, c, "bash_bg", map[string]any{"action": "start", "command": "sleep 600"}); failed {
		t.Fatal(text)
	}
	h.RevokeFolder(id, "/elsewhere")
	h.RevokeFolder("another", proj)
	h.RevokeReach("another", s.Clients[0].Reach[0])
	if n := len(h.Status().Running); n != 1 || len(h.Status().Granted) != 2 {
		t.Fatalf("%d jobs run", n)
	}
	h.RevokeFolder(id, proj)
	until(t, h, "the job stopped, the grant gone", func(s Status) bool {
		return len(s.Running) == 0 && len(s.Granted) == 1 && s.Granted[0].Folder == kept
	})
	for _, x := range []struct {
		command string
		denied  bool
	}{{"echo x > proj/x", true}, {"echo x > kept/x", false}} {
		if text, _ := call(t, c, "bash", map[string]any{"command": x.command}); strings.Contains(text, "denied") != x.denied {
			t.Errorf("%s: %s", x.command, text)
		}
	}
	if text, _ := call(t, other, "bash", map[string]any{"command": "echo x > proj/x"}); !strings.Contains(text, "denied") {
		t.Errorf("the client's other session: %s", text)
	}
	h.RevokeReach(id, grant.Reached{What: grant.Network})
	if s := h.Status(); len(s.Clients[0].Reach) != 0 || len(s.Granted) != 1 {
		t.Errorf("%+v %+v", s.Clients, s.Granted)
	}
	h.RevokeClient("another")
	if n := len(h.Status().Sessions); n != 2 {
		t.Fatalf("%d sessions", n)
	}
	before := h.Status().Sessions
	h.RevokeClient(id)
	for _, s := range before {
		if s.Context().Err() == nil {
			t.Error("a session lives")
		}
	}
	until(t, h, "no grant", func(s Status) bool { return len(s.Granted) == 0 })
	var notes []string
	for _, r := range h.audit.Recent(20, audit.Note) {
		if strings.HasPrefix(r.Text, "revoked") {
			notes = append(notes, r.Text+" "+r.Detail)
		}
	}
	if want := []string{"revoked a folder " + proj, "revoked a folder " + proj, "revoked network ", "revoked everything of a client " + id}; strings.Join(notes, "|") != strings.Join(want, "|") {
		t.Errorf("%q, want %q", notes, want)
	}
}

// person is one who answers when the test says so.
type person struct {
	asked  chan approval.Request
	answer chan func(approval.Request) approval.Decision
}

func (p person) Ask(_ context.Context, r approval.Request) approval.Decision {
	if r.Kind != approval.UndoChange {
		return approval.Allow(r, "dialog")
	}
	p.asked <- r
	return (<-p.answer)(r)
}

// The last change is undone by an answer to what was shown, and by nothing else.
func TestAskUndo(t *testing.T) {
	o := options(t)
	p := person{make(chan approval.Request), make(chan func(approval.Request) approval.Decision)}
	o.Asker = p
	h := newHost(t, o)
	<-h.Checked()
	c, _ := joined(t, h)
	file := filepath.Join(h.opts.Workspace, "proj", "a.txt")
	is := func(want string) {
		t.Helper()
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Fatalf("%q, %v; want %q", got, err, want)
		}
	}
	if s := h.Status(); s.LastChange != nil {
		t.Fatalf("%+v", s.LastChange)
	}
	for _, content := range []string{"one\n", "two\n"} {
		if text, failed := call(t, c, "write_file", map[string]any{"path": "proj/a.txt", "content": content, "overwrite": true}); failed {
			t.Fatal(text)
		}
	}
	last := h.Status().LastChange
	if last == nil || last.Client != "test" || last.Tool != "write_file" {
		t.Fatalf("%+v", last)
	}
	ask := func(id string, answer func(approval.Request) approval.Decision) approval.Request {
		t.Helper()
		if err := h.AskUndo(id); err != nil {
			t.Fatal(err)
		}
		r := within(t, p.asked, "nothing is asked")
		p.answer <- answer // whoever asked waits for it
		h.asking.Wait()
		return r
	}
	allow := func(r approval.Request) approval.Decision { return approval.Allow(r, "dialog") }
	r := ask(last.ID, func(approval.Request) approval.Decision { return approval.Refuse(approval.Refused, "dialog", "") })
	if u := r.Undo; u == nil || len(u.Old) != 1 || u.Old[0] != file || u.Client != "test" || !strings.Contains(u.Diff, "-two\n+one\n") || len(u.Left) != 0 {
		t.Fatalf("%+v", r.Undo)
	}
	is("two\n")
	for range 5 { // they are the person's own questions: however many are refused, the next one is asked
		ask(last.ID, func(approval.Request) approval.Decision { return approval.Refuse(approval.Refused, "dialog", "") })
	}
	ask(last.ID, func(r approval.Request) approval.Decision {
		if err := os.WriteFile(file, []byte("mine\n"), 0o644); err != nil {
			t.Error(err)
		}
		return approval.Allow(r, "dialog")
	})
	is("mine\n")
	if err := h.AskUndo(last.ID); hint.Code(err) != "stale" {
		t.Errorf("of what was changed since: %v", err)
	}
	if err := os.WriteFile(file, []byte("two\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	ask(last.ID, allow)
	is("one\n")
	first := h.Status().LastChange
	if first == nil || first.ID == last.ID || first.Tool != "write_file" {
		t.Fatalf("after an undo: %+v", first)
	}
	undid := h.audit.Recent(1, audit.Note)[0]
	if undid.Undid != last.ID || len(undid.Changes) != 1 {
		t.Fatalf("%+v", undid)
	}
	ask(undid.Changes[0], allow) // the undo
	is("two\n")
	if got := h.Status().LastChange; got == nil || got.ID != last.ID {
		t.Errorf("after the undo was undone: %+v", got)
	}
	for _, id := range []string{"", "no-such-change"} {
		if err := h.AskUndo(id); hint.Code(err) != "not_found" {
			t.Errorf("%q: %v", id, err)
		}
	}
	// Another start knows the changes too.
	h.Close()
	if err := h.AskUndo(last.ID); hint.Code(err) != "closed" {
		t.Errorf("after the end: %v", err)
	}
	h = newHost(t, o)
	<-h.Checked()
	if got := h.Status().LastChange; got == nil || got.ID != last.ID || got.Client != "test" {
		t.Errorf("after a new start: %+v", got)
	}
}

func TestAnswer(t *testing.T) {
	h := newHost(t, options(t))
	c, _ := joined(t, h)
	text, _ := call(t, c, "bash", map[string]any{"command": "printf 'some output'"})
	r := h.audit.Recent(1, audit.Result)[0]
	if got, ok := h.Answer(r.Call); !ok || got != text || text == "" {
		t.Errorf("%q, %v; the client got %q", got, ok, text)
	}
	for _, call := range []string{"", "other"} {
		if got, ok := h.Answer(call); ok || got != "" {
			t.Errorf("%q: %q", call, got)
		}
	}
	// What is held has a bound.
	a := new(answers)
	for i := range 1000 {
		a.add(string(rune(i)), strings.Repeat("ก", mostAnswer))
	}
	if a.bytes > mostAnswers || len(a.texts) != len(a.order) || len(a.order) > mostAnswers/mostAnswer || len(a.texts["\u0001"]) != 0 {
		t.Errorf("%d bytes, %d answers", a.bytes, len(a.order))
	}
	for range 100_000 {
		a.add(strings.Repeat("x", len(a.order)%50)+string(rune(len(a.order))), "")
	}
	if len(a.order) > mostAnswers/answerCost {
		t.Errorf("%d answers", len(a.order))
	}
}
