package edit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"handrail/core/hint"
)

// PatchResult says what a patch did, or would do.
type PatchResult struct {
	// Files are in the order of the patch.
	Files []PatchedFile
	// Digest names exactly this: the files, what they held and what they hold then. See [Options.Digest].
	Digest string
	// UndoID names what was kept of all files; undoing it undoes the patch.
	UndoID string
	// DryRun says that nothing was written.
	DryRun bool
}

// PatchedFile says what a patch did to one file.
type PatchedFile struct {
	Action Action
	// Path is the file and From the old path of one that was renamed: absolute, with links resolved. Result.Name is Path in its root.
	Path, From string
	// Whole is the diff that leaves nothing out but the end of a long file that goes. Text and Diff of one that goes are empty.
	Whole string
	// Executable says that the file becomes executable, or no longer is; nil where that stays.
	Executable *bool
	// Link says that what was removed was a link, not what it led to.
	Link bool
	Result
}

// ApplyPatch changes the files of a patch, all or none. at gives where each of its paths leads. Every hunk of every file is
// matched before the first file is written, and if a file can't be written, all are put back.
//
// A hunk goes where its old lines stand: after the hunk before it, and after the line that @@ names. They may differ in
// blanks at the end of lines, or else at both ends, or else in typographic punctuation too, but must stand in one place alone. Lines that
// stay are left as they are in the file, byte for byte. New lines take the file's first line end; a missing end of the last
// line stays missing, unless a unified diff says otherwise. A file to be made, or the new name of one, must not exist. A
// link is followed, but not where a file is deleted: then the link goes.
//
// Errors are those of [Edit], and bad_patch. Whatever the error, nothing was changed, except for rollback_failed, which says
// what was.
func ApplyPatch(p Patch, at func(path string) (At, error), o Options) (PatchResult, error) {
	switch {
	case p.Environment != "":
		return PatchResult{}, badPatch("the patch is for another computer, " + shown(p.Environment)).Then("none is connected: leave out the line *** Environment ID")
	case len(p.Files) == 0:
		return PatchResult{}, badPatch("no files were modified").Because("the patch is empty")
	}
	s := staging{group: group{options: o}}
	defer s.close()
	for _, f := range p.Files {
		if err := s.open(f, at); err != nil {
			return PatchResult{}, err
		}
	}
	links := map[*part]bool{}
	for _, f := range s.files {
		links[f.from] = f.Action == DeleteFile
	}
	if err := s.lock(func(p *part) bool { return links[p] }); err != nil {
		return PatchResult{}, err
	}
	for _, f := range s.files {
		if err := f.stage(&s, o); err != nil {
			return PatchResult{}, err
		}
	}
	r := PatchResult{Digest: s.digest(), DryRun: o.DryRun}
	if o.Digest != "" && o.Digest != r.Digest {
		return PatchResult{}, hint.New("stale", "the patch would do something else now").Because("a file that it touches was changed in between").
			Then("nothing was written; make the call again")
	}
	if !o.DryRun {
		if err := s.commit(); err != nil {
			return PatchResult{}, err
		}
		r.UndoID = s.id
	}
	for _, f := range s.files {
		r.Files = append(r.Files, f.result(o))
	}
	return r, nil
}

// staging is a patch on its way.
type staging struct {
	group
	files []*staged
	size  int // of all content, old and new
}

// staged is a file of a patch: from is what it reads, to what it writes. They differ where it is renamed.
type staged struct {
	FilePatch
	from, to *part // one of them is nil where a file is made or removed
	whole    string
}

func (s *staging) open(f FilePatch, at func(string) (At, error)) (err error) {
	if strings.HasSuffix(f.Path, "/") || strings.HasSuffix(f.To, "/") {
		return hint.New("bad_path", "the path "+shown(f.Path)+" ends with /").Then("give the path of a file")
	}
	st := &staged{FilePatch: f}
	s.files = append(s.files, st)
	where, err := at(f.Path)
	if err != nil {
		return err
	}
	if f.Action == AddFile {
		st.to, err = s.find(where, f.Path, true, false)
		return err
	}
	if st.from, err = s.find(where, f.Path, false, f.Action == DeleteFile); err != nil {
		return err
	}
	if f.Action == UpdateFile {
		st.to = st.from
	}
	if f.To == "" {
		return nil
	}
	if where, err = at(f.To); err != nil {
		return err
	}
	if st.to, err = s.find(where, f.To, true, false); err != nil {
		return err
	}
	if st.to.key != st.from.key {
		return nil
	}
	if st.to.at.Name != st.from.at.Name {
		return badPatch("the new name of " + shown(f.Path) + " differs in case or in the form of its characters only").Then("rename it by way of another name, in two patches")
	}
	s.parts = s.parts[:len(s.parts)-1] // the name that it has
	st.to.place.close()
	st.to, st.To = st.from, ""
	return nil
}

// stage plans what becomes of a file.
func (f *staged) stage(s *staging, o Options) error {
	for _, p := range []*part{f.from, f.to} {
		if p != nil && p.err != nil {
			return p.err
		}
	}
	if f.to != nil && f.to != f.from && f.to.target.exists {
		h := hint.New("exists", shown(f.to.label)+" exists")
		if f.Action == AddFile {
			return h.Then("use *** Update File to change it, or write_file with overwrite=true to replace all of it")
		}
		return h.Then("a patch never replaces a file by another: choose another name, or move that file away first")
	}
	err := f.load()
	if err == nil {
		err = f.plan(o)
	}
	if err != nil {
		return inFile(f.Path, err)
	}
	for _, p := range []*part{f.from, f.to} {
		if p != nil {
			s.size += len(p.target.content) + len(p.r.Text)
		}
	}
	if s.size > MaxPatched {
		return hint.New("too_large", fmt.Sprintf("the patch touches more than %d MB", MaxPatched>>20)).Then("send it in parts")
	}
	return nil
}

func (f *staged) load() error {
	if f.from == nil {
		return nil
	}
	t := f.from.target
	switch {
	case t.link != "":
		return nil
	case t.file == nil:
		return stale(t.name, "it is gone")
	case f.Action == DeleteFile:
		if err := t.removable(); err != nil {
			return err
		}
		return t.read()
	}
	return t.load()
}

func (f *staged) plan(o Options) error {
	switch f.Action {
	case AddFile:
		return f.planNew(o)
	case DeleteFile:
		f.planRemoval()
		return nil
	}
	t := f.from.target
	r, after, regions := Result{Text: t.content, Unchanged: true}, []byte(nil), []region(nil)
	if len(f.chunks) > 0 {
		var err error
		if r, after, regions, err = f.patched(t.content, o); err != nil {
			return err
		}
	}
	like := t.like()
	if f.Executable != nil {
		if like.perm = executable(t.was.perm, *f.Executable); like.perm == t.was.perm {
			f.Executable = nil
		}
	}
	if len(regions) > 0 {
		before, _, _, _ := decode(t.content)
		f.whole = wholeDiff(before, after, regions)
	}
	renamed := f.to != f.from
	if r.Unchanged && f.Executable == nil && !renamed {
		f.to.r = r
		f.to.plan(leave)
		f.to.r.Hash = f.to.r.OldHash
		return nil
	}
	r.Unchanged = false
	f.to.r, f.to.like = r, like
	if f.Executable != nil {
		f.to.member.newMode = like.perm
	}
	if renamed {
		f.to.member.from = f.from.at.path()
		f.from.plan(putNone)
	}
	f.to.plan(putText)
	return nil
}

func (f *staged) planNew(o Options) error {
	if err := o.checkOmission("", lf(string(f.content))); err != nil {
		return err
	}
	r := describe(nil, f.content, replaced(nil, f.content))
	r.Text, r.Created, r.Encoding, r.Replaced = f.content, true, UTF8, 1
	f.whole = wholeDiff(nil, f.content, replaced(nil, f.content))
	if f.Executable != nil {
		f.to.like.executable = *f.Executable
	}
	f.to.r = r
	f.to.plan(putText)
	return nil
}

// mostGone is how many lines are shown of a file that goes.
const mostGone = 30

func (f *staged) planRemoval() {
	p := f.from
	t := p.target
	p.plan(putNone)
	if t.link != "" {
		f.whole = "(a link to " + shown(t.link) + ")\n"
		return
	}
	before, _, _, err := decode(t.content)
	if err != nil {
		f.whole = fmt.Sprintf("(%s that are not text)\n", plural(len(t.content), "byte"))
		return
	}
	b := newBody(before, "")
	_, end, _ := b.span(1, mostGone)
	p.r.Removed = b.height(0, len(before))
	d := diffText{whole: true}
	d.side('-', b, 0, end, 0)
	if left := p.r.Removed - b.height(0, end); left > 0 {
		d.line(fmt.Sprintf("(%s more)", plural(left, "line")))
	}
	f.whole = d.String()
	if t.was.links > 1 {
		p.r.Notes = append(p.r.Notes, shown(t.name)+" has other names (hard links), which stay")
	}
}

func executable(perm uint32, x bool) uint32 {
	if x {
		return perm | perm&0o444>>2
	}
	return perm &^ 0o111
}

// digest names what is planned.
func (s *staging) digest() string {
	sum := sha256.New()
	out := json.NewEncoder(sum)
	for _, p := range s.parts {
		var in identity // of the folder; one that is missing may be made meanwhile
		if p.target.exists {
			in = p.target.parent
		}
		// No error is possible: all of it can be written as JSON.
		out.Encode([]any{p.at.path(), in.device, in.inode, p.do, p.r.OldHash, p.r.Hash, p.target.was.perm, p.like.perm, p.like.executable, p.link})
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// result tells what was done.
func (f *staged) result(o Options) PatchedFile {
	p := f.to
	if p == nil {
		p = f.from
	}
	r := PatchedFile{Action: f.Action, Path: p.at.path(), Whole: f.whole, Executable: f.Executable, Link: p.target.link != "", Result: p.target.complete(p.r)}
	if f.to != nil && f.from != nil && f.to != f.from {
		r.From = f.from.at.path()
		r.OldHash = f.from.r.OldHash
		r.Notes = append(r.Notes, f.from.r.Notes...)
		if bytes.Equal(r.Text, f.from.target.content) {
			r.Encoding, r.LineEnds = "", ""
		}
	}
	r.Path, r.DryRun = path.Clean(r.Path), o.DryRun
	return r
}
