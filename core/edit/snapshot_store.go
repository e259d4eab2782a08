package edit

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// store is a folder of ours that holds kept content, a file for each version of a file. Its maps belong to Snapshots.mu.
type store struct {
	path   string
	dir    folder
	id     identity
	clones bool // the volume makes copies that share their blocks
	kept   map[string]*content
	used   int64
	bases  int64 // of used: what is there only because it stands in a folder now
}

// content is one file of a store.
type content struct {
	size   int64
	shared bool // it was cloned: while the file that it was cloned from stands, it takes no room
	// bases counts the folders in which this version stands, changes the changes that need it.
	bases, changes int
}

// takes is how many bytes the content counts for.
func (c *content) takes() int64 {
	if c.shared && c.bases > 0 {
		return 0
	}
	return c.size
}

// openStore opens the folder of a store, making it if it is missing. It must belong to this user and be closed to others.
// It is kept out of backups and searches: what it holds is elsewhere, or was meant to be gone.
func openStore(path string) (*store, error) {
	dir, err := openOwn(path)
	if err != nil {
		return nil, err
	}
	st := &store{path: path, dir: dir, kept: make(map[string]*content)}
	id, err := statFile(dir.File)
	if err != nil {
		dir.Close()
		return nil, err
	}
	st.id = id.id
	for name, text := range marks {
		if f, err := dir.create(name, 0o600); err == nil {
			_, err = f.WriteString(text)
			f.Close()
			if err != nil {
				dir.Close()
				return nil, err
			}
		}
	}
	_ = excludeFromBackup(dir) // a volume without extended attributes
	st.clones = st.tryClone()
	return st, nil
}

// marks are files that tell programs to pass a folder by: backup programs on Linux (https://bford.info/cachedir/), and
// Spotlight. A folder named *.noindex is passed by Spotlight as well.
var marks = map[string]string{
	"CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n# Handrail keeps here what commands replaced, so that it can be put back.\n",
	neverIndex:     "",
}

const neverIndex = ".metadata_never_index"

// excluded is the value of the attribute that keeps a file out of Time Machine: the string "com.apple.backupd" as a
// binary property list (CFBinaryPList.c: header, object, offset table, trailer).
func excluded() []byte {
	const word = "com.apple.backupd"
	b := []byte("bplist00")
	at := len(b)
	b = append(b, 0x5f, 0x10, byte(len(word)))
	b = append(b, word...)
	table := len(b)
	b = append(b, byte(at))
	b = append(b, 0, 0, 0, 0, 0, 0, 1, 1)
	for _, n := range []int{1, 0, table} { // objects, the top one, where the table is
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	return b
}

// openOwn opens a folder that only this user may use, making it if it is missing.
func openOwn(path string) (folder, error) {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return folder{}, err
	}
	d, err := openPath(path)
	if err != nil {
		return folder{}, err
	}
	st, err := statFile(d.File)
	if err == nil && (st.uid != euid() || st.perm&0o077 != 0) {
		err = fmt.Errorf("opening %s: it must belong to this user and have the mode 0700", path)
	}
	if err != nil {
		d.Close()
		return folder{}, err
	}
	return d, nil
}

func (st *store) tryClone() bool {
	const probe = "probe"
	defer st.dir.remove(probe)
	f, err := st.dir.create(probe, 0o600)
	if err != nil {
		return false
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, 4096)); err != nil {
		return false
	}
	c, err := st.dir.clone(f, probe+"2")
	if err != nil {
		return false
	}
	c.Close()
	st.dir.remove(probe + "2")
	return true
}

// close lets the store go, and removes it where it is empty and not in our own state folder.
func (st *store) close(elsewhere bool) error {
	if elsewhere && len(st.kept) == 0 {
		for name := range marks {
			st.dir.remove(name)
		}
		os.Remove(st.path) // fails where something is in it
	}
	return st.dir.Close()
}

// load lists what the store holds. What nothing counts on is removed by sweep.
func (st *store) load() error {
	names, err := st.dir.names(-1)
	if err != nil {
		return err
	}
	for _, n := range names {
		if _, ours := marks[n]; ours {
			continue
		}
		if info, err := st.dir.stat(n); err == nil {
			st.kept[n] = &content{size: info.size}
			st.used += info.size
		}
	}
	return nil
}

// sweep removes what nothing counts on: left behind by a process that was killed, or no longer of use.
func (st *store) sweep() {
	for n, c := range st.kept {
		if c.bases == 0 && c.changes == 0 {
			st.drop(n, c)
		}
	}
}

func (st *store) drop(name string, c *content) {
	st.used -= c.takes()
	st.bases -= c.onlyBase()
	delete(st.kept, name)
	st.dir.remove(name)
}

func (c *content) onlyBase() int64 {
	if c.changes == 0 {
		return c.takes()
	}
	return 0
}

// count changes how much counts on a content, and removes one on which nothing counts any more.
func (st *store) count(name string, bases, changes int) {
	if st == nil { // on a volume that isn't there
		return
	}
	c := st.kept[name]
	if name == "" || c == nil {
		return
	}
	st.used -= c.takes()
	st.bases -= c.onlyBase()
	c.bases += bases
	c.changes += changes
	st.used += c.takes()
	st.bases += c.onlyBase()
	if c.bases <= 0 && c.changes <= 0 {
		st.drop(name, c)
	}
}

// add registers a content that is on the disk now.
func (st *store) add(name string, c *content) {
	st.kept[name] = c
	st.used += c.takes()
	st.bases += c.onlyBase()
}

// Reasons for which a content isn't kept.
const (
	whyLarge   = "it is too large to be kept"
	whyNoRoom  = "there is no room to keep it"
	whyFull    = "the disk is full"
	whyWritten = "it was being written to"
	whyFailed  = "it could not be kept"
	whyFlawed  = "its extended attributes could not be kept"
)

// granule is how far apart two changes of a file may be and still have the same time: ticks of the kernel, or whole
// seconds where the file system counts those.
func granule(ctime int64) time.Duration {
	if ctime%int64(time.Second) == 0 {
		return 2100 * time.Millisecond
	}
	return 20 * time.Millisecond
}

// fresh reports whether a file was changed so shortly ago that another change might not show in its times.
func fresh(ctime int64) bool {
	d := time.Since(time.Unix(0, ctime))
	return d < granule(ctime) && d > -granule(ctime)
}

// unused gives a name that no content has.
func unused(prefix string) string { return prefix + strings.ToLower(rand.Text()) }

// put keeps the content of an opened file that a stat described, for the base of a folder. A version that is there
// already costs nothing. known is false where the file changed so shortly before that it must be kept again.
func (s *Snapshots) put(st *store, h handle, was *shape, device uint64) (kept, why string, known bool) {
	plain := h.plain()
	if known = !fresh(was.CTime); plain && was.Size == 0 {
		return "", "", known
	}
	name := versionName(device, was)
	if !known {
		name = unused("f-")
	}
	defer hold(lockKey{parent: st.id, name: name})() // two folders may hold the same file
	s.mu.Lock()
	if st.kept[name] != nil {
		st.count(name, 1, 0)
		s.mu.Unlock()
		return name, "", known
	}
	if !st.clones {
		switch {
		case was.Size > s.limits.file:
			why = whyLarge
		case !s.roomForBase(st, was.Size):
			why = whyNoRoom
		}
	}
	s.mu.Unlock()
	if why != "" {
		return "", why, known
	}
	shared, err := st.takeHandle(h, name, was.Size, plain)
	if errors.Is(err, errFlawed) {
		why = whyFlawed
	} else if err != nil {
		return "", because(err), known && !errors.Is(err, errMoved)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st.add(name, &content{size: was.Size, shared: shared, bases: 1})
	return name, why, known
}

// versionName names a version of a file: no two have one name.
func versionName(device uint64, s *shape) string {
	b := make([]byte, 0, 80)
	for _, n := range [...]uint64{device, s.Inode, uint64(s.Size), uint64(s.MTime), uint64(s.CTime)} {
		b = append(strconv.AppendUint(b, n, 36), '-')
	}
	return string(b[:len(b)-1])
}

// takeHandle is take for a file that the runtime doesn't know of; a small and plain one is copied at once.
func (st *store) takeHandle(h handle, name string, size int64, plain bool) (shared bool, err error) {
	buf := buffers.Get().(*[64 << 10]byte)
	defer buffers.Put(buf)
	if plain && !st.clones && size < int64(len(buf)) {
		n, err := h.read(buf[:size+1])
		if err == nil && int64(n) != size {
			err = errMoved
		}
		if err != nil {
			return false, err
		}
		return false, st.dir.writeNew(name, buf[:n])
	}
	f, err := h.file(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	return st.take(f, name, size, !plain)
}

func because(err error) string {
	switch h := problem("keeping", "", err); {
	case errors.Is(err, errMoved):
		return whyWritten
	case strings.Contains(h.Error(), "[no_space]"):
		return whyFull
	}
	return whyFailed
}

var (
	errMoved  = errors.New("it changed meanwhile")
	errFlawed = errors.New("its attributes could not be kept")
)

var buffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// take copies an opened file into the store, sharing its blocks if that can be. The attributes go along; the mode doesn't.
func (st *store) take(f *os.File, name string, size int64, attributes bool) (shared bool, err error) {
	var to *os.File
	if st.clones {
		if to, err = st.dir.clone(f, name); err == nil {
			if info, err := statFile(to); err != nil || info.size != size {
				to.Close()
				st.dir.remove(name)
				return false, errMoved
			}
			shared = true
		}
	}
	if to == nil {
		if to, err = st.dir.create(name, 0o600); err != nil {
			return false, err
		}
		if err = copyContent(to, f, size); err != nil {
			to.Close()
			st.dir.remove(name)
			return false, err
		}
	}
	defer to.Close()
	if attributes {
		if keepAttributes(f, to, 0o600) != nil {
			return shared, errFlawed
		}
	}
	return shared, nil
}

// copyContent copies size bytes, and fails with errMoved if the file hasn't exactly so many.
func copyContent(to, from *os.File, size int64) error {
	in := io.NewSectionReader(from, 0, size+1)
	buf := buffers.Get().(*[64 << 10]byte)
	defer buffers.Put(buf)
	n, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{in}, buf[:])
	if err == nil && n != size {
		err = errMoved
	}
	return err
}

// volumeTop gives the uppermost folder on the way to path that is on the same volume.
func volumeTop(path string) (string, error) {
	here, err := statPath(path)
	for err == nil && path != string(filepath.Separator) {
		var above info
		if above, err = statPath(filepath.Dir(path)); err != nil || above.id.device != here.id.device {
			break
		}
		path = filepath.Dir(path)
	}
	return path, err
}

// inFolder reports whether path is folder or lies below it; both are absolute and resolved.
func inFolder(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}
