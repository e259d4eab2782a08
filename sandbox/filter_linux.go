package sandbox

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// A filter of system calls has two tasks. Calls that would change a file by its path, and calls that would reach a socket of
// another program, are passed on to the supervisor (USER_NOTIF). Calls that no command here needs, and that have been ways out
// of sandboxes, fail. All others run. It is no list of what is allowed: what a command can change without being passed on is
// bounded by its read-only view and by Landlock.
//
// Only scalar arguments are compared, which can't change after the check, and only their lower 32 bits, which is all that the
// kernel looks at in these arguments: a comparison of 64 bits could be dodged with a high bit.

// filterRule says what happens to a call with this number whose arguments meet every condition. The first rule that matches
// wins.
type filterRule struct {
	call   uint32
	when   []condition
	action uint32
}

// condition compares argument & mask: equal to value, or, with not, different from it.
type condition struct {
	arg         uint32
	mask, value uint32
	not         bool
}

func (c condition) masks() bool { return c.mask != ^uint32(0) }

// length is how many instructions a condition takes.
func (c condition) length() int {
	if c.masks() {
		return 3
	}
	return 2
}

func anyBit(arg, mask uint32) condition { return condition{arg: arg, mask: mask, not: true} }
func is(arg, value uint32) condition    { return condition{arg: arg, mask: ^uint32(0), value: value} }
func isNot(arg, value uint32) condition {
	return condition{arg: arg, mask: ^uint32(0), value: value, not: true}
}
func kindIs(arg, value uint32) condition { return condition{arg: arg, mask: 0xf, value: value} } // a socket type without its flags
func kindNot(arg, value uint32) condition {
	return condition{arg: arg, mask: 0xf, value: value, not: true}
}

func fails(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }

// lastCall is the newest call that is known here; newer ones don't exist in the sandbox.
const lastCall = 462 // mseal, Linux 6.10: the same number on amd64 and arm64

const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWCGROUP | unix.CLONE_NEWTIME

// Calls that fail.
var refused = []uint32{
	// into other processes
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP, unix.SYS_PROCESS_MADVISE,
	// past this filter
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	// other views of the files
	unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT,
	unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT,
	// the person's keys
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	// the kernel and the machine
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE,
	unix.SYS_DELETE_MODULE, unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SYSLOG,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_VHANGUP, unix.SYS_NFSSERVCTL, unix.SYS_LOOKUP_DCOOKIE,
	unix.SYS_MOVE_PAGES, unix.SYS_MIGRATE_PAGES, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
}

// fileCalls are passed on whatever their arguments are.
var fileCalls = []uint32{
	unix.SYS_MKDIRAT, unix.SYS_MKNODAT, unix.SYS_LINKAT, unix.SYS_SYMLINKAT, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_UNLINKAT, unix.SYS_TRUNCATE,
	unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHMOD, unix.SYS_FCHOWNAT, unix.SYS_FCHOWN, unix.SYS_UTIMENSAT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR,
}

// Flags of open that need a decision: all that write or may make a file.
const openChanges = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC

const accessWrite = 2 // W_OK

// filterRules lists the rules for a policy.
func filterRules(p Policy) []filterRule {
	var r []filterRule
	add := func(call, action uint32, when ...condition) { r = append(r, filterRule{call, when, action}) }
	ask := uint32(unix.SECCOMP_RET_USER_NOTIF)
	eperm, eacces := fails(unix.EPERM), fails(unix.EACCES)

	for _, call := range append(refused, refusedHere...) {
		add(call, eperm)
	}
	add(unix.SYS_UNSHARE, eperm, anyBit(0, newNamespaces))
	add(unix.SYS_CLONE, eperm, anyBit(0, newNamespaces&^0xff)) // the lowest byte is a signal's number
	add(unix.SYS_CLONE3, fails(unix.ENOSYS))                   // its flags are in memory; libraries fall back to clone
	add(unix.SYS_OPENAT2, fails(unix.ENOSYS))                  // the same; they fall back to openat
	for _, request := range []uint32{unix.TIOCSTI, unix.TIOCLINUX, unix.TIOCSETD, unix.TIOCCONS} {
		add(unix.SYS_IOCTL, eperm, is(1, request))
	}
	// Randomised addresses may be switched off (debuggers, sanitizers do); other personalities are relics.
	for _, persona := range []uint32{0, 0x0040000, 0xffffffff} {
		add(unix.SYS_PERSONALITY, unix.SECCOMP_RET_ALLOW, is(0, persona))
	}
	add(unix.SYS_PERSONALITY, eperm)
	add(unix.SYS_PRLIMIT64, eperm, is(0, 1), isNot(2, 0)) // the supervisor's limits

	add(unix.SYS_OPENAT, ask, anyBit(2, openChanges))
	add(unix.SYS_FACCESSAT, ask, anyBit(2, accessWrite))
	add(unix.SYS_FACCESSAT2, ask, anyBit(2, accessWrite))
	add(unix.SYS_UMASK, ask)
	for _, call := range append(fileCalls, fileCallsHere...) {
		add(call, ask)
	}
	r = append(r, rulesHere(ask)...)

	// Sockets. One of another program is reached by connecting, which is passed on, or by sending a datagram, so there are no
	// unix datagrams. The network's own bounds: the sandbox has its own, or the supervisor looks at each address.
	add(unix.SYS_SOCKET, eacces, is(0, unix.AF_UNIX), kindNot(1, unix.SOCK_STREAM), kindNot(1, unix.SOCK_SEQPACKET))
	add(unix.SYS_SOCKETPAIR, eacces, kindNot(1, unix.SOCK_STREAM), kindNot(1, unix.SOCK_SEQPACKET))
	add(unix.SYS_SOCKET, unix.SECCOMP_RET_ALLOW, is(0, unix.AF_UNIX))
	add(unix.SYS_SOCKET, unix.SECCOMP_RET_ALLOW, is(0, unix.AF_NETLINK), is(2, unix.NETLINK_ROUTE)) // lists the network interfaces
	shared := p.permissions&(Network|Loopback) != 0 || p.profile == classic
	for _, family := range []uint32{unix.AF_INET, unix.AF_INET6} {
		for _, protocol := range []uint32{0, unix.IPPROTO_TCP, unix.IPPROTO_MPTCP} {
			action := uint32(unix.SECCOMP_RET_ALLOW)
			if protocol == unix.IPPROTO_MPTCP { // programs fall back to TCP
				action = fails(unix.EPROTONOSUPPORT)
			}
			add(unix.SYS_SOCKET, action, is(0, family), kindIs(1, unix.SOCK_STREAM), is(2, protocol))
		}
		if !shared || p.permissions&Network != 0 || p.profile == classic { // a datagram's address is not looked at
			for _, protocol := range []uint32{0, unix.IPPROTO_UDP, unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6} {
				add(unix.SYS_SOCKET, unix.SECCOMP_RET_ALLOW, is(0, family), kindIs(1, unix.SOCK_DGRAM), is(2, protocol))
			}
		}
		add(unix.SYS_SOCKET, eacces, is(0, family))
	}
	add(unix.SYS_SOCKET, fails(unix.EAFNOSUPPORT))
	add(unix.SYS_CONNECT, ask)
	if shared {
		add(unix.SYS_BIND, ask)
		add(unix.SYS_LISTEN, ask)
		// It would take a part of the connections to a program of the person's that shares its port. Programs ask for it just in
		// case: so they are told that it worked.
		add(unix.SYS_SETSOCKOPT, fails(0), is(1, unix.SOL_SOCKET), is(2, unix.SO_REUSEPORT))
		// With it the kernel's choice of a port is the command's.
		add(unix.SYS_SETSOCKOPT, fails(unix.ENOPROTOOPT), is(1, unix.IPPROTO_IP), is(2, unix.IP_LOCAL_PORT_RANGE))
		// Sending with this flag connects.
		add(unix.SYS_SENDTO, fails(unix.EOPNOTSUPP), anyBit(3, unix.MSG_FASTOPEN))
		add(unix.SYS_SENDMSG, fails(unix.EOPNOTSUPP), anyBit(2, unix.MSG_FASTOPEN))
		add(unix.SYS_SENDMMSG, fails(unix.EOPNOTSUPP), anyBit(3, unix.MSG_FASTOPEN))
	}
	return r
}

// Offsets in struct seccomp_data (linux/seccomp.h); both architectures are little-endian.
const (
	dataCall = 0
	dataArch = 4
	dataArgs = 16
)

// filters keeps the programs that were made: there are few kinds of policy, and making one takes a while.
var filters sync.Map

// filterFor gives a policy's program, as the bytes that the kernel reads.
func filterFor(p Policy) ([]byte, error) {
	kind := fmt.Sprint(p.profile, p.permissions)
	if program, ok := filters.Load(kind); ok {
		return program.([]byte), nil
	}
	prog, err := filterProgram(filterRules(p))
	if err != nil {
		return nil, err
	}
	program, err := binary.Append(nil, binary.NativeEndian, prog)
	if err != nil {
		return nil, fmt.Errorf("making the call filter: %w", err)
	}
	filters.Store(kind, program)
	return program, nil
}

// filterProgram makes the rules a program: a search by number, and then the rules for that number in their order. Another
// architecture's calls (32-bit ones on amd64) kill.
func filterProgram(rules []filterRule) ([]unix.SockFilter, error) {
	blocks := map[uint32][]bpf.Instruction{}
	decided := map[uint32]bool{} // by a rule without conditions
	for _, r := range rules {
		if decided[r.call] {
			continue
		}
		decided[r.call] = len(r.when) == 0
		length := 1
		for _, c := range r.when {
			length += c.length()
		}
		var body []bpf.Instruction
		for _, c := range r.when {
			body = append(body, bpf.LoadAbsolute{Off: dataArgs + 8*c.arg, Size: 4})
			if c.masks() {
				body = append(body, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: c.mask})
			}
			skip := uint8(length - len(body) - 1)
			jump := bpf.JumpIf{Cond: bpf.JumpEqual, Val: c.value, SkipFalse: skip}
			if c.not {
				jump = bpf.JumpIf{Cond: bpf.JumpEqual, Val: c.value, SkipTrue: skip}
			}
			body = append(body, jump)
		}
		blocks[r.call] = append(append(blocks[r.call], body...), bpf.RetConstant{Val: r.action})
	}
	for call := range blocks {
		if !decided[call] {
			blocks[call] = append(blocks[call], bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})
		}
	}
	prog := []bpf.Instruction{
		bpf.LoadAbsolute{Off: dataArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS},
		bpf.LoadAbsolute{Off: dataCall, Size: 4},
		// x32's numbers on amd64 start at 1<<30, above every known one.
		bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: lastCall, SkipFalse: 1},
		bpf.RetConstant{Val: fails(unix.ENOSYS)},
	}
	raw, err := bpf.Assemble(append(prog, searchCall(blocks, slices.Sorted(maps.Keys(blocks)))...))
	if err != nil {
		return nil, fmt.Errorf("making the call filter: %w", err)
	}
	out := make([]unix.SockFilter, len(raw))
	for i, in := range raw {
		out[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	return out, nil
}

// searchCall gives the part of the program for calls with these sorted numbers, and all between them. It ends on every way.
func searchCall(blocks map[uint32][]bpf.Instruction, calls []uint32) []bpf.Instruction {
	if len(calls) == 1 {
		return append([]bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpEqual, Val: calls[0], SkipTrue: 1}, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}}, blocks[calls[0]]...)
	}
	half := len(calls) / 2
	left, right := searchCall(blocks, calls[:half]), searchCall(blocks, calls[half:])
	// A conditional jump reaches 255 instructions, a plain one any.
	prog := []bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: calls[half], SkipFalse: 1}, bpf.Jump{Skip: uint32(len(left))}}
	return append(append(prog, left...), right...)
}
