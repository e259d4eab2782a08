// Package command reads a shell script and says what it would do, without running anything.
//
// What it says only decides whether the person is asked and how the question is worded. It never decides what a command
// can do: the sandbox bounds the effect, whatever a script turns out to mean. So an answer may be "can't tell", and where
// it can't tell it never says "harmless".
//
// Scripts are read as bash (mvdan.cc/sh); they are run by bash or sh, never by another shell.
package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// MaxScript is how many bytes of a script are read; a longer one can't be told.
const MaxScript = 128 << 10

// parse reads a script as bash does.
func parse(script string) (*syntax.File, error) {
	return syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
}

// Narration reports whether the script is only an echo of plain text, with no redirect, pipe or expansion (BEHAVIOUR
// H9): something said to the reader, not work. echo's options (-n, -e) are plain text here.
func Narration(script string) bool {
	if len(script) > MaxScript {
		return false
	}
	f, err := parse(script)
	if err != nil || len(f.Stmts) == 0 {
		return false
	}
	for _, s := range f.Stmts {
		call, ok := s.Cmd.(*syntax.CallExpr)
		if !ok || s.Background || s.Negated || s.Coprocess || len(s.Redirs) > 0 || len(call.Assigns) > 0 || len(call.Args) < 2 || call.Args[0].Lit() != "echo" {
			return false
		}
		for _, w := range call.Args[1:] {
			if !plain(w.Parts) {
				return false
			}
		}
	}
	return true
}

// plain reports whether a word is text that no shell expands.
func plain(parts []syntax.WordPart) bool {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, "*?[{~") {
				return false
			}
		case *syntax.SglQuoted:
			if p.Dollar {
				return false
			}
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				if _, ok := q.(*syntax.Lit); !ok || p.Dollar {
					return false
				}
			}
		default:
			return false
		}
	}
	return true
}
