package command

import (
	"slices"
	"strings"
)

// SafeBins are small filters that may run without an entry, as long as their words let them read standard input only. The zero value allows none.
type SafeBins struct {
	// Names says which may run.
	Names []string
	// Folders hold them, besides the system's.
	Folders []string
	// Profiles adds to the shipped ones, by name; a shipped one can't be changed.
	Profiles map[string]SafeProfile
}

// SafeProfile says which words a filter may get. The zero value allows none.
type SafeProfile struct {
	// Options is a list like "-n=N --lines=N -q": what isn't listed is refused.
	Options string
	// Least and Most are how many operands there may be, not counting "-".
	Least, Most int
	// Text says that operands and values are text that never names a file.
	Text bool
}

// DefaultSafeBins are the filters that are on without a choice.
var DefaultSafeBins = []string{"cut", "head", "tail", "tr", "uniq", "wc"}

// safeProfiles are the shipped profiles. sort and grep must be chosen.
var safeProfiles = map[string]SafeProfile{
	"cut":  {Options: `-b=LIST --bytes=LIST -c=LIST --characters=LIST -f=LIST --fields=LIST -d=C --delimiter=C --output-delimiter=TEXT --complement -s --only-delimited -n -z --zero-terminated`},
	"uniq": {Options: `-c --count -d --repeated -D --all-repeated[=HOW] -u --unique -i --ignore-case -f=N --skip-fields=N -s=N --skip-chars=N -w=N --check-chars=N --group[=HOW] -z --zero-terminated`},
	"head": {Options: `-n=N --lines=N -c=N --bytes=N -q --quiet --silent -v --verbose -z --zero-terminated -5`},
	"tail": {Options: `-n=N --lines=N -c=N --bytes=N -r -q --quiet --silent -v --verbose -z --zero-terminated -5`},
	"tr":   {Options: `-c -C --complement -d --delete -s --squeeze-repeats -t --truncate-set1 -u`, Least: 1, Most: 2, Text: true},
	"wc":   {Options: `-c --bytes -m --chars -l --lines -w --words -L --max-line-length --total=WHEN`},
	"grep": {Options: `-e=PATTERN --regexp=PATTERN -m=N --max-count=N -A=N --after-context=N -B=N --before-context=N -C=N --context=N -i --ignore-case -v --invert-match -w --word-regexp -x --line-regexp -c --count -o
		--only-matching -n --line-number -q --quiet -s --no-messages -E --extended-regexp -F --fixed-strings -G --basic-regexp -a --text --label=LABEL --color[=WHEN] --line-buffered`},
	"sort": {Options: `-k=KEY --key=KEY -t=C --field-separator=C -S=SIZE --buffer-size=SIZE --parallel=N --batch-size=N -b --ignore-leading-blanks -d --dictionary-order -f --ignore-case -g --general-numeric-sort -h
		--human-numeric-sort -i --ignore-nonprinting -M --month-sort -n --numeric-sort -r --reverse -R --random-sort -s --stable -u --unique -V --version-sort -z --zero-terminated -c -C`},
}

// sealed are names that an abbreviation of an option must not be taken for: they exist, and read or write files.
const sealed = ` --files0-from=FILE --file=FILE --exclude-from=FILE --output=FILE --temporary-directory=DIR --compress-program=PROGRAM --random-source=FILE --follow[=HOW] --retry --recursive --dereference-recursive --directories=ACTION`

// neverSafe are programs that read files, run code or load settings whatever their words are.
var neverSafe = set(`jq yq awk gawk mawk nawk sed gsed sh bash zsh dash ksh fish csh python python2 python3 node nodejs deno bun perl ruby php lua r rscript osascript find xargs make env tee dd ssh git`)

var safeOptions = func() map[string]*optionSet {
	m := make(map[string]*optionSet)
	for name, p := range safeProfiles {
		o := parseOptions(p.Options)
		m[name] = &o
	}
	return m
}()

var sealedOptions = parseOptions(sealed)

// allows reports whether a segment, which runs prog, is a safe bin with words that its profile allows, and if not, why.
func (b SafeBins) allows(s *Segment, prog Program) (ok bool, why string) {
	l := s.Command()
	if l == nil || len(s.Redirects) > 0 || len(s.Assigns) > 0 || !prog.Found() {
		return false, "it is more than a program with its words"
	}
	name := prog.Name
	base := name[strings.LastIndexByte(name, '/')+1:]
	switch {
	case !slices.Contains(b.Names, base):
		return false, base + " is not chosen"
	case neverSafe[base] || carriers[family(canonical(base))] != nil && safeOptions[base] == nil:
		return false, base + " can do more than filter"
	case !folderOf(prog.Path, SystemFolders) && !folderOf(prog.Path, b.Folders):
		return false, prog.Path + " is not in a trusted folder"
	}
	profile, shipped := safeProfiles[base]
	options := safeOptions[base]
	if !shipped {
		if profile, ok = b.Profiles[base]; !ok {
			return false, base + " has no profile"
		}
		o, err := readOptions(profile.Options)
		if err != nil {
			return false, err.Error()
		}
		options = &o
	}
	args := l.Argv[1:]
	for _, w := range args {
		if w.Doubt&open != 0 {
			return false, w.Text + " is not plain text"
		}
	}
	a := options.parse(args, false)
	if a.bad != "" {
		return false, base + ": " + a.bad
	}
	for i, w := range args {
		if w.Is("--") {
			break
		}
		// An abbreviation of what this profile knows may be another option to the program.
		if n, _, _ := strings.Cut(w.Text, "="); len(n) > 2 && strings.HasPrefix(n, "--") && !valueAt(&a, i) && !slices.ContainsFunc(options.long, func(l longOption) bool { return "--"+l.name == n }) {
			for _, l := range sealedOptions.long {
				if strings.HasPrefix("--"+l.name, n) {
					return false, n + " could be --" + l.name
				}
			}
		}
	}
	operands := 0
	for _, w := range a.operands {
		if w.Text == "-" && !profile.Text {
			continue
		}
		operands++
		if !profile.Text && pathLike(w.Text) {
			return false, w.Text + " looks like a path"
		}
	}
	if operands < profile.Least || operands > profile.Most {
		return false, base + " has too many or too few words"
	}
	for _, o := range a.options {
		if o.given && !profile.Text && len(o.value.Text) > 1 && pathLike(o.value.Text) && o.name != "-e" && o.name != "--regexp" {
			return false, o.value.Text + " looks like a path"
		}
	}
	return true, ""
}

func valueAt(a *arguments, at int) bool {
	return slices.ContainsFunc(a.options, func(o option) bool { return o.separate && o.at == at })
}

// pathLike reports whether a word could name a file by a path.
func pathLike(s string) bool {
	return strings.ContainsAny(s, `/\`) || strings.HasPrefix(s, "~") || s == ".." || strings.HasPrefix(s, ".")
}
