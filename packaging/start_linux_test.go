//go:build package

package packaging

import (
	"testing"

	"github.com/godbus/dbus/v5"

	"handrail/app/apptest"
)

type panel chan struct{}

// RegisterStatusNotifierItem is what an icon calls on a panel (org.kde.StatusNotifierWatcher).
func (p panel) RegisterStatusNotifierItem(string) *dbus.Error {
	select {
	case p <- struct{}{}:
	default:
	}
	return nil
}

// desktop makes a display and a bus with a panel, which says when an icon comes.
func desktop(t *testing.T) (env []string, shown <-chan struct{}) {
	t.Helper()
	display, err := apptest.StartDisplay(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { display.Close() })
	bus, err := apptest.StartBus(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bus.Close() })
	conn, err := dbus.Connect(bus.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	icons := make(panel, 1)
	if err := conn.Export(icons, "/StatusNotifierWatcher", "org.kde.StatusNotifierWatcher"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.RequestName("org.kde.StatusNotifierWatcher", dbus.NameFlagDoNotQueue); err != nil {
		t.Fatal(err)
	}
	return append(display.Env(), "DBUS_SESSION_BUS_ADDRESS="+bus.Address), icons
}
