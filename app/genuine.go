package app

import "time"

// EventFacts is what is known of the event that would make Allow act. The zero value is no click.
type EventFacts struct {
	// LeftUp says that the event is the release of the left mouse button. A key, a touch-screen gesture, and a press
	// made through an accessibility interface are not.
	LeftUp bool
	// DownOnAllow and UpOnAllow say that the button went down and came up on Allow, or on another button that allows.
	DownOnAllow, UpOnAllow bool
	// StillAtDown and StillAtUp are how long the window had stood still when the button went down and when it came up.
	StillAtDown, StillAtUp time.Duration
	// Origin is who made the event.
	Origin Origin
}

// Origin is who made an event, as far as the window system says. The zero value is not known, and not accepted.
type Origin uint8

const (
	Unknown Origin = iota
	Posted         // a program made it
	Device         // it came from a mouse or trackpad
	// Unattributed is every event of a window system that doesn't say who made it. X11 is one: each of its clients can
	// make events that look like a mouse's. Handrail accepts them there, having nothing better, and keeps other
	// programs off the X server as well as it can (the sandbox does for commands).
	Unattributed
)

// StandStill is how long the window must not have appeared, moved, changed its size, its focus or what covers it before a
// click counts: a click that was meant for what was there before must not allow anything.
const StandStill = time.Second

// Genuine reports whether an event is a person's click on Allow.
func Genuine(e EventFacts) bool {
	return e.LeftUp && e.DownOnAllow && e.UpOnAllow &&
		e.StillAtDown >= StandStill && e.StillAtUp >= StandStill &&
		(e.Origin == Device || e.Origin == Unattributed)
}

// QuartzOrigin is who made a macOS event, by three fields of its CGEvent (CGEventTypes.h): whether there is one at all,
// kCGEventSourceUnixProcessID, which the system sets to the process that posted it and which is 0 for a device, and
// kCGEventSourceStateID, which is 1 (kCGEventSourceStateHIDSystemState) for a device but can be chosen by who posts.
func QuartzOrigin(hasEvent bool, sourcePID, sourceState int64) Origin {
	switch {
	case !hasEvent:
		return Unknown
	case sourcePID != 0 || sourceState != 1:
		return Posted
	}
	return Device
}

// Still says how long a window has stood still. The zero value never has. It is for one goroutine.
type Still struct{ since time.Time }

// Moved notes that the window appeared or changed now.
func (s *Still) Moved(now time.Time) { s.since = now }

// Gone notes that the window isn't to be seen; it stands still again only after Moved.
func (s *Still) Gone() { s.since = time.Time{} }

// For is how long the window has stood still, 0 while it isn't to be seen.
func (s *Still) For(now time.Time) time.Duration {
	if s.since.IsZero() {
		return 0
	}
	return now.Sub(s.since)
}
