package sandbox

import (
	"slices"
	"strings"
	"testing"
)

func TestEnvironment(t *testing.T) {
	env := Guarded(linux).Environment()
	for _, want := range []string{"HOME=/home/anna", "TMPDIR=/run/user/1000/handrail-1", "npm_config_cache=/home/anna/.cache/handrail-1/npm", "RUSTUP_HOME=/home/anna/.rustup",
		"PATH=/usr/bin:/home/anna/.nvm/versions/node/v24/bin:/home/anna/tools/x/bin:/home/anna/.ssh/bin:/home/anna:/srv/go/bin"} {
		if !slices.Contains(env, want) {
			t.Errorf("no %q in %q", want, env)
		}
	}
	names := map[string]bool{}
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		if names[name] {
			t.Errorf("%s is there twice", name)
		}
		names[name] = true
		if strings.HasPrefix(value, linux.Home+"/.cache/") && !within(linux.Caches, value) {
			t.Errorf("%s is no private folder", v)
		}
	}
	if slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "SSH_AUTH_SOCK") }) {
		t.Error("the agent is named without permission")
	}
	if env := Guarded(mac).AllowSSHAgent().AllowDocker().Environment(); !slices.Contains(env, "SSH_AUTH_SOCK="+mac.SSHAgent) || !slices.Contains(env, "DOCKER_HOST=unix://"+mac.Docker) {
		t.Errorf("%q", env)
	}
	if !slices.Contains(ReadOnly(linux).Environment(), "GIT_OPTIONAL_LOCKS=0") {
		t.Error("git would write")
	}
}

// On a Mac the real tools stand before the placeholders, and a placeholder that could only ask is not run.
func TestDeveloperTools(t *testing.T) {
	if got := strings.Join(mac.searchPath(), ":"); got != "/opt/homebrew/bin:/Library/Developer/CommandLineTools/usr/bin:/usr/bin:/bin:/Users/anna/.cargo/bin:/Users/anna/bin" {
		t.Errorf("PATH is %s", got)
	}
	bare := mac
	bare.Developer = ""
	if got := strings.Join(bare.searchPath(), ":"); got != strings.Join(mac.Path, ":") {
		t.Errorf("PATH is %s", got)
	}
	for _, c := range []struct {
		m    Machine
		want bool
	}{{mac, true}, {bare, false}} {
		allowed, rule, err := parse(t, Guarded(c.m)).Decide(request("process-exec", "/usr/bin/git"))
		if err != nil || allowed != c.want {
			t.Errorf("running /usr/bin/git with the tools in %q: %v (%v, %v)", c.m.Developer, allowed, rule, err)
		}
		if allowed, _, err := parse(t, Guarded(c.m)).Decide(request("process-exec", "/usr/bin/env")); err != nil || !allowed {
			t.Errorf("running /usr/bin/env: %v, %v", allowed, err)
		}
	}
}

func TestLimits(t *testing.T) {
	both := Limits("")
	for _, system := range []string{"darwin", "linux"} {
		if l := Limits(system); len(l) <= len(both) || !slices.Equal(l[:len(both)], both) {
			t.Errorf("%s: %q", system, l)
		}
	}
}
