package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxBinds bounds how many folders a sandbox mounts; each costs time at every start.
const maxBinds = 64

// view is what a sandbox shows to its command, as bubblewrap arguments, and the folders held open for it.
type view struct {
	args []string
	// held are descriptors (O_PATH) of the folders where the supervisor may change something, in the host's own mounts; the
	// sandbox shows the same folders read-only. They are the caller's to close.
	held   []heldFolder
	places [][2]string // what is mounted of the workspace and of what was granted, and where
	binds  int
	home   listing
	shown  []string // what is mounted so far, in the host's paths
	ways   []string // folders in memory that lead to what is shown
}

// heldFolder is a folder opened on the host, by the path it has there and in the sandbox.
type heldFolder struct {
	Path string
	file *os.File
}

// newView opens every place and compares its identity. descriptor gives the number that a file will have in bubblewrap.
func newView(p Policy, descriptor func(*os.File) int) (*view, error) {
	v := &view{}
	if p.profile == classic {
		root, err := openPlace(Place{Path: "/"})
		if err != nil {
			return nil, err
		}
		v.held = append(v.held, heldFolder{"/", root})
		v.places = append(v.places, [2]string{fdPath(descriptor(root)), "/"})
	}
	if err := v.open(p, descriptor); err != nil {
		v.close()
		return nil, err
	}
	return v, nil
}

// list lists the mounts. It looks at the disk a good deal, so bubblewrap is started meanwhile.
func (v *view) list(p Policy) error {
	m := p.machine
	v.home = newListing(m.Home)
	v.add("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try", "--die-with-parent", "--new-session", "--as-pid-1",
		"--cap-drop", "ALL", "--hostname", "sandbox")
	if p.permissions&(Network|Loopback) == 0 && p.profile != classic {
		v.add("--unshare-net")
	}
	places := v.places
	if p.profile == classic {
		v.bind("--ro-bind", places[0][0], places[0][1])
		places = places[1:]
	} else {
		v.temporary(p)
		v.system(m)
	}
	v.add("--proc", "/proc", "--dev", "/dev")
	if p.roomsShown() && p.profile != classic {
		// What holds the sessions' own folders comes first, then nothing in the place of all these, and on that the session's.
		places = slices.DeleteFunc(places, func(place [2]string) bool {
			if !within(place[1], m.Rooms) {
				return false
			}
			v.bind("--ro-bind", place[0], place[1])
			return true
		})
		v.add("--perms", "0755", "--tmpfs", m.Rooms)
		v.ways = append(v.ways, m.Rooms)
	}
	v.own(p)
	for _, place := range places {
		v.bind("--ro-bind", place[0], place[1])
	}
	for _, socket := range p.sockets() {
		if _, err := os.Stat(socket); err == nil && p.profile != classic && !covered(v.shown, socket) {
			v.bind("--ro-bind", socket, socket)
		}
	}
	if err := v.hide(p); err != nil {
		return err
	}
	if p.profile != classic {
		v.add("--dir", m.Home, "--dir", "/run", "--dir", "/var")
		for _, way := range append(v.ways, "/") {
			v.add("--remount-ro", way)
		}
		if p.profile == readOnly && len(v.ways) > 0 {
			v.add("--remount-ro", "/tmp")
		}
	}
	if v.binds > maxBinds {
		return fmt.Errorf("showing the policy's folders: %d mounts are needed and %d are the most; grant a folder that holds several", v.binds, maxBinds)
	}
	return nil
}

func (v *view) add(args ...string) { v.args = append(v.args, args...) }

func (v *view) close() {
	for _, h := range v.held {
		h.file.Close()
	}
}

func (v *view) bind(how, source, dest string) {
	v.add(how, source, dest)
	v.binds++
	v.shown = append(v.shown, dest)
}

// fdPath is the path by which bubblewrap finds a folder that is held.
func fdPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// system shows the folders of the system and of installed tools.
func (v *view) system(m Machine) {
	for _, dir := range systemReads[m.system()] {
		var st unix.Stat_t
		switch {
		case unix.Lstat(dir, &st) != nil:
		case st.Mode&unix.S_IFMT == unix.S_IFLNK:
			if to, err := os.Readlink(dir); err == nil {
				v.add("--symlink", to, dir)
			}
		default:
			v.bind("--ro-bind", dir, dir)
		}
	}
	// A resolver's file commonly lies in /run, which isn't shown.
	if real, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil && !covered(v.shown, real) {
		v.bind("--ro-bind", real, real)
	}
	v.tools(m)
}

// tools shows the folders of installed tools. A folder that is reached by a link is shown where it is, and the link beside it: a
// second name for it would show under that name what is closed in it.
func (v *view) tools(m Machine) {
	m.Path = slices.Clone(m.Path)
	var links [][2]string
	for i, dir := range m.Path {
		if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir && checkPath(dir) == nil {
			links = append(links, [2]string{real, dir})
			m.Path[i] = real
		}
	}
	for _, dir := range m.toolRoots() {
		if !v.home.exists(dir) {
			continue // most don't
		}
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || covered(v.shown, real) || real != dir && (m.tooWide(real) || covered(m.secretPaths(), real)) {
			continue
		}
		if info, err := os.Stat(real); err != nil || !info.IsDir() {
			continue
		}
		v.bind("--ro-bind", real, real)
		if real != dir {
			links = append(links, [2]string{real, dir})
		}
	}
	slices.SortStableFunc(links, func(a, b [2]string) int { return len(a[1]) - len(b[1]) })
	for _, link := range links {
		if covered(v.shown, link[0]) && !covered(v.shown, link[1]) && !v.linked(link[1]) {
			v.add("--symlink", link[0], link[1])
		}
	}
}

// listing is a folder with the names in it, folded. Of the many paths below the home folder that are asked for, few exist.
type listing struct {
	dir   string
	names map[string]bool // nil: the folder can't be listed
}

func newListing(dir string) (l listing) {
	l.dir = dir
	f, err := os.Open(dir)
	if err != nil {
		return l
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return l
	}
	l.names = make(map[string]bool, len(names))
	for _, name := range names {
		l.names[fold(name)] = true
	}
	return l
}

// exists reports whether there is something by that name, a link perhaps.
func (l listing) exists(path string) bool {
	if rel, ok := strings.CutPrefix(path, l.dir+"/"); ok && l.names != nil {
		if first, _, _ := strings.Cut(rel, "/"); !l.names[fold(first)] {
			return false
		}
	}
	var st unix.Stat_t
	return unix.Lstat(path, &st) == nil
}

// realFolders are folders with where they are when links are followed. A thousand names that are denied lie in few.
type realFolders map[string]string

// resolve is filepath.EvalSymlinks.
func (f realFolders) resolve(path string) (string, error) {
	dir := filepath.Dir(path)
	real, ok := f[dir]
	if !ok {
		var err error
		if real, err = filepath.EvalSymlinks(dir); err != nil {
			return "", err
		}
		f[dir] = real
	}
	real = filepath.Join(real, filepath.Base(path))
	var st unix.Stat_t
	if err := unix.Lstat(real, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return real, err
	}
	return filepath.EvalSymlinks(real)
}

// linked reports whether a path already goes through one of the system's links that are shown.
func (v *view) linked(path string) bool {
	for i := 0; i+2 < len(v.args); i++ {
		if v.args[i] == "--symlink" && within(v.args[i+2], path) {
			return true
		}
	}
	return false
}

// temporary shows the session's temporary folder at /tmp, unless something else that is shown lies there: mounting that would
// leave empty folders behind in it. Then /tmp is in memory, and so are the folders on the way to what is shown, which are closed
// at the end.
func (v *view) temporary(p Policy) {
	m := p.machine
	shown := slices.Concat(p.placePaths(), p.sockets(), []string{m.Home, m.Workspace, m.Temp, m.Caches}, m.toolRoots())
	in := func(dir string) (below []string) {
		return slices.DeleteFunc(slices.Clone(shown), func(s string) bool { return !within(dir, s) })
	}
	below := in("/tmp")
	if len(below) == 0 {
		v.bind(p.how(), m.Temp, "/tmp")
	} else {
		v.add("--tmpfs", "/tmp")
	}
	for _, path := range below {
		first, rest, _ := strings.Cut(strings.TrimPrefix(path, "/tmp/"), "/")
		if way := "/tmp/" + first; rest != "" && !slices.Contains(v.ways, way) && !slices.Contains(below, way) {
			v.add("--tmpfs", way)
			v.ways = append(v.ways, way)
		}
	}
	if v.add("--dir", "/var"); len(in("/var/tmp")) == 0 {
		v.add("--symlink", "/tmp", "/var/tmp")
	}
}

// sockets are those that the policy opens.
func (p Policy) sockets() (list []string) {
	if m := p.machine; p.Allows(SSHAgent) && m.SSHAgent != "" {
		list = append(list, m.SSHAgent)
	}
	if m := p.machine; p.Allows(Docker) && m.Docker != "" {
		list = append(list, m.Docker)
	}
	return list
}

// own shows the session's own folders, the only ones that a command changes without the supervisor.
func (v *view) own(p Policy) {
	v.bind(p.how(), p.machine.Temp, p.machine.Temp)
	if p.machine.Caches != "" {
		v.bind(p.how(), p.machine.Caches, p.machine.Caches)
	}
}

// how is the way in which the session's own folders are bound.
func (p Policy) how() string {
	if p.profile == readOnly {
		return "--ro-bind"
	}
	return "--bind"
}

// open opens the workspace and what was granted outside it, which are shown read-only: outer folders first, and none that an
// outer one shows already.
func (v *view) open(p Policy, descriptor func(*os.File) int) error {
	type shown struct {
		Place
		write bool
	}
	all := []shown{{Place: Place{Path: p.machine.Workspace}}}
	for _, place := range p.reads {
		all = append(all, shown{place, false})
	}
	if p.profile != readOnly {
		for _, place := range p.writes {
			all = append(all, shown{place, true})
		}
	}
	slices.SortStableFunc(all, func(a, b shown) int { return strings.Compare(a.Path, b.Path) })
	var outer []string
	for _, place := range all {
		holder := place.Path
		if place.File {
			holder = filepath.Dir(holder)
		}
		inside := slices.ContainsFunc(outer, func(o string) bool {
			return within(o, holder) && !(within(o, p.machine.Rooms) && within(p.machine.Rooms, holder))
		})
		if inside && place.Device == 0 && place.Inode == 0 || inside && place.write {
			continue // the launcher compares a granted folder's identity when it opens it below the outer one
		}
		f, err := openPlace(place.Place)
		if err != nil {
			return err
		}
		if inside || p.profile == classic {
			f.Close()
			continue
		}
		if place.File { // only the file is shown, but the folder is held: the file itself may be replaced
			v.held = append(v.held, heldFolder{holder, f})
			descriptor(f)
			if _, err := os.Lstat(place.Path); err == nil {
				v.places = append(v.places, [2]string{place.Path, place.Path})
			}
			continue
		}
		v.held = append(v.held, heldFolder{holder, f})
		v.places = append(v.places, [2]string{fdPath(descriptor(f)), holder})
		outer = append(outer, holder)
	}
	return nil
}

// hide covers what stays closed inside what is shown: a folder by an empty one, a file by /dev/null. What doesn't exist needs
// no cover (and gets none: mounting would leave an empty file on the host), nor what this user can't read anyway.
func (v *view) hide(p Policy) error {
	var hidden []string
	folders := realFolders{}
	secrets := p.machine.secretPaths()
	if p.sensitive {
		secrets = append(secrets, p.sensitiveFiles()...)
	}
	for _, secret := range secrets {
		if !v.home.exists(secret) {
			continue // most don't
		}
		real, err := folders.resolve(secret)
		if err != nil || covered(hidden, real) || p.profile != classic && !covered(v.shown, real) {
			continue
		}
		info, err := os.Stat(real)
		switch {
		case errors.Is(err, fs.ErrNotExist), unix.Access(real, unix.R_OK) != nil && unix.Access(real, unix.X_OK) != nil:
			continue
		case err != nil:
			return fmt.Errorf("hiding %s: %w", real, err)
		case info.IsDir():
			v.add("--perms", "0000", "--tmpfs", real, "--remount-ro", real)
		default:
			v.add("--ro-bind", "/dev/null", real)
		}
		v.binds++
		hidden = append(hidden, real)
	}
	return nil
}

// Bounds of the search for sensitive names at the start of a command.
const (
	sensitiveEntries = 20_000
	sensitiveCovers  = 24
)

// sensitiveFiles finds what CloseSensitive closes in the folders of the person that are open: what lies further up first.
func (p Policy) sensitiveFiles() (found []string) {
	folders := []string{p.machine.Workspace}
	for _, place := range p.reads {
		folders = append(folders, place.Path)
	}
	for entries := 0; len(folders) > 0 && entries < sensitiveEntries; folders = folders[1:] {
		list, err := os.ReadDir(folders[0])
		if err != nil {
			continue // a command can't read it either, or it is a file
		}
		for _, e := range list {
			entries++
			path := filepath.Join(folders[0], e.Name())
			switch _, closed := p.closes(path); {
			case closed:
				if found = append(found, path); len(found) == sensitiveCovers {
					return found
				}
			case e.IsDir() && e.Name() != ".git" && e.Name() != "node_modules":
				folders = append(folders, path)
			}
		}
	}
	return found
}

// openPlace opens a place's folder (for a File, the one that holds it) without following any link, and compares identities.
func openPlace(place Place) (*os.File, error) {
	dir := place.Path
	if place.File {
		dir = filepath.Dir(dir)
	}
	fd, err := openat2(unix.AT_FDCWD, dir, unix.O_PATH|unix.O_DIRECTORY, 0, unix.RESOLVE_NO_SYMLINKS)
	if err != nil {
		return nil, &PlaceError{place.Path, err}
	}
	f := os.NewFile(uintptr(fd), dir)
	if place.Device == 0 && place.Inode == 0 {
		return f, nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		f.Close()
		return nil, &PlaceError{place.Path, err}
	}
	if st.Dev != place.Device || st.Ino != place.Inode {
		f.Close()
		return nil, &PlaceError{Path: place.Path}
	}
	return f, nil
}

// openat2 opens relative to dir with the given RESOLVE flags, close-on-exec, and tries again when a rename came between.
func openat2(dir int, path string, flags int, mode uint32, resolve uint64) (int, error) {
	how := unix.OpenHow{Flags: uint64(flags) | unix.O_CLOEXEC, Mode: uint64(mode), Resolve: resolve}
	for try := 0; ; try++ {
		fd, err := unix.Openat2(dir, path, &how)
		if (err == unix.EAGAIN || err == unix.EINTR) && try < 100 {
			continue
		}
		return fd, err
	}
}
