//go:build unix

package grant

import (
	"errors"
	"os"
	"syscall"
)

// IdentityOf gives the identity that a stat found.
func IdentityOf(info os.FileInfo) (ID, error) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ID{}, errors.New("the system gives files no identity")
	}
	return ID{Device: uint64(st.Dev), Inode: st.Ino}, nil
}
