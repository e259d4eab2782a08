package sandbox

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// supervisor does what its command may not do itself. The command sees every file but those of the session's own folders
// read-only, and its Landlock rules say the same. A call that would change a file by its path waits while the supervisor
// reads it once from the caller's memory, resolves it as the kernel would for the caller, asks the policy about the path that
// came out, and does the call itself: on descriptors it holds of the folders on the host that were granted, after comparing
// that they are the folders the caller sees. A file opened for writing is handed over as a descriptor.
//
// What the supervisor passes (lets the kernel do for the caller) can so change nothing but the session's own folders, whatever
// the caller writes into its memory meanwhile. A call that is forgotten here fails; none is let through. What was read
// of the caller, by its number, counts only if the call still waits then: the number is no other process's (see waits).
//
// It answers on one thread, and is the only one in the sandbox that renames in granted folders, so what it decided on stays true
// until it is done; another program of the person's, or another sandbox (of another session, or a second command of this one), may
// still come between, so what was opened or made is looked at once more.
type supervisor struct {
	policy   Policy
	index    *index     // made for the first call: many commands make none
	held     []heldRoot // longest path first
	private  []string   // folders that the command changes by itself
	nested   map[string]bool
	listener int
	folders  map[fileID]int // folders on the host that are open
	links    links
	umasks   umasks
	buffer   [maxPath]byte // for what is read of the caller
	// made are the folders that the command made, with what they are.
	made map[fileID]madeAs
	// listens are the inodes of the sockets on which the command listens in the computer's network.
	listens map[uint64]bool
}

type heldRoot struct {
	path string
	fd   int
}

type fileID struct{ device, inode uint64 }

func idOf(st *unix.Stat_t) fileID { return fileID{uint64(st.Dev), st.Ino} }

func newSupervisor(p Policy, todo plan) *supervisor {
	s := &supervisor{policy: p, nested: map[string]bool{}, made: map[fileID]madeAs{}, folders: map[fileID]int{}}
	for i, path := range todo.Held {
		s.held = append(s.held, heldRoot{path, fdHeld + i})
	}
	slices.SortStableFunc(s.held, func(a, b heldRoot) int { return len(b.path) - len(a.path) })
	s.private = []string{"/dev", "/proc", p.machine.Temp}
	if p.machine.Caches != "" {
		s.private = append(s.private, p.machine.Caches)
	}
	if p.profile != classic {
		s.private = append(s.private, "/tmp")
	}
	for _, path := range todo.Nested {
		s.nested[path] = true
	}
	s.links = links{targets: map[string]bool{}, scanned: map[string]bool{}}
	return s
}

// eachPlace opens, one after another, the folders in which the policy allows changes, and compares their identities.
func (s *supervisor) eachPlace(do func(fd int) error) error {
	if s.policy.profile == classic {
		return do(s.held[len(s.held)-1].fd) // the shortest path: everything
	}
	if s.policy.profile == readOnly {
		return nil
	}
	for _, place := range s.policy.writes {
		dir := place.Path
		if place.File {
			dir = dir[:strings.LastIndexByte(dir, '/')+1]
		}
		fd, err := s.openHeld(dir)
		if err != nil {
			return &PlaceError{place.Path, err}
		}
		var st unix.Stat_t
		err = unix.Fstat(fd, &st)
		if err == nil && (uint64(st.Dev) != place.Device || st.Ino != place.Inode) {
			unix.Close(fd)
			return &PlaceError{Path: place.Path}
		}
		if err == nil {
			err = do(fd)
		}
		unix.Close(fd)
		if err != nil {
			return err
		}
	}
	return nil
}

// openHeld opens a folder on the host by its real path, below a folder that is held, following no link.
func (s *supervisor) openHeld(dir string) (int, error) {
	for _, root := range s.held {
		if !within(root.path, dir) {
			continue
		}
		rel := strings.Trim(strings.TrimPrefix(dir, root.path), "/")
		if rel == "" {
			rel = "."
		}
		return openat2(root.fd, rel, unix.O_PATH|unix.O_DIRECTORY, 0, unix.RESOLVE_BENEATH|unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS)
	}
	return -1, unix.EROFS
}

// Structures of linux/seccomp.h.
type (
	notification struct {
		id    uint64
		pid   uint32
		flags uint32
		data  struct {
			call int32
			arch uint32
			ip   uint64
			args [6]uint64
		}
	}
	response struct {
		id    uint64
		value int64
		errno int32
		flags uint32
	}
	addDescriptor struct {
		id       uint64
		flags    uint32
		source   uint32
		target   uint32
		newFlags uint32
	}
)

// answer is what happens to a call.
type answer struct {
	value int64
	errno unix.Errno
	pass  bool // the kernel does the call for the caller
	sent  bool // it was answered already, or will be
}

var pass = answer{pass: true}

func fail(errno unix.Errno) answer { return answer{errno: errno} }

// result is the answer for a call that the supervisor did.
func result(err error) answer {
	if err == nil {
		return answer{}
	}
	if errno, ok := err.(unix.Errno); ok {
		return fail(errno)
	}
	return fail(unix.EIO)
}

// call is one call that waits.
type call struct {
	*supervisor
	id   uint64
	tid  int
	args [6]uint64
	// notGit says that a part of a Git folder was to be made in a folder that was none.
	notGit bool
}

// serve answers calls, one after another, until the process ends or it can't any more. Most take microseconds; those that may wait get a goroutine.
// It stays on its thread: Landlock lets that one alone look into the command.
func (s *supervisor) serve(listener int) error {
	s.listener = listener
	// Wakes the other side on the same processor, which is most of what an answer costs. Linux 6.6 or newer; else it is slower.
	unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
	var n notification
	for {
		n = notification{}
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n)))
		switch errno {
		case 0:
			if s.index == nil {
				s.index = s.policy.index()
				s.index.looks = true
			}
			c := &call{supervisor: s, id: n.id, tid: int(n.pid), args: n.data.args}
			s.forgetFolders()
			delete(s.umasks.changing, c.tid)
			if a := s.handle(c, int(n.data.call)); !a.sent {
				c.answer(a)
			}
		case unix.EINTR:
		case unix.ENOENT: // the caller was killed before it was read, or there is no caller any more
			poll := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
			if _, err := unix.Poll(poll, -1); err == nil && poll[0].Revents&unix.POLLHUP != 0 {
				select {} // the command and all it started are gone: reap ends this process
			}
		default:
			return fmt.Errorf("receiving a call: %w", errno) // which ends the sandbox
		}
	}
}

// answer ends the caller's wait. A caller that is gone needs none.
func (c *call) answer(a answer) {
	r := response{id: c.id, value: a.value, errno: -int32(a.errno)}
	if a.pass {
		r.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
	}
	unix.Syscall(unix.SYS_IOCTL, uintptr(c.listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&r)))
}

// give hands a descriptor over as the result of the call, and answers it with that.
func (c *call) give(fd int, closeOnExec bool) answer {
	add := addDescriptor{id: c.id, flags: unix.SECCOMP_ADDFD_FLAG_SEND, source: uint32(fd)}
	if closeOnExec {
		add.newFlags = unix.O_CLOEXEC
	}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(c.listener), unix.SECCOMP_IOCTL_NOTIF_ADDFD, uintptr(unsafe.Pointer(&add)))
	if errno == 0 || errno == unix.ENOENT {
		return answer{sent: true}
	}
	return fail(errno) // EMFILE: the caller's limit
}

// maxPath is PATH_MAX, with the final NUL.
const maxPath = 4096

// text reads a NUL-terminated string from the caller's memory, once.
func (c *call) text(addr uint64) (string, bool) {
	if addr == 0 {
		return "", false
	}
	n, err := c.memory(addr, c.buffer[:])
	if err != nil {
		return "", false
	}
	end := bytes.IndexByte(c.buffer[:n], 0)
	if end < 0 {
		return "", false
	}
	return string(c.buffer[:end]), true
}

// memory reads up to len(buf) bytes of the caller's memory; fewer when the next page isn't mapped.
func (c *call) memory(addr uint64, buf []byte) (int, error) {
	first := min(len(buf), int(4096-addr%4096))
	local := []unix.Iovec{{Base: &buf[0], Len: uint64(len(buf))}}
	remote := []unix.RemoteIovec{{Base: uintptr(addr), Len: first}}
	if first < len(buf) {
		remote = append(remote, unix.RemoteIovec{Base: uintptr(addr) + uintptr(first), Len: len(buf) - first})
	}
	n, err := unix.ProcessVMReadv(c.tid, local, remote, 0)
	if err == nil && !c.waits() {
		return 0, unix.ESRCH
	}
	return n, err
}

// waits reports whether the call still waits for its answer. A caller that was killed doesn't, and its number may be another's by
// now. As long as it waits all that was read of that number is the caller's (seccomp_unotify(2)).
func (c *call) waits() bool {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(c.listener), unix.SECCOMP_IOCTL_NOTIF_ID_VALID, uintptr(unsafe.Pointer(&c.id)))
	return errno == 0
}

// umasks remembers the file mode masks of callers: reading one costs as much as the rest of a call. A caller's thread that
// changes its mask is not remembered until its next call, when the change is done for sure.
type umasks struct {
	known    map[int]uint32
	changing map[int]bool
}

func (u *umasks) changes(tid int) {
	u.known = nil
	if u.changing == nil || len(u.changing) > 1024 {
		u.changing = map[int]bool{}
	}
	u.changing[tid] = true
}

// umask gives the caller's file mode mask.
func (c *call) umask() uint32 {
	u := &c.umasks
	if mask, ok := u.known[c.tid]; ok {
		return mask
	}
	n, ok := c.status("Umask:", 8)
	if !ok {
		return 0o777 // who is gone gives no rights
	}
	mask := uint32(n)
	if len(u.changing) == 0 {
		if u.known == nil || len(u.known) >= 256 { // numbers of processes are used again
			u.known = map[int]uint32{}
		}
		u.known[c.tid] = mask
	}
	return mask
}
