package edit

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const storesFile = "volumes" + jsonSuffix

// load reads what is kept, and puts in order what a process that was killed left behind.
func (s *Snapshots) load() {
	s.mu.Lock()
	s.own.load()
	s.loadStores()
	unfinished := s.loadChanges()
	s.mu.Unlock()
	for _, c := range unfinished {
		s.finish(c)
	}
	s.recoverAll()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.stores {
		st.sweep()
	}
	s.room(s.own, 0)
}

// loadStores opens our stores on other volumes. The volume of one that isn't there may come back.
func (s *Snapshots) loadStores() {
	var paths []string
	if b, err := os.ReadFile(filepath.Join(s.path, storesFile)); err == nil && json.Unmarshal(b, &paths) != nil {
		paths = nil
	}
	for _, path := range paths {
		if _, err := statPath(path); err != nil {
			s.missing = append(s.missing, path)
			continue
		}
		st, err := openStore(path)
		if err != nil {
			s.missing = append(s.missing, path)
			continue
		}
		st.load()
		s.stores = append(s.stores, st)
	}
}

// saveStores writes which stores there are on other volumes. After an error a store is found again when its volume's
// folder is used.
func (s *Snapshots) saveStores() {
	list := s.missing
	for _, st := range s.stores {
		if _, err := statPath(st.path); st != s.own && err == nil {
			list = append(list, st.path)
		}
	}
	_ = writeJSON(filepath.Join(s.path, storesFile), list)
}

// storeAt gives a store by the path that a change has of it; nil if its volume isn't there.
func (s *Snapshots) storeAt(path string) *store {
	if path == "" {
		return s.own
	}
	i := slices.IndexFunc(s.stores, func(st *store) bool { return st.path == path })
	if i < 0 {
		return nil
	}
	return s.stores[i]
}

// loadChanges reads the changes, and gives those undos that didn't end.
func (s *Snapshots) loadChanges() (unfinished []*entry) {
	entries, err := os.ReadDir(filepath.Join(s.path, changesDir))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), jsonSuffix)
		c, err := s.read(id)
		if !ok || err != nil { // torn, or not ours
			os.Remove(filepath.Join(s.path, changesDir, e.Name()))
			continue
		}
		h := c.held(s.storeAt(c.Store))
		for _, n := range h.needs {
			h.store.count(n, 0, 1)
		}
		s.insert(h)
		if c.Unfinished {
			unfinished = append(unfinished, c)
		}
	}
	return unfinished
}

// finish ends an undo that was cut off: what it didn't come to is taken out of it.
func (s *Snapshots) finish(c *entry) {
	st := s.storeAt(c.Store)
	if st == nil {
		return
	}
	root, device, err := c.open(st)
	if err != nil {
		return
	}
	defer root.Close()
	at := cursor{top: root}
	defer at.back(0)
	var done []item
	for _, it := range c.Items {
		now := standsAt(&at, string(it.Name), device)
		switch {
		case now != nil && it.Before != nil && it.Before.alike(now):
			if it.Before.Kept != "" { // the second name of the file that stands
				st.dir.remove(it.Before.Kept)
			}
		case now == nil && it.Before == nil:
		default:
			if now != nil && it.After != nil && it.After.alike(now) {
				it.After = now
			}
			done = append(done, it)
		}
	}
	c.Items, c.Unfinished = done, false
	if len(done) > 0 && s.save(c, st) == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.changes, func(h *held) bool { return h.ID == c.ID }); i >= 0 {
		s.discard(i)
	}
}

// standsAt tells what stands at a name now; nil: nothing.
func standsAt(c *cursor, name string, device uint64) *shape {
	d, err := c.in(name)
	if err != nil {
		return nil
	}
	st, err := d.stat(filepath.Base(name))
	if err != nil {
		return nil
	}
	return new(shapeOf(st, device))
}

// open opens the folder of a change, if it is still the same. Volumes get another number each time that they come.
func (c *entry) open(st *store) (folder, uint64, error) {
	p := c.Place
	if c.Volume {
		p.Device = st.id.device
	}
	return p.open()
}

// recoverAll makes changes of the commands that ran when the process was killed.
func (s *Snapshots) recoverAll() {
	dir := filepath.Join(s.path, foldersDir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	seen := make(map[Place]bool)
	for _, e := range slices.Backward(entries) { // the newest first: an older one of the same place was being replaced
		path := filepath.Join(dir, e.Name())
		b, err := readJournal(path)
		if err == nil && !seen[b.place] {
			seen[b.place] = true
			if s.recover(b) != nil {
				continue // its volume isn't there: another time
			}
		}
		os.Remove(path)
	}
}

// base is what a journal says.
type base struct {
	place    Place
	store    string
	list     []standing
	interval string
	by       []By
	began    time.Time
}

// readJournal reads a journal up to a line that was cut off.
func readJournal(path string) (*base, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := new(base)
	names := make(map[string]*shape)
	in := bufio.NewReaderSize(f, 64<<10)
	for {
		text, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		var l journalLine
		if json.Unmarshal(text, &l) != nil {
			break
		}
		switch {
		case l.Place != nil:
			b.place, b.store = *l.Place, l.Store
		case l.Interval != nil:
			b.interval, b.by, b.began = *l.Interval, l.By, l.Time
		case l.Shape == nil:
			delete(names, string(l.Name))
		default:
			names[string(l.Name)] = l.Shape
		}
	}
	if b.place == (Place{}) {
		return nil, errors.New("no journal")
	}
	for n, s := range names {
		b.list = append(b.list, standing{name: n, shape: *s})
	}
	slices.SortFunc(b.list, func(x, y standing) int { return compareNames(x.name, y.name) })
	return b, nil
}

// recover makes the change of a journal's last interval, if a command ran then. An error says to try again later.
func (s *Snapshots) recover(b *base) error {
	if b.interval == "" {
		return nil
	}
	if _, err := os.Stat(filepath.Join(s.path, changesDir, b.interval+jsonSuffix)); err == nil {
		return nil
	}
	st := s.storeAt(b.store)
	if st == nil {
		return fs.ErrNotExist
	}
	c := &entry{ID: b.interval, Time: b.began.UTC(), By: b.by, Place: b.place, Store: b.store, Volume: b.place.Device == st.id.device}
	root, device, err := c.open(st)
	if err != nil {
		return nil // nothing can be put back there any more
	}
	defer root.Close()
	t := &tracker{s: s, place: b.place, store: st, last: b.list}
	v, err := t.view(&visit{root: root, device: device}, &looking{most: 2 * s.limits.startFiles, deadline: time.Now().Add(s.limits.endTime)})
	if err != nil {
		c.Whole = true
		for i := range b.list {
			c.Items = append(c.Items, item{Name: rawName(b.list[i].name), Before: &b.list[i].shape})
		}
	} else if c.Items = v.items; len(v.items) == 0 {
		return nil
	}
	for _, it := range v.times {
		if it.Name != "." {
			c.Times = append(c.Times, it)
		}
	}
	err = s.save(c, st)
	if err != nil { // it is needed next time
		s.mu.Lock()
		defer s.mu.Unlock()
		for i := range b.list {
			st.count(b.list[i].Kept, 1, 0)
		}
	}
	return err
}
