package assistant

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"unicode/utf8"
)

// A format finds and changes one entry in the text of a configuration file: the entry named Handrail in a container of the file's
// top level. It changes by positions in the text, so that all else stays byte for byte: nothing is written anew from what was parsed.
type format interface {
	// decode gives all that the text says, which is nothing for an empty one. A container that isn't one, or a name of ours that stands
	// twice, is an error.
	decode(text []byte, container string) (map[string]any, error)
	// put gives the text with the entry in it, which isn't there yet.
	put(text []byte, container string, e entry) ([]byte, error)
	// cut gives the text without the entry, and with drop without the container, if nothing is left in that.
	cut(text []byte, container string, drop bool) ([]byte, error)
}

// entryName is the name of our entry in each file.
const entryName = "handrail"

// entry is what stands under our name, in the order in which it is written. A value is a string, a bool, an int, a []string or, for an
// empty table, nil.
type entry []field

type field struct {
	name  string
	value any
}

// Limits of a file. What is nested deeper could exhaust a parser's stack.
const (
	maxBytes = 16 << 20
	maxDepth = 500
)

var byteOrderMark = []byte("\xef\xbb\xbf")

var position = regexp.MustCompile(`line \d+(, column \d+)?`)

// unreadable says where a text can't be read, of what a parser says. Not more: a parser quotes what it can't read, which may be a key.
func unreadable(err error) error {
	if err == nil {
		return nil
	}
	if at := position.FindString(err.Error()); at != "" {
		return errors.New("something is wrong at " + at)
	}
	return errors.New("something is wrong in it")
}

// What a change gives for a text that is right but not as it must be.
var (
	errShape = errors.New("it isn't written in a way that Handrail can change without touching the rest")
	errTwice = errors.New("the same name stands in it twice")
)

// read gives what stands under our name in a text.
func read(f format, text []byte, container string) (value any, there bool, err error) {
	_, body := marked(text)
	all, err := f.decode(body, container)
	if err != nil {
		return nil, false, err
	}
	servers, err := inside(all, container)
	value, there = servers[entryName]
	return value, there, err
}

// has reports whether a text has the container.
func has(f format, text []byte, container string) bool {
	_, body := marked(text)
	all, err := f.decode(body, container)
	_, there := all[container]
	return err == nil && there
}

func inside(all map[string]any, container string) (map[string]any, error) {
	switch servers := all[container].(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return servers, nil
	default:
		return nil, fmt.Errorf("%q isn't a list of names and values", container)
	}
}

// add puts the entry into a text, in place of the one that is there, and checks that nothing else has changed.
func add(f format, text []byte, container string, e entry) ([]byte, error) {
	bom, body := marked(text)
	if _, there, err := read(f, body, container); err != nil {
		return nil, err
	} else if there {
		if body, err = f.cut(body, container, false); err != nil {
			return nil, err
		}
	}
	body, err := f.put(body, container, e)
	if err != nil {
		return nil, err
	}
	after := append(bytes.Clone(bom), body...)
	if now, _, err := read(f, after, container); err != nil || !e.matches(now) {
		return nil, errors.Join(errShape, err)
	}
	return after, sameButOurs(f, text, after, container)
}

// remove takes the entry out of a text and checks that nothing else has changed. drop takes an empty container along.
func remove(f format, text []byte, container string, drop bool) ([]byte, error) {
	bom, body := marked(text)
	body, err := f.cut(body, container, drop)
	if err != nil {
		return nil, err
	}
	after := append(bytes.Clone(bom), body...)
	if _, there, err := read(f, body, container); err != nil {
		return nil, err
	} else if there {
		return nil, errShape
	}
	return after, sameButOurs(f, text, after, container)
}

func marked(text []byte) (bom, body []byte) {
	if bytes.HasPrefix(text, byteOrderMark) {
		return byteOrderMark, text[len(byteOrderMark):]
	}
	return nil, text
}

// sameButOurs reports whether two texts say the same but for our entry. It is the last check of each change: whatever position was
// taken wrongly, in a way of writing that nobody thought of, the file stays as it was.
func sameButOurs(f format, before, after []byte, container string) error {
	var said [2]string
	for i, text := range [][]byte{before, after} {
		_, body := marked(text)
		all, err := f.decode(body, container)
		if err != nil {
			return err
		}
		servers, err := inside(all, container)
		if err != nil {
			return err
		}
		all, servers = maps.Clone(all), maps.Clone(servers)
		if all == nil {
			all = map[string]any{}
		}
		delete(servers, entryName)
		if delete(all, container); len(servers) > 0 {
			all[container] = servers
		}
		said[i] = fmt.Sprintf("%#v", all) // with its types, its maps in order, and NaN the same as NaN
	}
	if said[0] != said[1] {
		return errShape
	}
	return nil
}

// tooDeep refuses what is nested so deeply that a parser's stack could run out. strings says that a bracket in "…" is none.
func tooDeep(text []byte, strings bool) error {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			if !strings {
				break
			}
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '[', '{':
			if depth++; depth > maxDepth {
				return fmt.Errorf("it is nested more than %d deep", maxDepth)
			}
		case ']', '}':
			depth = max(depth-1, 0)
		}
	}
	return nil
}

// checkText refuses what no format takes.
func checkText(text []byte) error {
	switch {
	case bytes.IndexByte(text, 0) >= 0:
		return errors.New("it isn't text")
	case !utf8.Valid(text):
		return errors.New("it isn't UTF-8")
	}
	return nil
}

// lineEnd is how the text ends its lines, by the first.
func lineEnd(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// lineStart is where the line of a position begins, lineAfter where the next one does.
func lineStart(text []byte, at int) int { return bytes.LastIndexByte(text[:at], '\n') + 1 }

func lineAfter(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

func blank(text []byte) bool { return len(bytes.Trim(text, " \t\r\n")) == 0 }

// splice gives text with from up to to replaced.
func splice(text []byte, from, to int, by string) []byte {
	return append(append(bytes.Clone(text[:from]), by...), text[to:]...)
}

// matches reports whether what was read is the entry, as far as it has values: others, which the assistant or the person added, may
// stand beside.
func (e entry) matches(read any) bool {
	m, ok := read.(map[string]any)
	for _, f := range e {
		ok = ok && (f.value == nil || fmt.Sprint(m[f.name]) == fmt.Sprint(f.value))
	}
	return ok
}
