package app

import (
	"context"
	"time"

	"github.com/godbus/dbus/v5"
)

// DesktopIsDark asks the desktop (org.freedesktop.portal.Settings) whether the person wants dark windows. Who doesn't answer within
// 300 ms doesn't.
func DesktopIsDark() bool {
	if !hasSessionBus() {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	bus, err := dbus.ConnectSessionBus(dbus.WithContext(ctx))
	if err != nil {
		return false
	}
	defer bus.Close()
	var scheme dbus.Variant
	err = bus.Object("org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop").
		CallWithContext(ctx, "org.freedesktop.portal.Settings.ReadOne", dbus.FlagNoAutoStart, "org.freedesktop.appearance", "color-scheme").Store(&scheme)
	return err == nil && scheme.Value() == uint32(1)
}
