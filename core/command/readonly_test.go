package command

import "testing"

// Every rule's own examples.
func TestReadOnlyExamples(t *testing.T) {
	files := computer("/home/me/work/ /home/me/work/a.txt=x /home/me/work/src/x.go=x")
	n := 0
	for name, r := range readOnlyRules {
		if len(r.can) == 0 || len(r.cannot) == 0 {
			t.Errorf("%s has no examples", name)
		}
		for _, s := range r.can {
			n++
			if v := ReadOnly(Analyse(s, here(files)), LookRules()); !v.Allowed {
				t.Errorf("%s: refused: %s (%s)", s, v.Reason, v.Instead)
			}
		}
		for _, s := range r.cannot {
			n++
			if v := ReadOnly(Analyse(s, here(files)), LookRules()); v.Allowed || v.Reason == "" {
				t.Errorf("%s: allowed as %q", s, v.Stages)
			}
		}
	}
	t.Logf("read-only examples: %d rows", n)
}
