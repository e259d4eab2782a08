package tool

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"handrail/core/client"
)

// docs/tools.md is what the tools say of themselves; a change of a tool shows there.
func TestDocs(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Tools\n\nMade from core/tool by `go test ./core/tool -run TestDocs -update`.\n\n## Who may do what\n\n| effect | look | ask | trusted |\n| --- | --- | --- | --- |\n")
	word := map[permission]string{no: "no", yes: "yes", asks: "asks once for a folder and session", asksEach: "asks each time", asksOnce: "asks once a session"}
	for c := class(0); c < classes; c++ {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", c, word[table[c][client.Look]], word[table[c][client.Ask]], word[table[c][client.Trusted]])
	}
	for _, tool := range All() {
		name := tool.Name
		if slices.Equal(tool.Levels, []client.Level{client.Look}) {
			name += " at the level look"
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", name, tool.Description)
		var levels []string
		for _, l := range tool.Levels {
			levels = append(levels, l.String())
		}
		fmt.Fprintf(&b, "Seen at: %s. Read-only: %v. Destructive: %v. Idempotent: %v. Open world: %v.\n\n", strings.Join(levels, ", "), tool.ReadOnly, tool.Destructive, tool.Idempotent, tool.OpenWorld)
		fields(&b, "Takes", tool.input, "")
		fields(&b, "Gives", tool.output, "")
	}
	const file = "../../docs/tools.md"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != b.String() {
		t.Errorf("%s is out of date: run go test ./core/tool -run TestDocs -update", file)
	}
}

func fields(b *strings.Builder, heading string, s *jsonschema.Schema, indent string) {
	if heading != "" {
		fmt.Fprintf(b, "%s:\n\n", heading)
	}
	for _, name := range s.PropertyOrder {
		p := s.Properties[name]
		required := ""
		if slices.Contains(s.Required, name) && heading == "Takes" {
			required = ", required"
		}
		fmt.Fprintf(b, "%s- `%s` (%s%s)", indent, name, typeOf(p), required)
		if p.Description != "" {
			fmt.Fprintf(b, ": %s", p.Description)
		}
		b.WriteString("\n")
		if p.Items != nil && p.Items.Properties != nil {
			fields(b, "", p.Items, indent+"  ")
		}
	}
	if heading != "" {
		b.WriteString("\n")
	}
}

func typeOf(s *jsonschema.Schema) string {
	if s.Type != "" {
		return s.Type
	}
	return strings.Join(slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" }), " or ")
}

// What clients choke on: alternatives at the top, names that are too long, a list that is too large, fields without words.
func TestSchemas(t *testing.T) {
	lists := map[client.Level]int{} // what a client of a level is sent
	for _, tool := range All() {
		total := len(tool.Description)
		for _, s := range []*jsonschema.Schema{tool.input, tool.output} {
			text, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			total += len(text)
			if s.Type != "object" || s.OneOf != nil || s.AnyOf != nil || s.AllOf != nil {
				t.Errorf("%s: the schema is not a plain object: %s", tool.Name, text)
			}
		}
		for name, p := range tool.input.Properties {
			if p.Description == "" {
				t.Errorf("%s: the field %s says nothing", tool.Name, name)
			}
			if nullOK := slices.Contains(p.Types, "null"); nullOK == slices.Contains(tool.input.Required, name) {
				t.Errorf("%s: the field %s: null is allowed: %v, required: %v", tool.Name, name, nullOK, !nullOK)
			}
		}
		if len(tool.Name) > 40 || tool.Title == "" || len(tool.Levels) == 0 {
			t.Errorf("%s: name, title or levels", tool.Name)
		}
		if tool.ReadOnly && tool.Destructive {
			t.Errorf("%s is read-only and destructive", tool.Name)
		}
		for _, l := range tool.Levels {
			lists[l] += total
		}
	}
	for level, total := range lists {
		if total > 33_000 {
			t.Errorf("the list at the level %s has %d bytes", level, total)
		}
		t.Logf("the list at the level %s has %d bytes", level, total)
	}
	for _, level := range []client.Level{client.Look, client.Ask} {
		for _, phrase := range []bool{false, true} {
			text := Instructions(level, phrase)
			if n := len([]rune(text)); n > 512 { // some clients cut there
				t.Errorf("the instructions have %d characters", n)
			}
			if strings.Contains(text, "window") == phrase || strings.Contains(text, "make the edit") != (level == client.Ask) {
				t.Errorf("level %s, by a phrase %v: %s", level, phrase, text)
			}
		}
	}
}

// The zero level and the zero class may do nothing, and nothing is allowed that the table doesn't name.
func TestTable(t *testing.T) {
	for c := class(0); c < classes; c++ {
		if table[c][client.None] != no {
			t.Errorf("a client of no level may %s", c)
		}
		if table[never][client.Trusted] != no {
			t.Error("never is allowed")
		}
	}
	for _, c := range []class{writeHere, writeElse, protected, running, joining, network, reachable, pushing, showing, pasting, beyond} {
		if table[c][client.Look] != no {
			t.Errorf("look may %s", c)
		}
	}
	if table[classes][client.Trusted] != no {
		t.Error("an unknown class is allowed")
	}
}
