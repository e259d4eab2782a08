//go:build !unix

package broker

import (
	"io/fs"
	"syscall"
)

var ownSession *syscall.SysProcAttr

// ownerOf knows no owner here, so no program is started.
func ownerOf(fs.FileInfo) (uid int, ok bool) { return 0, false }
