package edit

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"handrail/core/hint"
)

// Undo keeps what edits replaced, so that it can be put back. It is a folder of its own (mode 0700) with one file for
// each change: the old content, shared with the file system's own blocks where it can do that, and then a line that says
// what it was. The nil Undo keeps nothing.
type Undo struct {
	dir   folder
	limit int64
	mu    sync.Mutex
}

// Entry is one change that can be undone. Hashes are SHA-256 in hex; an empty one stands for a file that isn't there.
type Entry struct {
	ID   string    `json:"id"`
	Time time.Time `json:"time"`
	// Folder is the root that was edited in, as its name was; Name is the file in it.
	Folder string `json:"folder"`
	Name   string `json:"name"`
	// Device and Inode are those of the folder that holds the file.
	Device  uint64 `json:"device"`
	Inode   uint64 `json:"inode"`
	OldHash string `json:"old_hash,omitempty"`
	NewHash string `json:"new_hash,omitempty"`
	// By says who made the change; UndoOf names the entry that it undid.
	By     By     `json:"by,omitzero"`
	UndoOf string `json:"undo_of,omitempty"`
	// Mode is the old file's permission bits, NewMode the new one's where they were changed; Size how many bytes were kept.
	Mode    uint32 `json:"mode"`
	NewMode uint32 `json:"new_mode,omitempty"`
	Size    int64  `json:"size"`
	// Link is where a link led that was removed, or was made by undoing that. The hashes are then of it.
	Link string `json:"link,omitempty"`
	// Group names the entries of one patch, Of says how many they are; "" for the change of one file. From is the old path of
	// a file that was renamed.
	Group string `json:"group,omitempty"`
	Of    int    `json:"of,omitempty"`
	From  string `json:"from,omitempty"`
}

// member is the place of a change in a group of changes.
type member struct {
	group   string
	n, of   int
	newMode uint32
	from    string
	link    string
}

const (
	undoSuffix  = ".undo"
	mostEntries = 5000
	// An entry's file ends with its JSON, the length of that in eight hex digits, and a line end.
	lengthDigits = 9
)

// OpenUndo opens the folder of an Undo, making it if it is missing. It must belong to this user and be closed to others.
// limit is how many bytes are kept at most; the oldest go first.
func OpenUndo(dir string, limit int64) (*Undo, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("opening the undo folder: %w", err)
	}
	parent, err := os.Open(filepath.Dir(dir))
	if err != nil {
		return nil, fmt.Errorf("opening the undo folder: %w", err)
	}
	defer parent.Close()
	d, err := folder{parent}.openFolder(filepath.Base(dir))
	if err != nil {
		return nil, fmt.Errorf("opening the undo folder %s: %w", dir, err)
	}
	st, err := statFile(d.File)
	if err == nil && (st.uid != euid() || st.perm&0o077 != 0) {
		err = errors.New("it must belong to this user and have the mode 0700")
	}
	if err != nil {
		d.Close()
		return nil, fmt.Errorf("opening the undo folder %s: %w", dir, err)
	}
	return &Undo{dir: d, limit: limit}, nil
}

// Close lets the folder go. Nothing is kept or restored after it.
func (u *Undo) Close() error { return u.dir.Close() }

// keep stores what r is about to replace in the folder dir. forget takes it out again.
func (t *target) keep(r *Result, dir folder, m member) (forget func(), err error) {
	u := t.options.Undo
	if u == nil {
		return func() {}, nil
	}
	in, err := statFile(dir.File)
	if err != nil {
		return nil, problem("keeping the old text of", t.name, err)
	}
	now := time.Now().UTC()
	e := Entry{
		ID: entryID(now), Time: now, Folder: t.root.Name(), Name: t.name, Device: in.id.device, Inode: in.id.inode,
		OldHash: r.OldHash, NewHash: r.Hash, By: t.options.By, UndoOf: t.options.undoOf, Mode: t.was.perm, NewMode: m.newMode, Size: int64(len(t.content)),
		Link: cmp.Or(t.link, m.link), Group: m.group, Of: m.of, From: m.from,
	}
	if m.group != "" {
		e.ID = fmt.Sprintf("%s.%03d", m.group, m.n)
	}
	if err := u.add(e, t.file, t.content); err != nil {
		return nil, problem("keeping the old text of", t.name, err)
	}
	r.UndoID = e.ID
	return func() { u.dir.remove(e.ID + undoSuffix) }, nil
}

func entryID(now time.Time) string {
	return now.Format("20060102T150405.000000000") + "-" + strings.ToLower(rand.Text()[:8])
}

// groupOf gives the ID of the change that an entry's ID or file name belongs to.
func groupOf(id string) string {
	id = strings.TrimSuffix(id, undoSuffix)
	if at := strings.LastIndexByte(id, '-'); at >= 0 {
		if dot := strings.IndexByte(id[at:], '.'); dot >= 0 {
			return id[:at+dot]
		}
	}
	return id
}

func (u *Undo) add(e Entry, file *os.File, content []byte) error {
	if err := u.fits(e.Size); err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.drop(e.Size, groupOf(e.ID))
	name := e.ID + undoSuffix
	f, err := u.copy(name, file, content)
	if err != nil {
		return err
	}
	defer f.Close()
	tail, err := json.Marshal(e)
	if err == nil {
		_, err = fmt.Fprintf(f, "%s%08x\n", tail, len(tail))
	}
	if err == nil {
		err = errors.Join(f.Sync(), u.dir.flush())
	}
	if err != nil {
		return errors.Join(err, u.dir.remove(name))
	}
	return nil
}

// copy makes a file with the content, ready to be written on.
func (u *Undo) copy(name string, file *os.File, content []byte) (*os.File, error) {
	if file != nil {
		if f, err := u.dir.clone(file, name); err == nil {
			if n, err := f.Seek(0, io.SeekEnd); err == nil && n == int64(len(content)) {
				return f, nil
			}
			f.Close()
			u.dir.remove(name) // the file has changed since it was read
		}
	}
	f, err := u.dir.create(name, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(content); err != nil {
		f.Close()
		return nil, errors.Join(err, u.dir.remove(name))
	}
	return f, nil
}

// fits refuses what can't be kept even if all else is dropped.
func (u *Undo) fits(size int64) error {
	if size > u.limit {
		return hint.New("no_undo", fmt.Sprintf("%d MB are more than can be kept for undo", size>>20)).Then("nothing was written")
	}
	return nil
}

// drop removes the oldest changes, each as a whole, until there is room for one more entry. The change that it belongs to stays.
func (u *Undo) drop(size int64, stays string) {
	names, sizes := u.files()
	total := size
	for _, n := range sizes {
		total += n
	}
	dropped := ""
	for i := 0; i < len(names); i++ {
		group := groupOf(names[i])
		if group != dropped && total <= u.limit && len(names)-i < mostEntries || group == stays {
			break
		}
		dropped = group
		if u.dir.remove(names[i]) == nil {
			total -= sizes[i]
		}
	}
}

// files lists what is kept, the oldest first.
func (u *Undo) files() (names []string, sizes []int64) {
	list, err := u.dir.names(2 * mostEntries)
	if err != nil {
		return nil, nil
	}
	slices.Sort(list)
	for _, n := range list {
		if st, err := u.dir.stat(n); err == nil && st.kind == regular && strings.HasSuffix(n, undoSuffix) {
			names, sizes = append(names, n), append(sizes, st.size)
		}
	}
	return names, sizes
}

// List gives what can be undone, the newest first. What can't be read is left out.
func (u *Undo) List() []Entry {
	var list []Entry
	names, _ := u.files()
	for _, n := range names {
		if e, f, err := u.open(strings.TrimSuffix(n, undoSuffix)); err == nil {
			f.Close()
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b Entry) int { return cmp.Compare(b.ID, a.ID) })
	return list
}

// open reads an entry; its content are the first Size bytes of the file.
func (u *Undo) open(id string) (e Entry, f *os.File, err error) {
	gone := hint.New("not_found", "there is nothing to undo under that name").Because("it was dropped to make room, or never kept")
	if id == "" || strings.ContainsAny(id, "/\x00") {
		return e, nil, gone
	}
	if f, err = u.dir.openRead(id + undoSuffix); err != nil {
		return e, nil, gone.Wrap(err)
	}
	defer func() {
		if err != nil {
			f.Close()
			f, err = nil, gone.Wrap(fmt.Errorf("reading undo entry %s: %w", id, err))
		}
	}()
	st, err := statFile(f)
	if err != nil || st.kind != regular || st.size < lengthDigits || st.size > MaxBytes+1<<20 {
		return e, f, errors.Join(err, errors.New("not an entry"))
	}
	end := make([]byte, lengthDigits)
	if _, err = f.ReadAt(end, st.size-lengthDigits); err != nil {
		return e, f, err
	}
	var n int64
	if _, err = fmt.Sscanf(string(end), "%08x\n", &n); err != nil {
		return e, f, err
	}
	if n < 0 || n > st.size-lengthDigits {
		return e, f, errors.New("a length that can't be")
	}
	tail := make([]byte, n)
	if _, err = f.ReadAt(tail, st.size-lengthDigits-n); err != nil {
		return e, f, err
	}
	if err = json.Unmarshal(tail, &e); err == nil && (e.ID != id || e.Size != st.size-lengthDigits-n) {
		err = errors.New("it says it is another")
	}
	return e, f, err
}

// Old gives the content that the change which id names replaced.
func (u *Undo) Old(id string) ([]byte, error) {
	e, f, err := u.open(id)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return e.old(f)
}

// old reads the content of an entry's file.
func (e Entry) old(f *os.File) ([]byte, error) {
	old := make([]byte, e.Size)
	if _, err := f.ReadAt(old, 0); err != nil && e.Size > 0 {
		return nil, problem("reading the old text of", e.Name, err)
	}
	return old, nil
}

// Restore puts back what stood in a file before the change that id names, if the file is as that change left it; else the
// error is stale. root is the entry's Folder, opened by a caller who may change it. The restoring is a change like any
// other: it can be undone in turn.
func (u *Undo) Restore(root *os.Root, id string) (Result, error) {
	e, f, err := u.open(id)
	if err != nil {
		return Result{}, err
	}
	defer f.Close()
	old, err := e.old(f)
	if err != nil {
		return Result{}, err
	}
	if e.OldHash != "" && hashOf(old) != e.OldHash {
		return Result{}, hint.New("no_undo", "the old text of "+shown(e.Name)+" was damaged").Then("it can't be put back")
	}
	t, err := acquire(root, e.Name, Options{NoLinks: true, Undo: u, By: By{Tool: "undo", Text: e.By.Text}, undoOf: id}, true)
	if err != nil {
		return Result{}, err
	}
	defer t.close()
	since := func(why string) (Result, error) {
		return Result{}, hint.New("stale", shown(e.Name)+" was changed since").Because(why).Then("it was left as it is")
	}
	if e.OldHash != "" {
		if _, ok := obeyed(path.Join(e.Folder, e.Name), standsNow, standsNow); ok {
			return since(whyGit)
		}
	}
	switch {
	case t.parent != identity{e.Device, e.Inode}:
		return since("another folder holds it now")
	case t.file == nil && e.NewHash != "":
		return since("it is gone")
	case t.file != nil && e.NewHash == "":
		return since("it exists again")
	case t.file == nil:
		return t.put(Result{Text: old, Created: true, Replaced: 1}, model{perm: e.Mode})
	}
	if err := t.load(); err != nil {
		return Result{}, err
	}
	if t.oldHash() != e.NewHash {
		return since("it holds another text now")
	}
	if e.OldHash == "" {
		return t.delete()
	}
	var r Result
	before, _, _, err1 := decode(t.content)
	after, _, enc, err2 := decode(old)
	if err1 == nil && err2 == nil {
		r = describe(before, after, replaced(before, after))
	}
	r.Text, r.Encoding, r.Replaced = old, enc, 1
	return t.replace(r)
}

// delete takes the file away, keeping its content for undo.
func (t *target) delete() (Result, error) {
	r := Result{OldHash: t.oldHash(), Name: t.name, Notes: t.notes}
	p := t.removal()
	defer p.abandon()
	if err := t.change(p, &r); err != nil {
		return Result{}, err
	}
	return r, nil
}
