package app

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/godbus/dbus/v5"
)

// revealFile shows a file in the file manager, as the freedesktop.org interface FileManager1 has it. It opens nothing.
func revealFile(path string) error {
	if !filepath.IsAbs(path) {
		return errors.New("showing a file: its path isn't absolute")
	}
	if _, err := os.Lstat(path); err != nil {
		return fmt.Errorf("showing a file: %w", err)
	}
	if !hasSessionBus() {
		return errors.New("showing a file: there is no session bus, and so no file manager")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	bus, err := dbus.ConnectSessionBus(dbus.WithContext(ctx))
	if err != nil {
		return fmt.Errorf("showing a file: %w", err)
	}
	defer bus.Close()
	address := url.URL{Scheme: "file", Path: path}
	call := bus.Object("org.freedesktop.FileManager1", "/org/freedesktop/FileManager1").
		CallWithContext(ctx, "org.freedesktop.FileManager1.ShowItems", 0, []string{address.String()}, "")
	if call.Err != nil {
		return fmt.Errorf("showing a file: %w", call.Err)
	}
	return nil
}
