//go:build unix

package command

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// System is the file system of this computer, seen as the user who runs Handrail.
func System() Files { return system{} }

type system struct{}

func (system) Stat(path string) (File, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		if err == unix.ENOENT && unix.Lstat(path, &st) == nil {
			err = unix.ELOOP // a link that leads nowhere: something is there
		}
		return File{}, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	kind := uint32(st.Mode) & unix.S_IFMT
	f := File{ID: FileID{Device: uint64(st.Dev), Inode: st.Ino}, Size: st.Size, Folder: kind == unix.S_IFDIR, Regular: kind == unix.S_IFREG}
	f.Exec = f.Regular && uint32(st.Mode)&0o111 != 0 && unix.Access(path, unix.X_OK) == nil
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return File{}, err
	}
	f.Real = real
	return f, nil
}

func (system) Writable(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !filepath.IsAbs(real) {
		return true
	}
	for at := real; ; at = filepath.Dir(at) {
		if err := unix.Access(at, unix.W_OK); err == nil || !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EROFS) && !errors.Is(err, unix.EPERM) {
			return true
		}
		// Who owns it can give themselves the right.
		var st unix.Stat_t
		if unix.Stat(at, &st) != nil || int(st.Uid) == os.Getuid() {
			return true
		}
		if at == "/" {
			return false
		}
	}
}

func (system) Names(folder string) ([]string, error) {
	d, err := os.OpenFile(folder, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}
