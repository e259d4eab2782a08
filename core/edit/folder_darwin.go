package edit

import (
	"errors"
	"fmt"
	"os"
	"path"
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
)

// exchange lets two names change places in one step, renameatx_np(2). It fails with errors.ErrUnsupported where the file
// system can't.
func (d folder) exchange(a, b string) error {
	return d.renameatx(a, b, unix.RENAME_SWAP)
}

// renameNew renames to a name that must not exist.
func (d folder) renameNew(from, to string) error {
	return d.renameatx(from, to, unix.RENAME_EXCL)
}

func (d folder) renameatx(from, to string, flags uint32) error {
	err := retry(func() error { return unix.RenameatxNp(int(d.Fd()), from, int(d.Fd()), to, flags) })
	runtime.KeepAlive(d.File)
	if isErrno(err, unix.EINVAL, unix.ENOSYS, unix.ENOTSUP, unix.EOPNOTSUPP) {
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return err
}

// clone makes a new file, opened for writing, that shares its blocks with another, fclonefileat(2), where the file system
// can (APFS).
func (d folder) clone(from *os.File, name string) (*os.File, error) {
	err := retry(func() error { return unix.Fclonefileat(int(from.Fd()), int(d.Fd()), name, 0) })
	runtime.KeepAlive(from)
	runtime.KeepAlive(d.File)
	if err != nil {
		return nil, err
	}
	to, err := d.openRead(name)
	if err == nil {
		// It has the flags and the mode of the other; one that is locked could neither be changed nor removed.
		err = errors.Join(unix.Fchflags(int(to.Fd()), 0), chmod(to, 0o600))
		to.Close()
	}
	if err == nil {
		to, err = d.open(name, unix.O_RDWR, 0)
	}
	if err != nil {
		return nil, errors.Join(err, d.remove(name))
	}
	return to, nil
}

// spelling gives the name as the folder has it: the file system takes other cases and normalisations of it too, and a
// rename would leave those behind (F_GETPATH, fcntl(2)).
func (folder) spelling(name string, f *os.File) string {
	buf := make([]byte, unix.PathMax)
	var pin runtime.Pinner // the compiler doesn't see that the call writes to buf
	pin.Pin(&buf[0])
	defer pin.Unpin()
	_, err := unix.FcntlInt(f.Fd(), unix.F_GETPATH, int(uintptr(unsafe.Pointer(&buf[0]))))
	runtime.KeepAlive(f)
	real := path.Base(unix.ByteSliceToString(buf))
	if err != nil || foldName(real) != foldName(name) {
		return name
	}
	return real
}

// From copyfile.h, sys/attr.h and sys/stat.h.
const (
	copyfileACL   = 1 << 0
	copyfileXattr = 1 << 2
	attrBitMaps   = 5
	attrCrtime    = 0x200
	keptFlags     = unix.UF_NODUMP | unix.UF_HIDDEN
)

var system = sync.OnceValues(func() (s struct{ fcopyfile, fsetattrlist uintptr }, err error) {
	lib, err := purego.Dlopen("/usr/lib/libSystem.B.dylib", purego.RTLD_LAZY)
	if err != nil {
		return s, err
	}
	if s.fcopyfile, err = purego.Dlsym(lib, "fcopyfile"); err != nil {
		return s, err
	}
	s.fsetattrlist, err = purego.Dlsym(lib, "fsetattrlist")
	return s, err
})

// keepAttributes gives a new file what the old one has besides its content and owner: access list, extended
// attributes (Finder tags among them), mode, the flags hidden and nodump, the date it was created. All but the last must succeed.
func keepAttributes(from, to *os.File, perm uint32) error {
	lib, err := system()
	if err != nil {
		return fmt.Errorf("keeping attributes: %w", err)
	}
	defer runtime.KeepAlive(from)
	defer runtime.KeepAlive(to)
	if r, _, errno := purego.SyscallN(lib.fcopyfile, from.Fd(), to.Fd(), 0, copyfileACL|copyfileXattr); int32(r) < 0 {
		return fmt.Errorf("keeping attributes and access list: %w", syscall.Errno(errno))
	}
	if err := chmod(to, perm); err != nil {
		return fmt.Errorf("keeping the mode: %w", err)
	}
	var old unix.Stat_t
	if err := unix.Fstat(int(from.Fd()), &old); err != nil {
		return err
	}
	if flags := old.Flags & keptFlags; flags != 0 {
		if err := unix.Fchflags(int(to.Fd()), int(flags)); err != nil {
			return fmt.Errorf("keeping the flags: %w", err)
		}
	}
	list := struct {
		maps, _                       uint16
		common, vol, dir, file, forks uint32
	}{maps: attrBitMaps, common: attrCrtime}
	born := old.Btim
	purego.SyscallN(lib.fsetattrlist, to.Fd(), uintptr(unsafe.Pointer(&list)), uintptr(unsafe.Pointer(&born)), unsafe.Sizeof(born), 0)
	return nil
}
