//go:build unix

package broker

import (
	"io/fs"
	"syscall"
)

// ownSession keeps a program that stays (a viewer, the holder of a clipboard) apart from Handrail's own signals.
var ownSession = &syscall.SysProcAttr{Setsid: true}

func ownerOf(info fs.FileInfo) (uid int, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}
