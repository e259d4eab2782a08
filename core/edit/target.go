package edit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"

	"handrail/core/hint"
)

// target is a file that is to be changed: found, locked against other edits of this process, opened if it exists, and
// the same from the first check to the write.
type target struct {
	*place
	root    *os.Root
	options Options
	file    *os.File      // nil if it doesn't exist
	link    string        // where a link leads that is meant itself; file is nil then
	was     info          // of file, when it was read
	content []byte        // what was read
	oldHash func() string // of content
	kept    bool          // it is read only: the original of a working copy
	release func()
}

func (t *target) close() {
	if t.file != nil {
		t.file.Close()
	}
	t.release()
	t.place.close()
}

// unlock lets other edits of the file go on; it stays open.
func (t *target) unlock() {
	t.release()
	t.release = func() {}
}

// acquire finds and locks a file. With create it need not exist.
func acquire(root *os.Root, name string, o Options, create bool) (*target, error) {
	p, err := find(root, name, o, create)
	if err != nil {
		return nil, err
	}
	return p.acquire(root, o, hold(p.key()))
}

// acquire makes a target of a place whose key is held.
func (p *place) acquire(root *os.Root, o Options, release func()) (*target, error) {
	t := &target{place: p, root: root, options: o, release: release}
	if err := t.open(); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// open looks again, now that the lock is held, and opens what is there.
func (t *target) open() error {
	if len(t.missing) > 0 {
		return nil
	}
	if t.base == "" {
		return notRegular(".", directory)
	}
	st, err := t.dir.stat(t.base)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !t.exists:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return stale(t.name, "it is gone")
	case err != nil:
		return problem("opening", t.name, err)
	}
	t.exists = true
	if st.kind == symlink && t.options.ofLink {
		t.was = st
		if t.link, err = t.dir.readlink(t.base); err != nil {
			return problem("reading the link", t.name, err)
		}
		return nil
	}
	if t.file, t.was, err = t.dir.openRegular(t.base, t.name, st); err != nil {
		return err
	}
	if real := t.dir.spelling(t.base, t.file); real != t.base {
		t.base, t.name = real, path.Join(path.Dir(t.name), real)
	}
	return nil
}

// openRegular opens a file for reading that a stat of its name described. It never waits: what isn't a regular file is
// not opened, and what was swapped in after the stat is opened without waiting and refused.
func (d folder) openRegular(base, name string, st info) (*os.File, info, error) {
	if st.kind != regular {
		return nil, st, notRegular(name, st.kind)
	}
	f, err := d.openRead(base)
	if err != nil {
		return nil, st, problem("opening", name, err)
	}
	now, err := statFile(f)
	switch {
	case err != nil:
		err = problem("opening", name, err)
	case now.kind != regular:
		err = notRegular(name, now.kind)
	case now.id != st.id:
		err = stale(name, "another file stands there")
	}
	if err != nil {
		f.Close()
		return nil, st, err
	}
	return f, now, nil
}

func notRegular(name string, k kind) error {
	h := hint.New("not_regular", shown(name)+" is "+k.String()+", not a file with text")
	if k == directory {
		h = h.Then("give the path of a file in it")
	}
	return h
}

// changeable refuses a file that can't be replaced without losing something.
func (t *target) changeable() error {
	if t.was.links > 1 && !t.kept {
		return hint.New("hard_link", shown(t.name)+" has other names (hard links)").
			Because("a safe write would part it from them").
			Then("the person can copy the file first; a command in a granted folder can write to it in place")
	}
	return t.removable()
}

// removable refuses a file that somebody protected.
func (t *target) removable() error {
	switch {
	case t.kept:
		return nil
	case t.was.perm&0o222 == 0:
		return hint.New("read_only", shown(t.name)+" is write-protected").Then("ask the person before changing its mode")
	}
	if err := t.dir.writable(t.base); err != nil {
		return problem("writing", t.name, err)
	}
	return nil
}

// read reads the file, all of it, and remembers what it was like.
func (t *target) read() error {
	for range 5 {
		if t.was.size > MaxBytes {
			return tooLarge(shown(t.name), t.was.size)
		}
		content := make([]byte, t.was.size+1)
		n, err := io.ReadFull(io.NewSectionReader(t.file, 0, MaxBytes+1), content)
		if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
			return problem("reading", t.name, err)
		}
		now, err := statFile(t.file)
		if err != nil {
			return problem("reading", t.name, err)
		}
		if int64(n) == now.size && now.same(t.was) {
			t.content = content[:n]
			t.oldHash = sync.OnceValue(func() string { return hashOf(t.content) })
			go t.oldHash() // it takes as long as the edit; on another processor it costs no time
			return t.checkBase()
		}
		t.was = now // somebody writes to it: read again
	}
	return stale(t.name, "it is being written to")
}

// checkBase compares what was read with the hash that the caller knows.
func (t *target) checkBase() error {
	want := strings.ToLower(strings.TrimPrefix(t.options.BaseHash, "sha256:"))
	if want != "" && (t.file == nil || want != t.oldHash()) {
		return stale(t.name, "it is not what base_hash says")
	}
	return nil
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
