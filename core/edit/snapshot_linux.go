package edit

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// placeholder is always false: no file system here shows what it would have to fetch.
func placeholder(*unix.Stat_t) bool { return false }

// moveNew puts a file into another folder of the same volume, where nothing may have the name; renameat2(2).
func (d folder) moveNew(from string, to folder, name string) error {
	err := retry(func() error {
		return unix.Renameat2(int(d.Fd()), from, int(to.Fd()), name, unix.RENAME_NOREPLACE)
	})
	runtime.KeepAlive(d.File)
	runtime.KeepAlive(to.File)
	if isErrno(err, unix.EINVAL, unix.ENOSYS, unix.ENOTSUP) {
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return err
}

// excludeFromBackup is done by the store's CACHEDIR.TAG alone here.
func excludeFromBackup(folder) error { return nil }

// flushVolume writes all that the folder's volume holds to the disk, syncfs(2).
func flushVolume(d folder) error {
	err := retry(func() error { return unix.Syncfs(int(d.Fd())) })
	runtime.KeepAlive(d.File)
	return err
}
