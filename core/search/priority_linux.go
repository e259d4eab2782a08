package search

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// background has the calling goroutine, for the rest of its life, use the processor only when others leave it.
func background() {
	runtime.LockOSThread()
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), 10)
}
