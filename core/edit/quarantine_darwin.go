package edit

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const quarantineName = "com.apple.quarantine"

// quarantine marks a program that was just written. A mark that is there stays; a file system without attributes has none.
func quarantine(f *os.File) error {
	fd := int(f.Fd())
	if _, err := unix.Fgetxattr(fd, quarantineName, nil); err == nil {
		return nil
	}
	if err := unix.Fsetxattr(fd, quarantineName, []byte(quarantineMark(time.Now())), 0); err != nil && !errors.Is(err, unix.ENOTSUP) {
		return fmt.Errorf("marking a program as written by an assistant: %w", err)
	}
	return nil
}
