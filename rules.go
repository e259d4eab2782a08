package main

import (
	"errors"
	"fmt"
	"strconv"

	"handrail/app"
	"handrail/core/approval"
)

type rulesCommand struct {
	List   rulesListCommand   `cmd:"" default:"withargs" help:"List the commands that run without a question because you chose Always Allow."`
	Remove rulesRemoveCommand `cmd:"" help:"Take one back."`
	Clear  rulesClearCommand  `cmd:"" help:"Take all of them back."`
}

type rulesListCommand struct {
	places `embed:""`
}

type rulesRemoveCommand struct {
	places `embed:""`
	ID     string `arg:"" help:"Its number, as handrail rules shows it."`
}

type rulesClearCommand struct {
	places `embed:""`
}

// rulesOf opens the lasting rules of a state folder. Without a keychain there are none.
func rulesOf(p *places) (*approval.Rules, error) {
	if err := p.fill(); err != nil {
		return nil, err
	}
	key, err := app.Secret(keyService, keyAccount(p.State))
	if errors.Is(err, app.ErrNoKeychain) {
		key, err = nil, nil
	}
	return approval.OpenRules(p.State, key), err
}

// Run lists the rules with all that each is bound to.
func (c *rulesListCommand) Run() error {
	rules, err := rulesOf(&c.places)
	if err != nil {
		return err
	}
	list, err := rules.List()
	if errors.Is(err, approval.ErrNoKey) {
		return fmt.Errorf("%w%s", err, keychainHint)
	}
	if err != nil {
		return err
	}
	if len(list) == 0 {
		fmt.Println("There are no lasting rules.")
	}
	for _, k := range list {
		r := k.Request
		fmt.Printf("%s  %s\n    runs     %s\n    in       %s\n    for      %s\n", k.ID, k.Made.Local().Format("2006-01-02 15:04"),
			app.Escape(r.Command.Runs), app.Escape(r.Folder), app.Escape(r.Who.ID))
		if r.Who.Name != "" {
			fmt.Printf("    called   %s\n", strconv.Quote(app.Escape(r.Who.Name)))
		}
		for _, f := range r.Command.Files {
			fmt.Printf("    as long as %s is the same\n", app.Escape(f.Real))
		}
	}
	return nil
}

// Run takes a rule back.
func (c *rulesRemoveCommand) Run() error {
	rules, err := rulesOf(&c.places)
	if err != nil {
		return err
	}
	if err := rules.Remove(c.ID); err != nil {
		return err
	}
	fmt.Println("Taken back: you are asked again.")
	return nil
}

// Run takes all rules back, also those of a file that another program changed.
func (c *rulesClearCommand) Run() error {
	rules, err := rulesOf(&c.places)
	if err != nil {
		return err
	}
	if err := rules.RemoveAll(); err != nil {
		return err
	}
	fmt.Println("There are no lasting rules any more.")
	return nil
}
