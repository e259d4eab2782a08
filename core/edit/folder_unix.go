//go:build linux || darwin

package edit

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// folder is an opened folder. Every name given to it is one element; a link is never followed.
type folder struct{ *os.File }

// retry calls f again while a signal interrupts it.
func retry(f func() error) error {
	for {
		if err := f(); err != unix.EINTR {
			return err
		}
	}
}

func (d folder) open(name string, flags int, perm uint32) (*os.File, error) {
	fd := -1
	err := retry(func() (err error) {
		fd, err = unix.Openat(int(d.Fd()), name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NOCTTY, perm)
		return err
	})
	runtime.KeepAlive(d.File)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// openFolder opens a folder in d.
func (d folder) openFolder(name string) (folder, error) {
	f, err := d.open(name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	return folder{f}, err
}

// openRead opens a file for reading. It doesn't wait, whatever stands there.
func (d folder) openRead(name string) (*os.File, error) {
	return d.open(name, unix.O_RDONLY|unix.O_NONBLOCK, 0)
}

// create makes a file that must not exist.
func (d folder) create(name string, perm uint32) (*os.File, error) {
	return d.open(name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, perm)
}

func (d folder) stat(name string) (info, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstatat(int(d.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	runtime.KeepAlive(d.File)
	return infoOf(&st), err
}

func statFile(f *os.File) (info, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstat(int(f.Fd()), &st) })
	runtime.KeepAlive(f)
	return infoOf(&st), err
}

func infoOf(st *unix.Stat_t) info {
	i := info{
		id:   identity{uint64(st.Dev), uint64(st.Ino)},
		perm: uint32(st.Mode) & 0o7777, links: uint64(st.Nlink), size: st.Size,
		mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano(), uid: st.Uid, gid: st.Gid, cloud: placeholder(st),
	}
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFREG:
		i.kind = regular
	case unix.S_IFDIR:
		i.kind = directory
	case unix.S_IFLNK:
		i.kind = symlink
	case unix.S_IFIFO:
		i.kind = fifo
	case unix.S_IFSOCK:
		i.kind = socket
	case unix.S_IFCHR, unix.S_IFBLK:
		i.kind = device
	}
	return i
}

func (d folder) readlink(name string) (string, error) {
	buf := make([]byte, 4096) // PATH_MAX; a longer target can't be walked
	n := 0
	err := retry(func() (err error) { n, err = unix.Readlinkat(int(d.Fd()), name, buf); return err })
	runtime.KeepAlive(d.File)
	if err == nil && n == len(buf) {
		err = unix.ENAMETOOLONG
	}
	return string(buf[:max(n, 0)]), err
}

// writable reports whether this process may write to the file.
func (d folder) writable(name string) error {
	err := retry(func() error { return unix.Faccessat(int(d.Fd()), name, unix.W_OK, unix.AT_EACCESS) })
	runtime.KeepAlive(d.File)
	return err
}

func (d folder) mkdir(name string) error {
	err := retry(func() error { return unix.Mkdirat(int(d.Fd()), name, 0o755) })
	runtime.KeepAlive(d.File)
	return err
}

func (d folder) remove(name string) error {
	err := retry(func() error { return unix.Unlinkat(int(d.Fd()), name, 0) })
	runtime.KeepAlive(d.File)
	return err
}

func (d folder) rmdir(name string) error {
	err := retry(func() error { return unix.Unlinkat(int(d.Fd()), name, unix.AT_REMOVEDIR) })
	runtime.KeepAlive(d.File)
	return err
}

// rename puts one file in the place of another.
func (d folder) rename(from, to string) error {
	err := retry(func() error { return unix.Renameat(int(d.Fd()), from, int(d.Fd()), to) })
	runtime.KeepAlive(d.File)
	return err
}

// link gives a file a second name, which must not exist.
func (d folder) link(from, to string) error {
	err := retry(func() error { return unix.Linkat(int(d.Fd()), from, int(d.Fd()), to, 0) })
	runtime.KeepAlive(d.File)
	return err
}

// flush writes the folder's entries to the disk, where the file system has such a thing.
func (d folder) flush() error {
	err := d.Sync()
	if isErrno(err, unix.EINVAL, unix.ENOTSUP, unix.EOPNOTSUPP) {
		return nil
	}
	return err
}

// lockFile marks a file as in use by this process, if no other holds it.
func lockFile(f *os.File) error {
	err := retry(func() error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) })
	runtime.KeepAlive(f)
	return err
}

func chown(f *os.File, uid, gid uint32) error {
	err := retry(func() error { return unix.Fchown(int(f.Fd()), int(uid), int(gid)) })
	runtime.KeepAlive(f)
	return err
}

func chmod(f *os.File, perm uint32) error {
	err := retry(func() error { return unix.Fchmod(int(f.Fd()), perm) })
	runtime.KeepAlive(f)
	return err
}

func euid() uint32 { return uint32(unix.Geteuid()) }

// grown calls read with a buffer that is large enough.
func grown(read func([]byte) (int, error)) ([]byte, error) {
	buf := make([]byte, 1024)
	for {
		n, err := read(buf)
		if err == nil {
			return buf[:n], nil
		}
		if !isErrno(err, unix.ERANGE) || len(buf) > 1<<20 {
			return nil, err
		}
		buf = make([]byte, 4*len(buf))
	}
}
