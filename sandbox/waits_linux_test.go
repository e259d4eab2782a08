package sandbox

import (
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What is read of a caller's number counts only while its call waits: afterwards it may be another process's. Here it is the
// same one, which goes on, and is not read all the same.
func TestOnlyWaitingCallersAreRead(t *testing.T) {
	prog, err := filterProgram([]filterRule{{unix.SYS_GETPPID, nil, unix.SECCOMP_RET_USER_NOTIF}})
	if err != nil {
		t.Fatal(err)
	}
	type caller struct {
		tid, listener int
		err           error
	}
	callers, answered, end := make(chan caller), make(chan bool), make(chan bool)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			callers <- caller{err: err}
			return
		}
		fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&fprog)))
		if errno != 0 {
			callers <- caller{err: errno}
			return
		}
		callers <- caller{tid: unix.Gettid(), listener: int(fd)}
		unix.Syscall(unix.SYS_GETPPID, 0, 0, 0) // not unix.Getppid, during which the runtime can't stop this thread
		answered <- true
		<-end
	}()
	from := <-callers
	if from.err != nil {
		t.Fatal(from.err)
	}
	defer close(end)
	defer unix.Close(from.listener)
	var n notification
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(from.listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n))); errno != 0 {
		t.Fatal(errno)
	}
	if int(n.pid) != from.tid {
		t.Fatalf("thread %d calls, not %d", n.pid, from.tid)
	}
	c := &call{supervisor: &supervisor{listener: from.listener}, id: n.id, tid: from.tid}
	text := []byte("text\x00")
	root, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(root)
	cwd := uint64(unix.AT_FDCWD & 0xffffffff)
	ways := map[string]func() bool{
		"memory":     func() bool { s, ok := c.text(uint64(uintptr(unsafe.Pointer(&text[0])))); return ok && s == "text" },
		"folder":     func() bool { fd, err := c.walk(-1, cwd, "", unix.O_PATH); unix.Close(fd); return err == nil },
		"descriptor": func() bool { _, _, ok := c.object(uint64(root), "", true); return ok },
		"duplicate":  func() bool { fd, err := c.duplicate(from.listener); unix.Close(fd); return err == nil },
		"status":     func() bool { pid, ok := c.status("Pid:", 10); return ok && pid == uint64(from.tid) },
	}
	for name, read := range ways {
		if !read() {
			t.Errorf("%s: not read while the call waits", name)
		}
	}
	c.answer(pass)
	<-answered
	for name, read := range ways {
		if read() {
			t.Errorf("%s: read after the call was answered", name)
		}
	}
	runtime.KeepAlive(text)
}
