package edit

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// placeholder reports a file whose content is in the cloud (SF_DATALESS, sys/stat.h). Opening one to read it fetches it,
// and so does listing such a folder.
func placeholder(st *unix.Stat_t) bool {
	const dataless = 0x40000000
	return st.Flags&dataless != 0
}

// moveNew puts a file into another folder of the same volume, where nothing may have the name; renameatx_np(2).
func (d folder) moveNew(from string, to folder, name string) error {
	err := retry(func() error {
		return unix.RenameatxNp(int(d.Fd()), from, int(to.Fd()), name, unix.RENAME_EXCL)
	})
	runtime.KeepAlive(d.File)
	runtime.KeepAlive(to.File)
	if isErrno(err, unix.EINVAL, unix.ENOSYS, unix.ENOTSUP, unix.EOPNOTSUPP) {
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return err
}

// excludeFromBackup keeps a folder out of Time Machine, as `tmutil addexclusion` does: the value is a binary property
// list of one string.
func excludeFromBackup(d folder) error {
	const name = "com.apple.metadata:com_apple_backup_excludeItem"
	err := unix.Fsetxattr(int(d.Fd()), name, excluded(), 0)
	runtime.KeepAlive(d.File)
	return err
}

// flushVolume has the system write what it holds to the disk, sync(2); it doesn't wait for the end.
func flushVolume(folder) error {
	return unix.Sync()
}

// attributes reads the extended attributes of a file or folder; access lists are not among them.
func attributes(f *os.File) (map[string][]byte, error) {
	fd := int(f.Fd())
	defer runtime.KeepAlive(f)
	list, err := grown(func(b []byte) (int, error) { return unix.Flistxattr(fd, b) })
	if isErrno(err, unix.ENOTSUP) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing attributes: %w", err)
	}
	var found map[string][]byte
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		if name == "" {
			continue
		}
		value, err := grown(func(b []byte) (int, error) { return unix.Fgetxattr(fd, name, b) })
		if err != nil { // one of the system's own
			continue
		}
		if found == nil {
			found = make(map[string][]byte)
		}
		found[name] = value
	}
	return found, nil
}
