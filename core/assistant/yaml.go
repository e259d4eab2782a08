package assistant

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// yamlFormat is YAML: one document, whose container is written with indentation or in braces.
type yamlFormat struct{}

func (f yamlFormat) decode(text []byte, container string) (all map[string]any, err error) {
	root, err := f.parse(text)
	if err != nil || root == nil {
		return nil, err
	}
	if err := root.Decode(&all); err != nil { // also for names that stand twice, and for aliases that grow without end
		return nil, unreadable(err)
	}
	if key, v := child(root, container); key != nil && v.Kind != yaml.MappingNode && v.Tag != "!!null" {
		return nil, fmt.Errorf("%q isn't a list of names and values", container)
	}
	return all, nil
}

// parse gives the mapping at the top, nil for a text that says nothing.
func (f yamlFormat) parse(text []byte) (*yaml.Node, error) {
	if err := errors.Join(checkText(text), tooDeep(text, false)); err != nil {
		return nil, err
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	var document, more yaml.Node
	switch err := d.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, unreadable(err)
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("it holds more than one document")
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, errors.New("it isn't a list of names and values")
	}
	return root, nil
}

// child finds a name in a mapping.
func child(m *yaml.Node, name string) (key, value *yaml.Node) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if k := m.Content[i]; k.Kind == yaml.ScalarNode && k.Value == name {
			return k, m.Content[i+1]
		}
	}
	return nil, nil
}

// offset is where a node begins. Its line and column count characters; YAML ends a line at a lone carriage return too, and at three
// others.
func offset(text []byte, n *yaml.Node) int {
	at := 0
	for line, column := 1, 1; at < len(text) && (line < n.Line || line == n.Line && column < n.Column); column++ {
		r, size := utf8.DecodeRune(text[at:])
		at += size
		if r == '\n' || r == '\r' && !bytes.HasPrefix(text[at:], []byte("\n")) || r == '\u0085' || r == '\u2028' || r == '\u2029' {
			line, column = line+1, 0
		}
	}
	return at
}

func (f yamlFormat) put(text []byte, container string, e entry) ([]byte, error) {
	root, err := f.parse(text)
	if err != nil {
		return nil, err
	}
	eol := lineEnd(text)
	if root == nil {
		return append(ended(text, eol), block(container, e, "", eol)...), nil
	}
	key, servers := child(root, container)
	switch {
	case key == nil && root.Style&yaml.FlowStyle != 0:
		return insertFlow(text, root, quoted(container)+": {"+flow(e)+"}"), nil
	case key == nil:
		return append(ended(text, eol), block(container, e, "", eol)...), nil
	case servers.Kind == yaml.MappingNode && servers.Style&yaml.FlowStyle != 0:
		return insertFlow(text, servers, flow(e)), nil
	case servers.Kind == yaml.MappingNode || servers.Kind == yaml.ScalarNode && servers.Value == "":
		indent := indentAt(text, offset(text, key)) + "  "
		if len(servers.Content) > 0 {
			if servers.Content[0].Line == key.Line {
				return nil, errShape
			}
			indent = indentAt(text, offset(text, servers.Content[0]))
		}
		at := lineAfter(text, offset(text, key))
		before := ended(text[:at], eol)
		return append(append(before, block("", e, indent, eol)...), text[at:]...), nil
	}
	return nil, errShape
}

// ended gives a copy of text whose last line has an end.
func ended(text []byte, eol string) []byte {
	text = bytes.Clone(text)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, eol...)
	}
	return text
}

// block writes the entry in lines, under the container's name unless that is empty.
func block(container string, e entry, indent, eol string) string {
	var b strings.Builder
	if container != "" {
		b.WriteString(indent + container + ":" + eol)
		indent += "  "
	}
	b.WriteString(indent + entryName + ":" + eol)
	for _, f := range e {
		b.WriteString(indent + "  " + f.name + ": " + value(f.value) + eol)
	}
	return b.String()
}

func flow(e entry) string { return quoted(entryName) + ": " + written(e, "", "", "") }

// insertFlow makes a member the first of a mapping in braces.
func insertFlow(text []byte, mapping *yaml.Node, member string) []byte {
	at := offset(text, mapping)
	if at >= len(text) || text[at] != '{' {
		return text // there is a tag or an anchor before it; the last check says so
	}
	if len(mapping.Content) > 0 {
		member += ", "
	}
	return splice(text, at+1, at+1, member)
}

func (f yamlFormat) cut(text []byte, container string, drop bool) ([]byte, error) {
	root, err := f.parse(text)
	if err != nil || root == nil {
		return text, err
	}
	top, servers := child(root, container)
	if servers == nil || servers.Kind != yaml.MappingNode {
		return text, nil
	}
	key, _ := child(servers, entryName)
	last := len(servers.Content) == 2
	switch {
	case key == nil:
		return text, nil
	case servers.Style&yaml.FlowStyle != 0:
		return takeFlow(text, offset(text, key))
	case last && drop:
		return takeBlock(text, offset(text, top)), nil
	case last: // a name without a value is something else than an empty list
		colon := bytes.IndexByte(text[offset(text, top):], ':')
		if text = takeBlock(text, offset(text, key)); colon < 0 {
			return nil, errShape
		}
		at := offset(text, top) + colon + 1
		return splice(text, at, at, " {}"), nil
	}
	return takeBlock(text, offset(text, key)), nil
}

// takeBlock takes out the line of a name and the lines below it that are indented more.
func takeBlock(text []byte, at int) []byte {
	from := lineStart(text, at)
	indent := at - from
	to := lineAfter(text, at)
	for next := to; next < len(text); {
		end := lineAfter(text, next)
		line := text[next:end]
		if !blank(line) {
			if len(line)-len(bytes.TrimLeft(line, " ")) <= indent {
				break
			}
			to = end
		}
		next = end
	}
	return splice(text, from, to, "")
}

// takeFlow takes a member out of a mapping in braces: its name, a value in braces, and a comma.
func takeFlow(text []byte, at int) ([]byte, error) {
	depth, to := 0, -1
	for i := at; i < len(text) && to < 0; i++ {
		switch text[i] {
		case '"', '\'':
			quote := text[i]
			for i++; i < len(text) && text[i] != quote; i++ {
				if quote == '"' && text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				to = i + 1
			}
		}
	}
	if to < 0 {
		return nil, errShape
	}
	if rest := bytes.TrimLeft(text[to:], " \t\r\n"); bytes.HasPrefix(rest, []byte(",")) {
		to = len(text) - len(bytes.TrimLeft(rest[1:], " "))
	}
	return splice(text, at, to, ""), nil
}
