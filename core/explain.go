package core

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"handrail/core/hint"
	"handrail/core/tool"
	"handrail/sandbox"
	"handrail/sandbox/sbpl"
)

// Explanation says what the policy of a session decides on one path, and whether the profile for macOS, read back, says the same.
type Explanation struct {
	Op   sandbox.Op
	Path string // absolute, links resolved
	sandbox.Decision
	// Mac is the decision for macOS, whose system has other folders; Last and Specific are what the profile's text says, by
	// the last rule that matches and by the last that names the operation itself.
	Mac            sandbox.Decision
	Last, Specific Reading
}

// Reading is what a profile's text says under one precedence.
type Reading struct {
	Allowed bool
	Rule    string // the rule that decided, and where it stands
}

// Explain answers a question such as "write /home/anna/notes.txt" for a new session of level Ask. The folders granted count as
// if it had an edit grant on each. It runs nothing and changes nothing.
func Explain(o Options, granted []string, question string) (Explanation, error) {
	word, path, _ := strings.Cut(strings.TrimSpace(question), " ")
	e := Explanation{Op: sandbox.ParseOp(word)}
	if path = strings.TrimSpace(path); e.Op == sandbox.NoOp || path == "" {
		return e, hint.New("bad_arguments", fmt.Sprintf("%q is no question", question)).Then("ask like this: write /path; instead of write: read, create, delete or attributes")
	}
	var err error
	if strings.HasPrefix(path, "~/") {
		path = filepath.Join(o.Home, path[2:])
	}
	if path, err = filepath.Abs(path); err != nil {
		return e, fmt.Errorf("finding %q: %w", path, err)
	}
	if e.Path, err = tool.Resolve(path); err != nil {
		return e, err
	}
	var places []sandbox.Place
	for _, folder := range granted {
		real, err := tool.Resolve(folder)
		if err != nil {
			return e, err
		}
		place, err := sandbox.PlaceAt(real)
		if err != nil {
			return e, err
		}
		places = append(places, place)
	}
	o.path = sync.OnceValue(o.askPath)
	room := filepath.Join(o.Work, "session")
	m := machine(o, filepath.Join(room, "tmp"), filepath.Join(room, "caches"), nil)
	e.Decision = sandbox.Guarded(m).AllowWrite(places...).Decide(e.Op, e.Path)

	m.System = "darwin"
	mac := sandbox.Guarded(m).AllowWrite(places...)
	e.Mac = mac.Decide(e.Op, e.Path)
	text, params, err := mac.SBPL()
	if err != nil {
		return e, err
	}
	values := make(map[string]string)
	for _, p := range params {
		values[p.Name] = p.Value
	}
	profile, err := sbpl.Parse(text, values)
	if err != nil {
		return e, err
	}
	read := func(by sbpl.Precedence) Reading {
		allowed, rule := profile.DecideBy(by, sbpl.Request{Op: e.Op.Seatbelt(), Path: e.Path})
		r := Reading{allowed, "no rule matches, so the default"}
		if rule != nil {
			r.Rule = rule.String()
		}
		return r
	}
	e.Last, e.Specific = read(sbpl.LastWins), read(sbpl.SpecificWins)
	return e, nil
}

// Err says that the profile's text and the policy differ: a defect of ours, but where the policy, which has no kernel around it,
// knows less of what programs need to start: the root folder's list, and devices.
func (e Explanation) Err() error {
	if e.Path == "/" || strings.HasPrefix(e.Path, "/dev/") {
		return nil
	}
	if e.Last.Allowed != e.Mac.Allowed || e.Specific.Allowed != e.Mac.Allowed {
		return fmt.Errorf("the policy and the profile for macOS differ on %s %q: please report this", e.Op, e.Path)
	}
	return nil
}

// String says it in lines.
func (e Explanation) String() string {
	var b strings.Builder
	mark := map[bool]string{true: "✓ allowed", false: "✗ denied"}
	fmt.Fprintf(&b, "%s %s\n%s: %s\n", e.Op, e.Path, mark[e.Allowed], e.Rule)
	if !e.Allowed {
		fmt.Fprintf(&b, "  %s\n", opener(e.Opens))
	}
	if e.Mac != e.Decision {
		fmt.Fprintf(&b, "On macOS %s: %s\n", mark[e.Mac.Allowed], e.Mac.Rule)
	}
	fmt.Fprintf(&b, "The profile for macOS, read back:\n  the last rule that matches: %s, %s\n  the last that names the operation: %s, %s\n",
		mark[e.Last.Allowed], e.Last.Rule, mark[e.Specific.Allowed], e.Specific.Rule)
	if e.Last.Allowed == e.Mac.Allowed && e.Specific.Allowed == e.Mac.Allowed {
		b.WriteString("  they agree with the policy\n")
	}
	return b.String()
}

func opener(opens string) string {
	switch opens {
	case sandbox.OpensNothing:
		return "nothing opens it"
	case sandbox.OpensLook:
		return "opened by a look grant: request_access with level look asks you"
	case sandbox.OpensEdit:
		return "opened by an edit grant: request_access asks you"
	case sandbox.OpensProtected:
		return "edit and write_file ask you for this file alone, each time; a command never changes it"
	}
	return "opened by the permission " + opens
}
