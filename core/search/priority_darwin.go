package search

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// From <sys/resource.h>.
const (
	prioDarwinThread = 3
	prioDarwinBG     = 0x1000
)

// background has the calling goroutine, for the rest of its life, use the processor and the disk only when others leave them
// (setpriority(2)).
func background() {
	runtime.LockOSThread()
	_ = unix.Setpriority(prioDarwinThread, 0, prioDarwinBG)
}
