package setting

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

// ring is a stand-in for the keychain.
type ring struct{ key []byte }

func (r *ring) get(renew bool) ([]byte, error) {
	if renew || r.key == nil {
		r.key = append(r.key, 'k')
	}
	return bytes.Clone(r.key), nil
}

func write(t *testing.T, state, text string) {
	t.Helper()
	if err := os.WriteFile(File(state), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func is(t *testing.T, s *Store, n Name, want string) {
	t.Helper()
	if got := s.Get(n); got != want {
		t.Errorf("%s is %q, want %q", n, got, want)
	}
}

// A narrower value counts at once and after a start; a wider one after a click alone.
func TestSet(t *testing.T) {
	for _, c := range []struct {
		name           Name
		narrow, wide   string
		waits          bool
		neither, never string // no values
	}{
		{Network, "never", "ask", true, "", "yes"},
		{Level, "none", "look", true, "trusted", ""},
		{Level, "look", "ask", true, "Ask", "look "},
		{Presence, "on", "off", true, "", "yes"},
		{Language, "th", "en", false, "de", ""},
		{Visible, "10", "1", false, "0", "-1"},
		{Undo, "1", "30", false, "0", "31"},
	} {
		t.Run(string(c.name), func(t *testing.T) {
			state, keys := t.TempDir(), new(ring)
			s := Open(state, keys.get)
			is(t, s, c.name, kinds[c.name].usual)
			if waits, err := s.Set(c.name, c.narrow); waits || err != nil {
				t.Fatal(waits, err)
			}
			s = Open(state, keys.get)
			is(t, s, c.name, c.narrow)
			for _, bad := range []string{c.neither, c.never} {
				if _, err := s.Set(c.name, bad); err == nil {
					t.Errorf("%q is a value", bad)
				}
			}
			waits, err := s.Set(c.name, c.wide)
			if waits != c.waits || err != nil {
				t.Fatal(waits, err)
			}
			if !c.waits {
				is(t, Open(state, keys.get), c.name, c.wide)
				return
			}
			is(t, s, c.name, c.narrow)
			is(t, Open(state, keys.get), c.name, c.narrow)
			want := Change{c.name, c.narrow, c.wide}
			if got := s.Waiting(); !slices.Equal(got, []Change{want}) {
				t.Fatalf("%v", got)
			}
			other := want
			other.Was = "x"
			if err := s.Agree(other); !errors.Is(err, ErrNoChange) {
				t.Errorf("%v", err)
			}
			if err := s.Agree(want); err != nil {
				t.Fatal(err)
			}
			is(t, s, c.name, c.wide)
			is(t, Open(state, keys.get), c.name, c.wide)
			if len(s.Waiting()) != 0 {
				t.Error("it waits still")
			}
		})
	}
}

// A path is another one, so it waits; what is no whole path is none.
func TestWorkspace(t *testing.T) {
	state, keys := t.TempDir(), new(ring)
	s := Open(state, keys.get)
	for _, bad := range []string{"relative", "/a/../b", "/a/", "~/x"} {
		if _, err := s.Set(Workspace, bad); err == nil {
			t.Errorf("%q is a path", bad)
		}
	}
	if waits, err := s.Set(Workspace, "/home/ann/Work"); !waits || err != nil {
		t.Fatal(waits, err)
	}
	is(t, s, Workspace, "")
	if err := s.Agree(Change{Workspace, "", "/home/ann/Work"}); err != nil {
		t.Fatal(err)
	}
	is(t, Open(state, keys.get), Workspace, "/home/ann/Work")
	if waits, err := s.Set(Workspace, ""); !waits || err != nil {
		t.Fatal(waits, err)
	}
	// What counts is wished for again: nothing waits any more.
	if waits, err := s.Set(Workspace, "/home/ann/Work"); waits || err != nil || len(s.Waiting()) != 0 {
		t.Fatal(waits, err, s.Waiting())
	}
}

// Without a keychain nothing becomes wider than it usually is.
func TestNoKeychain(t *testing.T) {
	state := t.TempDir()
	s := Open(state, nil)
	if waits, err := s.Set(Network, "never"); waits || err != nil {
		t.Fatal(waits, err)
	}
	if _, err := s.Set(Network, "ask"); !errors.Is(err, ErrNoKey) {
		t.Errorf("%v", err)
	}
	is(t, Open(state, nil), Network, "never")
}

// What another program writes narrows at once and widens nothing, while Handrail runs and after it has started.
func TestOtherHands(t *testing.T) {
	for _, c := range []struct {
		name, text string
		network    string // what counts after it; before it was never
		workspace  string
	}{
		{"wider", `{"version":1,"settings":{"network":"ask"}}`, "never", ""},
		{"nothing", `{"version":1}`, "never", ""},
		{"another folder", `{"version":1,"settings":{"workspace":"/etc"},"agreed":{"workspace":"/etc"},"mac":"00"}`, "never", ""},
		{"junk", `{"version":1,"settings":{"network":"yes"}}`, "never", ""},
		{"an unknown setting", `{"version":1,"settings":{"net":"ask"}}`, "never", ""},
		{"an unknown field", `{"version":1,"allow":true}`, "never", ""},
		{"another version", `{"version":2}`, "never", ""},
		{"no JSON", `network: ask`, "never", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			state, keys := t.TempDir(), new(ring)
			s := Open(state, keys.get)
			if _, err := s.Set(Network, "never"); err != nil {
				t.Fatal(err)
			}
			write(t, state, c.text)
			is(t, s, Network, c.network)
			is(t, s, Workspace, c.workspace)
		})
	}
	// An older file of ours, whose MAC was right once.
	state, keys := t.TempDir(), new(ring)
	s := Open(state, keys.get)
	if _, err := s.Set(Workspace, "/old"); err != nil {
		t.Fatal(err)
	}
	if err := s.Agree(Change{Workspace, "", "/old"}); err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(File(state))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Set(Workspace, ""); err != nil {
		t.Fatal(err)
	}
	if err := s.Agree(Change{Workspace, "/old", ""}); err != nil {
		t.Fatal(err)
	}
	write(t, state, string(old))
	is(t, Open(state, keys.get), Workspace, "")
}

// A file that can't be read is kept aside, said, and everything is the narrowest.
func TestBroken(t *testing.T) {
	state, keys := t.TempDir(), new(ring)
	if Problem(state) != nil {
		t.Error("a problem without a file")
	}
	write(t, state, "{")
	if err := Problem(state); err == nil || !strings.Contains(err.Error(), "can't be read") {
		t.Errorf("%v", err)
	}
	s := Open(state, keys.get)
	is(t, s, Network, "never")
	is(t, s, Level, "none")
	is(t, s, Presence, "on")
	if text, err := os.ReadFile(Broken(state)); err != nil || string(text) != "{" {
		t.Errorf("%q, %v", text, err)
	}
	if err := s.Problem(); err == nil || !strings.Contains(err.Error(), Broken(state)) {
		t.Errorf("%v", err)
	}
	s = Open(state, keys.get)
	is(t, s, Network, "never")
	// The first one stays aside.
	write(t, state, "[")
	is(t, s, Network, "never")
	if text, err := os.ReadFile(Broken(state)); err != nil || string(text) != "{" {
		t.Errorf("%q, %v", text, err)
	}
	if waits, err := s.Set(Network, "ask"); !waits || err != nil {
		t.Errorf("%v, %v", waits, err)
	}
	// A link, and what others may write, aren't read either.
	other := t.TempDir()
	write(t, other, `{"version":1}`)
	if err := os.Chmod(File(other), 0o666); err != nil {
		t.Fatal(err)
	}
	is(t, Open(other, keys.get), Network, "never")
}

// The zero values have the usual settings and keep nothing.
func TestZero(t *testing.T) {
	for _, s := range []*Store{nil, new(Store)} {
		is(t, s, Network, "ask")
		if _, err := s.Set(Network, "never"); err == nil {
			t.Error("it was set")
		}
		if s.Agree(Change{Network, "never", "ask"}) == nil || s.Waiting() != nil || s.Problem() != nil {
			t.Error("something waits, or is wrong")
		}
	}
}
