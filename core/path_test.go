package core

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestLoginPath(t *testing.T) {
	t.Setenv("SECRET_TOKEN", "secret")
	dir := t.TempDir()
	shell := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	// A shell of the person's that runs its start-up file, given as text, first.
	starts := `shift; PATH=/opt/mine/bin:$PATH; export PATH; ` + "%s\n" + `exec /bin/sh "$@"`
	for _, c := range []struct {
		name, shell string
		want        []string
	}{
		{"set", shell("set", fmt.Sprintf(starts, "")), []string{"/opt/mine/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"}},
		{"noisy", shell("noisy", fmt.Sprintf(starts, "printf 'Welcome, no new line'; echo PATH=/evil >&2")), []string{"/opt/mine/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"}},
		{"gets no secret", shell("secret", fmt.Sprintf(starts, `PATH=/$SECRET_TOKEN/x:$PATH`)), []string{"//x", "/opt/mine/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"}},
		{"fails", shell("fails", "exit 1"), nil},
		{"reads input", shell("reads", fmt.Sprintf(starts, "read x")), []string{"/opt/mine/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"}},
		{"says nothing", shell("quiet", "exit 0"), nil},
		{"no such shell", filepath.Join(dir, "none"), nil},
		{"no shell", "", nil},
		{"relative", "sh", nil},
	} {
		if got := loginPath(t.Context(), c.shell, dir); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A shell that never comes to an end is left, with what it started.
func TestLoginPathHangs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hangs")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nsleep 1000 & wait"), 0o755); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if got := loginPath(t.Context(), path, t.TempDir()); got != nil || time.Since(began) > 3*loginTime {
		t.Errorf("%q after %v", got, time.Since(began))
	}
}

func TestSearchPath(t *testing.T) {
	t.Setenv("PATH", "/usr/bin:relative::/own/bin/:/mine/bin")
	got := searchPath([]string{"/mine/bin", ".", "/usr/bin/"})
	if want := append([]string{"/mine/bin", "/usr/bin", "/own/bin"}, "/opt/homebrew/bin", "/usr/local/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
