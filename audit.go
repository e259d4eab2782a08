package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"handrail/app"
	"handrail/core"
	"handrail/core/audit"
)

type auditCommand struct {
	Verify auditVerifyCommand `cmd:"" help:"Look for records that were edited, removed, torn or cut off."`
}

type auditVerifyCommand struct {
	State string `help:"Folder of Handrail's own files." type:"path" placeholder:"DIR"`
}

// Run prints what it finds and fails if there is anything.
func (c *auditVerifyCommand) Run() error {
	p := places{State: c.State}
	if err := p.fill(); err != nil {
		return err
	}
	key, err := app.Secret(keyService, keyAccount(p.State))
	if err != nil {
		fmt.Fprintln(os.Stderr, "There is no keychain here, so this check guards against accidents only.")
	}
	log, anchor := core.LogFiles(p.State)
	rep, err := audit.Verify(log, anchor, key)
	if err != nil {
		return err
	}
	for _, f := range rep.Findings {
		fmt.Println(f)
	}
	if n := len(rep.Findings); n > 0 {
		return fmt.Errorf("%s: findings: %d, records: %d", log, n, rep.Records)
	}
	if _, err := os.Stat(log); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no activity log yet: Handrail hasn't run with the state folder %s", p.State)
	} else if err != nil {
		return fmt.Errorf("there is no activity log: %w", err)
	}
	against := "nothing was changed"
	if !rep.Keyed {
		against = "nothing was changed by accident; whoever can write the file can hide a change"
	}
	fmt.Printf("%s: %d records are whole; %s.\n", log, rep.Records, against)
	return nil
}

// keyService names our secrets in the keychain.
const keyService = "Handrail"

// keyAccount names the key of the activity log in a state folder.
func keyAccount(state string) string { return "activity log of " + state }
