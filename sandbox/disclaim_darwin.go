package sandbox

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"github.com/ebitengine/purego"
)

// spawner holds functions of the system's library. Only the last is not in its headers (responsibility.h, which browsers and
// debuggers use too), so it is looked up, and its absence is an error.
type spawner struct{ initialise, setFlags, spawn, setDisclaim uintptr }

var system = sync.OnceValues(func() (s spawner, err error) {
	lib, err := purego.Dlopen("/usr/lib/libSystem.B.dylib", purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return s, err
	}
	for _, f := range []struct {
		name string
		to   *uintptr
	}{
		{"posix_spawnattr_init", &s.initialise}, {"posix_spawnattr_setflags", &s.setFlags}, {"posix_spawn", &s.spawn},
		{"responsibility_spawnattrs_setdisclaim", &s.setDisclaim},
	} {
		if *f.to, err = purego.Dlsym(lib, f.name); err != nil {
			return s, fmt.Errorf("macOS has no %s: %w", f.name, err)
		}
	}
	return s, nil
})

// Disclaims says why commands under the profile classic, and those outside the sandbox, can't be kept from Handrail's own privacy permissions, and so aren't run;
// nil when they can.
func Disclaims() error {
	if _, err := system(); err != nil {
		return &UnavailableError{What: "a command would have Handrail's own privacy permissions", Install: "choose the profile guarded", Cause: err}
	}
	return nil
}

// POSIX_SPAWN_SETEXEC (spawn.h): the process becomes the program.
const spawnSetExec = 0x0040

// spawnAttributes is a posix_spawnattr_t, which is a pointer. It doesn't stand on a stack, which may move.
var spawnAttributes uintptr

// becomeDisclaimed makes this process the program, which from then on answers for itself. It returns only what went wrong.
func becomeDisclaimed(argv, env []string) error {
	s, err := system()
	if err != nil {
		return err
	}
	path, err := syscall.BytePtrFromString(argv[0])
	if err != nil {
		return err
	}
	args, err := syscall.SlicePtrFromStrings(argv)
	if err != nil {
		return err
	}
	envs, err := syscall.SlicePtrFromStrings(env)
	if err != nil {
		return err
	}
	at := uintptr(unsafe.Pointer(&spawnAttributes))
	for _, call := range []struct {
		name string
		f    uintptr
		args []uintptr
	}{
		{"posix_spawnattr_init", s.initialise, []uintptr{at}},
		{"posix_spawnattr_setflags", s.setFlags, []uintptr{at, spawnSetExec}},
		{"responsibility_spawnattrs_setdisclaim", s.setDisclaim, []uintptr{at, 1}},
		{"posix_spawn", s.spawn, []uintptr{0, uintptr(unsafe.Pointer(path)), 0, at, uintptr(unsafe.Pointer(&args[0])), uintptr(unsafe.Pointer(&envs[0]))}},
	} {
		if errno, _, _ := purego.SyscallN(call.f, call.args...); int32(errno) != 0 { // they return the error
			return os.NewSyscallError(call.name, syscall.Errno(errno))
		}
	}
	runtime.KeepAlive(path)
	runtime.KeepAlive(args)
	runtime.KeepAlive(envs)
	return fmt.Errorf("posix_spawn came back")
}
