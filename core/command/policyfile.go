package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// PolicyDocument is the policy file as it is written; docs/exec-policy.schema.json describes it. What is left out is as in
// [DefaultPolicy].
type PolicyDocument struct {
	Schema  string `json:"$schema,omitempty" jsonschema:"for editors; not read"`
	Version int    `json:"version" jsonschema:"1"`
	// For what runs outside the sandbox. Mode stands for Security and Ask, and excludes them.
	Security    string `json:"security,omitempty" jsonschema:"outside the sandbox: deny or allowlist"`
	Ask         string `json:"ask,omitempty" jsonschema:"outside the sandbox: off, on-miss or always; every command that isn't refused is asked for besides"`
	Mode        string `json:"mode,omitempty" jsonschema:"outside the sandbox, instead of security and ask: deny, allowlist or ask (the default)"`
	AskFallback string `json:"askFallback,omitempty" jsonschema:"what is done when nobody answers: deny, and nothing else"`
	// For what runs in the sandbox.
	Sandbox            *PolicySandbox           `json:"sandbox,omitempty" jsonschema:"for commands in the sandbox; left out: they run without a question"`
	StrictInlineEval   bool                     `json:"strictInlineEval,omitempty" jsonschema:"ask for each command that carries code of its own, such as python3 -c"`
	Allowlist          []PolicyEntry            `json:"allowlist,omitempty" jsonschema:"programs that are allowed, asked for or refused; of several entries the strictest counts"`
	SafeBins           *[]string                `json:"safeBins,omitempty" jsonschema:"filters that need no entry when they read standard input only; left out: cut, head, tail, tr, uniq, wc"`
	SafeBinTrustedDirs []string                 `json:"safeBinTrustedDirs,omitempty" jsonschema:"folders of safe bins besides the system's: absolute paths that nobody but the system's owner can change"`
	SafeBinProfiles    map[string]PolicyProfile `json:"safeBinProfiles,omitempty" jsonschema:"which words further safe bins may get"`
}

// PolicySandbox is the part for the sandbox.
type PolicySandbox struct {
	Security string `json:"security,omitempty" jsonschema:"deny, allowlist or full (the default)"`
	Ask      string `json:"ask,omitempty" jsonschema:"off (the default), on-miss or always"`
	Mode     string `json:"mode,omitempty" jsonschema:"instead of security and ask: deny, allowlist, ask or full"`
}

// PolicyEntry is an [Entry] as it is written.
type PolicyEntry struct {
	Pattern  string          `json:"pattern" jsonschema:"with a slash or a leading ~/: the program's real path, * for text without a slash, ** for any text, ? for one character; without: the name of a program found on the PATH"`
	Args     string          `json:"args,omitempty" jsonschema:"a regular expression (RE2) for all arguments, joined by blanks and quoted where they need it; left out: any"`
	Action   string          `json:"action,omitempty" jsonschema:"allow (the default), ask or deny"`
	Examples []PolicyExample `json:"examples,omitempty" jsonschema:"commands that are tried when the file is read"`
	Note     string          `json:"note,omitempty" jsonschema:"for you"`
}

// PolicyExample is an [Example] as it is written.
type PolicyExample struct {
	Argv  []string `json:"argv" jsonschema:"the program, as a path or a name, and its arguments"`
	Match bool     `json:"match" jsonschema:"whether the entry must match"`
}

// PolicyProfile is a [SafeProfile] as it is written.
type PolicyProfile struct {
	Options string `json:"options,omitempty" jsonschema:"such as \"-n=N --lines=N -q\""`
	Least   int    `json:"least,omitempty" jsonschema:"how many operands there are at least"`
	Most    int    `json:"most,omitempty" jsonschema:"and at most"`
	Text    bool   `json:"text,omitempty" jsonschema:"operands and values are text and never name files"`
}

// MaxPolicy is how many bytes of a policy file are read, maxEntries how many entries it may have.
const (
	MaxPolicy  = 4 << 20
	maxEntries = 10_000
)

// ReadPolicy reads a policy file's text. home replaces a leading "~". An unknown field, an unknown value, a rule that can't
// be compiled and an example that a rule doesn't keep are errors; the Policy is then the zero one, which refuses.
func ReadPolicy(text []byte, home string) (Policy, error) {
	wrong := func(err error) (Policy, error) { return Policy{}, fmt.Errorf("reading the policy file: %w", err) }
	if len(text) > MaxPolicy {
		return wrong(fmt.Errorf("it has more than %d bytes", MaxPolicy))
	}
	var d PolicyDocument
	if err := json.Unmarshal(text, &d, json.RejectUnknownMembers(true)); err != nil {
		return wrong(plainJSON(err))
	}
	p := DefaultPolicy()
	p.Strict = d.StrictInlineEval
	var err error
	if d.Version != 1 {
		return wrong(fmt.Errorf("version is %d, and only 1 is known", d.Version))
	}
	if d.AskFallback != "" && d.AskFallback != "deny" {
		return wrong(fmt.Errorf("askFallback is %q; only deny is possible: what nobody answers is refused", d.AskFallback))
	}
	if p.Host, err = readMode(p.Host, d.Mode, d.Security, d.Ask, false); err != nil {
		return wrong(err)
	}
	if s := d.Sandbox; s != nil {
		if p.Sandbox, err = readMode(p.Sandbox, s.Mode, s.Security, s.Ask, true); err != nil {
			return wrong(fmt.Errorf("sandbox: %w", err))
		}
	}
	if len(d.Allowlist) > maxEntries {
		return wrong(fmt.Errorf("it has more than %d entries", maxEntries))
	}
	for i, e := range d.Allowlist {
		entry := Entry{Pattern: e.Pattern, ArgPattern: e.Args, Action: AllowIt}
		switch e.Action {
		case "", "allow":
		case "ask":
			entry.Action = AskFirst
		case "deny":
			entry.Action = RefuseIt
		default:
			return wrong(fmt.Errorf("allowlist entry %d: action is %q; it is one of allow, ask, deny", i, e.Action))
		}
		for _, x := range e.Examples {
			entry.Examples = append(entry.Examples, Example(x))
		}
		p.Entries = append(p.Entries, entry)
	}
	if d.SafeBins != nil {
		p.Bins.Names = *d.SafeBins
	}
	for _, dir := range d.SafeBinTrustedDirs {
		if absolute("", dir) != dir {
			return wrong(fmt.Errorf("safeBinTrustedDirs: %q is no absolute path in its shortest form", dir))
		}
	}
	p.Bins.Folders = d.SafeBinTrustedDirs
	for name, x := range d.SafeBinProfiles {
		switch {
		case neverSafe[name]:
			return wrong(fmt.Errorf("safeBinProfiles: %s can do more than filter, whatever its profile says", name))
		case safeOptions[name] != nil:
			return wrong(fmt.Errorf("safeBinProfiles: the profile of %s can't be changed", name))
		case x.Least < 0 || x.Most < x.Least:
			return wrong(fmt.Errorf("safeBinProfiles: %s: least is %d and most %d", name, x.Least, x.Most))
		}
		if _, err := readOptions(x.Options); err != nil {
			return wrong(fmt.Errorf("safeBinProfiles: %s: %w", name, err))
		}
		if p.Bins.Profiles == nil {
			p.Bins.Profiles = make(map[string]SafeProfile)
		}
		p.Bins.Profiles[name] = SafeProfile(x)
	}
	for _, name := range p.Bins.Names {
		if neverSafe[name] {
			return wrong(fmt.Errorf("safeBins: %s can do more than filter", name))
		}
	}
	if err := p.compile(home); err != nil {
		return wrong(err)
	}
	return p, nil
}

// plainJSON says what is wrong with a document without naming Go's types.
func plainJSON(err error) error {
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		where := strings.ReplaceAll(strings.TrimPrefix(string(semantic.JSONPointer), "/"), "/", ".")
		if errors.Is(semantic.Err, json.ErrUnknownName) {
			return fmt.Errorf("there is no field %q", where)
		}
		return fmt.Errorf("the field %q has the wrong type", where)
	}
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		return fmt.Errorf("it is no JSON: byte %d: %w", syntactic.ByteOffset, syntactic.Err)
	}
	return err
}

// readMode reads what says how strict one side is. full is only for the sandbox; "auto", a program that answers instead of
// the person, is nowhere.
func readMode(m Mode, mode, security, ask string, sandbox bool) (Mode, error) {
	if mode != "" {
		if security != "" || ask != "" {
			return Mode{}, errors.New("mode stands for security and ask, and excludes them")
		}
		var names []string
		for _, n := range modes {
			if n.name == "full" && !sandbox {
				continue
			}
			if names = append(names, n.name); n.name == mode {
				return n.mode, nil
			}
		}
		return Mode{}, fmt.Errorf("mode is %q; it is one of %s", mode, strings.Join(names, ", "))
	}
	if security != "" {
		known := securities[:Any]
		if sandbox {
			known = securities
		}
		i := slices.Index(known, security)
		if i < 0 {
			return Mode{}, fmt.Errorf("security is %q; it is one of %s", security, strings.Join(known, ", "))
		}
		m.Security = Security(i)
	}
	if ask != "" {
		a, err := ParseAsk(ask)
		if err != nil {
			return Mode{}, err
		}
		m.Ask = a
	}
	return newMode(m.Security, m.Ask), nil
}

// bounds says that the list matters: something is refused or asked for because it isn't covered. Outside the sandbox everything
// is asked for besides, so there only a mode without questions counts.
func (p Policy) bounds() bool { return p.Sandbox != newMode(Any, AskOff) || p.Host.NoMiss }

// Narrower is the policy that allows only what both do. home is as for ReadPolicy.
func (p Policy) Narrower(o Policy, home string) (Policy, error) {
	n := Policy{Sandbox: p.Sandbox.Stricter(o.Sandbox), Host: p.Host.Stricter(o.Host), Strict: p.Strict || o.Strict}
	mine, theirs, kept := sayings(p.Entries), sayings(o.Entries), make(map[string]bool)
	for _, e := range slices.Concat(p.Entries, o.Entries) {
		says := e.says()
		if !kept[says] && (e.Action != AllowIt || (mine[says] || !p.bounds()) && (theirs[says] || !o.bounds())) {
			kept[says] = true
			n.Entries = append(n.Entries, e)
		}
	}
	both := func(a, b []string) (list []string) {
		for _, s := range slices.Concat(a, b) {
			if !slices.Contains(list, s) && (slices.Contains(a, s) || !p.bounds()) && (slices.Contains(b, s) || !o.bounds()) {
				list = append(list, s)
			}
		}
		return list
	}
	n.Bins = SafeBins{Names: both(p.Bins.Names, o.Bins.Names), Folders: both(p.Bins.Folders, o.Bins.Folders), Profiles: make(map[string]SafeProfile)}
	for _, from := range []Policy{p, o} {
		for name, x := range from.Bins.Profiles {
			if (p.Bins.Profiles[name] == x || !p.bounds()) && (o.Bins.Profiles[name] == x || !o.bounds()) {
				n.Bins.Profiles[name] = x
			}
		}
	}
	return n, n.compile(home)
}

// sayings holds what each entry of a list says.
func sayings(list []Entry) map[string]bool {
	m := make(map[string]bool, len(list))
	for _, e := range list {
		m[e.says()] = true
	}
	return m
}

// says is equal for entries that allow or refuse the same; examples don't count.
func (e Entry) says() string {
	exact := ""
	if e.Exact != nil {
		exact = fmt.Sprintf("%q %q", e.Exact.Dir, e.Exact.Args)
	}
	return fmt.Sprintf("%q %q %s %d", e.Pattern, e.ArgPattern, exact, e.Action)
}

// Wider lists, a line each, in what p allows more than o.
func (p Policy) Wider(o Policy) (lines []string) {
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	side := func(name string, p, o Mode) {
		if p.Security > o.Security {
			say("%s: security %s instead of %s", name, p.Security, o.Security)
		}
		if p.Ask > o.Ask && !(p.NoMiss && o.Ask == AskOnMiss) {
			say("%s: ask %s instead of %s", name, p.Ask, o.Ask)
		}
		if o.NoMiss && !p.NoMiss {
			say("%s: what isn't on the list is asked for instead of refused", name)
		}
	}
	side("in the sandbox", p.Sandbox, o.Sandbox)
	side("outside the sandbox", p.Host, o.Host)
	if o.Strict && !p.Strict {
		say("code in arguments is not asked for")
	}
	covered := !o.bounds()
	mine, theirs := sayings(p.Entries), sayings(o.Entries)
	for _, e := range p.Entries {
		if e.Action == AllowIt && !covered && !theirs[e.says()] {
			say("allows %s", e.describe())
		}
	}
	for _, e := range o.Entries {
		if e.Action != AllowIt && !mine[e.says()] {
			say("no longer refuses or asks for %s", e.describe())
		}
	}
	for _, s := range p.Bins.Names {
		if !covered && !slices.Contains(o.Bins.Names, s) {
			say("safe bin %s", s)
		}
	}
	for _, s := range p.Bins.Folders {
		if !covered && !slices.Contains(o.Bins.Folders, s) {
			say("folder of safe bins %s", s)
		}
	}
	for name, x := range p.Bins.Profiles {
		if !covered && o.Bins.Profiles[name] != x {
			say("safe bin %s with %d to %d operands and the options %q, text alone: %t", name, x.Least, x.Most, x.Options, x.Text)
		}
	}
	slices.Sort(lines)
	return lines
}

func (e Entry) describe() string {
	if e.ArgPattern == "" {
		return e.Pattern + " with any arguments"
	}
	return e.Pattern + " with arguments like " + e.ArgPattern
}
