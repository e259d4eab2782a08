package app

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"handrail/app/apptest"
	"handrail/core/approval"
)

// seat is a stand-in for logind whose sessions of user 1000 can be locked and switched away.
type seat struct {
	bus *dbus.Conn
	mu  sync.Mutex
	all []map[string]dbus.Variant
}

// seatSession is one of them.
type seatSession struct {
	*seat
	at int
}

func (s seatSession) GetAll(string) (map[string]dbus.Variant, *dbus.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]dbus.Variant)
	for name, value := range s.all[s.at] {
		all[name] = value
	}
	return all, nil
}

// newSeat gives a seat with sessions of these types.
func newSeat(t *testing.T, address string, types ...string) *seat {
	t.Helper()
	conn, err := dbus.Connect(address)
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	s := &seat{bus: conn}
	sessions := make([][3]string, len(types))
	must(t, conn.Export(loginProperties{"wayland", "user", "active"}, "/org/freedesktop/login1/session/ben", "org.freedesktop.DBus.Properties"))
	for i, kind := range types {
		s.all = append(s.all, map[string]dbus.Variant{"Type": dbus.MakeVariant(kind), "Class": dbus.MakeVariant("user"), "State": dbus.MakeVariant("active"),
			"Active": dbus.MakeVariant(true), "LockedHint": dbus.MakeVariant(false)})
		must(t, conn.Export(seatSession{s, i}, sessionPath(i), "org.freedesktop.DBus.Properties"))
	}
	must(t, conn.Export(login1{sessions}, "/org/freedesktop/login1", "org.freedesktop.login1.Manager"))
	_, err = conn.RequestName("org.freedesktop.login1", dbus.NameFlagDoNotQueue)
	must(t, err)
	return s
}

// set changes a property of a session and says so.
func (s *seat) set(t *testing.T, at int, name string, value bool) {
	t.Helper()
	s.mu.Lock()
	s.all[at][name] = dbus.MakeVariant(value)
	s.mu.Unlock()
	must(t, s.bus.Emit(sessionPath(at), "org.freedesktop.DBus.Properties.PropertiesChanged", "org.freedesktop.login1.Session",
		map[string]dbus.Variant{name: dbus.MakeVariant(value)}, []string{}))
}

func TestLoginScreen(t *testing.T) {
	bus, err := apptest.StartBus(t.Context())
	must(t, err)
	defer bus.Close()
	if s := loginScreen(t.Context(), "unix:path=/none", 1000); !s.seen() {
		t.Error("without a system bus nothing is ever asked")
	}
	if s := loginScreen(t.Context(), bus.Address, 1000); !s.seen() {
		t.Error("without logind nothing is ever asked")
	}
	l := newSeat(t, bus.Address, "tty", "x11", "wayland")
	s := loginScreen(t.Context(), bus.Address, 1000)
	defer s.close()
	for _, c := range []struct {
		at    int
		name  string
		value bool
		want  bool
	}{
		{1, "LockedHint", true, true}, // the other one is in front
		{2, "LockedHint", true, false},
		{0, "LockedHint", false, false}, // it has no screen
		{1, "LockedHint", false, true},
		{1, "Active", false, false}, // another user's session is in front
		{2, "LockedHint", false, true},
	} {
		l.set(t, c.at, c.name, c.value)
		select {
		case <-s.changed:
		case <-time.After(time.Minute):
			t.Fatalf("%+v: nobody noticed", c)
		}
		if got := s.seen(); got != c.want {
			t.Errorf("%+v: seen %v", c, got)
		}
	}
	if s := loginScreen(t.Context(), bus.Address, 1001); !s.seen() {
		t.Error("of whom logind knows no session nothing is known")
	}
	l.bus.Close() // it restarts: what was known last holds
	if !s.seen() {
		t.Error("not seen any more")
	}
}

// A question isn't on the screen while that is locked, and comes afterwards; the notification of it goes then.
func TestLockedScreen(t *testing.T) {
	bus, err := apptest.StartBus(t.Context())
	must(t, err)
	defer bus.Close()
	l := newSeat(t, bus.Address, "x11")
	l.set(t, 0, "LockedHint", true)
	desk := notified(t)
	a := NewAttended(asks(nil), NewWords("en").Fixed())
	a.screen = func(ctx context.Context) screen { return loginScreen(ctx, bus.Address, 1000) }
	r := questions[0].request
	shown, answer := make(chan context.Context), make(chan approval.Decision)
	a.asker = asks(func(ctx context.Context, r approval.Request) approval.Decision {
		shown <- ctx
		select {
		case d := <-answer:
			return d
		case <-ctx.Done():
			return approval.Refuse(approval.Withdrawn, "dialog", "")
		}
	})
	result := make(chan approval.Decision, 1)
	go func() { result <- a.Ask(t.Context(), r) }()
	for range 2 {
		n := <-desk.shown
		if n.Title != "Handrail waits for you" || n.Text == "" {
			t.Errorf("%+v", n)
		}
		select {
		case <-shown:
			t.Fatal("shown on a locked screen")
		default:
		}
		l.set(t, 0, "LockedHint", false)
		ctx := <-shown
		<-desk.closed
		if len(result) == 0 && ctx.Err() != nil {
			t.Error("taken away")
		}
		l.set(t, 0, "LockedHint", true)
		<-ctx.Done() // it goes from the screen
	}
	<-desk.shown
	l.set(t, 0, "LockedHint", false)
	<-shown
	answer <- approval.Allow(r, "dialog")
	if d := <-result; d.Covers(r) != nil {
		t.Errorf("%+v", d)
	}
}

// desktop is a stand-in for what shows notifications.
type desktop struct {
	shown  chan Notice
	closed chan uint32
	odd    chan string // what a notification of ours must not have
}

func (d *desktop) Notify(app string, replaces uint32, icon, title, text string, actions []string, hints map[string]dbus.Variant, expires int32) (uint32, *dbus.Error) {
	if app != "Handrail" || len(actions) != 0 {
		d.odd <- app
	}
	d.shown <- Notice{title, text}
	return 7, nil
}

func (d *desktop) CloseNotification(id uint32) *dbus.Error {
	d.closed <- id
	return nil
}

// notified has notifications shown by a stand-in on a session bus of the test's own.
func notified(t *testing.T) *desktop {
	t.Helper()
	bus, err := apptest.StartBus(t.Context())
	must(t, err)
	t.Cleanup(bus.Close)
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", bus.Address)
	conn, err := dbus.Connect(bus.Address)
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	d := &desktop{make(chan Notice, 10), make(chan uint32, 10), make(chan string, 10)}
	t.Cleanup(func() {
		if len(d.odd) > 0 {
			t.Errorf("a notification of %q, or with buttons", <-d.odd)
		}
	})
	must(t, conn.Export(d, "/org/freedesktop/Notifications", "org.freedesktop.Notifications"))
	_, err = conn.RequestName("org.freedesktop.Notifications", dbus.NameFlagDoNotQueue)
	must(t, err)
	return d
}

func TestNotify(t *testing.T) {
	d := notified(t)
	withdraw := notify(Notice{"Handrail waits for you", "There is a question."})
	if n := <-d.shown; n != (Notice{"Handrail waits for you", "There is a question."}) {
		t.Errorf("%+v", n)
	}
	withdraw()
	if id := <-d.closed; id != 7 {
		t.Errorf("%d", id)
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/none")
	notify(Notice{"x", "y"})() // nobody is told, and nothing waits for it
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	t.Setenv("XDG_RUNTIME_DIR", "")
	notify(Notice{"x", "y"})()
}
