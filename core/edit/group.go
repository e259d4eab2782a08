package edit

import (
	"cmp"
	"errors"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"handrail/core/hint"
)

// At is where a path leads: a name in an opened folder.
type At struct {
	Root *os.Root
	Name string
}

func (a At) path() string { return path.Join(a.Root.Name(), a.Name) }

// group changes several files, all or none: everything is on the disk, and what is replaced is kept for undo, before the
// first file is replaced. If one can't be, those before it are put back. If even that fails, the error (rollback_failed) names
// the files that hold the old content, and what was kept for undo stays. A process that is killed in between leaves some
// files new and some old, each whole, and the change in the list of what can be undone.
//
// It is used in this order: find for each file, lock, then a plan for each part, commit, close.
type group struct {
	options Options
	parts   []*part
	id      string // of what is kept; set by commit
}

// part is one file of a group.
type part struct {
	at     At
	label  string // the path as the caller has it, for errors
	place  *place // until it is locked
	key    lockKey
	target *target // once it is locked
	err    error   // why it could not be

	// The plan. The zero value leaves the file as it is.
	do     deed
	r      Result
	like   model
	link   string
	member member

	pending *pending
	forget  func()
}

type deed uint8

const (
	leave   deed = iota
	putText      // r.Text
	putLink      // to link
	putNone
)

func (g *group) close() {
	for _, p := range g.parts {
		if p.target != nil {
			p.target.close()
		} else {
			p.place.close()
		}
	}
}

// find adds a file. With create it need not exist; ofLink means a link itself, not what it leads to.
func (g *group) find(at At, label string, create, ofLink bool) (*part, error) {
	o := g.options
	o.ofLink = ofLink
	p, err := find(at.Root, at.Name, o, create)
	if err != nil {
		return nil, err
	}
	part := &part{at: At{at.Root, p.name}, label: label, place: p, key: p.key()}
	g.parts = append(g.parts, part)
	return part, nil
}

// lock locks and opens all files, in one order, so that two groups can't wait for each other. What is wrong with a file alone
// is in its part.
func (g *group) lock(ofLink func(*part) bool) error {
	list := slices.Clone(g.parts)
	slices.SortFunc(list, func(a, b *part) int {
		return cmp.Or(cmp.Compare(a.key.parent.device, b.key.parent.device), cmp.Compare(a.key.parent.inode, b.key.parent.inode),
			cmp.Compare(a.key.name, b.key.name))
	})
	for i := 1; i < len(list); i++ {
		if list[i].key == list[i-1].key {
			return badPatch("multiple operations target " + shown(list[i].label)).Then("put all changes of a file under one header")
		}
	}
	if err := g.nested(); err != nil {
		return err
	}
	for _, p := range list {
		place, o := p.place, g.options
		p.place = nil
		o.ofLink = ofLink(p)
		p.target, p.err = place.acquire(p.at.Root, o, hold(p.key))
	}
	return nil
}

// nested refuses a file that lies in another: a folder would have to stand where a file does.
func (g *group) nested() error {
	names := make([]string, len(g.parts))
	for i, p := range g.parts {
		names[i] = foldName(p.at.path()) + "/"
	}
	slices.Sort(names)
	for i := 1; i < len(names); i++ {
		if strings.HasPrefix(names[i], names[i-1]) {
			return badPatch("one path lies in another, " + shown(strings.TrimSuffix(names[i-1], "/"))).Then("send the patch in parts")
		}
	}
	return nil
}

// commit does what is planned, or nothing.
func (g *group) commit() error {
	todo := g.todo()
	for _, p := range todo {
		if err := p.prepare(); err != nil {
			return g.back(inFile(p.label, err))
		}
	}
	if err := g.keep(todo); err != nil {
		return g.back(err)
	}
	for _, p := range todo {
		if err := p.pending.commit(); err != nil {
			return g.back(inFile(p.label, err))
		}
	}
	for _, p := range todo {
		if note := p.pending.finish(); note != "" {
			p.r.Notes = append(p.r.Notes, note)
		}
	}
	return nil
}

// todo gives the parts that something is to be done to. What goes, goes last.
func (g *group) todo() []*part {
	var come, gone []*part
	for _, p := range g.parts {
		switch p.do {
		case putText, putLink:
			come = append(come, p)
		case putNone:
			gone = append(gone, p)
		}
	}
	return append(come, gone...)
}

// plan completes what is planned for a part.
func (p *part) plan(do deed) {
	p.do = do
	t := p.target
	switch {
	case t.link != "":
		p.r.OldHash = hashOf([]byte(t.link))
	case t.file != nil:
		p.r.OldHash = t.oldHash()
	}
	switch do {
	case putText:
		p.r.Hash = hashOf(p.r.Text)
	case putLink:
		p.r.Hash, p.member.link = hashOf([]byte(p.link)), p.link
	}
}

func (p *part) prepare() (err error) {
	switch p.do {
	case putText:
		p.pending, err = p.target.prepare(p.r.Text, p.like)
	case putLink:
		p.pending, err = p.target.linking(p.link)
	case putNone:
		p.pending = p.target.removal()
	}
	return err
}

// keep keeps what all of them are about to replace.
func (g *group) keep(todo []*part) error {
	u := g.options.Undo
	if u == nil || len(todo) == 0 {
		return nil
	}
	const tail = 2 << 10 // room for what is written of each besides its content
	var size int64
	for _, p := range todo {
		size += int64(len(p.target.content)) + tail
	}
	if err := u.fits(size); err != nil {
		return err
	}
	g.id = entryID(time.Now().UTC())
	u.mu.Lock()
	u.drop(size, g.id)
	u.mu.Unlock()
	for i, p := range todo {
		p.member.group, p.member.n, p.member.of = g.id, i+1, len(todo)
		var err error
		if p.forget, err = p.target.keep(&p.r, p.pending.dir, p.member); err != nil {
			return err
		}
	}
	return nil
}

// back puts everything back.
func (g *group) back(cause error) error {
	var failed []string
	errs := []error{cause}
	for _, p := range slices.Backward(g.todo()) {
		if p.pending == nil {
			continue
		}
		if err := p.pending.rollback(); err != nil {
			failed, errs = append(failed, err.Error()), append(errs, err)
		}
	}
	if failed != nil {
		return hint.New("rollback_failed", "some files were changed and could not be put back: "+strings.Join(failed, "; ")).
			Wrap(errors.Join(errs...))
	}
	for _, p := range g.parts {
		if p.forget != nil {
			p.forget()
		}
	}
	return cause
}

// inFile says in an error which file of several it is about.
func inFile(name string, err error) error {
	h := *hint.Of(err)
	if !strings.HasPrefix(h.What, "in "+shown(name)) {
		h.What = "in " + shown(name) + ": " + h.What
	}
	return &h
}
