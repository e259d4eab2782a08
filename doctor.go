package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"handrail/app"
	"handrail/core"
	"handrail/core/grant"
	"handrail/core/program"
	"handrail/core/setting"
	"handrail/core/tool"
	"handrail/sandbox"
)

// keychainHint says what to install for one.
var keychainHint = map[string]string{"linux": "; install one that speaks Secret Service, such as gnome-keyring"}[runtime.GOOS]

type doctorCommand struct {
	places  `embed:""`
	Explain string   `help:"Say whether a command may do this (read, write, create, delete or attributes, and a path), by which rule, and what would open it." placeholder:"'write PATH'"`
	Granted []string `help:"With --explain: as if the session had an edit grant on this folder." type:"path" placeholder:"DIR"`
}

// Run says, a line each, what works here and what doesn't. It changes nothing but for a scratch folder.
func (c *doctorCommand) Run() error {
	if err := c.fill(); err != nil {
		return err
	}
	if c.Explain != "" {
		return c.explain()
	}
	bad := 0
	say := func(what string, err error, otherwise string) {
		if err != nil {
			bad++
			fmt.Printf("✗ %s: %v\n", what, err)
			return
		}
		fmt.Printf("✓ %s: %s\n", what, otherwise)
	}
	say("sandbox", c.canary(), "commands can be run")
	say("workspace", c.workspace(), c.Workspace)
	place, err := program.Find()
	if err == nil {
		err = place.Err()
	}
	say("program", err, place.Executable)
	surface, err := app.Choose("auto", app.SurfaceFactsNow())
	if err == nil && surface == app.DialogSurface {
		err = app.CanAsk()
	}
	if err == nil && surface == app.NonceSurface {
		fmt.Printf("– questions: %s; that proves no person, and allows changing files only\n", asked[surface.String()])
	} else {
		say("questions", err, asked[surface.String()])
	}
	if _, err := app.Secret(keyService, keyAccount(c.State)); err != nil {
		fmt.Printf("– keychain: %v; nothing can be allowed for good (switches, lasting rules, wider settings), and the activity log is guarded against accidents only%s\n", err, keychainHint)
	} else {
		say("keychain", nil, "it holds the activity log's key")
	}
	if err := setting.Problem(c.State); err != nil {
		fmt.Printf("– settings: %v\n", err)
	}
	if line, err := policyLine(c.State, c.home); err != nil {
		fmt.Printf("– policy: %v\n", err)
	} else {
		say("policy", nil, line)
	}
	if err := sandbox.Disclaims(); err != nil {
		fmt.Printf("– profile classic: %v\n", err)
	}
	fmt.Println("What is not stopped, or otherwise than on other systems:")
	for _, limit := range sandbox.Limits(runtime.GOOS) {
		fmt.Printf("  · %s\n", limit)
	}
	if bad > 0 {
		return fmt.Errorf("what has ✗ keeps Handrail from working here (%d)", bad)
	}
	return nil
}

// canary runs `true` in a sandbox around scratch folders.
func (c *doctorCommand) canary() error {
	scratch, err := os.MkdirTemp("", "handrail-doctor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	if scratch, err = filepath.EvalSymlinks(scratch); err != nil {
		return err
	}
	m := sandbox.Machine{Home: c.home, State: filepath.Join(scratch, "state"), Workspace: filepath.Join(scratch, "work"), Temp: filepath.Join(scratch, "tmp")}
	for _, dir := range []string{m.State, m.Workspace, m.Temp} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	place, err := program.Find()
	if err != nil {
		return err
	}
	m.Executable = place.Executable
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := sandbox.Check(ctx, sandbox.Guarded(m)); err != nil {
		return err
	}
	m.Path = []string{"/opt/homebrew/bin", "/usr/local/bin", "/usr/bin", "/bin"}
	for _, tool := range sandbox.Canaries(ctx, sandbox.Guarded(m)) {
		if tool.Err != nil {
			fmt.Printf("– %s doesn't work in the sandbox here yet: %v\n", tool.Tool, tool.Err)
		}
	}
	return nil
}

func (c *doctorCommand) workspace() error {
	path := c.Workspace
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	place, err := program.Find()
	if err != nil {
		return err
	}
	return grant.Home{Home: c.home, State: c.State, Program: place.Folder}.Grantable(path)
}

// explain answers --explain.
func (c *doctorCommand) explain() error {
	place, err := program.Find()
	if err != nil {
		return err
	}
	o := core.Options{State: c.State, Work: c.work, Workspace: c.Workspace, Home: c.home, Shell: os.Getenv("SHELL"), Program: place.Folder, Executable: place.Executable}
	for _, path := range []*string{&o.State, &o.Work, &o.Workspace, &o.Home} {
		if *path, err = tool.Resolve(*path); err != nil {
			return err
		}
	}
	e, err := core.Explain(o, c.Granted, c.Explain)
	if err != nil {
		return err
	}
	fmt.Print(e)
	return e.Err()
}
