package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"handrail/app"
	"handrail/core"
)

type securityCommand struct {
	Audit securityAuditCommand `cmd:"" help:"Look for risky settings."`
}

type securityAuditCommand struct {
	places `embed:""`
	Fix    bool `help:"Mend what can be mended without allowing anything more."`
}

// Run says what is risky in the settings, and what the policy in force is. It fails if something is risky.
func (c *securityAuditCommand) Run() error {
	if err := c.fill(); err != nil {
		return err
	}
	key, err := app.Secret(keyService, keyAccount(c.State))
	if err != nil && !errors.Is(err, app.ErrNoKeychain) {
		return err
	}
	found := core.AuditSettings(c.State, c.home, key)
	if c.Fix {
		for _, fixed := range found.Fix() {
			fmt.Println("mended:", fixed)
		}
		found = core.AuditSettings(c.State, c.home, key)
	}
	for _, line := range found.Policy {
		fmt.Println(line)
	}
	for _, line := range found.Notes {
		fmt.Println("–", line)
	}
	for _, line := range found.Risks {
		fmt.Println("✗", line)
	}
	if n := len(found.Risks); n > 0 {
		return fmt.Errorf("%d settings are risky", n)
	}
	return nil
}

// policyLine says in one line what the policy for commands is, for doctor.
func policyLine(state, home string) (string, error) {
	key, err := app.Secret(keyService, keyAccount(state))
	if err != nil {
		key = nil
	}
	found := core.AuditSettings(state, home, key)
	if found.Problem != "" {
		return "", fmt.Errorf("%s; every command is asked for", found.Problem)
	}
	line := found.Policy[0]
	if n := len(found.Risks); n > 0 {
		line += fmt.Sprintf("; %d settings are risky: handrail security audit", n)
	}
	if _, err := os.Stat(filepath.Clean(found.File)); err != nil {
		line += "; there is no policy file"
	}
	return line, nil
}
