package app

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"fyne.io/systray"

	"handrail/assets"
)

// Status is what the menu shows of the core.
type Status struct {
	// Address is where assistants reach Handrail over HTTP, "" when they don't.
	Address string
	// Paused says that everything is refused.
	Paused bool
	// Running counts calls and jobs that run; Waiting counts questions that wait for the person.
	Running, Waiting int
	// Searches says that the person has chosen folders for the search index, Searched how many files it holds, and Reading that
	// it isn't complete yet.
	Searches, Reading bool
	Searched          int64
	// Recent holds the last activities, the newest first; the menu shows up to [RecentShown] of them.
	Recent []Activity
}

// Activity is one line of the menu's list. Its texts may be anyone's: the menu escapes them.
type Activity struct {
	At time.Time
	// Client, Tool and Target say who did what to what; Target may be empty.
	Client, Tool, Target string
	Outcome              Outcome
}

// Outcome is how an activity ended. The zero value is not known.
type Outcome string

const (
	OutcomeDone    Outcome = "done"
	OutcomeRefused Outcome = "refused" // by the person, a rule or the sandbox
	OutcomeFailed  Outcome = "failed"
	OutcomeRunning Outcome = "running"
)

// Host is the core as the menu sees it. Its methods may be called on any goroutine.
type Host interface {
	Status() Status
	// Subscribe has changed called, on any goroutine, after the status changed, until cancel is called.
	Subscribe(changed func()) (cancel func())
	// Pause refuses everything and stops what runs, until Resume.
	Pause()
	Resume()
	// RevokeAll takes back everything that was allowed.
	RevokeAll()
	// Quit ends the host, and returns when nothing of it runs any more.
	Quit()
}

// Action is what a click on an item does. The zero value does nothing.
type Action uint8

const (
	NoAction Action = iota
	Pause
	Resume
	RevokeAll
	Quit
)

// Item is one item of the menu. An item without an action and without items of its own only says something.
type Item struct {
	Text      string
	Action    Action
	Items     []Item
	Separator bool
	// Hidden items are there but not shown: the menu always has the same items, since the libraries below can't take one
	// away while it is being clicked.
	Hidden bool
}

// RecentShown is how many activities the menu lists.
const RecentShown = 10

// Menu gives the menu for a status. Times are shown in their own time zone.
func Menu(s Status, w Words) []Item {
	address := w.say("tray_no_address", nil)
	if s.Address != "" {
		address = w.say("tray_address", holes{"Address": Escape(s.Address)})
	}
	pause := Item{Text: w.say("tray_pause", nil), Action: Pause}
	if s.Paused {
		pause = Item{Text: w.say("tray_resume", nil), Action: Resume}
	}
	searched := Item{Hidden: true}
	if s.Searches {
		searched = Item{Text: w.count("tray_searched", s.Searched, nil)}
		if s.Reading {
			searched.Text = w.count("tray_reading", s.Searched, nil)
		}
	}
	recent := Item{Text: w.say("tray_recent", nil)}
	for i := range RecentShown {
		switch {
		case i < len(s.Recent):
			recent.Items = append(recent.Items, Item{Text: w.activity(s.Recent[i])})
		case i == 0:
			recent.Items = append(recent.Items, Item{Text: w.say("tray_nothing", nil)})
		default:
			recent.Items = append(recent.Items, Item{Hidden: true})
		}
	}
	return []Item{
		{Text: w.state(s)},
		{Text: address},
		searched,
		{Separator: true},
		recent,
		{Separator: true},
		pause,
		{Text: w.say("tray_revoke", nil), Action: RevokeAll},
		{Separator: true},
		{Text: w.say("tray_quit", nil), Action: Quit},
	}
}

func (w Words) state(s Status) string {
	switch {
	case s.Paused:
		return w.say("tray_paused", nil)
	case s.Waiting > 0:
		return w.count("tray_waiting", int64(s.Waiting), nil)
	case s.Running > 0:
		return w.count("tray_working", int64(s.Running), nil)
	}
	return w.say("tray_idle", nil)
}

// activity says an activity in a line that isn't too long for a menu.
func (w Words) activity(a Activity) string {
	short := func(s string) string {
		if head, left := cut(s, 40); left > 0 {
			return Escape(head) + "…"
		}
		return Escape(s)
	}
	values := holes{"Time": a.At.Format("15:04"), "Who": short(a.Client), "Tool": short(a.Tool), "Target": short(a.Target), "Outcome": ""}
	switch a.Outcome {
	case OutcomeDone, OutcomeRefused, OutcomeFailed, OutcomeRunning:
		values["Outcome"] = w.say("outcome_"+string(a.Outcome), nil)
	default:
		values["Outcome"] = w.say("outcome_unknown", nil)
	}
	if a.Target == "" {
		return w.say("tray_activity", values)
	}
	return w.say("tray_activity_target", values)
}

// icon gives the menu bar's icon for a status: the template, and the one on a tile.
func icon(s Status) (template, tile []byte) {
	switch {
	case s.Waiting > 0 && !s.Paused:
		return assets.TrayWaiting, assets.TileWaiting
	case s.Running > 0 && !s.Paused:
		return assets.TrayWorking, assets.TileWorking
	}
	return assets.TrayIdle, assets.TileIdle
}

// ErrNoTray says that there is no graphical session, or on Linux no session bus, on which panels and icons meet.
var ErrNoTray = errors.New("this session has nowhere to show an icon")

// RunTray shows the icon and its menu until ctx ends or the person quits, and then ends host. It must be called on the
// main goroutine, and once a process. It returns ErrNoTray at once, with host untouched, where there can be no tray. Where
// no panel shows icons yet, it waits for one; a session bus that goes away takes the icon with it for good.
func RunTray(ctx context.Context, host Host, w Words) error {
	if err := prepareTray(); err != nil {
		return err
	}
	quit := sync.OnceFunc(host.Quit)
	// After Quit, Run returns without calling its second function; at log-out macOS calls that and Run never returns.
	defer quit()
	defer context.AfterFunc(ctx, systray.Quit)()
	over := make(chan struct{})
	defer close(over)
	tray := &tray{host: host, words: w, quit: func() { quit(); systray.Quit() }}
	systray.Run(func() { tray.follow(over) }, quit)
	return ctx.Err()
}

// tray keeps the icon and the menu like the host's status.
type tray struct {
	host  Host
	words Words
	quit  func()

	mu    sync.Mutex // guards what is on the screen
	items []*systray.MenuItem
	shown []Item // flat, like items
	icon  []byte
}

// follow puts the icon up and starts to keep it like the status until over is closed.
func (t *tray) follow(over <-chan struct{}) {
	systray.SetTitle(trayTitle)
	systray.SetTooltip("Handrail")
	changes := make(chan struct{}, 1)
	cancel := t.host.Subscribe(func() {
		select {
		case changes <- struct{}{}:
		default: // one is waiting already
		}
	})
	t.update()
	go func() {
		defer cancel()
		for {
			select {
			case <-changes:
				t.update()
			case <-over:
				return
			}
		}
	}()
}

func (t *tray) update() {
	t.mu.Lock()
	defer t.mu.Unlock()
	status := t.host.Status()
	if template, tile := icon(status); !slices.Equal(tile, t.icon) {
		t.icon = tile
		systray.SetTemplateIcon(template, tile)
	}
	menu := Menu(status, t.words)
	if t.items == nil {
		t.add(menu, nil)
		return
	}
	for i, item := range flat(menu) {
		if old := t.shown[i]; old.Text == item.Text && old.Action == item.Action && old.Hidden == item.Hidden {
			continue
		}
		t.shown[i] = item
		t.items[i].SetTitle(item.Text)
		if item.Hidden {
			t.items[i].Hide()
		} else {
			t.items[i].Show()
		}
	}
}

// flat lists the items that aren't separators, each before its own items.
func flat(menu []Item) []Item {
	var list []Item
	for _, item := range menu {
		if !item.Separator {
			list = append(append(list, item), flat(item.Items)...)
		}
	}
	return list
}

func (t *tray) add(menu []Item, parent *systray.MenuItem) {
	for _, item := range menu {
		switch {
		case item.Separator:
			systray.AddSeparator()
			continue
		case parent == nil:
			t.items = append(t.items, systray.AddMenuItem(item.Text, ""))
		default:
			t.items = append(t.items, parent.AddSubMenuItem(item.Text, ""))
		}
		t.shown = append(t.shown, item)
		at := len(t.items) - 1
		made := t.items[at]
		if item.Hidden {
			made.Hide()
		}
		if item.Action == NoAction {
			if len(item.Items) == 0 {
				made.Disable()
			}
		} else {
			go func() {
				for range made.ClickedCh {
					t.click(at)
				}
			}()
		}
		t.add(item.Items, made)
	}
}

// click does what the item says now.
func (t *tray) click(at int) {
	t.mu.Lock()
	action := t.shown[at].Action
	t.mu.Unlock()
	switch action {
	case Pause:
		t.host.Pause()
	case Resume:
		t.host.Resume()
	case RevokeAll:
		t.host.RevokeAll()
	case Quit:
		t.quit()
	}
}
