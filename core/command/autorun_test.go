package command

import (
	"path"
	"testing"
)

// Every rule's own examples; each pattern is a valid one and has an example or is plain.
func TestAutorunExamples(t *testing.T) {
	for _, r := range autoruns {
		if len(r.like) == 0 {
			t.Errorf("%v has no examples", r.names)
		}
		for _, pattern := range append(r.names, r.below...) {
			if _, err := path.Match(pattern, "x"); err != nil {
				t.Errorf("%q: %v", pattern, err)
			}
		}
		for _, p := range r.like {
			if got := RunsLater(Touched{Path: p, Created: true}); got != r.by {
				t.Errorf("%s is run by %q, want %q", p, got, r.by)
			}
			if got := RunsLater(Touched{Path: "/home/ann/" + p}); got != r.by {
				t.Errorf("/home/ann/%s, changed, is run by %q, want %q", p, got, r.by)
			}
		}
		for _, p := range r.unlike {
			if got := RunsLater(Touched{Path: p, Created: true}); got != "" {
				t.Errorf("%s is run by %q", p, got)
			}
		}
	}
}

func TestRunsLater(t *testing.T) {
	texts := func(before, after string) func() ([]byte, []byte, bool) {
		return func() ([]byte, []byte, bool) { return []byte(before), []byte(after), true }
	}
	unknown := func() ([]byte, []byte, bool) { return nil, nil, false }
	for _, c := range []struct {
		name string
		file Touched
		want bool
	}{
		{"the zero file", Touched{}, false},
		{"a text", Touched{Path: "a/notes.txt", Created: true}, false},
		{"a program by its mode", Touched{Path: "a/notes.txt", Executable: true}, true},
		{"a program that was one before", Touched{Path: "a/notes"}, false},
		{"a sample hook", Touched{Path: "p/.git/hooks/pre-push.sample", Created: true, Executable: true}, false},
		{"requirements.txt runs nothing", Touched{Path: "requirements.txt", Created: true}, false},
		{"another letter for k", Touched{Path: "Ma\u212aefile", Created: true}, true},
		{"new package.json", Touched{Path: "package.json", Created: true, Texts: texts("", `{}`)}, true},
		{"scripts added", Touched{Path: "package.json", Texts: texts(`{"name":"x"}`, `{"name":"x","scripts":{"test":"x"}}`)}, true},
		{"a script changed", Touched{Path: "package.json", Texts: texts(`{"scripts":{"a":"1","b":"2"}}`, `{"scripts":{"a":"1","b":"3"}}`)}, true},
		{"a program added", Touched{Path: "package.json", Texts: texts(`{}`, `{"bin":"x.js"}`)}, true},
		{"only a version changed", Touched{Path: "package.json", Texts: texts(`{"version":"1","scripts":{"a":"1","b":"2"}}`, `{"scripts":{"b":"2", "a":"1"},"version":"2"}`)}, false},
		{"no JSON any more", Touched{Path: "package.json", Texts: texts(`{}`, `{`)}, true},
		{"scripts of another form", Touched{Path: "package.json", Texts: texts(`{}`, `{"scripts":["x"]}`)}, true},
		{"content not known", Touched{Path: "package.json", Texts: unknown}, true},
		{"no content at hand", Touched{Path: "package.json"}, true},
		{"scripts the same, but executable now", Touched{Path: "package.json", Executable: true, Texts: texts(`{}`, `{}`)}, true},
	} {
		if got := RunsLater(c.file); (got != "") != c.want {
			t.Errorf("%s: run by %q, want %v", c.name, got, c.want)
		}
	}
}
