// Package sbpl reads back a Seatbelt profile and says what it allows.
//
// It knows the part of the profile language that Handrail prints, and refuses everything else: an expression, a filter or a
// modifier that it doesn't know is an error, never skipped. Apple documents neither the language nor which of two matching
// rules wins, so a [Profile] decides by both rules that have been reported ([LastWins] and [SpecificWins]); a profile whose
// answers differ is ambiguous, and Handrail's tests fail on one.
//
//	profile, err := sbpl.Parse(text, map[string]string{"HOME": "/Users/anna"})
//	allowed, rule, err := profile.Decide(sbpl.Request{Op: "file-write-data", Path: "/Users/anna/notes.txt"})
//
// What it can't tell: whether macOS means the same. The tests on a Mac compare that.
package sbpl

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Profile is a parsed profile. The zero value denies everything.
type Profile struct {
	rules []Rule
	// unless a rule matches
	allow bool
}

// Rule is one allow or deny rule.
type Rule struct {
	Allow  bool
	Ops    []string // as written: "file-write*" is a wildcard
	Line   int      // where it stands, from 1
	filter filter
}

// String gives the rule's head and where it stands.
func (r Rule) String() string {
	word := "deny"
	if r.Allow {
		word = "allow"
	}
	return fmt.Sprintf("line %d: (%s %s …)", r.Line, word, r.Ops[0])
}

// Request is one operation. Only the fields that belong to it are set.
type Request struct {
	Op   string // such as "file-read-data", never a wildcard
	Path string // of a file or a unix socket
	// Kind is the file's kind: "REGULAR-FILE", "DIRECTORY" … Empty: unknown, and a filter for a kind doesn't match.
	Kind string
	Name string // of a service, a sysctl or shared memory
	// Host and Port are the other side's ("localhost", or an address), or one's own for inbound and bind.
	Host string
	Port int
	// Outside says that a process operation is on one outside the sandbox.
	Outside bool
}

// Precedence is a way to choose among the rules that match.
type Precedence uint8

const (
	// LastWins takes the last rule that matches.
	LastWins Precedence = iota
	// SpecificWins takes the last rule that names the operation itself, or if none does the last with a wildcard.
	SpecificWins
)

// ErrAmbiguous says that the two ways to choose among rules give different answers.
var ErrAmbiguous = errors.New("the profile means different things under the two precedences")

// Decide answers a request under both precedences. The rule is the one that decided; nil is the profile's default.
func (p *Profile) Decide(r Request) (allowed bool, rule *Rule, err error) {
	a, rule := p.DecideBy(LastWins, r)
	b, other := p.DecideBy(SpecificWins, r)
	if a != b {
		return false, rule, fmt.Errorf("%w: %s %q: %v, %v", ErrAmbiguous, r.Op, r.Path+r.Name+r.Host, rule, other)
	}
	return a, rule, nil
}

// DecideBy answers a request under one precedence.
func (p *Profile) DecideBy(by Precedence, r Request) (allowed bool, rule *Rule) {
	var last, lastSpecific *Rule
	for i := range p.rules {
		rule := &p.rules[i]
		specific, named := rule.names(r.Op)
		if !named || !rule.filter(r) {
			continue
		}
		last = rule
		if specific {
			lastSpecific = rule
		}
	}
	if by == SpecificWins && lastSpecific != nil {
		last = lastSpecific
	}
	if last == nil {
		return p.allow, nil
	}
	return last.Allow, last
}

// names reports whether the rule is for an operation, and whether it names it without a wildcard.
func (r *Rule) names(op string) (specific, named bool) {
	for _, o := range r.Ops {
		prefix, wild := strings.CutSuffix(o, "*")
		switch {
		case o == op:
			return true, true
		case wild && strings.HasPrefix(op, prefix):
			named = true
		}
	}
	return false, named
}

// filter reports whether a rule's filters match a request.
type filter func(Request) bool

// Parse reads a profile. params are the values passed with -D.
func Parse(text string, params map[string]string) (*Profile, error) {
	forms, err := read(text)
	if err != nil {
		return nil, fmt.Errorf("reading a profile: %w", err)
	}
	p := &Profile{}
	e := env{params}
	for i, f := range forms {
		if err := p.form(e, i, f); err != nil {
			return nil, fmt.Errorf("reading a profile: line %d: %w", f.line, err)
		}
	}
	if len(forms) == 0 {
		return nil, errors.New("reading a profile: it is empty")
	}
	return p, nil
}

func (p *Profile) form(e env, i int, f node) error {
	head := f.head()
	switch {
	case i == 0:
		if head != "version" || len(f.list) != 2 || f.list[1].atom != "1" {
			return errors.New("it doesn't start with (version 1)")
		}
		return nil
	case head != "allow" && head != "deny":
		return fmt.Errorf("unknown form %q", head)
	}
	rule := Rule{Allow: head == "allow", Line: f.line}
	rest := f.list[1:]
	for len(rest) > 0 && rest[0].isAtom() {
		rule.Ops = append(rule.Ops, rest[0].atom)
		rest = rest[1:]
	}
	if len(rule.Ops) == 0 {
		return errors.New("a rule for no operation")
	}
	// The words that the log tells of a refusal decide nothing.
	if n := len(rest); n > 0 && rest[n-1].head() == "with" {
		if m := rest[n-1]; len(m.list) != 3 || m.list[1].atom != "message" || !m.list[2].isString || rule.Allow {
			return fmt.Errorf("unknown modifier %s", m)
		}
		rest = rest[:n-1]
	}
	if slices.Contains(rule.Ops, "default") {
		if len(rule.Ops) > 1 || len(rest) > 0 || len(p.rules) > 0 {
			return errors.New("default stands alone, before all rules")
		}
		p.allow = rule.Allow
		return nil
	}
	for _, op := range rule.Ops {
		if !operation.MatchString(op) {
			return fmt.Errorf("%q is no operation", op)
		}
	}
	var filters []filter
	for _, n := range rest {
		flt, err := e.filter(n)
		if err != nil {
			return err
		}
		filters = append(filters, flt)
	}
	rule.filter = any(filters)
	if len(filters) == 0 {
		rule.filter = func(Request) bool { return true }
	}
	p.rules = append(p.rules, rule)
	return nil
}

var operation = regexp.MustCompile(`^[a-z][a-z0-9-]*[*]?$`)

func any(filters []filter) filter {
	return func(r Request) bool {
		return slices.ContainsFunc(filters, func(f filter) bool { return f(r) })
	}
}

func all(filters []filter) filter {
	return func(r Request) bool {
		return !slices.ContainsFunc(filters, func(f filter) bool { return !f(r) })
	}
}
