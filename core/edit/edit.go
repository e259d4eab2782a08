// Package edit changes text files: at a point (a string, a range of lines, a batch of both), or as a whole.
//
// It is handed an opened folder, an [os.Root], and a name in it; who may change what was decided before. A name never
// leads out of the root, whatever links or swapped folders stand on the way. To decide on the file that a name really
// leads to, call [Resolve], decide, and pass its result with [Options.NoLinks]:
//
//	found, err := edit.Resolve(root, name)
//	// … may the caller change found.Name? …
//	result, err := edit.Edit(root, found.Name, hunks, edit.Options{NoLinks: true, Undo: undo})
//
// A change is all or nothing. The new content is written to a temporary file in the same folder, gets the old one's
// owner, mode, access list and extended attributes, reaches the disk, and takes the old file's place in one step, but
// only if the old file is still the one that was read: a program that writes to it in between is never overwritten (the
// error is stale). A process that is killed, a full disk or a folder turned read-only leave the old file as it was.
// Edits of one file in this process wait for each other. What was replaced can be kept in an [Undo].
//
// A [Patch] changes several files, all or none of them.
//
// Every error is a [hint.Hint]. Codes besides those of [Apply]: not_found, bad_path, outside, is_link_outside, is_link,
// link_loop (the name); exists, hard_link, not_regular, not_a_folder, read_only, denied, no_space, stale, no_undo,
// rollback_failed (the file); unsupported, failed (the system).
//
// Not kept: the file's inode number, its creation date on Linux, set-id bits (any write takes those away), inode flags
// set with chattr.
package edit

import (
	"bytes"
	"os"
	"strings"

	"handrail/core/hint"
)

// Options say how to edit or write. The zero value replaces nothing that Write would find, and keeps nothing for undo.
type Options struct {
	// BaseHash is the SHA-256, in hex, of the content that the caller read. If the file has another, nothing is done.
	BaseHash string
	// DryRun does everything but write. With Whole, Result.Whole then holds all that would change.
	DryRun, Whole bool
	// Overwrite lets Write replace a file that exists.
	Overwrite bool
	// AllowPlaceholder lets new text have lines that look as if text was left out ("... existing code ...").
	AllowPlaceholder bool
	// NoLinks refuses a name with a link in it: for a name that Resolve gave, on which something was decided.
	NoLinks bool
	// Undo keeps what is replaced. If that fails, nothing is written.
	Undo *Undo
	// By is written down with what is kept.
	By By

	// Digest is that of a dry run of [ApplyPatch]: if the patch would do anything else now, nothing is done (stale).
	Digest string

	undoOf             string
	ofLink             bool // a link is what is meant, not what it leads to
	testOnlyStep       func(step string) error
	testOnlyNoExchange bool
}

// Edit changes a file that exists by hunks, as [Apply] does.
func Edit(root *os.Root, name string, hunks []Hunk, o Options) (Result, error) {
	if err := checkHunks(hunks); err != nil {
		return Result{}, err
	}
	t, err := acquire(root, name, o, false)
	if err != nil {
		return Result{}, err
	}
	defer t.close()
	if err := t.load(); err != nil {
		return Result{}, err
	}
	r, err := Apply(t.content, hunks, o)
	if err != nil {
		return Result{}, err
	}
	return t.replace(r)
}

// load reads a file that is to be changed.
func (t *target) load() error {
	if t.file == nil {
		return hint.New("not_found", shown(t.name)+" doesn't exist").Then("write_file makes a new file")
	}
	if err := t.changeable(); err != nil {
		return err
	}
	return t.read()
}

// Write makes content, which is UTF-8, the whole content of a file. A file that exists is replaced only with
// [Options.Overwrite]; what it had besides its text is kept: attributes, byte order mark, UTF-16, and, where content has
// plain line feeds only, line ends of another kind. Missing folders are made; a new file has the mode 0644 less the
// umask. If the content is the same already, nothing is written and the result says so.
func Write(root *os.Root, name, content string, o Options) (Result, error) {
	if err := checkContent(name, content); err != nil {
		return Result{}, err
	}
	t, err := acquire(root, name, o, true)
	if err != nil {
		return Result{}, err
	}
	defer t.close()
	r, err := t.write(content)
	if err != nil || r.Unchanged {
		return r, err
	}
	return t.replace(r)
}

func checkContent(name, content string) error {
	if strings.HasSuffix(name, "/") {
		return hint.New("bad_path", "the path "+shown(name)+" ends with /").Then("give the path of a file")
	}
	if len(content) > MaxBytes {
		return tooLarge("the content", int64(len(content)))
	}
	return checkText("content", content)
}

// write plans the result of Write.
func (t *target) write(content string) (Result, error) {
	o := t.options
	if t.file == nil {
		if err := t.checkBase(); err != nil {
			return Result{}, err
		}
		if err := o.checkOmission("", lf(content)); err != nil {
			return Result{}, err
		}
		r := Result{Text: []byte(content), Created: true, Encoding: UTF8, Replaced: 1}
		b := newBody(r.Text, UTF8)
		r.LineEnds, r.Added = b.lineEnds(), b.height(0, len(r.Text))
		if _, n := marked(r.Text); n > 0 {
			r.Encoding = UTF8BOM
		}
		return r, nil
	}
	if !o.Overwrite {
		return Result{}, existsNow(t.name)
	}
	if err := t.load(); err != nil {
		return Result{}, err
	}
	text := []byte(content)
	before, mark, enc, err := decode(t.content)
	if err != nil || enc == NotUTF8 || enc == Legacy { // nothing of it can be kept, and all of it is to go
		before, mark, enc = nil, nil, UTF8
	}
	var notes []string
	if _, n := marked(text); n > 0 {
		text = text[n:]
		if len(mark) == 0 {
			mark, enc = []byte(content[:n]), UTF8BOM
		}
	} else if len(mark) > 0 {
		notes = append(notes, "kept the file's encoding, "+string(enc))
	}
	if kind := newBody(before, enc).lineEnds(); (kind == CRLF || kind == CR) && newBody(text, enc).lineEnds() == LF {
		text = fit(string(text), []string{map[LineEnds]string{CRLF: "\r\n", CR: "\r"}[kind]})
		notes = append(notes, "kept the file's line ends, "+string(kind))
	}
	if err := o.checkOmission(string(before), lf(string(text))); err != nil {
		return Result{}, err
	}
	r := describe(before, text, replaced(before, text))
	r.Text, r.Encoding, r.Notes = encode(text, mark, enc), enc, notes
	if bytes.Equal(r.Text, t.content) {
		r.Unchanged, r.Notes = true, nil
		t.hash(&r)
		return t.complete(r), nil
	}
	r.Replaced = 1
	return r, nil
}

func existsNow(name string) error {
	return hint.New("exists", shown(name)+" exists").Then("pass overwrite=true to replace all of it, or use edit to change a part")
}

// replace puts r.Text in the file's place and completes the result.
func (t *target) replace(r Result) (Result, error) { return t.put(r, t.like()) }

// like is what the new file is modelled on: the old one.
func (t *target) like() model {
	if t.file == nil {
		return model{}
	}
	return model{file: t.file, perm: t.was.perm, owner: &t.was}
}

// hash fills in the hashes of a result.
func (t *target) hash(r *Result) {
	r.Hash = hashOf(r.Text)
	if t.file != nil {
		r.OldHash = t.oldHash()
	}
}

func (t *target) put(r Result, like model) (Result, error) {
	hashed := make(chan struct{})
	go func() { // it takes as long as writing
		defer close(hashed)
		t.hash(&r)
	}()
	var p *pending
	var err error
	if !t.options.DryRun {
		p, err = t.prepare(r.Text, like)
	}
	<-hashed
	if err != nil {
		return Result{}, err
	}
	if t.options.DryRun {
		if t.options.Whole {
			before, _, _, _ := decode(t.content)
			after, _, _, _ := decode(r.Text)
			r.Whole = wholeDiff(before, after, replaced(before, after))
		}
		return t.complete(r), nil
	}
	defer p.abandon()
	if err := t.change(p, &r); err != nil {
		return Result{}, err
	}
	return t.complete(r), nil
}

// change makes the change that p has prepared, keeping for undo what it replaces.
func (t *target) change(p *pending, r *Result) error {
	forget, err := t.keep(r, p.dir, member{})
	if err != nil {
		return err
	}
	if err := p.commit(); err != nil {
		forget()
		return err
	}
	if note := p.finish(); note != "" {
		r.Notes = append(r.Notes, note)
	}
	return nil
}

func (t *target) complete(r Result) Result {
	r.Name, r.DryRun = t.name, t.options.DryRun
	r.Notes = append(t.notes[:len(t.notes):len(t.notes)], r.Notes...)
	return r
}
