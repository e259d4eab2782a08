package client

import (
	"os"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
)

// pidPathMax is PROC_PIDPATHINFO_MAXSIZE (<sys/proc_info.h>): 4 × MAXPATHLEN.
const pidPathMax = 4 * 1024

// procPidpath is proc_pidpath (<libproc.h>): the path of a process's executable as the kernel knows it.
var procPidpath = sync.OnceValue(func() func(pid int32, buffer unsafe.Pointer, size uint32) int32 {
	lib, err := purego.Dlopen("/usr/lib/libproc.dylib", purego.RTLD_LAZY)
	if err != nil {
		return nil
	}
	symbol, err := purego.Dlsym(lib, "proc_pidpath")
	if err != nil {
		return nil
	}
	var f func(int32, unsafe.Pointer, uint32) int32
	purego.RegisterFunc(&f, symbol)
	return f
})

// process gives the executable and the parent of a process (sysctl kern.proc.pid, <sys/sysctl.h>).
func process(pid int) (program string, parent int, ok bool) {
	pidpath := procPidpath()
	if pidpath == nil {
		return "", 0, false
	}
	path := make([]byte, pidPathMax)
	n := pidpath(int32(pid), unsafe.Pointer(&path[0]), uint32(len(path)))
	if n <= 0 || int(n) > len(path) {
		return "", 0, false
	}
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return "", 0, false
	}
	return string(path[:n]), int(info.Eproc.Ppid), true
}

func self() string {
	program, _, _ := process(os.Getpid())
	return program
}
