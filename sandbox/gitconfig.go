package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Git repository's config can name programs that Git runs (core.fsmonitor, filters, aliases, hooks elsewhere), so a command
// never writes one. What `git init`, `git clone` and `git checkout` need is done for them: the supervisor reads the new text,
// and puts a copy in place when every entry is harmless.

// harmlessSettings are entries that run nothing and send nothing anywhere, by section and key, all lower-case.
var harmlessSettings = &names{list: []string{
	"core.repositoryformatversion", "core.filemode", "core.bare", "core.logallrefupdates", "core.ignorecase", "core.precomposeunicode",
	"core.symlinks", "core.autocrlf", "core.eol", "core.safecrlf", "core.quotepath", "core.longpaths", "core.sharedrepository",
	"extensions.objectformat", "extensions.refstorage", "extensions.partialclone", "init.defaultbranch", "user.name", "user.email",
	"remote.fetch", "remote.promisor", "remote.partialclonefilter", "remote.mirror", "remote.tagopt", "remote.url",
	"branch.remote", "branch.merge", "branch.rebase", "submodule.active", "submodule.url", "clone.defaultremotename", "pull.rebase", "pull.ff",
}}

// gitSetting is one entry of a Git config: section and key in lower case, the subsection as written.
type gitSetting struct{ section, sub, key, value string }

func (s gitSetting) name() string { return s.section + "." + s.key }

// parseGitConfig reads the plain part of Git's syntax (git-config(1), "Syntax") and refuses the rest: what this and Git might
// read differently is never let through.
func parseGitConfig(text string) ([]gitSetting, error) {
	if !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\r\ufeff") {
		return nil, errors.New("not plain text")
	}
	var out []gitSetting
	var section, sub string
	for i, line := range strings.Split(text, "\n") {
		line = strings.Trim(line, " \t")
		fail := func(why string) ([]gitSetting, error) { return nil, fmt.Errorf("line %d: %s", i+1, why) }
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case strings.HasSuffix(line, `\`):
			return fail("it goes on in the next line")
		case line[0] == '[':
			head, ok := strings.CutSuffix(line[1:], "]")
			if !ok {
				return fail("more than a section's name")
			}
			name, rest, quoted := strings.Cut(head, " ")
			sub = ""
			if quoted {
				rest = strings.TrimLeft(rest, " \t")
				if len(rest) < 3 || rest[0] != '"' || rest[len(rest)-1] != '"' || strings.ContainsAny(rest[1:len(rest)-1], "\"\\") {
					return fail("an unusual subsection")
				}
				sub = rest[1 : len(rest)-1]
			}
			if section = strings.ToLower(name); !isWord(section) {
				return fail("an unusual section")
			}
		default:
			key, value, ok := strings.Cut(line, "=")
			key = strings.ToLower(strings.TrimRight(key, " \t"))
			if !ok || section == "" || !isWord(key) {
				return fail("not a setting")
			}
			value = strings.TrimLeft(value, " \t")
			if strings.ContainsAny(value, "#;\\\t") {
				return fail("a comment, an escape or a tab in a value")
			}
			if strings.Contains(value, `"`) {
				if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' || strings.Count(value, `"`) != 2 {
					return fail("unusual quotes")
				}
				value = value[1 : len(value)-1]
			}
			out = append(out, gitSetting{section, sub, key, value})
		}
	}
	return out, nil
}

func isWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-')
	})
}

// harmlessConfig reports why a new repository's config is not harmless.
func harmlessConfig(text string) error {
	settings, err := parseGitConfig(text)
	if err != nil {
		return err
	}
	for _, s := range settings {
		switch {
		case !harmlessSettings.has(s.name()):
			return fmt.Errorf("the setting %s.%s", s.section, s.key)
		case s.key == "url" && !harmlessURL(s.value):
			return fmt.Errorf("the address %q", s.value)
		}
	}
	return nil
}

// harmlessURL refuses addresses that name a helper program ("ext::sh -c …") or that a program might take for an option.
func harmlessURL(url string) bool {
	if url == "" || url[0] == '-' || strings.Contains(url, "::") {
		return false
	}
	if scheme, rest, ok := strings.Cut(url, "://"); ok {
		return slices.Contains([]string{"https", "http", "ssh", "git", "file"}, scheme) && !strings.HasPrefix(rest, "-")
	}
	return true
}

// followsBranches reports why a change of an existing config does more than say which branch of a known remote a local branch
// follows, as `git checkout` and `git branch` do.
func followsBranches(before, after string) error {
	was, err := parseGitConfig(before)
	if err != nil {
		return fmt.Errorf("the present config: %w", err)
	}
	will, err := parseGitConfig(after)
	if err != nil {
		return err
	}
	remotes := map[string]bool{".": true}
	for _, s := range was {
		if s.section == "remote" {
			remotes[s.sub] = true
		}
	}
	follows := func(s gitSetting) bool {
		return s.section == "branch" && s.sub != "" && (s.key == "remote" || s.key == "merge" || s.key == "rebase")
	}
	rest := func(all []gitSetting) []gitSetting { return slices.DeleteFunc(slices.Clone(all), follows) }
	if !slices.Equal(rest(was), rest(will)) {
		return errors.New("it changes more than which branches are followed")
	}
	for _, s := range will {
		if follows(s) && s.key == "remote" && !remotes[s.value] && !slices.Contains(was, s) {
			return fmt.Errorf("branch %q would follow the unknown remote %q", s.sub, s.value)
		}
		if follows(s) && s.key == "rebase" && !slices.Contains([]string{"true", "false", "merges", "interactive"}, s.value) {
			return fmt.Errorf("branch %q would rebase with %q", s.sub, s.value)
		}
	}
	return nil
}

// CheckRepository reports why the Git folder dir (a .git folder or a bare repository) would run or trust something of its
// own, nil if it wouldn't: its config is harmless, its hooks are samples, and it points nowhere else. It is for a repository that
// a command made where nothing is protected, before it is moved to where the person uses it. Nothing may change it meanwhile.
func CheckRepository(dir string) error { return checkRepository(dir, true) }

// checkRepository takes settings of submodules and worktrees only when they are asked for.
func checkRepository(dir string, deep bool) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("checking a repository: %w", err)
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if gitNames.has(path) {
			return fs.SkipDir
		}
		from, to := protected(append([]string{".git"}, strings.Split(fold(path), "/")...))
		switch {
		case path == "." || from == to || from > 0: // a name that means nothing to Git
			return nil
		case !deep && strings.Contains(path, "/") && !strings.HasPrefix(path, "hooks/"):
		case entry.IsDir() && (entry.Name() == "hooks" || to == 3 && !protectedInGit.has(entry.Name())): // or a submodule's folder
			return nil
		case entry.Name() == "config" && entry.Type().IsRegular():
			return checkConfig(root, path)
		}
		return fmt.Errorf("%s may not be there", path)
	})
	if err != nil {
		return fmt.Errorf("checking a repository: %w", err)
	}
	return nil
}

func checkConfig(root *os.Root, path string) error {
	f, err := root.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return err
	}
	if len(text) > maxConfig {
		return fmt.Errorf("%s is too long", path)
	}
	if err := harmlessConfig(string(text)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// maxConfig bounds the configs that are read, in bytes.
const maxConfig = 1 << 20
