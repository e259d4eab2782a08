package core

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"handrail/core/approval"
	"handrail/core/audit"
	"handrail/core/command"
)

// clicker is a person who answers when told, and tells what was shown.
type clicker struct {
	shown   chan approval.Request
	answers chan func(approval.Request) approval.Decision
}

func (p clicker) Ask(ctx context.Context, r approval.Request) approval.Decision {
	select {
	case p.shown <- r:
	case <-ctx.Done():
		return approval.Refuse(approval.Withdrawn, "dialog", "")
	}
	select {
	case answer := <-p.answers:
		return answer(r)
	case <-ctx.Done():
		return approval.Refuse(approval.Withdrawn, "dialog", "")
	}
}

// patience is how long a test waits for what must happen.
const patience = 3 * time.Minute

// within gives what comes, or is closed, before the test has waited for too long.
func within[T any](t *testing.T, from <-chan T, otherwise string) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(patience):
		t.Fatal(otherwise)
	}
	return v
}

// sees waits for the next question.
func (p clicker) sees(t *testing.T) approval.Request {
	t.Helper()
	return within(t, p.shown, "nothing is asked")
}

// says answers a question.
func (p clicker) says(t *testing.T, answer func(approval.Request) approval.Decision) {
	t.Helper()
	select {
	case p.answers <- answer:
	case <-time.After(patience):
		t.Fatal("no question takes an answer")
	}
}

const (
	narrowPolicy = `{"version": 1, "sandbox": {"mode": "ask"}}`
	widerPolicy  = `{"version": 1, "sandbox": {"mode": "ask"}, "allowlist": [{"pattern": "/usr/bin/git", "args": "status"}]}`
)

// policyWorld is a host whose person has agreed to a narrow policy, with a wider one in the file.
func policyWorld(t *testing.T, key []byte) (*Host, clicker, func(text string)) {
	t.Helper()
	o := options(t)
	person := clicker{make(chan approval.Request), make(chan func(approval.Request) approval.Decision)}
	o.Asker, o.Key = person, key
	if err := os.MkdirAll(o.State, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(command.PolicyFile(o.State), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(narrowPolicy)
	h := newHost(t, o)
	return h, person, write
}

func (h *Host) waits() []string {
	_, status := h.gate.Policy.Now()
	return status.Waiting
}

// answered waits until nobody is being asked about a policy, a switch or a setting any more. A wait for h.asking would race with a
// question that begins.
func answered(t *testing.T, h *Host) {
	t.Helper()
	for late := time.Now().Add(time.Minute); ; runtime.Gosched() {
		h.mu.Lock()
		asks := h.policy.asking || h.switching.asking || h.setting.asking
		h.mu.Unlock()
		if !asks {
			return
		}
		if time.Now().After(late) {
			t.Fatal("somebody is still being asked")
		}
	}
}

// settled waits for the decision number n of the log.
func settled(t *testing.T, h *Host, n int) audit.Record {
	t.Helper()
	late := time.After(time.Minute)
	for {
		told := make(chan struct{}, 1)
		cancel := h.Subscribe(func() {
			select {
			case told <- struct{}{}:
			default:
			}
		})
		list := h.audit.Recent(100, audit.Decision)
		if len(list) >= n {
			cancel()
			answered(t, h)
			return list[n-1]
		}
		select {
		case <-told:
		case <-late:
			t.Fatal("no decision")
		}
		cancel()
	}
}

// recordedFirst fails the test if something counts by the time that the decision about it is recorded.
func recordedFirst(t *testing.T, h *Host, counts func() bool) {
	t.Helper()
	var once sync.Once
	t.Cleanup(h.Subscribe(func() { // called within the recording
		text, err := os.ReadFile(filepath.Join(h.opts.State, "logs/agent_activity.jsonl"))
		if err != nil {
			t.Error(err)
		}
		if bytes.Contains(text, []byte(`"kind":"decision"`)) {
			once.Do(func() {
				if counts() {
					t.Error("it counts before it is recorded")
				}
			})
		}
	}))
}

// The policy file narrows by itself. What it allows more counts by the person's click alone, and for what they were shown.
func TestPolicyWidening(t *testing.T) {
	allow := func(r approval.Request) approval.Decision { return approval.Allow(r, "dialog") }
	for _, c := range []struct {
		name    string
		answer  func(r approval.Request, write func(string)) approval.Decision
		outcome string
		counts  bool
		// again says that the same file is asked about once more.
		again bool
	}{
		{"a click", func(r approval.Request, _ func(string)) approval.Decision { return allow(r) }, "allowed", true, false},
		{"refused", func(approval.Request, func(string)) approval.Decision {
			return approval.Refuse(approval.Refused, "dialog", "")
		}, "refused", false, false},
		{"unseen", func(approval.Request, func(string)) approval.Decision {
			return approval.Refuse(approval.CouldNotShow, "dialog", "")
		}, "could_not_show", false, true},
		{"no answer", func(approval.Request, func(string)) approval.Decision {
			return approval.Refuse(approval.NoAnswer, "dialog", "")
		}, "no_answer", false, true},
		{"forged", func(approval.Request, func(string)) approval.Decision {
			return approval.Decision{Verdict: approval.Allowed}
		}, "failed", false, true},
		{"an answer to less", func(r approval.Request, _ func(string)) approval.Decision {
			p := *r.Policy
			p.Wider = nil
			r.Policy = &p
			return allow(r)
		}, "failed", false, true},
		{"changed while it was shown", func(r approval.Request, write func(string)) approval.Decision {
			write(strings.Replace(widerPolicy, "status", "push", 1))
			return allow(r)
		}, "failed", false, true},
		{"changed without a word more", func(r approval.Request, write func(string)) approval.Decision {
			write(widerPolicy + "\n")
			return allow(r)
		}, "failed", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, person, write := policyWorld(t, []byte("key"))
			if h.AskPolicy(); len(h.waits()) != 0 {
				t.Fatalf("a narrowing waits: %q", h.waits())
			}
			write(widerPolicy)
			h.gate.PolicyWaits() // as a call of exec finds it
			r := person.sees(t)
			if r.Kind != approval.WidenPolicy || !slices.Equal(r.Policy.Wider, []string{"allows /usr/bin/git with arguments like status"}) || r.Who.ID != "" {
				t.Errorf("asked %+v %+v", r, r.Policy)
			}
			h.AskPolicy() // not twice at a time
			if len(h.waits()) == 0 {
				t.Error("it counts before the answer")
			}
			recordedFirst(t, h, func() bool { return len(h.waits()) == 0 })
			person.says(t, func(r approval.Request) approval.Decision { return c.answer(r, write) })
			if got := settled(t, h, 1); got.Outcome != c.outcome {
				t.Errorf("recorded as %q (%s), want %q", got.Outcome, got.Detail, c.outcome)
			}
			if counts := len(h.waits()) == 0; counts != c.counts {
				t.Errorf("it counts: %v; waiting %q", counts, h.waits())
			}
			h.mu.Lock()
			again := !h.policy.again.IsZero()
			h.mu.Unlock()
			if again != c.again {
				t.Errorf("asked again later: %v", again)
			}
			if c.name == "refused" { // until it says something else
				h.AskPolicy()
				write(strings.Replace(widerPolicy, "status", "status|diff", 1))
				h.AskPolicy()
				if r := person.sees(t); !strings.Contains(r.Policy.Wider[0], "diff") {
					t.Errorf("asked again about the same: %q", r.Policy.Wider)
				}
			}
		})
	}
}

// What can't be recorded doesn't count.
func TestPolicyUnrecorded(t *testing.T) {
	h, person, write := policyWorld(t, []byte("key"))
	write(widerPolicy)
	h.AskPolicy()
	person.sees(t)
	person.says(t, func(r approval.Request) approval.Decision {
		_ = h.audit.Close()
		return approval.Allow(r, "dialog")
	})
	answered(t, h)
	if len(h.waits()) == 0 {
		t.Error("it counts")
	}
}

// Nobody is asked about what couldn't count, or couldn't be shown.
func TestPolicyNotAsked(t *testing.T) {
	var many strings.Builder
	many.WriteString(`{"version": 1, "sandbox": {"mode": "ask"}, "allowlist": [{"pattern": "/usr/bin/git"}`)
	for range approval.MaxListed {
		many.WriteString(`, {"pattern": "/usr/bin/` + strings.Repeat("x", many.Len()%90+1) + `"}`)
	}
	many.WriteString("]}")
	for _, c := range []struct {
		name, text string
		key        []byte
	}{
		{"no keychain", widerPolicy, nil},
		{"malformed", `{"version": 1, "allowlist": [{"pattern": 7}]}`, []byte("key")},
		{"narrower", `{"version": 1, "sandbox": {"mode": "deny"}}`, []byte("key")},
		{"too much to show", strings.Replace(widerPolicy, "status", strings.Repeat("status|", 500)+"x", 1), []byte("key")},
		{"too many to show", many.String(), []byte("key")},
	} {
		h, person, write := policyWorld(t, c.key)
		h.waits()
		write(c.text)
		if c.name == "too much to show" {
			write(`{"version": 1, "sandbox": {"mode": "ask"}, "allowlist": [` + strings.Repeat(`{"pattern": "/usr/bin/git", "args": "`+strings.Repeat("status|", 500)+`x"},`, 4) + `{"pattern": "/usr/bin/git", "args": "` + strings.Repeat("a", 4000) + `"}, {"pattern": "/usr/bin/git", "args": "` + strings.Repeat("b", 4000) + `"}, {"pattern": "/usr/bin/git", "args": "` + strings.Repeat("c", 4000) + `"}, {"pattern": "/usr/bin/git", "args": "` + strings.Repeat("d", 4000) + `"}]}`)
		}
		h.AskPolicy()
		h.mu.Lock()
		asking := h.policy.asking
		h.mu.Unlock()
		if asking || len(person.shown) > 0 {
			t.Errorf("%s: asked", c.name)
		}
	}
}

// At the start the person is asked about what was changed while Handrail didn't run.
func TestPolicyAskedAtStart(t *testing.T) {
	h, person, write := policyWorld(t, []byte("key"))
	h.waits()
	o := h.opts
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	write(widerPolicy)
	o.Workspace = filepath.Clean(o.Workspace)
	next := newHost(t, o)
	person.sees(t)
	person.says(t, func(r approval.Request) approval.Decision { return approval.Allow(r, "dialog") })
	if got := settled(t, next, 1); got.Outcome != "allowed" || len(next.waits()) != 0 {
		t.Errorf("%+v, waiting %q", got, next.waits())
	}
}
