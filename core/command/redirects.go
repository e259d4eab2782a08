package command

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Redirect is one redirection of a segment.
type Redirect struct {
	Kind RedirectKind
	// FD is the descriptor; -1 where a variable holds it. &> stands for 1 and 2, with FD 1 and Both set.
	FD   int
	Both bool
	// Target is the file; for Duplicate the other descriptor or "-", for HereString the text.
	Target Word
	// Body is the text of a here-document, if nothing in it is expanded.
	Body string
}

// RedirectKind says what a redirection does with its target.
type RedirectKind uint8

const (
	Truncates  RedirectKind = iota // >, >|, &>: the file is emptied
	Appends                        // >>, &>>
	ReadsFrom                      // <
	ReadsWrite                     // <>
	Duplicates                     // 2>&1, <&3, >&-
	HereDocs                       // <<
	HereStrs                       // <<<
)

// Nowhere reports whether the redirection only throws away, joins or closes standard streams, or gives empty input.
func (r Redirect) Nowhere() bool {
	text, ok := r.Target.Literal()
	if !ok || r.FD < 0 || r.FD > 2 {
		return false
	}
	switch r.Kind {
	case Truncates, Appends:
		return text == "/dev/null" && r.FD > 0
	case ReadsFrom:
		return text == "/dev/null" && r.FD == 0
	case Duplicates:
		return r.FD > 0 && (text == "1" || text == "2") || text == "-"
	}
	return false
}

func (s *scriptReader) redirects(seg *Segment, list []*syntax.Redirect, inner *[]Segment) {
	for _, r := range list {
		out := Redirect{}
		fd := 1
		switch r.Op {
		case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			fd = 0
		}
		if out.FD = fd; r.N != nil {
			n, err := strconv.Atoi(r.N.Value)
			if out.FD = n; err != nil {
				out.FD = -1
				seg.Doubts |= BashOnly
			}
		}
		if r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc {
			out.Kind = HereDocs
			seg.Doubts |= HereDoc
			seg.Doubts |= s.document(r, &out, inner)
			seg.Redirects = append(seg.Redirects, out)
			continue
		}
		out.Target = s.word(r.Word, inner)
		seg.Doubts |= out.Target.Doubt
		switch r.Op {
		case syntax.RdrOut, syntax.RdrClob:
			out.Kind = Truncates
		case syntax.RdrAll:
			out.Kind, out.Both = Truncates, true
			seg.Doubts |= BashOnly
		case syntax.AppOut:
			out.Kind = Appends
		case syntax.AppAll:
			out.Kind, out.Both = Appends, true
			seg.Doubts |= BashOnly
		case syntax.RdrIn:
			out.Kind = ReadsFrom
		case syntax.RdrInOut:
			out.Kind = ReadsWrite
			seg.Doubts |= OtherRedirect
		case syntax.DplIn, syntax.DplOut:
			out.Kind = Duplicates
			text, ok := out.Target.Literal()
			if r.Op == syntax.DplOut && (!ok || strings.Trim(text, "0123456789-") != "") {
				// >&file: both streams, in bash. With something that isn't known it may be either.
				out.Kind, out.Both = Truncates, true
				seg.Doubts |= BashOnly | OtherRedirect
			}
		case syntax.WordHdoc:
			out.Kind = HereStrs
			seg.Doubts |= HereString | BashOnly
		default:
			out.Kind = Truncates
			seg.Doubts |= OtherRedirect | BashOnly
		}
		switch {
		case out.Kind == HereStrs:
		case out.Nowhere():
			seg.Doubts |= HarmlessRedirect
		case out.Kind == Duplicates || out.FD > 2 || out.FD < 0:
			seg.Doubts |= OtherRedirect
			if out.Kind != Duplicates {
				seg.Doubts |= FileRedirect
			}
		default:
			seg.Doubts |= FileRedirect
		}
		seg.Redirects = append(seg.Redirects, out)
	}
}

// document reads the body of a here-document. Unless its end word is quoted, the shell expands it like text in double quotes.
func (s *scriptReader) document(r *syntax.Redirect, out *Redirect, inner *[]Segment) Doubt {
	if r.Hdoc == nil {
		return 0
	}
	quoted := false
	for _, p := range r.Word.Parts {
		l, ok := p.(*syntax.Lit)
		quoted = quoted || !ok || strings.IndexByte(l.Value, '\\') >= 0
	}
	var d Doubt
	var b strings.Builder
	for _, p := range r.Hdoc.Parts {
		l, ok := p.(*syntax.Lit)
		switch {
		case !ok:
			d |= s.expansion(p, inner)
		case quoted:
			b.WriteString(l.Value)
		default:
			b.WriteString(unescape(l.Value))
		}
	}
	if d == 0 {
		out.Body = b.String()
		if r.Op == syntax.DashHdoc {
			lines := strings.SplitAfter(out.Body, "\n")
			for i, l := range lines {
				lines[i] = strings.TrimLeft(l, "\t")
			}
			out.Body = strings.Join(lines, "")
		}
	}
	return d
}
