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
	maxMarks = 12 << 10
	// maxDepth is how deep scripts inside scripts are read.
	maxDepth = 8
)

var (
	errTooDeep = errors.New("command: nested too deeply")
	errTooLong = errors.New("command: too long")
)

// parse reads a script as bash does.
func parse(script string) (*syntax.File, error) {
	if len(script) > MaxScript {
		return nil, errTooLong
	}
	marks := 0
	for i := 0; i < len(script); i++ {
		switch script[i] {
		case ';', '\n', '|', '&', '(', '`':
			marks++
		}
	}
	if marks > maxMarks {
		return nil, errTooLong
	}
	var callers [1 << 10]uintptr
	limit := runtime.Callers(0, callers[:]) + maxFrames
	return syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(&source{rest: script, limit: limit}, "")
}

// source hands a script to the parser in small pieces, and stops when the parser has called itself too deeply: the parser
// is recursive and has no limit of its own.
type source struct {
	rest  string
	limit int
}

func (s *source) Read(b []byte) (int, error) {
	if len(s.rest) == 0 {
		return 0, io.EOF
	}
	var caller [1]uintptr
	if runtime.Callers(s.limit, caller[:]) > 0 {
		return 0, errTooDeep
	}
	n := copy(b[:min(len(b), 256)], s.rest)
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
