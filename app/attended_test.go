package app

import (
	"context"
	"sync"
	"testing"

	"handrail/core/approval"
)

// curtain is a screen that a test locks, and the notifications that are to be seen.
type curtain struct {
	mu      sync.Mutex
	locked  bool
	changed chan struct{}
	notices chan string // a title; "" when it is taken back
}

func newCurtain(locked bool) *curtain {
	return &curtain{locked: locked, changed: make(chan struct{}, 1), notices: make(chan string, 10)}
}

func (c *curtain) lock(locked bool) {
	c.mu.Lock()
	c.locked = locked
	c.mu.Unlock()
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

func (c *curtain) open(context.Context) screen {
	return screen{changed: c.changed, close: func() {}, seen: func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return !c.locked
	}}
}

func (c *curtain) attended(asker approval.Asker) *Attended {
	a := NewAttended(asker, NewWords("en").Fixed())
	a.screen = c.open
	a.notify = func(n Notice) func() {
		c.notices <- n.Title
		return func() { c.notices <- "" }
	}
	return a
}

// told is what has been notified since it was looked at last.
func (c *curtain) told() (list []string) {
	for {
		select {
		case n := <-c.notices:
			list = append(list, n)
		default:
			return list
		}
	}
}

func TestAttended(t *testing.T) {
	r := questions[0].request
	const waits, unshown = "Handrail waits for you", "A question couldn’t be shown"
	is := func(t *testing.T, got []string, want ...string) {
		t.Helper()
		if len(got) != len(want) {
			t.Errorf("%q, want %q", got, want)
			return
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%q, want %q", got, want)
			}
		}
	}
	t.Run("seen", func(t *testing.T) {
		c := newCurtain(false)
		d := c.attended(asks(func(context.Context, approval.Request) approval.Decision { return approval.Allow(r, "dialog") })).Ask(t.Context(), r)
		if d.Verdict != approval.Allowed || d.Covers(r) != nil {
			t.Errorf("%+v", d)
		}
		is(t, c.told())
	})
	t.Run("locked", func(t *testing.T) {
		c := newCurtain(true)
		answer := make(chan approval.Decision)
		go func() {
			answer <- c.attended(asks(func(context.Context, approval.Request) approval.Decision {
				if !c.open(t.Context()).seen() {
					t.Error("asked while it is locked")
				}
				return approval.Allow(r, "dialog")
			})).Ask(t.Context(), r)
		}()
		if n := <-c.notices; n != waits {
			t.Errorf("%q", n)
		}
		c.lock(true) // something else changed
		c.lock(false)
		if d := <-answer; d.Verdict != approval.Allowed {
			t.Errorf("%+v", d)
		}
		is(t, c.told(), "")
	})
	t.Run("withdrawn while it is locked", func(t *testing.T) {
		c := newCurtain(true)
		ctx, cancel := context.WithCancel(t.Context())
		answer := make(chan approval.Decision)
		go func() { answer <- c.attended(asks(nil)).Ask(ctx, r) }()
		<-c.notices
		cancel()
		if d := <-answer; d.Verdict != approval.Withdrawn {
			t.Errorf("%+v", d)
		}
		is(t, c.told(), "")
	})
	// What comes while nobody can see the screen is no answer, unless it is a no.
	for _, x := range []struct {
		name   string
		answer approval.Decision // to the first question, when the screen has been locked
		want   approval.Verdict
		times  int
	}{
		{"an answer while it is locked", approval.Allow(r, "dialog"), approval.NoAnswer, 2},
		{"taken away", approval.Refuse(approval.Withdrawn, "dialog", ""), approval.NoAnswer, 2},
		{"its time is over", approval.Refuse(approval.NoAnswer, "dialog", ""), approval.NoAnswer, 2},
		{"couldn't be shown", approval.Refuse(approval.CouldNotShow, "dialog", ""), approval.NoAnswer, 2},
		{"a no", approval.Refuse(approval.Refused, "dialog", ""), approval.Refused, 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := newCurtain(false)
			times := 0
			go func() {
				for n := range c.notices {
					if n == waits {
						c.lock(false)
					}
				}
			}()
			d := c.attended(asks(func(ctx context.Context, _ approval.Request) approval.Decision {
				if times++; times == 1 {
					c.lock(true)
					<-ctx.Done() // the dialog is taken away
					return x.answer
				}
				return approval.Refuse(approval.NoAnswer, "dialog", "")
			})).Ask(t.Context(), r)
			if d.Verdict != x.want || times != x.times {
				t.Errorf("%+v after %d questions", d, times)
			}
		})
	}
	t.Run("couldn't be shown", func(t *testing.T) {
		c := newCurtain(false)
		a := c.attended(asks(func(context.Context, approval.Request) approval.Decision {
			return approval.Refuse(approval.CouldNotShow, "dialog", "")
		}))
		a.Ask(t.Context(), r)
		is(t, c.told(), unshown)
		a.Ask(t.Context(), r) // the next question takes it back
		is(t, c.told(), "", unshown)
	})
	if d := (&Attended{}).Ask(t.Context(), r); d.Verdict != approval.CouldNotShow {
		t.Errorf("%+v", d)
	}
}

// What can't be taken back, and not checking it any more, is what the system's own check stands before.
func TestIrrevocable(t *testing.T) {
	want := map[approval.Kind]bool{approval.Outside: true, approval.Delete: true, approval.GitPush: true}
	for _, q := range questions {
		off := q.request.Setting != nil && q.request.Setting.Name == "presence"
		if got := irrevocable(q.request); got != (want[q.request.Kind] || off) {
			t.Errorf("%s: %v", q.name, got)
		}
	}
}
