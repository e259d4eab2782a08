package command

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
)

// Effect is one thing that a script does to something.
type Effect struct {
	Kind   EffectKind
	Target Target
	// Certain says that it happens if the segment runs and its target is there; else it may happen.
	Certain bool
}

// EffectKind says what is done.
type EffectKind uint8

const (
	Reads      EffectKind = iota // a file or folder is read
	Writes                       // a file is made, or text is added to it
	Changes                      // a file's content is changed in place
	Removes                      // it is gone afterwards
	Overwrites                   // what it held is gone afterwards
	Network                      // something elsewhere is reached; the target is a host or address as far as it is known
)

// Target is what an effect is done to.
type Target struct {
	// Text is the target as the program gets it, or as written if that isn't known.
	Text string
	// Path is absolute, links not resolved; "" if it isn't known. With Pattern it holds a file name pattern.
	Path    string
	Pattern bool
	// Under is the folder below which it lies, absolute, where no more is known or with Pattern; "" if not even that is.
	Under string
	// Why says what does it, in a few words: "rm", "redirect", "git clean".
	Why string
}

// Effects lists what a plan does, as far as can be told, in the order of its segments. The doubts are those because of
// which there may be more.
func (p *Plan) Effects() ([]Effect, Doubt) {
	j := judge{plan: p}
	j.doubts = p.Doubts & (Syntax | ControlByte | TooLong | TooDeep | UnknownShell)
	if p.Context.Shell != Bash {
		j.doubts |= p.Doubts & BashOnly
	}
	j.moved = p.renames()
	j.effects = make([]Effect, 0, len(p.Segments))
	j.segments(p.Segments)
	return j.effects, j.doubts
}

// judge goes through a plan and notes effects.
type judge struct {
	plan    *Plan
	effects []Effect
	doubts  Doubt
	// moved says that something was given another name before: what isn't there now may be there then.
	moved bool
	// found is the folder that find searches while what it runs is looked at; "" if that isn't known.
	found string
}

// renames reports whether something may be given another name before, or while, what stands before that in the script runs.
func (p *Plan) renames() bool {
	names, twice := false, p.Doubts.Has(Loop|Function|Trap|Background|Coprocess|ProcessSubst)
	for s := range p.All() {
		twice = twice || s.Join == Pipe
		for i := range s.Layers {
			l := &s.Layers[i]
			switch name := canonical(l.Program.Name); name {
			case "mv", "ln", "link":
				names = true
			case "cp":
				a := cpOptions.parse(l.Argv[1:], false)
				names = names || a.bad != "" || a.unsure || a.has("-l", "--link", "-s", "--symbolic-link", "-a", "--archive", "-d", "-P", "--no-dereference")
			case "git":
				names = names || parseGit(l.Argv[1:]).sub == "mv"
			}
			twice = twice || l.Kind == Carrier
		}
	}
	return names && twice
}

// unsettled are doubts of a segment or layer because of which it may do something that isn't seen.
const unsettled = ExtGlob | Arithmetic | LocaleQuote | Eval | Source | Option | Alias | Environment | DynamicName | UnknownProgram |
	UnknownOption | ReadsScript | Remote | Elevated | Coprocess | UnknownShell | Syntax | ControlByte | TooLong | TooDeep

func (j *judge) segments(list []Segment) {
	for i := range list {
		s := &list[i]
		found := j.found
		if l := s.Command(); l != nil && canonical(l.Program.Name) == "find" {
			j.found = j.searched(s, l.Argv[1:])
		}
		j.segments(s.Inner)
		j.found = found
		d := s.Doubts & unsettled
		if s.Doubts.Has(Eval) && len(s.Layers) > 0 && s.Layers[0].Program.Name == "eval" {
			d &^= Eval // its text was read; the layer says if not
		}
		for n := range s.Layers {
			l := &s.Layers[n]
			d |= l.Doubts & unsettled
			if l.Kind == Opaque {
				d |= UnknownProgram
			}
			if l.Kind == Changer && n < len(s.Layers)-1 {
				j.wrapper(s, l)
			}
			// The inner segments came from a shell whose words fill $1 …, which are doubts of their own where they matter.
		}
		j.doubts |= d
		for _, r := range s.Redirects {
			j.redirect(s, r)
		}
		if l := s.Command(); l != nil && l.Program.Name != "" {
			j.command(s, l)
		}
	}
}

// wrapper notes files that a wrapper writes itself.
func (j *judge) wrapper(s *Segment, l *Layer) {
	switch canonical(l.Program.Name) {
	case "time", "strace", "ltrace":
		w := wrappers[canonical(l.Program.Name)]
		a := w.options.parse(l.Argv[1:], true)
		for _, o := range a.options {
			if o.name == "-o" || o.name == "--output" {
				j.overwrite(s, o.value, canonical(l.Program.Name)+" -o")
			}
		}
	}
}

func (j *judge) redirect(s *Segment, r Redirect) {
	if r.Nowhere() {
		return
	}
	text, known := r.Target.Literal()
	if known && r.Kind != HereDocs && r.Kind != HereStrs && r.Kind != Duplicates {
		if strings.HasPrefix(text, "/dev/tcp/") || strings.HasPrefix(text, "/dev/udp/") {
			j.add(Network, Target{Text: strings.TrimPrefix(strings.TrimPrefix(text, "/dev/tcp/"), "/dev/udp/"), Why: "redirect"}, true)
			return
		}
	}
	switch r.Kind {
	case Truncates:
		j.overwrite(s, r.Target, "redirect")
	case Appends, ReadsWrite:
		j.note(Writes, s, r.Target, "redirect")
	case ReadsFrom:
		j.note(Reads, s, r.Target, "redirect")
	}
}

func (j *judge) add(k EffectKind, t Target, certain bool) {
	j.effects = append(j.effects, Effect{Kind: k, Target: t, Certain: certain})
}

// target is what a word names.
func (j *judge) target(s *Segment, w Word, why string) Target {
	t := Target{Text: w.Text, Why: why}
	if w.Doubt.Has(Variable) && w.Text == "{}" {
		t.Text = "(what is found)"
	}
	switch w.Doubt & open {
	case 0:
		t.Path = j.path(s, w.Text)
		return t
	case Glob:
		t.Path, t.Pattern = absolute(s.Dir, w.Text), true
	}
	if strings.HasPrefix(w.Text, "{}") {
		t.Under = j.found
	} else if i := strings.LastIndexByte(w.Lead, '/'); i >= 0 && !goesUp(w.Lead) {
		t.Under = absolute(s.Dir, w.Lead[:i+1])
	} else if t.Pattern && i < 0 {
		t.Under = absolute(s.Dir, ".")
	}
	return t
}

// path is where a program finds what a word names. Through a link ".." leads elsewhere than the text says.
func (j *judge) path(s *Segment, text string) string {
	files := j.plan.Context.Files
	if files == nil || !goesUp(text) {
		return absolute(s.Dir, text)
	}
	folder, name := path.Split(strings.TrimRight(text, "/"))
	if name == ".." {
		folder, name = text, ""
	}
	if folder = raw(s.Dir, folder); folder == "" {
		return ""
	}
	f, err := files.Stat(folder)
	if err != nil {
		return ""
	}
	return path.Join(f.Real, name)
}

// goesUp reports whether a path has "..".
func goesUp(path string) bool {
	return strings.Contains(path, "..") && slices.Contains(strings.Split(path, "/"), "..")
}

// raw joins a path to a folder and leaves ".." in it; "" if the folder isn't known.
func raw(folder, path string) string {
	if strings.HasPrefix(path, "/") {
		return path
	}
	if !strings.HasPrefix(folder, "/") {
		return ""
	}
	return folder + "/" + path
}

// note adds an effect on what a word names.
func (j *judge) note(k EffectKind, s *Segment, w Word, why string) {
	j.add(k, j.target(s, w, why), true)
}

// presence says whether something is there.
type presence uint8

const (
	maybeThere presence = iota
	there
	absent
)

// look says whether a file is at the path that a word names, and what it is.
func (j *judge) look(s *Segment, w Word) (presence, File) {
	text, ok := w.Literal()
	if !ok {
		return maybeThere, File{}
	}
	return j.lookAt(s, text)
}

func (j *judge) lookAt(s *Segment, text string) (presence, File) {
	p := raw(s.Dir, text)
	files := j.plan.Context.Files
	if p == "" || text == "" || files == nil {
		return maybeThere, File{}
	}
	f, err := files.Stat(p)
	switch {
	case err == nil && (strings.HasPrefix(text, "/") || s.Sure || f.Regular && f.Size > 0):
		return there, f
	case err == nil:
		return maybeThere, f
	case !nothing(err) || j.moved || !s.Sure && !strings.HasPrefix(text, "/"):
		return maybeThere, File{}
	}
	return absent, File{}
}

// nothing reports whether an error of Stat says that nothing is there.
func nothing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// overwrite notes that a file's content is replaced, if there is one.
func (j *judge) overwrite(s *Segment, w Word, why string) {
	text, ok := w.Literal()
	if ok && (text == "-" && why != "redirect" || strings.HasPrefix(text, "/dev/")) {
		switch {
		case text == "-", text == "/dev/null", text == "/dev/stdout", text == "/dev/stderr", text == "/dev/tty", text == "/dev/full", strings.HasPrefix(text, "/dev/fd/"):
			return
		}
		j.note(Overwrites, s, w, why) // a device
		return
	}
	t := j.target(s, w, why)
	switch is, f := j.look(s, w); {
	case is == absent, is == there && f.Regular && f.Size == 0:
		j.add(Writes, t, true)
	case is == there && f.Folder:
		// it fails
	case is == there, j.plan.Context.Files == nil && ok:
		j.add(Overwrites, t, true)
	default:
		j.add(Overwrites, t, false)
	}
}

// replace notes that src takes the place of dst: by mv, cp, ln or install.
func (j *judge) replace(s *Segment, src, dst Word, why string, tree bool) {
	to := dst
	is, f := j.look(s, dst)
	from, okSrc := src.Literal()
	text, okDst := dst.Literal()
	if okDst && (is == there && f.Folder || is != absent && strings.HasSuffix(text, "/")) {
		base := path.Base(from)
		if !okSrc || base == "." || base == ".." || tree && strings.HasSuffix(from, "/") { // for BSD cp "dir/" is what dir holds
			j.add(Overwrites, j.target(s, dst, why), false)
			return
		}
		to = literal(strings.TrimSuffix(text, "/") + "/" + base)
		is, f = j.look(s, to)
		if is == absent {
			j.note(Writes, s, to, why)
			return
		}
	}
	if is == there && okSrc {
		if here, other := j.lookAt(s, from); here == there && other.ID == f.ID && f.ID != (FileID{}) {
			j.add(Overwrites, j.target(s, dst, why), false) // the same file by another name, or a link to it: programs differ
			return
		}
	}
	if is == there && f.Folder {
		if tree { // into a folder that is there: what it holds may be replaced
			j.add(Overwrites, j.target(s, to, why), false)
		}
		return
	}
	j.overwrite(s, to, why)
}
