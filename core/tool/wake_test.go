package tool

import (
	"context"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"handrail/core/job"
)

// A client that asked for messages is told when a job that was left running ends, once, and unless it ended the job itself.
func TestWake(t *testing.T) {
	w, notes := wakeWorld(t, "2025-11-25")
	//lint:ignore SA1019 the protocols that have sessions have nothing else
	if err := w.connect().SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "info"}); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct{ script, end, want string }{
		{"until [ -e go1 ]; do sleep 0.02; done; echo built", "go1", "info bash_bg completed (job-1, code 0): built"},
		{"until [ -e go2 ]; do sleep 0.02; done; printf '%0300d\\\\n\\\\ntwo' 7; exit 3", "go2", "warning bash_bg failed (job-2, code 3): " + fmt.Sprintf("%0176d", 7) + " two"},
		{"until [ -e go3 ]; do sleep 0.02; done; kill -9 $$", "go3", "warning bash_bg failed (job-3, signal SIGKILL)"},
		{"sleep 300", "", ""},
		{"until [ -e go5 ]; do sleep 0.02; done", "go5", "info bash_bg completed (job-5, code 0)"}, // nothing came of the one before
	} {
		w.play(`{"bash_bg": {"action": "start", "command": "` + c.script + `"}}`)
		if c.end == "" {
			w.play(fmt.Sprintf(`{"bash_bg": {"action": "kill", "job_id": "job-%d"}}`, i+1))
			continue
		}
		w.put("w/"+c.end, nil)
		if got := within(t, notes, "no message"); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	w.play(`{"bash_bg": {"action": "start", "command": "sleep 300"}}`)
	w.endSession(t)
	w.gate.Close()
	select {
	case got := <-notes:
		t.Errorf("the session has ended: %q", got)
	default:
	}
}

// One that didn't ask is told nothing, nor one whose protocol has no way to say it.
func TestNotWoken(t *testing.T) {
	for _, protocol := range []string{"2025-11-25", "2026-07-28"} {
		w, notes := wakeWorld(t, protocol)
		w.play(`{"bash_bg": {"action": "start", "command": "until [ -e go ]; do sleep 0.02; done; echo built"}}`)
		w.put("w/go", nil)
		w.play(`{"bash_bg": {"action": "status", "job_id": "job-1", "wait": 30}}`)
		w.gate.Close()
		w.play(`{"bash_bg": {"action": "list"}}`) // what was sent before has come before the answer
		select {
		case got := <-notes:
			t.Errorf("%s: %q", protocol, got)
		default:
		}
	}
}

// wakeWorld is a world whose client speaks a protocol and keeps the messages that it gets.
func wakeWorld(t *testing.T, protocol string) (*world, chan string) {
	w := newWorld(t, true)
	notes := make(chan string, 10)
	w.protocol, w.noted = protocol, func(_ context.Context, r *mcp.LoggingMessageRequest) {
		notes <- fmt.Sprintf("%s %v", r.Params.Level, r.Params.Data)
	}
	return w, notes
}

// endSession ends the session of the client that now calls, and its jobs, as the host does.
func (w *world) endSession(t *testing.T) {
	t.Helper()
	for _, s := range w.sessions.Live() {
		w.sessions.End(s.ID)
		w.gate.Jobs.EndSession(s.ID, job.Ended)
	}
}
