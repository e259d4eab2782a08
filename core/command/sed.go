package command

import (
	"regexp"
	"strings"
)

func seds(j *judge, s *Segment, args []Word) {
	c := carriers["sed"]
	a := c.options.parse(args, false)
	j.parsed(&a, true)
	operands := a.operands
	inPlace := a.has("-i", "--in-place", "-I")
	if inPlace && len(operands) > 0 && operands[0].Is("") { // BSD: the suffix is a word of its own
		operands = operands[1:]
	}
	var scripts []Word
	for _, o := range a.options {
		if oneOfText(o.name, c.code) {
			scripts = append(scripts, o.value)
		}
	}
	if len(scripts) == 0 && !a.has(c.files...) && len(operands) > 0 {
		scripts, operands = operands[:1], operands[1:]
	}
	for _, w := range scripts {
		if text, ok := w.Literal(); !ok || !simpleSed(text) {
			j.doubts |= InlineCode
		}
	}
	empties := a.has("-n", "--quiet", "--silent", "-z", "--null-data") || len(scripts) == 0
	for _, w := range scripts {
		text, _ := w.Literal()
		empties = empties || !leavesText(text)
	}
	if suffix, _ := a.valueOf("-i", "--in-place", "-I"); suffix.Text != "" {
		empties = true // what had that name gives way to the copy
	}
	for _, w := range operands {
		if inPlace {
			j.note(Changes, s, w, "sed -i")
			if empties {
				j.add(Overwrites, j.target(s, w, "sed -i"), false)
			}
		} else {
			j.note(Reads, s, w, "sed")
		}
	}
}

// substitution is one s command without backslashes: its delimiter, what it finds and what it puts there.
var substitution = regexp.MustCompile(`^[\s0-9,$]*s([/|,#:@!])([^\n\\]*)$`)

// leavesText reports whether a sed script is one s command that can't empty a line: it puts plain text there.
func leavesText(script string) bool {
	m := substitution.FindStringSubmatch(script)
	if m == nil {
		return false
	}
	parts := strings.Split(m[2], m[1])
	return len(parts) == 3 && strings.Trim(parts[1], "& ") != "" && strings.Trim(parts[2], "gpiI0123456789") == ""
}

// simpleSed reports whether a sed script only edits the text that goes through: it writes no file (w) and runs nothing
// (e). What it doesn't know, it reports as not simple. POSIX sed, and GNU's addresses.
func simpleSed(script string) bool {
	s := script
	until := func(d byte) bool { // reads up to the delimiter
		for i := 0; i < len(s); i++ {
			switch s[i] {
			case '\\':
				i++
			case '\n':
				return false
			case '[':
				// In a bracket the delimiter has no meaning, for some; then where the rest begins isn't sure.
				if k := strings.IndexByte(s[i+1:], ']'); k < 0 || strings.IndexByte(s[i+1:i+1+k], d) >= 0 {
					return false
				}
			case d:
				s = s[i+1:]
				return true
			}
		}
		return false
	}
	for {
		s = strings.TrimLeft(s, " \t\n;{}")
		if s == "" {
			return true
		}
		for { // addresses
			switch c := s[0]; {
			case c >= '0' && c <= '9' || strings.IndexByte("$,!~+ \t", c) >= 0:
				s = s[1:]
			case c == '/':
				if s = s[1:]; !until('/') {
					return false
				}
				s = strings.TrimLeft(s, "IM")
			default:
				goto command
			}
			if s == "" {
				return false
			}
		}
	command:
		c := s[0]
		s = s[1:]
		switch c {
		case '{', '}', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', '=', 'l', 'q', 'Q':
			s = strings.TrimLeft(s, " \t0123456789")
		case '#':
			_, s, _ = strings.Cut(s, "\n")
		case 's', 'y':
			if s == "" || s[0] == '\\' || s[0] == '\n' {
				return false
			}
			d := s[0]
			if s = s[1:]; !until(d) || !replacement(&s, d) {
				return false
			}
			for s != "" && strings.IndexByte("gpiIm0123456789", s[0]) >= 0 {
				s = s[1:]
			}
		default:
			return false
		}
		s = strings.TrimLeft(s, " \t")
		if s != "" && strings.IndexByte(";\n}", s[0]) < 0 {
			return false
		}
	}
}

// replacement reads up to the delimiter; a bracket has no meaning here.
func replacement(s *string, d byte) bool {
	for i := 0; i < len(*s); i++ {
		switch (*s)[i] {
		case '\\':
			i++
		case '\n':
			return false
		case d:
			*s = (*s)[i+1:]
			return true
		}
	}
	return false
}

func awks(j *judge, s *Segment, args []Word) {
	a := carriers["awk"].options.parse(args, true)
	j.parsed(&a, true)
	l := s.Command()
	for _, c := range l.Code {
		text, ok := c.Text.Literal()
		switch {
		case removingCode.MatchString(c.Text.Text):
			j.add(Removes, Target{Why: "awk"}, true)
		case !ok, c.Kind != Code, strings.ContainsAny(text, ">|@"), strings.Contains(text, "system"):
			j.doubts |= InlineCode
		}
	}
}
