package core

import (
	"errors"
	"fmt"
	"os"

	"handrail/core/approval"
	"handrail/core/command"
)

// Findings are what AuditSettings found.
type Findings struct {
	// Policy says what the policy for commands is, a line each.
	Policy []string
	// Risks are settings that let more happen than a person may think; Notes are others of which they should know.
	Risks, Notes []string
	// File is the policy file, Problem why it can't be read.
	File, Problem string

	fixes []func() (string, error)
}

// AuditSettings looks for risky settings in a state folder. key is the keychain's, nil for none. It changes nothing but for a
// narrowing of the policy, which counts from when it is seen.
func AuditSettings(state, home string, key []byte) Findings {
	f := Findings{File: command.PolicyFile(state)}
	private := func(path string, mode os.FileMode) {
		info, err := os.Lstat(path)
		if err != nil || info.Mode().Perm()&^mode == 0 || info.Mode()&os.ModeSymlink != 0 {
			return
		}
		f.Risks = append(f.Risks, fmt.Sprintf("other users may open %s (mode %o); --fix mends that", path, info.Mode().Perm()))
		f.fixes = append(f.fixes, func() (string, error) {
			return fmt.Sprintf("%s is yours alone", path), os.Chmod(path, info.Mode().Perm()&mode)
		})
	}
	private(state, 0o700)
	private(f.File, 0o600)
	p, status := command.OpenPolicy(state, home, key).Now()
	f.Problem = status.Problem
	f.Policy = []string{
		fmt.Sprintf("commands of exec in the sandbox: %s", p.Sandbox),
		fmt.Sprintf("outside the sandbox: %s, and each is asked for; it must be switched on for a client first", p.Host),
		fmt.Sprintf("from: %s, if it is there, and what you agreed to before; the stricter of both", f.File),
	}
	if status.Problem != "" {
		f.Risks = append(f.Risks, fmt.Sprintf("%s: %s; every command is asked for", f.File, status.Problem))
	}
	for _, line := range status.Waiting {
		f.Notes = append(f.Notes, "waits for your click, and is not allowed: "+line)
	}
	rules := approval.OpenRules(state, key)
	private(rules.File(), 0o600)
	switch list, err := rules.List(); {
	case errors.Is(err, approval.ErrNoKey):
	case err != nil:
		f.Risks = append(f.Risks, fmt.Sprintf("%s: %v", rules.File(), err))
	case len(list) > 0:
		f.Notes = append(f.Notes, fmt.Sprintf("%d commands run without a question because you chose Always Allow: handrail rules", len(list)))
	}
	if status.NoKey {
		f.Notes = append(f.Notes, "there is no keychain, so the policy file can only make the policy stricter")
	}
	// What waits may be agreed to, so the file itself is looked at.
	if text, err := os.ReadFile(f.File); err == nil {
		if wanted, err := command.ReadPolicy(text, home); err == nil {
			p = wanted
		}
	}
	for _, x := range command.AuditPolicy(p, command.System(), home) {
		if x.Risk {
			f.Risks = append(f.Risks, x.String())
		} else {
			f.Notes = append(f.Notes, x.String())
		}
	}
	return f
}

// Fix mends what can be mended without allowing anything more, and says what it did.
func (f Findings) Fix() (done []string) {
	for _, fix := range f.fixes {
		if what, err := fix(); err == nil {
			done = append(done, what)
		} else {
			done = append(done, fmt.Sprintf("not mended: %v", err))
		}
	}
	return done
}
