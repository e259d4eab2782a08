package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"handrail/core/release"
)

// updateAddress, updateKey and downloadPage are set by the linker in a release: the feed of versions, the public key that
// signs it, and the page where people download. In other builds they are empty, and nothing is asked for.
var updateAddress, updateKey, downloadPage string

// updates gives what is known of newer versions.
func updates(state string) (*release.Updates, error) {
	source, err := release.ParseSource(updateAddress, updateKey)
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return release.New(release.Options{Source: source, Version: version, State: state, Log: log}), nil
}

type updateCommand struct {
	places `embed:""`
	Off    bool `help:"Don't look for newer versions any more."`
	On     bool `help:"Look for newer versions once a day."`
}

// Run says what is known of newer versions. It asks for nothing: the app does, once a day.
func (c *updateCommand) Run() error {
	if c.On && c.Off {
		return errors.New("--on and --off go ill together")
	}
	if err := c.fill(); err != nil {
		return err
	}
	u, err := updates(c.State)
	if err != nil {
		return err
	}
	if c.On || c.Off {
		if err := os.MkdirAll(c.State, 0o700); err != nil {
			return err
		}
		if err := u.Switch(c.On); err != nil {
			return fmt.Errorf("keeping whether to look for newer versions: %w", err)
		}
	}
	switch s := u.Status(); s.State {
	case release.Current:
		fmt.Printf("%s is the newest version.\n", version)
	case release.Available:
		fmt.Printf("Version %s is out: %s\n", s.Version, downloadPage)
	case release.Stale:
		fmt.Printf("Nothing could be learned of newer versions since %s. Look at %s\n", s.Since.Local().Format("2 January 2006"), downloadPage)
	case release.Off:
		fmt.Println("Handrail doesn't look for newer versions; --on has it look.")
	default:
		if updateAddress == "" {
			fmt.Println("This build doesn't look for newer versions.")
			return nil
		}
		fmt.Println("Nothing is known of newer versions yet; the app in the menu bar looks once a day.")
	}
	return nil
}
