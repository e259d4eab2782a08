package assistant

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// jsonFormat is JSON. With lenient it may have comments and commas at the end of lists, as editors' settings do; without, a file that has
// them is broken, for the assistant can't read it either.
type jsonFormat struct{ lenient bool }

func (f jsonFormat) parse(text []byte) (v hujson.Value, err error) {
	if err := errors.Join(checkText(text), tooDeep(text, true)); err != nil {
		return v, err
	}
	if v, err = hujson.Parse(text); err != nil {
		return v, unreadable(err)
	}
	if !f.lenient && !v.IsStandard() {
		return v, errors.New("it has comments, or a comma at the end of a list, which this assistant doesn't read")
	}
	if v.Value.Kind() != '{' {
		return v, errors.New("it isn't an object: it must begin with {")
	}
	return v, nil
}

// empty reports whether a text says nothing: editors take such settings for {}.
func (f jsonFormat) empty(text []byte) bool {
	if blank(text) || !f.lenient || bytes.IndexByte(text, '{') >= 0 && tooDeep(text, true) != nil {
		return blank(text)
	}
	v, err := hujson.Parse(append(ended(text, "\n"), "{}"...))
	return err == nil && v.StartOffset >= len(text)
}

func (f jsonFormat) decode(text []byte, container string) (map[string]any, error) {
	if f.empty(text) {
		return nil, nil
	}
	_, servers, _, err := f.servers(text, container)
	if err != nil {
		return nil, err
	}
	if servers != nil {
		if _, err := member(servers.Value.(*hujson.Object), entryName); err != nil {
			return nil, err
		}
	}
	d := json.NewDecoder(bytes.NewReader(standard(text)))
	d.UseNumber()
	var all map[string]any
	err = d.Decode(&all)
	return all, unreadable(err)
}

// standard gives the text as plain JSON.
func standard(text []byte) []byte {
	plain, err := hujson.Standardize(bytes.Clone(text))
	if err != nil {
		return text // the decoder says why
	}
	return plain
}

func nameOf(m hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }

// member finds a name in an object, -1 if it isn't there.
func member(o *hujson.Object, name string) (at int, err error) {
	at = -1
	for i, m := range o.Members {
		if nameOf(m) == name {
			if at >= 0 {
				return at, errTwice
			}
			at = i
		}
	}
	return at, nil
}

// servers parses a text and finds the container, the member at of root; nil if it isn't there.
func (f jsonFormat) servers(text []byte, container string) (root hujson.Value, v *hujson.Value, at int, err error) {
	if root, err = f.parse(text); err != nil {
		return root, nil, -1, err
	}
	o := root.Value.(*hujson.Object)
	at, err = member(o, container)
	if at < 0 || err != nil {
		return root, nil, at, err
	}
	v = &o.Members[at].Value
	if v.Value.Kind() != '{' {
		return root, nil, at, fmt.Errorf("%q isn't an object", container)
	}
	return root, v, at, nil
}

func (f jsonFormat) put(text []byte, container string, e entry) ([]byte, error) {
	if f.empty(text) {
		eol := lineEnd(text)
		return append(ended(text, eol), ("{" + eol + "  " + named(container, "{"+eol+"    "+named(entryName, written(e, "    ", "  ", eol))+eol+"  }") + eol + "}" + eol)...), nil
	}
	root, servers, _, err := f.servers(text, container)
	if err != nil {
		return nil, err
	}
	if servers == nil {
		return insert(text, root, func(indent, unit, eol string) string {
			if eol == "" {
				return named(container, "{"+named(entryName, written(e, "", "", ""))+"}")
			}
			inner := indent + unit
			return named(container, "{"+eol+inner+named(entryName, written(e, inner, unit, eol))+eol+indent+"}")
		}), nil
	}
	if at, err := member(servers.Value.(*hujson.Object), entryName); at >= 0 || err != nil {
		return nil, errTwice
	}
	return insert(text, *servers, func(indent, unit, eol string) string {
		return named(entryName, written(e, indent, unit, eol))
	}), nil
}

// insert makes a member the first of an object: what follows stays as it is, comments and commas at the end too. make writes it, in
// one line where eol is empty.
func insert(text []byte, object hujson.Value, make func(indent, unit, eol string) string) []byte {
	o := object.Value.(*hujson.Object)
	open := object.StartOffset + 1
	extra, comma := o.AfterExtra, ""
	if len(o.Members) > 0 {
		extra, comma = o.Members[0].Name.BeforeExtra, ","
	}
	eol, unit, base := lineEnd(text), indentUnit(text), indentAt(text, object.StartOffset)
	if n := newline(extra); n >= 0 { // after the { and what is said beside it, on a line of its own
		indent := base + unit
		if len(o.Members) > 0 {
			first := o.Members[0].Name.StartOffset
			if start := lineStart(text, first); blank(text[start:first]) {
				indent = string(text[start:first])
			}
		}
		at := open + n + 1
		return splice(text, at, at, indent+make(indent, unit, eol)+comma+eol)
	}
	if len(o.Members) > 0 {
		space := ""
		if blank(extra) {
			space = string(extra)
		}
		return splice(text, open, open, space+make("", "", "")+comma)
	}
	return splice(text, open, open, eol+base+unit+make(base+unit, unit, eol)+eol+base)
}

// newline is where the first line end outside a block comment is, or the end of a line comment; -1 without one.
func newline(extra hujson.Extra) int {
	for i := 0; i < len(extra); i++ {
		switch {
		case extra[i] == '\n':
			return i
		case bytes.HasPrefix(extra[i:], []byte("/*")):
			i += 2 + bytes.Index(extra[i+2:], []byte("*/")) + 1
		}
	}
	return -1
}

// indentUnit is by how much the text indents, by its first indented line.
func indentUnit(text []byte) string {
	for line := range bytes.Lines(text) {
		if rest := bytes.TrimLeft(line, " \t"); len(rest) < len(line) && !blank(rest) && rest[0] != '*' {
			return string(line[:len(line)-len(rest)])
		}
	}
	return "  "
}

// indentAt is how the line of a position is indented.
func indentAt(text []byte, at int) string {
	line := text[lineStart(text, at):at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

func named(name, value string) string { return quoted(name) + ": " + value }

// quoted writes a string as JSON, TOML and YAML have it in common.
func quoted(s string) string { return string(hujson.String(s)) }

// written writes the entry as an object; in one line where eol is empty.
func written(e entry, indent, unit, eol string) string {
	var lines []string
	for _, f := range e {
		lines = append(lines, named(f.name, value(f.value)))
	}
	if eol == "" {
		return "{" + strings.Join(lines, ", ") + "}"
	}
	inner := eol + indent + unit
	return "{" + inner + strings.Join(lines, ","+inner) + eol + indent + "}"
}

// value writes a value of an entry, in one line, as JSON and YAML have it in common; TOML too but for the empty table.
func value(v any) string {
	switch v := v.(type) {
	case string:
		return quoted(v)
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case []string:
		var all []string
		for _, s := range v {
			all = append(all, quoted(s))
		}
		return "[" + strings.Join(all, ", ") + "]"
	}
	return "{}"
}

func (f jsonFormat) cut(text []byte, container string, drop bool) ([]byte, error) {
	if f.empty(text) {
		return text, nil
	}
	root, servers, at, err := f.servers(text, container)
	if err != nil || servers == nil {
		return text, err
	}
	o := servers.Value.(*hujson.Object)
	ours, err := member(o, entryName)
	switch {
	case err != nil:
		return nil, err
	case ours < 0:
		return text, nil
	case drop && len(o.Members) == 1 && blank(o.Members[0].Name.BeforeExtra) && blank(o.AfterExtra):
		return take(text, root.Value.(*hujson.Object), at), nil
	}
	text = take(text, o, ours)
	if open := servers.StartOffset + 1; len(o.Members) == 1 {
		if end := open + bytes.IndexByte(text[open:], '}'); blank(text[open:end]) {
			text = splice(text, open, end, "")
		}
	}
	return text, nil
}

// take takes a member out of an object, with its comma, and its lines where nothing else is on them. Comments stay.
func take(text []byte, o *hujson.Object, at int) []byte {
	m := o.Members[at]
	from, to := m.Name.StartOffset, m.Value.EndOffset
	gone := [][2]int{}
	if comma := to + len(m.Value.AfterExtra); text[comma] == ',' {
		if blank(m.Value.AfterExtra) {
			to = comma + 1
		} else {
			gone = append(gone, [2]int{comma, comma + 1})
		}
	} else if at > 0 { // the comma before it would be one at the end
		before := from - len(m.Name.BeforeExtra) - 1
		gone = append(gone, [2]int{before, before + 1})
	}
	start, end := lineStart(text, from), lineAfter(text, to)
	switch {
	case blank(text[start:from]) && blank(text[to:end]) && text[end-1] == '\n':
		from, to = start, end
	case blank(m.Name.BeforeExtra) && !bytes.Contains(m.Name.BeforeExtra, []byte("\n")):
		from -= len(m.Name.BeforeExtra)
	}
	gone = append(gone, [2]int{from, to})
	slices.SortFunc(gone, func(a, b [2]int) int { return b[0] - a[0] })
	for _, g := range gone {
		text = splice(text, g[0], g[1], "")
	}
	return text
}
