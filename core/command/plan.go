package command

import "iter"

// Plan is what a script would do. The zero value is an empty script of which nothing is known.
type Plan struct {
	Script  string
	Context Context
	// Segments are the simple commands in the order in which they are written, whatever they are nested in.
	Segments []Segment
	// Doubts holds those of the script as a whole and of all its parts.
	Doubts Doubt
}

// Join says how a segment follows the one before it.
type Join uint8

const (
	Start     Join = iota // it is the first
	Then                  // ; or a new line
	And                   // &&
	Or                    // ||
	Pipe                  // |, and |& with the doubt PipeBoth
	Backgroup             // the one before was left in the background with &
	Within                // it belongs to a loop, a condition, a group … that began before it
)

// Segment is one simple command: a program with its arguments, and what surrounds it.
type Segment struct {
	Join Join
	// Text is the segment as written.
	Text string
	// Argv holds the words that the shell passes; empty when there are only redirects or assignments.
	Argv      []Word
	Assigns   []Assign
	Redirects []Redirect
	// Layers are the programs that run one another, outermost first: for "nice env make all" those of nice, env and make.
	// The last is the one that does the work, as far as can be told. Each stays part of what runs.
	Layers []Layer
	// Inner holds the scripts that the segment carries: substitutions in its words, and what sh -c, eval, trap, find -exec,
	// xargs … run.
	Inner []Segment
	// Doubts of this segment and of what it is nested in, not of Inner.
	Doubts Doubt
	// Dir is the folder it runs in; "" if that can't be told. Sure says that the folder is known to be there.
	Dir  string
	Sure bool
}

// Layer is one program in a segment.
type Layer struct {
	Kind LayerKind
	// Argv is the part of the segment's words that begins with this program. For a command that another program makes up
	// (find -exec, env -S), the words are those that it makes.
	Argv []Word
	// At is where Argv begins in the segment's words; -1 if it is not part of them.
	At      int
	Program Program
	// Assigns holds what env, sudo … set for the programs inside.
	Assigns []Assign
	Doubts  Doubt
	// Code is what the program is told to run besides Argv.
	Code []Inline
	// Script is the place in Argv of a file with code that the program is told to run; 0 if there is none.
	Script int
}

// LayerKind says what a program does with the rest of its words.
type LayerKind uint8

const (
	Opaque   LayerKind = iota // runs something that can't be told
	Plain                     // runs nothing else, as far as the text says
	Wrapper                   // runs the rest, and changes nothing that matters for what it does: nice, timeout, nohup, env
	Changer                   // runs the rest as another user, in another root, elsewhere, or with other surroundings
	Carrier                   // makes commands from its words and from what it reads: xargs, find -exec
	ShellRun                  // a shell
	Package                   // runs a program out of a package: npx, pnpm exec
)

// Assign is name=value before a command, or for env.
type Assign struct {
	Name  string
	Value Word
	// Array and Append: x=(…), x+=….
	Array, Append bool
}

// Program says which file a name stands for.
type Program struct {
	// Name is the word as the shell passes it; "" if that isn't known.
	Name string
	// Builtin says that the shell itself does it, when a shell reads the script.
	Builtin bool
	// Function says that a function of the script has that name.
	Function bool
	// Path is where it was found: absolute, links not resolved. "" if it was not found.
	Path string
	// Real is Path with links resolved, and ID the identity of that file.
	Real string
	ID   FileID
	// Bare says that it was found on the PATH, by a name without a slash.
	Bare bool
}

// Found reports whether a file was found.
func (p Program) Found() bool { return p.Path != "" }

// all gives the doubts of the segment, of its layers and of all that is in it.
func (s *Segment) all() Doubt {
	d := s.Doubts
	for i := range s.Layers {
		d |= s.Layers[i].Doubts
	}
	for i := range s.Inner {
		d |= s.Inner[i].all()
	}
	return d
}

// Command is the layer that does the work; nil if the segment runs no program.
func (s *Segment) Command() *Layer {
	if len(s.Layers) == 0 {
		return nil
	}
	return &s.Layers[len(s.Layers)-1]
}

// All visits every segment, also those inside others, outermost first.
func (p *Plan) All() iter.Seq[*Segment] {
	return func(yield func(*Segment) bool) { visit(p.Segments, yield) }
}

func visit(segments []Segment, yield func(*Segment) bool) bool {
	for i := range segments {
		if !yield(&segments[i]) || !visit(segments[i].Inner, yield) {
			return false
		}
	}
	return true
}

// Programs visits every program that is named anywhere in the plan. A program that can't be told isn't visited: see Doubts.
func (p *Plan) Programs() iter.Seq[Program] {
	return func(yield func(Program) bool) {
		for s := range p.All() {
			for i := range s.Layers {
				if s.Layers[i].Program.Name != "" && !yield(s.Layers[i].Program) {
					return
				}
			}
		}
	}
}
