package app

import (
	"testing"
	"time"
)

func TestGenuine(t *testing.T) {
	click := EventFacts{LeftUp: true, DownOnAllow: true, UpOnAllow: true, StillAtDown: time.Second, StillAtUp: time.Second, Origin: Device}
	for _, c := range []struct {
		name   string
		change func(*EventFacts)
		want   bool
	}{
		{"a click", func(*EventFacts) {}, true},
		{"a click where events have no origin", func(e *EventFacts) { e.Origin = Unattributed }, true},
		{"a long time after", func(e *EventFacts) { e.StillAtDown, e.StillAtUp = time.Minute, time.Hour }, true},
		{"nothing", func(e *EventFacts) { *e = EventFacts{} }, false},
		{"a key, or another button", func(e *EventFacts) { e.LeftUp = false }, false},
		{"pressed elsewhere", func(e *EventFacts) { e.DownOnAllow = false }, false},
		{"released elsewhere", func(e *EventFacts) { e.UpOnAllow = false }, false},
		{"pressed too soon", func(e *EventFacts) { e.StillAtDown -= 1 }, false},
		{"the window moved under the press", func(e *EventFacts) { e.StillAtUp = time.Millisecond }, false},
		{"the window isn't to be seen", func(e *EventFacts) { e.StillAtDown, e.StillAtUp = 0, 0 }, false},
		{"posted by a program", func(e *EventFacts) { e.Origin = Posted }, false},
		{"of unknown origin", func(e *EventFacts) { e.Origin = Unknown }, false},
		{"of an origin from the future", func(e *EventFacts) { e.Origin = 200 }, false},
	} {
		e := click
		c.change(&e)
		if got := Genuine(e); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestQuartzOrigin(t *testing.T) {
	for _, c := range []struct {
		name       string
		has        bool
		pid, state int64
		want       Origin
	}{
		{"a mouse", true, 0, 1, Device},
		{"an accessibility press, without an event", false, 0, 1, Unknown},
		{"posted with a private source", true, 4711, -1, Posted},
		{"posted with the session's source", true, 4711, 0, Posted},
		{"posted, claiming to be a device", true, 4711, 1, Posted},
		{"no process, but no device either", true, 0, 0, Posted},
	} {
		if got := QuartzOrigin(c.has, c.pid, c.state); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestStill(t *testing.T) {
	var s Still
	start := time.Now()
	if s.For(start.Add(time.Hour)) != 0 {
		t.Error("a window that never appeared stands still")
	}
	s.Moved(start)
	if got := s.For(start.Add(2 * time.Second)); got != 2*time.Second {
		t.Errorf("still for %v", got)
	}
	s.Moved(start.Add(2 * time.Second))
	if got := s.For(start.Add(2 * time.Second)); got != 0 {
		t.Errorf("still for %v after a move", got)
	}
	s.Gone()
	if got := s.For(start.Add(time.Hour)); got != 0 {
		t.Errorf("still for %v while gone", got)
	}
}
