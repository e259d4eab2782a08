package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"

	"handrail/app"
	"handrail/core"
	"handrail/core/approval"
	"handrail/core/client"
	"handrail/core/server"
)

// hostFlags are what the app and serve have in common.
type hostFlags struct {
	places  `embed:""`
	Addr    string `help:"Loopback address for HTTP; empty: no HTTP." default:"${addr}"`
	Surface string `help:"How you are asked: ${enum}." enum:"auto,dialog,terminal,nonce,none" default:"auto"`
}

type serveCommand struct {
	hostFlags `embed:""`
	Stdio     bool   `help:"Serve one assistant on standard input and output, and nobody else."`
	Level     string `help:"What an assistant on the socket or on stdio may do at most: ${enum}." enum:"look,ask" default:"ask"`
}

// Run serves until it is interrupted or, on stdio, until the input ends.
func (c *serveCommand) Run() error {
	level, err := client.ParseLevel(c.Level)
	if err != nil {
		return err
	}
	if c.Stdio {
		c.Addr = ""
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	h, err := c.host(level)
	if err != nil {
		return err
	}
	defer h.Close()
	if c.Stdio {
		return h.ServeStdio(ctx, os.Stdin, os.Stdout)
	}
	serve, err := c.listen(h, os.Stderr)
	if err != nil {
		return err
	}
	return serve(ctx)
}

// host assembles the core with the surface that asks and the key of the activity log.
func (f *hostFlags) host(level client.Level) (*core.Host, error) {
	if err := f.fill(); err != nil {
		return nil, err
	}
	exe, folder, err := program()
	if err != nil {
		return nil, err
	}
	surface, err := app.Choose(f.Surface, app.SurfaceFactsNow())
	if err != nil {
		return nil, err
	}
	words := app.NewWords(app.SystemLanguages()...)
	var asker approval.Asker
	switch surface {
	case app.DialogSurface:
		asker = app.NewDialog(words)
	case app.TerminalSurface:
		asker = app.NewTerminal(words)
	}
	port := 0
	if f.Addr != "" {
		_, text, err := net.SplitHostPort(f.Addr)
		if err == nil {
			port, err = strconv.Atoi(text)
		}
		if err != nil {
			return nil, fmt.Errorf("reading --addr %q: it is an address and a port, such as %s", f.Addr, server.DefaultAddr)
		}
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	key, err := app.Secret(keyService, keyAccount(f.State))
	if err != nil && !errors.Is(err, app.ErrNoKeychain) {
		return nil, fmt.Errorf("getting the activity log's key: %w", err)
	}
	return core.New(core.Options{State: f.State, Work: f.work, Workspace: f.Workspace, Home: f.home, Shell: os.Getenv("SHELL"), Program: folder, Executable: exe,
		Asker: asker, Nonce: surface == app.NonceSurface, Surface: surface.String(), Key: key, Level: level, Port: port, Log: log})
}

// asked says how the person is asked, by surface.
var asked = map[string]string{"dialog": "in a window", "terminal": "in this terminal",
	"nonce": "in the chat, by a phrase, since there is no screen", "none": "never; what needs a yes is refused"}

// listen binds the endpoint and the socket, says where, and gives what serves both until ctx ends or one of them fails.
func (f *hostFlags) listen(h *core.Host, say io.Writer) (serve func(ctx context.Context) error, err error) {
	socket, err := h.ListenSocket()
	if err != nil {
		return nil, err
	}
	parts := []func(context.Context) error{socket}
	if f.Addr != "" {
		http, err := h.Listen(f.Addr)
		if err != nil {
			return nil, err
		}
		parts = append(parts, http)
	}
	s := h.Status()
	if s.Address != "" {
		fmt.Fprintf(say, "Assistants connect to %s (`handrail connect NAME --http` makes a token)\nor start: handrail stdio\n", s.Address)
	}
	fmt.Fprintf(say, "Workspace: %s\nYou are asked: %s\n", s.Workspace, asked[s.Surface])
	return func(ctx context.Context) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		var running sync.WaitGroup
		running.Go(func() { h.TryTools(ctx) })
		for _, part := range parts {
			running.Go(func() {
				if err := part(ctx); err != nil {
					cancel(err)
				}
			})
		}
		<-ctx.Done()
		running.Wait()
		if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}, nil
}
