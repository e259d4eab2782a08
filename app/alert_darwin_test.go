package app

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/progrium/darwinkit/dispatch"
	"github.com/progrium/darwinkit/macos/appkit"
	"github.com/progrium/darwinkit/macos/foundation"

	"handrail/core/approval"
)

// play shows the real panel, and does something to it once a click would count.
func play(do func(*panel)) func() {
	return func() {
		done := false // on the main thread only
		go func() {
			for range time.Tick(50 * time.Millisecond) {
				dispatch.MainQueue().DispatchAsync(func() {
					if !done && thePanel != nil && thePanel.shown && thePanel.allow.IsEnabled() {
						done = true
						do(thePanel)
					}
				})
			}
		}()
		fmt.Fprint(os.Stderr, ShowDialog(os.Stdin, os.Stdout))
		os.Exit(5)
	}
}

// press is what accessibility does to a button, and what a key that belongs to it does.
func press(b appkit.Button) { b.PerformClick(b) }

// post makes this program press and release the mouse on a button.
func post(p *panel, b appkit.Button) {
	frame := b.Frame() // in the content view, whose corner is the window's
	at := foundation.Point{X: frame.Origin.X + frame.Size.Width/2, Y: frame.Origin.Y + frame.Size.Height/2}
	for _, kind := range []appkit.EventType{appkit.EventTypeLeftMouseDown, appkit.EventTypeLeftMouseUp} {
		appkit.Application_SharedApplication().PostEventAtStart(appkit.Event_MouseEventWithTypeLocationModifierFlagsTimestampWindowNumberContextEventNumberClickCountPressure(
			kind, at, 0, foundation.ProcessInfo_ProcessInfo().SystemUptime(), p.window.WindowNumber(), nil, 0, 1, 1), false)
	}
}

// next does something when what was posted has been handled.
func next(do func()) { dispatch.MainQueue().DispatchAsync(do) }

// The refusal at the end shows that the panel was there all the while, and that what came before didn't count.
func init() {
	alerts = []fake{
		{"alert: Don't Allow", play(func(p *panel) { press(p.refuse) }), approval.Refused, "said no"},
		{"alert: a program presses Allow", play(func(p *panel) {
			for range 3 {
				press(p.allow)
			}
			next(func() { press(p.refuse) })
		}), approval.Refused, "said no"},
		{"alert: a program makes the mouse's events", play(func(p *panel) {
			post(p, p.allow)
			time.AfterFunc(time.Second, func() { next(func() { press(p.refuse) }) })
		}), approval.Refused, "said no"},
		{"alert: a program says it is a click", play(func(p *panel) {
			p.clicked(Allowed)
			p.clicked(Always)
			next(func() { press(p.refuse) })
		}), approval.Refused, "said no"},
		{"alert: it ends without an answer", play(func(p *panel) { os.Exit(0) }), approval.NoAnswer, "ended"},
	}
	if slices.ContainsFunc(alerts, func(f fake) bool { return f.name == os.Getenv(fakeDialog) }) {
		runtime.LockOSThread() // AppKit wants the main thread
	}
}

// TestAlert shows the native panel and has programs try to answer it.
func TestAlert(t *testing.T) {
	if !SurfaceFactsNow().Graphical {
		t.Fatal("the native panel needs a graphical session")
	}
	for _, f := range alerts {
		t.Run(strings.TrimPrefix(f.name, "alert: "), func(t *testing.T) {
			r := request(approval.EditFolder, nil)
			d := testDialog(t, f.name)
			d.shownWithin, d.visibleFor = 30*time.Second, 30*time.Second
			if got := d.Ask(t.Context(), r); got.Verdict != f.want || !strings.Contains(got.Detail, f.detail) || got.Covers(r) == nil {
				t.Errorf("%v (%s), want %v (%s)", got.Verdict, got.Detail, f.want, f.detail)
			}
		})
	}
}
