package approval

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

type script struct{ verdicts []Verdict }

func (s *script) Ask(_ context.Context, r Request) Decision {
	v := s.verdicts[0]
	s.verdicts = s.verdicts[1:]
	if v == Allowed {
		return Allow(r, "dialog")
	}
	return Refuse(v, "dialog", "")
}

// After three refusals within a minute a client's questions are held back, each time for longer; other clients' are not.
func TestFatigue(t *testing.T) {
	type step struct {
		after  time.Duration
		client string
		answer Verdict // what the person says if it is shown
		want   Verdict
	}
	no := step{0, "a", Refused, Refused}
	for name, steps := range map[string][]step{
		"three refusals":               {no, no, no, {0, "a", Allowed, HeldBack}, {59 * time.Second, "a", Allowed, HeldBack}, {2 * time.Second, "a", Allowed, Allowed}},
		"another client":               {no, no, no, {0, "b", Allowed, Allowed}, {0, "a", Allowed, HeldBack}},
		"spread over time":             {no, no, {61 * time.Second, "a", Refused, Refused}, {0, "a", Allowed, Allowed}},
		"an answer that allows":        {no, no, {0, "a", Allowed, Allowed}, no, no, {0, "a", Allowed, Allowed}},
		"no answer isn't a refusal":    {{0, "a", NoAnswer, NoAnswer}, {0, "a", CouldNotShow, CouldNotShow}, {0, "a", NoAnswer, NoAnswer}, {0, "a", Allowed, Allowed}},
		"longer the second time":       {no, no, no, {61 * time.Second, "a", Refused, Refused}, no, no, {61 * time.Second, "a", Allowed, HeldBack}, {60 * time.Second, "a", Allowed, Allowed}},
		"forgotten after an hour":      {no, no, no, {2 * time.Hour, "a", Refused, Refused}, no, no, {61 * time.Second, "a", Allowed, Allowed}},
		"held back isn't an extension": {no, no, no, {30 * time.Second, "a", Refused, HeldBack}, {0, "a", Refused, HeldBack}, {0, "a", Refused, HeldBack}, {31 * time.Second, "a", Allowed, Allowed}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				person := &script{}
				q := NewQueue(person, nil)
				for i, s := range steps {
					time.Sleep(s.after)
					r := request()
					r.Who.ID = s.client
					if s.want != HeldBack {
						person.verdicts = append(person.verdicts, s.answer)
					}
					a := q.Ask(t.Context(), nil, t.Context(), "key"+string(rune('0'+i)), r, time.Minute)
					if a.Decision.Verdict != s.want {
						t.Fatalf("question %d: %v (%s), want %v", i, a.Decision.Verdict, a.Decision.Detail, s.want)
					}
				}
			})
		})
	}
	var x temper
	for range 20 {
		for range Refusals {
			x.note(Refuse(Refused, "", ""), time.Unix(0, 0))
		}
	}
	if x.hold != HoldMost {
		t.Errorf("it grows to %v", x.hold)
	}
}

type person func(ctx context.Context, r Request) Decision

func (p person) Ask(ctx context.Context, r Request) Decision { return p(ctx, r) }

// After questions were held back the person is offered not to be asked for ten minutes, and what they say counts for that client.
func TestQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := Refuse(Refused, "dialog", "")
		var shown []bool
		q := NewQueue(person(func(ctx context.Context, r Request) Decision {
			shown = append(shown, Insists(ctx))
			if answer.Verdict == Allowed {
				return Allow(r, "dialog")
			}
			return answer
		}), nil)
		n := 0
		ask := func(client string) Verdict {
			n++
			r := request()
			r.Who.ID = client
			a := q.Ask(t.Context(), nil, t.Context(), "key"+string(rune('0'+n)), r, time.Minute)
			return a.Decision.Verdict
		}
		expect := func(client string, want Verdict, offered ...bool) {
			t.Helper()
			shown = nil
			if got := ask(client); got != want || !slices.Equal(shown, offered) {
				t.Fatalf("question %d: %v, offered %v; want %v, %v", n, got, shown, want, offered)
			}
		}
		for range Refusals {
			expect("a", Refused, false)
		}
		expect("a", HeldBack)
		time.Sleep(HoldFirst)
		expect("b", Refused, false)
		answer = RefuseQuietly("dialog")
		expect("a", Refused, true)
		answer = Allow(Request{}, "dialog")
		expect("b", Allowed, false)
		time.Sleep(QuietFor - time.Second)
		expect("a", HeldBack)
		time.Sleep(time.Second)
		expect("a", Allowed, true)
		expect("a", Allowed, false)
	})
}
