package command

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Options of git's subcommands that only read and show (git-diff(1), git-log(1) …). What runs programs (--ext-diff,
// --textconv, signatures), writes (--output), reads option files (-O) or enters submodules, whose own settings could run
// programs, is left out.
const (
	gitDiffOptions = `-p -u --patch -s --no-patch -U=N --unified=N --raw --patch-with-raw --indent-heuristic --no-indent-heuristic --minimal --patience --histogram --anchored=TEXT --diff-algorithm=NAME --stat[=W] --stat-width=N
		--stat-name-width=N --stat-count=N --compact-summary --numstat --shortstat --dirstat[=X] -X[=X] --cumulative --summary --patch-with-stat -z --name-only --name-status --color[=WHEN] --no-color --color-moved[=MODE]
		--no-color-moved --color-moved-ws=MODE --word-diff[=MODE] --word-diff-regex=RE --color-words[=RE] --no-renames --rename-empty --no-rename-empty --check --ws-error-highlight=KIND --full-index --binary --abbrev[=N]
		--no-abbrev -B[=N] --break-rewrites[=N] -M[=N] --find-renames[=N] -C[=N] --find-copies[=N] --find-copies-harder -D --irreversible-delete -l=N --diff-filter=X -S=TEXT -G=RE --find-object=ID --pickaxe-all --pickaxe-regex -R
		--relative[=PATH] --no-relative -a --text --ignore-cr-at-eol --ignore-space-at-eol -b --ignore-space-change -w --ignore-all-space --ignore-blank-lines -I=RE --ignore-matching-lines=RE --inter-hunk-context=N -W
		--function-context --exit-code --quiet -q --no-prefix --default-prefix --src-prefix=TEXT --dst-prefix=TEXT --line-prefix=TEXT --no-ext-diff --no-textconv --rotate-to=FILE --skip-to=FILE -5`
	gitLogOptions = gitDiffOptions + ` -n=N --max-count=N --skip=N --since=TIME --after=TIME --until=TIME --before=TIME --author=RE --committer=RE --grep=RE --grep-reflog=RE --all-match --invert-grep -i --regexp-ignore-case -E
		--extended-regexp -F --fixed-strings -P --perl-regexp --basic-regexp --merges --no-merges --min-parents=N --max-parents=N --no-min-parents --no-max-parents --first-parent --all --branches[=GLOB] --tags[=GLOB] --remotes[=GLOB]
		--glob=GLOB --exclude=GLOB --reflog -g --walk-reflogs --oneline --pretty[=FORMAT] --format=FORMAT --abbrev-commit --no-abbrev-commit --encoding=NAME --notes[=REF] --no-notes --graph --no-graph --decorate[=WHEN] --no-decorate
		--decorate-refs=GLOB --decorate-refs-exclude=GLOB --clear-decorations --source --follow --full-history --dense --sparse --simplify-merges --simplify-by-decoration --ancestry-path[=ID] --left-right --left-only --right-only
		--cherry --cherry-mark --cherry-pick --boundary --topo-order --date-order --author-date-order --reverse --date=FORMAT --relative-date --parents --children -L=RANGE -c --cc --combined-all-paths -m -t --mailmap --use-mailmap
		--no-mailmap --no-use-mailmap --log-size --full-diff --no-show-signature --no-walk[=ORDER] --do-walk --root --expand-tabs[=N] --no-expand-tabs --show-linear-break[=TEXT] --diff-merges=MODE --no-diff-merges --remove-empty`
)

// gitReading says with which options and operands a subcommand only reads.
var gitReading = map[string]struct {
	options optionSet
	refs    bool // operands are revisions or paths
}{
	"diff": {parseOptions(gitDiffOptions + ` --cached --staged --merge-base --no-index -1 -2 -3 -0 --base --ours --theirs --cc -c --combined-all-paths`), true},
	"log":  {parseOptions(gitLogOptions), true},
	"show": {parseOptions(gitLogOptions), true},
	"branch": {parseOptions(`-a --all -r --remotes -l --list -v --verbose -q --quiet --show-current --contains=COMMIT --no-contains=COMMIT --merged[=COMMIT] --no-merged[=COMMIT] --points-at=OBJECT --sort=KEY --format=FORMAT
		--column[=HOW] --no-column --color[=WHEN] --no-color --abbrev[=N] --no-abbrev -i --ignore-case --omit-empty`), false},
	"grep": {parseOptions(`-n --line-number -i --ignore-case -l --files-with-matches --name-only -L --files-without-match -c --count -w --word-regexp -v --invert-match -E --extended-regexp -F --fixed-strings -G --basic-regexp -P
		--perl-regexp -h -H -r --recursive --no-recursive -e=PATTERN -f=FILE -A=N --after-context=N -B=N --before-context=N -C=N --context=N -5 --and --or --not --cached --untracked --no-index --exclude-standard --no-exclude-standard -I
		-a --text --heading --break -p --show-function -W --function-context -q --quiet --max-depth=N -m=N --max-count=N -o --only-matching --color[=WHEN] --no-color --column -z --null --all-match --full-name --threads=N
		--no-textconv`), true},
	"ls-files": {parseOptions(`-c --cached -d --deleted -m --modified -o --others -i --ignored -s --stage -t -v -f -u --unmerged -k --killed -z --directory --no-empty-directory --empty-directory --eol --deduplicate -x=PATTERN
		--exclude=PATTERN --exclude-standard --error-unmatch --full-name --abbrev[=N] --debug --format=FORMAT --with-tree=TREE --resolve-undo --sparse`), true},
	"rev-parse": {parseOptions(`--show-toplevel --git-dir --absolute-git-dir --git-common-dir --git-path=PATH --show-prefix --show-cdup --show-superproject-working-tree --show-object-format[=X] --shared-index-path --is-inside-work-tree
		--is-inside-git-dir --is-bare-repository --is-shallow-repository --abbrev-ref[=MODE] --short[=N] --verify -q --quiet --symbolic --symbolic-full-name --all --branches[=GLOB] --tags[=GLOB] --remotes[=GLOB] --glob=GLOB
		--exclude=GLOB --default=ARG --not --revs-only --no-revs --flags --no-flags --since=TIME --after=TIME --until=TIME --before=TIME --disambiguate=PREFIX --path-format=HOW --local-env-vars --show-ref-format --end-of-options
		--sq`), true},
	"status": {parseOptions(`-s --short -b --branch --show-stash --porcelain[=V] --long -u[=MODE] --untracked-files[=MODE] --ignored[=MODE] -z --null --column[=HOW] --no-column --ahead-behind --no-ahead-behind --renames
		--no-renames --find-renames[=N]`), true},
}

// gitEnv keeps git from running programs that its settings name, from asking, and from reaching out. Settings of filters
// can't be named beforehand: the readonly profile is what bounds those.
var gitEnv = func() []string {
	settings := [][2]string{
		{"core.fsmonitor", "false"}, {"core.hooksPath", "/dev/null"}, {"core.pager", "cat"}, {"core.editor", "false"}, {"core.sshCommand", "false"}, {"core.askPass", ""}, {"core.gitProxy", ""},
		{"credential.helper", ""}, {"diff.ignoreSubmodules", "all"}, {"status.submoduleSummary", "false"}, {"diff.submodule", "short"}, {"submodule.recurse", "false"}, {"log.showSignature", "false"},
		{"gpg.program", "false"}, {"gpg.openpgp.program", "false"}, {"gpg.x509.program", "false"}, {"gpg.ssh.program", "false"}, {"gpg.ssh.defaultKeyCommand", ""}, {"protocol.allow", "never"},
		{"diff.orderFile", "/dev/null"}, {"maintenance.auto", "false"}, {"gc.auto", "0"}, {"interactive.diffFilter", "cat"}, {"uploadpack.packObjectsHook", ""},
	}
	env := []string{"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat", "GIT_EDITOR=false", "GIT_ASKPASS=", "SSH_ASKPASS=", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_CONFIG_COUNT=" + strconv.Itoa(len(settings))}
	for i, s := range settings {
		env = append(env, "GIT_CONFIG_KEY_"+strconv.Itoa(i)+"="+s[0], "GIT_CONFIG_VALUE_"+strconv.Itoa(i)+"="+s[1])
	}
	return env
}()

// git checks git's words.
func (c *readOnlyCheck) git(args []Word) {
	i := 0
	for i < len(args) && (args[i].Is("--no-pager") || args[i].Is("-P") || args[i].Is("--no-optional-locks") || args[i].Is("--literal-pathspecs") || args[i].Is("--no-replace-objects")) {
		i++
	}
	c.env = gitEnv
	if i == len(args) {
		c.refuse("git needs a subcommand", "use git "+strings.Join(gitSubcommands(), ", "))
		return
	}
	sub := args[i].Text
	if sub == "--version" && i+1 == len(args) {
		return
	}
	if strings.HasPrefix(sub, "-") {
		instead := "leave out " + sub
		if strings.HasPrefix(sub, "-C") || strings.HasPrefix(sub, "--git-dir") || strings.HasPrefix(sub, "--work-tree") {
			instead = "pass the repository's folder as workdir"
		}
		c.refuse("git "+sub+" before the subcommand can change settings or run programs", instead)
		return
	}
	rule, ok := gitReading[sub]
	if !ok {
		c.refuse("git "+sub+" is not one of the subcommands that only read", "use git "+strings.Join(gitSubcommands(), ", "))
		return
	}
	// Options that go unseen past an abbreviation would be run by git: it takes any unique one.
	a := rule.options.parse(args[i+1:], false)
	if a.bad != "" {
		c.refuse("git "+sub+": "+a.bad, "leave it out")
		return
	}
	for _, w := range args[i+1:] {
		if w.Is("--") {
			break
		}
		if name, _, _ := strings.Cut(w.Text, "="); strings.HasPrefix(name, "--") && !slices.ContainsFunc(rule.options.long, func(l longOption) bool { return "--"+l.name == name }) {
			c.refuse("git "+sub+" "+name+" is not written in full", "write the option in full")
			return
		}
	}
	for _, o := range a.options {
		text := o.value.Text
		if o.separate && strings.HasPrefix(text, "-") && len(text) > 1 {
			c.refuse("git "+sub+" "+o.name+" is followed by "+text+", which looks like an option", "write the value in the same word: "+o.name+"…")
			return
		}
		switch o.name {
		case "--format", "--pretty":
			if !plainFormat(text) && (o.given || o.name == "--format") && sub != "branch" && sub != "ls-files" {
				c.refuse("git "+sub+" "+o.name+"="+text+" may come from the repository's settings, or check signatures", "use a format of your own without %G, like --format='%h %s'")
				return
			}
		case "-L":
			if k := strings.LastIndexByte(text, ':'); k >= 0 {
				c.path(literal(text[k+1:]))
			}
		case "--path-format", "--default":
		}
		if o.path && o.given {
			c.path(o.value)
		}
	}
	if sub == "branch" && len(a.operands) > 0 && !a.has("--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at") {
		c.refuse("git branch "+a.operands[0].Text+" would make a branch", "put --list before a pattern")
		return
	}
	if sub == "rev-parse" && slices.ContainsFunc(args[i+1:], func(w Word) bool { return w.Is("--parseopt") || w.Is("--sq-quote") }) {
		c.refuse("git rev-parse --parseopt reads a script", "")
		return
	}
	operands := a.operands
	if sub == "grep" && !a.has("-e", "-f") && len(operands) > 0 {
		operands = operands[1:]
	}
	if rule.refs {
		for _, w := range operands {
			if strings.HasPrefix(w.Text, "ext::") {
				c.refuse("git would run "+w.Text, "")
				return
			}
			c.note(w, true)
			for rest := w.Text; ; { // HEAD:path, :0:path, :(glob)path; a revision may hold colons itself
				_, after, ok := strings.Cut(rest, ":")
				if !ok {
					break
				}
				if rest = after; after != "" {
					c.note(literal(strings.TrimLeft(after[strings.LastIndexByte(after, ')')+1:], "/!^")), true)
				}
			}
		}
	}
	if (sub == "show" || sub == "diff" || sub == "grep") && !a.has("--no-index") {
		c.commitsOnly(sub, args, i+1, &a)
	}
	at := i + 2 // after the subcommand
	switch sub {
	case "diff":
		c.insert(at, "--no-ext-diff", "--no-textconv", "--ignore-submodules=all")
	case "log", "show":
		c.insert(at, "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--no-show-signature")
	case "status":
		c.insert(at, "--ignore-submodules=all")
	case "grep":
		c.insert(at, "--no-textconv")
	}
}

// objectID is an object of a repository by its number, or the beginning of it.
var objectID = regexp.MustCompile(`^[0-9a-fA-F]{4,64}$`)

// commitsOnly makes every number of an object that of a commit: a file's number shows its content without its name, by
// which it would have been known for a secret.
func (c *readOnlyCheck) commitsOnly(sub string, args []Word, from int, a *arguments) {
	pattern := sub == "grep" && !a.has("-e", "-f")
	ended := false
	for k := from; k < len(args); k++ {
		w := args[k]
		switch {
		case ended || slices.ContainsFunc(a.options, func(o option) bool { return o.separate && o.at == k-from }):
			continue
		case w.Is("--"):
			ended = true
			continue
		case strings.HasPrefix(w.Text, "-"):
			continue
		case pattern:
			pattern = false
			continue
		}
		if rev, _, peeled := strings.Cut(w.Text, "^{"); peeled && objectID.MatchString(rev) {
			c.refuse("git "+sub+" "+w.Text+" may show a file without its name", "name a commit, or commit:path")
			return
		}
		// from..to and from...to compare the content of any two objects
		sides := strings.Split(w.Text, "..")
		for i, side := range sides {
			dot := strings.HasPrefix(side, ".")
			if id := strings.TrimPrefix(side, "."); objectID.MatchString(id) {
				sides[i] = id + "^{commit}"
				if dot {
					sides[i] = "." + sides[i]
				}
			}
		}
		c.argv[k+1] = strings.Join(sides, "..")
	}
}

func gitSubcommands() []string {
	var names []string
	for n := range gitReading {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// plainFormat reports whether a format for commits is one of git's own, or text without signature checks.
func plainFormat(f string) bool {
	switch f {
	case "oneline", "short", "medium", "full", "fuller", "reference", "email", "mboxrd", "raw", "":
		return true
	}
	custom := strings.HasPrefix(f, "format:") || strings.HasPrefix(f, "tformat:") || strings.Contains(f, "%")
	return custom && !strings.Contains(f, "%G") && !strings.Contains(f, "%+G") && !strings.Contains(f, "%-G") && !strings.Contains(f, "% G")
}
