package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"

	"handrail/app"
	"handrail/core"
	"handrail/core/audit"
	"handrail/core/client"
	"handrail/core/program"
	"handrail/core/release"
	"handrail/core/server"
	"handrail/core/setting"
	"handrail/core/statefile"
)

type appCommand struct {
	hostFlags `embed:""`
}

// Run is the resident app: the core, served over HTTP and the socket, and its icon in the menu bar.
func (c *appCommand) Run() error {
	if facts := app.SurfaceFactsNow(); !facts.Display {
		return errors.New("there is no display, so no menu bar: start `handrail serve` instead")
	}
	where := c.places
	if err := where.fill(); err != nil {
		return err
	}
	if server.Show(core.Socket(where.State)) == nil {
		fmt.Fprintln(os.Stderr, "Handrail is running already; its window opens.")
		return nil
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c.withoutHTTP = true // nobody would see why it doesn't start
	h, err := c.host(client.Ask)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	serve, err := c.listen(h, os.Stderr)
	if err != nil {
		return errors.Join(err, h.Close())
	}
	news, err := updates(c.State)
	if err != nil {
		return errors.Join(err, h.Close())
	}
	place, err := program.Find()
	if err != nil {
		return errors.Join(err, h.Close())
	}
	words := spoken(c.settings)
	r := &resident{Host: h, news: news, place: place.Verdict, state: c.State, stop: func() { cancel(nil) }}
	r.windows = app.NewWindows(r, words, h.Home())
	h.StartedAgain(func() error { return r.Open("activity") })
	served := make(chan error, 1)
	go func() {
		err := serve(ctx)
		cancel(err)
		served <- err
	}()
	go news.Run(ctx, r.changed)
	if err := welcome(c.State, r.Open); err != nil {
		fmt.Fprintln(os.Stderr, "handrail:", err)
	}
	err = app.Run(ctx, r, words, os.Stderr)
	r.Quit()
	return errors.Join(err, <-served)
}

// welcome opens the window of the first start, once for a state folder.
func welcome(state string, open func(window string) error) error {
	if exists(welcomed(state)) || open("welcome") != nil { // Open has said why not
		return nil
	}
	return statefile.Replace(welcomed(state), nil)
}

// welcomed is the file that says so.
func welcomed(state string) string { return filepath.Join(state, "welcomed") }

// resident shows the core to the menu.
type resident struct {
	*core.Host
	news    *release.Updates
	place   program.Verdict
	state   string
	windows *app.Windows
	stop    func()
	once    sync.Once

	mu          sync.Mutex
	subscribers map[*func()]func()
}

var (
	_ app.Host       = (*resident)(nil)
	_ app.WindowHost = (*resident)(nil)
)

// Subscribe has changed called for the core's news and that of newer versions.
func (r *resident) Subscribe(changed func()) (cancel func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.subscribers == nil {
		r.subscribers = map[*func()]func(){}
	}
	r.subscribers[&changed] = changed
	over := r.Host.Subscribe(changed)
	return func() {
		over()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.subscribers, &changed)
	}
}

func (r *resident) changed() {
	r.mu.Lock()
	all := slices.Collect(maps.Values(r.subscribers))
	r.mu.Unlock()
	for _, changed := range all {
		changed()
	}
}

// LookForUpdates turns the looking for newer versions on or off.
func (r *resident) LookForUpdates(on bool) error { return r.news.Switch(on) }

// AskSwitch is the core's; the log says why not.
func (r *resident) AskSwitch(client, name string, on bool) error {
	err := r.Host.AskSwitch(client, name, on)
	if err != nil {
		fmt.Fprintln(os.Stderr, "handrail:", err)
	}
	return err
}

// Quit ends all sessions and jobs, and the endpoint.
func (r *resident) Quit() {
	r.once.Do(func() {
		r.windows.Close()
		r.stop()
		if err := r.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "handrail:", err)
		}
	})
}

// Open opens a window.
func (r *resident) Open(window string) error {
	err := r.windows.Open(window)
	if err != nil {
		fmt.Fprintln(os.Stderr, "handrail:", err)
	}
	return err
}

// Status is the core's, as the menu wants it.
func (r *resident) Status() app.Status {
	s := r.Host.Status()
	m := app.Status{Address: s.Address, Home: r.Home(), Paused: s.Paused, Running: len(s.Running), Waiting: s.Waiting,
		Xcode: runtime.GOOS == "darwin", Place: r.place, Update: r.news.Status(), Download: downloadPage}
	profile, _ := r.Setting(setting.Profile)
	m.Classic = profile == "classic"
	m.Update.Since = m.Update.Since.Local()
	if !s.PausedUntil.IsZero() {
		m.PausedUntil = s.PausedUntil.Local()
	}
	if f := s.Search; f != nil && len(f.Folders) > 0 {
		m.Searches, m.Searched, m.Reading = true, f.Files, f.Busy || f.Waiting > 0
	}
	for _, a := range s.Recent {
		m.Recent = append(m.Recent, activity(a))
	}
	for _, j := range s.Running {
		m.Jobs = append(m.Jobs, app.Job{ID: j.ID, Client: j.Client, Text: j.Text, Since: j.Since.Local()})
	}
	for _, c := range r.Known() {
		m.Assistants = append(m.Assistants, app.Assistant{ID: c.ID, Name: c.Name, Level: c.Level, Tools: c.Tools, Reach: c.Reach, Held: c.Held, Waiting: c.Waiting, Away: c.Sessions == 0})
	}
	for _, g := range s.Granted {
		m.Folders = append(m.Folders, app.Folder{ClientID: g.ClientID, Client: g.Client, Path: g.Folder, Right: g.Right})
	}
	for _, l := range s.RunsLater {
		m.Later = append(m.Later, app.Later{Path: l.Path, Client: l.Client, At: l.Time.Local()})
	}
	if c := s.LastChange; c != nil {
		m.Undo = &app.Undoable{ID: c.ID, Client: c.Client, Tool: c.Tool, Text: c.Text}
	}
	return m
}

func activity(a audit.Record) app.Activity {
	return app.Activity{At: a.Time.Local(), Client: a.Client, Tool: a.Tool, Target: a.Text, Outcome: app.OutcomeOf(a.Outcome)}
}
