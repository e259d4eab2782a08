package app

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/godbus/dbus/v5"

	"handrail/app/apptest"
)

// login1 is a stand-in for logind with some sessions of user 1000, each {type, class, state}, and a screen of somebody
// else's.
type login1 struct{ sessions [][3]string }

type loginSession struct {
	ID   string
	UID  uint32
	User string
	Seat string
	Path dbus.ObjectPath
}

func (l login1) ListSessions() ([]loginSession, *dbus.Error) {
	list := []loginSession{{"99", 2000, "ben", "seat0", "/org/freedesktop/login1/session/ben"}}
	for i := range l.sessions {
		list = append(list, loginSession{fmt.Sprint(i), 1000, "ann", "seat0", sessionPath(i)})
	}
	return list, nil
}

func sessionPath(i int) dbus.ObjectPath {
	return dbus.ObjectPath(fmt.Sprintf("/org/freedesktop/login1/session/_%d", i))
}

type loginProperties [3]string

func (p loginProperties) GetAll(string) (map[string]dbus.Variant, *dbus.Error) {
	return map[string]dbus.Variant{"Type": dbus.MakeVariant(p[0]), "Class": dbus.MakeVariant(p[1]), "State": dbus.MakeVariant(p[2])}, nil
}

func TestLoginGraphical(t *testing.T) {
	bus, err := apptest.StartBus(t.Context())
	must(t, err)
	defer bus.Close()
	if _, err := loginGraphical(bus.Address, 1000); err == nil {
		t.Error("a bus without logind answered")
	}
	if _, err := loginGraphical("unix:path="+filepath.Join(t.TempDir(), "none"), 1000); err == nil {
		t.Error("no bus answered")
	}
	for _, c := range []struct {
		name     string
		sessions [][3]string
		want     bool
	}{
		{"none", nil, false},
		{"over ssh", [][3]string{{"tty", "user", "active"}}, false},
		{"a service", [][3]string{{"unspecified", "background", "active"}}, false},
		{"X11", [][3]string{{"x11", "user", "active"}}, true},
		{"Wayland, switched away", [][3]string{{"tty", "user", "active"}, {"wayland", "user", "online"}}, true},
		{"the login screen", [][3]string{{"wayland", "greeter", "active"}}, false},
		{"logging out", [][3]string{{"wayland", "user", "closing"}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, err := dbus.Connect(bus.Address)
			must(t, err)
			defer conn.Close()
			must(t, conn.Export(login1{c.sessions}, "/org/freedesktop/login1", "org.freedesktop.login1.Manager"))
			must(t, conn.Export(loginProperties{"wayland", "user", "active"}, "/org/freedesktop/login1/session/ben", "org.freedesktop.DBus.Properties"))
			for i, s := range c.sessions {
				must(t, conn.Export(loginProperties(s), sessionPath(i), "org.freedesktop.DBus.Properties"))
			}
			_, err = conn.RequestName("org.freedesktop.login1", dbus.NameFlagDoNotQueue)
			must(t, err)
			got, err := loginGraphical(bus.Address, 1000)
			must(t, err)
			if got != c.want {
				t.Errorf("graphical: %v", got)
			}
		})
	}
}

func TestSocketsGraphical(t *testing.T) {
	x11, runtime := t.TempDir(), t.TempDir()
	uid := os.Getuid()
	graphical := func() bool { return socketsGraphical(x11, runtime, uid) }
	if graphical() {
		t.Error("nothing listens")
	}
	for _, name := range []string{filepath.Join(x11, "X90"), filepath.Join(runtime, "bus")} {
		listen(t, name)
	}
	must(t, os.WriteFile(filepath.Join(x11, "X1"), nil, 0o600))
	if graphical() {
		t.Error("a test display, a bus and a plain file are no screen")
	}
	for _, name := range []string{filepath.Join(x11, "X0"), filepath.Join(runtime, "wayland-1")} {
		stop := listen(t, name)
		if !graphical() {
			t.Errorf("%s isn't seen", name)
		}
		stop()
	}
	if uid == 0 {
		stop := listen(t, filepath.Join(x11, "X2"))
		defer stop()
		must(t, os.Chown(filepath.Join(x11, "X2"), 12345, 12345))
		if graphical() {
			t.Error("another user's screen counts")
		}
	}
}

func listen(t *testing.T, name string) (stop func()) {
	t.Helper()
	l, err := net.Listen("unix", name)
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return func() { l.Close() }
}
