package program

import "golang.org/x/sys/unix"

// readOnly reports whether the volume that holds path is mounted without writing (statfs(2)).
func readOnly(path string) (bool, error) {
	var s unix.Statfs_t
	err := unix.Statfs(path, &s)
	return s.Flags&unix.MNT_RDONLY != 0, err
}
