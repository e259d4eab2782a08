package edit

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// exchange lets two names change places in one step, renameat2(2). It fails with errors.ErrUnsupported where the
// file system can't.
func (d folder) exchange(a, b string) error {
	return d.renameat2(a, b, unix.RENAME_EXCHANGE)
}

// renameNew renames to a name that must not exist.
func (d folder) renameNew(from, to string) error {
	return d.renameat2(from, to, unix.RENAME_NOREPLACE)
}

func (d folder) renameat2(from, to string, flags uint) error {
	err := retry(func() error { return unix.Renameat2(int(d.Fd()), from, int(d.Fd()), to, flags) })
	runtime.KeepAlive(d.File)
	if isErrno(err, unix.EINVAL, unix.ENOSYS, unix.ENOTSUP) {
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return err
}

// clone makes a new file, opened for writing, that shares its blocks with another, where the file system can (btrfs, XFS).
func (d folder) clone(from *os.File, name string) (*os.File, error) {
	to, err := d.create(name, 0o600)
	if err != nil {
		return nil, err
	}
	err = retry(func() error { return unix.IoctlFileClone(int(to.Fd()), int(from.Fd())) })
	runtime.KeepAlive(from)
	if err != nil {
		to.Close()
		return nil, errors.Join(err, d.remove(name))
	}
	return to, nil
}

// spelling gives the name as the folder has it: as it was given, since names here are bytes.
func (folder) spelling(name string, _ *os.File) string { return name }

// keepAttributes gives a new file what the old one has besides its content and owner: extended attributes, access
// list, mode. An attribute that can't be set and that somebody chose is an error. Left out are those that the kernel takes
// away at any write (file capabilities) or that depend on the content (IMA, EVM), labels that the system's policy gives,
// and inode flags (chattr).
func keepAttributes(from, to *os.File, perm uint32) error {
	have, err := attributes(from)
	if err != nil {
		return err
	}
	given, err := attributes(to) // such as the access list that a folder gives to new files
	if err != nil {
		return err
	}
	for name := range given {
		if _, ok := have[name]; !ok && strings.HasPrefix(name, "system.posix_acl_") {
			if err := unix.Fremovexattr(int(to.Fd()), name); err != nil {
				return fmt.Errorf("removing attribute %s: %w", name, err)
			}
		}
	}
	for name, value := range have {
		err := unix.Fsetxattr(int(to.Fd()), name, value, 0)
		if err != nil && chosen(name) {
			return fmt.Errorf("keeping attribute %s: %w", name, err)
		}
	}
	runtime.KeepAlive(to)
	return chmod(to, perm)
}

// chosen reports attributes that people and their programs set.
func chosen(name string) bool {
	return strings.HasPrefix(name, "user.") || strings.HasPrefix(name, "system.posix_acl_")
}

// attributes reads the extended attributes of a file.
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
	found := make(map[string][]byte)
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		switch name {
		case "", "security.capability", "security.ima", "security.evm":
			continue
		}
		value, err := grown(func(b []byte) (int, error) { return unix.Fgetxattr(fd, name, b) })
		if err != nil && !chosen(name) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading attribute %s: %w", name, err)
		}
		found[name] = value
	}
	return found, nil
}
