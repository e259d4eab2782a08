package app

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"handrail/app/apptest"
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

func (h *fakeHost) Pause()     { h.set(func(s *Status) { s.Paused = true }); h.told <- "pause" }
func (h *fakeHost) Resume()    { h.set(func(s *Status) { s.Paused = false }); h.told <- "resume" }
func (h *fakeHost) RevokeAll() { h.told <- "revoke all" }
func (h *fakeHost) Quit()      { h.told <- "quit" }

func (h *fakeHost) hears(t *testing.T, want string) {
	t.Helper()
	select {
	case got := <-h.told:
		if got != want {
			t.Errorf("told %q, want %q", got, want)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("not told %q", want)
	}
}

// panel is a desktop's panel, as far as an icon sees it: org.kde.StatusNotifierWatcher.
type panel struct {
	bus   *dbus.Conn
	items chan dbus.Sender
}

func (p *panel) RegisterStatusNotifierItem(_ string, sender dbus.Sender) *dbus.Error {
	p.items <- sender
	return nil
}

// menu gives the labels that the icon's menu shows, and their items' numbers.
func (p *panel) menu(t *testing.T, icon dbus.Sender) map[string]int32 {
	t.Helper()
	var revision uint32
	var root layout
	err := p.bus.Object(string(icon), "/StatusNotifierItem/menu").
		Call("com.canonical.dbusmenu.GetLayout", 0, int32(0), int32(-1), []string{}).Store(&revision, &root)
	must(t, err)
	labels := make(map[string]int32)
	root.collect(t, labels)
	return labels
}

type layout struct {
	ID         int32
	Properties map[string]dbus.Variant
	Children   []dbus.Variant
}

func (l layout) collect(t *testing.T, labels map[string]int32) {
	if visible, ok := l.Properties["visible"]; ok && visible.Value() == false {
		return
	}
	if label, ok := l.Properties["label"].Value().(string); ok {
		labels[label] = l.ID
	}
	for _, child := range l.Children {
		var c layout
		must(t, dbus.Store([]any{child.Value()}, &c))
		c.collect(t, labels)
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
	deadline := time.After(20 * time.Second)
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
	p := &panel{bus: conn, items: make(chan dbus.Sender, 1)}
	must(t, conn.Export(p, "/StatusNotifierWatcher", "org.kde.StatusNotifierWatcher"))

	host := newFakeHost()
	host.status = Status{Address: "http://127.0.0.1:7437"}
	ended := make(chan error, 1)
	go func() { ended <- RunTray(t.Context(), host, NewWords("en")) }()

	// The panel comes after the icon, as at log-in.
	_, err = conn.RequestName("org.kde.StatusNotifierWatcher", dbus.NameFlagDoNotQueue)
	must(t, err)
	var icon dbus.Sender
	select {
	case icon = <-p.items:
	case <-time.After(20 * time.Second):
		t.Fatal("no icon")
	}
	for _, label := range []string{"Ready", "Address: http://127.0.0.1:7437", "Recent activity", "Nothing yet", "Pause", "Revoke all", "Quit Handrail"} {
		p.waitFor(t, icon, label)
	}

	host.set(func(s *Status) {
		s.Waiting = 1
		s.Recent = []Activity{{noon, "Claude", "edit", "list.txt", OutcomeDone}}
	})
	p.waitFor(t, icon, "1 question waits for you")
	p.waitFor(t, icon, "12:00  Claude: edit list.txt (done)")

	p.click(t, icon, "Pause")
	host.hears(t, "pause")
	p.waitFor(t, icon, "Paused: everything is refused")
	p.click(t, icon, "Resume")
	host.hears(t, "resume")
	p.click(t, icon, "Revoke all")
	host.hears(t, "revoke all")
	p.click(t, icon, "Quit Handrail")
	host.hears(t, "quit")
	select {
	case err := <-ended:
		must(t, err)
	case <-time.After(20 * time.Second):
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
	if err := RunTray(t.Context(), host, NewWords("en")); !errors.Is(err, ErrNoTray) || len(host.told) != 0 {
		t.Errorf("%v, told %d things", err, len(host.told))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var said bytes.Buffer
	must(t, Run(ctx, host, NewWords("en"), &said))
	host.hears(t, "quit")
	if !strings.Contains(said.String(), "without an icon") {
		t.Errorf("said %q", said.String())
	}
}
