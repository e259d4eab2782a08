package command

import (
	"slices"
	"strings"
)

// Own names programs that no script may start: ours.
type Own struct {
	// Names are base names in small letters.
	Names []string
	// IDs are the identities of their files.
	IDs []FileID
}

// Starts finds a program of o that the plan starts, in whatever spelling: by its name or path, by a link to it, in wrappers,
// in scripts for other shells. name is how the plan has it. What is only known when the script runs isn't found; it is
// bounded by the sandbox, like everything else.
func (o Own) Starts(p Plan) (name string, found bool) {
	for s := range p.All() {
		for i := range s.Layers {
			l := &s.Layers[i]
			if n := o.is(l.Program); n != "" {
				return n, true
			}
			if len(l.Argv) > 0 && l.Program.Name == "" && o.named(strings.Trim(l.Argv[0].Text, `"'`)) {
				return l.Argv[0].Text, true
			}
			for _, c := range l.Code { // "make SHELL=…", "tar --use-compress-program=…"
				if c.Kind == Runs {
					if first, _, _ := strings.Cut(strings.TrimSpace(c.Text.Text), " "); o.named(first) {
						return first, true
					}
				}
			}
		}
	}
	return "", false
}

func (o Own) is(p Program) string {
	switch {
	case p.Builtin || p.Function || p.Name == "":
		return ""
	case o.named(p.Name), p.Found() && o.file(p.ID):
		return p.Name
	}
	return ""
}

func (o Own) named(name string) bool {
	return slices.Contains(o.Names, canonical(strings.TrimRight(name, "/")))
}

func (o Own) file(id FileID) bool { return id != FileID{} && slices.Contains(o.IDs, id) }
