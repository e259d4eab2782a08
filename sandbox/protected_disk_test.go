package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

func TestProtectedAt(t *testing.T) {
	root := t.TempDir()
	for _, path := range []string{"bare/HEAD", "bare/objects/x", "bare/refs/x", "bare/hooks/x", "nearly/HEAD", "nearly/objects/x", "head/HEAD", "plain/config", "plain/objects/x", "plain/refs/x"} {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ path, want string }{
		{"bare/config", "config"}, {"bare/CONFIG", "CONFIG"}, {"bare/config.worktree", "config.worktree"}, {"bare/hooks/pre-push", "hooks/pre-push"}, {"bare/hooks", "hooks"}, {"bare/hooks/x.sample", ""},
		{"bare/hooks/a/x.sample", "hooks/a/x.sample"}, {"bare/hooks/x/y/z", "hooks/x/y/z"},
		{"bare/objects/y", ""}, {"bare/refs/heads/config", ""}, {"bare/description", ""}, {"bare/HEAD", "HEAD"}, {"bare/a/config", ""},
		{"nearly/refs/x", "refs/x"}, {"nearly/refs", "refs"}, {"nearly/Refs/x/y", "Refs/x/y"}, {"nearly/objects/y", ""}, {"nearly/config", ""}, {"nearly/hooks/x", ""},
		{"head/objects/x", "objects/x"}, {"head/refs/x", "refs/x"}, {"head/other", ""},
		{"plain/config", ""}, {"plain/hooks/x", ""}, {"plain/HEAD", "HEAD"}, {"plain/objects/y", ""}, {"new/config", ""}, {"new/refs/x", ""}, {".vscode/x", ".vscode"},
	} {
		if got, ok := ProtectedAt(filepath.Join(root, c.path)); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q %v, want %q", c.path, got, ok, c.want)
		}
	}
}
