package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/godbus/dbus/v5"
)

// SurfaceFactsNow looks at this process and asks the system, which takes at most two seconds.
func SurfaceFactsNow() SurfaceFacts {
	facts := SurfaceFacts{
		Display:  os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != "",
		Terminal: hasTerminal(),
	}
	// Not the address in the environment, which is the caller's.
	graphical, err := loginGraphical("unix:path=/run/dbus/system_bus_socket", os.Getuid())
	if err != nil {
		graphical = socketsGraphical("/tmp/.X11-unix", fmt.Sprintf("/run/user/%d", os.Getuid()), os.Getuid())
	}
	facts.Graphical = graphical
	return facts
}

// loginGraphical asks logind (org.freedesktop.login1(5)) whether the user has a graphical session that isn't ending. It is
// an error when there is no logind to ask.
func loginGraphical(address string, uid int) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	bus, err := dbus.Connect(address, dbus.WithContext(ctx))
	if err != nil {
		return false, fmt.Errorf("asking logind: %w", err)
	}
	defer bus.Close()
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
		return false, fmt.Errorf("asking logind: %w", err)
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
			return true, nil
		}
	}
	return false, nil
}

// socketsGraphical is for systems without logind: does an X server or a Wayland compositor listen that is the user's, or
// root's? X servers for people have low numbers; those for tests are started with high ones.
func socketsGraphical(x11, runtime string, uid int) bool {
	names, _ := filepath.Glob(filepath.Join(x11, "X[0-9]"))
	wayland, _ := filepath.Glob(filepath.Join(runtime, "wayland-[0-9]*"))
	for _, name := range append(names, wayland...) {
		info, err := os.Lstat(name)
		if err != nil || info.Mode()&os.ModeSocket == 0 {
			continue
		}
		if owner, _, ok := ownerOf(info); ok && (owner == uid || owner == 0) {
			return true
		}
	}
	return false
}
