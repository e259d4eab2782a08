package grant

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// keychain is a stand-in for the system's: it holds one key.
type keychain struct{ key []byte }

func (k *keychain) get(renew bool) ([]byte, error) {
	if k == nil {
		return nil, errors.New("there is no keychain")
	}
	if renew || k.key == nil {
		k.key = append(k.key, 'k')
	}
	return bytes.Clone(k.key), nil
}

const cursor = "http:cursor"

// switchWorld is a state folder in which the person has agreed to two switches of one client.
func switchWorld(t *testing.T) (s *Switches, k *keychain, state string) {
	t.Helper()
	state, k = t.TempDir(), new(keychain)
	s = OpenSwitches(state, k.get, true)
	for _, on := range []Switch{Outside, Docker} {
		if err := s.Set(cursor, string(on), true); err != nil {
			t.Fatal(err)
		}
		if s.Of(cursor).Has(on) {
			t.Fatalf("%s is on without a click", on)
		}
		if err := s.Agree(Wish{Client: cursor, Switch: on}); err != nil {
			t.Fatal(err)
		}
		if !s.Of(cursor).Has(on) {
			t.Fatalf("%s is off after the click", on)
		}
	}
	return s, k, state
}

func readSwitches(t *testing.T, state string) string {
	t.Helper()
	text, err := os.ReadFile(SwitchFile(state))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func writeSwitches(t *testing.T, state, text string) {
	t.Helper()
	if err := os.WriteFile(SwitchFile(state), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What other hands write into the file turns nothing on, neither while Handrail runs nor at its next start, and turns off at once.
func TestSwitchFileOfOtherHands(t *testing.T) {
	const clients = `"http:cursor": {"on": ["outside", "docker"]}`
	for _, c := range []struct {
		name string
		do   func(t *testing.T, s *Switches, state, ours string) (text string)
		// on is what is on then, of cursor and another client; next is what is on after a new start.
		on, next string
	}{
		{"untouched", func(_ *testing.T, _ *Switches, _, ours string) string { return ours }, "outside docker", "outside docker"},
		{"written in another form", func(_ *testing.T, _ *Switches, _, ours string) string { return strings.Join(strings.Fields(ours), "") }, "outside docker", "outside docker"},
		{"one more switch", func(_ *testing.T, _ *Switches, _, ours string) string {
			return strings.Replace(ours, `"docker"`, `"docker", "ssh-agent"`, 1)
		}, "outside docker", "outside docker"},
		{"another client", func(_ *testing.T, _ *Switches, _, ours string) string {
			return strings.Replace(ours, `"clients": {`, `"clients": {"stdio:/bin/evil": {"on": ["docker"]},`, 1)
		}, "outside docker", "outside docker"},
		{"forged as agreed", func(_ *testing.T, _ *Switches, _, ours string) string {
			return strings.ReplaceAll(ours, `"docker"`, `"docker", "ssh-agent"`)
		}, "outside docker", ""},
		{"another client's name in what was agreed", func(_ *testing.T, _ *Switches, _, ours string) string {
			return strings.ReplaceAll(ours, cursor, "http:evil")
		}, "", ""},
		{"no MAC", func(_ *testing.T, _ *Switches, _, _ string) string {
			return `{"version": 1, "clients": {` + clients + `}, "agreed": {` + clients + `}}`
		}, "outside docker", ""},
		{"less", func(_ *testing.T, _ *Switches, _, ours string) string {
			return strings.Replace(strings.Join(strings.Fields(ours), ""), `"outside",`, "", 1)
		}, "docker", "docker"},
		{"taken away", func(t *testing.T, _ *Switches, state, _ string) string {
			if err := os.Remove(SwitchFile(state)); err != nil {
				t.Fatal(err)
			}
			return ""
		}, "", ""},
		{"no file of ours", func(_ *testing.T, _ *Switches, _, _ string) string { return "{" }, "", ""},
		{"a field too many", func(_ *testing.T, _ *Switches, _, ours string) string {
			return strings.Replace(ours, "{", `{"allow": true,`, 1)
		}, "", ""},
		{"a switch that there isn't", func(_ *testing.T, _ *Switches, _, ours string) string {
			return strings.ReplaceAll(ours, `"docker"`, `"everything"`)
		}, "", ""},
		{"an older file of ours", func(t *testing.T, s *Switches, _, ours string) string {
			if err := s.Set(cursor, "docker", false); err != nil {
				t.Fatal(err)
			}
			if s.Of(cursor).Has(Docker) {
				t.Fatal("off doesn't count at once")
			}
			return ours
		}, "outside", ""},
		{"an older file of ours, after all was turned off", func(t *testing.T, s *Switches, _, ours string) string {
			for _, name := range []string{"docker", "outside"} {
				if err := s.Set(cursor, name, false); err != nil {
					t.Fatal(err)
				}
			}
			return ours
		}, "", ""},
		{"an older file of ours, after the token was taken back", func(t *testing.T, s *Switches, _, ours string) string {
			if err := s.Forget(cursor); err != nil {
				t.Fatal(err)
			}
			return ours
		}, "", ""},
		{"an older file of ours, after another process turned it off", func(t *testing.T, s *Switches, state, ours string) string {
			if err := OpenSwitches(state, s.keychain, false).Set(cursor, "docker", false); err != nil {
				t.Fatal(err)
			}
			if s.Of(cursor).Has(Docker) {
				t.Fatal("off doesn't count at once")
			}
			return ours
		}, "outside", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, k, state := switchWorld(t)
			if text := c.do(t, s, state, readSwitches(t, state)); text != "" {
				writeSwitches(t, state, text)
			}
			then := OpenSwitches(state, k.get, false) // as a new start would find it
			if got := on(then.Of(cursor)) + on(then.Of("stdio:/bin/evil")); got != c.next {
				t.Errorf("at the next start %q is on, want %q", got, c.next)
			}
			if got := on(s.Of(cursor)) + on(s.Of("stdio:/bin/evil")) + on(s.Of("http:evil")); got != c.on {
				t.Errorf("%q is on, want %q", got, c.on)
			}
		})
	}
}

func on(h Held) string {
	return strings.Trim(fmt.Sprint(h.On), "[]")
}

// Only the very wish that waits can be agreed to, and only in the process that asks.
func TestSwitchAgree(t *testing.T) {
	s, k, state := switchWorld(t)
	for _, w := range []Wish{{}, {Client: cursor}, {Client: cursor, Switch: SSHAgent}, {Client: cursor, Switch: Docker}, {Client: cursor, Tool: "exec"}, {Client: "http:other", Switch: Docker}} {
		if err := errors.Join(s.CanAgree(w), s.Agree(w)); !errors.Is(err, ErrNoWish) {
			t.Errorf("agreed to %+v: %v", w, err)
		}
	}
	if err := s.Set(cursor, "ssh-agent", true); err != nil {
		t.Fatal(err)
	}
	w := Wish{Client: cursor, Switch: SSHAgent}
	if got := s.Waiting(); !slices.Equal(got, []Wish{w}) {
		t.Errorf("waiting: %+v", got)
	}
	if err := OpenSwitches(state, k.get, false).Agree(w); !errors.Is(err, ErrNoWish) {
		t.Errorf("another process agreed: %v", err)
	}
	if err := s.Set(w.Client, w.Name(), false); err != nil || len(s.Waiting()) > 0 {
		t.Errorf("%v, waiting %+v", err, s.Waiting())
	}
	if err := s.Agree(w); !errors.Is(err, ErrNoWish) {
		t.Errorf("agreed to what was refused: %v", err)
	}
	if got := on(s.Of(cursor)); got != "outside docker" {
		t.Errorf("%q is on", got)
	}
}

// A tool is off at once, and on again by a click only.
func TestToolsOff(t *testing.T) {
	s, k, state := switchWorld(t)
	if err := OpenSwitches(state, k.get, false).Set(cursor, "exec", false); err != nil {
		t.Fatal(err)
	}
	if !s.Of(cursor).Without("exec") || s.Of("http:other").Without("exec") {
		t.Fatal("it isn't off, or for another too")
	}
	if err := OpenSwitches(state, k.get, false).Set(cursor, "exec", true); err != nil {
		t.Fatal(err)
	}
	w := Wish{Client: cursor, Tool: "exec"}
	if !s.Of(cursor).Without("exec") || !slices.Equal(s.Waiting(), []Wish{w}) {
		t.Errorf("on without a click; waiting %+v", s.Waiting())
	}
	if next := OpenSwitches(state, k.get, true); !next.Of(cursor).Without("exec") {
		t.Error("on by a new start")
	}
	if err := s.Agree(w); err != nil || s.Of(cursor).Without("exec") {
		t.Errorf("off after the click: %v", err)
	}
}

// Taking back all that is turned on turns nothing on: not a tool that is off, nor one that waits to be on.
func TestSwitchForget(t *testing.T) {
	for _, asks := range []bool{true, false} { // the Handrail that runs, and `handrail connect --revoke` beside it
		s, k, state := switchWorld(t)
		for name, on := range map[string]bool{"exec": false, "edit": false, "ssh-agent": true} {
			if err := s.Set(cursor, name, on); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Set(cursor, "edit", true); err != nil {
			t.Fatal(err)
		}
		by := s
		if !asks {
			by = OpenSwitches(state, k.get, false)
		}
		if err := by.Forget(cursor); err != nil {
			t.Fatal(err)
		}
		for _, now := range []*Switches{s, OpenSwitches(state, k.get, true)} {
			if got := now.Of(cursor); len(got.On) > 0 || !slices.Equal(got.ToolsOff, []string{"edit", "exec"}) || len(now.Waiting()) > 0 {
				t.Errorf("by who asks %v: %+v, waiting %v", asks, got, now.Waiting())
			}
		}
		before, err := os.Stat(SwitchFile(state))
		if err != nil {
			t.Fatal(err)
		}
		if err := by.Forget(cursor); err != nil {
			t.Fatal(err)
		}
		if after, err := os.Stat(SwitchFile(state)); err != nil || !os.SameFile(before, after) {
			t.Errorf("by who asks %v: the file is written anew for nothing: %v", asks, err)
		}
	}
}

// Nothing is turned on for a client that can't be told from others, or without a keychain; by no name that there isn't.
func TestSwitchRefusals(t *testing.T) {
	state := t.TempDir()
	s := OpenSwitches(state, new(keychain).get, true)
	for _, c := range [][2]string{{"", "docker"}, {" ", "docker"}, {unknownProgram, "docker"}, {cursor, ""}, {cursor, "Docker"}, {cursor, "exec "}, {"stdio:/a\xff", "docker"}} {
		if err := s.Set(c[0], c[1], true); err == nil {
			t.Errorf("%q: %q can be wanted", c[0], c[1])
		}
	}
	if _, err := os.Lstat(SwitchFile(state)); err == nil {
		t.Error("something was written")
	}
	none := OpenSwitches(t.TempDir(), nil, true)
	if err := none.Set(cursor, "docker", true); !errors.Is(err, ErrNoKey) {
		t.Errorf("without a keychain: %v", err)
	}
	writeSwitches(t, filepath.Dir(none.file), `{"version": 1, "clients": {"http:cursor": {"on": ["docker"]}}}`)
	if err := none.Agree(Wish{Client: cursor, Switch: Docker}); !errors.Is(err, ErrNoKey) || none.Of(cursor).Has(Docker) {
		t.Errorf("without a keychain: %v", err)
	}
	for _, s := range []*Switches{nil, {}} {
		if len(s.Of(cursor).On) > 0 || s.Set(cursor, "docker", true) == nil || s.Waiting() != nil || s.Clients() != nil || s.Forget(cursor) != nil {
			t.Error("a zero Switches does something")
		}
	}
	if err := os.Chmod(SwitchFile(filepath.Dir(none.file)), 0o666); err != nil {
		t.Fatal(err)
	}
	if none.Of(cursor); none.Problem() == nil {
		t.Error("a file that others may write is read")
	}
}
