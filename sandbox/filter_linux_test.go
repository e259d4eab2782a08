package sandbox

import (
	"encoding/binary"
	"strconv"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// answerOf runs the filter on one call.
func answerOf(t *testing.T, vm *bpf.VM, arch, call uint32, args []uint64) uint32 {
	t.Helper()
	// The kernel loads words in its own order, the interpreter in the network's.
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[dataCall:], call)
	binary.BigEndian.PutUint32(data[dataArch:], arch)
	for i, a := range args {
		binary.BigEndian.PutUint32(data[dataArgs+8*i:], uint32(a))
		binary.BigEndian.PutUint32(data[dataArgs+8*i+4:], uint32(a>>32))
	}
	got, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(got)
}

func vmFor(t *testing.T, p Policy) *bpf.VM {
	t.Helper()
	raw, err := filterProgram(filterRules(p))
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) > 4096 {
		t.Errorf("%d instructions: the kernel takes 4096", len(raw))
	}
	instructions := make([]bpf.Instruction, len(raw))
	for i, in := range raw {
		instructions[i] = bpf.RawInstruction{Op: in.Code, Jt: in.Jt, Jf: in.Jf, K: in.K}.Disassemble()
	}
	vm, err := bpf.NewVM(instructions)
	if err != nil {
		t.Fatal(err)
	}
	return vm
}

func TestFilter(t *testing.T) {
	const allow, ask, kill = unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_USER_NOTIF, unix.SECCOMP_RET_KILL_PROCESS
	eperm, eacces, enosys := fails(unix.EPERM), fails(unix.EACCES), fails(unix.ENOSYS)
	own, shared, loopback := Guarded(linux), Guarded(linux).AllowNetwork(), Guarded(linux).AllowLoopback()
	high := uint64(1) << 32
	for _, c := range []struct {
		name   string
		policy Policy
		call   uint32
		args   []uint64
		want   uint32
	}{
		{"read", own, unix.SYS_READ, nil, allow},
		{"exit", own, unix.SYS_EXIT_GROUP, nil, allow},
		{"open to read", own, unix.SYS_OPENAT, []uint64{0, 0, unix.O_RDONLY | unix.O_CLOEXEC}, allow},
		{"open a folder", own, unix.SYS_OPENAT, []uint64{0, 0, unix.O_DIRECTORY | unix.O_NOFOLLOW}, allow},
		{"open to write", own, unix.SYS_OPENAT, []uint64{0, 0, unix.O_WRONLY}, ask},
		{"open for both", own, unix.SYS_OPENAT, []uint64{0, 0, unix.O_RDWR}, ask},
		{"open with the odd mode", own, unix.SYS_OPENAT, []uint64{0, 0, unix.O_ACCMODE}, ask},
		{"open truncating", own, unix.SYS_OPENAT, []uint64{0, 0, unix.O_TRUNC}, ask},
		{"open making", own, unix.SYS_OPENAT, []uint64{0, 0, unix.O_CREAT}, ask},
		{"open unnamed", own, unix.SYS_OPENAT, []uint64{0, 0, unix.O_TMPFILE | unix.O_RDWR}, ask},
		{"open to write in the high half", own, unix.SYS_OPENAT, []uint64{0, 0, high | unix.O_WRONLY}, ask},
		{"open by its newer call", own, unix.SYS_OPENAT2, nil, enosys},
		{"may I read", own, unix.SYS_FACCESSAT2, []uint64{0, 0, 4}, allow},
		{"may I write", own, unix.SYS_FACCESSAT2, []uint64{0, 0, 6}, ask},
		{"mkdir", own, unix.SYS_MKDIRAT, nil, ask},
		{"rename", own, unix.SYS_RENAMEAT2, nil, ask},
		{"fork", own, unix.SYS_CLONE, []uint64{uint64(unix.SIGCHLD)}, allow},
		{"thread", own, unix.SYS_CLONE, []uint64{unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_THREAD | unix.CLONE_SYSVSEM | unix.CLONE_SETTLS}, allow},
		{"namespace", own, unix.SYS_CLONE, []uint64{unix.CLONE_NEWUSER}, eperm},
		{"namespace by unshare", own, unix.SYS_UNSHARE, []uint64{unix.CLONE_NEWNS}, eperm},
		{"part descriptors", own, unix.SYS_UNSHARE, []uint64{unix.CLONE_FILES}, allow},
		{"clone3", own, unix.SYS_CLONE3, nil, enosys},
		{"ptrace", own, unix.SYS_PTRACE, nil, eperm},
		{"io_uring", own, unix.SYS_IO_URING_ENTER, nil, eperm},
		{"ioctl", own, unix.SYS_IOCTL, []uint64{0, unix.TCGETS}, allow},
		{"typing", own, unix.SYS_IOCTL, []uint64{0, unix.TIOCSTI}, eperm},
		{"typing in the high half", own, unix.SYS_IOCTL, []uint64{0, high | unix.TIOCSTI}, eperm},
		{"personality asked", own, unix.SYS_PERSONALITY, []uint64{0xffffffff}, allow},
		{"personality", own, unix.SYS_PERSONALITY, []uint64{0x0400000}, eperm},
		{"limits of one's own", own, unix.SYS_PRLIMIT64, []uint64{0, 7, 1}, allow},
		{"limits of the supervisor", own, unix.SYS_PRLIMIT64, []uint64{1, 7, 1}, eperm},
		{"unix stream", own, unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK, 0}, allow},
		{"unix packets", own, unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_SEQPACKET, 0}, allow},
		{"unix datagrams", own, unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC, 0}, eacces},
		{"unix datagrams called raw", own, unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_RAW, 0}, eacces},
		{"pair", own, unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_STREAM, 0}, allow},
		{"pair of datagrams", own, unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_DGRAM, 0}, eacces},
		{"tcp", own, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM, 0}, allow},
		{"udp", own, unix.SYS_SOCKET, []uint64{unix.AF_INET6, unix.SOCK_DGRAM, unix.IPPROTO_UDP}, allow},
		{"udp with the network", shared, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_DGRAM, 0}, allow},
		{"udp with loopback alone", loopback, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_DGRAM, 0}, eacces},
		{"raw", own, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP}, eacces},
		{"multipath", shared, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP}, fails(unix.EPROTONOSUPPORT)},
		{"sctp", shared, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP}, eacces},
		{"packets", shared, unix.SYS_SOCKET, []uint64{unix.AF_PACKET, unix.SOCK_RAW, 0}, fails(unix.EAFNOSUPPORT)},
		{"packets in the high half", shared, unix.SYS_SOCKET, []uint64{high | unix.AF_PACKET, unix.SOCK_RAW, 0}, fails(unix.EAFNOSUPPORT)},
		{"interfaces", own, unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, allow},
		{"audit", own, unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT}, fails(unix.EAFNOSUPPORT)},
		{"connect", own, unix.SYS_CONNECT, nil, ask},
		{"bind in its own network", own, unix.SYS_BIND, nil, allow},
		{"bind", shared, unix.SYS_BIND, nil, ask},
		{"listen", loopback, unix.SYS_LISTEN, nil, ask},
		{"share a port", loopback, unix.SYS_SETSOCKOPT, []uint64{3, unix.SOL_SOCKET, unix.SO_REUSEPORT}, fails(0)},
		{"share a port in the high half", loopback, unix.SYS_SETSOCKOPT, []uint64{3, high | unix.SOL_SOCKET, high | unix.SO_REUSEPORT}, fails(0)},
		{"choose ports", shared, unix.SYS_SETSOCKOPT, []uint64{3, unix.IPPROTO_IP, unix.IP_LOCAL_PORT_RANGE}, fails(unix.ENOPROTOOPT)},
		{"choose ports in the high half", shared, unix.SYS_SETSOCKOPT, []uint64{3, high | unix.IPPROTO_IP, high | unix.IP_LOCAL_PORT_RANGE}, fails(unix.ENOPROTOOPT)},
		{"use a port again", loopback, unix.SYS_SETSOCKOPT, []uint64{3, unix.SOL_SOCKET, unix.SO_REUSEADDR}, allow},
		{"send", shared, unix.SYS_SENDTO, []uint64{0, 0, 0, unix.MSG_NOSIGNAL}, allow},
		{"send and connect", shared, unix.SYS_SENDTO, []uint64{0, 0, 0, unix.MSG_FASTOPEN}, fails(unix.EOPNOTSUPP)},
		{"send and connect, by message", loopback, unix.SYS_SENDMSG, []uint64{0, 0, unix.MSG_FASTOPEN}, fails(unix.EOPNOTSUPP)},
		{"newest", own, lastCall, nil, allow},
		{"unknown", own, lastCall + 1, nil, enosys},
		{"another numbering", own, 0x40000000 | unix.SYS_READ, nil, enosys},
	} {
		if got := answerOf(t, vmFor(t, c.policy), auditArch, c.call, c.args); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, got, c.want)
		}
	}
	for _, arch := range []uint32{unix.AUDIT_ARCH_I386, unix.AUDIT_ARCH_ARM, 0} {
		if got := answerOf(t, vmFor(t, own), arch, unix.SYS_READ, nil); got != kill {
			t.Errorf("a call of another architecture: %#x", got)
		}
	}
}

// The search finds what a plain walk through the rules finds, for every call.
func TestFilterSearch(t *testing.T) {
	rules := filterRules(Guarded(linux))
	vm := vmFor(t, Guarded(linux))
	first := map[uint32]uint32{}
	for _, r := range rules {
		if _, ok := first[r.call]; !ok && len(r.when) == 0 {
			first[r.call] = r.action
		} else if !ok {
			first[r.call] = 0 // depends on the arguments
		}
	}
	for call := uint32(0); call <= lastCall; call++ {
		want, ok := first[call]
		if !ok {
			want = unix.SECCOMP_RET_ALLOW
		}
		if want == 0 && ok {
			continue
		}
		if got := answerOf(t, vm, auditArch, call, nil); got != want {
			t.Errorf("call %s: %#x, want %#x", strconv.Itoa(int(call)), got, want)
		}
	}
}
