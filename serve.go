package main

import (
	"cmp"
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
	"handrail/core/assistant"
	"handrail/core/client"
	"handrail/core/program"
	"handrail/core/server"
	"handrail/core/setting"
)

// hostFlags are what the app and serve have in common.
type hostFlags struct {
	places   `embed:""`
	Addr     string `help:"Loopback address for HTTP; empty: no HTTP." default:"${addr}"`
	PairAddr string `help:"Loopback address for assistants that connect through a page in the browser; empty: none can." default:"${pairaddr}"`
	Surface  string `help:"How you are asked: ${enum}. auto is a window, or where there is no screen the chat, by a phrase (nonce)." enum:"auto,dialog,terminal,nonce,none" default:"auto"`

	withoutHTTP bool // an address that is taken is no reason not to start
	settings    *setting.Store
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
		c.Addr, c.PairAddr = "", ""
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
	given, state := f.Workspace, f.State
	if err := f.fill(); err != nil {
		return nil, err
	}
	f.settings = openSettings(f.State)
	if given == "" { // else it is for this run alone
		f.Workspace = cmp.Or(f.settings.Get(setting.Workspace), f.Workspace)
	}
	place, err := program.Find()
	if err != nil {
		return nil, err
	}
	surface, err := app.Choose(f.Surface, app.SurfaceFactsNow())
	if err != nil {
		return nil, err
	}
	words := spoken(f.settings)
	var asker approval.Asker
	switch surface {
	case app.DialogSurface:
		asker = app.NewAttended(app.NewDialog(words()).In(manner(f.settings, words)), words)
	case app.TerminalSurface:
		asker = app.NewTerminal(words()).In(manner(f.settings, words))
	}
	var ports []int
	for _, a := range []struct{ option, addr, such string }{{"--addr", f.Addr, server.DefaultAddr}, {"--pair-addr", f.PairAddr, server.DefaultPairAddr}} {
		if a.addr == "" {
			continue
		}
		_, text, err := net.SplitHostPort(a.addr)
		port := 0
		if err == nil {
			port, err = strconv.Atoi(text)
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s %q: it is an address and a port, such as %s", a.option, a.addr, a.such)
		}
		if port != 0 {
			ports = append(ports, port)
		}
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	key, err := app.Secret(keyService, keyAccount(f.State))
	if err != nil && !errors.Is(err, app.ErrNoKeychain) {
		return nil, fmt.Errorf("getting the activity log's key: %w", err)
	}
	return core.New(core.Options{State: f.State, Work: f.work, Workspace: f.Workspace, Home: f.home, Shell: os.Getenv("SHELL"), Program: place.Folder, Executable: place.Executable,
		Bridge: func() (assistant.Command, error) { return bridge(state) },
		Asker:  asker, Nonce: surface == app.NonceSurface, Surface: surface.String(), Key: key, SwitchKey: switchKeychain(f.State), Level: level, Settings: f.settings, Ports: ports, PairAddr: f.PairAddr, Log: log})
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
		switch {
		case err == nil:
			parts = append(parts, http)
		case f.withoutHTTP && errors.Is(err, syscall.EADDRINUSE):
			fmt.Fprintf(say, "Another program, perhaps the Handrail of another user, has %s. Assistants can only start: handrail stdio\n", f.Addr)
		default:
			return nil, err
		}
	}
	if err := h.ServePaired(); f.withoutHTTP && errors.Is(err, syscall.EADDRINUSE) {
		fmt.Fprintf(say, "Another program has %s. Assistants that were connected through a page in the browser can't reach Handrail.\n", f.PairAddr)
	} else if err != nil {
		return nil, err
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
