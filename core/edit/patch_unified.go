package edit

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

var (
	unifiedMark = regexp.MustCompile(`(?m)^(?:diff --git |diff --cc |diff --combined |--- .+\n\+\+\+ )`)
	// gitPrefixes are what git diff puts before the old and the new path: the usual ones, and with diff.mnemonicPrefix.
	gitPrefixes = regexp.MustCompile(`^"?(?:a/.* "?b/|i/.* "?w/|c/.* "?[iw]/|o/.* "?w/|w/.* "?[ico]/|i/.* "?c/|1/.* "?2/)`)
)

func isUnified(text string) bool {
	return unifiedMark.MatchString(strings.ReplaceAll(text, "\r\n", "\n"))
}

// parseUnified reads what git diff, git show, git format-patch for one commit, and diff -u write.
func parseUnified(text string) (Patch, error) {
	crlf := false // the patch has \n, and lines of files \r\n
	var lines []string
	git := false
	for n, line := range strings.Split(text, "\n") {
		bare := strings.TrimSuffix(line, "\r")
		switch {
		case strings.HasPrefix(line, "diff --cc "), strings.HasPrefix(line, "diff --combined "):
			return Patch{}, badPatch("a diff of a merge can't be applied").Then("send git diff against one commit")
		case strings.HasPrefix(line, "diff --git "):
			git, crlf = true, bare == line
			if !gitPrefixes.MatchString(strings.TrimPrefix(bare, "diff --git ")) {
				return Patch{}, badPatch(fmt.Sprintf("line %d of the patch names files without a/ and b/ before them", n+1)).
					Because("then it isn't sure which part of the path is theirs").Then("make the diff without --no-prefix")
			}
		case strings.HasPrefix(line, "--- "):
			crlf = crlf || bare == line
		}
		lines = append(lines, bare)
	}
	joined := strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
	parsed, _, err := gitdiff.Parse(strings.NewReader(joined))
	if err != nil {
		return Patch{}, badPatch("the diff can't be read").Because(strings.TrimPrefix(err.Error(), "gitdiff: ")).
			Then("send the output of git diff as it is, or use *** Begin Patch, which needs no line numbers")
	}
	var p Patch
	for _, f := range parsed {
		fp, err := unifiedFile(f, joined, git)
		if err != nil {
			return Patch{}, err
		}
		if fp.Action == AddFile && crlf && addsCRLF(text, len(f.TextFragments)) {
			fp.content = []byte(strings.ReplaceAll(string(fp.content), "\n", "\r\n"))
		}
		p.Files = append(p.Files, fp)
	}
	return p, nil
}

// addsCRLF reports whether all lines that come in a diff end with \r.
func addsCRLF(text string, fragments int) bool {
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "+") && !strings.HasPrefix(line, "+++ ") && !strings.HasSuffix(line, "\r") {
			return false
		}
	}
	return fragments > 0
}

func unifiedFile(f *gitdiff.File, text string, git bool) (FilePatch, error) {
	const (
		typeBits, plain = 0o170000, 0o100000
		executable      = 0o111
	)
	fp := FilePatch{Action: UpdateFile, Path: f.OldName, git: true}
	switch {
	case f.IsNew:
		fp.Action, fp.Path = AddFile, f.NewName
	case f.IsDelete:
		fp.Action = DeleteFile
	case f.IsCopy:
		return fp, badPatch("the patch copies " + shown(f.OldName) + " to " + shown(f.NewName)).Then("make the diff without -C: then the copy is a new file")
	case f.IsRename:
		fp.To = f.NewName
	case f.OldName != f.NewName:
		return fp, badPatch("the patch names " + shown(f.OldName) + " and " + shown(f.NewName) + " for one file").Then("a rename needs the lines 'rename from' and 'rename to'")
	}
	if !git {
		fp.Path = withoutPrefix(fp.Path, text)
	}
	if fp.Path == "" || fp.Path == os.DevNull {
		return fp, badPatch("the patch names no file")
	}
	if f.IsBinary || f.BinaryFragment != nil {
		return fp, badPatch("the patch changes " + shown(fp.Path) + ", which is binary").Then("leave it out; only text can be patched")
	}
	for _, m := range []os.FileMode{f.OldMode, f.NewMode} {
		if m&typeBits != 0 && m&typeBits != plain {
			return fp, badPatch("the patch makes or changes " + shown(fp.Path) + ", which is a link or a submodule").Then("leave it out")
		}
	}
	if f.NewMode != 0 && f.NewMode != f.OldMode && fp.Action != DeleteFile {
		x := f.NewMode&executable != 0
		if fp.Action != AddFile || x {
			fp.Executable = &x
		}
	}
	for _, fragment := range f.TextFragments {
		if fp.Action == DeleteFile {
			break // all of the file goes, and is kept for undo
		}
		c, err := unifiedChunk(fragment)
		if err != nil {
			return fp, err
		}
		if fp.Action == UpdateFile {
			fp.chunks = append(fp.chunks, c)
			continue
		}
		for _, l := range c.fresh() {
			fp.content = append(append(fp.content, l...), '\n')
		}
		if c.ended != nil && !*c.ended {
			fp.content = fp.content[:len(fp.content)-1]
		}
	}
	if fp.Action == UpdateFile && len(fp.chunks) == 0 && fp.To == "" && fp.Executable == nil {
		return fp, badPatch("the patch changes nothing in " + shown(fp.Path))
	}
	return fp, nil
}

// withoutPrefix takes the a/ or b/ of git away from a path in a diff that has no "diff --git" lines: where the line for the
// other side has its counterpart.
func withoutPrefix(name, text string) string {
	has := func(line string) bool { return strings.Contains("\n"+text, "\n"+line) }
	if rest, ok := strings.CutPrefix(name, "b/"); ok && (has("--- a/"+rest) || has("--- /dev/null")) {
		return rest
	}
	if rest, ok := strings.CutPrefix(name, "a/"); ok && (has("+++ b/"+rest) || has("+++ /dev/null")) {
		return rest
	}
	return name
}

func unifiedChunk(f *gitdiff.TextFragment) (chunk, error) {
	c := chunk{at: int(min(f.OldPosition, 1<<30))}
	oldEnds, newEnds := true, true
	for _, l := range f.Lines {
		text, ended := strings.CutSuffix(l.Line, "\n")
		op := map[gitdiff.LineOp]byte{gitdiff.OpContext: ' ', gitdiff.OpDelete: '-', gitdiff.OpAdd: '+'}[l.Op]
		if op == '+' {
			if strings.IndexByte(text, '\r') >= 0 {
				return c, oneLine(0, text)
			}
		}
		if op != '-' {
			newEnds = ended
		}
		if op != '+' {
			oldEnds = ended
		}
		c.lines = append(c.lines, patchLine{op, text})
	}
	if !oldEnds || !newEnds { // a mark that the last line has no end
		c.atEnd, c.ended = true, &newEnds
	}
	if f.OldLines == 0 { // only lines that come, without context: at is the line before
		c.at++
	}
	return c, nil
}
