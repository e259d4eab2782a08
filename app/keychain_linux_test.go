package app

import (
	"errors"
	"testing"

	"handrail/app/apptest"
)

func TestNoKeychain(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	if key, err := Secret("handrail-test", "a"); !errors.Is(err, ErrNoKeychain) || key != nil {
		t.Errorf("without a bus: %v", err)
	}
	bus, err := apptest.StartBus(t.Context())
	must(t, err)
	defer bus.Close()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", bus.Address)
	if key, err := Secret("handrail-test", "a"); !errors.Is(err, ErrNoKeychain) || key != nil {
		t.Errorf("on a bus without a keychain: %v", err)
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent")
	if key, err := Secret("handrail-test", "a"); !errors.Is(err, ErrNoKeychain) || key != nil {
		t.Errorf("on a bus that isn't there: %v", err)
	}
	if _, err := Secret("", "a"); err == nil {
		t.Error("a key without a service")
	}
}
