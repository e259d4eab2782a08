package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// reader is the reading of one script and of all scripts in it.
type reader struct {
	context *Context
	// budget is how many more bytes of scripts inside scripts are read.
	budget int
	parser *syntax.Parser
	parsed int // how many scripts were
	seen   map[string]Program
	funcs  map[string]bool
	// argvs and stacks hold the words and layers of segments.
	argvs  room[Word]
	stacks room[Layer]
	// lost says that a function changes folder: from there on no folder is known.
	lost bool
}

// room gives out short slices of one longer one: a script has very many of them.
type room[T any] struct {
	free []T
	next int
}

// take gives an empty slice with room for n.
func (r *room[T]) take(n int) []T {
	if n > len(r.free) {
		if r.next = min(2*r.next+4, 64); n > r.next/2 {
			return make([]T, 0, n)
		}
		r.free = make([]T, r.next)
	}
	got := r.free[:0:n]
	r.free = r.free[n:]
	return got
}

// scriptReader reads one script: the whole one, or one that stands in an argument of another.
type scriptReader struct {
	*reader
	src    string
	doubts *Doubt
	depth  int
	out    *[]Segment
	// outer holds the doubts of what surrounds the next segment.
	outer Doubt
	dir   string
	sure  bool
}

// script reads a script and gives its segments. Doubts that no segment has go to doubts.
func (r *reader) script(doubts *Doubt, text, dir string, depth int) []Segment {
	switch {
	case depth > maxDepth:
		*doubts |= TooDeep
		return nil
	case len(text) > r.budget:
		*doubts |= TooLong
		return nil
	}
	r.budget -= len(text)
	if controlBytes(text) {
		*doubts |= ControlByte
	}
	file, err := r.parse(text)
	if err != nil {
		*doubts |= unreadable(err)
		return nil
	}
	out := make([]Segment, 0, marks(text)/2+1)
	s := scriptReader{reader: r, src: text, doubts: doubts, depth: depth, out: &out, dir: dir, sure: dir != ""}
	s.list(file.Stmts, Start)
	return out
}

// sub reads what a substitution runs: a script of its own in the middle of this one.
func (s *scriptReader) sub(stmts []*syntax.Stmt) []Segment {
	var out []Segment
	n := *s
	n.out = &out
	n.outer |= Subshell
	n.list(stmts, Start)
	return out
}

func (s *scriptReader) text(from, to syntax.Pos) string {
	i, j := int(from.Offset()), int(to.Offset())
	if i < 0 || j > len(s.src) || i > j {
		return ""
	}
	return s.src[i:j]
}

func (s *scriptReader) list(stmts []*syntax.Stmt, join Join) {
	for _, st := range stmts {
		s.stmt(st, join)
		join = Then
		if st.Background {
			join = Backgroup
		}
	}
}

// nest reads statements inside something, whose change of folder does (here) or doesn't last.
func (s *scriptReader) nest(d Doubt, here bool, stmts ...[]*syntax.Stmt) {
	outer, dir, sure := s.outer, s.dir, s.sure
	s.outer |= d
	if d.Has(Loop | Conditional | Function) {
		s.sure = false
	}
	for _, l := range stmts {
		s.list(l, Within)
	}
	if !here {
		s.dir, s.sure = dir, sure
	} else if s.dir != dir && d.Has(Loop|Conditional) {
		s.dir = ""
	}
	s.outer = outer
}

func (s *scriptReader) stmt(st *syntax.Stmt, join Join) {
	outer, dir, sure := s.outer, s.dir, s.sure
	if st.Negated {
		s.outer |= Negation
	}
	if st.Background || st.Coprocess {
		s.outer |= Background
	}
	redirected := true
	switch c := st.Cmd.(type) {
	case nil:
		s.simple(st, nil, join)
		redirected = false
	case *syntax.CallExpr:
		s.simple(st, c, join)
		redirected = false
	case *syntax.DeclClause:
		s.declare(st, c, join)
		redirected = false
	case *syntax.BinaryCmd:
		s.chain(st, join)
	case *syntax.Subshell:
		s.nest(Subshell, false, c.Stmts)
	case *syntax.Block:
		s.nest(Group, true, c.Stmts)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			s.nest(Conditional, true, c.Cond, c.Then)
		}
	case *syntax.WhileClause:
		s.nest(Loop, true, c.Cond, c.Do)
	case *syntax.ForClause:
		s.loop(c)
	case *syntax.CaseClause:
		s.words(Conditional, c.Pos(), c.In, c.Word)
		for _, item := range c.Items {
			s.words(Conditional, c.Pos(), c.In, item.Patterns...)
			s.nest(Conditional, true, item.Stmts)
		}
	case *syntax.FuncDecl:
		s.function(c)
	case *syntax.ArithmCmd:
		s.expressions(s.text(c.Left, st.End()), c.X)
	case *syntax.LetClause:
		s.expressions(s.text(c.Let, c.End()), c.Exprs...)
	case *syntax.TestClause:
		var inner []Segment
		d := Test | BashOnly | s.test(c.X, &inner)
		s.add(Segment{Join: join, Text: s.text(c.Left, c.Right), Inner: inner, Doubts: d})
	case *syntax.TimeClause:
		s.outer |= Timed
		if c.Stmt != nil {
			if call, ok := c.Stmt.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 && strings.HasPrefix(call.Args[0].Lit(), "-") {
				// "time -o": for bash the program's name is "-o"; sh runs the program time.
				s.call(c.Stmt, call, join, literal("time"))
			} else {
				s.stmt(c.Stmt, join)
			}
		}
	case *syntax.CoprocClause:
		s.outer |= Coprocess | Background | BashOnly
		s.stmt(c.Stmt, join)
	default:
		*s.doubts |= Syntax
	}
	if redirected && len(st.Redirs) > 0 {
		var inner []Segment
		seg := Segment{Join: Within, Text: s.text(st.Redirs[0].Pos(), st.Redirs[len(st.Redirs)-1].Word.End())}
		s.redirects(&seg, st.Redirs, &inner)
		seg.Inner = inner
		s.add(seg)
	}
	s.outer = outer
	if st.Background || st.Coprocess {
		s.dir, s.sure = dir, sure
	}
}

// add keeps a segment, with the doubts of what surrounds it.
func (s *scriptReader) add(seg Segment) *Segment {
	seg.Doubts |= s.outer
	if seg.Dir = s.dir; s.lost {
		seg.Dir = ""
	}
	seg.Sure = s.sure && seg.Dir != ""
	*s.out = append(*s.out, seg)
	return &(*s.out)[len(*s.out)-1]
}

// chain reads a && b || c, a | b |& c. They lean to the left, so that side is a loop.
func (s *scriptReader) chain(st *syntax.Stmt, join Join) {
	var right []*syntax.BinaryCmd
	left := st
	for {
		b, ok := left.Cmd.(*syntax.BinaryCmd)
		if !ok || left != st && left.Negated {
			break
		}
		right = append(right, b)
		left = b.X
	}
	piped := func(op syntax.BinCmdOperator) bool { return op == syntax.Pipe || op == syntax.PipeAll }
	run := func(st *syntax.Stmt, join Join, alone bool) {
		dir, sure := s.dir, s.sure
		s.stmt(st, join)
		if alone { // a part of a pipeline runs in a shell of its own
			s.dir, s.sure = dir, sure
		}
	}
	outer := s.outer
	for i := len(right); i >= 0; i-- {
		var join2 Join
		part := left
		inPipe := i > 0 && piped(right[i-1].Op)
		if i == len(right) {
			join2 = join
		} else {
			part = right[i].Y
			inPipe = inPipe || piped(right[i].Op)
			switch right[i].Op {
			case syntax.AndStmt:
				join2 = And
			case syntax.OrStmt:
				join2 = Or
			default:
				join2 = Pipe
			}
			s.outer = outer
			if right[i].Op == syntax.PipeAll {
				s.outer |= PipeBoth | BashOnly
			}
		}
		dir := s.dir
		run(part, join2, inPipe)
		if join2 == Or && s.dir != dir {
			s.dir, s.sure = "", false
		}
	}
	s.outer = outer
}

func (s *scriptReader) loop(c *syntax.ForClause) {
	if c.Select {
		s.outer |= BashOnly
	}
	switch l := c.Loop.(type) {
	case *syntax.WordIter:
		s.words(Loop, c.ForPos, c.DoPos, l.Items...)
	case *syntax.CStyleLoop:
		var inner []Segment
		d := Loop | Arithmetic | BashOnly | s.arithmetic(l.Init, &inner) | s.arithmetic(l.Cond, &inner) | s.arithmetic(l.Post, &inner)
		s.add(Segment{Join: Within, Text: s.text(c.ForPos, c.DoPos), Inner: inner, Doubts: d})
	}
	s.nest(Loop, true, c.Do)
}

// words reads words that are no command. They become a segment without a program only if they raise doubts or run something.
func (s *scriptReader) words(d Doubt, from, to syntax.Pos, words ...*syntax.Word) {
	var inner []Segment
	var found Doubt
	for _, w := range words {
		found |= s.nested(w, &inner)
	}
	if found != 0 || len(inner) > 0 {
		s.add(Segment{Join: Within, Text: strings.TrimSpace(s.text(from, to)), Inner: inner, Doubts: d | found})
	}
}

func (s *scriptReader) expressions(text string, list ...syntax.ArithmExpr) {
	var inner []Segment
	d := Arithmetic | BashOnly
	for _, x := range list {
		d |= s.arithmetic(x, &inner)
	}
	s.add(Segment{Join: Within, Text: text, Inner: inner, Doubts: d})
}

func (s *scriptReader) function(c *syntax.FuncDecl) {
	if s.funcs == nil {
		s.funcs = make(map[string]bool)
	}
	if c.Name != nil {
		s.funcs[c.Name.Value] = true
	}
	if c.RsrvWord {
		s.outer |= BashOnly
	}
	dir, sure := s.dir, s.sure
	s.dir, s.sure = "?", false // whatever folder the caller is in
	before := s.dir
	outer := s.outer
	s.outer |= Function
	start := len(*s.out)
	s.stmt(c.Body, Within)
	for i := start; i < len(*s.out); i++ {
		(*s.out)[i].Dir, (*s.out)[i].Sure = "", false
	}
	s.outer = outer
	s.lost = s.lost || s.dir != before
	s.dir, s.sure = dir, sure
	if len(*s.out) == start { // an empty body still hides a program of that name
		s.add(Segment{Join: Within, Text: c.Name.Value + "()", Doubts: Function})
	}
}

// test reads [[ … ]]. Some of its operators evaluate their operands as arithmetic, in which a subscript can run a command.
func (s *scriptReader) test(x syntax.TestExpr, inner *[]Segment) (d Doubt) {
	switch e := x.(type) {
	case *syntax.BinaryTest:
		d = s.test(e.X, inner) | s.test(e.Y, inner)
		switch e.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			if !number(e.X) || !number(e.Y) {
				d |= Arithmetic
			}
		}
	case *syntax.UnaryTest:
		if d = s.test(e.X, inner); e.Op == syntax.TsVarSet {
			d |= Arithmetic
		}
	case *syntax.ParenTest:
		return s.test(e.X, inner)
	case *syntax.Word:
		return s.nested(e, inner)
	}
	return d
}

// number reports whether a test's operand is a plain number, or a variable's length or status that is always one.
func number(x syntax.TestExpr) bool {
	w, ok := x.(*syntax.Word)
	if !ok || len(w.Parts) != 1 {
		return false
	}
	part := w.Parts[0]
	if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
		part = q.Parts[0]
	}
	switch p := part.(type) {
	case *syntax.Lit:
		return p.Value != "" && strings.Trim(p.Value, "0123456789") == ""
	case *syntax.ParamExp:
		return p.Param != nil && (p.Param.Value == "#" || p.Param.Value == "?" || p.Length) && p.Index == nil && p.Exp == nil && p.Slice == nil
	}
	return false
}

// declare reads export, local, declare …: a command whose assignments are its arguments.
func (s *scriptReader) declare(st *syntax.Stmt, c *syntax.DeclClause, join Join) {
	var inner []Segment
	seg := Segment{Join: join, Doubts: Assignment}
	end := c.Variant.End()
	seg.Argv = append(seg.Argv, literal(c.Variant.Value))
	if c.Variant.Value != "export" && c.Variant.Value != "readonly" {
		seg.Doubts |= BashOnly
	}
	for _, a := range c.Args {
		if a.Naked && a.Value != nil {
			w := s.word(a.Value, &inner)
			text, ok := w.Literal()
			if !ok || strings.HasPrefix(text, "-") && strings.Trim(text[1:], "xrgp") != "" {
				seg.Doubts |= Option | w.Doubt
			}
			if strings.IndexByte(text, '[') >= 0 { // a subscript is evaluated
				seg.Doubts |= Arithmetic
			}
			seg.Argv = append(seg.Argv, w)
			end = a.Value.End()
			continue
		}
		seg.Assigns = append(seg.Assigns, s.assign(a, &inner, &seg.Doubts))
		if a.Value != nil || a.Array != nil || a.Index != nil {
			end = a.End()
		} else {
			end = a.Name.End()
		}
	}
	s.redirects(&seg, st.Redirs, &inner)
	if n := len(st.Redirs); n > 0 && st.Redirs[n-1].Word.End().After(end) {
		end = st.Redirs[n-1].Word.End()
	}
	seg.Text = s.text(st.Position, end)
	seg.Inner = inner
	seg.Layers = []Layer{{Kind: Plain, Argv: seg.Argv, Program: Program{Name: c.Variant.Value, Builtin: true}}}
	s.add(seg)
}

func (s *scriptReader) assign(a *syntax.Assign, inner *[]Segment, d *Doubt) Assign {
	out := Assign{Append: a.Append}
	if a.Name != nil {
		out.Name = a.Name.Value
	}
	if a.Index != nil {
		*d |= Arithmetic | BashOnly | s.arithmetic(a.Index, inner)
	}
	if a.Value != nil {
		out.Value = s.wordOf(a.Value, inner, true)
		*d |= out.Value.Doubt & (ProcessSubst | Eval | Arithmetic | BashOnly)
	}
	if a.Array != nil {
		out.Array = true
		*d |= BashOnly
		for _, e := range a.Array.Elems {
			if e.Index != nil {
				*d |= Arithmetic | s.arithmetic(e.Index, inner)
			}
			*d |= s.nested(e.Value, inner) & (ProcessSubst | Eval | Arithmetic)
		}
	}
	if harmfulVariable(out.Name) {
		*d |= Environment
	}
	return out
}

func (s *scriptReader) simple(st *syntax.Stmt, c *syntax.CallExpr, join Join) {
	if c == nil {
		c = &syntax.CallExpr{}
	}
	s.call(st, c, join)
}

// call reads a simple command. before holds words in front of those written.
func (s *scriptReader) call(st *syntax.Stmt, c *syntax.CallExpr, join Join, before ...Word) {
	var inner []Segment
	seg := Segment{Join: join}
	end := st.Position
	if n := len(c.Assigns); n > 0 {
		seg.Doubts |= Assignment
		seg.Assigns = make([]Assign, 0, n)
		for _, a := range c.Assigns {
			seg.Assigns = append(seg.Assigns, s.assign(a, &inner, &seg.Doubts))
		}
		end = c.Assigns[n-1].End()
	}
	if n := len(c.Args); n > 0 {
		seg.Argv = append(s.argvs.take(n+len(before)), before...)
		for _, w := range c.Args {
			word := s.word(w, &inner)
			seg.Doubts |= word.Doubt
			seg.Argv = append(seg.Argv, word)
		}
		end = c.Args[n-1].End()
	}
	if n := len(st.Redirs); n > 0 {
		s.redirects(&seg, st.Redirs, &inner)
		if last := st.Redirs[n-1].Word.End(); last.After(end) {
			end = last
		}
	}
	seg.Text = s.text(st.Position, end)
	seg.Inner = inner
	kept := s.add(seg)
	if len(kept.Argv) > 0 {
		s.layers(kept)
		s.folder(kept)
	}
}

// folder follows cd.
func (s *scriptReader) folder(seg *Segment) {
	c := seg.Command()
	if c == nil || !c.Program.Builtin {
		return
	}
	switch c.Program.Name {
	case "cd", "pushd", "popd":
	default:
		return
	}
	seg.Doubts |= Folder
	to := ""
	args := c.Argv[1:]
	for len(args) > 0 && (args[0].Is("--") || args[0].Is("-L")) { // -P is left: through a link, ".." leads elsewhere then
		args = args[1:]
	}
	if s.funcs[c.Program.Name] {
		// whatever the function of that name does
	} else if c.Program.Name == "cd" && len(args) == 1 {
		if text, ok := args[0].Literal(); ok && text != "" && text != "-" {
			to = absolute(s.dir, text)
		}
	} else if c.Program.Name == "cd" && len(args) == 0 {
		to = s.context.Home
	}
	s.dir = to
	s.sure = s.sure && to != "" && s.context.Files != nil
	if s.sure {
		f, err := s.context.Files.Stat(to)
		s.sure = err == nil && f.Folder
	}
	if !s.sure && len(s.dir) > len(s.context.Dir)+maxGuess {
		s.dir = ""
	}
}

// maxGuess is how many bytes the path of a folder that may not be there may grow to: a script that goes on and on into folders
// that aren't there would make each look at the disk longer.
const maxGuess = 256

// shadow takes the programs away from commands that a function of the script may stand in for.
func (r *reader) shadow(segments []Segment) {
	if len(r.funcs) == 0 {
		return
	}
	for i := range segments {
		s := &segments[i]
		if len(s.Layers) > 0 && r.funcs[s.Layers[0].Program.Name] {
			s.Doubts |= Function
			s.Layers[0].Program = Program{Name: s.Layers[0].Program.Name, Function: true}
		}
		r.shadow(s.Inner)
	}
}
