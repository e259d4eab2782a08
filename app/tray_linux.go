package app

import (
	"os"
	"path/filepath"
)

// trayTitle is what panels call the icon.
const trayTitle = "Handrail"

// prepareTray reports whether there is a session bus, on which panels and icons find each other.
func prepareTray() error {
	if !hasSessionBus() {
		return ErrNoTray
	}
	return nil
}

// hasSessionBus looks where libraries look before they start a bus of their own, which nobody would be on.
func hasSessionBus() bool {
	if os.Getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return true
	}
	run := os.Getenv("XDG_RUNTIME_DIR")
	if run == "" {
		return false
	}
	info, err := os.Stat(filepath.Join(run, "bus"))
	return err == nil && info.Mode()&os.ModeSocket != 0
}
