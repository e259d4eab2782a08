package sandbox

import (
	"strings"
	"testing"

	"handrail/sandbox/sbpl"
)

// Under each profile a command may look up its own marks, no other's, and not the name by which a program without a sandbox is known.
func TestMarkRules(t *testing.T) {
	own, state := mark("handrail.command.abc234"), markOf(mac.State)
	for _, c := range macPolicies {
		text, params, err := c.policy.SBPL()
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]string{}
		for _, p := range params {
			values[p.Name] = p.Value
		}
		profile, err := sbpl.Parse(tagged(text, own)+markRules(own, state), values)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for _, m := range []struct {
			mark mark
			want bool
		}{{own, true}, {state, true}, {unmarked, false}, {markOf("/other"), false}, {"handrail.command.other", false}} {
			if got, rule, err := profile.Decide(sbpl.Request{Op: "mach-lookup", Name: string(m.mark)}); got != m.want || err != nil {
				t.Errorf("%s: %s: %v (%v, %v), want %v", c.name, m.mark, got, rule, err, m.want)
			}
		}
	}
	if text := markRules(`x"))(allow default)`); strings.Contains(text, "default") {
		t.Errorf("%q", text)
	}
	if markOf("/a") == markOf("/b") || !markOf("/a").mayTell() {
		t.Error("two state folders have one mark, or one that can't be told")
	}
}
