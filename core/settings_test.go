package core

import (
	"os"
	"strings"
	"testing"

	"handrail/core/command"
)

// What is risky is found; --fix mends what only narrows.
func TestAuditSettings(t *testing.T) {
	key := []byte("key")
	for _, c := range []struct {
		name, policy string
		state, file  os.FileMode
		key          []byte
		risks, notes int
		fixed        int
	}{
		{"nothing", "", 0o700, 0, key, 0, 0, 0},
		{"no keychain", "", 0o700, 0, nil, 0, 1, 0},
		{"a narrowing", `{"version": 1, "sandbox": {"mode": "ask"}}`, 0o700, 0o600, key, 0, 0, 0},
		{"a folder for all", "", 0o755, 0, key, 1, 0, 1},
		{"a file that others read", `{"version": 1}`, 0o700, 0o644, key, 1, 0, 1},
		{"a file that others write", `{"version": 1}`, 0o700, 0o622, key, 2, 0, 1},
		{"malformed", `{"version": 3}`, 0o700, 0o600, key, 1, 0, 0},
		{"an interpreter", `{"version": 1, "allowlist": [{"pattern": "python3"}]}`, 0o700, 0o600, key, 1, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			state := t.TempDir()
			if c.policy != "" {
				if err := os.WriteFile(command.PolicyFile(state), []byte(c.policy), c.file); err != nil {
					t.Fatal(err)
				}
				os.Chmod(command.PolicyFile(state), c.file) // whatever the umask is
			}
			os.Chmod(state, c.state)
			f := AuditSettings(state, t.TempDir(), c.key)
			if len(f.Risks) != c.risks || len(f.Notes) != c.notes || len(f.Policy) == 0 {
				t.Errorf("risks %q, notes %q, policy %q", f.Risks, f.Notes, f.Policy)
			}
			if done := f.Fix(); len(done) != c.fixed {
				t.Errorf("mended %q", done)
			}
			for _, risk := range AuditSettings(state, t.TempDir(), c.key).Risks {
				if strings.Contains(risk, "other users") {
					t.Errorf("after --fix: %s", risk)
				}
			}
		})
	}
}

// What waits for a click is said, and isn't in force.
func TestAuditSettingsWaiting(t *testing.T) {
	state, home := t.TempDir(), t.TempDir()
	os.Chmod(state, 0o700)
	for _, c := range []struct{ policy, mode string }{
		{`{"version": 1, "sandbox": {"mode": "ask"}}`, "in the sandbox: ask"},
		{`{"version": 1, "sandbox": {"mode": "full"}}`, "in the sandbox: ask"},
	} {
		if err := os.WriteFile(command.PolicyFile(state), []byte(c.policy), 0o600); err != nil {
			t.Fatal(err)
		}
		f := AuditSettings(state, home, []byte("key"))
		if !strings.Contains(f.Policy[0], c.mode) {
			t.Errorf("%s: %q", c.policy, f.Policy)
		}
		if waits := strings.Contains(strings.Join(f.Notes, "\n"), "waits for your click"); waits != strings.Contains(c.policy, "full") {
			t.Errorf("%s: %q", c.policy, f.Notes)
		}
	}
}
