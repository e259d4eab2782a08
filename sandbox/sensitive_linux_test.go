package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A command finds nothing in what CloseSensitive closes, by whatever name it comes there.
func TestCloseSensitive(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{".env", ".env.example", "a/.ENV.local", "a/b/store.kdbx", "a/.ssh/config", "plain.txt"} {
		path := filepath.Join(b.m.Workspace, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("SECRET of "+name+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(".env", filepath.Join(b.m.Workspace, "harmless.txt")); err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{
		"cat .env a/.ENV.local a/b/store.kdbx harmless.txt a/.ssh/config",
		"grep -rh SECRET .", "cp .env copy || cat .e*", "ls a/.ssh",
	} {
		p := ReadOnly(b.m).CloseSensitive()
		out, _ := b.sh(p, script)
		for line := range strings.Lines(out) {
			if strings.Contains(line, "SECRET") && !strings.Contains(line, "plain.txt") && !strings.Contains(line, ".env.example") {
				t.Errorf("%s: %s", script, line)
			}
		}
	}
	if out, _ := b.sh(ReadOnly(b.m).CloseSensitive(), "cat plain.txt .env.example"); strings.Count(out, "SECRET") != 2 {
		t.Errorf("what is open was closed: %s", out)
	}
	if out, _ := b.sh(ReadOnly(b.m), "cat .env"); !strings.Contains(out, "SECRET") {
		t.Errorf("without CloseSensitive: %s", out)
	}
}
