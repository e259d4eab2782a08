package core

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"handrail/core/approval"
	"handrail/core/audit"
	"handrail/core/client"
	"handrail/core/grant"
	"handrail/core/setting"
)

// settingWorld is a host with settings, whose person answers when told.
func settingWorld(t *testing.T) (*Host, clicker, *keyring) {
	t.Helper()
	o, keychain := options(t), new(keyring)
	if err := os.MkdirAll(o.State, 0o700); err != nil {
		t.Fatal(err)
	}
	person := clicker{make(chan approval.Request), make(chan func(approval.Request) approval.Decision)}
	o.Asker, o.Settings = person, setting.Open(o.State, keychain.get)
	return newHost(t, o), person, keychain
}

func allows(r approval.Request) approval.Decision { return approval.Allow(r, "dialog") }

// Nobody reaches the network any more, at once, whatever they were granted; nor are they asked. A click has them ask again.
func TestSetNetwork(t *testing.T) {
	h, person, _ := settingWorld(t)
	c, _ := joined(t, h)
	ask := func(allowed bool) (string, bool) {
		t.Helper()
		if allowed {
			go func() { <-person.shown; person.answers <- allows }()
		}
		return call(t, c, "request_access", map[string]any{"level": "network"})
	}
	if text, failed := ask(true); failed {
		t.Fatal(text)
	}
	if asks, err := h.Set(setting.Network, "never"); asks || err != nil {
		t.Fatal(asks, err)
	}
	if s := h.Status(); len(s.Clients) != 1 || len(s.Clients[0].Reach) != 0 {
		t.Errorf("%+v", s.Clients)
	}
	h.grants.AddReach(h.Status().Sessions[0].ID, grant.Network, "") // as if it had come at the same time
	if text, failed := ask(false); !failed || !strings.Contains(text, "the person has set that no assistant may") {
		t.Errorf("%v %s", failed, text)
	}
	n := len(h.audit.Recent(100, audit.Decision))
	if asks, err := h.Set(setting.Network, "ask"); !asks || err != nil {
		t.Fatal(asks, err)
	}
	r := <-person.shown
	if r.Kind != approval.ChangeSetting || *r.Setting != (approval.Setting{Name: "network", Was: "never", Now: "ask"}) {
		t.Fatalf("%+v %+v", r, r.Setting)
	}
	if text, failed := ask(false); !failed {
		t.Errorf("before the click: %s", text)
	}
	person.answers <- allows
	if got := settled(t, h, n+1); got.Outcome != "allowed" {
		t.Fatalf("%+v", got)
	}
	if text, failed := ask(true); failed {
		t.Error(text)
	}
}

// Who sets that nobody reaches the network finds it so, also when the watch on the file has noticed at the same time.
func TestSetNetworkNoticedTwice(t *testing.T) {
	h, _, _ := settingWorld(t)
	joined(t, h)
	if _, err := h.Set(setting.Network, "never"); err != nil {
		t.Fatal(err)
	}
	session := h.Status().Sessions[0].ID
	for range 100 {
		h.setting.enforcing.Lock()
		h.setting.offline = false
		h.grants.AddReach(session, grant.Network, "")
		h.setting.enforcing.Unlock()
		start := make(chan struct{})
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				<-start
				h.settingsChanged()
				if h.grants.Reaches(session, grant.Network, "") {
					t.Error("it still reaches the network")
				}
			})
		}
		close(start)
		both.Wait()
	}
}

// What a new client may do is what is set when it connects.
func TestSetLevel(t *testing.T) {
	h, person, _ := settingWorld(t)
	tools := func() int {
		t.Helper()
		c, _ := joined(t, h)
		list, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return len(list.Tools)
	}
	all := tools()
	for _, level := range []string{"look", "none"} {
		if asks, err := h.Set(setting.Level, level); asks || err != nil {
			t.Fatal(asks, err)
		}
		few := tools()
		if few >= all || level == "none" && few != 0 {
			t.Errorf("%s: %d tools of %d", level, few, all)
		}
	}
	if asks, err := h.Set(setting.Level, "ask"); !asks || err != nil {
		t.Fatal(asks, err)
	}
	<-person.shown
	if n := tools(); n != 0 {
		t.Errorf("%d tools before the click", n)
	}
	person.answers <- allows
	settled(t, h, 1)
	if n := tools(); n != all {
		t.Errorf("%d tools, want %d", n, all)
	}
	// More than it was started with it doesn't become.
	o := options(t)
	o.Level = client.Look
	if got := newHost(t, o).newLevel(); got != client.Look {
		t.Errorf("%v", got)
	}
}

// Commands run without a boundary by the person's click alone, say so each time, and end as soon as they may no more. Nothing else of a
// client's changes by it.
func TestSetProfile(t *testing.T) {
	h, person, _ := settingWorld(t)
	home := h.opts.Home
	for name, text := range map[string]string{"letter.txt": "dear", "work/old.txt": "old"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, _ := joined(t, h)
	command := func(tool, command string) string {
		t.Helper()
		text, _ := call(t, c, tool, map[string]any{"command": command})
		return text
	}
	const reach = "cat ~/letter.txt; echo x > ~/made.txt"
	bounded := func(when string) {
		t.Helper()
		for _, tool := range []string{"bash", "exec"} {
			if text := command(tool, reach); strings.Contains(text, "dear") || strings.Contains(text, "boundary") {
				t.Errorf("%s, %s: %s", when, tool, text)
			}
		}
		if _, err := os.Stat(filepath.Join(home, "made.txt")); err == nil {
			t.Errorf("%s: a command has written in the home folder", when)
		}
	}
	bounded("at first")
	if asks, err := h.Set(setting.Profile, "classic"); !asks || err != nil {
		t.Fatal(asks, err)
	}
	r := <-person.shown
	if r.Kind != approval.ChangeSetting || *r.Setting != (approval.Setting{Name: "profile", Was: "guarded", Now: "classic"}) {
		t.Fatalf("%+v %+v", r, r.Setting)
	}
	bounded("before the click")
	person.answers <- allows
	settled(t, h, 1)

	for _, tool := range []string{"bash", "exec"} {
		if text := command(tool, reach); !strings.Contains(text, "dear") || !strings.Contains(text, "no boundary") {
			t.Errorf("%s: %s", tool, text)
		}
		if err := os.Remove(filepath.Join(home, "made.txt")); err != nil {
			t.Errorf("%s: %v", tool, err)
		}
	}
	if last := h.audit.Recent(1, audit.Result); len(last) != 1 || !strings.Contains(last[0].Detail, "without a boundary") {
		t.Errorf("the log says %+v", last)
	}
	// What it changes in the workspace can be put back; there it deletes nothing, and our own files stay closed.
	if text := command("bash", "echo new > old.txt; rm old.txt; ls "+h.opts.State+" && echo seen"); strings.Contains(text, "seen\n") {
		t.Error(text)
	}
	if text, err := os.ReadFile(filepath.Join(home, "work/old.txt")); err != nil || string(text) != "new\n" {
		t.Errorf("%q, %v", text, err)
	}
	if change := h.Status().LastChange; change == nil {
		t.Error("nothing can be undone")
	} else if _, err := h.LookUndo(change.ID); err != nil {
		t.Error(err)
	}
	// The file tools ask as before.
	go func() {
		<-person.shown
		person.answers <- func(approval.Request) approval.Decision { return approval.Decision{} }
	}()
	if text, failed := call(t, c, "write_file", map[string]any{"path": filepath.Join(home, "work/sub/a.txt"), "content": "x"}); !failed {
		t.Error(text)
	}

	for _, narrow := range []struct {
		name  setting.Name
		value string
	}{{setting.Network, "never"}, {setting.Profile, "guarded"}} {
		if text, failed := call(t, c, "bash_bg", map[string]any{"action": "start", "command": "sleep 600"}); failed {
			t.Fatal(text)
		}
		running := h.jobs.List("")[0]
		if asks, err := h.Set(narrow.name, narrow.value); asks || err != nil {
			t.Fatal(asks, err)
		}
		select {
		case <-running.Done():
		case <-time.After(time.Minute):
			t.Errorf("%s %s: a command without a boundary still runs", narrow.name, narrow.value)
		}
		bounded(string(narrow.name) + " " + narrow.value)
		n := len(h.audit.Recent(100, audit.Decision))
		if asks, err := h.Set(setting.Network, "ask"); err != nil {
			t.Fatal(err)
		} else if asks {
			<-person.shown
			person.answers <- allows
			settled(t, h, n+1)
		}
	}
	// Who may only look runs nothing of the kind.
	if asks, err := h.Set(setting.Profile, "classic"); !asks || err != nil {
		t.Fatal(asks, err)
	}
	n := len(h.audit.Recent(100, audit.Decision))
	<-person.shown
	person.answers <- allows
	settled(t, h, n+1)
	if asks, err := h.Set(setting.Level, "look"); asks || err != nil {
		t.Fatal(asks, err)
	}
	looks, _ := joined(t, h)
	if text, _ := call(t, looks, "bash", map[string]any{"command": "cat " + filepath.Join(home, "letter.txt")}); strings.Contains(text, "dear") {
		t.Error(text)
	}
}

// Whatever isn't a click on exactly what was shown leaves a setting as it was, and what was refused isn't asked again.
func TestSetRefused(t *testing.T) {
	for _, c := range []struct {
		name    string
		answer  func(h *Host, r approval.Request) approval.Decision
		outcome string
		waits   bool // it is asked again later
	}{
		{"refused", func(*Host, approval.Request) approval.Decision {
			return approval.Refuse(approval.Refused, "dialog", "")
		}, "refused", false},
		{"no answer", func(*Host, approval.Request) approval.Decision {
			return approval.Refuse(approval.NoAnswer, "dialog", "")
		}, "no_answer", false},
		{"unseen", func(*Host, approval.Request) approval.Decision {
			return approval.Refuse(approval.CouldNotShow, "dialog", "")
		}, "could_not_show", true},
		{"forged", func(*Host, approval.Request) approval.Decision {
			return approval.Decision{Verdict: approval.Allowed}
		}, "failed", true},
		{"another folder", func(_ *Host, r approval.Request) approval.Decision {
			s := *r.Setting
			s.Now = "/etc"
			r.Setting = &s
			return approval.Allow(r, "dialog")
		}, "failed", true},
		{"another folder in its place", func(_ *Host, r approval.Request) approval.Decision {
			if err := os.Rename(r.Setting.Now, r.Setting.Now+".old"); err != nil {
				panic(err)
			}
			if err := os.Mkdir(r.Setting.Now, 0o755); err != nil {
				panic(err)
			}
			return approval.Allow(r, "dialog")
		}, "failed", true},
		{"taken back while it was shown", func(h *Host, r approval.Request) approval.Decision {
			if _, err := h.Set(setting.Workspace, ""); err != nil {
				panic(err)
			}
			return approval.Allow(r, "dialog")
		}, "failed", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, person, _ := settingWorld(t)
			other := filepath.Join(h.opts.Home, "other")
			if err := os.Mkdir(other, 0o755); err != nil {
				t.Fatal(err)
			}
			if asks, err := h.Set(setting.Workspace, other); !asks || err != nil {
				t.Fatal(asks, err)
			}
			<-person.shown
			person.answers <- func(r approval.Request) approval.Decision { return c.answer(h, r) }
			list := 1
			if got := settled(t, h, list); got.Outcome != c.outcome {
				// An answer that came too late is recorded as one, and then as failed.
				if got = settled(t, h, 2); got.Outcome != c.outcome {
					t.Errorf("%+v", got)
				}
			}
			value, waits := h.Setting(setting.Workspace)
			if value != "" || (waits != nil) != c.waits {
				t.Errorf("%q, waits %v", value, waits)
			}
		})
	}
}

// The workspace must be a folder that can be one, and is another from the next start.
func TestSetWorkspace(t *testing.T) {
	h, person, keychain := settingWorld(t)
	other := filepath.Join(h.opts.Home, "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"relative", h.opts.Home, "/", h.opts.State, h.opts.Work, filepath.Join(h.opts.Home, "none"), filepath.Join(h.opts.Home, ".ssh")} {
		if _, err := h.Set(setting.Workspace, bad); err == nil {
			t.Errorf("%s can be the workspace", bad)
		}
	}
	if asks, err := h.Set(setting.Workspace, other); !asks || err != nil {
		t.Fatal(asks, err)
	}
	if r := <-person.shown; r.Setting.Now != other || r.Setting.FolderID == (grant.ID{}) {
		t.Errorf("%+v", r.Setting)
	}
	person.answers <- allows
	settled(t, h, 1)
	if got := setting.Open(h.opts.State, keychain.get).Get(setting.Workspace); got != other {
		t.Errorf("%q", got)
	}
}

// A file that other hands changed narrows at once; what it widens is asked about at once.
func TestSettingsOfOtherHands(t *testing.T) {
	h, person, _ := settingWorld(t)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(setting.File(h.opts.State)+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(setting.File(h.opts.State)+".new", setting.File(h.opts.State)); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"version":1,"settings":{"network":"never"}}`)
	if !h.offline() {
		t.Error("it doesn't count")
	}
	write(`{"version":1,"settings":{"network":"ask"}}`)
	if r := <-person.shown; r.Setting.Name != "network" || r.Setting.Now != "ask" {
		t.Errorf("%+v", r.Setting)
	}
	if !h.offline() {
		t.Error("it counts before the click")
	}
	person.answers <- func(approval.Request) approval.Decision { return approval.Refuse(approval.Refused, "dialog", "") }
	settled(t, h, 1)
	if !h.offline() {
		t.Error("it counts after a no")
	}
}

// How much is kept for undo is what is set when Handrail starts.
func TestSetUndo(t *testing.T) {
	h, _, keychain := settingWorld(t)
	if h.undoBytes() != 1<<30 {
		t.Errorf("%d", h.undoBytes())
	}
	if asks, err := h.Set(setting.Undo, "30"); asks || err != nil {
		t.Fatal(asks, err)
	}
	next := &Host{opts: Options{Settings: setting.Open(h.opts.State, keychain.get)}}
	if next.undoBytes() != 10<<30 {
		t.Errorf("%d", next.undoBytes())
	}
}

// A folder is searched by a click alone; it is the folder that was shown.
func TestAskSearchFolder(t *testing.T) {
	h, person, _ := settingWorld(t)
	folder := filepath.Join(h.opts.Home, "papers")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"papers", filepath.Join(h.opts.Home, "none")} {
		if err := h.AskSearchFolder(bad); err == nil {
			t.Errorf("%s is asked about", bad)
		}
	}
	for i, answer := range []func(approval.Request) approval.Decision{
		func(approval.Request) approval.Decision { return approval.Refuse(approval.Refused, "dialog", "") }, allows} {
		if err := h.AskSearchFolder(folder); err != nil {
			t.Fatal(err)
		}
		if r := <-person.shown; r.Kind != approval.ChangeSetting || r.Setting.Name != SearchSetting || r.Setting.Now != folder {
			t.Errorf("%+v", r.Setting)
		}
		if got, err := h.SearchFolders(); err != nil || len(got) != 0 {
			t.Errorf("before a click: %q, %v", got, err)
		}
		person.answers <- answer
		settled(t, h, i+1)
	}
	until(t, h, "the folder is searched", func(Status) bool {
		got, err := h.SearchFolders()
		return err == nil && slices.Equal(got, []string{folder})
	})
}
