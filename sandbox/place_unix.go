//go:build unix

package sandbox

import (
	"fmt"
	"os"
	"syscall"
)

// PlaceAt identifies the folder at path, which is absolute with its links resolved. A link, and what is no folder, is an error.
func PlaceAt(path string) (Place, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return Place{}, fmt.Errorf("identifying a folder: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() {
		return Place{}, fmt.Errorf("identifying a folder: %q is none", path)
	}
	return Place{Path: path, Device: uint64(st.Dev), Inode: st.Ino}, nil
}
