package approval

import "time"

// Who refuses again and again stops reading, and allows by mistake. So a client whose questions were refused Refusals times
// within RefusedWithin has its further ones held back, unseen, for HoldFirst; each time that this happens again the time doubles,
// up to HoldMost. An answer that allows, or an hour without a refusal, makes it forget.
const (
	Refusals      = 3
	RefusedWithin = time.Minute
	HoldFirst     = time.Minute
	HoldMost      = 30 * time.Minute
	forgetAfter   = time.Hour
)

// temper is how the person's last answers to one client went.
type temper struct {
	refused []time.Time // the last ones, the oldest first
	last    time.Time
	until   time.Time // questions are held back until then
	hold    time.Duration
}

// note takes up an answer. Only an answer of the person counts.
func (t *temper) note(v Verdict, now time.Time) {
	switch v {
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
	}
}

// held says how much longer questions are held back; 0 or less if they aren't.
func (t *temper) held(now time.Time) time.Duration {
	if t == nil {
		return 0
	}
	return t.until.Sub(now)
}
