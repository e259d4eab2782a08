//go:build unix

package audit

import (
	"errors"
	"os"
	"syscall"
)

// lock takes the file for this process until it is closed, or says that another has it (flock(2)).
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errors.New("another Handrail is using it; join that one with `handrail stdio`, or give this one another --state")
	}
	return err
}
