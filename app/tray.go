package app

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"fyne.io/systray"

	"handrail/assets"
	"handrail/core/approval"
	"handrail/core/client"
	"handrail/core/grant"
	"handrail/core/program"
	"handrail/core/release"
)

// Status is what the menu shows of the core. Its texts may be anyone's: the menu escapes them.
type Status struct {
	// Address is where assistants reach Handrail over HTTP, "" when they don't.
	Address string
	// Home is the person's home folder, for showing paths short.
	Home string
	// Paused says that everything is refused; PausedUntil when that ends by itself, zero if it doesn't.
	Paused      bool
	PausedUntil time.Time
	// Classic says that commands run without a boundary.
	Classic bool
	// Running counts calls and jobs that run; Jobs are those that can be stopped, the oldest first. Waiting are the questions that
	// wait for the person, the one on the screen first.
	Running int
	Jobs    []Job
	Waiting []approval.Request
	// Place is where the program stands: the menu says so when it can't stay there.
	Place program.Verdict
	// Update is what is known of newer versions, and Download the page where people get them.
	Update   release.Status
	Download string
	// Searches says that the person has chosen folders for the search index, Searched how many files it holds, and Reading that
	// it isn't complete yet.
	Searches, Reading bool
	Searched          int64
	// Recent holds the last activities, the newest first; the menu shows up to [RecentShown] of them.
	Recent []Activity
	// Assistants are those that are known, and Xcode says that there may be Apple's developer tools for them here; Folders were granted to them; Later are files that were changed and that something else runs
	// later, the newest first.
	Assistants []Assistant
	Xcode      bool
	Folders    []Folder
	Later      []Later
	// Undo is what *Undo last change* would put back; nil when there is nothing.
	Undo *Undoable
}

// Job is a command that runs.
type Job struct {
	ID, Client, Text string
	Since            time.Time
}

// Assistant is a client that is connected, or of which something is kept, by the ID of its credential.
type Assistant struct {
	ID, Name string
	Level    client.Level
	Tools    []string
	Reach    []grant.Reached
	// Held is what the person has set for it, and Waiting what of it waits for their click.
	Held    grant.Held
	Waiting []grant.Wish
	// Away says that it isn't connected now.
	Away bool
}

// Folder is a folder that a client was granted.
type Folder struct {
	ClientID, Client, Path string
	Right                  grant.Right
}

// Later is a file that something else runs later.
type Later struct {
	Path, Client string
	At           time.Time
}

// Undoable is a change that can be undone.
type Undoable struct {
	ID, Client, Tool, Text string
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
	// Pause refuses everything and stops what runs, for that long, or if it is 0 until Resume.
	Pause(time.Duration)
	Resume()
	// Stop ends a job.
	Stop(job string)
	// The Revokes take back what a client was allowed: a folder, a reach, all of it; and RevokeAll that of all clients.
	RevokeFolder(client, folder string)
	RevokeReach(client string, r grant.Reached)
	RevokeClient(client string)
	RevokeAll()
	// AskSwitch turns a switch, or a tool by its name, off for a client at once; or asks the person, in a dialog, whether it is to be on.
	AskSwitch(client, name string, on bool) error
	// AskUndo asks the person, by a question that shows what comes back, whether a change is to be undone.
	AskUndo(change string) error
	// LookForUpdates turns the looking for newer versions on or off.
	LookForUpdates(on bool) error
	// Open opens a window, or brings it to the front.
	Open(window string) error
	// Quit ends the host, and returns when nothing of it runs any more.
	Quit()
}

// Action is what a click on an item does. The zero value does nothing.
type Action struct {
	Do Deed
	// Client, Job, Folder, Reach, Change, Switch, which may be a tool, and Path, which may be a page, are what it is done to, as far
	// as the deed is about one.
	Client, Job, Folder, Change, Path, Switch string
	Reach                                     grant.Reached
}

// Deed is a kind of action. The zero value does nothing.
type Deed uint8

const (
	Nothing Deed = iota
	PauseShortly
	PauseLong
	Resume
	StopJob
	RevokeFolder
	RevokeReach
	RevokeClient
	RevokeAll
	TurnOn // asks
	TurnOff
	UndoLast
	ShowFile
	OpenPage
	LookForUpdates
	IgnoreUpdates
	OpenActivity
	OpenConnect
	OpenSettings
	Quit
)

// PauseFor is how long *Pause for … minutes* is.
const PauseFor = 10 * time.Minute

// Tick says whether what an item is about is on. The zero value is for an item that is about nothing of the kind; at its place
// of the menu no other may come.
type Tick uint8

const (
	NoTick Tick = iota
	TickOff
	TickOn
)

func tick(on bool) Tick {
	if on {
		return TickOn
	}
	return TickOff
}

// Item is one item of the menu. An item without an action and without items of its own only says something.
type Item struct {
	Text      string
	Action    Action
	Items     []Item
	Separator bool
	// Tick is of an item that says whether something is on.
	Tick Tick
	// Hidden items are there but not shown: items are never taken away, since the libraries below can't do that while they
	// are being clicked. The menu itself always has the same items, and the lists below it only grow.
	Hidden bool
}

// RecentShown is how many activities the menu lists.
const RecentShown = 10

// JobsShown is how many jobs the menu lists, listed how many of the others: assistants, folders, files.
const (
	JobsShown = 5
	listed    = 20
)

// Menu gives the menu for a status. Times are shown in their own time zone.
func Menu(s Status, w Words) []Item {
	address := w.say("tray_no_address", nil)
	if s.Address != "" {
		address = w.say("tray_address", holes{"Address": Escape(s.Address)})
	}
	searched := Item{Hidden: true}
	if s.Searches {
		searched = Item{Text: w.count("tray_searched", s.Searched, nil)}
		if s.Reading {
			searched.Text = w.count("tray_reading", s.Searched, nil)
		}
	}
	menu := []Item{{Text: w.state(s)}, {Text: w.say("tray_classic", nil), Hidden: !s.Classic}, w.place(s.Place), w.update(s), {Text: address}, searched, {Separator: true}}
	menu = append(menu, w.jobs(s.Jobs)...)
	menu = append(menu,
		w.waiting(s.Waiting),
		Item{Text: w.say("tray_recent", nil), Items: list(w, s.Recent, RecentShown, "tray_nothing", w.activity)},
		Item{Text: w.say("tray_assistants", nil), Items: list(w, s.Assistants, listed, "tray_nobody", func(a Assistant) Item { return w.assistant(a, s.Xcode) })},
		Item{Text: w.say("tray_folders", nil), Items: list(w, s.Folders, listed, "tray_no_folders", func(f Folder) Item { return w.folder(f, s.Home) })},
		Item{Text: w.say("tray_later", nil), Items: list(w, s.Later, listed, "tray_no_later", func(l Later) Item {
			return Item{Text: w.say("tray_later_file", holes{"Time": l.At.Format("15:04"), "File": shortPath(l.Path, s.Home), "Who": short(l.Client)}), Action: Action{Do: ShowFile, Path: l.Path}}
		})},
		w.undo(s.Undo),
		Item{Separator: true},
		Item{Text: w.count("tray_pause_minutes", int64(PauseFor/time.Minute), nil), Action: Action{Do: PauseShortly}, Hidden: s.Paused},
		Item{Text: w.say("tray_pause", nil), Action: Action{Do: PauseLong}, Hidden: s.Paused},
		Item{Text: w.say("tray_resume", nil), Action: Action{Do: Resume}, Hidden: !s.Paused},
		Item{Text: w.say("tray_revoke", nil), Action: Action{Do: RevokeAll}},
		Item{Separator: true},
		Item{Text: w.say("tray_open_activity", nil), Action: Action{Do: OpenActivity}},
		Item{Text: w.say("tray_open_connect", nil), Action: Action{Do: OpenConnect}},
		Item{Text: w.say("tray_open_settings", nil), Action: Action{Do: OpenSettings}},
		Item{Separator: true},
		Item{Text: w.say("tray_quit", nil), Action: Action{Do: Quit}},
	)
	return menu
}

// place says what to do about a program that won't stay where it is.
func (w Words) place(v program.Verdict) Item {
	switch v {
	case program.Unknown, program.Stays:
		return Item{Hidden: true}
	case program.SecondCopy:
		return Item{Text: w.say("tray_second_copy", nil)}
	}
	return Item{Text: w.say("tray_move", nil)}
}

func (w Words) update(s Status) Item {
	page := Item{Text: w.say("tray_download", nil), Action: Action{Do: OpenPage, Path: s.Download}}
	ignore := Item{Text: w.say("tray_updates_off", nil), Action: Action{Do: IgnoreUpdates}}
	switch s.Update.State {
	case release.Current:
		return Item{Text: w.say("tray_newest", nil), Items: []Item{ignore}}
	case release.Available:
		return Item{Text: w.say("tray_update", holes{"Version": Escape(strings.TrimPrefix(s.Update.Version, "v"))}), Items: []Item{page, ignore}}
	case release.Stale:
		return Item{Text: w.say("tray_update_stale", holes{"Date": s.Update.Since.Format(time.DateOnly)}), Items: []Item{page, ignore}}
	case release.Off:
		return Item{Text: w.say("tray_update_off", nil), Items: []Item{{Text: w.say("tray_updates_on", nil), Action: Action{Do: LookForUpdates}}}}
	}
	return Item{Hidden: true}
}

// list gives an item for each of the first, says how many are left out, or that there are none.
func list[T any](w Words, all []T, most int, none string, item func(T) Item) (items []Item) {
	for _, x := range all[:min(len(all), most)] {
		items = append(items, item(x))
	}
	if left := len(all) - most; left > 0 && most != RecentShown {
		items = append(items, Item{Text: w.count("tray_more", int64(left), nil)})
	}
	if len(items) == 0 {
		items = []Item{{Text: w.say(none, nil)}}
	}
	return items
}

// jobs are always JobsShown+1 items.
func (w Words) jobs(jobs []Job) (items []Item) {
	for i := range JobsShown {
		if i >= len(jobs) {
			items = append(items, Item{Hidden: true})
			continue
		}
		j := jobs[i]
		items = append(items, Item{Text: w.say("tray_job", holes{"What": short(oneLine(j.Text)), "Who": short(j.Client)}), Items: []Item{
			{Text: w.say("tray_since", holes{"Time": j.Since.Format("15:04")})},
			{Text: w.say("tray_stop", nil), Action: Action{Do: StopJob, Job: j.ID}},
		}})
	}
	more := Item{Hidden: true}
	if left := len(jobs) - JobsShown; left > 0 {
		more = Item{Text: w.count("tray_more", int64(left), nil)}
	}
	return append(items, more)
}

// waiting lists the questions in short. They are answered on their own windows alone.
func (w Words) waiting(requests []approval.Request) Item {
	if len(requests) == 0 {
		return Item{Hidden: true}
	}
	return Item{Text: w.say("tray_questions", nil), Items: list(w, requests, listed, "tray_nothing", func(r approval.Request) Item {
		q, err := NewQuestion(r, w)
		if err != nil {
			return Item{Hidden: true}
		}
		var b strings.Builder
		for _, s := range q.Title {
			b.WriteString(s.Text)
		}
		return Item{Text: b.String()}
	})}
}

// assistant is always the level, the switches, the tools and the end of all, and then what it may reach.
func (w Words) assistant(a Assistant, xcode bool) Item {
	items := []Item{{Text: w.say("tray_level_"+a.Level.String(), nil)}}
	for _, name := range grant.AllSwitches() {
		item := w.tickable("tray_switch_"+string(name), a, grant.Wish{Client: a.ID, Switch: name}, a.Held.Has(name))
		item.Hidden = name == grant.Xcode && !xcode && !a.Held.Has(name)
		items = append(items, item)
	}
	tools := Item{Text: w.say("tray_tools", nil), Hidden: len(a.Tools) == 0}
	for _, name := range a.Tools {
		tools.Items = append(tools.Items, w.tickable("tray_tool", a, grant.Wish{Client: a.ID, Tool: name}, !a.Held.Without(name)))
	}
	items = append(items, tools, Item{Text: w.say("tray_take_all", nil), Action: Action{Do: RevokeClient, Client: a.ID}, Hidden: a.Away})
	for _, r := range a.Reach {
		items = append(items, Item{Text: w.reach(r), Items: []Item{
			{Text: w.say("tray_take_back", nil), Action: Action{Do: RevokeReach, Client: a.ID, Reach: r}},
		}})
	}
	name := short(a.Name)
	if a.Away {
		name = w.say("tray_away", holes{"Name": name})
	}
	return Item{Text: name, Items: items}
}

// tickable is an item that turns off what is on, and asks the person about what is off.
func (w Words) tickable(id string, a Assistant, wish grant.Wish, on bool) Item {
	item := Item{Text: w.say(id, holes{"Tool": short(wish.Tool)}), Tick: tick(on), Action: Action{Do: TurnOn, Client: a.ID, Switch: wish.Name()}}
	switch {
	case on:
		item.Action.Do = TurnOff
	case slices.Contains(a.Waiting, wish):
		item.Text = w.say("tray_waits", holes{"What": item.Text})
	default:
		item.Text = w.say("tray_asks", holes{"What": item.Text})
	}
	return item
}

func (w Words) reach(r grant.Reached) string {
	switch r.What {
	case grant.Network:
		return w.say("tray_reach_network", nil)
	case grant.Loopback:
		return w.say("tray_reach_loopback", nil)
	case grant.SignIn:
		return w.say("tray_reach_sign_in", holes{"Host": short(r.Host)})
	}
	return w.say("tray_reach_clipboard", nil)
}

func (w Words) folder(f Folder, home string) Item {
	right := "tray_right_look"
	switch f.Right {
	case grant.Copies:
		right = "tray_right_copies"
	case grant.Edit:
		right = "tray_right_edit"
	}
	return Item{Text: w.say("tray_folder", holes{"Folder": shortPath(f.Path, home), "Who": short(f.Client)}), Items: []Item{
		{Text: w.say(right, nil)},
		{Text: w.say("tray_take_back", nil), Action: Action{Do: RevokeFolder, Client: f.ClientID, Folder: f.Path}},
	}}
}

func (w Words) undo(u *Undoable) Item {
	if u == nil {
		return Item{Text: w.say("tray_no_undo", nil)}
	}
	who := w.say("undo_someone", nil)
	if u.Client != "" {
		who = short(u.Client)
	}
	return Item{Text: w.say("tray_undo", holes{"What": short(oneLine(u.Tool + " " + u.Text)), "Who": who}), Action: Action{Do: UndoLast, Change: u.ID}}
}

// oneLine takes line ends and blanks together: a menu has no lines.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// short is a text that isn't too long for a menu, escaped.
func short(s string) string {
	if head, left := cut(s, 40); left > 0 {
		return Escape(strings.TrimRight(head, " ")) + "…"
	}
	return Escape(s)
}

// shortPath is a path that isn't too long for a menu, escaped; it is cut at its beginning.
func shortPath(path, home string) string {
	if rest, ok := strings.CutPrefix(path, home+"/"); ok && home != "" {
		path = "~/" + rest
	}
	const most = 50
	parts := strings.SplitAfter(path, "/")
	n, from := 0, len(parts)
	for from > 0 {
		if n += len([]rune(parts[from-1])); n > most && from < len(parts) {
			break
		}
		from--
	}
	if from > 0 {
		return "…/" + short(strings.Join(parts[from:], ""))
	}
	return Escape(path)
}

func (w Words) state(s Status) string {
	switch {
	case s.Paused && !s.PausedUntil.IsZero():
		return w.say("tray_paused_until", holes{"Time": s.PausedUntil.Format("15:04")})
	case s.Paused:
		return w.say("tray_paused", nil)
	case len(s.Waiting) > 0:
		return w.count("tray_waiting", int64(len(s.Waiting)), nil)
	case s.Running > 0:
		return w.count("tray_working", int64(s.Running), nil)
	}
	return w.say("tray_idle", nil)
}

// activity says an activity in a line that isn't too long for a menu.
func (w Words) activity(a Activity) Item {
	values := holes{"Time": a.At.Format("15:04"), "Who": short(a.Client), "Tool": short(a.Tool), "Target": short(a.Target), "Outcome": ""}
	switch a.Outcome {
	case OutcomeDone, OutcomeRefused, OutcomeFailed, OutcomeRunning:
		values["Outcome"] = w.say("outcome_"+string(a.Outcome), nil)
	default:
		values["Outcome"] = w.say("outcome_unknown", nil)
	}
	if a.Target == "" {
		return Item{Text: w.say("tray_activity", values)}
	}
	return Item{Text: w.say("tray_activity_target", values)}
}

// icon gives the menu bar's icon for a status: the template, and the one on a tile.
func icon(s Status) (template, tile []byte) {
	switch {
	case len(s.Waiting) > 0 && !s.Paused:
		return assets.TrayWaiting, assets.TileWaiting
	case s.Running > 0 && !s.Paused:
		return assets.TrayWorking, assets.TileWorking
	}
	return assets.TrayIdle, assets.TileIdle
}

// ErrNoTray says that there is no graphical session, or on Linux no session bus, on which panels and icons meet.
var ErrNoTray = errors.New("this session has nowhere to show an icon")

// RunTray shows the icon and its menu, in the language that w gives whenever the status changes, until ctx ends or the person quits, and then ends host. It must be called on the
// main goroutine, and once a process. It returns ErrNoTray at once, with host untouched, where there can be no tray. Where
// no panel shows icons yet, it waits for one; a session bus that goes away takes the icon with it for good.
func RunTray(ctx context.Context, host Host, w func() Words) error {
	return runTray(ctx, host, w, settles)
}

// settles is how long an item that has become another one takes no click: it was aimed at what stood there before.
const settles = 700 * time.Millisecond

func runTray(ctx context.Context, host Host, w func() Words, settle time.Duration) error {
	if err := prepareTray(); err != nil {
		return err
	}
	quit := sync.OnceFunc(host.Quit)
	// After Quit, Run returns without calling its second function; at log-out macOS calls that and Run never returns.
	defer quit()
	defer context.AfterFunc(ctx, systray.Quit)()
	over := make(chan struct{})
	defer close(over)
	tray := &tray{host: host, words: w, settle: settle, quit: func() { quit(); systray.Quit() }}
	systray.Run(func() { tray.follow(over) }, quit)
	return ctx.Err()
}

// tray keeps the icon and the menu like the host's status.
type tray struct {
	host   Host
	words  func() Words
	settle time.Duration
	quit   func()

	mu   sync.Mutex // guards what is on the screen
	menu []*slot
	icon []byte
}

// slot is an item on the screen: once it is there it stays, and shows what stands at its place of the menu.
type slot struct {
	made  *systray.MenuItem // nil for a separator
	below []*slot
	shown Item
	// since is when it became something else than it was, zero if it always was that.
	since   time.Time
	clicked bool // clicks are waited for
	off     bool // it is disabled
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
	t.show(&t.menu, Menu(status, t.words()), nil)
}

// show makes slots like items. Those that are too many are hidden, missing ones made.
func (t *tray) show(slots *[]*slot, items []Item, parent *systray.MenuItem) {
	for i, item := range items {
		if i == len(*slots) {
			*slots = append(*slots, t.make(item, parent))
		}
		t.set((*slots)[i], item)
	}
	for _, s := range (*slots)[len(items):] {
		t.set(s, Item{Hidden: true})
	}
}

func (t *tray) make(item Item, parent *systray.MenuItem) *slot {
	s := &slot{shown: item}
	switch {
	case item.Separator:
		systray.AddSeparator()
		return s
	case item.Tick != NoTick: // only one that was made so can show it
		s.made = parent.AddSubMenuItemCheckbox(item.Text, "", item.Tick == TickOn)
	case parent == nil:
		s.made = systray.AddMenuItem(item.Text, "")
	default:
		s.made = parent.AddSubMenuItem(item.Text, "")
	}
	if item.Hidden {
		s.made.Hide()
	}
	return s
}

func (t *tray) set(s *slot, item Item) {
	if s.made == nil {
		return
	}
	old := s.becomes(item)
	if old.Text != item.Text && !item.Hidden {
		s.made.SetTitle(item.Text)
	}
	if off := item.Action == (Action{}) && len(item.Items) == 0; off != s.off && !item.Hidden {
		if s.off = off; off {
			s.made.Disable()
		} else {
			s.made.Enable()
		}
	}
	if on := item.Tick == TickOn; on != s.made.Checked() {
		if on {
			s.made.Check()
		} else {
			s.made.Uncheck()
		}
	}
	if old.Hidden != item.Hidden {
		if item.Hidden {
			s.made.Hide()
		} else {
			s.made.Show()
		}
	}
	if item.Action != (Action{}) && !s.clicked {
		s.clicked = true
		go func() {
			for range s.made.ClickedCh {
				t.click(s)
			}
		}()
	}
	t.show(&s.below, item.Items, s.made)
}

// becomes notes what a slot shows from now on, and gives what it showed.
func (s *slot) becomes(item Item) (old Item) {
	if old = s.shown; old.Action != item.Action {
		s.since = time.Now()
	}
	s.shown = item
	return old
}

// aimed gives what a click on a slot was meant for: what it shows, unless it has only just become that.
func (t *tray) aimed(s *slot) Action {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.shown.Hidden || !s.since.IsZero() && time.Since(s.since) < t.settle {
		return Action{}
	}
	return s.shown.Action
}

func (t *tray) click(s *slot) {
	switch a := t.aimed(s); a.Do {
	case PauseShortly:
		t.host.Pause(PauseFor)
	case PauseLong:
		t.host.Pause(0)
	case Resume:
		t.host.Resume()
	case StopJob:
		t.host.Stop(a.Job)
	case RevokeFolder:
		t.host.RevokeFolder(a.Client, a.Folder)
	case RevokeReach:
		t.host.RevokeReach(a.Client, a.Reach)
	case RevokeClient:
		t.host.RevokeClient(a.Client)
	case RevokeAll:
		t.host.RevokeAll()
	case TurnOn, TurnOff:
		_ = t.host.AskSwitch(a.Client, a.Switch, a.Do == TurnOn) // the menu says what holds
	case UndoLast:
		_ = t.host.AskUndo(a.Change) // the menu then offers the next one
	case ShowFile:
		_ = revealFile(a.Path)
	case OpenPage:
		_ = openPage(a.Path)
	case LookForUpdates, IgnoreUpdates:
		_ = t.host.LookForUpdates(a.Do == LookForUpdates) // the menu says what holds
	case OpenActivity:
		_ = t.host.Open("activity") // the log of the program says why not
	case OpenConnect:
		_ = t.host.Open("connect")
	case OpenSettings:
		_ = t.host.Open("settings")
	case Quit:
		t.quit()
	}
}
