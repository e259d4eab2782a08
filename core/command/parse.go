package command

import (
	"errors"
	"io"
	"runtime"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Limits that keep reading linear in the size of the script. What goes over one is a doubt.
const (
	// maxFrames is how deep the parser may call itself: some 50 levels of nesting in a script.
	maxFrames = 400
	// maxMarks is how many bytes that end or begin a command a script may have.
	maxMarks = 9 << 10
	// maxDepth is how deep scripts inside scripts are read.
	maxDepth = 8
	// maxInner is how many scripts inside scripts are read: each costs as much as some commands.
	maxInner = 1 << 10
)

var (
	errTooDeep = errors.New("command: nested too deeply")
	errTooLong = errors.New("command: too long")
)

// parse reads a script as bash does, with a parser that isn't reading another.
func parse(parser *syntax.Parser, script string) (*syntax.File, error) {
	if len(script) > MaxScript {
		return nil, errTooLong
	}
	if marks(script) > maxMarks {
		return nil, errTooLong
	}
	from := source{rest: script}
	if len(script) > piece { // else the parser reads but once
		from.limit = depth() + maxFrames
	}
	return parser.Parse(&from, "")
}

func newParser() *syntax.Parser { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }

// parse reads a script or one inside it.
func (r *reader) parse(text string) (*syntax.File, error) {
	if r.parser == nil {
		r.parser = newParser()
	}
	if r.parsed++; r.parsed > 1+maxInner {
		return nil, errTooLong
	}
	return parse(r.parser, text)
}

// depth is how many calls deep the caller is.
func depth() int {
	var callers [1 << 10]uintptr
	return runtime.Callers(1, callers[:])
}

// marks counts the bytes that end or begin a command: there are no more commands than one for each.
func marks(script string) (n int) {
	for i := 0; i < len(script); i++ {
		switch script[i] {
		case ';', '\n', '|', '&', '(', '`':
			n++
		}
	}
	return n
}

// source hands a script to the parser in small pieces, and stops when the parser has called itself too deeply: the parser
// is recursive and has no limit of its own.
type source struct {
	rest  string
	limit int
	begun bool
}

// piece is how many bytes that are neither letters nor digits are handed over at a time. Whatever nests has one, so the parser
// calls itself at most so many times more between two looks at how deep it is.
const piece = 512

var wordByte = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
	}
	return
}()

func (s *source) Read(b []byte) (int, error) {
	if len(s.rest) == 0 {
		return 0, io.EOF
	}
	if s.begun {
		var caller [1]uintptr
		if runtime.Callers(s.limit, caller[:]) > 0 {
			return 0, errTooDeep
		}
	}
	s.begun = true
	n := 0
	for most, left := min(len(b), len(s.rest)), piece; n < most && left > 0; n++ {
		if !wordByte[s.rest[n]] {
			left--
		}
	}
	copy(b, s.rest[:n])
	s.rest = s.rest[n:]
	return n, nil
}

// unreadable says why a script wasn't parsed.
func unreadable(err error) Doubt {
	switch {
	case errors.Is(err, errTooDeep):
		return TooDeep
	case errors.Is(err, errTooLong):
		return TooLong
	}
	return Syntax
}

// controlBytes finds bytes that bash reads otherwise than the parser: it drops NUL, and keeps a carriage return.
func controlBytes(script string) bool { return strings.ContainsAny(script, "\x00\r") }
