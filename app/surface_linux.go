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
	graphical, err := loginGraphical(systemBus, os.Getuid())
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
	sessions, err := loginSessions(bus, uid)
	if err != nil {
		return false, fmt.Errorf("asking logind: %w", err)
	}
	return len(sessions) > 0, nil
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
