package edit

import (
	"os"
	"path"
	"strings"

	"handrail/core/hint"
)

// Files outside the workspace are never changed: the first edit makes a working copy beside the original, and later ones
// go on in it. EditCopy and WriteCopy share it.

const copyMark = ".edited"

// CopyName gives the name of a file's working copy: "a/b/name.ext" becomes "a/b/name.edited.ext". The extension is what
// stands after the last dot, with ".tar" before it if there is one; a dot at the beginning begins a name without an
// extension. The name of a working copy is its own.
func CopyName(name string) string {
	dir, base := path.Split(name)
	stem, ext := splitExt(base)
	if strings.HasSuffix(stem, copyMark) && stem != copyMark {
		return name
	}
	return dir + stem + copyMark + ext
}

// originalName undoes CopyName.
func originalName(name string) string {
	dir, base := path.Split(name)
	stem, ext := splitExt(base)
	return dir + strings.TrimSuffix(stem, copyMark) + ext
}

func splitExt(base string) (stem, ext string) {
	ext = path.Ext(base)
	if ext == base || ext == "." || ext == copyMark {
		return base, ""
	}
	stem = strings.TrimSuffix(base, ext)
	if path.Ext(stem) == ".tar" && stem != ".tar" {
		stem, ext = strings.TrimSuffix(stem, ".tar"), ".tar"+ext
	}
	return stem, ext
}

// copies is a file and its working copy.
type copies struct {
	original *target // nil where there is a working copy already, or the file is one
	copy     *target // its file is nil where there is none yet
	of       string  // the original's name
	release  func()
}

func (c *copies) close() {
	if c.copy != nil {
		c.copy.close()
	}
	if c.original != nil {
		c.original.close()
	}
	c.release()
}

// openCopy finds the working copy of a file, or what is needed to make one.
func openCopy(root *os.Root, p *place, o Options) (*copies, error) {
	key := p.key()
	key.copies = true
	c := &copies{of: p.name, release: hold(key)}
	name := CopyName(p.name)
	if name == p.name {
		c.of = originalName(name)
	}
	o.NoLinks = true
	if err := c.open(root, name, p.name, o); err != nil {
		c.close()
		return nil, err
	}
	c.from().notes = p.notes
	return c, nil
}

// from is what the change starts from.
func (c *copies) from() *target {
	if c.original != nil {
		return c.original
	}
	return c.copy
}

// open opens the copy, or else the original and the place for the copy. It never waits for one while it holds the other.
func (c *copies) open(root *os.Root, name, original string, o Options) (err error) {
	if c.copy, err = acquire(root, name, o, true); err != nil || c.copy.file != nil {
		return err
	}
	c.copy.close()
	c.copy = nil
	if c.original, err = acquire(root, original, o, false); err != nil {
		return err
	}
	c.original.kept = true
	c.original.unlock()
	if c.copy, err = acquire(root, name, o, true); err == nil && c.copy.file != nil { // made in between
		c.original.close()
		c.original = nil
	}
	return err
}

// EditCopy changes the working copy of a file by hunks; the file stays as it is. The result names the copy and says
// whether it was made now. A file that is a working copy by its name is changed itself.
func EditCopy(root *os.Root, name string, hunks []Hunk, o Options) (Result, error) {
	if err := checkHunks(hunks); err != nil {
		return Result{}, err
	}
	p, err := find(root, name, o, false)
	if err != nil {
		return Result{}, err
	}
	defer p.close()
	if p.info.kind != regular {
		return Result{}, notRegular(name, p.info.kind)
	}
	c, err := openCopy(root, p, o)
	if err != nil {
		return Result{}, err
	}
	defer c.close()
	from := c.from()
	if err := from.load(); err != nil {
		return Result{}, err
	}
	r, err := Apply(from.content, hunks, o)
	if err != nil {
		return Result{}, c.inCopy(err)
	}
	return c.put(r)
}

// inCopy adds to an error where the text was looked for.
func (c *copies) inCopy(err error) error {
	if c.original != nil {
		return err
	}
	h := *hint.Of(err)
	h.What += " (this is about the working copy " + shown(c.copy.name) + ")"
	return &h
}

// WriteCopy is [Write] for a file outside the workspace: if the file exists, its working copy is written, and
// [Options.Overwrite] must be given. A file that doesn't exist is made.
func WriteCopy(root *os.Root, name, content string, o Options) (Result, error) {
	if err := checkContent(name, content); err != nil {
		return Result{}, err
	}
	p, err := find(root, name, o, true)
	if err != nil {
		return Result{}, err
	}
	defer p.close()
	if !p.exists {
		return Write(root, name, content, o)
	}
	if p.info.kind != regular {
		return Result{}, notRegular(name, p.info.kind)
	}
	if !o.Overwrite {
		return Result{}, hint.New("exists", shown(p.name)+" exists").
			Then("pass overwrite=true to write the working copy " + shown(CopyName(p.name)) + "; the file itself is not changed")
	}
	c, err := openCopy(root, p, o)
	if err != nil {
		return Result{}, err
	}
	defer c.close()
	from := c.from()
	r, err := from.write(content)
	if err != nil || r.Unchanged {
		r.CopyOf = c.of
		return r, err
	}
	return c.put(r)
}

// put writes the copy.
func (c *copies) put(r Result) (Result, error) {
	var err error
	if c.original == nil {
		r, err = c.copy.replace(r)
	} else {
		r, err = c.copy.put(r, model{file: c.original.file, perm: c.original.was.perm | 0o200})
		r.CopyStarted, r.Created = true, true
		r.Notes = append(c.original.notes[:len(c.original.notes):len(c.original.notes)], r.Notes...)
	}
	r.CopyOf = c.of
	if err != nil {
		return Result{}, err
	}
	return r, nil
}
