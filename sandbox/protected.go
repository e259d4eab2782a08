package sandbox

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Names that another program trusts and runs or obeys later, at any depth of a granted folder: when a folder is opened in an
// editor or entered in a shell, when a version control system or an interpreter is started in it, when an assistant works there.
// What a person builds or runs by its own command (a Makefile, package.json) is not here: such files are named when they change
// (command.RunsLater). All are lower-case; fold brings what a file system might take for them to that form.
var (
	// protectedNames are closed with everything below them.
	protectedNames = &names{list: []string{
		// shells, terminals and sessions read these when they start
		".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv",
		".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".inputrc", ".tmux.conf", ".screenrc",
		".xprofile", ".xsession", ".xsessionrc", ".xinitrc", ".pam_environment",
		// run or read when a shell enters the folder
		".envrc", ".direnvrc", ".autoenv", ".autoenv.zsh", ".autoenv_leave.zsh", "mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml", ".mise", ".rtx.toml",
		// tools and interpreters that read them from the folder they are started in
		".gitconfig", ".gitmodules", ".hgrc", ".ripgreprc", ".gdbinit", ".lldbinit",
		".pdbrc", ".irbrc", ".pryrc", ".byebugrc", ".rdebugrc", ".rprofile", ".renviron", ".ghci", ".ocamlinit", ".iex.exs", ".erlang", ".octaverc", ".perldb", ".gnuplot",
		// editors
		".exrc", ".vimrc", ".gvimrc", ".lvimrc", ".nvimrc", ".nvim.lua", ".vim", ".nvim", ".neoconf.json", ".nlsp-settings", ".ycm_extra_conf.py", ".dir-locals.el", ".dir-locals-2.el", ".emacs", ".helix",
		".vscode", ".idea", ".zed", ".fleet", ".vs", ".nova", ".theia", ".lapce", ".externaltoolbuilders",
		// assistants
		".mcp.json", ".claude.json", ".cursor", ".codex", ".agent", ".agents", ".gemini", ".windsurf", ".continue", ".roo", ".roomodes", ".kiro",
		".amazonq", ".junie", ".opencode", "opencode.json", "opencode.jsonc", ".augment", ".trae", ".qwen", ".goose", ".crush", "crush.json", ".crush.json",
		".aider.conf.yml", ".aider.model.settings.yml", ".aider.model.metadata.json", ".copilot", ".cline", ".clinerules", ".kilocode", ".factory", ".warp", ".rovodev", ".openhands", ".zencoder", ".codebuddy",
		".iflow", ".antigravity", ".serena", ".amp", ".lmstudio",
	}}
	// protectedEndings are those of files that hold what a folder .vscode does, or more.
	protectedEndings = []string{".code-workspace", ".sublime-project"}
	// protectedParts are closed below a folder of that name with all below them; what else is in there is not. The folder itself,
	// and a folder on the way, may only be made: a prepared one can't be moved there.
	protectedParts = map[string][]string{
		".claude": {"commands", "agents", "skills", "hooks", "plugins", "output-styles"}, // and settings*.json
		".hg":     {"hgrc", "hgrc-not-shared", "sharedpath"},
		".sl":     {"config", "sharedpath"},
		".jj":     {"workspace-config.toml", "repo/config.toml", "repo/config-id", "repo/store/git_target", "repo/store/git/config", "repo/store/git/hooks"},
		".pijul":  {"config"},
		".bzr":    {"branch/branch.conf"},
		"_darcs":  {"prefs/defaults"},
	}
	// protectedWays are the folders of protectedParts and those on the way to the parts.
	protectedWays = sync.OnceValue(func() map[string]bool {
		ways := map[string]bool{}
		for folder, parts := range protectedParts {
			ways[folder] = true
			for _, part := range parts {
				for i := range part {
					if part[i] == '/' {
						ways[folder+"/"+part[:i]] = true
					}
				}
			}
		}
		return ways
	})
	// protectedInGit are closed below a Git folder, at any depth, for there are submodules and worktrees in it.
	protectedInGit = &names{list: []string{"hooks", "config", "config.worktree", "commondir"}}
	// gitNames are the parts of a Git folder where any name may be the name of a branch, a tag or an object.
	gitNames = &names{list: []string{"refs", "logs", "objects", "lfs"}}
	// undotted is how the protected names begin, or end, that don't begin with a dot.
	undotted = []string{"opencode.", "crush.", "mise.", "commondir", "_darcs", "head", ".git/", ".code-workspace", ".sublime-project"}
)

// names are a set. It is made when it is first asked, for the launcher is started for each command, and most of them need none.
type names struct {
	list []string
	once sync.Once
	set  map[string]bool
}

func (n *names) has(name string) bool {
	n.once.Do(func() {
		n.set = make(map[string]bool, len(n.list))
		for _, name := range n.list {
			n.set[name] = true
		}
	})
	return n.set[name]
}

// Protected reports whether path names something that another program trusts and runs or obeys later (a Git hook, a shell
// start-up file, an editor's or assistant's settings), and which part of it says so. Such names are asked for alone, each
// time, also inside a granted folder, whether or not they exist. Letter case and the ways to write a letter in Unicode make no
// difference. The names .git, .claude and the like are themselves protected; most of what is in those folders isn't. So is a file
// HEAD anywhere but in a folder .git: Git takes the folder that holds it, and folders objects and refs, for a repository.
func Protected(path string) (name string, ok bool) {
	whole := fold(path)
	if !strings.Contains(whole, "/.") && !strings.HasPrefix(whole, ".") && !slices.ContainsFunc(undotted, func(s string) bool { return strings.Contains(whole, s) }) {
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
		case protectedNames.has(e), slices.ContainsFunc(protectedEndings, func(end string) bool { return strings.HasSuffix(e, end) }):
			return i, i + 1
		case e == "commondir" && i == last:
			return i, i + 1
		case e == "head" && i == last && !isHead(el):
			return i, i + 1
		case protectedParts[e] != nil:
			if n := protectedPart(e, el[i+1:]); n > 0 {
				return i, i + n
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

// protectedPart says how many elements, from a folder of protectedParts and el, what is below it, are protected; 0 if none.
func protectedPart(folder string, el []string) int {
	if below := strings.Join(el, "/"); below == "" || protectedWays()[folder+"/"+below] {
		return 1 + len(el)
	}
	for _, part := range protectedParts[folder] {
		if n := strings.Count(part, "/") + 1; n <= len(el) && strings.Join(el[:n], "/") == part {
			return 1 + n
		}
	}
	if folder == ".claude" && strings.HasPrefix(el[0], "settings") && strings.HasSuffix(el[0], ".json") {
		return 2
	}
	return 0
}

// isHead reports whether a name HEAD is where Git itself keeps one: in a folder .git, with its log, and in the folders of submodules
// and worktrees. Whatever lies elsewhere in a Git folder could be moved out of it.
func isHead(el []string) bool {
	for i, e := range el[:len(el)-1] {
		if e != ".git" {
			continue
		}
		if rest := el[i+1 : len(el)-1]; len(rest) == 0 || rest[0] == "modules" || rest[0] == "worktrees" || len(rest) == 1 && rest[0] == "logs" {
			return true
		}
	}
	return false
}

// protectedGit says how many of the elements below a Git folder lead to a protected name, 0 if none does. A sample hook is
// none: Git never runs a name with that ending, and `git init` copies some.
func protectedGit(el []string) int {
	if gitNames.has(el[0]) {
		return 0
	}
	if len(el) == 2 && (el[0] == "modules" || el[0] == "worktrees") {
		return 2 // the folder of a submodule or worktree: with it its settings would come and go
	}
	for i, e := range el {
		if !protectedInGit.has(e) {
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
		case longFold(r) != "":
			b.WriteString(longFold(r))
		default:
			b.WriteRune(simpleFold(r))
		}
	}
	return norm.NFD.String(b.String()) // a folding may compose or order marks otherwise
}

// longFold gives the foldings into several letters that could spell a protected name, "" for other letters.
func longFold(r rune) string {
	switch r {
	case 'ß', 'ẞ':
		return "ss"
	case 'ﬀ':
		return "ff"
	case 'ﬁ':
		return "fi"
	case 'ﬂ':
		return "fl"
	case 'ﬃ':
		return "ffi"
	case 'ﬄ':
		return "ffl"
	case 'ﬅ', 'ﬆ':
		return "st"
	}
	return ""
}

// simpleFold gives the smallest lower-case letter of those that fold into one.
func simpleFold(r rune) rune {
	least := unicode.ToLower(r)
	for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
		least = min(least, unicode.ToLower(o))
	}
	return least
}
