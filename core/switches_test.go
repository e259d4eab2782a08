package core

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"handrail/core/approval"
	"handrail/core/audit"
	"handrail/core/client"
	"handrail/core/grant"
)

// keyring is a stand-in for the keychain.
type keyring struct{ key []byte }

func (k *keyring) get(renew bool) ([]byte, error) {
	if renew || k.key == nil {
		k.key = append(k.key, 'k')
	}
	return bytes.Clone(k.key), nil
}

// switchWorld is a host with a keychain, whose person answers when told, and a client on a pipe; id is the client's credential.
func switchWorld(t *testing.T, change func(*Options)) (h *Host, person clicker, c *mcp.ClientSession, id string, others *grant.Switches) {
	t.Helper()
	o := options(t)
	keychain := new(keyring)
	person = clicker{make(chan approval.Request), make(chan func(approval.Request) approval.Decision)}
	o.Asker, o.SwitchKey = person, keychain.get
	if change != nil {
		change(&o)
	}
	if err := os.WriteFile(filepath.Join(o.Home, "letter.txt"), []byte("dear\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h = newHost(t, o)
	c, _ = joined(t, h)
	if _, failed := call(t, c, "read_file", map[string]any{"path": "none"}); !failed {
		t.Fatal("a file that isn't there is read")
	}
	id = client.Caller(os.Getppid()).ID
	if id == "stdio:unknown" {
		t.Fatal("this test runs under a program that the system can't tell")
	}
	return h, person, c, id, grant.OpenSwitches(h.opts.State, keychain.get, false)
}

// on has the person turn a switch on.
func (p clicker) on(t *testing.T, h *Host, id string, s grant.Switch) {
	t.Helper()
	n := len(h.audit.Recent(100, audit.Decision))
	if err := h.AskSwitch(id, string(s), true); err != nil {
		t.Fatal(err)
	}
	if r := p.sees(t); r.Kind != approval.TurnOn || r.Switch.Client != id || r.Switch.Name != string(s) || r.Switch.Opens == "" {
		t.Fatalf("asked %+v %+v", r, r.Switch)
	}
	p.says(t, func(r approval.Request) approval.Decision { return approval.Allow(r, "dialog") })
	if got := settled(t, h, n+1); got.Outcome != "allowed" || !h.gate.Switches.Of(id).Has(s) {
		t.Fatalf("%+v", got)
	}
}

// What is listed for the menu: who is connected, and who has a token or anything set.
func TestKnown(t *testing.T) {
	h, person, _, id, others := switchWorld(t, nil)
	if _, err := h.tokens.New("cursor", client.Look); err != nil {
		t.Fatal(err)
	}
	if err := others.Set("stdio:/opt/old/old", "edit", false); err != nil {
		t.Fatal(err)
	}
	person.on(t, h, id, grant.AllHome)
	if err := h.AskSwitch(id, "docker", true); err != nil {
		t.Fatal(err)
	}
	person.sees(t)
	var got []string
	for _, k := range h.Known() {
		name := k.Name
		if k.ID == id {
			name = "the caller"
		}
		var waits []string
		for _, w := range k.Waiting {
			waits = append(waits, w.Name())
		}
		got = append(got, fmt.Sprint(name, " ", k.Level, " ", k.Sessions, " ", len(k.Tools) > 10, " ", k.Held.On, k.Held.ToolsOff, waits))
	}
	slices.Sort(got)
	want := []string{"cursor look 0 false [] [] []", "old ask 0 true [] [edit] []", "the caller ask 1 true [home] [] [docker]"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	person.says(t, func(approval.Request) approval.Decision { return approval.Decision{} })
}

// A wish that another program writes is asked about at once, shows what it opens, and counts by a click on exactly that alone.
func TestSwitchAsked(t *testing.T) {
	// other answers another question.
	other := func(change func(*approval.Switch)) func(*Host, string, *grant.Switches, approval.Request) approval.Decision {
		return func(_ *Host, _ string, _ *grant.Switches, r approval.Request) approval.Decision {
			s := *r.Switch
			change(&s)
			r.Switch = &s
			return approval.Allow(r, "dialog")
		}
	}
	for _, c := range []struct {
		name    string
		answer  func(h *Host, id string, others *grant.Switches, r approval.Request) approval.Decision
		outcome string
		on      bool
	}{
		{"a click", func(_ *Host, _ string, _ *grant.Switches, r approval.Request) approval.Decision {
			return approval.Allow(r, "dialog")
		}, "allowed", true},
		{"refused", func(*Host, string, *grant.Switches, approval.Request) approval.Decision {
			return approval.Refuse(approval.Refused, "dialog", "")
		}, "refused", false},
		{"no answer", func(*Host, string, *grant.Switches, approval.Request) approval.Decision {
			return approval.Refuse(approval.NoAnswer, "dialog", "")
		}, "no_answer", false},
		{"unseen", func(*Host, string, *grant.Switches, approval.Request) approval.Decision {
			return approval.Refuse(approval.CouldNotShow, "dialog", "")
		}, "could_not_show", false},
		{"forged", func(*Host, string, *grant.Switches, approval.Request) approval.Decision {
			return approval.Decision{Verdict: approval.Allowed}
		}, "failed", false},
		{"an answer to another switch", other(func(s *approval.Switch) { s.Name = "outside" }), "failed", false},
		{"an answer for another client", other(func(s *approval.Switch) { s.Client = "stdio:/bin/other" }), "failed", false},
		{"taken back while it was shown", func(_ *Host, id string, others *grant.Switches, r approval.Request) approval.Decision {
			if err := others.Set(id, "home", false); err != nil {
				panic(err)
			}
			return approval.Allow(r, "dialog")
		}, "failed", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, person, assistant, id, others := switchWorld(t, nil)
			if err := SetSwitch(others, id, "home", true); err != nil {
				t.Fatal(err)
			}
			r := person.sees(t)
			if r.Kind != approval.TurnOn || *r.Switch != (approval.Switch{Client: id, Name: "home", Opens: "reads the whole home folder, but for the places where keys, passwords and sign-ins are kept"}) || r.Who != (client.Identity{}) {
				t.Errorf("asked %+v %+v", r, r.Switch)
			}
			if text, failed := call(t, assistant, "bash", map[string]any{"command": "cat ~/letter.txt"}); strings.HasPrefix(text, "dear") || failed {
				t.Errorf("it counts before the answer: %s", text)
			}
			recordedFirst(t, h, func() bool { return h.gate.Switches.Of(id).Has(grant.AllHome) })
			person.says(t, func(r approval.Request) approval.Decision { return c.answer(h, id, others, r) })
			if got := settled(t, h, 1); got.Outcome != c.outcome || !strings.Contains(got.Text, "turn on home for "+id) {
				t.Errorf("recorded as %q (%s), want %q", got.Outcome, got.Detail, c.outcome)
			}
			if got := h.gate.Switches.Of(id).Has(grant.AllHome); got != c.on {
				t.Errorf("on: %v", got)
			}
			if text, _ := call(t, assistant, "bash", map[string]any{"command": "cat ~/letter.txt"}); strings.HasPrefix(text, "dear\n") != c.on {
				t.Errorf("the home folder is read: %s", text)
			}
			if waits := len(h.gate.Switches.Waiting()) > 0; waits != (c.outcome == "could_not_show" || strings.HasPrefix(c.name, "forged") || strings.HasPrefix(c.name, "an answer")) {
				t.Errorf("it still waits: %v", waits)
			}
		})
	}
}

// What can't be recorded doesn't count, not for a moment: nothing is sealed anew. It waits as before.
func TestSwitchUnrecorded(t *testing.T) {
	keychain := &keyring{key: []byte("key")}
	h, person, _, id, others := switchWorld(t, func(o *Options) { o.SwitchKey = keychain.get })
	if err := SetSwitch(others, id, "home", true); err != nil {
		t.Fatal(err)
	}
	person.sees(t)
	before := len(keychain.key)
	person.says(t, func(r approval.Request) approval.Decision {
		_ = h.audit.Close()
		return approval.Allow(r, "dialog")
	})
	answered(t, h)
	if h.gate.Switches.Of(id).Has(grant.AllHome) || len(keychain.key) != before || len(h.gate.Switches.Waiting()) != 1 {
		t.Errorf("on %v, sealed %d times, waiting %v", h.gate.Switches.Of(id).On, len(keychain.key)-before, h.gate.Switches.Waiting())
	}
}

// The home folder is read by commands and by our own tools, but for what stays closed in it; off counts at once, and ends what runs by it.
func TestSwitchHome(t *testing.T) {
	h, person, c, id, others := switchWorld(t, func(o *Options) { o.Work = filepath.Join(o.Home, ".cache", "rooms") })
	home := h.opts.Home
	for path, text := range map[string]string{".ssh/id": "secret", ".cache/rooms/theirs/tmp/a": "theirs"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(home, path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, path), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	person.on(t, h, id, grant.AllHome)
	text, _ := call(t, c, "bash", map[string]any{"command": "cat ~/letter.txt; cat ~/.ssh/id ~/.cache/rooms/theirs/tmp/a ~/../state/* 2>&-; echo own > $TMPDIR/a; cat $TMPDIR/a; (echo x > ~/letter.txt) 2>&-; cat ~/letter.txt"})
	if !strings.HasPrefix(text, "dear\nown\ndear\n") {
		t.Errorf("a command reads %q", text)
	}
	if text, failed := call(t, c, "read_file", map[string]any{"path": home + "/letter.txt"}); failed || !strings.Contains(text, "dear") {
		t.Errorf("read_file: %s", text)
	}
	for _, path := range []string{home + "/.ssh/id", home + "/.cache/rooms/theirs/tmp/a", h.opts.State + "/switches.json"} {
		if text, failed := call(t, c, "read_file", map[string]any{"path": path}); !failed {
			t.Errorf("read_file %s: %s", path, text)
		}
	}
	if text, failed := call(t, c, "bash_bg", map[string]any{"action": "start", "command": "sleep 1000"}); failed {
		t.Fatal(text)
	}
	job := h.jobs.List("")[0]
	if err := others.Set(id, "home", false); err != nil { // as `handrail switch` does
		t.Fatal(err)
	}
	select {
	case <-job.Done():
	case <-time.After(time.Minute):
		t.Error("what runs by it goes on")
	}
	if text, _ := call(t, c, "bash", map[string]any{"command": "cat ~/letter.txt"}); strings.Contains(text, "dear") {
		t.Errorf("it is off, and read: %s", text)
	}
}

// A permission of the sandbox opens its socket to commands of that client, and to no other's: whatever that one calls itself.
func TestSwitchPermission(t *testing.T) {
	dir, err := os.MkdirTemp("", "agent") // the test's own folder may have too long a name for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprintln(conn, "an agent")
			conn.Close()
		}
	}()
	t.Setenv("SSH_AUTH_SOCK", l.Addr().String())
	h, person, c, id, _ := switchWorld(t, nil)
	dial := map[string]any{"command": `python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect("` + l.Addr().String() + `"); print(s.recv(99).decode(), end="")' 2>&-; echo sock=$SSH_AUTH_SOCK`}
	if text, _ := call(t, c, "bash", dial); strings.Contains(text, "an agent") || !strings.Contains(text, "sock=\n") {
		t.Errorf("nothing is on: %s", text)
	}
	person.on(t, h, id, grant.SSHAgent)
	if text, _ := call(t, c, "bash", dial); !strings.Contains(text, "an agent\nsock="+l.Addr().String()) {
		t.Errorf("the switch is on: %s", text)
	}
	// Another credential that calls itself the same.
	sessions := h.sessions.Live()
	twin := sessions[0].Client
	twin.ID = "stdio:/opt/other"
	s := h.sessions.Connect(twin, client.Ask)
	defer h.sessions.End(s.ID)
	if on := h.gate.Switches.Of(s.Client.ID); len(on.On) > 0 {
		t.Errorf("a client of the same name has %v", on.On)
	}
}

// A tool that is off isn't listed and can't be called, by that client alone; it comes back by a click.
func TestToolOff(t *testing.T) {
	h, person, c, id, others := switchWorld(t, nil)
	tools := func() (names []string) {
		t.Helper()
		fresh, _ := joined(t, h) // a client may keep a list for a minute
		list, err := fresh.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		return names
	}
	if !slices.Contains(tools(), "edit") || !slices.Contains(tools(), "apply_patch") {
		t.Fatal(tools())
	}
	if err := SetSwitch(others, id, "edit", false); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"edit", "apply_patch"} { // which would do the same
		if text, failed := call(t, c, name, map[string]any{}); !failed || !strings.Contains(text, "[turned_off]") {
			t.Errorf("%s: %s", name, text)
		}
		if slices.Contains(tools(), name) {
			t.Errorf("%s is listed", name)
		}
	}
	if text, failed := call(t, c, "bash", map[string]any{"command": "echo a; true"}); failed {
		t.Errorf("another tool: %s", text)
	}
	if err := SetSwitch(others, id, "edit", true); err != nil {
		t.Fatal(err)
	}
	if r := person.sees(t); !r.Switch.Tool || r.Switch.Name != "edit" {
		t.Errorf("asked %+v", r.Switch)
	}
	if slices.Contains(tools(), "edit") {
		t.Error("on without a click")
	}
	person.says(t, func(r approval.Request) approval.Decision { return approval.Allow(r, "dialog") })
	settled(t, h, 1)
	if !slices.Contains(tools(), "edit") {
		t.Error("off after the click")
	}
}

// What is turned on for a token ends with it: another of its name starts with nothing. A tool that is off stays off, also when its
// client gives the token back itself, and nobody is asked to turn it on.
func TestSwitchRevoked(t *testing.T) {
	h, person, _, _, others := switchWorld(t, nil)
	if _, err := Tokens(h.opts.State).New("cursor", client.Ask); err != nil {
		t.Fatal(err)
	}
	id := client.TokenID("cursor")
	person.on(t, h, id, grant.Docker)
	if list := h.Switches(); !slices.ContainsFunc(list, func(c ClientSwitches) bool { return c.Client == id && c.Held.Has(grant.Docker) }) {
		t.Errorf("%+v", list)
	}
	if err := h.AskSwitch(id, "edit", false); err != nil {
		t.Fatal(err)
	}
	if err := Tokens(h.opts.State).Revoke("cursor"); err != nil {
		t.Fatal(err)
	}
	h.switched() // as the next change of the file has it do
	if got := h.gate.Switches.Of(id); !got.Without("edit") || len(got.On) > 0 {
		t.Errorf("after it was taken back: %+v", got)
	}
	if _, err := Tokens(h.opts.State).New("cursor", client.Ask); err != nil {
		t.Fatal(err)
	}
	if err := others.Forget(id); err != nil { // as `handrail connect --revoke` does
		t.Fatal(err)
	}
	if got := h.gate.Switches.Of(id); len(got.On) > 0 || !got.Without("edit") || len(h.gate.Switches.Waiting()) > 0 {
		t.Errorf("the next token of that name has %+v; %v waits", got, h.gate.Switches.Waiting())
	}
	for _, x := range [][2]string{{id, "everything"}, {id, ""}, {"", "docker"}, {"stdio:unknown", "docker"}} {
		if err := h.AskSwitch(x[0], x[1], true); err == nil {
			t.Errorf("%q can be asked for", x)
		}
	}
}
