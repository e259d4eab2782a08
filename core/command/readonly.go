package command

import (
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// Rules are what [ReadOnly] may run. The zero value has no folders, so nothing is allowed.
type Rules struct {
	// Folders hold the programs. They must be the system's: what is in them can't be changed by the user.
	Folders []string
	// Ripgrep holds further folders for rg alone, which comes with no system.
	Ripgrep []string
}

// LookRules are those of the access level look: the system's folders, and a package manager's for rg.
func LookRules() Rules {
	return Rules{Folders: SystemFolders, Ripgrep: []string{"/opt/homebrew/bin", "/usr/local/bin", "/home/linuxbrew/.linuxbrew/bin"}}
}

// Verdict says whether a script only reads, and how it is run then. The zero value refuses.
type Verdict struct {
	Allowed bool
	// Reason says why not, and Instead what to do; lower-case, no full stop. Instead may be empty.
	Reason, Instead string
	// Stages are the programs of the pipeline in order. They are run as they stand here, without a shell.
	Stages []Stage
	// Paths are the files and folders that the words name, or may name. The caller checks each before it runs anything.
	Paths []Operand
}

// Stage is one program of a pipeline.
type Stage struct {
	// Argv begins with the program's absolute path.
	Argv []string
	// Env holds variables ("NAME=value") that must be set so that the program runs nothing out of its settings.
	Env []string
	// Stderr says where its error text goes.
	Stderr Stderr
}

// Stderr is where a stage's error text goes.
type Stderr uint8

const (
	Kept     Stderr = iota // to the caller
	Dropped                // 2>/dev/null
	WithText               // 2>&1: into the next stage, or the output
)

// Operand is a word that names a file or folder.
type Operand struct {
	Program string
	Text    string
	// Path is absolute and clean, links not resolved; "" if the working folder isn't known.
	Path string
	// Stored says that the word may name a file as a Git commit holds it: relative to the top of the repository as well.
	Stored bool
}

// ReadOnly says whether a script may run at the access level look: one program of the list, or a
// pipeline of them, each with words by which it only reads. What is allowed is run as argument lists under the readonly
// profile, which bounds it whatever this says. File name patterns are replaced here, so that the names are among Paths.
func ReadOnly(p Plan, rules Rules) Verdict {
	v := readOnly(p, rules)
	if !v.Allowed {
		if message, ok := DenyPattern(p.Script); ok {
			v.Reason = message
		}
	}
	return v
}

func readOnly(p Plan, rules Rules) Verdict {
	c := readOnlyCheck{plan: &p, rules: rules}
	c.structure()
	for i := range p.Segments {
		if c.refused {
			break
		}
		c.stage(&p.Segments[i])
	}
	if p.Doubts&^lookTolerates != 0 {
		c.refuse("the script holds "+(p.Doubts&^lookTolerates).String(), "send one plain command")
	}
	if c.refused {
		return Verdict{Reason: c.reason, Instead: c.instead}
	}
	return Verdict{Allowed: true, Stages: c.stages, Paths: c.paths}
}

// readOnlyCheck is the check of one plan. The first refusal counts.
type readOnlyCheck struct {
	plan            *Plan
	rules           Rules
	refused         bool
	reason, instead string
	stages          []Stage
	paths           []Operand
	name            string
	argv            []string
	env             []string
}

func (c *readOnlyCheck) refuse(reason, instead string) {
	if !c.refused {
		c.refused, c.reason, c.instead = true, reason, instead
	}
}

// lookWhy says why something in the text is refused, most telling first.
var lookWhy = []struct {
	doubt           Doubt
	reason, instead string
}{
	{UnknownShell, "the script is for a shell that isn't read here", "write it for sh or bash"},
	{TooLong, "the script is too long", "send one command at a time"},
	{TooDeep, "the script is nested too deeply", "send one command at a time"},
	{ControlByte, "the script holds a control character", "use plain text and new lines"},
	{Syntax, "the script can't be read as shell text", "check quotes and brackets"},
	{Function, "functions are not allowed", "write the command out"},
	{Alias, "aliases are not allowed", "write the command out"},
	{Eval | Source | Trap | Option, "commands of the shell are not allowed", "write the command out"},
	{Loop | Conditional | Test, "loops and conditions are not allowed", "send one command at a time"},
	{Coprocess | Background, "background commands are not allowed", "send one command at a time"},
	{ProcessSubst, "process substitution is not allowed", "use a pipe"},
	{Substitution, "command substitution is not allowed", "run that command first and use what it prints"},
	{HereDoc | HereString, "here-documents are not allowed", "name a file"},
	{FileRedirect | OtherRedirect, "redirects are not allowed", "leave out the redirect: the output comes back anyway"},
	{Assignment | Environment, "setting variables is not allowed", "write the value where it is used"},
	{Variable, "variables are not allowed", "write the value out"},
	{Arithmetic, "arithmetic is not allowed", "write the number out"},
	{ExtGlob, "extended patterns are not allowed", "use find -name '…'"},
	{Brace, "brace expansion is not allowed", "write the words out, or quote them"},
	{UserHome, "this use of ~ is not allowed", "write the path out"},
	{LocaleQuote, `this kind of quotes is not allowed`, "use plain quotes"},
	{Subshell | Group, "grouping is not allowed", "send one command at a time"},
	{PipeBoth, "|& is not allowed", "write 2>&1 |"},
	{Negation | Timed, "! and time are not allowed", "write the command alone"},
	{Folder, "changing folder is not allowed", "use absolute paths, or the workdir argument"},
}

// lookTolerates are the doubts that change nothing of what runs, because it runs as argument lists.
const lookTolerates = Glob | Home | AnsiQuote | OddBlank | HarmlessRedirect | BashOnly | DynamicName | UnknownProgram | UnknownOption | ReadsScript | InlineCode | Elevated | Remote

// structure refuses what isn't a pipeline of plain commands.
func (c *readOnlyCheck) structure() {
	if len(c.plan.Segments) == 0 && c.plan.Doubts == 0 {
		c.refuse("there is no command", "")
	}
	for i := range c.plan.Segments {
		switch s := &c.plan.Segments[i]; s.Join {
		case Start, Pipe:
		case Within:
		case Backgroup:
			c.refuse("background commands are not allowed", "send one command at a time")
		default:
			c.refuse("several commands in one script are not allowed", "send one command at a time")
		}
	}
	own := c.plan.own() // what its words carry is the program's to refuse, which says more
	for _, w := range lookWhy {
		if own.Has(w.doubt) {
			if c.refused && w.doubt.Has(FileRedirect|Variable|Assignment|Folder|Subshell) {
				break // that there are several commands says more
			}
			c.refused = false
			c.refuse(w.reason, w.instead)
			break
		}
	}
	if own&^lookTolerates != 0 {
		c.refuse("the script holds "+(own&^lookTolerates).String(), "send one plain command")
	}
	for i := range c.plan.Segments {
		if c.plan.Segments[i].Join == Within {
			c.refuse("only single commands and pipes are allowed", "send one command at a time")
		}
	}
}

// stage checks one program of the pipeline.
func (c *readOnlyCheck) stage(s *Segment) {
	if len(s.Argv) == 0 || len(s.Assigns) > 0 {
		c.refuse("there is no command", "")
		return
	}
	name, ok := s.Argv[0].Literal()
	if !ok {
		c.refuse("the program's name is not plain text", "write it out")
		return
	}
	base := name
	if strings.Contains(name, "/") {
		base = path.Base(name)
	}
	rule, ok := readOnlyRules[base]
	if !ok {
		c.refuse(base+" is not one of the programs that may run here", "use "+strings.Join(ReadOnlyPrograms(), ", "))
		return
	}
	found := c.locate(name, base)
	if found == "" {
		return
	}
	stage := Stage{}
	for _, r := range s.Redirects {
		switch {
		case r.FD == 2 && r.Kind == Truncates && !r.Both && r.Target.Is("/dev/null"):
			stage.Stderr = Dropped
		case r.FD == 2 && r.Kind == Duplicates && r.Target.Is("1"):
			stage.Stderr = WithText
		case r.FD == 0 && r.Kind == ReadsFrom && r.Target.Is("/dev/null") && s.Join == Start: // it is empty anyway
		default:
			c.refuse("redirects are not allowed", "leave out the redirect: the output comes back anyway")
			return
		}
	}
	args := c.expand(s, s.Argv[1:])
	if c.refused {
		return
	}
	c.name, c.env = base, nil
	c.argv = make([]string, 1, len(args)+2)
	c.argv[0] = found
	for _, w := range args {
		if strings.IndexByte(w.Text, 0) >= 0 {
			c.refuse("a word holds a NUL byte", "")
			return
		}
		c.argv = append(c.argv, w.Text)
	}
	c.words(&rule, args)
	stage.Argv, stage.Env = c.argv, c.env
	c.stages = append(c.stages, stage)
}

// ReadOnlyPrograms lists the programs that [ReadOnly] knows, sorted.
func ReadOnlyPrograms() []string {
	var names []string
	for name := range readOnlyRules {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// locate finds the program in the folders of the rules, whatever PATH says.
func (c *readOnlyCheck) locate(name, base string) string {
	folders := c.rules.Folders
	if base == "rg" {
		folders = append(slices.Clone(folders), c.rules.Ripgrep...)
	}
	if base != name {
		if !filepath.IsAbs(name) || filepath.Clean(name) != name || !slices.Contains(folders, path.Dir(name)) {
			c.refuse(name+" is not a program of the system", "write "+base+" without a path")
			return ""
		}
		folders = []string{path.Dir(name)}
	}
	files := c.plan.Context.Files
	if files != nil {
		for _, f := range folders {
			at := f + "/" + base
			is, err := files.Stat(at)
			if err != nil || !is.Regular || !is.Exec {
				continue
			}
			if c.ofSystem(is.Real, f, base) {
				return at
			}
		}
	}
	c.refuse(base+" is not installed among the system's programs", "")
	return ""
}

// ofSystem reports whether what a program's name leads to is among what the system, or rg's package manager, installed.
func (c *readOnlyCheck) ofSystem(real, folder, base string) bool {
	for _, r := range systemRoots {
		if within(real, r) {
			return true
		}
	}
	if within(real, folder) {
		return true
	}
	return base == "rg" && slices.Contains(c.rules.Ripgrep, folder) && within(real, path.Dir(folder))
}

// words checks a program's words by its rule.
func (c *readOnlyCheck) words(rule *readOnlyRule, args []Word) {
	if rule.parse != nil {
		rule.parse(c, args)
		return
	}
	set := lookOptions[c.name]
	a := set.all.parse(args, false)
	if a.bad != "" {
		c.refuse(c.name+": "+a.bad, "leave it out, or write the option in full")
		return
	}
	for _, o := range a.options {
		if why := set.refused[o.name]; why != "" {
			c.refuse(c.name+" "+o.name+" "+why, "leave out "+o.name)
			return
		}
		// Programs differ in which options take a value. So one in a word of its own must not look like an option to the other.
		if o.separate && strings.HasPrefix(o.value.Text, "-") && len(o.value.Text) > 1 && o.name != "-e" && o.name != "--regexp" && !isNumber(o.value.Text[1:]) {
			c.refuse(c.name+" "+o.name+" is followed by "+o.value.Text+", which looks like an option", "write the value in the same word: "+o.name+"…")
			return
		}
		if o.path && o.given {
			c.path(o.value)
		}
	}
	operands := a.operands
	switch rule.operands {
	case noOperands:
		if len(operands) > 0 {
			c.refuse(c.name+" takes no "+operands[0].Text+" here", "run "+c.name+" without it")
		}
		return
	case textOperands:
		operands = nil
	case patternFirst:
		if !a.has("-e", "--regexp", "-f", "--file", "--files", "--type-list") && len(operands) > 0 {
			operands = operands[1:]
		}
	}
	for _, w := range operands {
		c.path(w)
	}
	if rule.check != nil {
		rule.check(c, &a)
	}
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// lookSet holds a rule's tables, ready for use.
type lookSet struct {
	all     optionSet
	refused map[string]string
}

var lookOptions = func() map[string]*lookSet {
	m := make(map[string]*lookSet)
	for name, r := range readOnlyRules {
		m[name] = newLookSet(r.allow, r.refuse)
	}
	return m
}()

func newLookSet(allow, refuse string) *lookSet {
	s := &lookSet{refused: make(map[string]string)}
	spec := allow
	for line := range strings.Lines(refuse) {
		options, why, _ := strings.Cut(line, ": ")
		spec += " " + options
		for _, f := range strings.Fields(options) {
			option, _, _ := strings.Cut(f, "=")
			s.refused[strings.TrimSuffix(option, "[")] = strings.TrimSpace(why)
		}
	}
	s.all = parseOptions(spec)
	return s
}

// insert puts words into the argument list that will run.
func (c *readOnlyCheck) insert(at int, words ...string) { c.argv = slices.Insert(c.argv, at, words...) }

// networkPlaces are folders in which a name is looked up on other computers (autofs), in lower case: some file systems don't
// tell case apart.
var networkPlaces = []string{"/net", "/network", "/misc", "/afs", "/system/volumes/data/network"}

// remote reports whether looking a path up could ask another computer.
func remote(path string) bool {
	path = strings.ToLower(path)
	return slices.ContainsFunc(networkPlaces, func(n string) bool { return within(path, n) })
}

// path notes a word that names a file or folder.
func (c *readOnlyCheck) path(w Word) { c.note(w, false) }

func (c *readOnlyCheck) note(w Word, stored bool) {
	o := Operand{Program: c.name, Text: w.Text, Path: absolute(c.plan.Context.Dir, w.Text), Stored: stored}
	if w.Text == "-" {
		return
	}
	real := ""
	if files := c.plan.Context.Files; files != nil && o.Path != "" {
		if remote(o.Path) { // not even asked for: asking is what would reach out
			c.refuse(w.Text+" lies on other computers", "name a file on this one")
			return
		}
		if f, err := files.Stat(o.Path); err == nil {
			real = f.Real
		}
	}
	for _, p := range []string{o.Path, real} {
		if p != "" && remote(p) {
			c.refuse(w.Text+" lies on other computers", "name a file on this one")
			return
		}
		if p != "" && within(p, "/dev") && p != "/dev/null" && p != "/dev" {
			c.refuse(w.Text+" is a device", "name a file")
			return
		}
	}
	c.paths = append(c.paths, o)
}

// maxNames is how many names a pattern may stand for.
const maxNames = 4096

// expand replaces file name patterns by the names they stand for, as the shell would.
func (c *readOnlyCheck) expand(s *Segment, words []Word) []Word {
	var out []Word
	for i, w := range words {
		if w.Doubt&open != Glob {
			if out != nil {
				out = append(out, w)
			}
			continue
		}
		if out == nil {
			out = slices.Clone(words[:i])
		}
		if w.Lead == "" || w.Lead[0] == '-' {
			c.refuse("the pattern "+w.Text+" could become an option", "write ./"+w.Text+" for files here, or '"+w.Text+"' for the program to see the pattern")
			return nil
		}
		names, ok := c.glob(w.Text)
		if !ok {
			c.refuse("the pattern "+w.Text+" can't be read here", "use find -name '…', or name the files")
			return nil
		}
		for _, n := range names {
			out = append(out, literal(n))
		}
	}
	if out == nil {
		return words
	}
	return out
}

// glob gives the names that a pattern stands for, sorted; the pattern itself if there are none.
func (c *readOnlyCheck) glob(pattern string) ([]string, bool) {
	files := c.plan.Context.Files
	if files == nil || c.plan.Context.Dir == "" || strings.Contains(pattern, "[[:") || strings.Contains(pattern, "[.") || strings.Contains(pattern, "[=") {
		return nil, false
	}
	found := []string{""}
	rest := pattern
	if strings.HasPrefix(rest, "/") {
		found[0] = "/"
		rest = strings.TrimLeft(rest, "/")
	}
	for rest != "" {
		part := rest
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			part, rest = rest[:i], strings.TrimLeft(rest[i:], "/")
			if rest == "" {
				return nil, false
			}
		} else {
			rest = ""
		}
		magic := strings.ContainsAny(stripEscapes(part), "*?[")
		match := strings.ReplaceAll(part, "[!", "[^")
		var next []string
		for _, dir := range found {
			if !magic {
				next = append(next, dir+unescapePattern(part))
				continue
			}
			at := absolute(c.plan.Context.Dir, dir)
			if dir == "" {
				at = c.plan.Context.Dir
			}
			if remote(at) {
				return nil, false
			}
			names, err := files.Names(at)
			if err != nil {
				continue
			}
			for _, n := range names {
				if strings.HasPrefix(n, ".") && !strings.HasPrefix(part, ".") || n == "." || n == ".." {
					continue
				}
				ok, err := path.Match(match, n)
				if err != nil {
					return nil, false
				}
				if ok {
					next = append(next, dir+n)
				}
			}
			if len(next) > maxNames {
				return nil, false
			}
		}
		if rest != "" {
			kept := next[:0]
			for _, n := range next {
				at := absolute(c.plan.Context.Dir, n)
				if remote(at) { // as above; asking is what would reach out
					return nil, false
				}
				if f, err := files.Stat(at); err == nil && f.Folder {
					kept = append(kept, n+"/")
				}
			}
			next = kept
		} else if !magic {
			kept := next[:0]
			for _, n := range next {
				at := absolute(c.plan.Context.Dir, n)
				if remote(at) {
					return nil, false
				}
				if _, err := files.Stat(at); err == nil {
					kept = append(kept, n)
				}
			}
			next = kept
		}
		found = next
	}
	if len(found) == 0 {
		return []string{unescapePattern(pattern)}, true
	}
	sort.Strings(found)
	return found, true
}

// stripEscapes leaves out bytes whose meaning a backslash took away.
func stripEscapes(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			i++
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func unescapePattern(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
