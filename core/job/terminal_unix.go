//go:build unix

package job

import (
	"fmt"
	"os"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// openTerminal makes a pseudo-terminal: the side that stays with us, and the one that the job gets.
func openTerminal(s Size) (ours, theirs *os.File, err error) {
	m, theirs, err := pty.Open()
	if err != nil {
		return nil, nil, fmt.Errorf("making a terminal: %w", err)
	}
	defer m.Close()
	// A file that doesn't block has deadlines, and closing it ends a Read that waits. creack/pty's does block on macOS.
	fd, err := unix.FcntlInt(m.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		if err = unix.SetNonblock(fd, true); err != nil {
			unix.Close(fd)
		}
	}
	if err != nil {
		theirs.Close()
		return nil, nil, fmt.Errorf("making a terminal: %w", err)
	}
	ours = os.NewFile(uintptr(fd), m.Name())
	if err := resize(ours, s); err != nil {
		ours.Close()
		theirs.Close()
		return nil, nil, fmt.Errorf("making a terminal: %w", err)
	}
	return ours, theirs, nil
}

func resize(f *os.File, s Size) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	if s == (Size{}) {
		s = DefaultSize
	}
	if cerr := c.Control(func(fd uintptr) {
		err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: s.Rows, Col: s.Columns})
	}); cerr != nil {
		return cerr
	}
	return err
}
