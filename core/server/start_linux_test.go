package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The process that starts the app is systemd-run, with nothing of the client's environment but where systemd is.
func TestStart(t *testing.T) {
	dir := t.TempDir()
	said := filepath.Join(dir, "said")
	script := "#!/bin/sh\nprintf '%s\\n' \"$@\" > " + said + "\necho \"runtime=$XDG_RUNTIME_DIR\" >> " + said + "\n"
	if err := os.WriteFile(filepath.Join(dir, "systemd-run"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	t.Setenv("XDG_RUNTIME_DIR", "")
	os.Unsetenv("XDG_RUNTIME_DIR")
	app := App{BundleID: "x", Executable: "/opt/hand rail/handrail", Args: []string{"--state", "/s t"}}
	if err := app.Start(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(said)
	want := fmt.Sprintf("--user\n--quiet\n--collect\n--unit=handrail-app\n--\n/opt/hand rail/handrail\n--state\n/s t\nruntime=/run/user/%d\n", os.Getuid())
	if err != nil || string(got) != want {
		t.Errorf("systemd-run was given %q, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "systemd-run"), []byte("#!/bin/sh\necho Failed to connect to bus >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := app.Start(); err == nil || !strings.Contains(err.Error(), "Failed to connect to bus") {
		t.Errorf("a failure: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if err := app.Start(); err == nil || !strings.Contains(err.Error(), "no systemd-run") {
		t.Errorf("without systemd-run: %v", err)
	}
}
