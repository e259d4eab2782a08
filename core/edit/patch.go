package edit

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"handrail/core/hint"
)

// Limits of a patch. MaxPatched bounds the old and the new content of its files together.
const (
	MaxPatch      = 10 << 20
	MaxPatchFiles = 200
	MaxPatched    = 4 * MaxBytes
)

// Patch says how several files become others. The zero value changes nothing. It comes from [ParsePatch], and
// [ApplyPatch] puts it into effect.
type Patch struct {
	Files []FilePatch
	// Environment is what a line "*** Environment ID:" names: another computer than this one. "" where there is none.
	Environment string
}

// Action is what a patch does to a file.
type Action string

const (
	AddFile    Action = "add"    // make a file
	UpdateFile Action = "update" // change a file, and rename it where To is set
	DeleteFile Action = "delete" // remove a file
)

// FilePatch is what a patch does to one file.
type FilePatch struct {
	Action Action
	// Path and To are as they are written; To is the new name of a file that is renamed, else "".
	Path, To string
	// Executable makes a file executable, or not; nil leaves that as it is.
	Executable *bool

	content []byte  // of AddFile
	chunks  []chunk // of UpdateFile
	// git says that it comes from a unified diff, whose hunks tell where they go.
	git bool
}

// Paths are the paths that it touches.
func (f FilePatch) Paths() []string {
	if f.To != "" {
		return []string{f.Path, f.To}
	}
	return []string{f.Path}
}

// chunk is one place of a file to change: lines that stay, go or come.
type chunk struct {
	line     int      // in the patch, from 1
	contexts []string // lines to find first, one after another
	lines    []patchLine
	atEnd    bool // the lines are the last ones of the file
	at       int  // the line where a unified diff expects them, from 1
	// ended says whether the last line then has an end; nil leaves that as it is.
	ended *bool
}

// patchLine is a line of a chunk: ' ' stays, '-' goes, '+' comes.
type patchLine struct {
	op   byte
	text string
}

// old gives the lines that the file has, fresh those that come.
func (c chunk) old() []string   { return c.pick(' ', '-') }
func (c chunk) fresh() []string { return c.pick('+', '+') }

func (c chunk) pick(a, b byte) []string {
	var list []string
	for _, l := range c.lines {
		if l.op == a || l.op == b {
			list = append(list, l.text)
		}
	}
	return list
}

// ParsePatch reads a patch in one of two formats. The first is that of apply_patch:
//
//	*** Begin Patch
//	*** Add File: path        followed by lines with + in front
//	*** Delete File: path
//	*** Update File: path     followed by hunks, and before them, to rename, a line
//	*** Move to: path
//	*** End Patch
//
// A hunk begins with "@@", or "@@ " and a line that stands somewhere before; then come lines with a blank (stays), - (goes) or +
// (comes) in front, and "*** End of File" if they are the last of the file. The other format is that of git diff and diff -u.
//
// Blanks around the whole and around headers, line ends \r\n, a here-document around it (<<'EOF' … EOF), a first hunk
// without @@ and empty lines for empty context lines are let pass. The error is a hint with the code bad_patch; lines are
// counted from "*** Begin Patch".
func ParsePatch(text string) (Patch, error) {
	switch {
	case len(text) > MaxPatch:
		return Patch{}, hint.New("too_large", fmt.Sprintf("the patch has more than %d MB", MaxPatch>>20)).Then("send it in parts")
	case !utf8.ValidString(text):
		return Patch{}, hint.New("invalid_text", "the patch is not valid UTF-8")
	case strings.IndexByte(text, 0) >= 0:
		return Patch{}, hint.New("invalid_text", "the patch holds a NUL character").Because("text files don't")
	}
	text = strings.TrimPrefix(text, "\uFEFF")
	trimmed := unwrap(strings.TrimSpace(text))
	if trimmed == "" {
		return Patch{}, badPatch("the patch is empty").Then("begin it with *** Begin Patch")
	}
	var p Patch
	var err error
	if first, _, _ := strings.Cut(trimmed, "\n"); strings.TrimSpace(first) != beginPatch && isUnified(trimmed) {
		p, err = parseUnified(strings.TrimLeft(text, "\r\n"))
	} else {
		p, err = parseOwn(trimmed)
	}
	if err != nil {
		return Patch{}, err
	}
	hunks := 0
	for _, f := range p.Files {
		hunks += len(f.chunks)
	}
	switch {
	case len(p.Files) > MaxPatchFiles:
		return Patch{}, badPatch(fmt.Sprintf("the patch touches %d files, more than %d", len(p.Files), MaxPatchFiles)).Then("send it in parts")
	case hunks > MaxHunks:
		return Patch{}, badPatch(fmt.Sprintf("the patch has %d hunks, more than %d", hunks, MaxHunks)).Then("send it in parts")
	}
	return p, nil
}

func badPatch(what string) *hint.Hint { return hint.New("bad_patch", what) }

func badLine(n int, what string) *hint.Hint {
	return badPatch(fmt.Sprintf("invalid patch hunk on line %d: %s", n, what))
}

// unwrap takes a here-document's first and last line away.
func unwrap(text string) string {
	lines := strings.Split(text, "\n")
	switch strings.TrimSuffix(lines[0], "\r") {
	case "<<EOF", "<<'EOF'", `<<"EOF"`:
		if n := len(lines); n >= 4 && strings.HasSuffix(lines[n-1], "EOF") {
			return strings.TrimSpace(strings.Join(lines[1:n-1], "\n"))
		}
	}
	return text
}
