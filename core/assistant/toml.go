package assistant

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlFormat is TOML, in which a table can be written in many ways. Ours goes to the end of the file under a header of its own; it is
// found in whatever way it is written.
type tomlFormat struct{}

func (f tomlFormat) decode(text []byte, container string) (map[string]any, error) {
	if err := errors.Join(checkText(text), tooDeep(text, false)); err != nil {
		return nil, err
	}
	var all map[string]any
	err := toml.Unmarshal(text, &all)
	if d, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column := d.Position()
		err = fmt.Errorf("line %d, column %d", line, column)
	}
	return all, unreadable(err)
}

// statement is a header, or a name with its value: the names from the top of the file, and where it stands.
type statement struct {
	names    []string
	header   bool
	from, to int // whole lines
	// inline is where a value that is a table in braces begins, and each name in it stands; 0 if it is none.
	inline  int
	members []statement
}

// statements lists those of a text that decode accepts.
func (f tomlFormat) statements(text []byte) (list []statement, err error) {
	p := unstable.Parser{}
	p.Reset(text)
	var table []string
	for p.NextExpression() {
		n := p.Expression()
		names, first, last := keys(n)
		s := statement{names: names, header: n.Kind != unstable.KeyValue}
		if s.header {
			table = names
			s.from, s.to = lineStart(text, first), lineAfter(text, last)
		} else {
			s.names = slices.Concat(table, names)
			s.from, s.to = lineStart(text, int(n.Raw.Offset)), lineAfter(text, int(n.Raw.Offset+n.Raw.Length))
			s.open(n.Value())
		}
		list = append(list, s)
	}
	return list, p.Error()
}

// open lists the members of a table in braces.
func (s *statement) open(v *unstable.Node) {
	if v.Kind != unstable.InlineTable {
		return
	}
	s.inline = int(v.Raw.Offset) + 1
	for it := v.Children(); it.Next(); {
		n := it.Node()
		if n.Kind != unstable.KeyValue {
			continue
		}
		names, _, _ := keys(n)
		m := statement{names: slices.Concat(s.names, names), from: int(n.Raw.Offset), to: int(n.Raw.Offset + n.Raw.Length)}
		m.open(n.Value())
		s.members = append(s.members, m)
	}
}

func keys(n *unstable.Node) (names []string, first, last int) {
	first = -1
	for it := n.Key(); it.Next(); {
		k := it.Node()
		names = append(names, string(k.Data))
		if first < 0 {
			first = int(k.Raw.Offset)
		}
		last = int(k.Raw.Offset + k.Raw.Length)
	}
	return names, first, last
}

// below reports whether names are those of our entry or of something in it.
func below(names []string, container string) bool {
	return len(names) >= 2 && names[0] == container && names[1] == entryName
}

func (f tomlFormat) put(text []byte, container string, e entry) ([]byte, error) {
	list, err := f.statements(text)
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		if len(s.names) == 1 && s.names[0] == container && s.inline > 0 {
			comma := ""
			if len(s.members) > 0 {
				comma = ","
			}
			return splice(text, s.inline, s.inline, entryName+" = "+inlineTable(e)+comma), nil
		}
	}
	eol := lineEnd(text)
	var b strings.Builder
	if len(text) > 0 {
		if text[len(text)-1] != '\n' {
			b.WriteString(eol)
		}
		b.WriteString(eol)
	}
	b.WriteString("[" + container + "." + entryName + "]" + eol)
	for _, f := range e {
		b.WriteString(f.name + " = " + value(f.value) + eol)
	}
	return splice(text, len(text), len(text), b.String()), nil
}

func inlineTable(e entry) string {
	var all []string
	for _, f := range e {
		all = append(all, f.name+" = "+value(f.value))
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// cut takes out all statements of our entry, and what stands between two of them that follow each other.
func (f tomlFormat) cut(text []byte, container string, drop bool) ([]byte, error) {
	list, err := f.statements(text)
	if err != nil {
		return nil, err
	}
	for i := len(list) - 1; i >= 0; i-- {
		s := list[i]
		if s.inline > 0 && len(s.names) == 1 && s.names[0] == container {
			for j := len(s.members) - 1; j >= 0; j-- {
				if below(s.members[j].names, container) {
					text = takeInline(text, s, j)
				}
			}
			continue
		}
		if !below(s.names, container) {
			continue
		}
		from := s.from
		for i > 0 && below(list[i-1].names, container) {
			i--
			from = list[i].from
		}
		if above := text[:from]; s.to == len(text) || blank(text[s.to:lineAfter(text, s.to)]) { // the line that was between
			if start := lineStart(text, max(from-1, 0)); start < from && blank(above[start:]) {
				from = start
			}
		}
		text = splice(text, from, s.to, "")
	}
	return text, nil
}

// takeInline takes a member out of a table in braces, with a comma after it or before it.
func takeInline(text []byte, s statement, at int) []byte {
	from, to := s.members[at].from, s.members[at].to
	switch rest := strings.TrimLeft(string(text[to:]), " \t\r\n"); {
	case strings.HasPrefix(rest, ","):
		to = len(text) - len(rest) + 1
	case at > 0:
		from = s.members[at-1].to
	}
	return splice(text, from, to, "")
}
