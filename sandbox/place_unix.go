//go:build unix

package sandbox

import (
	"errors"
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

// enter makes the plan's folder this process's own. It is looked at once it has been entered, so that no other can take its place.
func (p *plan) enter() error {
	err := os.Chdir(p.Dir)
	if err == nil && p.DirInode != 0 {
		var here Place
		if here, err = PlaceAt("."); err == nil && (here.Device != p.DirDevice || here.Inode != p.DirInode) {
			err = errors.New("another folder is in its place")
		}
	}
	if err != nil {
		return &os.PathError{Op: "running", Path: p.Argv[0], Err: fmt.Errorf("its folder %s can't be entered: %w", p.Dir, err)}
	}
	return nil
}
