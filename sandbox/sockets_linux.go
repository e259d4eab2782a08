package sandbox

import (
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Without the network permissions a sandbox has a network of its own, with nothing in it but its own loopback. With them it
// shares the computer's, and the supervisor looks at each address: it connects, binds and listens on the command's socket
// itself, with the address it read. Sending a datagram isn't looked at, so with the network permission datagrams also reach the
// computer's own address (name servers commonly listen there).

// address is a socket address as a call gave it.
type address struct {
	family uint16
	raw    []byte
	ip     inet   // of the two internet families
	path   string // of a unix socket that has a path
}

func parseAddress(raw []byte) address {
	a := address{raw: raw, family: binary.NativeEndian.Uint16(raw)}
	switch a.family {
	case unix.AF_INET, unix.AF_UNSPEC: // bind takes an address without a family for one of IPv4
		if len(raw) >= 8 {
			a.ip = inet4([4]byte(raw[4:8]), binary.BigEndian.Uint16(raw[2:]))
		}
	case unix.AF_INET6:
		if len(raw) >= 24 {
			a.ip = inet{[16]byte(raw[8:24]), binary.BigEndian.Uint16(raw[2:]), true}
		}
	case unix.AF_UNIX:
		a.path, _, _ = strings.Cut(string(raw[2:]), "\x00")
	}
	return a
}

// unixAddress makes the address of a socket by its path, which is short.
func unixAddress(path string) []byte {
	raw := binary.NativeEndian.AppendUint16(nil, unix.AF_UNIX)
	return append(append(raw, path...), 0)
}

// address reads a call's address, once.
func (c *call) address(addr, size uint64) (address, unix.Errno) {
	n := int32(size)
	if n < 2 || n > unix.SizeofSockaddrAny+16 {
		return address{}, unix.EINVAL
	}
	buf := make([]byte, n)
	if got, err := c.memory(addr, buf); err != nil || got != len(buf) {
		return address{}, unix.EFAULT
	}
	return parseAddress(buf), 0
}

// socket is the command's socket, opened for the supervisor too.
type socket struct {
	fd     int
	domain int
	stream bool
}

func (c *call) socket(n int) (socket, unix.Errno) {
	fd, err := c.duplicate(n)
	if err != nil {
		return socket{}, unix.EBADF
	}
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		unix.Close(fd)
		return socket{}, unix.ENOTSOCK
	}
	kind, _ := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	return socket{fd, domain, kind == unix.SOCK_STREAM}, 0
}

func (s socket) waits() bool {
	flags, err := unix.FcntlInt(uintptr(s.fd), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_NONBLOCK == 0
}

// do makes connect or bind with an address.
func (s socket) do(trap uintptr, raw []byte) error {
	_, _, errno := unix.Syscall(trap, uintptr(s.fd), uintptr(unsafe.Pointer(&raw[0])), uintptr(len(raw)))
	if errno != 0 {
		return errno
	}
	return nil
}

// sharesNetwork reports whether the command is in the computer's own network.
func (c *call) sharesNetwork() bool {
	return c.policy.permissions&(Network|Loopback) != 0 || c.policy.profile == classic
}

func (c *call) connect(n int, addr, size uint64) answer {
	a, errno := c.address(addr, size)
	if errno != 0 {
		return fail(errno)
	}
	s, errno := c.socket(n)
	if errno != 0 {
		return fail(errno)
	}
	raw := a.raw
	var file = -1 // a unix socket's own file, kept open while connecting
	switch {
	case s.domain == unix.AF_UNIX && a.family == unix.AF_UNIX && a.path != "":
		if file, errno = c.openSocket(a.path); errno == 0 {
			raw = unixAddress(procFD(file))
		}
	case s.domain == unix.AF_UNIX && a.family == unix.AF_UNIX: // no path: a name in the network
		if c.sharesNetwork() && c.policy.profile != classic {
			errno = unix.ECONNREFUSED
		}
	case s.domain == unix.AF_INET || s.domain == unix.AF_INET6:
		if a.family != unix.AF_UNSPEC && !c.mayConnect(a.ip) {
			errno = unix.EACCES
		}
	}
	if errno != 0 {
		unix.Close(s.fd)
		return fail(errno)
	}
	finish := func() answer {
		err := s.do(unix.SYS_CONNECT, raw)
		unix.Close(s.fd)
		if file >= 0 {
			unix.Close(file)
		}
		return result(err)
	}
	if !s.waits() {
		return finish()
	}
	go func() { c.answer(finish()) }()
	return answer{sent: true}
}

// mayConnect decides about an internet address.
func (c *call) mayConnect(to inet) bool {
	p := c.policy
	switch {
	case !c.sharesNetwork():
		return true
	case slices.Contains(p.machine.Ports, int(to.port)):
		return false
	case p.profile == classic:
		return true
	case to.isOwn():
		return p.Allows(Loopback) || p.Allows(Network) && to.port == 53
	}
	return p.Allows(Network)
}

// inet is an internet address and a port. An IPv4 address is in the form that IPv6 has for it (RFC 4291, 2.5.5.2). net/netip has
// the same, but takes long to get ready for a program that is started for each command.
type inet struct {
	ip    [16]byte
	port  uint16
	known bool // false: there is no address
}

func inet4(ip [4]byte, port uint16) inet {
	return inet{[16]byte{10: 0xff, 11: 0xff, 12: ip[0], 13: ip[1], 14: ip[2], 15: ip[3]}, port, true}
}

func (a inet) is4() bool { return [12]byte(a.ip[:12]) == [12]byte{10: 0xff, 11: 0xff} }

func (a inet) isLoopback() bool {
	return a.known && (a.is4() && a.ip[12] == 127 || a.ip == [16]byte{15: 1})
}

func (a inet) isUnspecified() bool {
	return a.known && (a.ip == [16]byte{} || a.ip == [16]byte{10: 0xff, 11: 0xff})
}

// isOwn reports whether an address is one of this computer's: one that a socket can be bound to.
func (a inet) isOwn() bool {
	if !a.known || a.isLoopback() || a.isUnspecified() {
		return true
	}
	family := unix.AF_INET6
	var to unix.Sockaddr = &unix.SockaddrInet6{Addr: a.ip}
	if a.is4() {
		family, to = unix.AF_INET, &unix.SockaddrInet4{Addr: [4]byte(a.ip[12:])}
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return true
	}
	defer unix.Close(fd)
	return unix.Bind(fd, to) == nil
}

// openSocket opens the file of a unix socket that the command may connect to: its own, in the session's folders, or one that a
// permission opens. Any other may belong to a program outside.
func (c *call) openSocket(path string) (int, unix.Errno) {
	sp, ok := c.spot(uint64(unix.AT_FDCWD&0xffffffff), path, true)
	if !ok {
		return -1, unix.ENOENT
	}
	defer sp.close()
	if !sp.exists {
		return -1, unix.ENOENT
	}
	p := c.policy
	full := sp.path()
	opened := p.Allows(SSHAgent) && full == p.machine.SSHAgent || p.Allows(Docker) && full == p.machine.Docker
	if !c.isPrivate(sp.folder) && !opened && !(p.profile == classic && c.index.decide(Read, full).Allowed) {
		return -1, unix.EACCES
	}
	fd, err := openat2(sp.view, sp.name, unix.O_PATH|unix.O_NOFOLLOW, 0, unix.RESOLVE_BENEATH|unix.RESOLVE_NO_SYMLINKS)
	if err != nil {
		return -1, unix.ECONNREFUSED
	}
	return fd, 0
}

func (c *call) bind(n int, addr, size uint64) answer {
	a, errno := c.address(addr, size)
	if errno != 0 {
		return fail(errno)
	}
	s, errno := c.socket(n)
	if errno != 0 {
		return fail(errno)
	}
	defer unix.Close(s.fd)
	if c.policy.profile == classic {
		if s.domain == unix.AF_UNIX && a.path != "" {
			return c.bindPath(s, a.path)
		}
		return result(s.do(unix.SYS_BIND, a.raw))
	}
	switch s.domain {
	case unix.AF_UNIX:
		if a.path == "" { // a name in the computer's network, where other programs look for it
			return fail(unix.EACCES)
		}
		return c.bindPath(s, a.path)
	case unix.AF_INET, unix.AF_INET6:
		raw, ok := c.ownAddress(s, a)
		if !ok {
			return fail(unix.EACCES)
		}
		return result(s.do(unix.SYS_BIND, raw))
	}
	return result(s.do(unix.SYS_BIND, a.raw))
}

// bindPath binds a unix socket in one of the session's own folders.
func (c *call) bindPath(s socket, path string) answer {
	sp, ok := c.spot(uint64(unix.AT_FDCWD&0xffffffff), path, false)
	if !ok {
		return fail(unix.ENOENT)
	}
	defer sp.close()
	if !c.isPrivate(sp.folder) {
		return fail(unix.EROFS)
	}
	if path[0] != '/' {
		path = procFD(sp.view) + "/" + sp.name
	}
	mask := c.umask()
	err := s.do(unix.SYS_BIND, unixAddress(path))
	if err == nil {
		err = unix.Fchmodat(sp.view, sp.name, 0o777&^mask, 0)
	}
	return result(err)
}

// ownAddress gives the address to bind to. With the loopback permission a socket that would listen to everyone listens on this
// computer's own address; no permission lets others in. Without it a command can't listen: it has an address to send from, and for
// datagrams, which need no listening, no port of its choice, at which others would look for it.
func (c *call) ownAddress(s socket, a address) ([]byte, bool) {
	if slices.Contains(c.policy.machine.Ports, int(a.ip.port)) || a.ip.port != 0 && a.ip.port < firstPort {
		return nil, false
	}
	if !c.policy.Allows(Loopback) {
		return a.raw, s.stream || a.ip.known && a.ip.port == 0
	}
	switch {
	case !s.stream && c.policy.Allows(Network), a.ip.isLoopback():
		return a.raw, true
	case a.ip.isUnspecified() || a.family == unix.AF_UNSPEC:
		return loopback(s, a.ip.port), true
	}
	return nil, false
}

// loopback makes this computer's own address for a socket. One of IPv6 that also serves IPv4 gets IPv4's: of the two, every
// program tries that.
func loopback(s socket, port uint16) []byte {
	raw := binary.NativeEndian.AppendUint16(nil, uint16(s.domain))
	raw = binary.BigEndian.AppendUint16(raw, port)
	if s.domain == unix.AF_INET {
		return append(append(raw, 127, 0, 0, 1), make([]byte, 8)...)
	}
	ip := inet4([4]byte{127, 0, 0, 1}, port).ip
	if only, err := unix.GetsockoptInt(s.fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY); err == nil && only != 0 {
		ip = [16]byte{15: 1}
	}
	raw = append(raw, 0, 0, 0, 0)
	return append(append(raw, ip[:]...), 0, 0, 0, 0)
}

func (c *call) listen(n, backlog int) answer {
	s, errno := c.socket(n)
	if errno != 0 {
		return fail(errno)
	}
	defer unix.Close(s.fd)
	if c.policy.profile != classic && (s.domain == unix.AF_INET || s.domain == unix.AF_INET6) {
		if !c.policy.Allows(Loopback) {
			return fail(unix.EACCES)
		}
		bound, err := unix.Getsockname(s.fd)
		if err != nil {
			return result(err)
		}
		var ip inet
		switch b := bound.(type) {
		case *unix.SockaddrInet4:
			ip = inet4(b.Addr, uint16(b.Port))
		case *unix.SockaddrInet6:
			ip = inet{b.Addr, uint16(b.Port), true}
		}
		switch {
		case ip.port == 0: // the kernel chooses one that is free
			if err := s.do(unix.SYS_BIND, loopback(s, 0)); err != nil {
				return result(err)
			}
		case !ip.isLoopback():
			return fail(unix.EACCES)
		}
		if errno := c.claim(s, ip.port); errno != 0 {
			return fail(errno)
		}
	}
	return result(unix.Listen(s.fd, backlog))
}

// firstPort is the first port that a command may have; those before are the system's services', whatever the kernel is set to.
const firstPort = 1024

// claim says whether the command may listen on a port with this socket: if no other program listens there, on whatever address.
// The kernel compares the same address alone, but who looks for a server of the person's at "localhost" tries IPv6's before
// IPv4's. (That two sockets share a port, SO_REUSEPORT, is a matter of the call filter.)
func (c *call) claim(s socket, port uint16) unix.Errno {
	var st unix.Stat_t
	if err := unix.Fstat(s.fd, &st); err != nil {
		return unix.EACCES
	}
	own := map[uint64]bool{st.Ino: true}
	taken := false
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil && !(errors.Is(err, os.ErrNotExist) && s.domain == unix.AF_INET) { // a kernel without IPv6
			return unix.EACCES
		}
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line) // proc_net_tcp(5): sl, local_address, rem_address, st, … inode
			if len(f) < 10 || f[3] != "0A" {
				continue
			}
			inode, err := strconv.ParseUint(f[9], 10, 64)
			at, err2 := strconv.ParseUint(f[1][strings.LastIndexByte(f[1], ':')+1:], 16, 16)
			switch {
			case err != nil || err2 != nil:
				return unix.EACCES
			case c.listens[inode]:
				own[inode] = true
			case uint16(at) == port && inode != st.Ino:
				taken = true
			}
		}
	}
	c.listens = own // those that were closed are gone: numbers are used again
	if taken {
		return unix.EADDRINUSE
	}
	return 0
}
