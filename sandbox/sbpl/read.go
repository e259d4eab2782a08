package sbpl

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// node is an expression: a list, a string, or a word.
type node struct {
	list     []node
	atom     string
	isString bool
	isList   bool
	line     int
}

func (n node) isAtom() bool { return !n.isList && !n.isString }

// head is the word that a list starts with, "" if it doesn't.
func (n node) head() string {
	if n.isList && len(n.list) > 0 && n.list[0].isAtom() {
		return n.list[0].atom
	}
	return ""
}

func (n node) String() string {
	switch {
	case n.isString:
		return fmt.Sprintf("%q", n.atom)
	case !n.isList:
		return n.atom
	}
	parts := make([]string, len(n.list))
	for i, sub := range n.list {
		parts[i] = sub.String()
	}
	return "(" + strings.Join(parts, " ") + ")"
}

// maxDepth bounds how deep lists may nest.
const maxDepth = 20

type reader struct {
	text string
	line int
}

// read reads all expressions of a text.
func read(text string) ([]node, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("not UTF-8")
	}
	r := &reader{text, 1}
	var forms []node
	for {
		r.blank()
		if r.text == "" {
			return forms, nil
		}
		n, err := r.node(0)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", r.line, err)
		}
		if !n.isList {
			return nil, fmt.Errorf("line %d: a word outside any form", r.line)
		}
		forms = append(forms, n)
	}
}

// blank skips white space and comments.
func (r *reader) blank() {
	for r.text != "" {
		switch r.text[0] {
		case '\n':
			r.line++
		case ' ', '\t':
		case ';':
			end := strings.IndexByte(r.text, '\n')
			if end < 0 {
				end = len(r.text)
			}
			r.text = r.text[end:]
			continue
		default:
			return
		}
		r.text = r.text[1:]
	}
}

func (r *reader) node(depth int) (node, error) {
	line := r.line
	switch {
	case depth > maxDepth:
		return node{}, errors.New("nested too deep")
	case r.text[0] == '(':
		r.text = r.text[1:]
		n := node{isList: true, line: line}
		for {
			r.blank()
			if r.text == "" {
				return node{}, errors.New("a list without an end")
			}
			if r.text[0] == ')' {
				r.text = r.text[1:]
				return n, nil
			}
			sub, err := r.node(depth + 1)
			if err != nil {
				return node{}, err
			}
			n.list = append(n.list, sub)
		}
	case r.text[0] == '"':
		return r.quoted(line, r.text[1:])
	case strings.HasPrefix(r.text, `#"`):
		return r.quoted(line, r.text[2:])
	}
	end := strings.IndexAny(r.text, " \t\n();\"")
	if end < 0 {
		end = len(r.text)
	}
	if end == 0 {
		return node{}, fmt.Errorf("unexpected %q", r.text[0])
	}
	n := node{atom: r.text[:end], line: line}
	r.text = r.text[end:]
	return n, nil
}

// quoted reads a string. A backslash is refused: in "…" it escapes, in #"…" it may not.
func (r *reader) quoted(line int, rest string) (node, error) {
	end := strings.IndexByte(rest, '"')
	if end < 0 {
		return node{}, errors.New("a string without an end")
	}
	if strings.ContainsAny(rest[:end], "\\\n") {
		return node{}, errors.New("a backslash or a new line in a string")
	}
	r.text = rest[end+1:]
	return node{atom: rest[:end], isString: true, line: line}, nil
}
