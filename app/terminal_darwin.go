package app

import (
	"os"

	"golang.org/x/sys/unix"
)

const getTermios = unix.TIOCGETA

// flushInput throws away what was typed and not yet read. TIOCFLUSH takes FREAD (sys/fcntl.h), which is 1.
func flushInput(tty *os.File) error {
	return unix.IoctlSetPointerInt(int(tty.Fd()), unix.TIOCFLUSH, 1)
}
