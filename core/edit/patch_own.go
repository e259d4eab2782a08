package edit

import (
	"fmt"
	"regexp"
	"strings"

	"handrail/core/hint"
)

const (
	beginPatch  = "*** Begin Patch"
	endPatch    = "*** End Patch"
	endOfFile   = "*** End of File"
	environment = "*** Environment ID:"
	moveTo      = "*** Move to:"
)

var headers = map[string]Action{"*** Add File:": AddFile, "*** Delete File:": DeleteFile, "*** Update File:": UpdateFile}

const validHeaders = "valid hunk headers: '*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}'"

// ownReader reads the format of apply_patch line by line.
type ownReader struct {
	patch Patch
	n     int // the line, from 1
	file  *FilePatch
	start int    // the line where file began
	chunk *chunk // of file, that is being read
	ended bool   // "*** End of File" was read
	named bool   // an environment was
}

func parseOwn(text string) (Patch, error) {
	lines := strings.Split(text, "\n")
	first, last := strings.TrimSpace(lines[0]), strings.TrimSpace(lines[len(lines)-1])
	switch {
	case first != beginPatch:
		h := badPatch("invalid patch: the first line of the patch must be '" + beginPatch + "'")
		if strings.HasPrefix(first, "```") {
			return Patch{}, h.Then("leave out the code fence")
		}
		return Patch{}, h.Then("begin with it, or send the output of git diff")
	case last != endPatch || len(lines) == 1:
		h := badPatch("invalid patch: the last line of the patch must be '" + endPatch + "'")
		return Patch{}, h.Because("what comes after it, or a patch that was cut off, could mean something else").Then("send the whole patch again")
	}
	r := ownReader{n: 1}
	for _, line := range lines[1 : len(lines)-1] {
		r.n++
		if err := r.read(strings.TrimSuffix(line, "\r")); err != nil {
			return Patch{}, err
		}
	}
	r.n++
	if err := r.endFile(); err != nil {
		return Patch{}, err
	}
	return r.patch, nil
}

func (r *ownReader) read(line string) error {
	if r.file != nil {
		switch r.file.Action {
		case AddFile:
			if added, ok := strings.CutPrefix(line, "+"); ok {
				if r.ended { // an empty line stood between
					return badLine(r.n, "a line of a new file must begin with +, an empty one too")
				}
				if err := oneLine(r.n, added); err != nil {
					return err
				}
				r.file.content = append(append(r.file.content, added...), '\n')
				return nil
			}
		case UpdateFile:
			return r.readChange(line)
		}
	}
	return r.readHeader(line)
}

// readHeader reads what stands between files.
func (r *ownReader) readHeader(line string) error {
	line = strings.TrimSpace(line)
	if line == "" {
		r.ended = true
		return nil
	}
	if line == endPatch {
		return badPatch(fmt.Sprintf("invalid patch: line %d is '%s', and more comes after it", r.n, endPatch)).Then("send one patch at a time")
	}
	if name, ok := strings.CutPrefix(line, environment); ok && r.file == nil && len(r.patch.Files) == 0 && !r.named {
		if r.patch.Environment = strings.TrimSpace(name); r.patch.Environment == "" {
			return badPatch("the environment id is empty").Then("leave the line out")
		}
		r.named = true
		return nil
	}
	for prefix, action := range headers {
		if name, ok := strings.CutPrefix(line, prefix); ok && strings.TrimSpace(name) != "" {
			if err := r.endFile(); err != nil {
				return err
			}
			r.file, r.start = &FilePatch{Action: action, Path: strings.TrimSpace(name)}, r.n
			r.ended = false
			return nil
		}
	}
	return badLine(r.n, quoted(line)+" is not a valid hunk header").Then(validHeaders)
}

// unifiedHeader is the head of a hunk in a unified diff, which says nothing here.
var unifiedHeader = regexp.MustCompile(`^-\d+(?:,\d+)? \+\d+(?:,\d+)? @@`)

func (r *ownReader) readChange(line string) error {
	right := strings.TrimRight(line, " \t\r\v\f")
	if strings.HasPrefix(right, "*** ") {
		if name, ok := strings.CutPrefix(right, moveTo); ok {
			if r.file.To != "" || r.chunk != nil {
				return badLine(r.n, quoted(right)+" must come once, right after the header")
			}
			if r.file.To = strings.TrimSpace(name); r.file.To == "" {
				return badLine(r.n, "the new path is empty")
			}
			return nil
		}
		if right == endOfFile {
			if r.chunk == nil || len(r.chunk.lines) == 0 {
				return badLine(r.n, "update hunk does not contain any lines")
			}
			r.chunk.atEnd, r.ended = true, true
			return nil
		}
		for prefix := range headers {
			if strings.HasPrefix(right, prefix) {
				if r.chunk != nil && len(r.chunk.lines) == 0 {
					return badLine(r.n, "unexpected line in update hunk: "+quoted(right)).Then("give the hunk lines with a blank, - or + in front")
				}
				return r.readHeader(right)
			}
		}
		if right == endPatch {
			return r.readHeader(right)
		}
	}
	if right == "@@" || strings.HasPrefix(line, "@@ ") {
		if r.chunk == nil || len(r.chunk.lines) > 0 {
			r.newChunk()
		}
		r.ended = false
		if context, ok := strings.CutPrefix(line, "@@ "); ok && right != "@@" && !unifiedHeader.MatchString(context) {
			r.chunk.contexts = append(r.chunk.contexts, context)
		}
		return nil
	}
	if r.ended && right == "" {
		return nil
	}
	if r.ended || line != "" && !strings.ContainsRune(" -+", rune(line[0])) {
		if r.chunk != nil && len(r.chunk.lines) > 0 {
			return badLine(r.n, "expected update hunk to start with a @@ context marker, got: "+quoted(line)).
				Then("every line of a hunk begins with a blank, - or +")
		}
		return badLine(r.n, "unexpected line found in update hunk: "+quoted(line)).
			Then("every line of a hunk begins with a blank (it stays), - (it goes) or + (it comes)")
	}
	if r.chunk == nil {
		r.newChunk()
	}
	l := patchLine{op: ' '}
	if line != "" {
		l.op, l.text = line[0], line[1:]
	}
	if l.op == '+' {
		if err := oneLine(r.n, l.text); err != nil {
			return err
		}
	}
	r.chunk.lines = append(r.chunk.lines, l)
	return nil
}

// oneLine refuses a line that would become two.
func oneLine(n int, line string) error {
	if strings.IndexByte(line, '\r') >= 0 {
		return hint.New("invalid_text", fmt.Sprintf("line %d of the patch holds a carriage return", n)).
			Because("it would end the line in the file").Then("leave it out: new lines take the line ends of the file")
	}
	return nil
}

func (r *ownReader) newChunk() {
	r.file.chunks = append(r.file.chunks, chunk{line: r.n})
	r.chunk = &r.file.chunks[len(r.file.chunks)-1]
}

// endFile ends what is read of a file.
func (r *ownReader) endFile() error {
	f := r.file
	if f == nil {
		return nil
	}
	if f.Action == UpdateFile {
		if r.chunk != nil && len(r.chunk.lines) == 0 {
			return badLine(r.n, "update hunk does not contain any lines")
		}
		if len(f.chunks) == 0 {
			return badLine(r.start, "update file hunk for path "+quoted(f.Path)+" is empty").Then("give what changes, with a line of context")
		}
	}
	if f.To == f.Path {
		f.To = ""
	}
	r.patch.Files = append(r.patch.Files, *f)
	r.file, r.chunk, r.ended = nil, nil, false
	return nil
}

// quoted shows a piece of a patch.
func quoted(s string) string {
	q := shown(s)
	if r := []rune(q); len(r) > 120 {
		q = string(r[:120]) + "…"
	}
	return q
}
