package command

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Word is one word of a command.
type Word struct {
	// Text is what the program gets, without quotes. With an open doubt it is only the word as written; with Glob alone it
	// is the pattern, in which a backslash takes the meaning from the byte after it.
	Text string
	// Lead is how the word begins whatever it turns out to be. Without open doubts it is Text.
	Lead string
	// Doubt says how the word is written and what the shell does to it first.
	Doubt Doubt
	// Splits says that the shell may make no word of it, or several: then a later one may begin with anything.
	Splits bool
}

// Literal gives the word as the program gets it, and whether that is known.
func (w Word) Literal() (string, bool) { return w.Text, w.Doubt&open == 0 }

// Is reports whether the program gets exactly this text.
func (w Word) Is(text string) bool { return w.Text == text && w.Doubt&open == 0 }

// MayBeOption reports whether the word, or a word that the shell makes of it, could begin with "-".
func (w Word) MayBeOption() bool {
	return w.Splits || w.Lead == "" && w.Doubt&open != 0 || strings.HasPrefix(w.Lead, "-") || w.Doubt.Has(OddBlank)
}

// literal is a word that another program makes.
func literal(text string) Word { return Word{Text: text, Lead: text} }

// plainByte marks bytes that mean themselves outside quotes wherever they stand in a word.
var plainByte = func() (t [256]bool) {
	for i := range t {
		t[i] = i > ' ' && i != 0x7f && i != 0xa0 && i != 0x85 && !strings.ContainsRune("\\*?[]{}~'\"`$", rune(i))
	}
	return
}()

// wordReader takes one word apart.
type wordReader struct {
	*scriptReader
	text     []byte
	lead     int // length of text up to the first part that isn't known; -1 as long as all is
	doubt    Doubt
	splits   bool
	pattern  bool // second reading: text becomes a pattern
	bracket  bool // an unquoted [ came
	brace    int  // unquoted { that are open
	comma    bool // an unquoted , or .. came in them
	dot      bool
	assigned bool // an = came that makes the word look like an assignment
	value    bool // it is the value of an assignment
}

// word reads a word as the shell would. What its substitutions run is added to inner.
func (s *scriptReader) word(w *syntax.Word, inner *[]Segment) Word {
	return s.wordOf(w, inner, false)
}

func (s *scriptReader) wordOf(w *syntax.Word, inner *[]Segment, value bool) Word {
	if len(w.Parts) == 1 {
		switch p := w.Parts[0].(type) {
		case *syntax.Lit:
			if plain(p.Value) {
				return literal(p.Value)
			}
		case *syntax.SglQuoted:
			if !p.Dollar {
				return literal(p.Value)
			}
		}
	}
	r := wordReader{scriptReader: s, lead: -1, value: value, text: make([]byte, 0, 64)}
	r.parts(w.Parts, inner)
	out := Word{Doubt: r.doubt, Splits: r.splits && !value}
	if value {
		out.Doubt &^= Glob | Brace
	}
	switch r.doubt & open {
	case 0:
		out.Text = string(r.text)
		out.Lead = out.Text
		return out
	case Glob:
		p := wordReader{scriptReader: s, lead: -1, pattern: true, value: value}
		p.parts(w.Parts, nil)
		out.Text = string(p.text)
	default:
		out.Text = s.text(w.Pos(), w.End())
	}
	out.Lead = string(r.text[:max(r.lead, 0)])
	return out
}

func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if !plainByte[s[i]] {
			return false
		}
	}
	return true
}

// unknown notes that the word goes on with something that isn't known.
func (r *wordReader) unknown(d Doubt) {
	if r.lead < 0 {
		r.lead = len(r.text)
	}
	r.doubt |= d
}

func (r *wordReader) parts(parts []syntax.WordPart, inner *[]Segment) {
	for i, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			r.unquoted(part.Value, i == 0, len(parts) == 1)
		case *syntax.SglQuoted:
			if part.Dollar {
				r.doubt |= AnsiQuote | BashOnly
				if r.context.Shell != Bash || unsureAnsi(part.Value) {
					r.unknown(LocaleQuote)
				}
				r.quoted(ansi(part.Value))
				continue
			}
			r.quoted(part.Value)
		case *syntax.DblQuoted:
			if part.Dollar {
				r.unknown(LocaleQuote)
			}
			for _, q := range part.Parts {
				if l, ok := q.(*syntax.Lit); ok {
					r.quoted(unescape(l.Value))
					continue
				}
				r.unknown(r.expansion(q, inner))
				if p, ok := q.(*syntax.ParamExp); ok && manyWords(p) {
					r.splits = true
				}
			}
		default:
			d := r.expansion(part, inner)
			r.unknown(d)
			r.splits = r.splits || d != ProcessSubst
		}
	}
}

// manyWords reports whether an expansion makes several words even in quotes: "$@", "${a[@]}", "${!p@}".
func manyWords(p *syntax.ParamExp) bool {
	if p.Param == nil || p.Param.Value == "@" || p.Index != nil || p.Names != 0 || p.Excl {
		return true
	}
	return p.Exp != nil && p.Exp.Word != nil || p.Repl != nil
}

// quoted adds text that the shell leaves alone.
func (r *wordReader) quoted(s string) {
	if !r.pattern {
		r.text = append(r.text, s...)
		return
	}
	for i := 0; i < len(s); i++ {
		if strings.IndexByte(`*?[]\`, s[i]) >= 0 {
			r.text = append(r.text, '\\')
		}
		r.text = append(r.text, s[i])
	}
}

// unquoted adds text that stands outside quotes. alone says that it is the whole word.
func (r *wordReader) unquoted(s string, first, alone bool) {
	i := 0
	if first && strings.HasPrefix(s, "~") {
		end := strings.IndexByte(s, '/')
		if end < 0 {
			end = len(s)
		}
		switch {
		case end > 1 || end == len(s) && !alone || r.context.Home == "":
			r.unknown(UserHome)
		default:
			r.doubt |= Home
			r.quoted(r.context.Home)
			i = 1
		}
	}
	for ; i < len(s); i++ {
		c := s[i]
		switch c {
		case '\\':
			if i+1 < len(s) {
				i++
			}
			r.quoted(s[i : i+1])
			r.dot = false
			continue
		case '*', '?':
			r.unknown(Glob)
		case '[':
			r.bracket = true
		case ']':
			if r.bracket {
				r.unknownFromBracket()
			}
		case '{':
			r.brace++
		case ',':
			r.comma = r.comma || r.brace > 0
		case '.':
			r.comma = r.comma || r.brace > 0 && r.dot
		case '}':
			if r.brace > 0 && r.comma {
				r.unknownFromBrace()
			}
		case '=':
			r.assigned = true
		case '~':
			// bash replaces it after = and : in words that look like assignments; sh does not.
			if i > 0 && (s[i-1] == '=' || s[i-1] == ':') && (r.assigned || r.value) {
				r.unknown(UserHome)
			}
		case 0xa0, 0x85:
			r.doubt |= OddBlank
		}
		r.dot = c == '.'
		if r.pattern && c == ']' && !r.bracket {
			r.text = append(r.text, '\\')
		}
		r.text = append(r.text, c)
	}
}

// A pattern or a brace expansion is only seen at its end, but the text is unknown from its beginning.
func (r *wordReader) unknownFromBracket() {
	r.unknown(Glob)
	if i := bytes.IndexByte(r.text, '['); i >= 0 {
		r.lead = min(r.lead, i)
	}
}

func (r *wordReader) unknownFromBrace() {
	r.unknown(Brace)
	if i := bytes.IndexByte(r.text, '{'); i >= 0 {
		r.lead = min(r.lead, i)
	}
}

// expansion gives the doubt that a part of a word raises, and reads the scripts in it.
func (s *scriptReader) expansion(part syntax.WordPart, inner *[]Segment) Doubt {
	switch part := part.(type) {
	case *syntax.ParamExp:
		d := Variable
		if part.Index != nil {
			d |= Arithmetic | s.arithmetic(part.Index, inner)
		}
		if part.Slice != nil {
			d |= Arithmetic | s.arithmetic(part.Slice.Offset, inner) | s.arithmetic(part.Slice.Length, inner)
		}
		if part.Repl != nil {
			d |= s.nested(part.Repl.Orig, inner) | s.nested(part.Repl.With, inner)
		}
		if part.Exp != nil {
			d |= s.nested(part.Exp.Word, inner)
			if part.Exp.Op == syntax.OtherParamOps { // ${x@P} expands what the variable holds
				d |= Eval
			}
		}
		if part.Excl { // ${!x}: the variable says which, and may hold a subscript that is evaluated
			d |= Arithmetic
		}
		return d
	case *syntax.CmdSubst:
		if inner != nil {
			*inner = append(*inner, s.sub(part.Stmts)...)
		}
		return Substitution
	case *syntax.ProcSubst:
		if inner != nil {
			*inner = append(*inner, s.sub(part.Stmts)...)
		}
		return ProcessSubst
	case *syntax.ArithmExp:
		return Arithmetic | s.arithmetic(part.X, inner)
	case *syntax.ExtGlob:
		return ExtGlob
	}
	return ExtGlob
}

// nested reads the scripts in a word whose text doesn't matter.
func (s *scriptReader) nested(w *syntax.Word, inner *[]Segment) Doubt {
	if w == nil {
		return 0
	}
	return s.word(w, inner).Doubt & (open | Eval)
}

// arithmetic reads the scripts in an arithmetic expression. Expressions lean to the left, so that side is a loop.
func (s *scriptReader) arithmetic(x syntax.ArithmExpr, inner *[]Segment) (d Doubt) {
	for x != nil {
		switch e := x.(type) {
		case *syntax.BinaryArithm:
			d |= s.arithmetic(e.Y, inner)
			x = e.X
		case *syntax.UnaryArithm:
			x = e.X
		case *syntax.ParenArithm:
			x = e.X
		case *syntax.Word:
			return d | s.nested(e, inner)
		default:
			return d
		}
	}
	return d
}

// unescape takes the backslashes out of text in double quotes.
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\", s[i+1]) >= 0 {
			i++
		}
		b = append(b, s[i])
	}
	return string(b)
}

// unsureAnsi reports whether $'…' holds something that depends on the locale or on the age of bash.
func unsureAnsi(s string) bool {
	for i := 0; i+1 < len(s); i++ {
		if s[i] != '\\' {
			continue
		}
		i++
		if strings.IndexByte("uUc?\"", s[i]) >= 0 || s[i] == 'x' && i+1 < len(s) && s[i+1] == '{' {
			return true
		}
	}
	return false
}

// ansi gives what $'…' stands for (bash manual, ANSI-C Quoting). As in bash, a NUL ends it.
func ansi(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		c := s[i]
		i++
		if c != '\\' || i == len(s) {
			b = append(b, c)
			continue
		}
		c = s[i]
		i++
		number := func(base, most int) (n int) {
			for k := 0; k < most && i < len(s); k++ {
				v := strings.IndexByte("0123456789abcdef", s[i]|0x20)
				if s[i] <= '9' {
					v = strings.IndexByte("0123456789", s[i])
				}
				if v < 0 || v >= base {
					break
				}
				n = n*base + v
				i++
			}
			return n
		}
		switch c {
		case 'a':
			b = append(b, 7)
		case 'b':
			b = append(b, 8)
		case 'e', 'E':
			b = append(b, 27)
		case 'f':
			b = append(b, 12)
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'v':
			b = append(b, 11)
		case '\\', '\'', '"', '?':
			b = append(b, c)
		case '0', '1', '2', '3', '4', '5', '6', '7':
			i--
			n := byte(number(8, 3))
			if n == 0 {
				return string(b)
			}
			b = append(b, n)
		case 'x':
			at := i
			n := byte(number(16, 2))
			if i == at {
				b = append(b, '\\', 'x')
				continue
			}
			if n == 0 {
				return string(b)
			}
			b = append(b, n)
		case 'u', 'U':
			at, most := i, 4
			if c == 'U' {
				most = 8
			}
			n := number(16, most)
			if i == at {
				b = append(b, '\\', c)
				continue
			}
			if n == 0 {
				return string(b)
			}
			b = utf8.AppendRune(b, rune(n))
		case 'c':
			if i < len(s) {
				b = append(b, s[i]&0x1f)
				i++
			}
		default:
			b = append(b, '\\', c)
		}
	}
	return string(b)
}
