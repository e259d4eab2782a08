package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"handrail/app/apptest"
	"handrail/core/grant"
)

// fakeHost is a host that notes what it is told.
type fakeHost struct {
	mu      sync.Mutex
	status  Status
	changed func()
	told    chan string
}

func newFakeHost() *fakeHost { return &fakeHost{told: make(chan string, 10), changed: func() {}} }

func (h *fakeHost) Status() Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.status
}

func (h *fakeHost) Subscribe(changed func()) func() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changed = changed
	return func() { h.told <- "unsubscribed" }
}

// set changes the status while it holds its lock, which a subscriber must not mind.
func (h *fakeHost) set(change func(*Status)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change(&h.status)
	h.changed()
}

func (h *fakeHost) Pause(d time.Duration) {
	h.set(func(s *Status) { s.Paused = true })
	h.told <- fmt.Sprint("pause ", d)
}
func (h *fakeHost) Resume()         { h.set(func(s *Status) { s.Paused = false }); h.told <- "resume" }
func (h *fakeHost) Stop(job string) { h.told <- "stop " + job }
func (h *fakeHost) RevokeFolder(client, folder string) {
	h.told <- "revoke folder " + client + " " + folder
}
func (h *fakeHost) RevokeReach(client string, r grant.Reached) {
	h.told <- "revoke reach " + client + " " + r.What.String()
}
func (h *fakeHost) RevokeClient(client string)   { h.told <- "revoke client " + client }
func (h *fakeHost) LookForUpdates(on bool) error { h.told <- fmt.Sprint("updates ", on); return nil }
func (h *fakeHost) RevokeAll()                   { h.told <- "revoke all" }
func (h *fakeHost) Open(window string) error {
	h.told <- "open " + window
	return nil
}

func (h *fakeHost) AskUndo(change string) error {
	h.told <- "undo " + change
	return nil
}
func (h *fakeHost) AskSwitch(client, name string, on bool) error {
	h.told <- fmt.Sprint("switch ", client, " ", name, " ", on)
	return nil
}
func (h *fakeHost) Quit() { h.told <- "quit" }

func (h *fakeHost) hears(t *testing.T, want string) {
	t.Helper()
	select {
	case got := <-h.told:
		if got != want {
			t.Errorf("told %q, want %q", got, want)
		}
	case <-time.After(time.Minute):
		t.Fatalf("not told %q", want)
	}
}

// panel is a desktop's panel, as far as an icon sees it: org.kde.StatusNotifierWatcher.
type panel struct {
	bus   *dbus.Conn
	items chan dbus.Sender
	files chan string
}

func (p *panel) RegisterStatusNotifierItem(_ string, sender dbus.Sender) *dbus.Error {
	p.items <- sender
	return nil
}

// ShowItems is what a file manager does (org.freedesktop.FileManager1).
func (p *panel) ShowItems(files []string, _ string) *dbus.Error {
	p.files <- strings.Join(files, " ")
	return nil
}

// menu gives the labels that the icon's menu shows, each after those that lead to it, and their items' numbers.
func (p *panel) menu(t *testing.T, icon dbus.Sender) map[string]int32 {
	t.Helper()
	var revision uint32
	var root layout
	err := p.bus.Object(string(icon), "/StatusNotifierItem/menu").
		Call("com.canonical.dbusmenu.GetLayout", 0, int32(0), int32(-1), []string{}).Store(&revision, &root)
	must(t, err)
	labels := make(map[string]int32)
	root.collect(t, labels, "")
	return labels
}

// ticked is 1 for a label that is marked as on, 0 for one that is off.
func (p *panel) ticked(t *testing.T, icon dbus.Sender, label string) int32 {
	t.Helper()
	id := p.waitFor(t, icon, label)
	var on dbus.Variant
	must(t, p.bus.Object(string(icon), "/StatusNotifierItem/menu").
		Call("com.canonical.dbusmenu.GetProperty", 0, id, "toggle-state").Store(&on))
	state, ok := on.Value().(int32)
	if !ok {
		t.Fatalf("%q can't be ticked: %v", label, on)
	}
	return state
}

type layout struct {
	ID         int32
	Properties map[string]dbus.Variant
	Children   []dbus.Variant
}

func (l layout) collect(t *testing.T, labels map[string]int32, path string) {
	if visible, ok := l.Properties["visible"]; ok && visible.Value() == false {
		return
	}
	if label, ok := l.Properties["label"].Value().(string); ok {
		path = strings.TrimPrefix(path+" > "+label, " > ")
		labels[path] = l.ID
	}
	for _, child := range l.Children {
		var c layout
		must(t, dbus.Store([]any{child.Value()}, &c))
		c.collect(t, labels, path)
	}
}

// click clicks the item with a label, once the menu has it.
func (p *panel) click(t *testing.T, icon dbus.Sender, label string) {
	t.Helper()
	id := p.waitFor(t, icon, label)
	must(t, p.bus.Object(string(icon), "/StatusNotifierItem/menu").
		Call("com.canonical.dbusmenu.Event", 0, id, "clicked", dbus.MakeVariant(""), uint32(0)).Err)
}

func (p *panel) waitFor(t *testing.T, icon dbus.Sender, label string) int32 {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		labels := p.menu(t, icon)
		if id, ok := labels[label]; ok {
			return id
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-deadline:
			t.Fatalf("no %q among %v", label, labels)
		}
	}
}

// The library allows one tray a process, so this test walks through everything.
func TestRunTray(t *testing.T) {
	bus, err := apptest.StartBus(t.Context())
	must(t, err)
	defer bus.Close()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", bus.Address)
	conn, err := dbus.Connect(bus.Address)
	must(t, err)
	defer conn.Close()
	p := &panel{bus: conn, items: make(chan dbus.Sender, 1), files: make(chan string, 1)}
	must(t, conn.Export(p, "/StatusNotifierWatcher", "org.kde.StatusNotifierWatcher"))
	must(t, conn.Export(p, "/org/freedesktop/FileManager1", "org.freedesktop.FileManager1"))
	_, err = conn.RequestName("org.freedesktop.FileManager1", dbus.NameFlagDoNotQueue)
	must(t, err)

	host := newFakeHost()
	host.status = Status{Address: "http://127.0.0.1:7437"}
	ended := make(chan error, 1)
	go func() { ended <- runTray(t.Context(), host, NewWords("en").Fixed(), 0) }()

	// The panel comes after the icon, as at log-in.
	_, err = conn.RequestName("org.kde.StatusNotifierWatcher", dbus.NameFlagDoNotQueue)
	must(t, err)
	var icon dbus.Sender
	select {
	case icon = <-p.items:
	case <-time.After(time.Minute):
		t.Fatal("no icon")
	}
	for _, label := range []string{"Ready", "Address: http://127.0.0.1:7437", "Recent activity > Nothing yet", "Assistants > None is connected", "Folders > None is opened to an assistant", "Files that run later > None was changed",
		"Nothing to undo", "Pause for 10 minutes", "Pause until I resume", "Revoke all", "Quit Handrail"} {
		p.waitFor(t, icon, label)
	}

	host.set(func(s *Status) {
		s.Waiting = waitingNow[:1]
		s.Recent = []Activity{{noon, "Claude", "edit", "list.txt", OutcomeDone}}
	})
	p.waitFor(t, icon, "1 question waits for you")
	p.waitFor(t, icon, "Recent activity > 12:00  Claude: edit list.txt (done)")
	p.waitFor(t, icon, "Questions that wait > “Claude” wants to change files in “Holiday Photos”")

	file := filepath.Join(t.TempDir(), "package.json")
	must(t, os.WriteFile(file, nil, 0o644))
	host.set(func(s *Status) {
		*s = busy
		s.Later = []Later{{file, "Claude", noon}}
		s.Home = filepath.Dir(file)
	})
	for label, told := range map[string]string{
		"npm run dev -- --port 3004 (Claude) > Stop":           "stop job-4",
		"Assistants > Claude > May use the network > Revoke":   "revoke reach stdio:/opt/claude/claude network",
		"Assistants > Cursor > Revoke all that it was allowed": "revoke client http:cursor",
		"Folders > /home/ann/Downloads (Cursor) > Revoke":      "revoke folder http:cursor /home/ann/Downloads",
		"Undo last change: bash rm -rf old (Claude)…":          "undo 20260304-abc",
	} {
		p.click(t, icon, label)
		host.hears(t, told)
	}
	p.click(t, icon, "Files that run later > 12:00  ~/package.json (Claude)")
	select {
	case got := <-p.files:
		if got != "file://"+file {
			t.Errorf("shows %s", got)
		}
	case <-time.After(time.Minute):
		t.Fatal("the file isn't shown")
	}
	// What is off is asked for, what is on goes off; a mark changes when the core says so.
	ticks := func(label string, want int32) {
		t.Helper()
		if got := p.ticked(t, icon, label); got != want {
			t.Errorf("%q is ticked %d, want %d", label, got, want)
		}
	}
	const home = "Assistants > Claude > May look at the whole home folder"
	p.click(t, icon, home+"…")
	host.hears(t, "switch stdio:/opt/claude/claude home true")
	ticks(home+"…", 0)
	host.set(func(s *Status) {
		s.Assistants = slices.Clone(s.Assistants)
		s.Assistants[0].Held = grant.Held{On: []grant.Switch{grant.Docker, grant.AllHome}}
	})
	p.waitFor(t, icon, home)
	ticks(home, 1)
	p.click(t, icon, home)
	host.hears(t, "switch stdio:/opt/claude/claude home false")
	p.click(t, icon, "Assistants > Claude > Tools it may use > bash")
	host.hears(t, "switch stdio:/opt/claude/claude bash false")
	// What is over goes, what is new takes its place, and nothing is shown twice.
	host.set(func(s *Status) {
		s.Jobs, s.Assistants, s.Folders = s.Jobs[6:], s.Assistants[1:], nil
	})
	p.waitFor(t, icon, "Folders > None is opened to an assistant")
	labels := p.menu(t, icon)
	for label := range labels {
		if strings.Contains(label, "--port") && !strings.Contains(label, "3006") || strings.HasPrefix(label, "Assistants > Claude") || strings.HasPrefix(label, "Folders > /") {
			t.Errorf("%s is still there", label)
		}
	}
	for _, c := range []struct{ label, told string }{
		{"npm run dev -- --port 3006 (Claude) > Stop", "stop job-6"},
		{"Open Activity…", "open activity"},
		{"Connect an assistant…", "open connect"},
		{"Settings…", "open settings"},
		{"Pause for 10 minutes", "pause 10m0s"},
		{"Resume", "resume"},
		{"Pause until I resume", "pause 0s"},
		{"Resume", "resume"},
		{"Revoke all", "revoke all"},
		{"Quit Handrail", "quit"},
	} {
		if c.told == "resume" {
			p.waitFor(t, icon, "Paused: everything is refused")
		}
		p.click(t, icon, c.label)
		host.hears(t, c.told)
	}
	select {
	case err := <-ended:
		must(t, err)
	case <-time.After(time.Minute):
		t.Fatal("the tray stays")
	}
	host.hears(t, "unsubscribed")
	if len(host.told) != 0 {
		t.Errorf("told %q too", <-host.told)
	}
}

func TestNoTray(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	host := newFakeHost()
	if err := RunTray(t.Context(), host, NewWords("en").Fixed()); !errors.Is(err, ErrNoTray) || len(host.told) != 0 {
		t.Errorf("%v, told %d things", err, len(host.told))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var said bytes.Buffer
	must(t, Run(ctx, host, NewWords("en").Fixed(), &said))
	host.hears(t, "quit")
	if !strings.Contains(said.String(), "without an icon") {
		t.Errorf("said %q", said.String())
	}
}
