package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// spot is a name in a folder, as the caller sees it. The name may not exist.
type spot struct {
	view   int    // the folder (O_PATH); the spot's to close
	folder string // its real path
	name   string
	slash  bool // the caller wrote a slash after the name
	links  bool // a link with a protected name was on the way
	exists bool
	stat   unix.Stat_t // of what exists; never of where a link leads
}

func (sp *spot) path() string {
	if sp.folder == "/" {
		return "/" + sp.name
	}
	return sp.folder + "/" + sp.name
}

func (sp *spot) close() {
	if sp.view >= 0 {
		unix.Close(sp.view)
		sp.view = -1
	}
}

func (sp *spot) is(kind uint32) bool { return sp.exists && sp.stat.Mode&unix.S_IFMT == kind }

// spot resolves a path of the caller to a name in a folder, with the last element's link followed or not. It is not ok where
// the kernel would fail too, and for what is no name in a folder ("/", ".", "..").
//
// The kernel walks the path for the supervisor as it would for the caller: both have one root and the same rights to look (see
// walk for what differs). What the policy decides about is where the walk ended.
func (c *call) spot(dirfd uint64, path string, follow bool) (sp spot, ok bool) {
	sp.view = -1
	links := named(path)
	for range maxLinks {
		trimmed := strings.TrimRight(path, "/")
		i := strings.LastIndexByte(trimmed, '/')
		dir, name := trimmed[:i+1], trimmed[i+1:]
		if name == "" || name == "." || name == ".." || len(name) > 255 {
			break
		}
		view, err := c.walk(sp.view, dirfd, dir, unix.O_PATH|unix.O_DIRECTORY)
		sp.close()
		if err != nil {
			return sp, false
		}
		sp = spot{view: view, name: name, slash: len(trimmed) < len(path), links: links}
		switch err := unix.Fstatat(view, name, &sp.stat, unix.AT_SYMLINK_NOFOLLOW); err {
		case nil:
			sp.exists = true
		case unix.ENOENT:
		default:
			sp.close()
			return sp, false
		}
		if sp.is(unix.S_IFLNK) && (follow || sp.slash) {
			var buf [maxPath]byte
			n, err := unix.Readlinkat(view, name, buf[:])
			if err != nil || n == 0 || n == len(buf) {
				break
			}
			path = string(buf[:n])
			links = links || named(path)
			if sp.slash {
				path += "/"
			}
			continue
		}
		if sp.folder, ok = realPath(view); !ok {
			break
		}
		return sp, true
	}
	sp.close()
	return sp, false
}

// named reports whether a path, as it is written, goes through a protected name. A written HEAD says nothing: it may stand in a folder
// .git that the path starts from, and what it makes of its folder is looked at.
func named(path string) bool {
	name, yes := Protected(filepath.Clean(path))
	return yes && fold(name) != "head"
}

// walk opens a path of the caller, which starts from the folder from or, where that is -1, from the caller's dirfd. It takes none
// of the links of /proc that lead to open files: /proc/self would be the supervisor's own, and its descriptors lead out of the
// sandbox's view, into the host's folders and on to all that lies above them.
func (c *call) walk(from int, dirfd uint64, path string, flags int) (int, error) {
	switch {
	case path != "" && path[0] == '/':
		from = unix.AT_FDCWD
	case from < 0:
		base, err := c.openProc(c.base(dirfd), unix.O_DIRECTORY)
		if err != nil || path == "" {
			return base, err
		}
		defer unix.Close(base)
		from = base
	case path == "":
		path = "."
	}
	return openat2(from, path, flags, 0, unix.RESOLVE_NO_MAGICLINKS)
}

// base is what a relative path starts from, by its name in the caller's entry in /proc.
func (c *call) base(dirfd uint64) string {
	if d := int(int32(dirfd)); d != unix.AT_FDCWD {
		return "fd/" + strconv.Itoa(d)
	}
	return "cwd"
}

func (c *call) proc(name string) string { return "/proc/" + strconv.Itoa(c.tid) + "/" + name }

// openProc opens what a link in the caller's entry in /proc leads to (O_PATH).
func (c *call) openProc(name string, flags int) (int, error) {
	fd, err := unix.Open(c.proc(name), flags|unix.O_PATH|unix.O_CLOEXEC, 0)
	if err == nil && !c.waits() {
		unix.Close(fd)
		return -1, unix.ESRCH
	}
	return fd, err
}

// realPath gives the path of an open file, in the sandbox's view and on the host, which agree. It is not ok for a file that
// was deleted or isn't in the view; a path that only looks real is found out when the folder is opened by it.
func realPath(fd int) (string, bool) {
	var buf [maxPath]byte
	n, err := unix.Readlink(procFD(fd), buf[:])
	return string(buf[:max(n, 0)]), err == nil && n > 0 && n < len(buf) && buf[0] == '/'
}

// maxFolders is how many folders of the host are kept open. While one is, its number means no other.
const maxFolders = 64

// host gives the spot's folder on the host. It is the one the caller sees: the descriptors are kept by what they are, and a
// new one is compared.
func (c *call) host(sp *spot) (int, error) {
	var st unix.Stat_t
	if err := unix.Fstat(sp.view, &st); err != nil {
		return -1, err
	}
	id := idOf(&st)
	if fd, ok := c.folders[id]; ok {
		return fd, nil
	}
	fd, err := c.openHeld(sp.folder)
	if err != nil {
		return -1, err
	}
	if err := unix.Fstat(fd, &st); err != nil || idOf(&st) != id {
		unix.Close(fd)
		return -1, unix.ESTALE
	}
	c.folders[id] = fd
	return fd, nil
}

// forgetFolders closes what is kept when it is much. It is called between two calls, so none is in use.
func (s *supervisor) forgetFolders() {
	if len(s.folders) >= maxFolders {
		for id, fd := range s.folders {
			unix.Close(fd)
			delete(s.folders, id)
		}
	}
}

// object resolves a path to a file that exists, and gives its real path. An empty path is the file dirfd.
func (c *call) object(dirfd uint64, path string, follow bool) (real string, st unix.Stat_t, ok bool) {
	if n, isFD := c.descriptor(path); isFD && follow {
		path, dirfd = "", uint64(n)
	}
	var fd int
	var err error
	switch {
	case path == "":
		fd, err = c.openProc("fd/"+strconv.Itoa(int(int32(dirfd))), 0)
	case follow:
		fd, err = c.walk(-1, dirfd, path, unix.O_PATH)
	default:
		fd, err = c.walk(-1, dirfd, path, unix.O_PATH|unix.O_NOFOLLOW)
	}
	if err != nil {
		return "", st, false
	}
	defer unix.Close(fd)
	if unix.Fstat(fd, &st) != nil {
		return "", st, false
	}
	real, ok = realPath(fd)
	return real, st, ok
}

// descriptor reports whether a path is one of the ways to write "my own descriptor n".
func (c *call) descriptor(path string) (n int, ok bool) {
	switch path {
	case "/dev/stdin":
		return 0, true
	case "/dev/stdout":
		return 1, true
	case "/dev/stderr":
		return 2, true
	}
	rest, ok := strings.CutPrefix(path, "/dev/fd/")
	if !ok {
		if rest, ok = strings.CutPrefix(path, "/proc/"); !ok {
			return 0, false
		}
		who, number, cut := strings.Cut(rest, "/fd/")
		if !cut || who != "self" && who != "thread-self" && who != strconv.Itoa(c.tid) {
			return 0, false
		}
		rest = number
	}
	n, err := strconv.Atoi(rest)
	return n, err == nil && n >= 0
}

// openObject opens, on the host, a file that exists, by its real path, and compares that it is the one the caller sees.
func (c *call) openObject(path string, id fileID) (int, error) {
	i := strings.LastIndexByte(path, '/')
	folder, name := path[:max(i, 1)], path[i+1:]
	if name == "" {
		return -1, unix.EROFS
	}
	dir, err := c.openHeld(folder)
	if err != nil {
		return -1, err
	}
	defer unix.Close(dir)
	fd, err := openat2(dir, name, unix.O_PATH|unix.O_NOFOLLOW, 0, unix.RESOLVE_BENEATH|unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || idOf(&st) != id {
		unix.Close(fd)
		return -1, unix.ESTALE
	}
	return fd, nil
}

// duplicate gives the caller's own descriptor n to the supervisor.
func (c *call) duplicate(n int) (int, error) {
	pidfd, err := unix.PidfdOpen(c.tid, 0)
	if err != nil { // the number of a thread: the process has another
		pid, _ := c.status("Tgid:", 10)
		if pidfd, err = unix.PidfdOpen(int(pid), 0); err != nil {
			return -1, err
		}
	}
	defer unix.Close(pidfd)
	fd, err := unix.PidfdGetfd(pidfd, n, 0)
	if err == nil && !c.waits() {
		unix.Close(fd)
		return -1, unix.ESRCH
	}
	return fd, err
}

// status gives a number from the caller's entry in /proc.
func (c *call) status(field string, base int) (uint64, bool) {
	text, err := os.ReadFile(c.proc("status"))
	if err != nil || !c.waits() {
		return 0, false
	}
	_, rest, _ := bytes.Cut(text, []byte("\n"+field))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, err := strconv.ParseUint(string(bytes.TrimSpace(line)), base, 32)
	return n, err == nil
}
