package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestStartAtLogin(t *testing.T) {
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	is := func(want bool) {
		t.Helper()
		if got, err := StartsAtLogin(); got != want || err != nil {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
	}
	is(false)
	must(t, StartAtLogin("/opt/x", false)) // it isn't there
	must(t, StartAtLogin(`/opt/a b/$h"\%f`, true))
	is(true)
	file := filepath.Join(config, "autostart", "handrail.desktop")
	text, err := os.ReadFile(file)
	must(t, err)
	// The string's escapes are undone first, then those of the quotes.
	if want := "Exec=\"/opt/a b/\\\\$h\\\\\"\\\\\\\\%%f\"\n"; !strings.Contains(string(text), want) || !strings.HasPrefix(string(text), "[Desktop Entry]\n") {
		t.Errorf("%s, want %s", text, want)
	}
	for _, off := range []string{"Hidden=true", "X-GNOME-Autostart-enabled=false"} {
		must(t, os.WriteFile(file, []byte(string(text)+off+"\n"), 0o644))
		is(false)
	}
	must(t, StartAtLogin("/opt/handrail", true))
	is(true)
	must(t, StartAtLogin("/opt/handrail", false))
	is(false)
	if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
	for _, bad := range []string{"handrail", "/opt/a\nExec=b"} {
		if StartAtLogin(bad, true) == nil {
			t.Errorf("%q would be started", bad)
		}
	}
	t.Setenv("XDG_CONFIG_HOME", "relative")
	t.Setenv("HOME", "/home/ann")
	if got := LoginFile(); got != "/home/ann/.config/autostart/handrail.desktop" {
		t.Error(got)
	}
}
