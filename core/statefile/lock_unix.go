//go:build darwin || linux

package statefile

import (
	"os"

	"golang.org/x/sys/unix"
)

// Lock holds an exclusive flock(2) for a file until unlock is called, waiting for whoever holds it. What is locked is a file beside
// it, whose name ends in .lock and which stays, since the file itself is replaced.
func Lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if err != unix.EINTR {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}
