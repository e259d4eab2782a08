package sandbox

import (
	"slices"
	"strings"
	"testing"
)

func TestProtected(t *testing.T) {
	for _, name := range protectedNames.list { // the look before the look would miss another kind of name
		if name[0] != '.' && !slices.ContainsFunc(undotted, func(s string) bool { return strings.Contains(name, s) }) {
			t.Errorf("%s is never looked for", name)
		}
	}
	// Every name, at any depth and in any case, with what is below it; and every part of a folder.
	for _, name := range protectedNames.list {
		for _, path := range []string{"/w/" + name, "/w/a/b/" + name + "/x", "/w/" + strings.ToUpper(name), "/w/r/.git/" + name} {
			if got, ok := Protected(path); !ok || fold(got) != name {
				t.Errorf("%s: %q %v", path, got, ok)
			}
		}
		for _, path := range []string{"/w/x" + name, "/w/" + name + "x"} {
			if got, ok := Protected(path); ok && fold(got) == name {
				t.Errorf("%s: %q", path, got)
			}
		}
	}
	for folder, parts := range protectedParts {
		for _, part := range parts {
			for _, path := range []string{"/w/" + folder + "/" + part, "/w/a/" + strings.ToUpper(folder+"/"+part), "/w/" + folder + "/" + part + "/x"} {
				if got, ok := Protected(path); !ok || fold(got) != folder+"/"+part {
					t.Errorf("%s: %q %v", path, got, ok)
				}
			}
		}
		if _, ok := Protected("/w/" + folder + "/store"); ok {
			t.Errorf("all of %s is protected", folder)
		}
		if _, ok := Protected("/w/" + folder); !ok { // or a prepared one could be moved there
			t.Errorf("%s isn't protected itself", folder)
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
		{"/w/a.git", ""}, {"/w/a.git/HEAD", "HEAD"}, {"/w/a.git/config", "a.git/config"}, {"/w/a.git/hooks/x", "a.git/hooks"}, {"/w/a.git/worktrees/w/config", "a.git/worktrees/w/config"},
		{"/w/commondir", "commondir"}, {"/w/commondir/x", ""},
		{"/w/HEAD", "HEAD"}, {"/w/x/head", "head"}, {"/w/HEAD/x", ""}, {"/w/HEADS", ""}, {"/w/HEAD.txt", ""}, {"/w/.git/logs/HEAD", ""}, {"/w/.git/worktrees/a/HEAD", ""}, {"/w/.git/modules/a/b/HEAD", ""},
		{"/w/.git/refs/remotes/origin/HEAD", "HEAD"}, {"/w/.git/foo/HEAD", "HEAD"}, {"/w/.git/objects/HEAD", "HEAD"}, {"/w/.git/ORIG_HEAD", ""}, {"/w/.git/FETCH_HEAD", ""}, {"/w/.git/x/logs/HEAD", "HEAD"},
		{"/w/.hg/hgrc", ".hg/hgrc"}, {"/w/.hg/store/00changelog.i", ""}, {"/w/.HG/HGRC-not-shared", ".HG/HGRC-not-shared"}, {"/w/hg/hgrc", ""}, {"/w/.hg", ".hg"}, {"/w/.hgignore", ""},
		{"/w/.jj/repo", ".jj/repo"}, {"/w/.jj/repo/store", ".jj/repo/store"}, {"/w/.jj/repo/op_store/x", ""}, {"/w/.jj/working_copy/checkout", ""}, {"/w/.jj/repo/store/git/config", ".jj/repo/store/git/config"},
		{"/w/.helix/languages.toml", ".helix"}, {"/w/a.code-workspace", "a.code-workspace"}, {"/w/my app.Sublime-Project", "my app.Sublime-Project"}, {"/w/code-workspace", ""},
		{"/w/mise.toml", "mise.toml"}, {"/w/promise.toml", ""}, {"/w/_darcs/prefs/defaults", "_darcs/prefs/defaults"}, {"/w/_darcs/hashed_inventory", ""}, {"/w/mi\u017fe.toml", "mi\u017fe.toml"},
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
