package git

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"handrail/core/hint"
)

// Args are what a client asks for: an action, perhaps a way to do it, and the fields that it takes. There is no way to pass
// an option of git's. The zero value asks for nothing and is refused.
type Args struct {
	Action, Mode string
	Paths        []string // relative to the top of the work tree
	Message      string
	Ref          string // a commit, branch, tag or range
	Name         string // of a branch, tag or remote
	Remote       string
	URL          string
	Format       string
	MaxCount     int // 0: the action's own bound
	Staged       bool
	Discard      bool // changes that are stored nowhere may be lost
}

// Does says what an action does at most. Later ones do more.
type Does uint8

const (
	Nothing  Does = iota
	Reads         // changes nothing
	Writes        // changes the index, the work tree, refs or objects
	Settings      // changes which remotes and upstreams there are
	Makes         // makes a repository
	Fetches       // brings commits from a remote
	Sends         // sends commits to a remote
)

// Command is one way to do an action.
type Command struct {
	Action, Mode string
	Does         Does
	// Stores says that files of the work tree become content of the repository, so that filters matter.
	Stores bool
	// Takes names the fields of Args beside Action and Mode that it takes; those with a "!" must be given.
	Takes []string
	// Formats lists what Format may be, the first by default.
	Formats []string

	argv    func(Args) []string
	example Args
	gives   string // argv of the example
}

// MaxCount is how many commits log shows at most.
const MaxCount = 1000

const logFormat = "--format=%h %cs %an: %s%d"
const fullFormat = "--format=commit %H%d%nAuthor: %an <%ae>%nDate:   %aI%n%n%w(0,4,4)%B"

// untouched are the options with which git's output of differences runs no program of the repository's.
var untouched = []string{"--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "--no-color"}

// Commands is every action, in the order in which they are described. The first of an action is its default.
var Commands = []Command{
	{Action: "status", Does: Reads, Takes: []string{"paths"},
		argv: func(a Args) []string {
			return line("status", "--porcelain=v2", "--branch", "-z", "--ignore-submodules=dirty").paths(a)
		},
		example: Args{Paths: []string{"src"}}, gives: "status --porcelain=v2 --branch -z --ignore-submodules=dirty -- src"},
	{Action: "diff", Does: Reads, Takes: []string{"paths", "ref", "staged", "format"}, Formats: []string{"patch", "stat", "names"},
		argv: func(a Args) []string {
			return line("diff").add(untouched...).when(a.Staged, "--cached").format(a).ref(a).paths(a)
		},
		example: Args{Staged: true, Format: "stat"}, gives: "diff --no-ext-diff --no-textconv --ignore-submodules=dirty --no-color --cached --stat=100 --"},
	{Action: "log", Does: Reads, Takes: []string{"paths", "ref", "max_count", "format"}, Formats: []string{"short", "full", "stat", "patch"},
		argv: func(a Args) []string {
			n := a.MaxCount
			if n == 0 {
				n = 20
			}
			return line("log").add(untouched...).add("-n", strconv.Itoa(n)).format(a).ref(a).paths(a)
		},
		example: Args{Ref: "main..topic", MaxCount: 3}, gives: "log --no-ext-diff --no-textconv --ignore-submodules=dirty --no-color -n 3 " + logFormat + " main..topic --"},
	{Action: "show", Does: Reads, Takes: []string{"paths", "ref", "format"}, Formats: []string{"patch", "stat", "names"},
		argv: func(a Args) []string {
			return line("show").add(untouched...).add(fullFormat).format(a).ref(a).paths(a)
		},
		example: Args{Ref: "HEAD~1", Paths: []string{"a"}}, gives: "show --no-ext-diff --no-textconv --ignore-submodules=dirty --no-color " + fullFormat + " --patch HEAD~1 -- a"},
	{Action: "branch", Mode: "list", Does: Reads,
		argv:  func(Args) []string { return line("branch", "--list", "--all", "-vv", "--no-color") },
		gives: "branch --list --all -vv --no-color"},
	{Action: "branch", Mode: "create", Does: Writes, Takes: []string{"name!", "ref"},
		argv:    func(a Args) []string { return line("branch", "--no-track").add(a.Name).ref(a) },
		example: Args{Name: "topic", Ref: "main"}, gives: "branch --no-track topic main"},
	{Action: "branch", Mode: "delete", Does: Writes, Takes: []string{"name!"},
		argv:    func(a Args) []string { return line("branch", "-d").add(a.Name) },
		example: Args{Name: "topic"}, gives: "branch -d topic"},
	{Action: "branch", Mode: "upstream", Does: Settings, Takes: []string{"name!", "remote!", "ref"}},
	{Action: "add", Does: Writes, Stores: true, Takes: []string{"paths!"},
		argv:    func(a Args) []string { return line("add").paths(a) },
		example: Args{Paths: []string{"a", "-b"}}, gives: "add -- a -b"},
	{Action: "commit", Mode: "new", Does: Writes, Stores: true, Takes: []string{"message!", "paths"},
		argv:    func(a Args) []string { return line("commit", "--no-verify", "--no-gpg-sign", "-F", "-").paths(a) },
		example: Args{Message: "Say hello", Paths: []string{"a"}}, gives: "commit --no-verify --no-gpg-sign -F - -- a"},
	{Action: "commit", Mode: "amend", Does: Writes, Stores: true, Takes: []string{"message", "paths"},
		argv: func(a Args) []string {
			l := line("commit", "--amend", "--no-verify", "--no-gpg-sign")
			if a.Message == "" {
				return l.add("--no-edit").paths(a)
			}
			return l.add("-F", "-").paths(a)
		},
		gives: "commit --amend --no-verify --no-gpg-sign --no-edit --"},
	{Action: "push", Does: Sends, Takes: []string{"remote", "name"}},
	{Action: "pull", Mode: "ff_only", Does: Fetches, Takes: []string{"remote", "name"}},
	{Action: "pull", Mode: "merge", Does: Fetches, Takes: []string{"remote", "name"}},
	{Action: "pull", Mode: "rebase", Does: Fetches, Takes: []string{"remote", "name"}},
	{Action: "fetch", Does: Fetches, Takes: []string{"remote", "name"}},
	{Action: "checkout", Does: Writes, Takes: []string{"ref", "paths", "discard"},
		argv: func(a Args) []string {
			if len(a.Paths) > 0 {
				return line("checkout").ref(a).paths(a)
			}
			return line("checkout", "--no-guess").ref(a).add("--")
		},
		example: Args{Ref: "main"}, gives: "checkout --no-guess main --"},
	{Action: "switch", Mode: "existing", Does: Writes, Takes: []string{"name!"},
		argv:    func(a Args) []string { return line("switch", "--no-guess").add(a.Name) },
		example: Args{Name: "topic"}, gives: "switch --no-guess topic"},
	{Action: "switch", Mode: "create", Does: Writes, Takes: []string{"name!", "ref"},
		argv:    func(a Args) []string { return line("switch", "--no-track", "-c").add(a.Name).ref(a) },
		example: Args{Name: "topic", Ref: "origin/topic"}, gives: "switch --no-track -c topic origin/topic"},
	{Action: "merge", Mode: "start", Does: Writes, Takes: []string{"ref!", "message"},
		argv: func(a Args) []string {
			l := line("merge", "--no-verify", "--no-gpg-sign", "--no-edit", "--no-autostash")
			return l.when(a.Message != "", "--message="+a.Message).ref(a)
		},
		example: Args{Ref: "topic"}, gives: "merge --no-verify --no-gpg-sign --no-edit --no-autostash topic"},
	{Action: "merge", Mode: "continue", Does: Writes,
		argv: func(Args) []string { return line("commit", "--no-verify", "--no-gpg-sign", "--no-edit") }, gives: "commit --no-verify --no-gpg-sign --no-edit"},
	{Action: "merge", Mode: "abort", Does: Writes, argv: func(Args) []string { return line("merge", "--abort") }, gives: "merge --abort"},
	{Action: "rebase", Mode: "start", Does: Writes, Takes: []string{"ref!"},
		argv: func(a Args) []string {
			return line("rebase", "--no-verify", "--no-gpg-sign", "--no-autostash", "--no-autosquash", "--no-update-refs").ref(a)
		},
		example: Args{Ref: "main"}, gives: "rebase --no-verify --no-gpg-sign --no-autostash --no-autosquash --no-update-refs main"},
	{Action: "rebase", Mode: "continue", Does: Writes, argv: func(Args) []string { return line("rebase", "--continue") }, gives: "rebase --continue"},
	{Action: "rebase", Mode: "abort", Does: Writes, argv: func(Args) []string { return line("rebase", "--abort") }, gives: "rebase --abort"},
	{Action: "stash", Mode: "push", Does: Writes, Stores: true, Takes: []string{"message", "paths"},
		argv: func(a Args) []string {
			return line("stash", "push").when(a.Message != "", "--message="+a.Message).paths(a)
		},
		example: Args{Message: "-x"}, gives: "stash push --message=-x --"},
	{Action: "stash", Mode: "list", Does: Reads, argv: func(Args) []string { return line("stash", "list", "--no-color") }, gives: "stash list --no-color"},
	{Action: "stash", Mode: "show", Does: Reads, Takes: []string{"ref"},
		argv:    func(a Args) []string { return line("stash", "show", "--patch").add(untouched...).ref(a) },
		example: Args{Ref: "stash@{1}"}, gives: "stash show --patch --no-ext-diff --no-textconv --ignore-submodules=dirty --no-color stash@{1}"},
	{Action: "stash", Mode: "apply", Does: Writes, Takes: []string{"ref"},
		argv: func(a Args) []string { return line("stash", "apply").ref(a) }, gives: "stash apply"},
	{Action: "stash", Mode: "pop", Does: Writes, Takes: []string{"ref"},
		argv: func(a Args) []string { return line("stash", "pop").ref(a) }, gives: "stash pop"},
	{Action: "tag", Mode: "list", Does: Reads,
		argv: func(Args) []string { return line("tag", "--list", "--no-color", "-n1") }, gives: "tag --list --no-color -n1"},
	{Action: "tag", Mode: "create", Does: Writes, Takes: []string{"name!", "ref", "message"},
		argv: func(a Args) []string {
			l := line("tag", "--no-sign")
			if a.Message != "" {
				l = line("tag", "--annotate", "--no-sign", "-F", "-")
			}
			return l.add(a.Name).ref(a)
		},
		example: Args{Name: "v1", Message: "One"}, gives: "tag --annotate --no-sign -F - v1"},
	{Action: "clone", Does: Makes, Takes: []string{"url!"}},
	{Action: "init", Does: Makes},
	{Action: "restore", Does: Writes, Takes: []string{"paths!", "staged", "ref", "discard"},
		argv: func(a Args) []string {
			return line("restore").when(a.Staged, "--staged").when(!a.Staged, "--overlay").when(a.Ref != "", "--source="+a.Ref).paths(a)
		},
		example: Args{Paths: []string{"a"}, Ref: "HEAD~1"}, gives: "restore --overlay --source=HEAD~1 -- a"},
	{Action: "remote", Mode: "list", Does: Reads},
	{Action: "remote", Mode: "add", Does: Settings, Takes: []string{"name!", "url!"}},
	{Action: "remote", Mode: "set_url", Does: Settings, Takes: []string{"name!", "url!"}},
}

// argv is a command line that grows.
type argv []string

func line(words ...string) argv { return words }

func (l argv) add(words ...string) argv { return append(l, words...) }

func (l argv) when(yes bool, words ...string) argv {
	if yes {
		return append(l, words...)
	}
	return l
}

func (l argv) ref(a Args) argv { return l.when(a.Ref != "", a.Ref) }

// paths ends a command line: what stands behind the dashes is a path, whatever it looks like.
func (l argv) paths(a Args) []string { return append(append(l, "--"), a.Paths...) }

var formats = map[string][]string{
	"patch": {"--patch"}, "stat": {"--stat=100"}, "names": {"--name-status"}, "short": {logFormat}, "full": {fullFormat},
}

func (l argv) format(a Args) argv {
	if l[0] == "log" && (a.Format == "stat" || a.Format == "patch") {
		l = l.add(fullFormat)
	}
	return l.add(formats[a.Format]...)
}

// Actions lists the names of the actions.
func Actions() []string {
	var list []string
	for _, c := range Commands {
		if !slices.Contains(list, c.Action) {
			list = append(list, c.Action)
		}
	}
	return list
}

// Modes lists the modes that any action has.
func Modes() []string {
	var list []string
	for _, c := range Commands {
		if c.Mode != "" && !slices.Contains(list, c.Mode) {
			list = append(list, c.Mode)
		}
	}
	return list
}

// Command gives what a asks for, its defaults filled in, or a hint (code "bad_arguments") that says what is wrong: an
// unknown action, a field that the action doesn't take or that is missing, or a value that git could take for an option.
func (a *Args) Command() (Command, error) {
	c, err := a.find()
	if err != nil {
		return c, err
	}
	given := map[string]bool{"paths": len(a.Paths) > 0, "message": a.Message != "", "ref": a.Ref != "", "name": a.Name != "", "remote": a.Remote != "", "url": a.URL != "",
		"format": a.Format != "", "max_count": a.MaxCount != 0, "staged": a.Staged, "discard": a.Discard}
	var takes []string
	for _, f := range c.Takes {
		name, must := strings.CutSuffix(f, "!")
		takes = append(takes, name)
		if must && !given[name] {
			return c, bad("%s needs %s", c, name)
		}
	}
	for name, yes := range given {
		if yes && !slices.Contains(takes, name) {
			h := hint.New("bad_arguments", fmt.Sprintf("%s takes no %s", c, name))
			if len(takes) > 0 {
				h = h.Then("it takes " + strings.Join(takes, ", "))
			}
			return c, h
		}
	}
	if len(c.Formats) > 0 && a.Format == "" {
		a.Format = c.Formats[0]
	}
	if len(c.Formats) > 0 && !slices.Contains(c.Formats, a.Format) {
		return c, bad("%s has no format %q", c, a.Format)
	}
	if a.MaxCount < 0 || a.MaxCount > MaxCount {
		return c, bad("max_count is %d: it must be 1 to %d", a.MaxCount, MaxCount)
	}
	return c, a.check()
}

func (a Args) find() (Command, error) {
	var modes []string
	for _, c := range Commands {
		if c.Action != a.Action {
			continue
		}
		if a.Mode == "" || a.Mode == c.Mode {
			return c, nil
		}
		modes = append(modes, c.Mode)
	}
	h := hint.New("bad_arguments", fmt.Sprintf("there is no action %q", a.Action)).Then("the actions are " + strings.Join(Actions(), ", "))
	if len(modes) == 1 && modes[0] == "" {
		h = hint.New("bad_arguments", fmt.Sprintf("%s has no mode %q", a.Action, a.Mode)).Then("leave mode out")
	} else if len(modes) > 0 {
		h = hint.New("bad_arguments", fmt.Sprintf("%s has no mode %q", a.Action, a.Mode)).Then("its modes are " + strings.Join(modes, ", "))
	}
	return Command{}, h
}

// check refuses values that git could read as something else than what they are.
func (a Args) check() error {
	for _, f := range []struct{ name, value string }{{"ref", a.Ref}, {"name", a.Name}, {"remote", a.Remote}} {
		switch {
		case f.value == "":
		case f.value[0] == '-':
			return bad("%s %q starts like an option", f.name, f.value)
		case strings.ContainsFunc(f.value, func(r rune) bool { return r <= ' ' || r == 0x7f }):
			return bad("%s %q has a blank or a control character", f.name, f.value)
		case f.name != "ref" && strings.ContainsAny(f.value, ":+*?[~^\\"), f.name != "ref" && strings.Contains(f.value, ".."), f.name == "remote" && strings.ContainsAny(f.value, "/=\"'"):
			return bad("%s %q is no plain name", f.name, f.value).Because("a push or fetch takes one branch by its name, and never forces or deletes")
		}
	}
	for _, p := range a.Paths {
		if p == "" || strings.ContainsRune(p, 0) {
			return bad("a path is empty or holds a NUL character")
		}
	}
	if strings.ContainsRune(a.Message, 0) {
		return bad("the message holds a NUL character")
	}
	return nil
}

func bad(format string, args ...any) *hint.Hint {
	return hint.New("bad_arguments", fmt.Sprintf(format, args...))
}

// Argv gives git's arguments for what a asks, for an action that is one command of git. Args must have passed
// [Args.Command].
func (c Command) Argv(a Args) []string { return c.argv(a) }

// Touches gives commands of git that together list, with -z, the files of the work tree that c may change for a, so that
// protected names among them can be asked for before. A file may be listed that stays as it is. None for an action that
// leaves the work tree alone; what a clone writes is not listed.
func (c Command) Touches(a Args) [][]string {
	names := func(what ...string) []string {
		return line("diff", "--name-only", "-z", "--no-renames").add(untouched...).add(what...)
	}
	switch c.Action + " " + c.Mode {
	case "switch existing":
		return [][]string{names("HEAD", a.Name, "--")}
	case "switch create", "checkout ":
		switch {
		case len(a.Paths) > 0:
			return [][]string{line(names()...).ref(a).paths(a)}
		case a.Ref != "":
			return [][]string{names("HEAD", a.Ref, "--")}
		}
	case "restore ":
		if !a.Staged {
			return [][]string{line(names()...).ref(a).paths(a)}
		}
	case "merge start":
		return [][]string{names("HEAD..."+a.Ref, "--")}
	case "rebase start":
		return [][]string{names("HEAD..."+a.Ref, "--"), names(a.Ref+"...HEAD", "--")}
	case "merge abort":
		return [][]string{names("HEAD", "--")}
	case "rebase continue", "rebase abort":
		return [][]string{names("HEAD", "--"), names("HEAD", "ORIG_HEAD", "--")}
	case "stash push":
		return [][]string{line(names("HEAD")...).paths(a)}
	case "stash apply", "stash pop":
		return [][]string{line("stash", "show", "--name-only", "-z", "--no-renames").add(untouched...).ref(a)}
	}
	return nil
}

// String names the command as a client asks for it.
func (c Command) String() string {
	if c.Mode == "" {
		return c.Action
	}
	return c.Action + " (mode " + c.Mode + ")"
}
