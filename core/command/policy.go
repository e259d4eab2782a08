package command

import (
	"fmt"
	"slices"
	"strings"
)

// Security says which scripts may run at all. The zero value is the strictest; a higher value allows more.
type Security uint8

const (
	DenyAll  Security = iota // none
	ListOnly                 // those that the allowlist and the safe bins cover; others as Ask says
	Any                      // all: only where the sandbox bounds what they do
)

// Ask says when the person is asked. The zero value is the strictest; a higher value asks less.
type Ask uint8

const (
	AskAlways Ask = iota // for each script
	AskOnMiss            // for those that aren't covered
	AskOff               // never: what isn't covered is refused
)

var (
	securities = []string{"deny", "allowlist", "full"}
	asks       = []string{"always", "on-miss", "off"}
)

func (s Security) String() string { return nameOf(securities, int(s)) }
func (a Ask) String() string      { return nameOf(asks, int(a)) }

func nameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return names[0]
}

// ParseAsk reads what String gives.
func ParseAsk(s string) (Ask, error) {
	i := slices.Index(asks, s)
	if i < 0 {
		return AskAlways, fmt.Errorf("ask is %q; it is one of off, on-miss, always", s)
	}
	return Ask(i), nil
}

// Mode is security and ask together. The zero Mode lets nothing run.
type Mode struct {
	Security Security
	Ask      Ask
	// NoMiss says that what isn't covered is refused, not asked for: so it is where a list goes without questions.
	NoMiss bool
}

// newMode gives the mode that security and ask make together.
func newMode(s Security, a Ask) Mode { return Mode{s, a, s != Any && a == AskOff} }

// String names a mode by the one word that stands for it, or by its two parts.
func (m Mode) String() string {
	for _, n := range modes {
		if n.mode == m {
			return n.name
		}
	}
	return "security " + m.Security.String() + ", ask " + m.Ask.String()
}

// modes are the words for a mode.
var modes = []struct {
	name string
	mode Mode
}{
	{"deny", newMode(DenyAll, AskOff)},
	{"allowlist", newMode(ListOnly, AskOff)},
	{"ask", newMode(ListOnly, AskOnMiss)},
	{"full", newMode(Any, AskOff)},
}

// Stricter is the mode that allows only what both do: of each part the stricter.
func (m Mode) Stricter(o Mode) Mode {
	s := Mode{min(m.Security, o.Security), min(m.Ask, o.Ask), m.NoMiss || o.NoMiss}
	if s.NoMiss && s.Ask == AskOnMiss {
		s.Ask = AskOff // nothing is left to be asked for
	}
	return s
}

// Harder is the mode with another ask, if that is stricter.
func (m Mode) Harder(a Ask) Mode { return m.Stricter(Mode{Any, a, false}) }

// Policy is what the person has settled beforehand about scripts. It decides whether they are asked; it
// opens nothing that the sandbox closes. The zero Policy refuses every script. A Policy is not changed after it was made.
type Policy struct {
	// Sandbox is for scripts that run in the sandbox, Host for those outside it, of which each is asked for besides.
	Sandbox, Host Mode
	// Strict says that what StrictInline finds is asked for, whatever Security says.
	Strict  bool
	Entries []Entry
	Bins    SafeBins

	list *Allowlist
}

// DefaultPolicy is the one without a policy file: in the sandbox, which bounds what they do, scripts run without a question.
func DefaultPolicy() Policy {
	return Policy{Sandbox: newMode(Any, AskOff), Host: newMode(ListOnly, AskOnMiss), Bins: SafeBins{Names: DefaultSafeBins}}
}

// compile makes the list from the entries.
func (p *Policy) compile(home string) error {
	list, err := CompileAllowlist(p.Entries, home)
	if err != nil {
		return err
	}
	p.list = list
	return nil
}

// Outcome says what is to be done with a script. The zero value refuses.
type Outcome uint8

const (
	RefuseScript Outcome = iota
	AskPerson
	RunScript
)

// Judgement is what a policy says of a script.
type Judgement struct {
	Outcome Outcome
	// Why says why it is refused or asked for, in the order of their weight; empty for what runs.
	Why []string
	// Missed says that it is asked for only because the list doesn't cover it.
	Missed bool
	// Decision is the allowlist's; Allowed only where that was what let the script run.
	Decision Decision
}

// Judge says whether a script runs under a mode of the policy. Mode is Sandbox or Host, made stricter by the caller.
func (p Policy) Judge(plan Plan, m Mode) Judgement {
	if m.Security == DenyAll {
		return Judgement{Why: []string{"the person's policy refuses every command"}}
	}
	d := p.list.Decide(plan, p.Bins)
	if d.Refused {
		return Judgement{Why: []string{d.Why + " of the person's policy"}, Decision: d}
	}
	var why []string
	missed := false
	if m.Ask == AskAlways {
		why = append(why, "every command is to be asked for")
	}
	if p.Strict {
		for _, c := range StrictInline(plan) {
			why = append(why, c.Label+" carries code")
		}
	}
	if p.list.asksFirst(plan) {
		why = append(why, "an entry of the person's policy says so")
	}
	if m.Security == ListOnly && !d.Allowed {
		if m.NoMiss {
			return Judgement{Why: []string{"it isn't on the person's list: " + d.Why}, Decision: d}
		}
		why = append(why, "it isn't on the person's list: "+d.Why)
		missed = len(why) == 1
	}
	if len(why) > 0 {
		return Judgement{Outcome: AskPerson, Why: unique(why), Missed: missed, Decision: d}
	}
	if m.Security != ListOnly {
		d = Decision{} // it runs as it was given
	}
	return Judgement{Outcome: RunScript, Decision: d}
}

// asksFirst reports whether an entry says of a program in the plan that it is to be asked for.
func (a *Allowlist) asksFirst(p Plan) bool {
	if a == nil {
		return false
	}
	for s := range p.All() {
		for i := range s.Layers {
			l := &s.Layers[i]
			prog := l.Program
			if prog.Builtin {
				prog = p.Context.find(prog.Name, p.Context.Path)
			}
			if action, at := a.Match(p.Context.Files, prog, texts(l.Argv[1:]), s.Dir); at >= 0 && action == AskFirst {
				return true
			}
		}
	}
	return false
}

func unique(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// Run is how a plan runs once the person has allowed it, or the list has: with its programs by their paths, so that nothing is
// looked up or read a second time, where it can be reduced to that.
type Run struct {
	// Argv is one program with its words; nil if a shell reads Script.
	Argv   []string
	Script string
	// Exact says that the script is the text as it was given, for it can't be reduced.
	Exact bool
}

// Run says how an allowed plan runs.
func (p *Plan) Run() Run {
	if !hasScript(p.Segments) {
		if argv, ok := p.Argv(); ok && len(argv) == 1 {
			return Run{Argv: argv[0]}
		}
	}
	if script, ok := p.Pinned(); ok {
		return Run{Script: script}
	}
	return Run{Script: p.Script, Exact: true}
}

// String is the run as text: what a person is shown.
func (r Run) String() string {
	if r.Argv == nil {
		return r.Script
	}
	words := make([]string, len(r.Argv))
	for i, w := range r.Argv {
		words[i] = Quote(w)
	}
	return strings.Join(words, " ")
}
