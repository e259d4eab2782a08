package command

import (
	"fmt"
	"testing"
)

func TestNormalise(t *testing.T) {
	n := 0
	for _, r := range normalising {
		for _, e := range r.examples {
			n++
			query, script, want := e[0], e[1], e[2]
			if want == "" {
				want = script
			}
			got, notes := Normalise(Analyse(script, desk()), query)
			if got != want || len(notes) != 0 != (e[2] != "") {
				t.Errorf("%s: %q: %s becomes %s (%q), want %s", r.name, query, script, got, notes, want)
			}
			if v := look(got); !v.Allowed {
				t.Errorf("%s: %s may not run: %s", r.name, got, v.Reason)
			}
			if got, notes := Normalise(Analyse(script, desk()), ""); got != script || notes != nil {
				t.Errorf("%s: without a question %s becomes %s", r.name, script, got)
			}
		}
	}
	fmt.Printf("normalising: %d rules, %d examples\n", len(normalising), n)
}

// Two rules may hold for one script; what isn't a plain pipeline stays as it is.
func TestNormaliseTogether(t *testing.T) {
	got, notes := Normalise(Analyse("find . -type f | wc -l", desk()), "list my PDF files")
	if got != "find . -type f -iname '*.pdf'" || len(notes) != 2 {
		t.Errorf("%s, %q", got, notes)
	}
	for _, script := range []string{"find . -type f > out | wc -l", "find . ; ls | wc -l", "find $HOME | wc -l", "find ./* | wc -l", "find . &", ""} {
		if got, notes := Normalise(Analyse(script, desk()), "list my PDF files"); got != script || notes != nil {
			t.Errorf("%s becomes %s, %q", script, got, notes)
		}
	}
	// Without Spotlight a search stays where it is.
	ctx := desk()
	ctx.Files = newTree("/usr/bin/grep* /home/me/proj/")
	if got, notes := Normalise(Analyse("grep -rl x .", ctx), "search the whole computer for x"); got != "grep -rl x ." || notes != nil {
		t.Errorf("%s, %q", got, notes)
	}
}

// What a rule makes of a script that may run may run too, and of another nothing that may.
func FuzzNormalise(f *testing.F) {
	for _, r := range normalising {
		for _, e := range r.examples {
			f.Add(e[1], e[0])
		}
	}
	f.Fuzz(func(t *testing.T, script, query string) {
		before := look(script)
		got, notes := Normalise(Analyse(script, desk()), query)
		if len(notes) == 0 {
			if got != script {
				t.Fatalf("%q becomes %q without a word", script, got)
			}
			return
		}
		after := look(got)
		if after.Allowed != before.Allowed && len(after.Stages) >= len(before.Stages) && before.Allowed {
			t.Fatalf("%q may run, and %q may not: %s", script, got, after.Reason)
		}
		if again, more := Normalise(Analyse(got, desk()), query); len(more) > 0 {
			t.Fatalf("%q is put right twice: %q, %q", script, got, again)
		}
	})
}
