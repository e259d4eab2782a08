package command

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// Entry is one rule of an allowlist. The zero value, and an Entry with an unknown Action, refuses what it matches.
type Entry struct {
	// Pattern names programs. With a slash or a leading "~" it is matched with the program's path, links resolved (and with
	// the path by which it was found, if the user can't change what stands there): "*" is any text without a slash, "**"
	// any text, "?" one byte. Without a slash it is matched with the name of a program that was found on the PATH by that
	// name. "*" alone is every program that was found.
	Pattern string
	// ArgPattern is a regular expression (RE2) for the arguments, joined by one blank; an argument that isn't plain is quoted
	// as by [Quote]. It must match the whole. Empty: any arguments.
	ArgPattern string
	// Exact, if set, must be the arguments and the folder, to the letter. ArgPattern is empty then.
	Exact  *Exact
	Action Action
	// Examples are tried when the list is compiled.
	Examples []Example
}

// Exact is the arguments of one command (without the program) and the folder it runs in.
type Exact struct {
	Dir  string
	Args []string
}

// Action is what an entry says of what it matches. Of several that match, the strictest counts.
type Action uint8

const (
	RefuseIt Action = iota // never
	AskFirst               // ask, even if another entry allows it
	AllowIt
)

// Example is a command that an entry must match, or must not. Argv begins with an absolute path, or with the name of a
// program on the PATH.
type Example struct {
	Argv  []string
	Match bool
}

// Allowlist is a compiled list of entries. The zero value allows nothing. It may be used from several goroutines.
type Allowlist struct {
	entries []entry
	sieve   []sieve
	names   *pathIndex // patterns without a slash
	paths   *pathIndex
	stars   []int // entries for every program
}

type entry struct {
	Entry
	args *regexp.Regexp
	// literal is text that must stand in the arguments for args to match; "" if there is none. whole says that it is all of them.
	literal string
	whole   bool
}

// sieve is what is looked at of an entry first. There may be thousands for one program, so it is short.
type sieve struct {
	holds  byteSet // bytes that the arguments must have
	action Action
	args   bool // there is a pattern for the arguments
}

// byteSet is a rough set of bytes: what isn't in it is in no text that it was made of.
type byteSet uint64

func bytesOf(text string) (set byteSet) {
	for i := 0; i < len(text); i++ {
		set |= 1 << (text[i] & 63)
	}
	return set
}

// maxPattern is how long a pattern may be.
const maxPattern = 4096

// CompileAllowlist checks entries and their examples. home replaces a leading "~".
func CompileAllowlist(entries []Entry, home string) (*Allowlist, error) {
	a := &Allowlist{entries: make([]entry, len(entries)), sieve: make([]sieve, len(entries))}
	var names, paths []string
	var byName, byPath []int
	for i, e := range entries {
		c := entry{Entry: e}
		wrong := func(err error) error { return fmt.Errorf("compiling allowlist entry %d (%s): %w", i, e.Pattern, err) }
		switch {
		case e.Pattern == "":
			return nil, wrong(errors.New("the pattern is empty"))
		case len(e.Pattern) > maxPattern || len(e.ArgPattern) > maxPattern:
			return nil, wrong(errors.New("the pattern is too long"))
		case e.Action > AllowIt:
			return nil, wrong(errors.New("the action is unknown"))
		case e.Exact != nil && e.ArgPattern != "":
			return nil, wrong(errors.New("it has both exact arguments and a pattern for them"))
		case strings.HasPrefix(e.Pattern, "~/") && home == "":
			return nil, wrong(errors.New("the home folder isn't known"))
		}
		pattern := e.Pattern
		if strings.HasPrefix(pattern, "~/") {
			pattern = home + pattern[1:]
		}
		if strings.Contains(pattern, "/") {
			if !strings.HasPrefix(pattern, "/") && !strings.HasPrefix(pattern, "**/") {
				return nil, wrong(errors.New("a path must be absolute"))
			}
			paths = append(paths, pattern)
			byPath = append(byPath, i)
		} else {
			names = append(names, pattern)
			byName = append(byName, i)
			if pattern == "*" {
				a.stars = append(a.stars, i)
			}
		}
		if e.ArgPattern != "" {
			re, err := regexp.Compile(`\A(?:` + e.ArgPattern + `)\z`)
			if err != nil {
				return nil, wrong(err)
			}
			c.args = re
			if c.literal, c.whole = re.LiteralPrefix(); c.literal == "" || !c.whole {
				c.literal, c.whole = mustHold(e.ArgPattern)
			}
		}
		a.entries[i] = c
		a.sieve[i] = sieve{bytesOf(c.literal), e.Action, c.args != nil}
	}
	a.names, a.paths = newPathIndex(names, byName), newPathIndex(paths, byPath)
	for i, e := range entries {
		for _, x := range e.Examples {
			if len(x.Argv) == 0 {
				return nil, fmt.Errorf("checking allowlist entry %d (%s): an example is empty", i, e.Pattern)
			}
			if got := a.example(i, x.Argv); got != x.Match {
				says := "doesn't match"
				if got {
					says = "matches"
				}
				return nil, fmt.Errorf("checking allowlist entry %d (%s): it %s its example %q", i, e.Pattern, says, strings.Join(x.Argv, " "))
			}
		}
	}
	return a, nil
}

// mustHold gives text that stands in everything that a regular expression matches, and whether that is all of it.
func mustHold(expr string) (string, bool) {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return "", false
	}
	re = re.Simplify()
	parts := []*syntax.Regexp{re}
	if re.Op == syntax.OpConcat {
		parts = re.Sub
	}
	best, anchors := "", 0
	for _, p := range parts {
		switch {
		case p.Op == syntax.OpLiteral && p.Flags&syntax.FoldCase == 0 && len(string(p.Rune)) > len(best):
			best = string(p.Rune)
		case p.Op == syntax.OpBeginText, p.Op == syntax.OpEndText:
			anchors++
		}
	}
	return best, best != "" && len(parts)-anchors == 1
}

// example reports whether entry i matches an example.
func (a *Allowlist) example(i int, argv []string) bool {
	p := Program{Name: argv[0], Path: argv[0], Real: argv[0]}
	if !strings.Contains(argv[0], "/") {
		p.Bare = true
	}
	found := false
	a.candidates(p, []string{argv[0]}, func(entries []int) bool {
		found = slices.Contains(entries, i)
		return found
	})
	if !found {
		return false
	}
	dir := ""
	if x := a.entries[i].Exact; x != nil {
		dir = x.Dir
	}
	return a.entries[i].takes(argv[1:], joinArgs(argv[1:]), dir)
}

// candidates visits the entries whose pattern matches a program that is known by these paths, some at a time.
func (a *Allowlist) candidates(p Program, paths []string, f func(entries []int) (enough bool)) {
	done := false
	visit := func(entries []int) bool { done = f(entries); return done }
	if p.Bare {
		a.names.find(p.Name, visit)
	} else if p.Name != "" {
		visit(a.stars)
	}
	for _, path := range paths {
		if done {
			return
		}
		a.paths.find(path, visit)
	}
}

func (e *entry) takes(args []string, joined, dir string) bool {
	switch {
	case e.Exact != nil:
		return e.Exact.Dir == dir && dir != "" && slices.Equal(e.Exact.Args, args)
	case e.args == nil:
		return true
	case e.whole:
		return joined == e.literal
	case e.literal != "" && !strings.Contains(joined, e.literal):
		return false
	}
	return e.args.MatchString(joined)
}

// joinArgs is the text that ArgPattern is matched with.
func joinArgs(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = Quote(a)
	}
	return strings.Join(quoted, " ")
}

// Match gives the strictest action of the entries that match a program with its arguments, run in dir, and the place of
// that entry; -1 if none matches, with RefuseIt. A program that wasn't found matches nothing.
func (a *Allowlist) Match(files Files, p Program, args []string, dir string) (Action, int) {
	best, at := AllowIt, -1
	if a == nil || a.names == nil || !p.Found() {
		return RefuseIt, -1
	}
	paths := []string{p.Real}
	if p.Path != p.Real && files != nil && !files.Writable(folderPath(p.Path)) {
		paths = append(paths, p.Path)
	}
	joined, made := "", false
	var has byteSet
	a.candidates(p, paths, func(entries []int) bool {
		for _, i := range entries {
			e := &a.sieve[i]
			if e.args && !made {
				joined, made = joinArgs(args), true
				has = bytesOf(joined)
			}
			if (at < 0 || e.action < best || e.action == best && i < at) && e.holds&^has == 0 && a.entries[i].takes(args, joined, dir) {
				best, at = e.action, i
			}
		}
		return best == RefuseIt && at >= 0
	})
	if at < 0 {
		return RefuseIt, -1
	}
	return best, at
}

func folderPath(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

// Decision says whether the person has allowed a script beforehand. The zero value doesn't allow.
type Decision struct {
	Allowed bool
	// Refused says that an entry refuses it: asking is no use.
	Refused bool
	// Why says of a script that isn't allowed what keeps it.
	Why string
	// Parts says for each segment, in order, what allows it.
	Parts []Part
	// Argv is what runs, if the plan is one pipeline; else Script is, read by the shell.
	Argv   [][]string
	Script string
}

// Part is what allows one segment.
type Part struct {
	Text string
	// By is "entry", "safe bin" or "shell".
	By string
	// Entry is the place of the entry; -1 if there is none.
	Entry int
}

// safeBuiltins are commands of the shell that need no entry: they change nothing but the shell's folder and status.
var safeBuiltins = set(`: cd false pwd test true [`)

// listTolerates are the doubts with which a script can still be allowed.
const listTolerates = runsAsWritten&^(UnknownShell|DynamicName|Elevated|Remote) | Negation | Folder

// Decide says whether every part of a plan is allowed by the list or is a safe bin. Redirects, groups,
// loops, expansions and text for other shells are never allowed here, nor is what [StrictInline] finds: they go to the
// person. What is allowed runs as the Argv or the Script of the decision, not as the text that came.
func (a *Allowlist) Decide(p Plan, bins SafeBins) Decision {
	d := Decision{}
	if p.Context.Shell == OtherShell {
		d.Why = "it is for a shell that isn't read here"
		return d
	}
	if len(p.Segments) == 0 {
		d.Why = "there is no command that can be told"
		return d
	}
	if inline := StrictInline(p); len(inline) > 0 {
		d.Why = inline[0].Label + " is asked for each time"
	}
	if own := p.Doubts &^ listTolerates; own != 0 && d.Why == "" {
		d.Why = "it holds " + own.String()
	}
	a.decide(&p, p.Segments, bins, false, &d)
	if d.Refused || d.Why != "" {
		return Decision{Refused: d.Refused, Why: d.Why, Parts: d.Parts}
	}
	if argv, ok := p.Argv(); ok && !hasScript(p.Segments) {
		d.Argv = argv
	} else if d.Script, ok = p.Pinned(); !ok {
		d.Why = "it can't be written so that a shell reads it in one way only"
		return d
	}
	d.Allowed = true
	return d
}

func hasScript(segments []Segment) bool {
	return slices.ContainsFunc(segments, func(s Segment) bool { return len(s.Inner) > 0 })
}

// decide judges segments. payload says that they stand in a script that a shell is given.
func (a *Allowlist) decide(p *Plan, segments []Segment, bins SafeBins, payload bool, d *Decision) {
	for i := range segments {
		s := &segments[i]
		part, why, refused := a.part(p, s, bins, payload, d)
		if refused {
			d.Refused = true
		}
		if why != "" && d.Why == "" || refused {
			d.Why = why
		}
		if why == "" {
			d.Parts = append(d.Parts, part)
		}
	}
}

func (a *Allowlist) part(p *Plan, s *Segment, bins SafeBins, payload bool, d *Decision) (part Part, why string, refused bool) {
	part = Part{Text: s.Text, Entry: -1}
	l := s.Command()
	if l == nil || s.Join == Within || s.Join == Backgroup || len(s.Redirects) > 0 || len(s.Assigns) > 0 {
		return part, "it is more than a plain command: " + s.Text, false
	}
	wrappers := 0
	for n := range s.Layers[:len(s.Layers)-1] {
		w := &s.Layers[n]
		wrappers++
		action, at := a.Match(p.Context.Files, w.Program, texts(w.Argv[1:]), s.Dir)
		switch {
		case at >= 0 && action == RefuseIt:
			return part, w.Program.Name + " is refused by an entry", true
		case at >= 0 && action == AskFirst:
			return part, w.Program.Name + " is to be asked for", false
		case w.Kind != Wrapper || !w.Program.Builtin && !w.Program.Bare && !folderOf(w.Program.Name, SystemFolders) || w.Doubts != 0 || wrappers > 4:
			return part, w.Program.Name + " changes how the rest runs", false
		case !w.Program.Builtin && at < 0 && !folderOf(w.Program.Path, SystemFolders):
			return part, w.Program.Name + " is not the system's", false
		}
	}
	switch {
	case l.Program.Function:
		return part, l.Program.Name + " is a function", false
	case l.Program.Builtin && safeBuiltins[l.Program.Name]:
		part.By = "shell"
		return part, "", false
	case l.Program.Builtin && l.Program.Name != "echo" && l.Program.Name != "printf" && l.Program.Name != "kill":
		return part, l.Program.Name + " is a command of the shell", false
	}
	prog := l.Program
	if prog.Builtin {
		prog = p.Context.find(prog.Name, p.Context.Path)
	}
	if !prog.Found() {
		return part, "no program " + l.Program.Name + " was found", false
	}
	args := texts(l.Argv[1:])
	action, at := a.Match(p.Context.Files, prog, args, s.Dir)
	switch {
	case at >= 0 && action == RefuseIt:
		return part, prog.Name + " is refused by an entry", true
	case at >= 0 && action == AskFirst:
		return part, prog.Name + " is to be asked for", false
	}
	if l.Kind == ShellRun {
		// A shell's own entry doesn't allow the script it is given: each part of that must be allowed.
		switch {
		case !prog.Bare && !folderOf(prog.Name, SystemFolders) || !folderOf(prog.Path, SystemFolders):
			return part, prog.Name + " is not the system's", false
		case l.Doubts != 0 || len(l.Argv) != 3 || len(s.Inner) == 0 || payload:
			return part, "what " + prog.Name + " runs can't be told", false
		}
		inner := Decision{}
		a.decide(p, s.Inner, bins, true, &inner)
		d.Parts = append(d.Parts, inner.Parts...)
		if inner.Refused || inner.Why != "" {
			return part, inner.Why, inner.Refused
		}
		part.By = "shell"
		return part, "", false
	}
	if l.Kind != Plain && l.Kind != Package {
		return part, prog.Name + " runs something that can't be told", false
	}
	if payload && (!prog.Bare || strings.HasSuffix(prog.Name, "-wrapper")) {
		return part, prog.Name + " in a script for a shell is asked for", false
	}
	if len(s.Inner) > 0 {
		return part, "it carries a script", false
	}
	if at >= 0 {
		part.By, part.Entry = "entry", at
		return part, "", false
	}
	if ok, _ := bins.allows(s, prog); ok {
		part.By = "safe bin"
		return part, "", false
	}
	return part, prog.Name + " is not on the list", false
}

func texts(words []Word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.Text
	}
	return out
}
