//go:build linux || darwin

package edit

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// openPath opens the folder at an absolute path, whose last element is no link.
func openPath(path string) (folder, error) {
	fd := -1
	err := retry(func() (err error) {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return folder{}, err
	}
	return folder{os.NewFile(uintptr(fd), path)}, nil
}

// statPath is a stat of an absolute path, whose last element is not followed.
func statPath(path string) (info, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Lstat(path, &st) })
	return infoOf(&st), err
}

// move puts a file into another folder of the same volume, in the place of what has the name there.
func (d folder) move(from string, to folder, name string) error {
	err := retry(func() error { return unix.Renameat(int(d.Fd()), from, int(to.Fd()), name) })
	runtime.KeepAlive(d.File)
	runtime.KeepAlive(to.File)
	return err
}

// linkTo gives a file a second name in another folder of the same volume, which must not exist. It follows no link.
func (d folder) linkTo(from string, to folder, name string) error {
	err := retry(func() error { return unix.Linkat(int(d.Fd()), from, int(to.Fd()), name, 0) })
	runtime.KeepAlive(d.File)
	runtime.KeepAlive(to.File)
	return err
}

// symlink makes a link.
func (d folder) symlink(target, name string) error {
	err := retry(func() error { return unix.Symlinkat(target, int(d.Fd()), name) })
	runtime.KeepAlive(d.File)
	return err
}

// setTime says when a file, a folder or a link itself was last changed, in nanoseconds since 1970.
func (d folder) setTime(name string, mtime int64) error {
	at := unix.NsecToTimespec(mtime)
	err := retry(func() error {
		return unix.UtimesNanoAt(int(d.Fd()), name, []unix.Timespec{at, at}, unix.AT_SYMLINK_NOFOLLOW)
	})
	runtime.KeepAlive(d.File)
	return err
}

// setPerm sets the mode of a file that nobody else can swap for a link.
func (d folder) setPerm(name string, perm uint32) error {
	err := retry(func() error { return unix.Fchmodat(int(d.Fd()), name, perm, 0) })
	runtime.KeepAlive(d.File)
	return err
}

// free is how many bytes the volume has left for this user.
func (d folder) free() (int64, error) {
	var st unix.Statfs_t
	err := retry(func() error { return unix.Fstatfs(int(d.Fd()), &st) })
	runtime.KeepAlive(d.File)
	return int64(min(st.Bavail, 1<<40)) * int64(st.Bsize), err
}

// setAttributes gives an opened folder extended attributes. One that can't be set is left out.
func setAttributes(f *os.File, list map[string][]byte) {
	for name, value := range list {
		_ = unix.Fsetxattr(int(f.Fd()), name, value, 0)
	}
	runtime.KeepAlive(f)
}

// handle is an opened file that the runtime doesn't know of: an [os.File] costs some system calls more, and thousands are
// opened one after another here.
type handle int

// handle opens a file for reading. It doesn't wait, whatever stands there.
func (d folder) handle(name string) (handle, error) {
	return d.rawOpen(name, unix.O_RDONLY|unix.O_NONBLOCK, 0)
}

func (d folder) rawOpen(name string, flags int, perm uint32) (h handle, err error) {
	err = retry(func() error {
		fd, err := unix.Openat(int(d.Fd()), name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NOCTTY, perm)
		h = handle(fd)
		return err
	})
	runtime.KeepAlive(d.File)
	return h, err
}

func (h handle) close() { unix.Close(int(h)) }

// file is the same file as the runtime knows files, to be closed by itself.
func (h handle) file(name string) (*os.File, error) {
	fd, err := unix.FcntlInt(uintptr(h), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func (h handle) stat() (info, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstat(int(h), &st) })
	return infoOf(&st), err
}

// plain reports a file without extended attributes.
func (h handle) plain() bool {
	n, err := unix.Flistxattr(int(h), nil)
	return err == nil && n == 0 || isErrno(err, unix.ENOTSUP)
}

// read reads the beginning of the file, as much as there is and buf holds.
func (h handle) read(buf []byte) (n int, err error) {
	for n < len(buf) {
		m := 0
		err = retry(func() (err error) { m, err = unix.Pread(int(h), buf[n:], int64(n)); return err })
		if err != nil || m == 0 {
			return n, err
		}
		n += m
	}
	return n, nil
}

// writeNew makes a file, which must not exist, with a content. On failure none is left.
func (d folder) writeNew(name string, text []byte) error {
	h, err := d.rawOpen(name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer h.close()
	for len(text) > 0 && err == nil {
		var n int
		err = retry(func() (err error) { n, err = unix.Write(int(h), text); return err })
		text = text[max(n, 0):]
	}
	if err != nil {
		d.remove(name)
	}
	return err
}
