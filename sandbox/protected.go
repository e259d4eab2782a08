package sandbox

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Names that another program trusts and runs or obeys later, at any depth of a granted folder. All are lower-case; fold
// brings what a file system might take for them to that form.
var (
	// protectedNames are closed with everything below them.
	protectedNames = set(
		// shells read these when they start
		".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv",
		".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".inputrc", ".envrc",
		// tools that read them from the folder they are started in
		".gitconfig", ".gitmodules", ".ripgreprc", ".exrc", ".vimrc", ".gvimrc", ".nvimrc", ".nvim.lua", ".gdbinit", ".lldbinit",
		".pdbrc", ".irbrc", ".pryrc", ".rprofile",
		// editors
		".vscode", ".idea", ".zed", ".fleet", ".vs",
		// assistants
		".mcp.json", ".claude.json", ".cursor", ".codex", ".agents", ".gemini", ".windsurf", ".continue", ".roo", ".kiro",
		".amazonq", ".junie", ".opencode", "opencode.json", "opencode.jsonc", ".augment", ".trae", ".qwen", ".goose", ".crush",
		".aider.conf.yml", ".copilot",
	)
	// protectedInClaude are closed below a folder .claude; what else is in there is not.
	protectedInClaude = set("commands", "agents", "skills", "hooks", "plugins", "output-styles")
	// protectedInGit are closed below a Git folder, at any depth, for there are submodules and worktrees in it.
	protectedInGit = set("hooks", "config", "config.worktree", "commondir")
	// gitNames are the parts of a Git folder where any name may be the name of a branch, a tag or an object.
	gitNames = set("refs", "logs", "objects", "lfs")
)

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// Protected reports whether path names something that another program trusts and runs or obeys later (a Git hook, a shell
// start-up file, an editor's or assistant's settings), and which part of it says so. Such names are asked for alone, each
// time, also inside a granted folder, whether or not they exist. Letter case and the ways to write a letter in Unicode make no
// difference. The names .git and .claude are themselves protected; most of what is in those folders isn't.
func Protected(path string) (name string, ok bool) {
	whole := fold(path)
	if !strings.Contains(whole, ".git/") && !strings.Contains(whole, "/.") && !strings.HasPrefix(whole, ".") && !strings.Contains(whole, "opencode") &&
		!strings.Contains(whole, "commondir") {
		return "", false // most paths: none of the names below can be in it
	}
	elements := strings.Split(path, "/")
	folded := strings.Split(whole, "/")
	if len(folded) != len(elements) { // a character that folds to a slash: no file system has it, so nothing trusts it
		return path, true
	}
	from, to := protected(folded)
	return strings.Join(elements[from:to], "/"), from < to
}

// protected gives the range of folded elements that are protected, empty if none.
func protected(el []string) (from, to int) {
	last := len(el) - 1
	for i, e := range el {
		switch {
		case protectedNames[e]:
			return i, i + 1
		case e == "commondir" && i == last:
			return i, i + 1
		case e == ".claude":
			if i == last {
				return i, i + 1
			}
			next := el[i+1]
			if protectedInClaude[next] || strings.HasPrefix(next, "settings") && strings.HasSuffix(next, ".json") {
				return i, i + 2
			}
		case e == ".git":
			if i == last {
				return i, i + 1
			}
			if n := protectedGit(el[i+1:]); n > 0 {
				return i, i + 1 + n
			}
		case strings.HasSuffix(e, ".git") && i < last:
			if n := protectedGit(el[i+1:]); n > 0 {
				return i, i + 1 + n
			}
		}
	}
	return 0, 0
}

// protectedGit says how many of the elements below a Git folder lead to a protected name, 0 if none does. A sample hook is
// none: Git never runs a name with that ending, and `git init` copies some.
func protectedGit(el []string) int {
	if gitNames[el[0]] {
		return 0
	}
	if len(el) == 2 && (el[0] == "modules" || el[0] == "worktrees") {
		return 2 // the folder of a submodule or worktree: with it its settings would come and go
	}
	for i, e := range el {
		if !protectedInGit[e] {
			continue
		}
		if e == "hooks" && i == len(el)-2 && strings.HasSuffix(el[i+1], ".sample") {
			continue
		}
		return i + 1
	}
	return 0
}

// fold gives the form in which two names are compared that some file system may take for one: full case folding,
// canonical decomposition, and without the characters that HFS+ and ext4 ignore.
func fold(s string) string {
	ascii := true
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return strings.ToLower(s)
	}
	var b strings.Builder
	for _, r := range norm.NFD.String(strings.ToValidUTF8(s, "\ufffd")) {
		switch {
		case unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r), unicode.Is(unicode.Variation_Selector, r),
			unicode.Is(unicode.Cf, r):
		case longFolds[r] != "":
			b.WriteString(longFolds[r])
		default:
			b.WriteRune(simpleFold(r))
		}
	}
	return norm.NFD.String(b.String()) // a folding may compose or order marks otherwise
}

// longFolds are the foldings into several letters that could spell a protected name.
var longFolds = map[rune]string{'ß': "ss", 'ẞ': "ss", 'ﬀ': "ff", 'ﬁ': "fi", 'ﬂ': "fl", 'ﬃ': "ffi", 'ﬄ': "ffl", 'ﬅ': "st", 'ﬆ': "st"}

// simpleFold gives the smallest lower-case letter of those that fold into one.
func simpleFold(r rune) rune {
	least := unicode.ToLower(r)
	for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
		least = min(least, unicode.ToLower(o))
	}
	return least
}
