package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"handrail/app"
	"handrail/core"
	"handrail/core/audit"
	"handrail/core/client"
)

type appCommand struct {
	hostFlags `embed:""`
}

// Run is the resident app: the core, served over HTTP and the socket, and its icon in the menu bar.
func (c *appCommand) Run() error {
	if facts := app.SurfaceFactsNow(); !facts.Display {
		return errors.New("there is no display, so no menu bar: start `handrail serve` instead")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
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
	served := make(chan error, 1)
	go func() {
		err := serve(ctx)
		cancel(err)
		served <- err
	}()
	r := &resident{Host: h, stop: func() { cancel(nil) }}
	err = app.Run(ctx, r, app.NewWords(app.SystemLanguages()...), os.Stderr)
	r.Quit()
	return errors.Join(err, <-served)
}

// resident shows the core to the menu.
type resident struct {
	*core.Host
	stop func()
	once sync.Once
}

var _ app.Host = (*resident)(nil)

// Quit ends all sessions and jobs, and the endpoint.
func (r *resident) Quit() {
	r.once.Do(func() {
		r.stop()
		if err := r.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "handrail:", err)
		}
	})
}

// Status is the core's, as the menu wants it.
func (r *resident) Status() app.Status {
	s := r.Host.Status()
	m := app.Status{Address: s.Address, Paused: s.Paused, Running: len(s.Running), Waiting: len(s.Waiting)}
	if f := s.Search; f != nil && len(f.Folders) > 0 {
		m.Searches, m.Searched, m.Reading = true, f.Files, f.Busy || f.Waiting > 0
	}
	for _, a := range s.Recent {
		m.Recent = append(m.Recent, activity(a))
	}
	return m
}

func activity(a audit.Record) app.Activity {
	outcome := app.OutcomeFailed
	switch a.Outcome {
	case "ok":
		outcome = app.OutcomeDone
	case "refused", "denied", "not_grantable", "no_answer", "could_not_show", "paused", "withdrawn":
		outcome = app.OutcomeRefused
	}
	return app.Activity{At: a.Time.Local(), Client: a.Client, Tool: a.Tool, Target: a.Text, Outcome: outcome}
}
