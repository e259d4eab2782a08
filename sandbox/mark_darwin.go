package sandbox

import (
	"os"
	"runtime"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
)

// processes lists the processes of this user that bear the mark. Where the system can't be asked there are none; the command's
// own process group is then all that can be ended.
func (m mark) processes() []int {
	if checker() == 0 {
		return nil
	}
	all, err := unix.SysctlKinfoProcSlice("kern.proc.uid", os.Getuid())
	if err != nil {
		return nil
	}
	var pids []int
	for _, proc := range all {
		if pid := int(proc.Proc.P_pid); pid > 1 && pid != os.Getpid() && m.mayLookUp(pid) && !unmarked.mayLookUp(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// checker is the address of sandbox_check in the system's library, 0 if there is none.
var checker = sync.OnceValue(func() uintptr {
	lib, err := purego.Dlopen("/usr/lib/system/libsystem_sandbox.dylib", purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return 0
	}
	f, err := purego.Dlsym(lib, "sandbox_check")
	if err != nil {
		return 0
	}
	return f
})

// Arguments of sandbox_check (sandbox.h): a name of a service, and no record of the question in the log.
const (
	filterGlobalName = 2
	checkNoReport    = 0x40000000
)

func (m mark) mayLookUp(pid int) bool {
	operation, name := text("mach-lookup"), text(string(m))
	args := []uintptr{uintptr(pid), uintptr(unsafe.Pointer(operation)), filterGlobalName | checkNoReport}
	if runtime.GOARCH == "arm64" { // variable arguments go on the stack there, which starts after eight
		args = append(args, 0, 0, 0, 0, 0)
	}
	args = append(args, uintptr(unsafe.Pointer(name)))
	denied, _, _ := purego.SyscallN(checker(), args...)
	runtime.KeepAlive(operation)
	runtime.KeepAlive(name)
	return int32(denied) == 0
}

// text is a string for the system's functions, not on a stack, which may move.
//
//go:noinline
func text(s string) *byte {
	b := make([]byte, len(s)+1)
	copy(b, s)
	return &b[0]
}

// EndLeft kills the commands that an earlier run of Handrail with this state folder left running, as it does when it is killed itself, and
// says how many processes there were. The caller holds what only one run can hold. On Linux commands end with Handrail.
func EndLeft(state string) int { return markOf(state).kill() }

// kill kills every process that bears the mark, until there is none, and says how many there were at first.
func (m mark) kill() int {
	first := -1
	for range 100 {
		left := 0
		for _, pid := range m.processes() {
			if unix.Kill(pid, unix.SIGKILL) == nil {
				left++
			}
		}
		if first < 0 {
			first = left
		}
		if left == 0 {
			break
		}
	}
	return max(first, 0)
}
