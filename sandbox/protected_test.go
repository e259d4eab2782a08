package sandbox

import (
	"strings"
	"testing"
)

func TestProtected(t *testing.T) {
	for name := range protectedNames { // the look before the look would miss another kind of name
		if name[0] != '.' && !strings.Contains(name, "opencode") {
			t.Errorf("%s is never looked for", name)
		}
	}
	for _, c := range []struct{ path, want string }{
		{"/w/a.txt", ""}, {"/w/bashrc", ""}, {"/w/.bashrc", ".bashrc"}, {"/w/.bashrc.bak", ""}, {"/w/x/.bashrc/y", ".bashrc"}, {"/w/.BASHRC", ".BASHRC"},
		{"/w/.git", ".git"}, {"/w/.git/HEAD", ""}, {"/w/.git/index", ""}, {"/w/.git/config", ".git/config"}, {"/w/.git/config.lock", ""}, {"/w/.git/configx", ""},
		{"/w/.git/config.worktree", ".git/config.worktree"}, {"/w/.git/commondir", ".git/commondir"}, {"/w/.git/info/exclude", ""}, {"/w/.git/info/attributes", ""},
		{"/w/.git/hooks", ".git/hooks"}, {"/w/.git/hooks/pre-commit", ".git/hooks"}, {"/w/.git/hooks/pre-commit.sample", ""}, {"/w/.git/hooks/x.sample/y", ".git/hooks"},
		{"/w/.git/hooks/.sample", ""}, {"/w/.Git/HOOKS/x", ".Git/HOOKS"}, {"/w/.git/objects/hooks", ""}, {"/w/.git/refs/heads/config", ""}, {"/w/.git/logs/refs/heads/hooks/x", ""},
		{"/w/.git/modules/a/config", ".git/modules/a/config"}, {"/w/.git/modules/a/b/hooks/x", ".git/modules/a/b/hooks"}, {"/w/.git/modules/refs/config", ".git/modules/refs/config"},
		{"/w/.git/worktrees/x/commondir", ".git/worktrees/x/commondir"}, {"/w/.git/foo/config", ".git/foo/config"}, {"/w/.git/refs/heads/.vscode", ".vscode"},
		{"/w/.git/modules", ""}, {"/w/.git/modules/a", ".git/modules/a"}, {"/w/.git/worktrees/a", ".git/worktrees/a"}, {"/w/.git/modules/a/HEAD", ""},
		{"/w/a.git", ""}, {"/w/a.git/HEAD", ""}, {"/w/a.git/config", "a.git/config"}, {"/w/a.git/hooks/x", "a.git/hooks"}, {"/w/a.git/worktrees/w/config", "a.git/worktrees/w/config"},
		{"/w/commondir", "commondir"}, {"/w/commondir/x", ""},
		{"/w/.claude", ".claude"}, {"/w/.claude/x", ""}, {"/w/.claude/commands", ".claude/commands"}, {"/w/.claude/commands/x", ".claude/commands"}, {"/w/.claude/settings.json", ".claude/settings.json"},
		{"/w/.claude/settings.local.json", ".claude/settings.local.json"}, {"/w/.claude/settings.txt", ""}, {"/w/.claude/Skills/x", ".claude/Skills"},
		{"/w/.vscode", ".vscode"}, {"/w/.vscode/x", ".vscode"}, {"/w/.mcp.json", ".mcp.json"}, {"/w/mcp.json", ""}, {"/w/.envrc", ".envrc"}, {"/w/.codex/config.toml", ".codex"},
		{"/w/.husky/x", ""}, {"/w/package.json", ""}, {"/w/.env", ""}, {"/w/.github/workflows/x.yml", ""},
		// Other ways to write a letter that some file system takes for the same.
		{"/w/.ba\u017fhrc", ".ba\u017fhrc"}, {"/w/.\u212ashrc", ".\u212ashrc"}, {"/w/.gitcon\ufb01g", ".gitcon\ufb01g"}, {"/w/.g\u200cit/hooks/x", ".g\u200cit/hooks"}, {"/w/.git\u00ad/config", ".git\u00ad/config"},
		{"/w/.vscod\u00e9", ""}, {"/w/.ＶＳcode", ""},
	} {
		name, ok := Protected(c.path)
		if name != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q %v, want %q", c.path, name, ok, c.want)
		}
	}
}

func FuzzProtected(f *testing.F) {
	for _, s := range []string{"/w/.git/hooks/x", "/w/.BashRC", "/w/a", "//", "", ".git", "/w/.g\u200cit/hooks", "/\xff/.git", "/w/\u1e9e", "\xf3\u01d2", "\u03af\u0345"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		name, ok := Protected(path)
		if ok && name == "" || ok && !strings.Contains(path, name) {
			t.Fatalf("%q: %q %v", path, name, ok)
		}
		if _, upper := Protected(strings.ToUpper(path)); ok && !upper && fold(path) == fold(strings.ToUpper(path)) {
			t.Fatalf("%q is protected and its upper case isn't", path)
		}
		if f := fold(path); fold(f) != f {
			t.Fatalf("%q folds to %q and on to %q", path, f, fold(f))
		}
	})
}
