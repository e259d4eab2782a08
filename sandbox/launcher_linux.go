package sandbox

import (
	"bytes"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// embedded is the program that UseLauncher gave.
var embedded struct {
	program []byte
	once    sync.Once
	file    *os.File // sealed memory; nil where the system runs none
}

// UseLauncher has Start run this program inside sandboxes in place of Machine.Executable: one that only calls Launch, and starts
// sooner than all of Handrail. It is to be called before Start. Where the system runs no program from memory, Start goes on with
// Machine.Executable.
func UseLauncher(program []byte) { embedded.program = program }

// openLauncher opens the program that is started inside a sandbox. The descriptor is the caller's to close.
func openLauncher(executable string) (*os.File, error) {
	e := &embedded
	e.once.Do(func() {
		if len(e.program) == 0 {
			return
		}
		fd, err := unix.MemfdCreate("handrail launch", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_EXEC)
		if err == unix.EINVAL { // before Linux 6.3
			fd, err = unix.MemfdCreate("handrail launch", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
		}
		if err != nil {
			return
		}
		f := os.NewFile(uintptr(fd), "launcher")
		if _, err = io.Copy(f, bytes.NewReader(e.program)); err == nil {
			_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE)
		}
		if err != nil {
			f.Close()
			return
		}
		e.file = f
	})
	if e.file == nil {
		return os.Open(executable)
	}
	fd, err := unix.FcntlInt(e.file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd), "launcher"), nil
}
