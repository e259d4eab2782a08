package app

import (
	"os"

	"golang.org/x/sys/unix"
)

const getTermios = unix.TCGETS

// flushInput throws away what was typed and not yet read.
func flushInput(tty *os.File) error {
	return unix.IoctlSetInt(int(tty.Fd()), unix.TCFLSH, unix.TCIFLUSH)
}
