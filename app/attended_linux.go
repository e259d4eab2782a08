package app

import (
	"context"
	"os"
	"time"

	"github.com/godbus/dbus/v5"
)

// systemBus is not the address in the environment, which is the caller's.
const systemBus = "unix:path=/run/dbus/system_bus_socket"

func openScreen(ctx context.Context) screen { return loginScreen(ctx, systemBus, os.Getuid()) }

// loginScreen asks logind (org.freedesktop.login1(5)) whether a graphical session of the user is in front and isn't locked. Where there is
// no logind, or no such session, the screen is another kind, of which nothing is known: it counts as seen.
func loginScreen(ctx context.Context, address string, uid int) screen {
	known := screen{seen: func() bool { return true }, close: func() {}}
	ctx, cancel := context.WithCancel(ctx)
	bus, err := dbus.Connect(address, dbus.WithContext(ctx))
	if err != nil {
		cancel()
		return known
	}
	signals, changed := make(chan *dbus.Signal, 64), make(chan struct{}, 1)
	bus.Signal(signals)
	// What logind says of its sessions, and that one has come or gone.
	err = bus.AddMatchSignalContext(ctx, dbus.WithMatchSender("org.freedesktop.login1"), dbus.WithMatchPathNamespace("/org/freedesktop/login1"))
	if err != nil {
		cancel()
		bus.Close()
		return known
	}
	go func() {
		for range signals { // closed with the connection
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	}()
	last := true
	return screen{
		seen: func() bool {
			if all, err := loginSessions(bus, uid); err == nil {
				last = len(all) == 0
				for _, p := range all {
					active, _ := p["Active"].Value().(bool)
					locked, _ := p["LockedHint"].Value().(bool)
					last = last || active && !locked
				}
			} // else what was known last
			return last
		},
		changed: changed,
		close: func() {
			bus.Close()
			cancel()
		},
	}
}

// loginSessions gives the properties of a user's graphical sessions that aren't ending.
func loginSessions(bus *dbus.Conn, uid int) (all []map[string]dbus.Variant, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	const login = "org.freedesktop.login1"
	var sessions []struct {
		ID   string
		UID  uint32
		User string
		Seat string
		Path dbus.ObjectPath
	}
	err = bus.Object(login, "/org/freedesktop/login1").
		CallWithContext(ctx, login+".Manager.ListSessions", dbus.FlagNoAutoStart).Store(&sessions)
	if err != nil {
		return nil, err
	}
	for _, s := range sessions {
		if int(s.UID) != uid {
			continue
		}
		var properties map[string]dbus.Variant
		err := bus.Object(login, s.Path).
			CallWithContext(ctx, "org.freedesktop.DBus.Properties.GetAll", 0, login+".Session").Store(&properties)
		if err != nil {
			continue // it ended in between
		}
		kind, _ := properties["Type"].Value().(string)
		class, _ := properties["Class"].Value().(string)
		state, _ := properties["State"].Value().(string)
		if (kind == "x11" || kind == "wayland" || kind == "mir") && (class == "user" || class == "user-early") && state != "closing" {
			all = append(all, properties)
		}
	}
	return all, nil
}

// notify shows a notification (freedesktop.org's Desktop Notifications Specification) and gives what takes it back.
func notify(n Notice) (withdraw func()) {
	if !hasSessionBus() { // the library would start one
		return func() {}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	bus, err := dbus.ConnectSessionBus()
	if err != nil {
		return func() {}
	}
	const name = "org.freedesktop.Notifications"
	desktop := bus.Object(name, "/org/freedesktop/Notifications")
	var id uint32
	err = desktop.CallWithContext(ctx, name+".Notify", 0, "Handrail", uint32(0), "handrail", n.Title, n.Text, []string{},
		map[string]dbus.Variant{"urgency": dbus.MakeVariant(byte(1))}, int32(0)).Store(&id)
	if err != nil {
		bus.Close()
		return func() {}
	}
	return func() { // the connection stays until then: some desktops take back what one leaves that goes
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = desktop.CallWithContext(ctx, name+".CloseNotification", 0, id).Err
		bus.Close()
	}
}
