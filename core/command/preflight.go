package command

import (
	"regexp"
	"strings"
)

// Misplaced is a shell variable in a script of another language.
type Misplaced struct {
	Path     string
	Line     int // from 1
	Variable string
}

// maxPreflight is how many bytes of a script are looked at.
const maxPreflight = 512 << 10

// Preflight looks into the Python scripts that a plan runs from its working folder, for a variable of the shell ($NAME) outside
// strings and comments: Python reads no such thing, so the script would fail at once. read reads a file inside the folder, at
// most so many bytes; a script that it doesn't give isn't looked at.
func Preflight(p Plan, read func(folder, path string, most int) ([]byte, error)) (Misplaced, bool) {
	for s := range p.All() {
		for i := range s.Layers {
			l := &s.Layers[i]
			if l.Script == 0 || l.Script >= len(l.Argv) || !strings.HasPrefix(family(canonical(l.Program.Name)), "py") {
				continue
			}
			text, ok := l.Argv[l.Script].Literal()
			path := absolute(s.Dir, text)
			if !ok || path == "" || !within(path, p.Context.Dir) {
				continue
			}
			code, err := read(p.Context.Dir, path, maxPreflight)
			if err != nil {
				continue
			}
			if line, name := shellVariable(string(code)); line > 0 {
				return Misplaced{Path: path, Line: line, Variable: name}, true
			}
		}
	}
	return Misplaced{}, false
}

var shellName = regexp.MustCompile(`^\$\{?[A-Z_][A-Z0-9_]+`)

// shellVariable finds the first $NAME in Python code, and its line; 0 for none.
func shellVariable(code string) (line int, name string) {
	line = 1
	for i := 0; i < len(code); {
		switch c := code[i]; c {
		case '\n':
			line++
			i++
		case '#':
			n := strings.IndexByte(code[i:], '\n')
			if n < 0 {
				return 0, ""
			}
			i += n
		case '\'', '"':
			end := code[i : i+1]
			if strings.HasPrefix(code[i:], strings.Repeat(end, 3)) {
				end = strings.Repeat(end, 3)
			}
			i += len(end)
			for i < len(code) && !strings.HasPrefix(code[i:], end) {
				switch {
				case code[i] == '\\' && i+1 < len(code):
					if i++; code[i] == '\n' {
						line++
					}
				case code[i] == '\n':
					if line++; len(end) == 1 {
						return 0, "" // it isn't closed, so nothing is known of what follows
					}
				}
				i++
			}
			i += len(end)
		case '$':
			if m := shellName.FindString(code[i:]); m != "" {
				return line, strings.Replace(m, "{", "", 1)
			}
			i++
		default:
			i++
		}
	}
	return 0, ""
}
