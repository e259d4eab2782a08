package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"handrail/core"
	"handrail/core/program"
	"handrail/core/server"
)

// bundleID is the app's, as in FyneApp.toml.
const bundleID = "app.handrail"

type stdioCommand struct {
	State string `help:"Folder of Handrail's own files." type:"path" placeholder:"DIR"`
}

// Run joins standard input and output to the running app, which it has started if it isn't there.
func (c *stdioCommand) Run() error {
	p := places{State: c.State}
	if err := p.fill(); err != nil {
		return err
	}
	place, err := program.Find()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	a := server.App{BundleID: bundleID, Executable: place.Executable}
	if c.State != "" {
		a.Args = []string{"--state", p.State}
	}
	return server.Bridge(ctx, core.Socket(p.State), a.Start, os.Stdin, os.Stdout)
}
