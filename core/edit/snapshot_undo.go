package edit

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"handrail/core/hint"
)

// Undone tells what an undo did.
type Undone struct {
	// ID is the change that the undo made: undoing it takes the undo back. "" if nothing was changed.
	ID string
	// Files are what the undo did to each.
	Files []ChangedFile
	// Left are the files that stay as they are, and why.
	Left []Refusal
	// Notes say what could not be put back as it was besides the content.
	Notes []string
}

// Refusal is a file that an undo leaves as it is.
type Refusal struct {
	Path string
	Why  string
}

// Undo puts back what stood in the files of a change before it: what was deleted comes back with its content, mode, times
// and extended attributes, what was changed is exchanged in one step, what was created is taken into the store, and a
// rename is the one and the other. The undo is a change of its own and can be undone.
//
// A file that was changed since is left as it is, and so is one that would come to stand where Git obeys it (obeyed). If there is one, the error is stale, [Undone.Left] names all of them,
// and nothing is done, unless rest asks for the others. A Git folder is put back as a whole or not at all.
//
// Other errors are hints too: not_found where nothing of that name is kept, nothing_to_undo where all is as it was,
// changed where another folder stands in the place of the one that was changed.
func (s *Snapshots) Undo(id string, rest bool) (Undone, error) { return s.undoOrLook(id, rest, nil) }

// undoOrLook is Undo, or Preview if look is not nil: then nothing is changed.
func (s *Snapshots) undoOrLook(id string, rest bool, look *Preview) (Undone, error) {
	if s == nil {
		return Undone{}, errNoChange
	}
	<-s.loaded
	s.mu.Lock()
	i := slices.IndexFunc(s.changes, func(h *held) bool { return h.ID == id })
	if i < 0 {
		s.mu.Unlock()
		return s.undoEdit(id, rest, look)
	}
	h := s.changes[i]
	if h.busy {
		s.mu.Unlock()
		return Undone{}, hint.New("busy", "this change is being undone already")
	}
	st := h.store
	h.busy = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		h.busy = false
		s.mu.Unlock()
	}()
	if st == nil {
		return Undone{}, hint.New("not_found", "the volume of "+shown(h.Folder)+" isn't here").Then("connect it and try again")
	}
	c, err := s.read(id)
	if err != nil {
		return Undone{}, errNoChange.Wrap(err)
	}
	t, err := s.tracker(c.Place)
	if err != nil {
		return Undone{}, hint.New("failed", "nothing can be undone now").Because(err.Error())
	}
	defer s.running.Done()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.store == nil {
		t.store = st
	}
	return t.undo(c, st, rest, look)
}

// undoEdit undoes an edit or a patch.
func (s *Snapshots) undoEdit(id string, rest bool, look *Preview) (Undone, error) {
	if s.undo == nil {
		return Undone{}, errNoChange
	}
	if entries := s.undo.group(id); len(entries) > 0 {
		return s.undo.restoreGroup(id, entries, rest, look)
	}
	e, f, err := s.undo.open(id)
	if err != nil {
		return Undone{}, err
	}
	f.Close()
	if look != nil {
		return s.undo.restoreGroup(id, []Entry{e}, true, look)
	}
	root, err := os.OpenRoot(e.Folder)
	if err != nil {
		return Undone{}, problem("opening", e.Folder, err)
	}
	defer root.Close()
	r, err := s.undo.Restore(root, id)
	if err != nil {
		return Undone{Left: []Refusal{{path.Join(e.Folder, e.Name), hint.Of(err).What}}}, err
	}
	return Undone{ID: r.UndoID, Files: []ChangedFile{e.undone()}, Notes: r.Notes}, nil
}

// undoing is an undo that goes on.
type undoing struct {
	t      *tracker
	s      *Snapshots
	st     *store
	c      *entry
	visit  *visit
	at     cursor
	steps  []*step
	byName map[string]*step
	record *entry
	notes  []string
}

// step is one name of a change.
type step struct {
	item
	name string
	now  *shape // what stands there; nil: nothing
	skip bool   // it is as it was already
	why  string // why it is left as it is
	kept string // the name in the store of what is taken away
	done bool
	then *shape // what stands there afterwards
}

func (st *step) act() bool { return !st.skip && st.why == "" }

// goes reports whether what stands there goes away, and comes whether something comes to stand there.
func (st *step) goes() bool {
	return st.act() && st.After != nil && (st.Before == nil || st.Before.Kind != st.After.Kind)
}

func (st *step) comes() bool {
	return st.act() && st.Before != nil && (st.After == nil || st.Before.Kind != st.After.Kind)
}

func (t *tracker) undo(c *entry, st *store, rest bool, look *Preview) (Undone, error) {
	root, device, err := c.open(st)
	if err != nil {
		return Undone{}, hint.New("changed", "the folder "+shown(c.Place.Path)+" is not the one that was changed").
			Because("it was moved, deleted or replaced").Then("nothing was put back").Wrap(err)
	}
	defer root.Close()
	p := &visit{t: t, root: root, device: device}
	if look == nil {
		t.account(p, true)
		defer t.account(p, false)
	}
	u := &undoing{t: t, s: t.s, st: st, c: c, visit: p, at: cursor{top: root}, byName: make(map[string]*step)}
	defer u.at.back(0)
	if c.Whole {
		if err := u.compareWhole(); err != nil {
			return Undone{}, problem("looking through", c.Place.Path, err)
		}
	}
	for _, it := range c.Items {
		x := &step{item: it, name: string(it.Name)}
		u.steps = append(u.steps, x)
		u.byName[x.name] = x
	}
	u.check()
	r := Undone{Left: u.left()}
	some := slices.ContainsFunc(u.steps, (*step).act)
	switch {
	case len(r.Left) == 0 && !some:
		return r, hint.New("nothing_to_undo", "everything is as it was before already")
	case look != nil:
		u.preview(look)
		return r, nil
	case len(r.Left) > 0 && (!rest || !some):
		return r, refusal(r.Left, some)
	}
	if err := u.plan(); err != nil {
		return r, problem("keeping what stands in", c.Place.Path, err)
	}
	u.do()
	return u.finish()
}

func refusal(left []Refusal, some bool) error {
	what := fmt.Sprintf("%s can't be put back", shown(left[0].Path))
	if n := len(left) - 1; n > 0 {
		what += fmt.Sprintf(", nor can %d others", n)
	}
	h := hint.New("stale", what).Because(left[0].Why)
	if !some {
		return h.Then("nothing was put back")
	}
	return h.Then("nothing was put back; undo newer changes first, or undo the rest of this one")
}

// account looks through the place before and after an undo, so that it isn't taken for the doing of commands that run.
func (t *tracker) account(p *visit, before bool) {
	if len(t.active) == 0 {
		return
	}
	l := &looking{most: 2 * t.s.limits.startFiles, deadline: time.Now().Add(t.s.limits.endTime)}
	v, err := t.view(p, l)
	if err == nil {
		if before {
			t.record(v)
		}
		err = t.keep(p, v.now, l)
		t.advance(v)
	}
	if err != nil {
		t.giveUp(err)
		t.drop()
	}
}

// compareWhole makes the items of a change that puts back a whole folder.
func (u *undoing) compareWhole() error {
	was := make([]standing, 0, len(u.c.Items))
	for _, it := range u.c.Items {
		was = append(was, standing{name: string(it.Name), shape: *it.Before})
	}
	now, err := u.t.look(u.visit.root, u.visit.device, &looking{most: 2 * u.s.limits.startFiles, deadline: time.Now().Add(u.s.limits.endTime)})
	if err == nil {
		u.c.Items, u.c.Times = since(was, now)
		u.c.Items = u.t.settle(u.visit, u.c.Items, now)
	}
	return err
}

// stands tells what stands at a name. An error says that it can't be told.
func (u *undoing) stands(name string) (*shape, error) {
	d, err := u.at.in(name)
	if errors.Is(err, fs.ErrNotExist) || isErrno(err, syscall.ENOTDIR, syscall.ELOOP) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	st, err := d.stat(path.Base(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return new(shapeOf(st, u.visit.device)), nil
}

// check judges each step; it changes nothing.
func (u *undoing) check() {
	inodes := make(map[uint64]string) // of what goes away
	for _, x := range u.steps {
		if x.After != nil && x.Before == nil {
			inodes[x.After.Inode] = x.name
		}
	}
	for _, x := range u.steps {
		var err error
		if x.now, err = u.stands(x.name); err != nil {
			x.why = "it can't be looked at"
			continue
		}
		// Where letter case makes no difference, the new name of a file finds it by its old one.
		if other, ok := inodes[inodeOf(x.now)]; ok && x.After == nil && other != x.name && foldName(other) == foldName(x.name) {
			x.now = nil
		}
		u.judge(x)
	}
	for again := true; again; {
		again = u.git()
		for _, x := range u.steps {
			again = u.settings(x) || u.parents(x) || again
		}
		for _, x := range slices.Backward(u.steps) {
			again = u.empties(x) || again
		}
	}
}

func inodeOf(s *shape) uint64 {
	if s == nil {
		return 0
	}
	return s.Inode
}

// was reports whether what stands there is what stood there before.
func (x *step) was() bool {
	if x.Before == nil || x.now == nil {
		return x.Before == nil && x.now == nil
	}
	return x.Before.again(x.now)
}

func (u *undoing) judge(x *step) {
	switch {
	case x.After == nil && x.now == nil:
	case x.After != nil && x.now != nil && x.After.again(x.now):
	case x.was():
		x.skip = true
		return
	case x.After == nil:
		x.why = "something else stands there now"
		return
	case x.now == nil:
		x.why = "it is gone"
		return
	default:
		x.why = "it was changed since"
		return
	}
	switch {
	case x.now != nil && (x.now.Kind == fifo || x.now.Kind == socket || x.now.Kind == device || x.now.Kind == unknown):
		x.why = "it is " + x.now.Kind.String()
	case x.Before == nil:
	case x.Before.Kind == regular && x.Before.Kept != "":
		if st, err := u.st.dir.stat(x.Before.Kept); err != nil || st.kind != regular || st.size != x.Before.Size {
			x.why = "what was kept of it is gone or damaged"
		}
	default:
		x.why = x.Before.lost()
		if x.Before.Kind == directory && x.Before.Why == whyCloud {
			x.why = whyCloud
		} else if x.Before.Kind == directory {
			x.why = ""
		}
	}
}

// git lets no part of a Git folder be put back without the others, which would break it.
func (u *undoing) git() (changed bool) {
	bad := make(map[string]bool)
	for _, x := range u.steps {
		if top, ok := gitFolder(x.name); ok && x.why != "" {
			bad[top] = true
		}
	}
	for _, x := range u.steps {
		if top, ok := gitFolder(x.name); ok && bad[top] && x.act() {
			x.why, changed = "a part of the Git folder it belongs to can't be put back", true
		}
	}
	return changed
}

// gitFolder gives the name up to the first element .git.
func gitFolder(name string) (string, bool) {
	whole := "/" + strings.ToLower(name) + "/"
	i := strings.Index(whole, "/.git/")
	if i < 0 {
		return "", false
	}
	return name[:i+len(".git")], true
}

// parents refuses what would come to stand in a folder that isn't there.
func (u *undoing) parents(x *step) (changed bool) {
	if !x.comes() || path.Dir(x.name) == "." {
		return false
	}
	if above := u.byName[path.Dir(x.name)]; above != nil && (above.comes() && above.Before.Kind == directory || above.now != nil && above.now.Kind == directory && !above.goes()) {
		return false
	}
	if d, err := u.at.in(x.name); err == nil && d.File != nil && u.byName[path.Dir(x.name)] == nil {
		return false
	}
	x.why = "its folder is gone"
	return true
}

// empties refuses to take away a folder in which something would be left.
func (u *undoing) empties(x *step) (changed bool) {
	if !x.goes() || x.now.Kind != directory {
		return false
	}
	d, err := u.at.open(x.name)
	if err != nil {
		x.why = "it can't be read"
		return true
	}
	names, err := d.names(-1)
	if err != nil {
		x.why = "it can't be read"
		return true
	}
	for _, n := range names {
		if below := u.byName[x.name+"/"+n]; !ours(n) && (below == nil || !below.goes() || below.comes()) {
			x.why = "it holds something that is left"
			return true
		}
	}
	return false
}

func (u *undoing) path(name string) string {
	if u.c.Place.File {
		return u.c.Place.Path
	}
	return path.Join(u.c.Place.Path, name)
}

func (u *undoing) left() []Refusal {
	var list []Refusal
	for _, x := range u.steps {
		if x.why != "" {
			list = append(list, Refusal{u.path(x.name), x.why})
		}
	}
	return list
}

// plan records what the undo is about to do. Should the process be killed, what was taken into the store is found by it.
func (u *undoing) plan() error {
	now := time.Now()
	u.record = &entry{ID: newID(now), Time: now.UTC(), By: undoBy(u.c.By), UndoOf: u.c.ID, Unfinished: true, Times: u.folders(),
		Place: u.c.Place, Store: u.c.Store, Volume: u.c.Volume}
	for _, x := range u.steps {
		if !x.act() {
			continue
		}
		it := item{Name: x.Name}
		if x.now != nil {
			b := *x.now
			if b.Kind == regular {
				x.kept = unused("u-")
				b.Kept = x.kept
			}
			it.Before = &b
		}
		if x.Before != nil {
			a := *x.Before
			a.Inode, a.CTime, a.Kept, a.Device = 0, 0, "", 0
			it.After = &a
		}
		u.record.Items = append(u.record.Items, it)
	}
	return u.s.save(u.record, u.st)
}

// undoBy says that an undo made a change, and of what.
func undoBy(of []By) []By {
	by := By{Tool: "undo"}
	if len(of) > 0 {
		by.Text = of[0].Text
	}
	return []By{by}
}

// do takes the steps: away with what came, from the bottom up; back with what went, from the top down.
func (u *undoing) do() {
	take := func(x *step, f func(x *step) error) {
		if err := f(x); err != nil {
			x.why = cause(err)
		} else {
			x.done = true
		}
		u.s.testOnlyStep("step")
	}
	for _, x := range u.steps {
		if x.act() && x.now != nil && x.now.Kind == directory && x.now.Perm&0o700 != 0o700 {
			u.unlock(x)
		}
	}
	for _, x := range slices.Backward(u.steps) {
		if x.goes() {
			take(x, u.away)
		}
	}
	for _, x := range u.steps {
		if x.comes() {
			take(x, u.back)
		} else if x.act() && !x.goes() && x.now.Kind != directory {
			take(x, u.swap)
		}
	}
	for _, x := range slices.Backward(u.steps) {
		if x.act() && x.Before != nil && x.Before.Kind == directory {
			take(x, u.dress)
		}
	}
	u.times()
	for _, x := range u.steps {
		if x.done {
			x.then = standsAt(&u.at, x.name, u.visit.device)
		}
	}
	if err := flushVolume(u.visit.root); err != nil {
		u.notes = append(u.notes, "what was put back could not be written to the disk: a power cut may undo it")
	}
}

func cause(err error) string {
	switch {
	case errors.Is(err, errOther), errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist):
		return "it changed while it was put back"
	case isErrno(err, syscall.ENOTEMPTY):
		return "it holds something that is left"
	}
	h := hint.Of(problem("putting back", "", err))
	return cmp.Or(h.Why, "the system refused: "+err.Error())
}

var errOther = errors.New("another file stands there")

// unlock lets this user into a folder.
func (u *undoing) unlock(x *step) {
	if d, err := u.at.in(x.name); err == nil {
		if st, err := d.stat(path.Base(x.name)); err == nil && st.kind == directory {
			d.setPerm(path.Base(x.name), x.now.Perm|0o700)
		}
	}
}

// away takes what stands at a name into the store.
func (u *undoing) away(x *step) error {
	d, err := u.at.in(x.name)
	if err != nil {
		return err
	}
	base := path.Base(x.name)
	switch x.now.Kind {
	case directory:
		return d.rmdir(base)
	case symlink:
		return u.awayLink(d, base, x)
	}
	if x.now.Links > 1 { // what is kept must not change with the file's other names
		return u.awayCopy(d, base, x)
	}
	err = d.move(base, u.st.dir, x.kept)
	if isErrno(err, syscall.EXDEV) {
		return u.awayCopy(d, base, x)
	}
	if err != nil {
		return err
	}
	if st, err := u.st.dir.stat(x.kept); err != nil || !x.now.alike(new(shapeOf(st, u.visit.device))) {
		if err := u.st.dir.moveNew(x.kept, d, base); err != nil && u.st.dir.move(x.kept, d, u.aside(base)) != nil {
			u.notes = append(u.notes, shown(x.name)+" changed while it was taken away, and could not be put back: "+err.Error())
		}
		return errOther
	}
	u.keep(x)
	return nil
}

func (u *undoing) aside(base string) string {
	return base + ".kept-" + strings.ToLower(rand.Text()[:6])
}

// keep counts what was taken into the store.
func (u *undoing) keep(x *step) {
	u.st.dir.setPerm(x.kept, 0o600)
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	u.st.add(x.kept, &content{size: x.now.Size, changes: 1})
}

// hide gives what stands at a name a temporary one, and makes sure of what it is.
func (u *undoing) hide(d folder, base string, x *step) (temp string, err error) {
	temp = tempPrefix + rand.Text() + ".tmp"
	err = d.renameNew(base, temp)
	if errors.Is(err, errors.ErrUnsupported) {
		err = d.rename(base, temp)
	}
	if err != nil {
		return "", err
	}
	if st, err := d.stat(temp); err != nil || !x.now.alike(new(shapeOf(st, u.visit.device))) {
		if d.renameNew(temp, base) != nil {
			d.rename(temp, u.aside(base))
		}
		return "", errOther
	}
	return temp, nil
}

func (u *undoing) awayLink(d folder, base string, x *step) error {
	target, err := d.readlink(base)
	if err != nil {
		return err
	}
	temp, err := u.hide(d, base, x)
	if err != nil {
		return err
	}
	x.now.Target = rawName(target)
	return d.remove(temp)
}

// awayCopy is away where the file itself can't go into the store.
func (u *undoing) awayCopy(d folder, base string, x *step) error {
	if err := u.copy(d, base, x); err != nil {
		return err
	}
	temp, err := u.hide(d, base, x)
	if err != nil {
		return err
	}
	return d.remove(temp)
}

// copy copies what stands at a name into the store.
func (u *undoing) copy(d folder, base string, x *step) error {
	f, err := d.openRead(base)
	if err != nil {
		return err
	}
	defer f.Close()
	if st, err := statFile(f); err != nil || !x.now.alike(new(shapeOf(st, u.visit.device))) {
		return errOther
	}
	u.s.mu.Lock()
	room := u.s.room(u.st, x.now.Size)
	u.s.mu.Unlock()
	if !room {
		return syscall.ENOSPC
	}
	shared, err := u.st.take(f, x.kept, x.now.Size, true)
	if err != nil && !errors.Is(err, errFlawed) {
		return err
	}
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	u.st.add(x.kept, &content{size: x.now.Size, shared: shared, changes: 1})
	return nil
}

// back makes what stood at a name.
func (u *undoing) back(x *step) error {
	d, err := u.at.in(x.name)
	if err != nil {
		return err
	}
	base := path.Base(x.name)
	if x.Before.Kind == directory {
		return d.mkdir(base) // dress does the rest
	}
	temp, err := u.build(d, x)
	if err != nil {
		return err
	}
	err = d.renameNew(temp, base)
	if errors.Is(err, errors.ErrUnsupported) {
		if err = d.link(temp, base); err == nil {
			return d.remove(temp)
		}
	}
	if err != nil {
		d.remove(temp)
	}
	return err
}

// build makes what stood at a name under a temporary one.
func (u *undoing) build(d folder, x *step) (temp string, err error) {
	b := x.Before
	temp = tempPrefix + rand.Text() + ".tmp"
	defer func() {
		if err != nil {
			d.remove(temp)
		}
	}()
	if b.Kind == symlink {
		if err = d.symlink(string(b.Target), temp); err == nil {
			err = d.setTime(temp, b.MTime)
		}
		return temp, err
	}
	var kept, f *os.File
	if b.Kept != "" {
		if kept, err = u.st.dir.openRead(b.Kept); err != nil {
			return "", err
		}
		defer kept.Close()
		if u.st.clones {
			f, err = d.clone(kept, temp)
		}
	}
	if f == nil {
		if f, err = d.create(temp, 0o600); err == nil && kept != nil {
			err = copyContent(f, kept, b.Size)
		}
	}
	if f != nil {
		defer f.Close()
	}
	if err != nil {
		return "", err
	}
	lockFile(f) // for sweep
	if keepOwner(f, b.UID, b.GID) != nil {
		u.notes = append(u.notes, shown(x.name)+" belongs to another user or group than it did")
	}
	perm := b.Perm &^ 0o6000
	if kept == nil {
		err = chmod(f, perm)
	} else if keepAttributes(kept, f, perm) != nil {
		u.notes = append(u.notes, "the extended attributes of "+shown(x.name)+" could not be put back")
		err = chmod(f, perm)
	}
	if err == nil {
		err = d.setTime(temp, b.MTime)
	}
	return temp, err
}

// swap exchanges what stands at a name with what stood there.
func (u *undoing) swap(x *step) error {
	d, err := u.at.in(x.name)
	if err != nil {
		return err
	}
	base := path.Base(x.name)
	temp, err := u.build(d, x)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			d.remove(temp)
		}
	}()
	linked := false
	if x.now.Kind == symlink {
		target, lerr := d.readlink(base)
		if err = lerr; err != nil {
			return err
		}
		x.now.Target = rawName(target)
	} else if x.now.Links == 1 && d.linkTo(base, u.st.dir, x.kept) == nil {
		linked = true
		if st, serr := u.st.dir.stat(x.kept); serr != nil || !x.now.alike(new(shapeOf(st, u.visit.device))) {
			u.st.dir.remove(x.kept)
			err = errOther
			return err
		}
	} else if err = u.copy(d, base, x); err != nil {
		return err
	}
	err = d.exchange(temp, base)
	exchanged := err == nil
	if errors.Is(err, errors.ErrUnsupported) {
		if st, serr := d.stat(base); serr != nil || !x.now.alike(new(shapeOf(st, u.visit.device))) {
			err = errOther
		} else {
			err = d.rename(temp, base)
		}
	}
	if exchanged {
		if st, serr := d.stat(temp); serr != nil || !x.now.alike(new(shapeOf(st, u.visit.device))) {
			if back := d.exchange(temp, base); back != nil {
				u.notes = append(u.notes, shown(x.name)+" changed while it was put back: the newer one is "+shown(u.keepAside(d, temp, base)))
			}
			err = errOther
		}
	}
	if err != nil {
		if linked {
			u.st.dir.remove(x.kept)
		}
		return err
	}
	if exchanged {
		err = d.remove(temp)
	}
	if linked {
		u.keep(x)
	}
	return err
}

func (u *undoing) keepAside(d folder, temp, base string) string {
	kept := u.aside(base)
	if d.renameNew(temp, kept) != nil {
		return temp
	}
	return kept
}

// dress gives a folder the attributes, owner, mode and time that it had.
func (u *undoing) dress(x *step) error {
	if x.comes() && !x.done {
		return errors.New("it could not be made")
	}
	d, err := u.at.in(x.name)
	if err != nil {
		return err
	}
	base := path.Base(x.name)
	f, err := d.openFolder(base)
	if err != nil {
		return err
	}
	defer f.Close()
	if !x.comes() {
		if st, err := statFile(f.File); err != nil || st.id.inode != x.now.Inode {
			return errOther
		}
	}
	setAttributes(f.File, x.Before.Attributes)
	if keepOwner(f.File, x.Before.UID, x.Before.GID) != nil {
		u.notes = append(u.notes, shown(x.name)+" belongs to another user or group than it did")
	}
	if err := chmod(f.File, x.Before.Perm&^0o6000); err != nil {
		return err
	}
	return d.setTime(base, x.Before.MTime)
}

// times puts back the times of folders in which something was changed: what they were before the change, if nothing else
// changed them since, and else what they were before the undo.
func (u *undoing) times() {
	was := make(map[rawName]folderTime)
	for _, at := range u.c.Times {
		was[at.Name] = at
	}
	for i := range slices.Backward(u.record.Times) {
		at := &u.record.Times[i]
		name := string(at.Name)
		d, err := u.at.in(name)
		if err != nil {
			continue
		}
		to, known := at.Before, true
		if old, ok := was[at.Name]; ok {
			to, known = old.Before, old.After == at.Before
		}
		if known && !slices.ContainsFunc(u.steps, func(x *step) bool { return x.why != "" && path.Dir(x.name) == name }) {
			d.setTime(path.Base(name), to)
		}
		if st, err := d.stat(path.Base(name)); err == nil {
			at.After = st.mtime
		}
	}
}

// folders lists the folders in which something will be changed, and that aren't put back themselves.
func (u *undoing) folders() (list []folderTime) {
	seen := make(map[string]bool)
	for _, x := range u.steps {
		name := path.Dir(x.name)
		if !x.act() || seen[name] || u.c.Place.File {
			continue
		}
		seen[name] = true
		if above := u.byName[name]; above != nil && above.act() {
			continue
		}
		if d, err := u.at.open(name); err == nil {
			if st, err := statFile(d.File); err == nil {
				list = append(list, folderTime{Name: rawName(name), Before: st.mtime})
			}
		}
	}
	return list
}

// finish records what was done.
func (u *undoing) finish() (Undone, error) {
	r := Undone{ID: u.record.ID, Left: u.left(), Notes: u.notes}
	u.record.Items, u.record.Unfinished = nil, false
	for _, x := range u.steps {
		if !x.done {
			continue
		}
		it := item{Name: x.Name, After: x.then}
		if x.now != nil {
			b := *x.now
			b.Kept = x.kept
			it.Before = &b
		}
		u.record.Items = append(u.record.Items, it)
	}
	err := u.s.save(u.record, u.st)
	r.Files = told(u.c.Place, u.record.Items, true)
	if err != nil {
		r.Notes = append(r.Notes, "the undo can't be undone: "+err.Error())
	}
	if len(u.record.Items) == 0 {
		u.s.mu.Lock()
		if i := slices.IndexFunc(u.s.changes, func(h *held) bool { return h.ID == u.record.ID }); i >= 0 {
			u.s.discard(i)
		}
		u.s.mu.Unlock()
		r.ID = ""
		return r, refusal(r.Left, false)
	}
	return r, nil
}
