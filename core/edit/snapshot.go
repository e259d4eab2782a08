package edit

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// Snapshots keeps what commands replace and delete in folders that they may change, so that the person can put it back.
//
//	w := snapshots.Begin(ctx, by, places...) // what changed since the last look is kept
//	// … the command runs …
//	report := w.End()                        // what it created, changed, deleted and renamed
//	snapshots.Undo(report.Changes[0], false)
//
// Before a command, each file of the places that changed since the last look (by inode, size, mtime and ctime) is kept:
// its content and extended attributes in a store, which shares the file system's own blocks where that can do so, and
// its mode, owner and times in a list. A file that didn't change costs one stat. After the command the folder is looked
// through once more; what differs is a change, and that look is where the next one starts from. What stands there then
// is kept only before something else can change it: before the next command, or when the change is undone.
//
// Where commands overlap, a change is made of what happened between two looks, and belongs to all that ran meanwhile.
// What the person changes between commands is nobody's change, but it is kept before the next command like anything else.
//
// A folder with too many files, or one that takes too long, is kept once a session, before its first command there, and
// can be put back only as a whole (see [Snapshots.Limited]). A file that can't be kept (too large to copy, a placeholder
// for a file in the cloud, no room left) is named in the report of a command that changed it. FIFOs, sockets and devices
// are not put back.
//
// Not seen: a write through a memory mapping that was made before the look and that the kernel hasn't written back
// since; it changes no time. Not put back: what ties hard links together, set-id bits, and on macOS the access lists of
// folders and of deleted files. Content isn't forced to the disk: after a power cut the last changes may not be undoable.
//
// All methods may be called from any goroutine. The nil Snapshots keeps nothing.
type Snapshots struct {
	undo    *Undo
	dir     folder
	path    string
	id      string // tells our stores on other volumes from those of another state folder
	granted func(path string) bool
	limits  limits
	loaded  chan struct{}
	running sync.WaitGroup

	testOnlyStep func(step string)

	mu       sync.Mutex
	closed   bool
	own      *store
	stores   []*store
	missing  []string // stores on volumes that aren't there now
	trackers map[Place]*tracker
	changes  []*held // the oldest first
	uses     uint64
}

// limits are what Snapshots keeps to.
type limits struct {
	files      int           // most names of a folder that is kept before each command
	time       time.Duration // and how long that may take
	startFiles int           // the same for a folder that is kept once a session
	startTime  time.Duration
	endTime    time.Duration // how long looking through a folder after a command may take
	bytes      int64         // most bytes in one store
	file       int64         // the largest file that is copied; one that shares its blocks has no limit
	reserve    int64         // bytes that stay free on the volume
	changes    int           // most changes
}

// DefaultKept is how many bytes are kept on one volume of what commands replaced. The oldest changes go first.
const DefaultKept = 2 << 30

var usual = limits{files: 20_000, time: 2 * time.Second, startFiles: 100_000, startTime: 20 * time.Second, endTime: 10 * time.Second,
	bytes: DefaultKept, file: 256 << 20, reserve: 512 << 20, changes: mostEntries}

// Place is a folder that commands may change, or one file in it.
type Place struct {
	Path string `json:"path"` // absolute, links resolved
	// Device and Inode are those of the folder; for a File, of the folder that holds it.
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
	File   bool   `json:"file,omitempty"`
}

// By says who made a change.
type By struct {
	Session string `json:"session,omitempty"`
	Client  string `json:"client,omitempty"` // as it calls itself
	Tool    string `json:"tool,omitempty"`
	Text    string `json:"text,omitempty"` // short, without secrets
}

// SnapshotOptions say where Snapshots keeps what it keeps.
type SnapshotOptions struct {
	// Dir is a folder that only this user may use; it is made if it is missing. One process uses it at a time.
	Dir string
	// Limit is how many bytes are kept on one volume; 0 is DefaultKept.
	Limit int64
	// Patience is how long looking through a folder may take before each command; 0 is 2 s. Once at a session's start it may
	// take ten times as long, and after a command five times.
	Patience time.Duration
	// Undo holds what edits replaced: Changes and Undo tell of both.
	Undo *Undo
	// Granted reports whether some session may change what lies at a path, so that no store is put there. Nil: none may.
	Granted func(path string) bool
}

// OpenSnapshots opens the folder. What a process that was killed left behind is put in order in the background: a change
// that was going on becomes one that can be undone, and content that nothing needs is removed.
func OpenSnapshots(o SnapshotOptions) (*Snapshots, error) {
	return openSnapshots(o, usual, nil)
}

func openSnapshots(o SnapshotOptions, l limits, step func(string)) (*Snapshots, error) {
	if o.Limit > 0 {
		l.bytes = o.Limit
	}
	if o.Patience > 0 {
		l.time, l.startTime, l.endTime = o.Patience, 10*o.Patience, 5*o.Patience
	}
	if o.Granted == nil {
		o.Granted = func(string) bool { return false }
	}
	if step == nil {
		step = func(string) {}
	}
	s := &Snapshots{undo: o.Undo, path: o.Dir, granted: o.Granted, limits: l, testOnlyStep: step, trackers: make(map[Place]*tracker), loaded: make(chan struct{})}
	err := os.MkdirAll(filepath.Dir(o.Dir), 0o700)
	if err == nil {
		s.dir, err = openOwn(o.Dir)
	}
	if err == nil {
		for _, sub := range []string{changesDir, foldersDir} {
			if d, derr := openOwn(filepath.Join(o.Dir, sub)); derr != nil {
				err = derr
			} else {
				d.Close()
			}
		}
	}
	if err == nil {
		s.own, err = openStore(filepath.Join(o.Dir, "kept.noindex"))
	}
	if err == nil {
		s.id, err = s.identify()
	}
	if err != nil {
		s.dir.Close()
		return nil, fmt.Errorf("opening the folder of snapshots: %w", err)
	}
	s.stores = []*store{s.own}
	go func() {
		defer close(s.loaded)
		s.load()
	}()
	return s, nil
}

// identify reads or makes the word that our stores on other volumes are named with.
func (s *Snapshots) identify() (string, error) {
	name := filepath.Join(s.path, "id")
	if b, err := os.ReadFile(name); err == nil && len(b) == 8 {
		return string(b), nil
	}
	id := strings.ToLower(rand.Text()[:8])
	return id, os.WriteFile(name, []byte(id), 0o600)
}

// Close waits for every command that has begun to end, and lets the folder go. Changes stay; what was kept for commands
// to come goes.
func (s *Snapshots) Close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.running.Wait()
	<-s.loaded
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for _, st := range s.stores {
		for _, t := range s.trackers {
			t.forget(st)
		}
		st.sweep()
		err = errors.Join(err, st.close(st != s.own))
	}
	s.saveStores()
	return errors.Join(err, s.dir.Close())
}

// Elsewhere lists folders of ours on other volumes, which nobody else may reach.
func (s *Snapshots) Elsewhere() []string {
	if s == nil {
		return nil
	}
	<-s.loaded
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for _, st := range s.stores {
		if st != s.own {
			list = append(list, st.path)
		}
	}
	return append(list, s.missing...)
}

// Limited foretells, for the question about a folder, whether undo can only put all of it back, as it was before the
// session's first command there. files and bytes are what was counted in it; more says that the counting stopped early.
func (s *Snapshots) Limited(where Place, files int, bytes int64, more bool) bool {
	switch {
	case s == nil || where.File:
		return false
	case more || files > s.limits.files:
		return true
	}
	// Copying takes about a second for half a gigabyte; what is too slow in the end is said then.
	return bytes > 1<<30 && !(where.Device == s.own.id.device && s.own.clones)
}

// Watch is one command that runs.
type Watch struct {
	s      *Snapshots
	by     By
	began  time.Time
	parts  []*visit
	report Report
}

// visit is a watch's view of one place.
type visit struct {
	t       *tracker
	root    folder // held open, so that what is looked at after the command is what was looked at before
	device  uint64
	limited bool // not looked through before and after; kept once a session
	lost    bool // nothing is kept
}

// Report is what a command changed.
type Report struct {
	// Files are in the order of a walk; what another command did at the same time is among them if Shared is set.
	Files  []ChangedFile
	Shared bool
	// Partly says that there may be more.
	Partly bool
	// Notes say what can't be undone, and why.
	Notes []string
	// Changes name what can be undone.
	Changes []string

	watch *Watch
	known map[string]int
}

// Begin looks through the places of a command that is about to start, and keeps what changed since the last look. It
// returns when the command may start, at the latest after some 20 s for each folder that was never kept before. What can't
// be kept is no error: the report says it.
func (s *Snapshots) Begin(ctx context.Context, by By, places ...Place) *Watch {
	w := &Watch{s: s, by: by, began: time.Now()}
	w.report.watch = w
	if s == nil || len(places) == 0 {
		return w
	}
	<-s.loaded
	for _, p := range outermost(places) {
		t, err := s.tracker(p)
		if err != nil {
			w.note("what it changes in %s can't be undone: %v", shown(p.Path), err)
			continue
		}
		w.parts = append(w.parts, t.begin(ctx, w))
	}
	return w
}

// outermost leaves out what lies in another of the places.
func outermost(places []Place) []Place {
	return slices.DeleteFunc(slices.Clone(places), func(p Place) bool {
		return slices.ContainsFunc(places, func(q Place) bool {
			return p != q && !q.File && inFolder(q.Path, p.Path) && (p.Path != q.Path || p.File)
		})
	})
}

func (w *Watch) note(format string, args ...any) {
	w.report.Notes = append(w.report.Notes, fmt.Sprintf(format, args...))
}

// tracker finds or makes the tracker of a place, and counts its user.
func (s *Snapshots) tracker(p Place) (*tracker, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("no more is kept, since Handrail ends")
	}
	t := s.trackers[p]
	if t == nil {
		t = &tracker{s: s, place: p, starts: make(map[string]bool)}
		s.trackers[p] = t
	}
	s.uses++
	t.used = s.uses
	s.running.Add(1)
	return t, nil
}

// End looks through the places of a command that has ended, and tells what it changed. It is called once.
func (w *Watch) End() Report {
	for _, p := range w.parts {
		p.t.end(w, p)
		if p.root.File != nil {
			p.root.Close()
		}
		w.s.running.Done()
	}
	return w.report
}

// add takes up what happened between two looks.
func (r *Report) add(files []ChangedFile) {
	if r.known == nil {
		r.known = make(map[string]int)
	}
	for _, f := range files {
		key := f.Path()
		i, ok := r.known[key]
		if !ok {
			r.known[key] = len(r.Files)
			r.Files = append(r.Files, f)
			continue
		}
		switch was := &r.Files[i]; {
		case f.How == Deleted && was.How != Created:
			was.How, was.From = Deleted, ""
		case f.How == Deleted:
			was.How = ""
		case was.How == "" || was.How == Deleted:
			*was = f
		}
	}
}

// mostTold is how much of a file Texts gives.
const mostTold = 1 << 20

// Texts gives the content of a file of the report before and after, of at most 1 MB each. ok is false where one of them
// can't be told. A report that is taken up later finds what stands there then.
func (r Report) Texts(i int) (before, after []byte, ok bool) {
	f := r.Files[i]
	t := f.tracker
	if f.before == nil || t == nil {
		return nil, nil, false
	}
	if before, ok = t.store.dir.told(f.before.Kept); !ok {
		return nil, nil, false
	}
	root, _, err := t.place.open()
	if err != nil {
		return nil, nil, false
	}
	c := cursor{top: root}
	defer root.Close()
	defer c.back(0)
	name := f.Name
	if t.place.File {
		name = filepath.Base(t.place.Path)
	}
	d, err := c.in(name)
	if err != nil {
		return nil, nil, false
	}
	after, ok = d.told(filepath.Base(name))
	return before, after, ok
}

// told reads a file of at most mostTold bytes; ok is false for anything else.
func (d folder) told(name string) (text []byte, ok bool) {
	in, err := d.openRead(name)
	if err != nil {
		return nil, false
	}
	defer in.Close()
	st, err := statFile(in)
	if err != nil || st.kind != regular || st.size > mostTold {
		return nil, false
	}
	text, err = io.ReadAll(io.LimitReader(in, mostTold))
	return text, err == nil
}

// compact takes out what came and went again.
func (r *Report) compact() {
	r.Files = slices.DeleteFunc(r.Files, func(f ChangedFile) bool { return f.How == "" })
	r.known = nil
}

// tracker looks after one place. Its fields belong to mu.
type tracker struct {
	s     *Snapshots
	place Place
	used  uint64 // of Snapshots.uses; belongs to Snapshots.mu

	mu    sync.Mutex
	store *store
	// last is the last look, with what is kept of it; nil before the first, and where the place is limited.
	last []standing
	top  int64
	// active are the commands that run. From one look to the next they make one change, named interval.
	active   []*Watch
	interval string
	began    time.Time
	journal  *journal
	// starts names the sessions for which the whole folder was kept, since it is too large to be kept before each command.
	starts map[string]bool
}

// open opens the folder of a place, if it is still the one that was granted.
func (p Place) open() (folder, uint64, error) {
	path := p.Path
	if p.File {
		path = filepath.Dir(path)
	}
	d, err := openPath(path)
	if err != nil {
		return folder{}, 0, err
	}
	st, err := statFile(d.File)
	if err == nil && st.id != (identity{p.Device, p.Inode}) {
		err = errors.New("another folder stands there now")
	}
	if err != nil {
		d.Close()
		return folder{}, 0, err
	}
	return d, st.id.device, nil
}

// look looks through the place.
func (t *tracker) look(root folder, device uint64, l *looking) ([]standing, error) {
	l.device = device
	if !t.place.File {
		again, err := root.openFolder(".") // the place in the list of names is shared by all who have it open
		if err != nil {
			return nil, err
		}
		defer again.Close()
		return l.look(again)
	}
	name := filepath.Base(t.place.Path)
	st, err := root.stat(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return []standing{}, nil
	case err != nil:
		return nil, err
	}
	return []standing{{name: name, shape: shapeOf(st, device)}}, nil
}

// view is a look at a place and what differs from the one before.
type view struct {
	now   []standing
	top   int64 // when the place's own folder was last changed
	items []item
	times []folderTime
}

// view looks through the place.
func (t *tracker) view(p *visit, l *looking) (v view, err error) {
	st, err := statFile(p.root.File)
	if err != nil {
		return v, err
	}
	if !t.place.File {
		v.top = st.mtime
	}
	if v.now, err = t.look(p.root, p.device, l); err != nil {
		return v, err
	}
	v.items, v.times = since(t.last, v.now)
	v.items = t.settle(p, v.items, v.now)
	if t.top != v.top {
		v.times = append(v.times, folderTime{".", t.top, v.top})
	}
	return v, nil
}

func (t *tracker) begin(ctx context.Context, w *Watch) *visit {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &visit{t: t}
	var err error
	if p.root, p.device, err = t.place.open(); err != nil {
		p.lost = true
		w.note("what it changes in %s can't be undone: %v", shown(t.place.Path), err)
		return p
	}
	if t.store == nil {
		t.store = t.s.storeFor(t.place, p.device)
	}
	if t.starts[w.by.Session] {
		p.limited = true
		return p
	}
	err = t.step(ctx, w, p)
	if err == nil {
		t.starts = make(map[string]bool) // it got smaller
		return p
	}
	p.limited = true
	if ctx.Err() == nil { // else the command won't start, and those that run are watched on
		t.giveUp(err)
		if errors.Is(err, errTooMany) || errors.Is(err, errTooSlow) {
			err = t.start(ctx, w, p)
		}
		t.drop()
	}
	if err != nil {
		p.lost = true
		w.note("what it changes in %s can't be undone: %v", shown(t.place.Path), err)
	}
	return p
}

// step looks through the place and keeps what changed since the last look, and begins to watch.
func (t *tracker) step(ctx context.Context, w *Watch, p *visit) error {
	l := &looking{most: t.s.limits.files, deadline: time.Now().Add(t.s.limits.time), stop: ctx.Err}
	v, err := t.view(p, l)
	if err != nil {
		return err
	}
	t.s.testOnlyStep("looked")
	t.record(v)
	err = t.keep(p, v.now, l)
	if err == nil {
		t.s.testOnlyStep("kept")
		t.active = append(t.active, w)
	}
	t.advance(v)
	t.s.testOnlyStep("begun")
	return err
}

// start keeps the whole place once, as it is before a session's first command.
func (t *tracker) start(ctx context.Context, w *Watch, p *visit) error {
	l := &looking{most: t.s.limits.startFiles, deadline: time.Now().Add(t.s.limits.startTime), stop: ctx.Err}
	now, err := t.look(p.root, p.device, l)
	if err == nil {
		err = t.keep(p, now, l)
	}
	if err == nil {
		c := &entry{ID: newID(time.Now()), Time: time.Now().UTC(), By: []By{w.by}, Whole: true}
		for i := range now {
			c.Items = append(c.Items, item{Name: rawName(now[i].name), Before: &now[i].shape})
		}
		if err = t.save(c); err == nil {
			t.starts[w.by.Session] = true
			w.report.Changes = append(w.report.Changes, c.ID)
			w.note("%s holds too much to keep every step: undo puts back all of it, as it was before this command", shown(t.place.Path))
		}
	}
	t.release(now)
	return err
}

// release lets go of what is kept of a look.
func (t *tracker) release(list []standing) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	for i := range list {
		t.store.count(list[i].Kept, -1, 0)
	}
}

// index finds names in a look.
func index(list []standing) func(name string) *standing {
	return func(name string) *standing {
		i, ok := slices.BinarySearchFunc(list, name, func(s standing, n string) int { return compareNames(s.name, n) })
		if !ok {
			return nil
		}
		return &list[i]
	}
}

// giveUp ends the watching of commands that run, since the folder can't be looked through: what was kept before the
// first of them becomes a change that puts back the whole folder.
func (t *tracker) giveUp(why error) {
	if len(t.active) > 0 && t.last != nil {
		c := &entry{ID: t.interval, Time: t.began.UTC(), By: t.by(), Whole: true}
		for i := range t.last {
			c.Items = append(c.Items, item{Name: rawName(t.last[i].name), Before: &t.last[i].shape})
		}
		err := t.save(c)
		for _, w := range t.active {
			w.report.Partly = true
			if err != nil {
				w.note("what it changed in %s can't be undone: %v", shown(t.place.Path), err)
				continue
			}
			w.report.Changes = append(w.report.Changes, c.ID)
			w.note("what it changed in %s is not known (%v); undo puts back all of it", shown(t.place.Path), why)
		}
	}
	t.active = nil
}

// drop lets go of what is kept for commands to come.
func (t *tracker) drop() {
	t.release(t.last)
	t.last = nil
	t.journal.remove()
	t.journal = nil
}

// forget is drop, if the tracker has the store and no command runs. Snapshots.mu is held.
func (t *tracker) forget(st *store) bool {
	if !t.mu.TryLock() {
		return false
	}
	defer t.mu.Unlock()
	if len(t.active) > 0 || t.last == nil || t.store != st {
		return false
	}
	for i := range t.last {
		st.count(t.last[i].Kept, -1, 0)
	}
	t.last = nil
	t.journal.remove()
	t.journal = nil
	return true
}

func (t *tracker) end(w *Watch, p *visit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer w.report.compact()
	at := slices.Index(t.active, w)
	switch {
	case p.root.File == nil:
		w.report.Partly = true
		return
	case at < 0:
		t.recent(w, p)
		return
	}
	l := &looking{most: 2 * t.s.limits.startFiles, deadline: time.Now().Add(t.s.limits.endTime)}
	v, err := t.view(p, l)
	if err != nil {
		t.giveUp(err)
		t.drop()
		t.recent(w, p)
		return
	}
	t.record(v)
	t.s.testOnlyStep("recorded")
	t.active = slices.Delete(t.active, at, at+1)
	if len(t.active) > 0 { // they may change it before the next look that keeps
		err = t.keep(p, v.now, l)
	}
	t.advance(v)
	if err != nil {
		t.giveUp(err)
		t.drop()
	}
	t.s.testOnlyStep("ended")
}

// recent tells what changed since the command began, as far as a single look at the folder shows: not what was deleted.
func (t *tracker) recent(w *Watch, p *visit) {
	w.report.Partly = true
	l := &looking{most: 2 * t.s.limits.startFiles, deadline: time.Now().Add(t.s.limits.time)}
	now, err := t.look(p.root, p.device, l)
	if err != nil {
		return
	}
	var items []item
	for i := range now {
		if e := &now[i]; w.began.Add(-granule(e.CTime)).UnixNano() <= e.CTime && e.Kind != directory {
			items = append(items, item{Name: rawName(e.name), Before: &e.shape, After: &e.shape})
		}
	}
	files := told(t.place, items, false)
	for i := range files {
		files[i].before, files[i].Lost = nil, ""
		files[i].Executable = items[i].After.Kind == regular && items[i].After.Perm&0o111 != 0
	}
	w.report.add(files)
}

// by names all commands that run.
func (t *tracker) by() []By {
	var list []By
	for _, w := range t.active {
		list = append(list, w.by)
	}
	return list
}

// settle leaves out files of which only the ctime changed, if their content and attributes are as they were: they got or
// lost another name.
func (t *tracker) settle(p *visit, items []item, now []standing) []item {
	at, budget := index(now), int64(64<<20)
	c := cursor{top: p.root}
	defer c.back(0)
	return slices.DeleteFunc(items, func(it item) bool {
		b, a := it.Before, it.After
		if b == nil || a == nil || a.Kind != regular || !b.alike(a) || b.Why != "" || b.Kept == "" && b.Size > 0 || budget < b.Size {
			return false
		}
		budget -= b.Size
		d, err := c.in(string(it.Name))
		if err != nil {
			return false
		}
		f, err := d.openRead(filepath.Base(string(it.Name)))
		if err != nil {
			return false
		}
		defer f.Close()
		if st, err := statFile(f); err != nil || !a.version(new(shapeOf(st, p.device))) {
			return false
		}
		same, err := t.store.holds(b.Kept, f)
		if err != nil || !same {
			return false
		}
		e := at(string(it.Name))
		e.Kept, e.known = b.Kept, !fresh(a.CTime)
		return true
	})
}

// holds reports whether a content is that of an opened file, with its attributes.
func (st *store) holds(name string, f *os.File) (bool, error) {
	mine, err := attributes(f)
	if err != nil {
		return false, err
	}
	if name == "" {
		return len(mine) == 0, nil
	}
	k, err := st.dir.openRead(name)
	if err != nil {
		return false, err
	}
	defer k.Close()
	theirs, err := attributes(k)
	if err != nil || !sameAttributes(mine, theirs) {
		return false, err
	}
	return sameContent(f, k)
}

func sameContent(a, b *os.File) (bool, error) {
	x, y := buffers.Get().(*[64 << 10]byte), buffers.Get().(*[64 << 10]byte)
	defer buffers.Put(x)
	defer buffers.Put(y)
	in, with := io.NewSectionReader(a, 0, 1<<62), io.NewSectionReader(b, 0, 1<<62)
	for {
		n, err1 := io.ReadFull(in, x[:])
		m, err2 := io.ReadFull(with, y[:])
		if n != m || string(x[:n]) != string(y[:m]) {
			return false, nil
		}
		if err1 == io.EOF || err1 == io.ErrUnexpectedEOF {
			return err2 == err1, nil
		}
		if err := cmp.Or(err1, err2); err != nil {
			return false, err
		}
	}
}

// record makes a change of what happened while commands ran.
func (t *tracker) record(v view) {
	if len(t.active) == 0 || len(v.items) == 0 {
		return
	}
	c := &entry{ID: t.interval, Time: t.began.UTC(), By: t.by(), Items: v.items, Times: v.times}
	err := t.save(c)
	files := told(t.place, v.items, false)
	for i := range files {
		files[i].tracker = t
	}
	for _, w := range t.active {
		w.report.add(files)
		w.report.Shared = w.report.Shared || len(t.active) > 1
		if err != nil {
			w.note("what it changed in %s can't be undone: %v", shown(t.place.Path), err)
			continue
		}
		w.report.Changes = append(w.report.Changes, c.ID)
	}
}

// advance makes a view the last one.
func (t *tracker) advance(v view) {
	at := index(v.now)
	t.s.mu.Lock()
	for _, it := range v.items {
		if it.Before != nil && it.Before.Kept != "" {
			if e := at(string(it.Name)); e == nil || e.Kept != it.Before.Kept {
				t.store.count(it.Before.Kept, -1, 0)
			}
		}
	}
	t.s.mu.Unlock()
	t.interval = ""
	if len(t.active) > 0 {
		t.began = time.Now()
		t.interval = newID(t.began)
	}
	t.last, t.top = v.now, v.top
	if err := t.log(v.items); err != nil {
		for _, w := range t.active {
			w.note("if Handrail is killed meanwhile, what it changes in %s can't be undone: %v", shown(t.place.Path), err)
		}
	}
}

func newID(at time.Time) string {
	return at.UTC().Format("20060102T150405.000000000") + "-" + strings.ToLower(rand.Text()[:8])
}

// keep keeps the content of every file in a look of which it isn't known.
func (t *tracker) keep(p *visit, now []standing, l *looking) error {
	var need []*standing
	for i := range now {
		if !now[i].known {
			need = append(need, &now[i])
		}
	}
	if need = t.spare(need); len(need) == 0 {
		return nil
	}
	workers := min(4, runtime.GOMAXPROCS(0), len(need))
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for i := range workers {
		mine := need[i*len(need)/workers : (i+1)*len(need)/workers]
		wg.Go(func() { errs[i] = t.keepEach(p, mine, l) })
	}
	wg.Wait()
	return cmp.Or(errs...)
}

// spare leaves the largest files out, where all together are more than can be kept.
func (t *tracker) spare(need []*standing) []*standing {
	if t.store.clones || len(need) == 0 {
		return need
	}
	var sizes []int64
	total := int64(0)
	for _, e := range need {
		if e.Kind == regular && e.Size <= t.s.limits.file {
			sizes = append(sizes, e.Size)
			total += e.Size
		}
	}
	t.s.mu.Lock()
	room := max(0, t.s.limits.bytes/2-t.store.bases)
	t.s.mu.Unlock()
	if total <= room {
		return need
	}
	slices.Sort(sizes)
	largest := int64(0)
	for _, n := range sizes {
		if room -= n; room < 0 {
			break
		}
		largest = n
	}
	return slices.DeleteFunc(need, func(e *standing) bool {
		if e.Kind != regular || e.Size <= largest || e.Size > t.s.limits.file {
			return false
		}
		e.Why = whyNoRoom
		return true
	})
}

func (t *tracker) keepEach(p *visit, need []*standing, l *looking) error {
	c := cursor{top: p.root}
	defer c.back(0)
	for _, e := range need {
		if err := l.over(); err != nil {
			return err
		}
		switch {
		case e.known:
			continue
		case e.Cloud:
			e.Why = whyCloud
			fallthrough
		case e.Why == whyCloud, e.Why == whyDeep, e.Why == whyClosed:
			e.known = true
			continue
		}
		was := e.shape
		e.unlogged = true
		e.Kept, e.Why = "", ""
		t.keepOne(p, &c, e)
		switch {
		case was.Kept == "":
		case e.Kept == "" && e.version(&was):
			e.Kept = was.Kept // better than nothing
		default:
			t.release([]standing{{shape: was}})
		}
	}
	return nil
}

func (t *tracker) keepOne(p *visit, c *cursor, e *standing) {
	e.known = true
	switch e.Kind {
	case directory:
		d, err := c.open(e.name)
		if err != nil {
			e.Why = whyClosed
			return
		}
		e.Attributes, err = attributes(d.File)
		if err != nil || len(e.Attributes) == 0 {
			e.Attributes = nil
		}
	case symlink:
		d, err := c.in(e.name)
		if err != nil {
			e.Why = whyClosed
			return
		}
		target, err := d.readlink(filepath.Base(e.name))
		e.Target = rawName(target)
		if err != nil {
			e.Why = whyFailed
		}
	case regular:
		d, err := c.in(e.name)
		if err != nil {
			e.Why = whyClosed
			return
		}
		t.keepFile(p, d, e)
	}
}

// keepFile keeps the content of a file as it is now, which may be another version than the look found.
func (t *tracker) keepFile(p *visit, d folder, e *standing) {
	for range 3 {
		h, err := d.handle(filepath.Base(e.name))
		if err != nil {
			e.Why = whyClosed
			e.known = !errors.Is(err, os.ErrNotExist)
			return
		}
		st, err := h.stat()
		if err != nil || st.kind != regular {
			h.close()
			break
		}
		e.shape = shapeOf(st, p.device)
		kept, why, known := t.s.put(t.store, h, &e.shape, st.id.device)
		again, err := h.stat()
		h.close()
		e.Kept, e.Why, e.known = kept, why, known
		if why != whyWritten && err == nil && e.version(new(shapeOf(again, p.device))) {
			return
		}
		t.release([]standing{*e})
		e.Kept = ""
	}
	e.Why, e.known = whyWritten, false
}

// storeFor gives the store for a place: ours in the state folder if that is the same volume; else one at the top of the
// place's volume, where this user can make it and nothing granted covers it; else ours again, to which content is copied.
func (s *Snapshots) storeFor(where Place, device uint64) *store {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.stores {
		if st.id.device == device && !inFolder(where.Path, st.path) {
			return st
		}
	}
	top, err := volumeTop(where.Path)
	path := filepath.Join(top, fmt.Sprintf(".handrail-undo-%d-%s.noindex", euid(), s.id))
	if err != nil || inFolder(where.Path, path) || s.granted(path) {
		return s.own
	}
	st, err := openStore(path)
	if err != nil {
		return s.own
	}
	if st.id.device != device || st.load() != nil {
		st.close(true)
		return s.own
	}
	st.sweep()
	s.stores = append(s.stores, st)
	s.saveStores()
	return st
}
