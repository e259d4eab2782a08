package sandboxtest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// raw makes a system call by its number.
func raw(trap uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := unix.Syscall6(trap, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

func ptr(s string) uintptr {
	b, err := unix.BytePtrFromString(s)
	if err != nil {
		panic(err)
	}
	return uintptr(unsafe.Pointer(b))
}

// granted is a path in the granted folder, as the probe's environment names it.
func granted(name string) string { return filepath.Join(os.Getenv("G"), name) }

func outside(name string) string { return filepath.Join(os.Getenv("OUT"), name) }

// notTried says that an escape could not even be tried; that is no denial and fails the test.
func notTried(err error) error { return fmt.Errorf("not tried: %w", err) }

type attempt struct {
	name string
	do   func() error
}

// escapes are tried inside the sandbox. Each returns nil when it got out.
var escapes = []attempt{
	// Into the supervisor and other processes.
	{"trace the supervisor", func() error { return unix.PtraceAttach(1) }},
	{"trace a child", func() error { return raw(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(os.Getppid()), 0, 0) }},
	{"read the supervisor's memory", func() error {
		b := make([]byte, 8)
		_, err := unix.ProcessVMReadv(1, []unix.Iovec{{Base: &b[0], Len: 8}}, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
		return err
	}},
	{"open the supervisor's memory", func() error { return opens(unix.AT_FDCWD, "/proc/1/mem", unix.O_RDWR) }},
	{"read the supervisor's memory map", func() error { return opens(unix.AT_FDCWD, "/proc/1/maps", unix.O_RDONLY) }},
	{"the supervisor's environment", func() error { return opens(unix.AT_FDCWD, "/proc/1/environ", unix.O_RDONLY) }},
	{"the supervisor's root", func() error { return opens(unix.AT_FDCWD, "/proc/1/root/etc", unix.O_RDONLY) }},
	{"the supervisor's folder", func() error { return opens(unix.AT_FDCWD, "/proc/1/cwd/etc", unix.O_RDONLY) }},
	{"the supervisor's program", func() error { return opens(unix.AT_FDCWD, "/proc/1/exe", unix.O_RDONLY) }},
	{"the supervisor's descriptors", func() error {
		for fd := range 64 {
			if opens(unix.AT_FDCWD, fmt.Sprintf("/proc/1/fd/%d", fd), unix.O_RDONLY) == nil {
				return nil
			}
		}
		return unix.EACCES
	}},
	{"take the supervisor's descriptors", func() error {
		pidfd, err := unix.PidfdOpen(1, 0)
		if err != nil {
			return err
		}
		for fd := range 64 {
			if _, err = unix.PidfdGetfd(pidfd, fd, 0); err == nil {
				return nil
			}
		}
		return err
	}},
	{"kill the supervisor", func() error {
		for _, sig := range []syscall.Signal{0, unix.SIGKILL, unix.SIGSTOP, unix.SIGTERM, unix.SIGSEGV, unix.SIGQUIT} {
			if unix.Kill(1, sig) == nil {
				return nil
			}
		}
		return unix.EPERM
	}},
	{"kill a thread of the supervisor", func() error { return unix.Tgkill(1, 1, unix.SIGSEGV) }},
	{"limit the supervisor", func() error {
		zero := unix.Rlimit{}
		return unix.Prlimit(1, unix.RLIMIT_NOFILE, &zero, nil)
	}},
	{"a process outside", func() error {
		pid, _ := strconv.Atoi(os.Getenv("HOSTPID"))
		if link, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && link == os.Getenv("HOSTEXE") {
			return nil
		}
		return unix.ESRCH
	}},

	// Another view of the files.
	{"new user namespace", func() error { return raw(unix.SYS_UNSHARE, unix.CLONE_NEWUSER) }},
	{"new mount namespace", func() error { return raw(unix.SYS_UNSHARE, unix.CLONE_NEWNS) }},
	{"new network namespace", func() error { return raw(unix.SYS_UNSHARE, unix.CLONE_NEWNET) }},
	{"namespace by clone", func() error { return raw(unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD)) }},
	{"namespace by clone3", func() error {
		args := [11]uint64{0: unix.CLONE_NEWUSER, 4: uint64(unix.SIGCHLD)}
		return raw(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), 88)
	}},
	{"enter a namespace", func() error {
		fd, err := unix.Open("/proc/self/ns/mnt", unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		return unix.Setns(fd, 0)
	}},
	{"mount", func() error { return unix.Mount("none", "/tmp", "tmpfs", 0, "") }},
	{"mount writable", func() error { return unix.Mount("", os.Getenv("W"), "", unix.MS_REMOUNT|unix.MS_BIND, "") }},
	{"unmount", func() error { return unix.Unmount(os.Getenv("W"), unix.MNT_DETACH) }},
	{"open a tree", func() error { return raw(unix.SYS_OPEN_TREE, ^uintptr(99), ptr(os.Getenv("W")), 1) }},
	{"mount attributes", func() error {
		attr := [4]uint64{1: unix.MOUNT_ATTR_RDONLY}
		return raw(unix.SYS_MOUNT_SETATTR, ^uintptr(99), ptr(os.Getenv("W")), 0, uintptr(unsafe.Pointer(&attr)), 32)
	}},
	{"new file system", func() error { return raw(unix.SYS_FSOPEN, ptr("tmpfs"), 0) }},
	{"move a mount", func() error { return raw(unix.SYS_MOVE_MOUNT, ^uintptr(99), ptr("/tmp"), ^uintptr(99), ptr("/usr"), 0) }},
	{"new root", func() error { return unix.PivotRoot("/", "/tmp") }},
	{"chroot", func() error { return unix.Chroot("/tmp") }},
	{"open by handle", func() error {
		handle := [8]uint32{8, 1, 2, 0}
		return raw(unix.SYS_OPEN_BY_HANDLE_AT, ^uintptr(99), uintptr(unsafe.Pointer(&handle)), 0)
	}},
	{"above the root", func() error { return opens(unix.AT_FDCWD, "/../../../.."+outside("f"), unix.O_RDONLY) }},

	// Past the filter.
	{"io_uring", func() error {
		var params [120]byte
		return raw(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)))
	}},
	{"open of another kind", func() error {
		how := unix.OpenHow{Flags: unix.O_WRONLY | unix.O_CREAT, Mode: 0o600}
		_, err := unix.Openat2(unix.AT_FDCWD, granted(".envrc"), &how)
		return err
	}},
	{"32-bit program", runs32},
	{"another numbering of calls", func() error {
		if runtime.GOARCH != "amd64" {
			return unix.ENOSYS
		}
		return raw(0x40000000|unix.SYS_MKDIRAT, ^uintptr(99), ptr(granted(".vscode")), 0o755)
	}},
	{"flags in the high half", func() error {
		return raw(unix.SYS_OPENAT, ^uintptr(99), ptr(granted(".envrc")), 1<<32|unix.O_WRONLY|unix.O_CREAT, 0o600)
	}},
	{"ioctl in the high half", func() error { return raw(unix.SYS_IOCTL, 0, 1<<32|unix.TIOCSTI, ptr("x")) }},
	{"type into a terminal", func() error { return raw(unix.SYS_IOCTL, 0, unix.TIOCSTI, ptr("x")) }},
	{"call from the future", func() error { return raw(469, ^uintptr(99), ptr(outside("f")), 0, 0) }},
	{"filter of one's own", func() error { // may be made, and may not allow what the first refuses
		prog := []unix.SockFilter{{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ALLOW}}
		fprog := unix.SockFprog{Len: 1, Filter: &prog[0]}
		if err := raw(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&fprog))); err != nil {
			return err
		}
		return raw(unix.SYS_UNSHARE, unix.CLONE_NEWUSER)
	}},

	// The kernel.
	{"keys", func() error { return raw(unix.SYS_KEYCTL, 0, ^uintptr(2), 0) }},
	{"add a key", func() error { return raw(unix.SYS_ADD_KEY, ptr("user"), ptr("x"), ptr("y"), 1, ^uintptr(2)) }},
	{"bpf", func() error { return raw(unix.SYS_BPF, 0, 0, 0) }},
	{"performance counters", func() error { return raw(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 0) }},
	{"page faults", func() error { return raw(unix.SYS_USERFAULTFD, 1) }},
	{"module", func() error { return raw(unix.SYS_FINIT_MODULE, 0, ptr(""), 0) }},
	{"another kernel", func() error { return raw(unix.SYS_KEXEC_LOAD, 0, 0, 0, 0) }},
	{"the clock", func() error {
		tv := unix.Timeval{Sec: time.Now().Unix()}
		return unix.Settimeofday(&tv)
	}},
	{"personality", func() error { return raw(unix.SYS_PERSONALITY, 0x0400000) }}, // read implies execute
	{"run as the owner, by mode", func() error {
		fd, err := unix.Open(granted("suid"), unix.O_CREAT|unix.O_WRONLY, 0o4755)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if unix.Fchmod(fd, 0o4755) == nil {
			return nil
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_ISUID != 0 {
			return err
		}
		return unix.EPERM
	}},

	// Files, by ways the grid doesn't take.
	{"write through a descriptor of the folder above", func() error {
		return inFolder(granted("x"), func(dir int, _ string) error { return opens(dir, "../../../outside/new", unix.O_WRONLY|unix.O_CREAT) })
	}},
	{"unnamed file at a protected name", func() error {
		fd, err := unix.Open(os.Getenv("G"), unix.O_TMPFILE|unix.O_RDWR, 0o600)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		from := fmt.Sprintf("/proc/self/fd/%d", fd)
		if err := unix.Linkat(unix.AT_FDCWD, from, unix.AT_FDCWD, granted("named"), unix.AT_SYMLINK_FOLLOW); err != nil {
			return notTried(err)
		}
		return unix.Linkat(unix.AT_FDCWD, from, unix.AT_FDCWD, granted(".envrc"), unix.AT_SYMLINK_FOLLOW)
	}},
	{"link a protected file by its descriptor", func() error {
		fd, err := unix.Open(granted("r/.git/config"), unix.O_RDONLY, 0)
		if err != nil {
			return notTried(err)
		}
		defer unix.Close(fd)
		if unix.Linkat(fd, "", unix.AT_FDCWD, granted("second"), unix.AT_EMPTY_PATH) == nil {
			return nil
		}
		return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, granted("second"), unix.AT_SYMLINK_FOLLOW)
	}},
	{"change a protected file by its descriptor", func() error {
		fd, err := unix.Open(granted("r/.git/config"), unix.O_RDONLY, 0)
		if err != nil {
			return notTried(err)
		}
		defer unix.Close(fd)
		for _, do := range []func() error{
			func() error { return unix.Fchmod(fd, 0o777) },
			func() error { return unix.Ftruncate(fd, 0) },
			func() error { return opens(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_WRONLY) },
			func() error { return opens(unix.AT_FDCWD, fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd), unix.O_RDWR) },
			func() error { return opens(unix.AT_FDCWD, fmt.Sprintf("/proc/thread-self/fd/%d", fd), unix.O_RDWR) },
			func() error { return unix.Fsetxattr(fd, "user.x", []byte("y"), 0) },
			func() error { return unix.Futimes(fd, []unix.Timeval{{}, {}}) },
		} {
			if err = do(); err == nil {
				return nil
			}
		}
		return err
	}},
	{"through one's own entry in /proc", func() error {
		for _, path := range []string{"/proc/self/root" + granted(".envrc"), "/proc/self/cwd/granted/.envrc", fmt.Sprintf("/proc/%d/cwd/granted/.envrc", os.Getpid()), "/proc/self/root" + outside("new")} {
			if opens(unix.AT_FDCWD, path, unix.O_WRONLY|unix.O_CREAT) == nil {
				return nil
			}
		}
		return unix.EROFS
	}},
	{"attributes outside", func() error {
		for _, path := range []string{outside("f"), filepath.Join(os.Getenv("W"), "f")} {
			for _, do := range []func() error{
				func() error { return unix.Setxattr(path, "user.x", []byte("y"), 0) },
				func() error { return unix.Lsetxattr(path, "user.x", []byte("y"), 0) },
				func() error { return unix.Removexattr(path, "user.x") },
				func() error { return unix.Lchown(path, os.Getuid(), os.Getgid()) },
				func() error { return unix.Utime(path, nil) },
				func() error { return unix.Futimesat(unix.AT_FDCWD, path, nil) },
				func() error { return raw(unix.SYS_FCHMODAT2, ^uintptr(99), ptr(path), 0o600, unix.AT_SYMLINK_NOFOLLOW) },
			} {
				if do() == nil {
					return nil
				}
			}
		}
		return unix.EROFS
	}},
	{"keep a config open while it is taken over", func() error {
		dir := granted("new")
		if err := unix.Mkdir(dir, 0o755); err != nil {
			return notTried(err)
		}
		if err := unix.Mkdir(dir+"/.git", 0o755); err != nil {
			return notTried(err)
		}
		fd, err := unix.Open(dir+"/.git/config.lock", unix.O_CREAT|unix.O_RDWR, 0o644)
		if err != nil {
			return notTried(err)
		}
		defer unix.Close(fd)
		text := "[core]\n\tbare = false\n"
		unix.Write(fd, []byte(text))
		if err := unix.Rename(dir+"/.git/config.lock", dir+"/.git/config"); err != nil {
			return notTried(err)
		}
		unix.Write(fd, []byte("[core]\n\tfsmonitor = x\n"))
		got, err := os.ReadFile(dir + "/.git/config")
		if err != nil {
			return notTried(err)
		}
		if string(got) != text {
			return nil
		}
		return unix.EPERM
	}},
	{"a harmful config by its lock", func() error {
		lock := granted("r/.git/config.lock")
		if err := os.WriteFile(lock, []byte("[core]\n\tfsmonitor = x\n"), 0o644); err != nil {
			return notTried(err)
		}
		defer os.Remove(lock)
		return unix.Rename(lock, granted("r/.git/config"))
	}},
	{"a path that changes while it is looked at", racePath},
	{"a folder that becomes a link while it is looked at", raceLink},

	// Sockets.
	{"another program's socket in the workspace", func() error { return dials("unix", filepath.Join(os.Getenv("W"), "host.sock")) }},
	{"another program's socket by a link", func() error {
		link := filepath.Join(os.Getenv("TMPDIR"), "sock")
		if err := os.Symlink(filepath.Join(os.Getenv("W"), "host.sock"), link); err != nil {
			return notTried(err)
		}
		return dials("unix", link)
	}},
	{"another program's socket by the supervisor's descriptors", func() error {
		return throughSupervisor(func(way string) error { return dials("unix", way+"/app.sock") })
	}},
	{"another program's socket by a link to the supervisor's descriptors", func() error {
		link := filepath.Join(os.Getenv("TMPDIR"), "way")
		return throughSupervisor(func(way string) error {
			os.Remove(link)
			if err := os.Symlink(way, link); err != nil {
				return notTried(err)
			}
			return dials("unix", link+"/app.sock")
		})
	}},
	{"whether a file outside exists, by the supervisor's descriptors", func() error {
		return throughSupervisor(func(way string) error {
			is, isNot := dials("unix", way+"/f"), dials("unix", way+"/g")
			if errors.Is(is, unix.ENOENT) && errors.Is(isNot, unix.ENOENT) {
				return unix.ENOENT
			}
			return nil
		})
	}},
	{"another program's abstract socket", func() error { return dials("unix", "@"+os.Getenv("ABSTRACT")) }},
	{"unix datagrams", func() error {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		return unix.Sendto(fd, []byte("x"), 0, &unix.SockaddrUnix{Name: filepath.Join(os.Getenv("W"), "host.dgram")})
	}},
	{"unix datagrams from a pair", func() error {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		return unix.Sendto(pair[0], []byte("x"), 0, &unix.SockaddrUnix{Name: filepath.Join(os.Getenv("W"), "host.dgram")})
	}},
	{"unix datagrams by another name", func() error {
		_, err := unix.Socket(unix.AF_UNIX, unix.SOCK_RAW, 0)
		return err
	}},
	{"packets", func() error { _, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0); return err }},
	{"raw internet packets", func() error { _, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP); return err }},
	{"virtual machine's sockets", func() error { _, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0); return err }},
	{"kernel's audit socket", func() error { _, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT); return err }},
	{"multipath", func() error { _, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP); return err }},
	{"a socket of another type in the high half", func() error { return raw(unix.SYS_SOCKET, 1<<32|unix.AF_PACKET, unix.SOCK_RAW, 0) }},
	{"our own port", func() error {
		port := os.Getenv("OURPORT")
		for _, host := range []string{"127.0.0.1", "::1", "::ffff:127.0.0.1", "0.0.0.0", "127.1.2.3", "::"} {
			if dials("tcp", net.JoinHostPort(host, port)) == nil {
				return nil
			}
		}
		return unix.EACCES
	}},
	{"our own port in one packet", func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		port, _ := strconv.Atoi(os.Getenv("OURPORT"))
		return unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	}},
	{"take our own port", func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
		port, _ := strconv.Atoi(os.Getenv("OURPORT"))
		if err := unix.Bind(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
			return err
		}
		if os.Getenv("NETWORK") == "own" {
			return unix.EACCES // the port of another network
		}
		return unix.Listen(fd, 1)
	}},
	{"listen to other computers", func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		if os.Getenv("NETWORK") == "own" {
			return unix.EACCES
		}
		if err := unix.Bind(fd, &unix.SockaddrInet4{}); err != nil {
			return err
		}
		if err := unix.Listen(fd, 1); err != nil {
			return err
		}
		name, err := unix.Getsockname(fd)
		if in4, ok := name.(*unix.SockaddrInet4); err == nil && ok && in4.Addr == [4]byte{127, 0, 0, 1} {
			return unix.EACCES
		}
		return err
	}},
}

// throughSupervisor tries ways to the folder outside that begin at descriptors of whoever resolves them. The supervisor's lead into
// the host's own mounts.
func throughSupervisor(do func(way string) error) error {
	err := error(unix.ENOENT)
	for fd := range 24 {
		for _, proc := range []string{"/proc/self", "/proc//self", "/proc/1", "/proc/thread-self", "/proc/self/task/1", "/dev/../proc/self"} {
			if err = do(fmt.Sprintf("%s/fd/%d%s%s", proc, fd, strings.Repeat("/..", 12), os.Getenv("OUT"))); err == nil || strings.HasPrefix(err.Error(), "not tried") {
				return err
			}
		}
	}
	return err
}

// runs32 runs a program of 32 bits that ends with status 0.
func runs32() error {
	if runtime.GOARCH != "amd64" {
		return unix.ENOSYS
	}
	// An ELF header, one segment, and: mov eax,1; xor ebx,ebx; int 0x80.
	code := "\xb8\x01\x00\x00\x00\x31\xdb\xcd\x80"
	elf := "\x7fELF\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x03\x00\x01\x00\x00\x00\x54\x80\x04\x08\x34\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x34\x00\x20\x00\x01\x00\x28\x00\x00\x00\x00\x00" +
		"\x01\x00\x00\x00\x00\x00\x00\x00\x00\x80\x04\x08\x00\x80\x04\x08\x5d\x00\x00\x00\x5d\x00\x00\x00\x05\x00\x00\x00\x00\x10\x00\x00" + code
	file := filepath.Join(os.Getenv("TMPDIR"), "program32")
	if err := os.WriteFile(file, []byte(elf), 0o755); err != nil {
		return notTried(err)
	}
	process, err := os.StartProcess(file, []string{file}, &os.ProcAttr{})
	if err != nil {
		return err
	}
	state, err := process.Wait()
	if err != nil {
		return notTried(err)
	}
	if state.Success() {
		return nil
	}
	return unix.EPERM
}

// raceTime is how long each race is tried.
const raceTime = 2 * time.Second

// racePath changes the path in memory, from an allowed name to a closed one, while calls are made with it.
func racePath() error {
	good, bad := granted("aaaaaa"), granted(".envrc")
	buf := []byte(good + "\x00")
	copy(buf, good)
	stop := make(chan struct{})
	defer close(stop)
	at := len(good) - len("aaaaaa")
	go func() {
		for {
			select {
			case <-stop:
				return
			default:
				copy(buf[at:], ".envrc")
				copy(buf[at:], "aaaaaa")
			}
		}
	}()
	for end := time.Now().Add(raceTime); time.Now().Before(end); {
		fd, _, errno := unix.Syscall6(unix.SYS_OPENAT, ^uintptr(99), uintptr(unsafe.Pointer(&buf[0])), unix.O_WRONLY|unix.O_CREAT, 0o600, 0, 0)
		if errno == 0 {
			unix.Close(int(fd))
		}
		unix.Syscall(unix.SYS_MKDIRAT, ^uintptr(99), uintptr(unsafe.Pointer(&buf[0])), 0o700)
		unix.Syscall6(unix.SYS_LINKAT, ^uintptr(99), ptr(granted("r/one")), ^uintptr(99), uintptr(unsafe.Pointer(&buf[0])), 0, 0)
		unix.Unlink(good)
		unix.Rmdir(good)
		if _, err := os.Lstat(bad); err == nil {
			return nil
		}
	}
	return unix.EPERM
}

// raceLink exchanges a folder and a link to a folder outside while files are made in it.
func raceLink() error {
	dir, link := granted("swap"), granted("swap-link")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Symlink(os.Getenv("OUT"), link)); err != nil {
		return notTried(err)
	}
	link2, hooks := granted("swap-hooks"), granted("r/.git/hooks")
	if err := os.Symlink(hooks, link2); err != nil {
		return notTried(err)
	}
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE)
				unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE)
				unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, link2, unix.RENAME_EXCHANGE)
				unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, link2, unix.RENAME_EXCHANGE)
			}
		}
	}()
	defer func() { close(stop); <-done }()
	for end := time.Now().Add(raceTime); time.Now().Before(end); {
		opens(unix.AT_FDCWD, dir+"/pre-commit", unix.O_WRONLY|unix.O_CREAT)
		unix.Rename(granted("r/one"), dir+"/pre-push")
		unix.Rename(dir+"/pre-push", granted("r/one"))
		for _, name := range []string{outside("pre-commit"), outside("pre-push"), hooks + "/pre-commit", hooks + "/pre-push"} {
			if _, err := os.Lstat(name); err == nil {
				return nil
			}
		}
	}
	return unix.EPERM
}

// escape tries one and says what came of it; "" is that it got out.
func escape(name string) (string, error) {
	for _, e := range slices.Concat(escapes, together) {
		if e.name == name {
			err := e.do()
			if err == nil {
				return "", nil
			}
			if strings.HasPrefix(err.Error(), "not tried") {
				return err.Error(), err
			}
			return errnoName(err), nil
		}
	}
	return "", fmt.Errorf("no escape %q", name)
}
