package command

import "strings"

// runsAsWritten are doubts that change nothing of what runs when the words are passed as they were read.
const runsAsWritten = Home | AnsiQuote | OddBlank | BashOnly | DynamicName | UnknownProgram | UnknownOption | ReadsScript | InlineCode | Elevated | Remote | UnknownShell

// Argv reduces a plan to one pipeline of plain argument lists, each beginning with the absolute path of the program that
// was found; programs inside wrappers are absolute too. ok is false if the script can't be reduced: see [Plan.Unreduced].
// What was reduced runs without a shell, so nothing is read a second time.
func (p *Plan) Argv() (argv [][]string, ok bool) {
	if p.Unreduced() != "" {
		return nil, false
	}
	for i := range p.Segments {
		words, _ := p.pin(&p.Segments[i], false)
		argv = append(argv, words)
	}
	return argv, true
}

// Unreduced says why a plan can't be reduced to one pipeline; "" if it can.
func (p *Plan) Unreduced() string {
	if p.Context.Shell == OtherShell {
		return "it is for a shell that isn't read here"
	}
	if len(p.Segments) == 0 {
		if p.Doubts != 0 {
			return "it holds " + p.Doubts.String()
		}
		return "there is no command"
	}
	if d := p.own() &^ runsAsWritten; d != 0 {
		return "it holds " + d.String()
	}
	for i := range p.Segments {
		s := &p.Segments[i]
		switch {
		case s.Join != Start && s.Join != Pipe:
			return "it is more than one pipeline"
		case len(s.Argv) == 0 || len(s.Assigns) > 0 || len(s.Redirects) > 0:
			return "it is more than a command with its words"
		}
		if _, why := p.pin(s, false); why != "" {
			return why
		}
	}
	return ""
}

// own gives the doubts of the plan's own text: not of scripts in its words, which are passed on as they are.
func (p *Plan) own() Doubt {
	var d Doubt
	if len(p.Segments) == 0 {
		d = p.Doubts
	}
	for i := range p.Segments {
		d |= p.Segments[i].Doubts
	}
	d |= p.Doubts & (Syntax | ControlByte | TooLong | UnknownShell)
	return d
}

// pin gives a segment's words with its programs by their paths. shell says that a shell will read them, so that its own
// commands may stay names.
func (p *Plan) pin(s *Segment, shell bool) (words []string, why string) {
	for _, w := range s.Argv {
		text, ok := w.Literal()
		if !ok || strings.IndexByte(text, 0) >= 0 {
			return nil, "it holds " + (w.Doubt & open).String()
		}
		words = append(words, text)
	}
	skip := 0
	for i := range s.Layers {
		l := &s.Layers[i]
		if i > 0 && s.Layers[i-1].Kind == Package || l.At < 0 || i > 0 && (canonical(s.Layers[i-1].Program.Name) == "busybox" || canonical(s.Layers[i-1].Program.Name) == "toybox") {
			break
		}
		prog := l.Program
		switch {
		case prog.Function:
			return nil, prog.Name + " is a function of the script"
		case prog.Builtin && shell:
		case prog.Builtin:
			switch prog.Name {
			case "command", "builtin", "exec":
				if l.Kind == Wrapper && i+1 < len(s.Layers) && l.At == skip {
					skip = s.Layers[i+1].At // the shell's own way to say: that program
					continue
				}
			}
			prog = p.Context.find(prog.Name, p.Context.Path)
			if !prog.Found() {
				return nil, l.Program.Name + " is a command of the shell itself"
			}
			words[l.At] = prog.Path
		case !prog.Found():
			return nil, "no program " + prog.Name + " was found"
		default:
			words[l.At] = prog.Path
		}
	}
	return words[skip:], ""
}

// Pinned writes a chain of plain commands (joined by ;, &&, ||, | and !) anew: every program by its path, every word quoted.
// A shell can read it in one way only. ok is false for everything else. Commands of the shell itself stay names.
func (p *Plan) Pinned() (script string, ok bool) {
	if p.Context.Shell == OtherShell || p.own()&^(runsAsWritten|Negation|Folder) != 0 {
		return "", false
	}
	return p.pinned(p.Segments)
}

func (p *Plan) pinned(segments []Segment) (string, bool) {
	var b strings.Builder
	if len(segments) == 0 {
		return "", false
	}
	for i := range segments {
		s := &segments[i]
		switch s.Join {
		case Start:
		case Then:
			b.WriteString("; ")
		case And:
			b.WriteString(" && ")
		case Or:
			b.WriteString(" || ")
		case Pipe:
			b.WriteString(" | ")
		default:
			return "", false
		}
		if len(s.Argv) == 0 || len(s.Assigns) > 0 || len(s.Redirects) > 0 || s.Doubts&^(runsAsWritten|Negation|Folder) != 0 {
			return "", false
		}
		if s.Doubts.Has(Negation) && s.Join != Pipe {
			b.WriteString("! ")
		}
		words, why := p.pin(s, true)
		if why != "" {
			return "", false
		}
		if c := s.Command(); c.Kind == ShellRun && len(s.Inner) > 0 && c.At >= 0 {
			// The script inside is written anew too.
			inner, ok := p.pinned(s.Inner)
			if !ok || c.Program.Builtin || c.Doubts != 0 || len(c.Argv) != 3 || !c.Argv[1].Is("-c") {
				return "", false
			}
			words[len(words)-1] = inner
		}
		for n, w := range words {
			if n > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(Quote(w))
		}
	}
	return b.String(), true
}

// Quote writes a word so that every POSIX shell reads back exactly this text.
func Quote(word string) string {
	safe := word != ""
	for i := 0; i < len(word) && safe; i++ {
		c := word[i]
		safe = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_-./:@%+,", c) >= 0
	}
	if safe {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
