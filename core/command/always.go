package command

import "strings"

// Rule says what lets a lasting rule be offered to the person: this program, with words by which it loads no code and no settings
// from files and changes nothing, or a script of such commands. What is then kept is narrower (package approval): the very command,
// folder and files. The zero value covers nothing.
type Rule struct {
	// Program is the path it is found at, Real that with links resolved. The user can't write either.
	Program, Real string
	// Profile names the shipped description of harmless words.
	Profile string
	// Script is the file of a harmless script, for which Program is the shell; the rule ends when its content changes.
	Script string
}

// String says exactly what the rule would allow.
func (r Rule) String() string {
	if r == (Rule{}) {
		return "nothing"
	}
	if r.Script != "" {
		return "run the script " + r.Script + " with " + r.Program + " as long as it is unchanged"
	}
	return "run " + r.Program + " with any arguments that only read or print"
}

// Covers reports whether a plan is one that the rule allows, now.
func (r Rule) Covers(p Plan) bool {
	got, ok, _ := AlwaysAllow(p)
	return ok && r != (Rule{}) && got == r
}

// alwaysProfiles are the programs that a lasting rule can be offered for, besides those of the access level look. What they
// read is what their words name; they have no settings files, load no plug-ins and write nothing.
var alwaysProfiles = map[string]struct {
	options string
	most    int // operands; -1: any number
}{
	"basename": {"-a --multiple -s=SUFFIX --suffix=SUFFIX -z --zero", -1},
	"cmp":      {"-b --print-bytes -i=N -l --verbose -n=N -s --quiet --silent", -1},
	"cut":      {safeProfiles["cut"].Options, -1},
	"dirname":  {"-z --zero", -1},
	"false":    {"", 0},
	"nl":       {"-b=STYLE -d=CC -f=STYLE -h=STYLE -i=N -l=N -n=FORMAT -p -s=TEXT -v=N -w=N", -1},
	"printenv": {"-0 --null", -1},
	"readlink": {"-f -e -m -n -q -s -v -z", -1},
	"realpath": {"-e -m -L -P -q -s -z --relative-to=DIR --relative-base=DIR", -1},
	"seq":      {"-f=FORMAT --format=FORMAT -s=TEXT --separator=TEXT -w --equal-width -5", -1},
	"sleep":    {"", -1},
	"stat":     {"-L -f -c=FORMAT --format=FORMAT --printf=FORMAT -t -x -r -s -n -q -l -F", -1},
	"tr":       {safeProfiles["tr"].Options, 2},
	"true":     {"", 0},
	"uniq":     {safeProfiles["uniq"].Options, 1},
	"which":    {"-a -s", -1},
}

// notLasting are programs of the access level look that read settings of the user or of a repository.
var notLasting = set("git rg mdfind")

// AlwaysAllow says whether a lasting rule can be offered for a plan, and which; else why not. It is offered only for one
// plain command whose program the user can't write, with words by which it loads no code or settings from files. Whether
// that is so is found out anew each time, also for a command that is covered already.
func AlwaysAllow(p Plan) (Rule, bool, string) {
	if why := p.Unreduced(); why != "" {
		return Rule{}, false, why
	}
	if len(p.Segments) != 1 {
		return Rule{}, false, "several programs run"
	}
	if len(StrictInline(p)) > 0 {
		return Rule{}, false, "it carries code"
	}
	return p.always(&p.Segments[0])
}

// always is AlwaysAllow for one segment.
func (p *Plan) always(s *Segment) (Rule, bool, string) {
	refuse := func(why string) (Rule, bool, string) { return Rule{}, false, why }
	switch {
	case len(s.Layers) == 0:
		return refuse("no program runs")
	case len(s.Layers) != 1:
		return refuse(s.Layers[0].Program.Name + " runs another program")
	case len(s.Inner) > 0 || s.Layers[0].Kind != Plain:
		return refuse(s.Layers[0].Program.Name + " runs something else")
	}
	l := &s.Layers[0]
	prog := l.Program
	if prog.Builtin {
		prog = p.Context.find(prog.Name, p.Context.Path)
	}
	base := prog.Path[strings.LastIndexByte(prog.Path, '/')+1:]
	rule, look := readOnlyRules[base]
	profile, other := alwaysProfiles[base]
	switch {
	case notLasting[base] || !look && !other:
		return refuse(base + " may load code or settings from files")
	case !folderOf(prog.Path, SystemFolders) && !folderOf(prog.Path, PackageFolders):
		return refuse(prog.Path + " is not an installed program")
	case p.Context.Files.Writable(prog.Path) || p.Context.Files.Writable(folderPath(prog.Path)) || p.Context.Files.Writable(prog.Real):
		return refuse(prog.Path + " can be changed by you, so another program could be put there")
	}
	if look {
		c := readOnlyCheck{plan: p, name: base, argv: append([]string{prog.Path}, texts(l.Argv[1:])...)}
		if c.words(&rule, l.Argv[1:]); c.refused {
			return refuse(c.reason)
		}
	} else {
		o := parseOptions(profile.options)
		a := o.parse(l.Argv[1:], false)
		switch {
		case a.bad != "":
			return refuse(base + ": " + a.bad)
		case profile.most >= 0 && len(a.operands) > profile.most:
			return refuse(base + " with so many words does more than read")
		}
	}
	return Rule{Program: prog.Path, Real: prog.Real, Profile: base}, true, ""
}

// MaxHarmless is how many bytes a harmless script may have.
const MaxHarmless = 64 << 10

// harmlessShells are the programs that read one.
var harmlessShells = set("/bin/sh /bin/bash /bin/dash /usr/bin/sh /usr/bin/bash /usr/bin/dash")

// HarmlessScript says whether a plan runs a shell script of which each command is one that a lasting rule could be offered for,
// and which rule that would be; else why not. read gives the script's content; the rule is only for that content.
func HarmlessScript(p Plan, read func(path string) ([]byte, error)) (Rule, bool, string) {
	refuse := func(why string) (Rule, bool, string) { return Rule{}, false, why }
	if why := p.Unreduced(); why != "" {
		return refuse(why)
	}
	if len(p.Segments) != 1 || len(p.Segments[0].Layers) != 1 || len(p.Segments[0].Inner) > 0 || len(p.Segments[0].Layers[0].Code) > 0 {
		return refuse("it runs more than a script")
	}
	s := &p.Segments[0]
	l := &s.Layers[0]
	shell, script := l.Program.Path, ""
	switch {
	case l.Kind == ShellRun && l.Script > 0 && l.Doubts == ReadsScript && !l.Program.Builtin:
		text, ok := l.Argv[l.Script].Literal()
		if script = absolute(s.Dir, text); !ok || script == "" || !strings.Contains(text, "/") { // a bare name is looked for on the PATH too
			return refuse("which script it is can't be told")
		}
	case l.Kind == Plain && l.Program.Found() && !l.Program.Bare && !l.Program.Function:
		shell, script = "", l.Program.Path
	default:
		return refuse("it runs no script")
	}
	content, err := read(script)
	switch {
	case err != nil:
		return refuse("the script can't be read")
	case len(content) > MaxHarmless:
		return refuse("the script is too long")
	}
	text := string(content)
	if shell == "" {
		first, _, _ := strings.Cut(text, "\n")
		if shell = strings.TrimSpace(strings.TrimPrefix(first, "#!")); !strings.HasPrefix(first, "#!") || strings.ContainsAny(shell, " \t") {
			return refuse("it doesn't begin with the name of a shell")
		}
	}
	if !harmlessShells[shell] {
		return refuse(shell + " is not the system's sh or bash")
	}
	files := p.Context.Files
	f, err := files.Stat(shell)
	if err != nil || files.Writable(shell) || files.Writable(f.Real) {
		return refuse(shell + " can be changed by you")
	}
	in := p.Context
	in.Shell, in.Dir = ParseShell(shell[strings.LastIndexByte(shell, '/')+1:]), s.Dir
	inner := Analyse(text, in)
	if _, ok := inner.Pinned(); !ok || len(StrictInline(inner)) > 0 {
		return refuse("the script is more than plain commands")
	}
	for i := range inner.Segments {
		part := &inner.Segments[i]
		if c := part.Command(); c != nil && len(part.Layers) == 1 && c.Program.Builtin && c.Program.Name != "cd" && safeBuiltins[c.Program.Name] {
			continue
		}
		if _, ok, why := inner.always(part); !ok {
			return refuse("in the script: " + why)
		}
	}
	return Rule{Program: shell, Real: f.Real, Profile: "script", Script: script}, true, ""
}
