package edit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"handrail/core/hint"
)

// MaxBytes is the size of the largest file that is edited, before and after the edit. MaxHunks bounds a batch, MaxPlaces
// how many places it may change in all.
const (
	MaxBytes  = 50 << 20
	MaxHunks  = 1000
	MaxPlaces = 1 << 20
)

// mostWork bounds the bytes that all hunks of an edit go through, so that it takes seconds at most.
const mostWork = 4 << 30

// Hunk is one change of one file, with the fields it has on the wire. It is either a string change (OldString) or a line
// change (LineStart); the zero value is neither and is refused. An empty OldString beside a LineStart counts as absent.
type Hunk struct {
	// OldString is the text to replace. It must occur once, unless one of the three fields below says what to do.
	OldString *string `json:"old_string,omitempty"`
	// NewString is the new text. It must be there; empty deletes.
	NewString *string `json:"new_string,omitempty"`
	// ReplaceAll replaces every occurrence. Occurrences are counted from the start without overlap.
	ReplaceAll bool `json:"replace_all,omitempty"`
	// NearLine picks the occurrence nearest to this line (from 1); two that are equally near are ambiguous.
	NearLine *int `json:"near_line,omitempty"`
	// ExpectedReplacements replaces every occurrence if there are exactly so many.
	ExpectedReplacements *int `json:"expected_replacements,omitempty"`
	// LineStart (from 1) to LineEnd is the range of lines to replace. Without LineEnd the new text goes in as lines of its
	// own after LineStart; 0 is the place before the first line.
	LineStart *int `json:"line_start,omitempty"`
	LineEnd   *int `json:"line_end,omitempty"`
}

// Result says what an edit did, or would do. Lines are counted from 1 in the new text.
type Result struct {
	// Name is the file that was changed, in the root and with links resolved. Apply leaves it empty, as all fields below
	// Notes.
	Name string
	// Replaced counts the places that were changed.
	Replaced int
	// Lines are the changed places in order, at most MaxRanges; Added and Removed count lines.
	Lines          []Range
	Added, Removed int
	// Diff is a unified diff of at most MaxDiff bytes, valid UTF-8. DiffCut says that it doesn't hold everything.
	Diff    string
	DiffCut bool
	// Whole is the diff that leaves nothing out, where Options.Whole asked for it.
	Whole string
	// Encoding and LineEnds describe the new text, as Read does.
	Encoding Encoding
	LineEnds LineEnds
	// Text is the new content, byte for byte.
	Text []byte
	// Notes are sentences for the caller, such as which name was used in place of the one given.
	Notes []string

	// OldHash and Hash are the SHA-256 of the content before and after, in hex; OldHash is empty for a new file.
	OldHash, Hash string
	// Created says that the file is new. Unchanged says that Write had nothing to do.
	Created, Unchanged bool
	// DryRun says that nothing was written.
	DryRun bool
	// CopyOf is set when Name is a working copy: the file that it is a copy of, which wasn't changed. CopyStarted says
	// that the copy was made now.
	CopyOf      string
	CopyStarted bool
	// UndoID names what was kept, when an Undo was given.
	UndoID string
}

// Range is the lines From to To. Where lines were only deleted, both are the line that stands there now.
type Range struct{ From, To int }

// MaxRanges is how many changed places a Result lists.
const MaxRanges = 50

// Apply changes text, the whole content of a file, by hunks one after another: each is matched, and its lines are
// counted, in the text that the hunks before it left. It is all or nothing. The error is a hint with one of these codes,
// which names the hunk when there are several:
//
//   - not_found, ambiguous, count_mismatch: OldString doesn't occur as it must
//   - empty_old, bad_hunk, out_of_range, invalid_text: the hunk makes no sense
//   - no_change: nothing would change
//   - omission_placeholder: NewString stands for text that was left out (see [Options.AllowPlaceholder])
//   - binary, unsupported_encoding, too_large: the content can't be edited as text
//
// What no hunk touches stays as it is, byte for byte: line ends (\n, \r\n, \r; nothing else is one), a byte order mark,
// a missing end of the last line, bytes that aren't UTF-8. OldString matches whatever the line ends in the text; new text
// takes the line ends of the place it goes to. UTF-16 with a byte order mark is edited as UTF-16. Matching is exact
// otherwise: text that differs in Unicode normalisation, quotes or blanks is not changed, but the error names the
// difference.
func Apply(text []byte, hunks []Hunk, o Options) (Result, error) {
	if err := checkHunks(hunks); err != nil {
		return Result{}, err
	}
	if len(text) > MaxBytes {
		return Result{}, tooLarge("the file", int64(len(text)))
	}
	before, mark, enc, err := decode(text)
	if err != nil {
		return Result{}, err
	}
	now := newBody(before, enc)
	var regions []region
	replaced, work := 0, 0
	for i, h := range hunks {
		if work += len(now.b); work+(len(hunks)-i-1)*len(now.b) > mostWork {
			return Result{}, inHunk(hint.New("too_large", "so many changes of so large a file are too much for one call").Then("send them in several calls"), i, len(hunks))
		}
		splices, err := h.splices(now, o)
		if replaced += len(splices); err == nil && replaced > MaxPlaces {
			err = tooMany()
		}
		if err == nil {
			splices = keepApart(now.b, splices)
			var next []byte
			if next, err = splice(now.b, splices); err == nil {
				regions = compose(regions, splices)
				now = newBody(next, enc)
			}
		}
		if err != nil {
			return Result{}, inHunk(err, i, len(hunks))
		}
	}
	if bytes.Equal(before, now.b) {
		return Result{}, hint.New("no_change", "the edit leaves the text as it is")
	}
	r := describe(before, now.b, regions)
	r.Replaced, r.Encoding = replaced, enc
	if r.Text = encode(now.b, mark, enc); len(r.Text) > MaxBytes {
		return Result{}, tooLarge("the file after the edit", int64(len(r.Text)))
	}
	return r, nil
}

func tooLarge(what string, size int64) error {
	return hint.New("too_large", fmt.Sprintf("%s has %d MB, more than the %d MB that can be edited", what, size>>20, MaxBytes>>20))
}

func tooMany() error {
	return hint.New("too_large", fmt.Sprintf("more than %d places would change", MaxPlaces)).Then("give more text around the ones that are meant")
}

func inHunk(err error, i, of int) error {
	if of == 1 {
		return err
	}
	h := *hint.Of(err)
	h.What = fmt.Sprintf("hunk %d of %d: %s", i+1, of, h.What)
	if h.Next == "" {
		h.Next = "nothing was changed"
	}
	return &h
}

func checkHunks(hunks []Hunk) error {
	switch {
	case len(hunks) == 0:
		return hint.New("bad_hunk", "there is nothing to do").Then("give old_string and new_string, or line_start and new_string")
	case len(hunks) > MaxHunks:
		return hint.New("bad_hunk", fmt.Sprintf("%d hunks are more than %d", len(hunks), MaxHunks)).Then("send them in several calls")
	}
	for i, h := range hunks {
		if err := h.check(); err != nil {
			return inHunk(err, i, len(hunks))
		}
	}
	return nil
}

func (h Hunk) byLine() bool { return h.LineStart != nil }

// check finds what is wrong with a hunk whatever the text.
func (h Hunk) check() error {
	bad := func(what, next string) error { return hint.New("bad_hunk", what).Then(next) }
	hasOld := h.OldString != nil && *h.OldString != ""
	switch {
	case hasOld && (h.byLine() || h.LineEnd != nil):
		return bad("old_string and line_start were both given", "use one of them: old_string replaces text, line_start works on whole lines")
	case !h.byLine() && h.LineEnd != nil:
		return bad("line_end was given without line_start", "give both")
	case !h.byLine() && h.OldString == nil:
		return bad("neither old_string nor line_start was given", "give one of them")
	case h.NewString == nil:
		return bad("new_string is missing", `give it; "" deletes`)
	case !h.byLine() && !hasOld:
		return hint.New("empty_old", "old_string is empty, and the file exists").
			Then("copy the text to replace from the file, use line_start to insert lines, or write_file with overwrite=true to replace the whole file")
	case h.byLine() && (h.ReplaceAll || h.NearLine != nil || h.ExpectedReplacements != nil):
		return bad("replace_all, near_line and expected_replacements belong to old_string", "leave them out beside line_start")
	case h.NearLine != nil && (h.ReplaceAll || h.ExpectedReplacements != nil):
		return bad("near_line picks one place, replace_all and expected_replacements mean all", "use one of them")
	case h.NearLine != nil && *h.NearLine < 1:
		return outOfRange("near_line %d is not a line: lines are counted from 1", *h.NearLine)
	case h.ExpectedReplacements != nil && *h.ExpectedReplacements < 1:
		return outOfRange("expected_replacements %d is not a count: it must be 1 or more", *h.ExpectedReplacements)
	case h.byLine() && *h.LineStart < 0:
		return outOfRange("line_start %d is not a line: lines are counted from 1", *h.LineStart)
	case h.LineEnd != nil && *h.LineStart == 0:
		return outOfRange("line_start 0 stands for the place before the first line, where there is nothing to replace")
	case h.LineEnd != nil && *h.LineEnd < *h.LineStart:
		return outOfRange("line_end %d comes before line_start %d", *h.LineEnd, *h.LineStart)
	case h.byLine() && h.LineEnd == nil && *h.NewString == "":
		return bad("there is no text to insert", `give new_string ("\n" inserts an empty line), or line_end to delete lines`)
	}
	if hasOld {
		if err := checkText("old_string", *h.OldString); err != nil {
			return err
		}
		if *h.OldString == *h.NewString {
			return hint.New("no_change", "old_string and new_string are the same")
		}
	}
	return checkText("new_string", *h.NewString)
}

func outOfRange(format string, args ...any) error {
	return hint.New("out_of_range", fmt.Sprintf(format, args...))
}

// checkText refuses text that no file could hold as it was meant.
func checkText(what, s string) error {
	switch {
	case !utf8.ValidString(s):
		return hint.New("invalid_text", what+" is not valid UTF-8")
	case strings.IndexByte(s, 0) >= 0:
		return hint.New("invalid_text", what+" holds a NUL character").Because("text files don't")
	}
	return nil
}

// splices gives what h changes in t, in order and without overlap.
func (h Hunk) splices(t body, o Options) ([]replacement, error) {
	var (
		list []replacement
		err  error
	)
	if h.byLine() {
		list, err = h.lineSplices(t, o)
	} else {
		list, err = h.stringSplices(t, o)
	}
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(list, func(s replacement) bool { return !bytes.Equal(t.b[s.start:s.end], s.text) }) {
		return nil, hint.New("no_change", "the text already is what new_string says")
	}
	return list, nil
}

// keepApart sees to it that no \r comes to stand before a \n that ends another line: the two would be one line end. The
// \n gets a \r of its own. Replacements that touch become one.
func keepApart(b []byte, list []replacement) []replacement {
	out := list[:0]
	for _, s := range list {
		if n := len(out) - 1; n >= 0 && out[n].end == s.start {
			out[n].text, out[n].end = join(out[n].text, s.text), s.end
		} else {
			out = append(out, s)
		}
	}
	for i := range out {
		s := &out[i]
		last := s.start > 0 && b[s.start-1] == '\r'
		next := s.end < len(b) && b[s.end] == '\n'
		if len(s.text) == 0 {
			if last && next {
				s.text = []byte{'\r'}
			}
			continue
		}
		if last && s.text[0] == '\n' {
			s.text = append([]byte{'\r'}, s.text...)
		}
		if next && bytes.HasSuffix(s.text, []byte{'\r'}) {
			s.text = append(s.text, '\n')
		}
	}
	return out
}

// join puts a text after another.
func join(a, b []byte) []byte {
	if len(b) > 0 && b[0] == '\n' && bytes.HasSuffix(a, []byte{'\r'}) {
		a = append(a, '\r')
	}
	return append(a, b...)
}
