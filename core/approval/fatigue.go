package approval

import (
	"context"
	"time"
)

// Who refuses again and again stops reading, and allows by mistake. So a client whose questions were refused Refusals times
// within RefusedWithin has its further ones held back, unseen, for HoldFirst; each time that this happens again the time doubles,
// up to HoldMost. An answer that allows, or an hour without a refusal, makes it forget.
const (
	Refusals      = 3
	RefusedWithin = time.Minute
	HoldFirst     = time.Minute
	HoldMost      = 30 * time.Minute
	forgetAfter   = time.Hour
	// QuietFor is how long a client's questions are held back when the person says so: the question after a hold offers that.
	QuietFor = 10 * time.Minute
)

// temper is how the person's last answers to one client went.
type temper struct {
	refused []time.Time // the last ones, the oldest first
	last    time.Time
	until   time.Time // questions are held back until then
	hold    time.Duration
}

type insisting struct{}

// Insists reports whether the person has refused several questions of the client who asks in ctx, so that an Asker should offer
// them not to be asked for QuietFor ([RefuseQuietly]).
func Insists(ctx context.Context) bool { return ctx.Value(insisting{}) != nil }

// Insisting gives the ctx of a question of such a client.
func Insisting(ctx context.Context) context.Context {
	return context.WithValue(ctx, insisting{}, true)
}

// insists says that questions were held back, and that this hasn't been forgotten.
func (t *temper) insists(now time.Time) bool {
	return t != nil && t.hold > 0 && now.Sub(t.last) <= forgetAfter
}

// note takes up an answer. Only an answer of the person counts.
func (t *temper) note(d Decision, now time.Time) {
	switch d.Verdict {
	case Allowed:
		*t = temper{}
	case Refused:
		if now.Sub(t.last) > forgetAfter {
			*t = temper{}
		}
		t.last = now
		t.refused = append(t.refused, now)
		if n := len(t.refused); n > Refusals {
			t.refused = t.refused[n-Refusals:]
		}
		if len(t.refused) == Refusals && now.Sub(t.refused[0]) <= RefusedWithin {
			t.hold = min(max(HoldFirst, 2*t.hold), HoldMost)
			t.until, t.refused = now.Add(t.hold), t.refused[:0]
		}
		if quiet := now.Add(QuietFor); d.Quiet && quiet.After(t.until) {
			t.until, t.refused = quiet, t.refused[:0]
		}
	}
}

// held says how much longer questions are held back; 0 or less if they aren't.
func (t *temper) held(now time.Time) time.Duration {
	if t == nil {
		return 0
	}
	return t.until.Sub(now)
}
