package git

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Setting is one entry of a Git configuration as git lists it: section and last part of Key in lower case.
type Setting struct {
	Scope string // "local", "worktree", "global", "command" …; empty where git wasn't asked
	Key   string
	Value string
}

// split gives the parts of a key: section, what stands between the first and the last dot, and the name.
func (s Setting) split() (section, sub, name string) {
	section, rest, _ := strings.Cut(s.Key, ".")
	if i := strings.LastIndexByte(rest, '.'); i >= 0 {
		return section, rest[:i], rest[i+1:]
	}
	return section, "", rest
}

// ParseSettings reads what `git config --list -z` writes; scoped says that it was asked with --show-scope. A text that isn't
// that is an error.
func ParseSettings(text []byte, scoped bool) ([]Setting, error) {
	var list []Setting
	for len(text) > 0 {
		var s Setting
		var entry []byte
		var ok bool
		if scoped {
			var scope []byte
			if scope, text, ok = bytes.Cut(text, []byte{0}); !ok {
				return nil, fmt.Errorf("reading settings: half an entry")
			}
			s.Scope = string(scope)
		}
		if entry, text, ok = bytes.Cut(text, []byte{0}); !ok {
			return nil, fmt.Errorf("reading settings: half an entry")
		}
		s.Key, s.Value, ok = strings.Cut(string(entry), "\n")
		if !ok { // a name without a value means true
			s.Value = "true"
		}
		if section, _, name := s.split(); section == "" || name == "" {
			return nil, fmt.Errorf("reading settings: the key %q", s.Key)
		}
		list = append(list, s)
	}
	return list, nil
}

// Last gives the value of a key that counts, the last one.
func Last(settings []Setting, key string) (value string, ok bool) {
	for _, s := range settings {
		if s.Key == key {
			value, ok = s.Value, true
		}
	}
	return value, ok
}

// quiet are the settings of every command: whatever the repository says, no program is started and nothing is done beside
// what was asked.
var quiet = []Setting{
	{Key: "core.fsmonitor", Value: "false"}, {Key: "core.hooksPath", Value: "/dev/null"}, {Key: "core.attributesFile", Value: "/dev/null"},
	{Key: "core.pager", Value: "cat"}, {Key: "core.editor", Value: ":"}, {Key: "sequence.editor", Value: ":"}, {Key: "core.sshCommand", Value: "false"},
	{Key: "core.gitProxy", Value: ""}, {Key: "advice.detachedHead", Value: "false"}, {Key: "advice.statusHints", Value: "false"}, {Key: "advice.mergeConflict", Value: "false"},
	{Key: "advice.resolveConflict", Value: "false"}, {Key: "advice.forceDeleteBranch", Value: "false"}, {Key: "advice.diverging", Value: "false"}, {Key: "advice.pushUpdateRejected", Value: "false"}, {Key: "core.quotePath", Value: "false"}, {Key: "color.ui", Value: "false"}, {Key: "column.ui", Value: "never"},
	{Key: "i18n.logOutputEncoding", Value: "UTF-8"}, {Key: "init.defaultBranch", Value: "main"},
	{Key: "commit.gpgSign", Value: "false"}, {Key: "tag.gpgSign", Value: "false"}, {Key: "tag.forceSignAnnotated", Value: "false"}, {Key: "push.gpgSign", Value: "false"},
	{Key: "log.showSignature", Value: "false"}, {Key: "merge.verifySignatures", Value: "false"},
	{Key: "gpg.program", Value: "false"}, {Key: "gpg.openpgp.program", Value: "false"}, {Key: "gpg.x509.program", Value: "false"}, {Key: "gpg.ssh.program", Value: "false"},
	{Key: "gpg.ssh.defaultKeyCommand", Value: "false"},
	{Key: "submodule.recurse", Value: "false"}, {Key: "diff.submodule", Value: "short"}, {Key: "diff.ignoreSubmodules", Value: "dirty"}, {Key: "status.submoduleSummary", Value: "false"},
	{Key: "fetch.recurseSubmodules", Value: "false"}, {Key: "push.recurseSubmodules", Value: "no"}, {Key: "push.followTags", Value: "false"},
	{Key: "gc.auto", Value: "0"}, {Key: "maintenance.auto", Value: "false"}, {Key: "commit.verbose", Value: "false"},
	{Key: "rebase.autoStash", Value: "false"}, {Key: "merge.autoStash", Value: "false"}, {Key: "rebase.updateRefs", Value: "false"}, {Key: "rebase.autoSquash", Value: "false"},
	{Key: "rerere.enabled", Value: "false"}, {Key: "credential.helper", Value: ""}, {Key: "http.followRedirects", Value: "false"}, {Key: "http.proxy", Value: ""},
	{Key: "http.sslVerify", Value: "true"}, {Key: "http.extraHeader", Value: ""}, {Key: "user.useConfigOnly", Value: "true"},
}

// textMerge is git's own merge of two texts, in the place of a driver that a repository names (gitattributes(5)).
const textMerge = "git merge-file --marker-size=%L %A %O %B"

// Neutral gives the settings that a command gets, to be put behind those of the repository: the same for every command, and
// those that switch off the programs that the repository's settings name. modules are the settings in its .gitmodules.
//
// A filter (gitattributes(5)) is switched off for reading and for filling the work tree, which then shows what is stored.
// With stores it is required instead, so that git fails rather than store a file that hasn't been through it. filters names
// filters known from elsewhere.
func Neutral(repository, modules []Setting, stores bool, filters ...string) []Setting {
	out := slices.Clone(quiet)
	seen := map[string]bool{}
	add := func(key, value string) {
		if !seen[key] {
			seen[key] = true
			out = append(out, Setting{Key: key, Value: value})
		}
	}
	filter := func(name string) {
		for _, part := range []string{"clean", "smudge", "process"} {
			add("filter."+name+"."+part, "")
		}
		add("filter."+name+".required", fmt.Sprint(stores))
	}
	for _, name := range filters {
		filter(name)
	}
	for _, s := range slices.Concat(repository, modules) {
		section, sub, name := s.split()
		switch section {
		case "filter":
			filter(sub)
		case "merge":
			if name == "driver" {
				add(s.Key, textMerge)
			}
		case "hook":
			add("hook."+sub+".enabled", "false")
			add("hook."+sub+".command", ":")
		case "credential":
			if name == "helper" {
				add(s.Key, "")
			}
		case "http":
			if value, ok := plainHTTP[name]; ok && sub != "" {
				add(s.Key, value)
			}
		case "remote":
			switch name {
			case "proxy":
				add(s.Key, "")
			case "mirror":
				add(s.Key, "false")
			}
		case "submodule":
			if sub != "" { // git looks into it otherwise, and obeys its settings there, which these don't reach
				add("submodule."+sub+".ignore", "dirty")
				add("submodule."+sub+".fetchrecursesubmodules", "false")
			}
		case "core":
			if name == "alternaterefscommand" {
				add(s.Key, "true")
			}
		}
	}
	return out
}

// plainHTTP are the settings of connections that would send them elsewhere or with something else, and what takes their
// place. Settings that aren't here and not in harmlessHTTP are hazards.
var plainHTTP = map[string]string{
	"proxy": "", "sslverify": "true", "extraheader": "", "followredirects": "false",
}

var harmlessHTTP = []string{"postbuffer", "version", "lowspeedlimit", "lowspeedtime", "maxrequests", "minsessions", "useragent", "schannelcheckrevoke", "sslbackend"}

// Hazards names the settings of a repository, sorted, with which no command on it may have the network or a sign-in: they
// change where it connects to, or they read other files of settings, which a command may change meanwhile.
func Hazards(repository []Setting) []string {
	var list []string
	for _, s := range repository {
		section, _, name := s.split()
		_, set := plainHTTP[name]
		switch {
		case section == "include" || section == "includeif",
			section == "url",
			section == "http" && !set && !slices.Contains(harmlessHTTP, name),
			section == "remote" && name == "vcs",
			section == "remote" && name == "fetch" && !harmlessRefspec(s.Value):
			list = append(list, s.Key)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// harmlessRefspec says that what is fetched changes nothing but the names that tell what a remote has.
func harmlessRefspec(spec string) bool {
	spec = strings.TrimPrefix(spec, "+")
	if strings.HasPrefix(spec, "^") {
		return true
	}
	_, to, ok := strings.Cut(spec, ":")
	return ok && (strings.HasPrefix(to, "refs/remotes/") || strings.HasPrefix(to, "refs/tags/"))
}

// plainCore are the settings of core that say how a repository is stored.
var plainCore = []string{"core.bare", "core.filemode", "core.repositoryformatversion", "core.logallrefupdates", "core.ignorecase", "core.precomposeunicode", "core.symlinks",
	"core.autocrlf", "core.eol", "core.sharedrepository"}

// Changed names the settings, sorted, that differ and may not: all but remote.*, branch.* and the plain ones of core. In
// those, a remote may get no program, and no address that [ParseRemote] doesn't read.
func Changed(before, after []Setting) []string {
	var list []string
	text := func(s Setting) string { return s.Key + "\n" + s.Value }
	count := map[string]int{}
	for _, s := range before {
		count[text(s)]--
	}
	for _, s := range after {
		count[text(s)]++
	}
	for entry, n := range count {
		key, value, _ := strings.Cut(entry, "\n")
		section, sub, name := Setting{Key: key}.split()
		switch {
		case n == 0, slices.Contains(plainCore, key), section == "branch" && sub != "":
		case section == "remote" && sub != "" && (name == "url" || name == "pushurl"):
			if _, err := ParseRemote(value); err != nil && n > 0 {
				list = append(list, key)
			}
		case section == "remote" && sub != "" && name == "fetch":
			if n > 0 && !harmlessRefspec(value) {
				list = append(list, key)
			}
		case section == "remote" && sub != "" && (n < 0 || name == "tagopt" || name == "prune" || name == "skipfetchall"):
		default:
			list = append(list, key)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
