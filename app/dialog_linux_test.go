package app

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"handrail/core/approval"
)

// place puts a copy of the test binary, which waits for its parent's end, where handrail-ui belongs.
func place(t *testing.T, folder string) string {
	t.Helper()
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	path := filepath.Join(folder, "handrail-ui")
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStartDialogIn(t *testing.T) {
	for _, c := range []struct {
		name   string
		spoil  func(t *testing.T, folder, file string)
		wanted string
	}{
		{"as installed", func(*testing.T, string, string) {}, ""},
		{"not there", func(t *testing.T, _, file string) { must(t, os.Remove(file)) }, "no such file"},
		{"a link", func(t *testing.T, folder, file string) {
			must(t, os.Rename(file, file+"-real"))
			must(t, os.Symlink(file+"-real", file))
		}, "symbolic link"},
		{"a folder", func(t *testing.T, _, file string) { must(t, os.Remove(file)); must(t, os.Mkdir(file, 0o755)) }, "regular"},
		{"others may write it", func(t *testing.T, _, file string) { must(t, os.Chmod(file, 0o757)) }, "written by others"},
		{"others may write its folder", func(t *testing.T, folder, _ string) { must(t, os.Chmod(folder, 0o777)) }, "written by others"},
		{"not executable", func(t *testing.T, _, file string) { must(t, os.Chmod(file, 0o644)) }, "permission denied"},
		{"no program", func(t *testing.T, _, file string) { must(t, os.WriteFile(file, []byte("hello"), 0o755)) }, "exec format"},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "bin")
			must(t, os.Mkdir(folder, 0o755))
			file := place(t, folder)
			c.spoil(t, folder, file)
			if err := canAskIn(folder); (err == nil) != (c.wanted == "") || err != nil && !strings.Contains(err.Error(), c.wanted) {
				t.Errorf("doctor says %v, want %q", err, c.wanted)
			}
			p, err := startDialogIn(folder)
			if c.wanted != "" {
				if err == nil || !strings.Contains(err.Error(), c.wanted) {
					t.Errorf("%v, want %q", err, c.wanted)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer p.end()
			exe, err := os.Readlink("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/exe")
			if err != nil || exe != file {
				t.Errorf("%s runs (%v), want %s", exe, err, file)
			}
		})
	}
}

// Beside the test binary there is no handrail-ui, so the real start must fail closed.
func TestStartDialog(t *testing.T) {
	r := request(approval.EditFolder, nil)
	got := NewDialog(NewWords("en")).Ask(t.Context(), r)
	if got.Verdict != approval.CouldNotShow || !strings.Contains(got.Detail, "handrail-ui") {
		t.Errorf("%v (%s)", got.Verdict, got.Detail)
	}
}
