package edit

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// shape is what stands at a name: what a stat tells, and what is kept of it.
type shape struct {
	Kind kind   `json:"kind"`
	Perm uint32 `json:"perm,omitempty"`
	// Device is that of another volume which is mounted in the folder; 0 is the folder's own.
	Device uint64 `json:"device,omitempty"`
	Inode  uint64 `json:"inode"` // 0: not known
	Links  uint64 `json:"links,omitempty"`
	Size   int64  `json:"size,omitempty"`
	MTime  int64  `json:"mtime"`
	CTime  int64  `json:"ctime"`
	UID    uint32 `json:"uid,omitempty"`
	GID    uint32 `json:"gid,omitempty"`
	// Cloud marks a placeholder: the content is elsewhere, and reading it would fetch it.
	Cloud bool `json:"cloud,omitempty"`
	// Target is where a link leads; Attributes are a folder's extended attributes.
	Target     rawName           `json:"target,omitempty"`
	Attributes map[string][]byte `json:"attributes,omitempty"`
	// Kept names the content in the store; Why says why it is not there, or not surely whole.
	Kept string `json:"kept,omitempty"`
	Why  string `json:"why,omitempty"`
}

// rawName is a name as the file system has it. In JSON one that isn't UTF-8 is a NUL, which no name has, and base64.
type rawName string

func (n rawName) MarshalText() ([]byte, error) {
	if utf8.ValidString(string(n)) {
		return []byte(n), nil
	}
	return append([]byte{0}, base64.StdEncoding.EncodeToString([]byte(n))...), nil
}

func (n *rawName) UnmarshalText(text []byte) error {
	if coded, ok := bytes.CutPrefix(text, []byte{0}); ok {
		raw, err := base64.StdEncoding.DecodeString(string(coded))
		*n = rawName(raw)
		return err
	}
	*n = rawName(text)
	return nil
}

var kindWords = [...]string{"", "file", "folder", "link", "fifo", "socket", "device"}

func (k kind) MarshalText() ([]byte, error) { return []byte(kindWords[k]), nil }

func (k *kind) UnmarshalText(text []byte) error {
	i := slices.Index(kindWords[:], string(text))
	if i < 0 {
		return fmt.Errorf("no kind of file: %q", text)
	}
	*k = kind(i)
	return nil
}

func shapeOf(i info, device uint64) shape {
	s := shape{Kind: i.kind, Perm: i.perm, Inode: i.id.inode, Links: i.links, Size: i.size, MTime: i.mtime, CTime: i.ctime, UID: i.uid, GID: i.gid, Cloud: i.cloud}
	if i.id.device != device {
		s.Device = i.id.device
	}
	if s.Kind == directory { // neither says anything that could be put back
		s.Size, s.Links = 0, 0
	}
	return s
}

// version reports whether t is s, with the same content, as far as a stat can tell. No program can choose a ctime.
func (s *shape) version(t *shape) bool {
	return s.Kind == t.Kind && s.Inode == t.Inode && s.Device == t.Device && s.Size == t.Size && s.MTime == t.MTime && s.CTime == t.CTime
}

// alike reports whether t looks like s but for its ctime, which also another name or an extended attribute changes.
func (s *shape) alike(t *shape) bool {
	if s.Kind != t.Kind || s.Perm != t.Perm || s.UID != t.UID || s.GID != t.GID || s.Inode != t.Inode && s.Inode != 0 || s.Device != t.Device {
		return false
	}
	switch s.Kind {
	case directory:
		return true
	case symlink:
		return s.MTime == t.MTime
	}
	return s.Size == t.Size && s.MTime == t.MTime
}

// again reports whether t looks like s, or like s put back: with another inode.
func (s *shape) again(t *shape) bool {
	u := *s
	u.Inode = 0
	return u.alike(t)
}

// differs reports whether something changed from s to t that can be put back.
func (s *shape) differs(t *shape) bool {
	if s.Kind == directory {
		return !s.alike(t)
	}
	return !s.alike(t) || s.CTime != t.CTime
}

// standing is one name in a folder, with "/" between its elements. The name of the folder itself is not among them.
type standing struct {
	name string
	shape
	// known says that what the shape tells of the content (Kept, Why, Target, Attributes) is about this very version.
	known bool
	// unlogged says that the journal doesn't have it yet.
	unlogged bool
}

// compareNames orders names as a walk meets them: a folder right before what it holds.
func compareNames(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if x, y := a[i], b[i]; x != y {
			switch {
			case x == '/':
				return -1
			case y == '/':
				return 1
			}
			return cmp.Compare(x, y)
		}
	}
	return cmp.Compare(len(a), len(b))
}

// looking is one look at a folder. It follows no link and fetches no placeholder, and it leaves out the temporary files of
// the edits that go on meanwhile.
type looking struct {
	device   uint64
	most     int       // how many names at most
	deadline time.Time // zero: none
	stop     func() error
	names    atomic.Int64
	workers  chan struct{}
}

var (
	errTooMany = errors.New("it holds too many files")
	errTooSlow = errors.New("looking through it takes too long")
)

// deepest is how many folders within one another are looked into. What lies deeper is said to be left out.
const deepest = 200

const (
	whyDeep   = "too many folders within one another"
	whyClosed = "it can't be read"
	whyCloud  = "it is in the cloud only"
)

// branch is a folder's part of a look: what it holds, and for each folder in it another branch.
type branch struct {
	list []standing
	sub  map[int]*branch
}

// look lists what stands in a folder, in the order of compareNames.
func (l *looking) look(d folder) ([]standing, error) {
	l.workers = make(chan struct{}, 3)
	b, err := l.branch(d, "", 0)
	if err != nil {
		return nil, err
	}
	return b.flat(make([]standing, 0, l.names.Load())), nil
}

func (b *branch) flat(list []standing) []standing {
	if len(b.sub) == 0 {
		return append(list, b.list...)
	}
	for i := range b.list {
		list = append(list, b.list[i])
		if sub := b.sub[i]; sub != nil {
			list = sub.flat(list)
		}
	}
	return list
}

func (l *looking) branch(d folder, prefix string, depth int) (*branch, error) {
	names, err := d.Readdirnames(-1)
	if errors.Is(err, fs.ErrNotExist) && prefix != "" {
		return new(branch), nil // it was removed while it was open
	}
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	if l.names.Add(int64(len(names))) > int64(l.most) {
		return nil, errTooMany
	}
	b := &branch{list: make([]standing, 0, len(names))}
	var below sync.WaitGroup
	errs := make(chan error, len(names))
	for i, n := range names {
		if i%256 == 0 {
			if err := l.over(); err != nil {
				errs <- err
				break
			}
		}
		if ours(n) {
			continue
		}
		st, err := d.stat(n)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it went meanwhile
		}
		if err != nil { // the folder may be listed and not entered
			b.list = append(b.list, standing{name: prefix + n, shape: shape{Why: whyClosed}})
			continue
		}
		b.list = append(b.list, standing{name: prefix + n, shape: shapeOf(st, l.device)})
		if st.kind != directory {
			continue
		}
		at := len(b.list) - 1
		s := &b.list[at].shape
		switch {
		case st.cloud:
			s.Why = whyCloud
			continue
		case depth == deepest:
			s.Why = whyDeep
			continue
		}
		sub, err := d.openFolder(n)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				b.list = b.list[:at]
				continue
			}
			s.Why = whyClosed
			continue
		}
		holder := new(branch)
		if b.sub == nil {
			b.sub = make(map[int]*branch)
		}
		b.sub[at] = holder
		into := func() {
			defer sub.Close()
			found, err := l.branch(sub, prefix+n+"/", depth+1)
			if err != nil {
				errs <- err
				return
			}
			*holder = *found
		}
		select {
		case l.workers <- struct{}{}:
			below.Go(func() { into(); <-l.workers })
		default:
			into()
		}
	}
	below.Wait()
	select {
	case err := <-errs:
		return nil, err
	default:
		return b, nil
	}
}

// over says why looking must end.
func (l *looking) over() error {
	if l.stop != nil {
		if err := l.stop(); err != nil {
			return err
		}
	}
	if !l.deadline.IsZero() && time.Now().After(l.deadline) {
		return errTooSlow
	}
	return nil
}

// item is one name that changed. Nil: nothing stands there.
type item struct {
	Name   rawName `json:"name"`
	Before *shape  `json:"before,omitempty"`
	After  *shape  `json:"after,omitempty"`
}

// folderTime is when a folder was last changed that was changed only in what it holds; "." is the top.
type folderTime struct {
	Name   rawName `json:"name"`
	Before int64   `json:"before"`
	After  int64   `json:"after"`
}

// since gives what differs between two looks. What the first knows of names that are as they were goes over to the second.
func since(before, after []standing) (items []item, times []folderTime) {
	i, j := 0, 0
	for i < len(before) || j < len(after) {
		order := 0
		switch {
		case i == len(before):
			order = 1
		case j == len(after):
			order = -1
		case before[i].name != after[j].name:
			order = compareNames(before[i].name, after[j].name)
		}
		switch {
		case order < 0:
			items = append(items, item{Name: rawName(before[i].name), Before: new(before[i].shape)})
			i++
		case order > 0:
			items = append(items, item{Name: rawName(after[j].name), After: new(after[j].shape)})
			j++
		default:
			b, a := &before[i], &after[j]
			if b.version(&a.shape) {
				a.Kept, a.Target, a.Attributes, a.known = b.Kept, b.Target, b.Attributes, b.known
				a.Why = cmp.Or(a.Why, b.Why)
			}
			if b.differs(&a.shape) {
				items = append(items, item{Name: rawName(b.name), Before: new(b.shape), After: new(a.shape)})
			} else if b.Kind == directory && b.MTime != a.MTime {
				times = append(times, folderTime{rawName(b.name), b.MTime, a.MTime})
			}
			i, j = i+1, j+1
		}
	}
	return items, times
}

// How says what happened to a file.
type How string

const (
	Created How = "created"
	Changed How = "changed"
	Deleted How = "deleted"
	Renamed How = "renamed"
)

// ChangedFile is one name in a folder that was changed.
type ChangedFile struct {
	Folder string // absolute
	Name   string // in the folder; "" is the file that Folder itself names
	How    How
	From   string // the old name, of one that was renamed
	Dir    bool   // it is, or was, a folder
	// Executable says that it may be run now and couldn't before.
	Executable bool
	// Lost says why what stood there can't be put back; "" where it can.
	Lost string

	before  *shape
	tracker *tracker
}

// Path is the file's absolute path.
func (f ChangedFile) Path() string { return path.Join(f.Folder, f.Name) }

// told turns items into what a person is told. What a command renamed is told of as that, without what a folder holds; an
// undo renames nothing, but a file that it makes may get the inode of one that it took away.
func told(where Place, items []item, undo bool) []ChangedFile {
	var from map[string]string
	var moved map[string]bool
	if !undo {
		from, moved = renames(items)
	}
	var list []ChangedFile
	for _, it := range items {
		f := ChangedFile{Folder: where.Path, Name: string(it.Name), before: it.Before}
		if where.File {
			f.Name = ""
		}
		switch {
		case it.After == nil && moved[f.Name]:
			continue
		case it.Before == nil && it.After == nil:
			continue
		case it.After == nil:
			f.How = Deleted
		case it.Before == nil:
			f.How = Created
			if old, ok := from[f.Name]; ok {
				f.How, f.From = Renamed, old
				parent, was := path.Dir(f.Name), path.Dir(old)
				if path.Base(f.Name) == path.Base(old) && from[parent] == was && parent != "." {
					continue // its folder was renamed
				}
			}
		default:
			f.How = Changed
		}
		if it.After != nil {
			f.Dir = it.After.Kind == directory
			f.Executable = f.How != Renamed && it.After.Kind == regular && it.After.Perm&0o111 != 0 && (it.Before == nil || it.Before.Perm&0o111 == 0)
		} else {
			f.Dir = it.Before.Kind == directory
		}
		if it.Before != nil {
			f.Lost = it.Before.lost()
		}
		list = append(list, f)
	}
	return list
}

// renames finds new names of what had another: the same inode, and the same size and times. A folder's time changes with
// what it holds, so there it is enough that something in it went along.
func renames(items []item) (from map[string]string, moved map[string]bool) {
	gone := make(map[uint64]*item)
	for i := range items {
		if it := &items[i]; it.Before != nil && it.After == nil {
			gone[it.Before.Inode] = it
		}
	}
	from, moved = make(map[string]string), make(map[string]bool)
	folders := make(map[string]string) // from new to old, of those in which something went along
	for _, it := range slices.Backward(items) {
		if it.After == nil || it.Before != nil {
			continue
		}
		old := gone[it.After.Inode]
		if old == nil || old.Before.Kind != it.After.Kind || old.Before.Size != it.After.Size {
			continue
		}
		name, was := string(it.Name), string(old.Name)
		if old.Before.MTime == it.After.MTime || it.After.Kind == directory && folders[name] == was {
			from[name], moved[was] = was, true
			folders[path.Dir(name)] = path.Dir(was)
		}
	}
	return from, moved
}

// lost says why a shape can't be put back.
func (s *shape) lost() string {
	switch s.Kind {
	case regular:
		if s.Kept == "" && s.Why == "" && s.Size > 0 {
			return "its content was not kept"
		}
		return s.Why
	case fifo, socket, device:
		return "it is " + s.Kind.String()
	case unknown:
		return whyClosed
	}
	return s.Why
}

// cursor opens the folders of a tree one after another, from the top by their names and through no link.
type cursor struct {
	top   folder
	names []string
	stack []folder
}

// in opens the folder that holds name. It is closed by the cursor.
func (c *cursor) in(name string) (folder, error) { return c.open(path.Dir(name)) }

// open opens a folder by its name; "." is the top.
func (c *cursor) open(name string) (folder, error) {
	var want []string
	if name != "." {
		want = strings.Split(name, "/")
	}
	same := 0
	for same < len(want) && same < len(c.names) && want[same] == c.names[same] {
		same++
	}
	c.back(same)
	for _, n := range want[same:] {
		d, err := c.here().openFolder(n)
		if err != nil {
			return folder{}, err
		}
		c.names, c.stack = append(c.names, n), append(c.stack, d)
	}
	return c.here(), nil
}

func (c *cursor) here() folder {
	if len(c.stack) == 0 {
		return c.top
	}
	return c.stack[len(c.stack)-1]
}

// back goes up until only n folders below the top are open.
func (c *cursor) back(n int) {
	for len(c.stack) > n {
		c.stack[len(c.stack)-1].Close()
		c.names, c.stack = c.names[:len(c.names)-1], c.stack[:len(c.stack)-1]
	}
}

// sameAttributes compares two files' extended attributes.
func sameAttributes(a, b map[string][]byte) bool {
	return maps.EqualFunc(a, b, bytes.Equal)
}
