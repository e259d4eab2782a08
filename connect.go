package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"handrail/core"
	"handrail/core/client"
	"handrail/core/server"
)

type connectCommand struct {
	Name   string `arg:"" help:"A name for the assistant, such as claude."`
	HTTP   bool   `help:"Make a token for an assistant that connects over HTTP."`
	Level  string `help:"What it may do at most with that token: ${enum}." enum:"look,ask" default:"ask"`
	Revoke bool   `help:"Take its token back."`
	State  string `help:"Folder of Handrail's own files." type:"path" placeholder:"DIR"`
}

// Run prints what goes into the assistant's configuration. A token is shown this once; only its hash is kept.
func (c *connectCommand) Run() error {
	p := places{State: c.State}
	if err := p.fill(); err != nil {
		return err
	}
	tokens := core.Tokens(p.State)
	if c.Revoke {
		if err := tokens.Revoke(c.Name); err != nil {
			return err
		}
		fmt.Printf("%s can no longer connect over HTTP.\n", c.Name)
		return forgetRules(&p, c.Name)
	}
	if !c.HTTP {
		if c.Level != "ask" {
			return errors.New("--level goes with --http; for an assistant that starts a command, start it with `handrail serve --stdio --level look`")
		}
		exe, _, err := program()
		if err != nil {
			return err
		}
		args := []string{"stdio"}
		if c.State != "" {
			args = append(args, "--state", p.State)
		}
		text, err := json.MarshalIndent(map[string]any{"mcpServers": map[string]any{"handrail": map[string]any{"command": exe, "args": args}}}, "", "  ")
		if err != nil {
			return err
		}
		fmt.Printf("Put this into %s's configuration of MCP servers:\n\n%s\n\nHandrail must run: start `handrail`, or without a screen `handrail serve`.\n", c.Name, text)
		return nil
	}
	level, err := client.ParseLevel(c.Level)
	if err != nil {
		return err
	}
	token, err := tokens.New(c.Name, level)
	if err != nil {
		return err
	}
	url, err := server.URLOf(core.Socket(p.State))
	note := ""
	switch {
	case err != nil:
		url, note = "http://"+server.DefaultAddr+server.Path, "Handrail isn't running; with another --addr its URL is another."
	case url == "":
		url, note = "none", "The Handrail that runs doesn't listen for HTTP; start it with --addr."
	}
	fmt.Printf("URL:     %s\nHeader:  Authorization: Bearer %s\n\n%s\nThe token is shown this once. Take it back with: handrail connect %s --revoke\n", url, token, note, c.Name)
	return nil
}
