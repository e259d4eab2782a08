package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"handrail/app"
	"handrail/core"
	"handrail/core/assistant"
	"handrail/core/client"
	"handrail/core/hint"
	"handrail/core/program"
	"handrail/core/server"
)

type connectCommand struct {
	Name    string `arg:"" optional:"" help:"The assistant, such as claude. Without a name: list those on this computer, and those that connect over HTTP."`
	Print   bool   `help:"Set nothing up: print what goes into its configuration." xor:"what"`
	Replace bool   `help:"Set it up even if another program has Handrail's name there." xor:"what"`
	Pair    bool   `help:"Let an assistant connect through a page in the browser, within 5 minutes: you are asked." xor:"what"`
	HTTP    bool   `help:"Make a token for an assistant that connects over HTTP." xor:"what"`
	Level   string `help:"What it may do at most over HTTP: ${enum}." enum:"look,ask" default:"ask"`
	Revoke  bool   `help:"Take its token back." xor:"what"`
	State   string `help:"Folder of Handrail's own files." type:"path" placeholder:"DIR"`
}

// Run sets an assistant up to start Handrail. For one that it doesn't know, or doesn't find, it prints what goes into its configuration.
func (c *connectCommand) Run() error {
	p := places{State: c.State}
	if err := p.fill(); err != nil {
		return err
	}
	switch {
	case c.Name == "" && (c.HTTP || c.Revoke || c.Print || c.Replace):
		return errors.New("say which assistant: handrail connect NAME")
	case c.Pair:
		return c.pair(&p)
	case c.Revoke:
		return c.revoke(&p)
	case c.HTTP:
		return c.token(&p)
	case c.Level != "ask":
		return errors.New("--level goes with --http; for an assistant that starts a command, start it with `handrail serve --stdio --level look`")
	}
	here := assistant.Computer{Home: p.home, Env: os.Getenv}
	command, err := bridge(c.State)
	switch {
	case err != nil:
		return err
	case c.Name == "":
		return errors.Join(found(here.List(command)), listClients(core.Tokens(p.State)))
	case c.Name == "chatgpt" && !c.Print:
		fmt.Println(strings.Join(app.PublicAddress(app.NewWords(app.SystemLanguages()...)), "\n\n"))
		return nil
	}
	a, err := named(here.List(command), c.Name)
	switch {
	case err != nil:
		return err
	case a.Name == "":
		if !c.Print {
			fmt.Printf("Handrail doesn't know how to set up %s, and has changed nothing.\n\n", app.Escape(c.Name))
		}
		return printed("", c.Name, command)
	case a.State == assistant.NotFound && !c.Print:
		fmt.Printf("%s isn't on this computer, as far as Handrail can tell, so nothing was set up.\n\n", a.Name)
		fallthrough
	case c.Print:
		return printed(a.ID, a.Name, command)
	}
	change, err := here.Connect(a.ID, command, c.Replace)
	if hint.Code(err) == "not_ours" {
		return hint.Of(err).Then("to replace it: handrail connect " + a.ID + " --replace")
	}
	if err != nil {
		return err
	}
	if change.Nothing {
		fmt.Printf("%s starts Handrail already.\n", a.Name)
	} else {
		fmt.Printf("%s starts Handrail now. %s\n", a.Name, after(change.Assistant))
	}
	told(change)
	fmt.Printf("To take it out again: handrail disconnect %s\n", a.ID)
	return nil
}

type disconnectCommand struct {
	Name string `arg:"" help:"The assistant, as handrail connect lists it."`
}

// Run takes Handrail out of an assistant's configuration.
func (c *disconnectCommand) Run() error {
	var p places
	if err := p.fill(); err != nil {
		return err
	}
	here := assistant.Computer{Home: p.home, Env: os.Getenv}
	a, err := named(here.List(assistant.Command{}), c.Name)
	if err != nil {
		return err
	}
	if a.Name == "" {
		_, err := here.Find(c.Name, assistant.Command{})
		h := hint.Of(err)
		return h.Then(h.Next + "; a token is taken back with handrail connect NAME --revoke")
	}
	change, err := here.Disconnect(a.ID)
	switch {
	case err != nil:
		return err
	case change.Nothing:
		fmt.Printf("%s doesn't start Handrail; nothing was changed.\n", a.Name)
		return nil
	}
	fmt.Printf("%s no longer starts Handrail. %s\n", a.Name, after(change.Assistant))
	told(change)
	return nil
}

// after says when an assistant notices.
func after(a assistant.Assistant) string {
	if a.Terminal {
		return "Its next session knows."
	}
	return "If it is open, quit it and open it again."
}

// told says which file was changed, and where it stands as it was.
func told(c assistant.Change) {
	switch {
	case c.Restored:
		fmt.Printf("Its settings are as they were before Handrail: %s\n", c.Assistant.File)
	case c.Backup != "":
		fmt.Printf("Its settings: %s\nAs they were before Handrail: %s\n", c.Assistant.File, c.Backup)
	default:
		fmt.Printf("Its settings: %s\n", c.Assistant.File)
	}
}

// found prints those that are here.
func found(all []assistant.Assistant) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	var missing []string
	for _, a := range all {
		if a.State == assistant.NotFound {
			missing = append(missing, a.Name)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", a.ID, a.Name, a.State)
		if a.Problem != nil {
			fmt.Fprintf(w, "\t\t%s\n", a.Problem.Why)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(missing) == len(all) {
		fmt.Println("Handrail finds no assistant on this computer.")
	} else {
		fmt.Println("\nSet one up with: handrail connect NAME")
	}
	fmt.Printf("Not here: %s\n", strings.Join(missing, ", "))
	return nil
}

// named finds an assistant by its id, its name, or the first word of that if it is the only one here; an empty one if there is none.
func named(all []assistant.Assistant, name string) (assistant.Assistant, error) {
	var here, known []assistant.Assistant
	for _, a := range all {
		if a.ID == name || strings.EqualFold(a.Name, name) {
			return a, nil
		}
		if first, _, _ := strings.Cut(a.Name, " "); strings.EqualFold(first, name) {
			known = append(known, a)
			if a.State != assistant.NotFound {
				here = append(here, a)
			}
		}
	}
	switch {
	case len(here) > 1:
		return assistant.Assistant{}, fmt.Errorf("which one? handrail connect %s, or handrail connect %s", here[0].ID, here[1].ID)
	case len(here) == 1:
		return here[0], nil
	case len(known) > 0:
		return known[0], nil
	}
	return assistant.Assistant{}, nil
}

// bridge is the command by which an assistant starts `handrail stdio`; state is the folder of Handrail's own files where it was given.
func bridge(state string) (assistant.Command, error) {
	place, err := program.Find()
	if err == nil {
		err = place.Err()
	}
	if err != nil {
		return assistant.Command{}, err
	}
	command := assistant.Command{Path: place.Lasting(filepath.SplitList(os.Getenv("PATH"))), Args: []string{"stdio"}}
	if state != "" {
		command.Args = append(command.Args, "--state", state)
	}
	return command, nil
}

// printed prints what goes into a configuration.
func printed(id, name string, command assistant.Command) error {
	text, err := assistant.Text(id, command)
	if err == nil {
		fmt.Printf("Put this into %s's configuration of MCP servers:\n\n%s\nIt starts Handrail when it needs it.\n", name, text)
	}
	return err
}

func (c *connectCommand) revoke(p *places) error {
	if err := core.Tokens(p.State).Revoke(c.Name); err != nil {
		return err
	}
	fmt.Printf("%s can no longer connect over HTTP.\n", c.Name)
	rules, err := rulesOf(p)
	return errors.Join(err, core.Forget(p.work, rules, switchesOf(p.State), client.TokenID(c.Name)))
}

// token prints a new one. It is shown this once; only its hash is kept.
func (c *connectCommand) token(p *places) error {
	level, err := client.ParseLevel(c.Level)
	if err != nil {
		return err
	}
	token, err := core.Tokens(p.State).New(c.Name, level)
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
	there := ""
	if c.State != "" {
		there = " --state " + c.State
	}
	fmt.Printf("URL:     %s\nHeader:  Authorization: Bearer %s\n\n%s\nThe token is shown this once. Take it back with: handrail connect %s --revoke%s\n", url, token, note, c.Name, there)
	return nil
}

// pair has the Handrail that runs wait for an assistant. It lets nobody in: the person is asked when one comes.
func (c *connectCommand) pair(p *places) error {
	level, err := client.ParseLevel(c.Level)
	if err != nil {
		return err
	}
	url, err := server.Pair(core.Socket(p.State), c.Name, level)
	if err != nil {
		return err
	}
	fmt.Printf("URL: %s\n\nWithin 5 minutes, give this URL to the assistant as an MCP server, without a token, and have it connect.\nA page opens in the browser, and Handrail asks you.\n", url)
	return nil
}

// listClients lists the assistants that connect over HTTP.
func listClients(tokens *client.Tokens) error {
	list, err := tokens.List()
	if err != nil {
		return err
	}
	if len(list) == 0 {
		fmt.Println("No assistant connects over HTTP.")
	}
	for _, t := range list {
		how, used := "has a token", "never used"
		if t.Paired {
			how = "was paired, until " + t.Until.Local().Format(time.DateOnly) + " if it isn't used"
		}
		if !t.Used.IsZero() {
			used = "last used " + t.Used.Format(time.DateOnly)
		}
		fmt.Printf("%s: %s since %s, %s, at most %s\n", t.Name, how, t.Created.Local().Format(time.DateOnly), used, t.Level)
	}
	return nil
}
