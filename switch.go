package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"handrail/app"
	"handrail/core"
	"handrail/core/client"
	"handrail/core/grant"
	"handrail/core/hint"
	"handrail/core/server"
	"handrail/core/tool"
)

type switchCommand struct {
	places `embed:""`
	Client string `arg:"" optional:"" help:"A token's name, or a client as the list shows it; none: all are listed."`
	Name   string `arg:"" optional:"" help:"outside, ssh-agent, docker, browser, xcode or home; or a tool."`
	To     string `arg:"" optional:"" help:"on or off."`
}

// switchAccount names the key of the switches in a state folder.
func switchAccount(state string) string { return "switches of " + state }

// switchKeychain gives the keychain's key for the switches of a state folder.
func switchKeychain(state string) grant.Keychain {
	return func(renew bool) ([]byte, error) {
		get := app.Secret
		if renew {
			get = app.Renew
		}
		return get(keyService, switchAccount(state))
	}
}

// switchesOf opens the switches of a state folder, to be looked at and to be wished for.
func switchesOf(state string) *grant.Switches {
	return grant.OpenSwitches(state, switchKeychain(state), false)
}

// Run lists what is on, or turns something off, or writes that it is wished for: a Handrail that runs asks, and only a click counts.
func (c *switchCommand) Run() error {
	if err := c.fill(); err != nil {
		return err
	}
	s, tokens := switchesOf(c.State), core.Tokens(c.State)
	list, err := core.ListSwitches(s, tokens, nil)
	id := clientNamed(c.Client, list)
	switch {
	case c.Client != "" && id == "":
		return hint.New("no_client", fmt.Sprintf("no client %q is known", c.Client)).Then("`handrail switch` lists them; one that starts `handrail stdio` is called stdio: and its program")
	case c.Name == "":
		showSwitches(list, id)
		return err
	case c.To != "on" && c.To != "off":
		return errors.New("say on or off")
	}
	if err := os.MkdirAll(c.State, 0o700); err != nil {
		return err
	}
	if err := core.SetSwitch(s, id, c.Name, c.To == "on"); errors.Is(err, grant.ErrNoKey) {
		return fmt.Errorf("%w%s", err, keychainHint)
	} else if err != nil {
		return err
	}
	wish := slices.ContainsFunc(s.Waiting(), func(w grant.Wish) bool { return w.Client == id && w.Name() == c.Name })
	switch _, running := server.URLOf(core.Socket(c.State)); {
	case c.To == "off":
		fmt.Printf("%s is off for %s.\n", c.Name, app.Escape(id))
	case !wish:
		fmt.Printf("%s is on for %s already.\n", c.Name, app.Escape(id))
	case running != nil:
		fmt.Printf("Not on yet: Handrail isn't running. It asks you when it starts.\n")
	default:
		fmt.Printf("Not on yet: Handrail asks you now.\n")
	}
	return nil
}

// clientNamed finds a client by its credential, or by its token's name; "" if there is none. A program needs no list: it may not have
// been connected yet.
func clientNamed(name string, list []core.ClientSwitches) string {
	for _, id := range []string{name, client.TokenID(name)} {
		if slices.ContainsFunc(list, func(c core.ClientSwitches) bool { return c.Client == id }) {
			return id
		}
	}
	if strings.HasPrefix(name, "stdio:/") {
		return name
	}
	return ""
}

// showSwitches prints what is set, for one client or all.
func showSwitches(list []core.ClientSwitches, id string) {
	shown := 0
	for _, c := range list {
		if id != "" && c.Client != id {
			continue
		}
		shown++
		fmt.Println(app.Escape(c.Client))
		for _, s := range grant.AllSwitches() {
			w := grant.Wish{Client: c.Client, Switch: s}
			fmt.Printf("  %-10s %-20s %s\n", s, state(c, w, c.Held.Has(s)), tool.Opens(w))
		}
		for _, t := range c.Held.ToolsOff {
			fmt.Printf("  %-10s %s\n", t, state(c, grant.Wish{Client: c.Client, Tool: t}, false))
		}
	}
	if shown == 0 {
		fmt.Println("No client is known yet: handrail connect.")
	}
}

func state(c core.ClientSwitches, w grant.Wish, on bool) string {
	switch {
	case on:
		return "on"
	case slices.Contains(c.Waiting, w):
		return "off, waits for you"
	}
	return "off"
}
