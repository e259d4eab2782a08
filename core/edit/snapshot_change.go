package edit

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"handrail/core/hint"
)

// Change is something that can be undone: what a command changed in one folder between two looks, an edit, or an undo.
type Change struct {
	ID   string
	Time time.Time
	// By names who made it; more than one where commands overlapped.
	By []By
	// Folder is where: absolute.
	Folder string
	// Files are the first MostListed of Count; what a folder holds that came or went is not listed beside it.
	Files []ChangedFile
	Count int
	// Whole says that all of Folder is put back, as it was at Time; Files is empty then.
	Whole bool
	// UndoOf is the change that this one undid.
	UndoOf string
}

// MostListed is how many files a Change lists.
const MostListed = 20

// entry is a Change as it is on the disk.
type entry struct {
	ID     string    `json:"id"`
	Time   time.Time `json:"time"`
	By     []By      `json:"by,omitempty"`
	Place  Place     `json:"place"`
	Store  string    `json:"store,omitempty"` // the path of one on another volume
	Volume bool      `json:"volume,omitempty"`
	UndoOf string    `json:"undo_of,omitempty"`
	// Unfinished marks an undo that has begun: which of its items were done is seen by what stands there.
	Unfinished bool         `json:"unfinished,omitempty"`
	Whole      bool         `json:"whole,omitempty"`
	Items      []item       `json:"items"`
	Times      []folderTime `json:"times,omitempty"`
}

// held is a change that is kept, in short.
type held struct {
	Change
	store *store
	needs []string // names in the store
	busy  bool     // it is being undone, or is an undo that goes on: it stays
}

const (
	changesDir = "changes"
	foldersDir = "folders"
	jsonSuffix = ".json"
)

// where completes a change of a tracker's place.
func (t *tracker) save(c *entry) error {
	c.Place = t.place
	if t.store != t.s.own {
		c.Store = t.store.path
	}
	c.Volume = t.place.Device == t.store.id.device
	return t.s.save(c, t.store)
}

// save writes a change and counts what it needs. One that is there is replaced.
func (s *Snapshots) save(c *entry, st *store) error {
	path := filepath.Join(s.path, changesDir, c.ID+jsonSuffix)
	if err := writeJSON(path, c); err != nil {
		return err
	}
	h := c.held(st)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range h.needs {
		st.count(n, 0, 1)
	}
	if i := slices.IndexFunc(s.changes, func(o *held) bool { return o.ID == c.ID }); i >= 0 {
		for _, n := range s.changes[i].needs {
			st.count(n, 0, -1)
		}
		s.changes[i] = h
		s.room(st, 0)
		return nil
	}
	s.insert(h)
	h.busy = true
	s.room(st, 0)
	h.busy = c.Unfinished
	return nil
}

func (s *Snapshots) insert(h *held) {
	i, _ := slices.BinarySearchFunc(s.changes, h, func(a, b *held) int { return cmp.Compare(a.ID, b.ID) })
	s.changes = slices.Insert(s.changes, i, h)
}

// writeJSON writes a file in one step.
func writeJSON(path string, v any) error {
	f, err := os.OpenFile(path+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 64<<10)
	err = errors.Join(json.NewEncoder(w).Encode(v), w.Flush(), f.Close())
	if err == nil {
		err = os.Rename(path+".tmp", path)
	}
	if err != nil {
		os.Remove(path + ".tmp")
	}
	return err
}

// held is the change in short.
func (c *entry) held(st *store) *held {
	h := &held{store: st, Change: Change{ID: c.ID, Time: c.Time, By: c.By, Folder: c.Place.Path, Whole: c.Whole, UndoOf: c.UndoOf}}
	for _, it := range c.Items {
		if it.Before != nil && it.Before.Kept != "" {
			h.needs = append(h.needs, it.Before.Kept)
		}
	}
	if !c.Whole {
		list := Outermost(told(c.Place, c.Items, c.UndoOf != ""))
		h.Files, h.Count = slices.Clone(list[:min(len(list), MostListed)]), len(list)
	}
	return h
}

// Outermost leaves out what lies in a folder that came or went as a whole; what changed in a Git folder is one change of it.
func Outermost(files []ChangedFile) []ChangedFile {
	var list []ChangedFile
	whole := map[string]How{}
	git := map[string]bool{}
	for _, f := range files {
		if f.Dir && (f.How == Created || f.How == Deleted) {
			whole[f.Name] = f.How
		}
		if i := strings.LastIndexByte(f.Name, '/'); i >= 0 && whole[f.Name[:i]] == f.How {
			continue
		}
		if top, ok := gitFolder(f.Name); ok && top != f.Name {
			if !git[top] && whole[top] == "" {
				list = append(list, ChangedFile{Folder: f.Folder, Name: top, How: Changed, Dir: true})
			}
			git[top] = true
			continue
		}
		list = append(list, f)
	}
	return list
}

// Changes lists what can be undone, the newest first: changes of commands, edits and undos.
func (s *Snapshots) Changes() []Change {
	if s == nil {
		return nil
	}
	<-s.loaded
	s.mu.Lock()
	var list []Change
	for _, h := range s.changes {
		list = append(list, h.Change)
	}
	s.mu.Unlock()
	if s.undo != nil {
		list = append(list, s.undo.changes()...)
	}
	slices.SortFunc(list, func(a, b Change) int { return cmp.Compare(b.ID, a.ID) })
	return list
}

// change tells of an edit as of any change.
func (e Entry) change() Change {
	f := ChangedFile{Folder: e.Folder, Name: e.Name, How: Changed}
	switch {
	case e.OldHash == "":
		f.How = Created
	case e.NewHash == "":
		f.How = Deleted
	}
	return Change{ID: e.ID, Time: e.Time, By: []By{e.By}, Folder: e.Folder, Files: []ChangedFile{f}, Count: 1, UndoOf: e.UndoOf}
}

// read reads a change from the disk.
func (s *Snapshots) read(id string) (*entry, error) {
	b, err := os.ReadFile(filepath.Join(s.path, changesDir, id+jsonSuffix))
	if err != nil {
		return nil, err
	}
	c := new(entry)
	if err := json.Unmarshal(b, c); err != nil {
		return nil, fmt.Errorf("reading change %s: %w", id, err)
	}
	if c.ID != id || id == "" {
		return nil, fmt.Errorf("reading change %s: it says it is %q", id, c.ID)
	}
	return c, nil
}

// discard forgets a change and what only it needs.
func (s *Snapshots) discard(i int) {
	h := s.changes[i]
	s.changes = slices.Delete(s.changes, i, i+1)
	os.Remove(filepath.Join(s.path, changesDir, h.ID+jsonSuffix))
	for _, n := range h.needs {
		h.store.count(n, 0, -1)
	}
}

// room makes room for n bytes more by dropping what is kept for commands to come in folders where none runs, and then
// the oldest changes. It reports whether there is room. Snapshots.mu is held.
func (s *Snapshots) room(st *store, n int64) bool {
	for len(s.changes) > s.limits.changes && s.dropOldest(nil) {
	}
	for st.used+n > s.limits.bytes {
		if !s.dropIdle(st) && !s.dropOldest(st) {
			return false
		}
	}
	if n == 0 {
		return true
	}
	free, err := st.dir.free()
	return err != nil || free-n >= s.limits.reserve
}

// roomForBase is room for what stands in a folder now, which may take up half of a store.
func (s *Snapshots) roomForBase(st *store, n int64) bool {
	for st.bases+n > s.limits.bytes/2 {
		if !s.dropIdle(st) {
			return false
		}
	}
	return s.room(st, n)
}

func (s *Snapshots) dropIdle(st *store) bool {
	var list []*tracker
	for _, t := range s.trackers {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b *tracker) int { return cmp.Compare(a.used, b.used) })
	return slices.ContainsFunc(list, func(t *tracker) bool { return t.forget(st) })
}

func (s *Snapshots) dropOldest(st *store) bool {
	for i, h := range s.changes {
		if !h.busy && (st == nil || h.store == st) {
			s.discard(i)
			return true
		}
	}
	return false
}

var errNoChange = hint.New("not_found", "there is nothing to undo under that name").Because("it was dropped to make room, or never kept")

// journal is a tracker's last look on the disk, so that what was kept can be found when the process is killed: a line of
// JSON for each name, and one each time that another interval begins.
type journal struct {
	f     *os.File
	lines int
}

type journalLine struct {
	Place    *Place    `json:"place,omitempty"`
	Store    string    `json:"store,omitempty"`
	Name     rawName   `json:"name,omitempty"`
	Shape    *shape    `json:"shape,omitempty"` // nil: nothing stands at Name any more
	Interval *string   `json:"interval,omitempty"`
	By       []By      `json:"by,omitempty"`
	Time     time.Time `json:"time,omitzero"`
}

func (j *journal) remove() {
	if j != nil {
		os.Remove(j.f.Name())
		j.f.Close()
	}
}

// log brings the journal up to date. items are what differs from the look before.
func (t *tracker) log(items []item) error {
	if t.journal == nil || t.journal.lines > 1000+4*len(t.last) {
		return t.relog()
	}
	var b strings.Builder
	w := json.NewEncoder(&b)
	lines := 0
	line := func(l journalLine) error {
		lines++
		return w.Encode(l)
	}
	at := index(t.last)
	for _, it := range items {
		l := journalLine{Name: it.Name}
		if e := at(string(it.Name)); e != nil {
			l.Shape = &e.shape
		}
		if err := line(l); err != nil {
			return err
		}
	}
	for i := range t.last { // what was learned only now, of names that didn't change
		if e := &t.last[i]; e.unlogged {
			e.unlogged = false
			if err := line(journalLine{Name: rawName(e.name), Shape: &e.shape}); err != nil {
				return err
			}
		}
	}
	if err := line(journalLine{Interval: &t.interval, By: t.by(), Time: t.began}); err != nil {
		return err
	}
	t.journal.lines += lines
	_, err := t.journal.f.WriteString(b.String())
	return err
}

// relog writes the journal anew.
func (t *tracker) relog() error {
	path := filepath.Join(t.s.path, foldersDir, newID(time.Now())+".jsonl")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(f, 64<<10)
	w := json.NewEncoder(b)
	l := journalLine{Place: &t.place}
	if t.store != t.s.own {
		l.Store = t.store.path
	}
	err = w.Encode(l)
	for i := range t.last {
		if err == nil {
			err = w.Encode(journalLine{Name: rawName(t.last[i].name), Shape: &t.last[i].shape})
			t.last[i].unlogged = false
		}
	}
	if err == nil {
		err = w.Encode(journalLine{Interval: &t.interval, By: t.by(), Time: t.began})
	}
	err = errors.Join(err, b.Flush())
	if err != nil {
		f.Close()
		os.Remove(path)
		return err
	}
	t.journal.remove()
	t.journal = &journal{f: f, lines: len(t.last)}
	return nil
}
