package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// LoginFile is the entry by which the desktop starts Handrail at login (freedesktop.org's Desktop Application Autostart
// Specification); "" where there is no folder for such.
func LoginFile() string {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) { // the specification has such values ignored
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "autostart", "handrail.desktop")
}

// StartsAtLogin says whether the entry is there and isn't switched off in it.
func StartsAtLogin() (bool, error) {
	text, err := os.ReadFile(LoginFile())
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading whether Handrail starts at login: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		switch strings.TrimSpace(line) {
		case "Hidden=true", "X-GNOME-Autostart-enabled=false":
			return false, nil
		}
	}
	return true, nil
}

// StartAtLogin has the desktop start a program of ours at login, or not any more.
func StartAtLogin(executable string, on bool) error {
	fail := func(err error) error { return fmt.Errorf("setting whether Handrail starts at login: %w", err) }
	file := LoginFile()
	if file == "" {
		return ErrNoLogin
	}
	if !on {
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fail(err)
		}
		return nil
	}
	exec, err := execKey(executable)
	if err != nil {
		return fail(err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fail(err)
	}
	text := "[Desktop Entry]\nType=Application\nName=Handrail\nIcon=handrail\nTerminal=false\nExec=" + exec + "\n"
	f, err := os.CreateTemp(filepath.Dir(file), ".handrail-*")
	if err != nil {
		return fail(err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		os.Remove(f.Name())
		return fail(err)
	}
	return nil
}

// execKey writes a program as the key Exec has it (Desktop Entry Specification): quoted, with what is special there escaped, and that
// again for a value that is a string.
func execKey(path string) (string, error) {
	if !filepath.IsAbs(path) || strings.ContainsFunc(path, unicode.IsControl) {
		return "", fmt.Errorf("%q can't be started by a desktop", path)
	}
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`", `$`, `\$`, `%`, `%%`).Replace(path)
	return `"` + strings.ReplaceAll(quoted, `\`, `\\`) + `"`, nil
}
