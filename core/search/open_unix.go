//go:build unix

package search

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Every folder and file is opened name by name below the one that holds it, and none of the names may be a link: the path that
// was judged is the path that is read.

// openTop opens a folder by its absolute path.
func openTop(path string) (*os.File, error) {
	top, err := os.Open("/")
	if err != nil {
		return nil, err
	}
	defer top.Close()
	rel, err := filepath.Rel("/", path)
	if err != nil {
		return nil, err
	}
	return openFolder(top, rel)
}

// openFolder opens the folder at rel below dir.
func openFolder(dir *os.File, rel string) (*os.File, error) {
	at, err := openAt(dir, ".", unix.O_DIRECTORY)
	for name := range strings.SplitSeq(rel, "/") {
		if err != nil {
			return nil, err
		}
		if name == "." || name == "" {
			continue
		}
		next, nextErr := openAt(at, name, unix.O_DIRECTORY)
		err = errors.Join(nextErr, at.Close())
		at = next
	}
	if err != nil {
		if at != nil {
			at.Close()
		}
		return nil, err
	}
	return at, nil
}

// openRegular opens the regular file at rel below dir, and waits for no pipe.
func openRegular(dir *os.File, rel string) (*os.File, error) {
	parent, err := openFolder(dir, filepath.Dir(rel))
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	f, err := openAt(parent, filepath.Base(rel), unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func openAt(dir *os.File, name string, flags int) (*os.File, error) {
	if name == ".." {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	for {
		fd, err := unix.Openat(int(dir.Fd()), name, flags|unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
		return os.NewFile(uintptr(fd), name), nil
	}
}

// statAt tells of a name in a folder, of a link itself.
func statAt(dir *os.File, name string) (facts, error) {
	var s unix.Stat_t
	if err := unix.Fstatat(int(dir.Fd()), name, &s, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return facts{}, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return toFacts(s), nil
}

// factsOf tells of an open file.
func factsOf(f *os.File) (facts, error) {
	var s unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &s); err != nil {
		return facts{}, &fs.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	return toFacts(s), nil
}

func toFacts(s unix.Stat_t) facts {
	return facts{regular: s.Mode&unix.S_IFMT == unix.S_IFREG, folder: s.Mode&unix.S_IFMT == unix.S_IFDIR,
		size: s.Size, mtime: time.Unix(s.Mtim.Unix()).UnixNano(), inode: int64(s.Ino), device: int64(s.Dev)}
}
