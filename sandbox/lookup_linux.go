package sandbox

import (
	"bytes"
	"os"
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
	exists bool
	stat   unix.Stat_t // of what exists; never of where a link leads
}

func (sp *spot) path() string {
	if sp.folder == "/" {
		return "/" + sp.name
	}
	return sp.folder + "/" + sp.name
}

func (sp *spot) close() { unix.Close(sp.view) }

func (sp *spot) is(kind uint32) bool { return sp.exists && sp.stat.Mode&unix.S_IFMT == kind }

// maxLinks is how many links the kernel follows in one path.
const maxLinks = 40

// spot resolves a path of the caller to a name in a folder, with the last element's link followed or not. It is not ok where
// the kernel would fail too, and for what is no name in a folder ("/", ".", "..").
func (c *call) spot(dirfd uint64, path string, follow bool) (sp spot, ok bool) {
	base, ok := c.base(dirfd, path)
	if !ok {
		return sp, false
	}
	for range maxLinks {
		trimmed := strings.TrimRight(path, "/")
		slash := len(trimmed) < len(path)
		i := strings.LastIndexByte(trimmed, '/')
		dir, name := trimmed[:i+1], trimmed[i+1:]
		if name == "" || name == "." || name == ".." || len(name) > 255 {
			break
		}
		folder := base
		if dir != "" {
			var err error
			folder, err = openat2(base, dir, unix.O_PATH|unix.O_DIRECTORY, 0, unix.RESOLVE_NO_MAGICLINKS)
			if err != nil {
				break
			}
			closeBase(base)
		} else if base == unix.AT_FDCWD { // can't be: an absolute path has a folder
			break
		}
		base = folder
		sp = spot{view: folder, name: name, slash: slash}
		switch err := unix.Fstatat(folder, name, &sp.stat, unix.AT_SYMLINK_NOFOLLOW); err {
		case nil:
			sp.exists = true
		case unix.ENOENT:
		default:
			closeBase(base)
			return sp, false
		}
		if sp.is(unix.S_IFLNK) && (follow || slash) {
			to, err := os.Readlink(procFD(folder) + "/" + name)
			if err != nil || to == "" {
				break
			}
			if path = to; slash {
				path += "/"
			}
			if to[0] == '/' {
				closeBase(base)
				base = unix.AT_FDCWD
			}
			continue
		}
		if sp.folder, ok = realPath(folder); !ok {
			break
		}
		return sp, true
	}
	closeBase(base)
	return sp, false
}

func closeBase(fd int) {
	if fd != unix.AT_FDCWD {
		unix.Close(fd)
	}
}

// base opens what a path is relative to: nothing for an absolute path, for the command and the supervisor have one root.
func (c *call) base(dirfd uint64, path string) (fd int, ok bool) {
	if path == "" {
		return -1, false
	}
	if path[0] == '/' {
		return unix.AT_FDCWD, true
	}
	from := c.proc("cwd")
	if d := int32(dirfd); d != unix.AT_FDCWD {
		from = c.proc("fd/" + strconv.Itoa(int(d)))
	}
	fd, err := unix.Open(from, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return fd, err == nil
}

func (c *call) proc(name string) string { return "/proc/" + strconv.Itoa(c.tid) + "/" + name }

// realPath gives the path of an open file, in the sandbox's view and on the host, which agree. It is not ok for a file that
// was deleted or isn't in the view; a path that only looks real is found out when the folder is opened by it.
func realPath(fd int) (string, bool) {
	path, err := os.Readlink(procFD(fd))
	return path, err == nil && strings.HasPrefix(path, "/")
}

// host opens the spot's folder on the host, and compares that it is the one the caller sees.
func (c *call) host(sp *spot) (int, error) {
	fd, err := c.openHeld(sp.folder)
	if err != nil {
		return -1, err
	}
	var view, host unix.Stat_t
	if err := unix.Fstat(sp.view, &view); err == nil {
		if err = unix.Fstat(fd, &host); err == nil && idOf(&view) == idOf(&host) {
			return fd, nil
		}
	}
	unix.Close(fd)
	return -1, unix.ESTALE
}

// object resolves a path to a file that exists, and gives its real path. An empty path is the file dirfd.
func (c *call) object(dirfd uint64, path string, follow bool) (real string, id fileID, mode uint32, ok bool) {
	var fd int
	var err error
	if n, isFD := c.descriptor(path); isFD && follow {
		path, dirfd = "", uint64(n)
	}
	if path == "" {
		fd, err = unix.Open(c.proc("fd/"+strconv.Itoa(int(int32(dirfd)))), unix.O_PATH|unix.O_CLOEXEC, 0)
	} else {
		base, isOK := c.base(dirfd, path)
		if !isOK {
			return "", id, 0, false
		}
		flags := unix.O_PATH
		if !follow {
			flags |= unix.O_NOFOLLOW
		}
		fd, err = openat2(base, path, flags, 0, unix.RESOLVE_NO_MAGICLINKS)
		closeBase(base)
	}
	if err != nil {
		return "", id, 0, false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return "", id, 0, false
	}
	real, ok = realPath(fd)
	return real, idOf(&st), st.Mode, ok
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
		pid := c.status("Tgid:", 10)
		if pidfd, err = unix.PidfdOpen(int(pid), 0); err != nil {
			return -1, err
		}
	}
	defer unix.Close(pidfd)
	return unix.PidfdGetfd(pidfd, n, 0)
}

// status gives a number from the caller's entry in /proc; 0 if it has none.
func (c *call) status(field string, base int) uint64 {
	text, _ := os.ReadFile(c.proc("status"))
	_, rest, _ := bytes.Cut(text, []byte("\n"+field))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, _ := strconv.ParseUint(string(bytes.TrimSpace(line)), base, 32)
	return n
}
