package app

import (
	"context"
	"errors"
	"sync"

	"handrail/core/approval"
)

// Attended asks only while the person can see the screen. A question that comes while it is locked, or while another user's session is
// in front, waits, and is shown afterwards; one that is on the screen when it is locked is taken away and shown again. What came of it
// in between is no answer, unless it is a no. The person is told by a notification that a question waits, or that one couldn't be
// shown; it says nothing of what is asked, and answers nothing.
//
// Not covered: screens that are locked without the system's knowledge (on Linux by a program that doesn't tell logind).
//
// The zero Attended asks nobody; use [NewAttended].
type Attended struct {
	asker  approval.Asker
	words  func() Words
	screen func(context.Context) screen
	notify func(Notice) (withdraw func())

	mu   sync.Mutex
	last func() // takes the last notification back that is left
}

var _ approval.Asker = (*Attended)(nil)

// Notice is a notification. It has no buttons.
type Notice struct{ Title, Text string }

// screen says whether the person can see it.
type screen struct {
	// seen asks the system.
	seen func() bool
	// changed gets something whenever that may have changed. nil: never.
	changed <-chan struct{}
	close   func()
}

// NewAttended gives the asker that asks by another one, with notifications in the language of words.
func NewAttended(asker approval.Asker, words func() Words) *Attended {
	return &Attended{asker: asker, words: words, screen: openScreen, notify: notify}
}

const surfaceAttended = "dialog"

// errAway takes a question from a screen that nobody can see any more.
var errAway = errors.New("the screen was locked")

// Ask waits until the person can see the screen, and asks. See [approval.Asker].
func (a *Attended) Ask(ctx context.Context, r approval.Request) approval.Decision {
	if a == nil || a.asker == nil {
		return approval.Refuse(approval.CouldNotShow, surfaceAttended, "there is nobody to ask")
	}
	a.tell("")
	s := a.screen(ctx)
	defer s.close()
	for {
		if !s.seen() {
			a.tell("waits")
			for !s.seen() {
				select {
				case <-s.changed:
				case <-ctx.Done():
					a.tell("")
					return approval.Refuse(approval.Withdrawn, surfaceAttended, "withdrawn while the screen was locked")
				}
			}
			a.tell("")
		}
		d, away := a.show(ctx, s, r)
		switch {
		case d.Verdict == approval.Refused || ctx.Err() != nil:
			return d
		case away:
			continue
		case d.Verdict == approval.CouldNotShow:
			a.tell("unshown")
		}
		return d
	}
}

// show asks while the person can see the screen. away says that they couldn't to the end.
func (a *Attended) show(ctx context.Context, s screen, r approval.Request) (d approval.Decision, away bool) {
	asked, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		for {
			select {
			case <-s.changed:
				if !s.seen() {
					cancel(errAway)
					return
				}
			case <-asked.Done():
				return
			}
		}
	})
	d = a.asker.Ask(asked, r)
	cancel(nil)
	watch.Wait()
	return d, errors.Is(context.Cause(asked), errAway) || !s.seen()
}

// tell notifies the person of what there are words for, in place of what they were told before; "" only takes that back.
func (a *Attended) tell(what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last != nil {
		a.last()
		a.last = nil
	}
	if what != "" {
		w := a.words()
		a.last = a.notify(Notice{Title: w.say("notice_"+what, nil), Text: w.say("notice_"+what+"_text", nil)})
	}
}
