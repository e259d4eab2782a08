package command

import "strings"

// gitGlobal are the options that come before git's subcommand (git(1)).
var gitGlobal = parseOptions(`-C=DIR -c=SETTING --exec-path[=DIR] --html-path --man-path --info-path -p --paginate -P --no-pager --no-replace-objects --no-lazy-fetch --bare --git-dir=DIR --work-tree=DIR
	--namespace=NAME --config-env=SETTING --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --no-optional-locks --no-advice --attr-source=TREE --list-cmds=LIST -v --version -h --help`)

// gitCall is a git command taken apart.
type gitCall struct {
	global arguments
	// sub is the subcommand, "" if there is none or it isn't known; args are the words after it.
	sub  string
	args []Word
}

func parseGit(args []Word) gitCall {
	g := gitCall{global: gitGlobal.parse(args, true)}
	if g.global.first < len(args) && !g.global.unsure {
		g.sub, _ = args[g.global.first].Literal()
		g.args = args[g.global.first+1:]
	}
	return g
}

// Git gives the subcommand of a segment that runs git, and the words after it.
func (s *Segment) Git() (subcommand string, args []Word, ok bool) {
	l := s.Command()
	if l == nil || canonical(l.Program.Name) != "git" {
		return "", nil, false
	}
	g := parseGit(l.Argv[1:])
	return g.sub, g.args, true
}

// gitCode notes what git is told to run.
func (s *scriptReader) gitCode(l *Layer) {
	g := parseGit(l.Argv[1:])
	add := func(what string, w Word, k InlineKind) {
		l.Code = append(l.Code, Inline{Label: l.Program.Name + " " + what, Text: w, Kind: k})
		l.Doubts |= InlineCode
	}
	for _, o := range g.global.options {
		switch o.name {
		case "-c", "--config-env", "--exec-path":
			add(o.name, o.value, Settings)
		}
	}
	if g.global.bad != "" || g.global.unsure {
		l.Doubts |= UnknownOption
	}
	for i, w := range g.args {
		name, attached, has := strings.Cut(w.Lead, "=")
		v := Word{Text: attached, Lead: attached}
		if !has && i+1 < len(g.args) {
			v = g.args[i+1]
		}
		switch {
		case strings.Contains(w.Text, "ext::"):
			add("ext::", w, Runs)
		case g.sub == "grep" && (strings.HasPrefix(w.Lead, "-O") || abbreviates(name, "--open-files-in-pager", 5)):
			add("grep -O", v, Runs)
		case g.sub == "rebase" && (strings.HasPrefix(w.Lead, "-x") || abbreviates(name, "--exec", 4)):
			add("rebase --exec", v, Runs)
		case (g.sub == "difftool" || g.sub == "mergetool") && (strings.HasPrefix(w.Lead, "-x") || abbreviates(name, "--extcmd", 4)):
			add(g.sub+" --extcmd", v, Runs)
		case g.sub == "bisect" && i == 0 && w.Is("run"), g.sub == "submodule" && w.Is("foreach"), g.sub == "filter-branch" && i == 0:
			add(g.sub+" "+w.Text, Word{Text: sentence(g.args[i+1:])}, Runs)
		case abbreviates(name, "--upload-pack", 6), abbreviates(name, "--receive-pack", 6), name == "--exec" && g.sub != "log", g.sub == "clone" && strings.HasPrefix(w.Lead, "-u"):
			add(name, v, Runs)
		case g.sub == "clone" && (name == "-c" || name == "--config"):
			add("clone "+name, v, Settings)
		case g.sub == "config" && !strings.HasPrefix(w.Lead, "-") && strings.Contains(w.Lead, ".") && i+1 < len(g.args):
			add("config "+w.Text, g.args[i+1], Settings)
		}
	}
}

// abbreviates reports whether a word is a long option or at least its first letters.
func abbreviates(word, option string, atLeast int) bool {
	return len(word) >= atLeast && strings.HasPrefix(option, word)
}

// gitReads are subcommands that change no file of the person's, whatever their arguments are; those that can write a
// file with --output are looked at for it.
var gitReads = set(`status diff log show shortlog blame annotate grep ls-files ls-tree ls-remote rev-parse rev-list cat-file describe name-rev merge-base cherry count-objects for-each-ref show-ref
	show-branch var version help check-ignore check-attr whatchanged range-diff diff-tree diff-files diff-index fsck verify-commit verify-tag archive add commit init mv fetch`)

// gitOptions are those of subcommands where an option decides whether something is lost.
var gitOptions = map[string]optionSet{
	"rm":       parseOptions("-f --force -n --dry-run -q --quiet --cached -r --ignore-unmatch --sparse --pathspec-from-file=FILE --pathspec-file-nul"),
	"clean":    parseOptions("-d -f --force -i --interactive -n --dry-run -q --quiet -e=PATTERN --exclude=PATTERN -x -X"),
	"checkout": parseOptions("-b=NAME -B=NAME -q --quiet --progress --no-progress -f --force --ours --theirs -t --track[=MODE] --no-track -l --detach -d --orphan=NAME --ignore-skip-worktree-bits -m --merge --conflict=STYLE -p --patch --guess --no-guess --overlay --no-overlay --recurse-submodules --no-recurse-submodules --overwrite-ignore --no-overwrite-ignore --pathspec-from-file=FILE --pathspec-file-nul"),
	"restore":  parseOptions("-s=TREE --source=TREE -p --patch -W --worktree -S --staged -q --quiet --progress --no-progress --ours --theirs -m --merge --conflict=STYLE --ignore-unmerged --ignore-skip-worktree-bits --recurse-submodules --no-recurse-submodules --overlay --no-overlay --pathspec-from-file=FILE --pathspec-file-nul"),
	"switch":   parseOptions("-c=NAME --create=NAME -C=NAME --force-create=NAME -d --detach --guess --no-guess -f --force --discard-changes -m --merge --conflict=STYLE -q --quiet --progress --no-progress -t --track[=MODE] --no-track --orphan=NAME --recurse-submodules"),
	"reset":    parseOptions("-q --quiet --no-quiet --mixed --soft --hard --merge --keep -p --patch -N --intent-to-add --recurse-submodules --pathspec-from-file=FILE --pathspec-file-nul --refresh --no-refresh"),
}

// gits notes what git does to files and to work that it holds. What hooks, aliases of the repository and the programs named
// in its configuration do is not read.
func gits(j *judge, s *Segment, args []Word) {
	g := parseGit(args)
	if len(s.Command().Code) > 0 {
		j.doubts |= InlineCode
		for _, c := range s.Command().Code {
			if removingCode.MatchString(c.Text.Text) || strings.Contains(c.Text.Text, "rm ") {
				j.add(Removes, Target{Why: c.Label}, true)
			}
		}
	}
	if g.global.bad != "" || g.global.unsure || g.sub == "" && len(args) > 0 && !g.global.has("--version", "--help", "-v", "-h") {
		j.doubts |= UnknownOption
	}
	has := func(names ...string) bool {
		for _, w := range g.args {
			if w.Is("--") {
				return false
			}
			for _, n := range names {
				if w.Is(n) || strings.HasPrefix(n, "--") && strings.HasPrefix(w.Lead, n+"=") || len(n) == 2 && shortHas(w, n[1]) {
					return true
				}
			}
		}
		return false
	}
	if g.global.has("-C", "--work-tree", "--git-dir") { // paths are named from there
		there := *s
		there.Dir, there.Sure = "", false
		if dir, ok := g.global.valueOf("-C"); ok && len(g.global.options) == 1 {
			there.Dir = j.target(s, dir, "").Path
		}
		s = &there
	}
	var operands []Word
	dashes := false
	unsure := false
	for _, w := range g.args {
		switch {
		case w.Is("--") && !dashes:
			dashes = true
		case dashes || !strings.HasPrefix(w.Lead, "-"):
			operands = append(operands, w)
			unsure = unsure || !dashes && w.MayBeOption()
		default:
			unsure = unsure || w.Doubt&open != 0 && w.Splits
		}
	}
	var a arguments
	if o, ok := gitOptions[g.sub]; ok {
		a = o.parse(g.args, false)
		operands, has = a.operands, a.has
		if j.parsed(&a, true); a.bad != "" {
			has = func(...string) bool { return false }
		}
	}
	removes := func(list []Word, why string) {
		if len(list) == 0 {
			j.add(Removes, Target{Text: ".", Path: s.Dir, Why: why}, true)
			return
		}
		j.removes(s, list, why)
	}
	if branch, ok := a.valueOf("-B", "-C", "--force-create"); ok && (g.sub == "checkout" || g.sub == "switch") { // as branch -f
		j.add(Overwrites, Target{Text: branch.Text, Why: "git " + g.sub + " -B"}, true)
	}
	switch {
	case g.sub == "rm":
		if !has("--cached", "-n", "--dry-run") {
			removes(operands, "git rm")
		}
	case g.sub == "clean":
		if !has("-n", "--dry-run") {
			removes(operands, "git clean")
		}
	case g.sub == "checkout":
		switch {
		case has("-b", "-B", "--orphan") && !has("-f", "--force") && !dashes:
		case dashes || has("-f", "--force", "-p", "--patch", "--ours", "--theirs", "-m", "--merge", "--pathspec-from-file"), len(operands) > 1:
			list := operands
			if len(operands) > 1 && !dashes {
				list = operands[1:]
			}
			removes(list, "git checkout")
		case len(operands) == 1:
			if text, ok := operands[0].Literal(); text == "." || text == ":/" || ok && text != "" {
				if is, _ := j.look(s, operands[0]); is == there || text == ":/" {
					removes(operands, "git checkout")
					break
				}
			}
			j.doubts |= UnknownOption // a branch, or a file
		}
	case g.sub == "restore":
		if !has("-S", "--staged") || has("-W", "--worktree") {
			removes(operands, "git restore")
		}
	case g.sub == "switch":
		if has("-f", "--force", "--discard-changes") {
			removes(nil, "git switch --discard-changes")
		} else if !has("-c", "--create") {
			j.doubts |= UnknownOption
		}
	case g.sub == "reset":
		if has("--hard", "--merge", "--keep") {
			removes(nil, "git reset --hard")
		}
	case g.sub == "stash":
		switch {
		case len(operands) > 0 && (operands[0].Is("drop") || operands[0].Is("clear")):
			j.add(Removes, Target{Text: sentence(operands), Why: "git stash " + operands[0].Text}, true)
		case len(operands) > 0 && (operands[0].Is("list") || operands[0].Is("show")):
		default:
			j.doubts |= UnknownOption // files come and go
		}
	case g.sub == "branch" || g.sub == "tag":
		if has("-d", "-D", "--delete") {
			j.add(Removes, Target{Text: sentence(operands), Why: "git " + g.sub + " -d"}, true)
		} else if has("-M", "-f", "--force", "-C") {
			j.add(Overwrites, Target{Text: sentence(operands), Why: "git " + g.sub + " -f"}, true)
		}
	case g.sub == "push":
		for _, w := range operands {
			j.add(Network, Target{Text: w.Text, Why: "git push"}, true)
			break
		}
		switch {
		case has("-d", "--delete", "--prune", "--mirror"):
			j.add(Removes, Target{Text: sentence(operands), Why: "git push --delete"}, true)
		case has("-f", "--force", "--force-with-lease", "--force-if-includes"):
			j.add(Overwrites, Target{Text: sentence(operands), Why: "git push --force"}, true)
		default:
			for i, w := range operands {
				if i > 0 && strings.HasPrefix(w.Lead, ":") {
					j.add(Removes, Target{Text: w.Text, Why: "git push --delete"}, true)
				} else if i > 0 && strings.HasPrefix(w.Lead, "+") {
					j.add(Overwrites, Target{Text: w.Text, Why: "git push --force"}, true)
				}
			}
		}
	case g.sub == "worktree" && len(operands) > 0 && (operands[0].Is("remove") || operands[0].Is("prune")):
		removes(operands[1:], "git worktree "+operands[0].Text)
	case g.sub == "remote" && len(operands) > 0 && (operands[0].Is("remove") || operands[0].Is("rm") || operands[0].Is("prune")):
		j.add(Removes, Target{Text: sentence(operands[1:]), Why: "git remote " + operands[0].Text}, true)
	case g.sub == "remote", g.sub == "config" && !has("--unset", "--unset-all", "--remove-section", "-e", "--edit"):
	case g.sub == "config":
		j.add(Removes, Target{Text: sentence(operands), Why: "git config"}, true)
	case g.sub == "reflog" && len(operands) > 0 && (operands[0].Is("expire") || operands[0].Is("delete")):
		j.add(Removes, Target{Text: sentence(operands[1:]), Why: "git reflog " + operands[0].Text}, true)
	case g.sub == "reflog":
	case g.sub == "update-ref" && has("-d"):
		j.add(Removes, Target{Text: sentence(operands), Why: "git update-ref -d"}, true)
	case g.sub == "submodule" && len(operands) > 0 && operands[0].Is("deinit"):
		removes(operands[1:], "git submodule deinit")
	case g.sub == "filter-branch", g.sub == "filter-repo":
		removes(nil, "git "+g.sub)
	case g.sub == "gc" || g.sub == "prune":
		j.doubts |= UnknownOption
	case g.sub == "mv" && has("-f", "--force"):
		if len(operands) > 0 {
			j.overwrite(s, operands[len(operands)-1], "git mv")
		}
	case gitReads[g.sub]:
		if g.sub == "mv" {
			j.moved = true
		}
		if g.sub == "fetch" || g.sub == "ls-remote" {
			j.add(Network, Target{Text: sentence(operands), Why: "git " + g.sub}, true)
		}
		for i, w := range g.args {
			switch name, attached, ok := strings.Cut(w.Lead, "="); {
			case abbreviates(name, "--output", 4) && ok:
				v := literal(attached)
				if w.Doubt&open != 0 {
					v = Word{Text: w.Text, Doubt: w.Doubt}
				}
				j.overwrite(s, v, "git --output")
			case abbreviates(name, "--output", 4) && i+1 < len(g.args), g.sub == "archive" && w.Is("-o") && i+1 < len(g.args):
				j.overwrite(s, g.args[i+1], "git --output")
			case g.sub == "fetch" && (name == "--prune" || shortHas(w, 'p')):
				j.doubts |= UnknownOption
			}
		}
	case g.sub == "":
	default:
		j.doubts |= UnknownProgram
	}
	if unsure {
		j.doubts |= UnknownOption
	}
}

// shortHas reports whether a word is a cluster of short options with c in it.
func shortHas(w Word, c byte) bool {
	return len(w.Lead) > 1 && w.Lead[0] == '-' && w.Lead[1] != '-' && strings.IndexByte(w.Lead[1:], c) >= 0
}
