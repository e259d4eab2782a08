package command

// Binding is a file that decides what an approved script does. It must be the same file when the script starts: same
// path, same identity, and same content where the user could have changed that (Mutable).
type Binding struct {
	// Index is the word of the segment that names it.
	Index   int
	Segment string
	Path    string
	Real    string
	ID      FileID
	// Script says that the file is a script that a program is told to run, else it is a program itself.
	Script bool
	// Mutable says that the user, and so any program of theirs, can change it: its content must be bound, and a lasting
	// rule is no use.
	Mutable bool
}

// Bind lists the files that an approval of the plan must bind. open says what runs besides that can't be bound; such a
// script can only be approved as exact text, once.
func Bind(p Plan) (bound []Binding, open []string) {
	if d := p.Doubts & (Syntax | ControlByte | TooLong | TooDeep | UnknownShell); d != 0 {
		return nil, []string{"it can't be read: " + d.String()}
	}
	if len(p.Segments) == 0 {
		return nil, []string{"there is no command that can be told"}
	}
	b := binder{plan: &p, said: make(map[string]bool)}
	b.segments(p.Segments)
	return b.bound, b.open
}

type binder struct {
	plan  *Plan
	bound []Binding
	open  []string
	said  map[string]bool
	// moved says that the folder was changed before.
	moved bool
}

func (b *binder) leave(why string) {
	if !b.said[why] {
		b.said[why] = true
		b.open = append(b.open, why)
	}
}

func (b *binder) segments(list []Segment) {
	for i := range list {
		s := &list[i]
		for _, w := range s.Argv {
			if w.Doubt.Has(open) {
				b.leave("words that are only known when it runs")
			}
		}
		if s.Doubts.Has(Environment) {
			b.leave("its environment can make programs load code")
		}
		if s.Doubts.Has(Function | Alias) {
			b.leave("functions and aliases")
		}
		for _, r := range s.Redirects {
			if !r.Nowhere() && r.Kind == ReadsFrom {
				b.leave("what it reads from a file")
			}
		}
		for n := range s.Layers {
			b.layer(s, n)
		}
		if s.Doubts.Has(Folder) && s.Command() != nil && s.Command().Program.Builtin {
			b.moved = true
		}
		b.segments(s.Inner)
	}
}

func (b *binder) layer(s *Segment, n int) {
	l := &s.Layers[n]
	prog := l.Program
	files := b.plan.Context.Files
	packaged := n > 0 && s.Layers[n-1].Kind == Package
	switch {
	case prog.Name == "":
		b.leave("a program whose name is only known when it runs")
	case prog.Builtin, prog.Function:
		if prog.Builtin && l.Doubts.Has(ReadsScript) {
			b.leave("a script that the shell loads")
		}
	case packaged:
		b.leave("a program out of a package")
	case !prog.Found():
		b.leave("no program " + prog.Name + " was found")
	case b.moved && !prog.Bare && prog.Name[0] != '/':
		b.leave("a program by a relative path after a change of folder")
	default:
		b.bound = append(b.bound, Binding{Index: max(l.At, 0), Segment: s.Text, Path: prog.Path, Real: prog.Real, ID: prog.ID, Mutable: files == nil || files.Writable(prog.Path) || files.Writable(prog.Real)})
	}
	if l.Doubts.Has(Environment) {
		b.leave("its environment can make programs load code")
	}
	if l.Doubts.Has(Folder) {
		b.leave("a change of folder by " + prog.Name)
		b.moved = true
	}
	if l.Doubts.Has(Option) {
		b.leave("start-up files of " + prog.Name)
	}
	if l.Doubts.Has(Remote) {
		b.leave("what runs elsewhere")
	}
	for _, c := range l.Code {
		if c.Kind == Loads || c.Kind == Settings {
			b.leave(c.Label + " loads code or settings")
		}
	}
	if !l.Doubts.Has(ReadsScript) || prog.Builtin {
		return
	}
	if l.Script == 0 {
		if len(s.Inner) == 0 && len(l.Code) == 0 {
			b.leave("what " + prog.Name + " reads as its script")
		}
		return
	}
	word := l.Argv[l.Script]
	text, ok := word.Literal()
	path := absolute(s.Dir, text)
	switch {
	case !ok || path == "" || b.moved && text[0] != '/':
		b.leave("the script " + word.Text + " of " + prog.Name)
		return
	case files == nil:
		b.leave("the script " + word.Text + " of " + prog.Name)
		return
	}
	f, err := files.Stat(path)
	if err != nil || !f.Regular {
		b.leave("no script " + text + " was found")
		return
	}
	b.bound = append(b.bound, Binding{Index: max(l.At, 0) + l.Script, Segment: s.Text, Path: path, Real: f.Real, ID: f.ID, Script: true, Mutable: true})
}
