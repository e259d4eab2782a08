package sandbox

import (
	"encoding/binary"
	"net/netip"
	"strings"

	"golang.org/x/sys/unix"
)

// address is a socket address as a call gave it.
type address struct {
	family uint16
	raw    []byte
	ip     netip.AddrPort // of the two internet families
	path   string         // of a unix socket with a path
	plain  bool           // a unix socket without one
}

func parseAddress(raw []byte) address {
	a := address{raw: raw}
	if len(raw) < 2 {
		return a
	}
	a.family = binary.NativeEndian.Uint16(raw)
	switch a.family {
	case unix.AF_INET:
		if len(raw) >= unix.SizeofSockaddrInet4 {
			a.ip = netip.AddrPortFrom(netip.AddrFrom4([4]byte(raw[4:8])), binary.BigEndian.Uint16(raw[2:]))
		}
	case unix.AF_INET6:
		if len(raw) >= 24 {
			a.ip = netip.AddrPortFrom(netip.AddrFrom16([16]byte(raw[8:24])), binary.BigEndian.Uint16(raw[2:]))
		}
	case unix.AF_UNIX:
		if len(raw) == 2 || raw[2] == 0 {
			a.plain = true
			break
		}
		a.path, _, _ = strings.Cut(string(raw[2:]), "\x00")
	}
	return a
}

// address reads a call's address, once.
func (c *call) address(addr, size uint64) (address, bool) {
	if size > unix.SizeofSockaddrAny+64 || addr == 0 || int32(size) < 2 {
		return address{}, false
	}
	buf := make([]byte, size)
	if n, err := c.memory(addr, buf); err != nil || n != len(buf) {
		return address{}, false
	}
	return parseAddress(buf), true
}

func rawCall(trap uintptr, fd int, raw []byte) error { return nil }

func (c *call) connect(n int, addr, size uint64) answer { return fail(unix.EACCES) }
func (c *call) bind(n int, addr, size uint64) answer    { return fail(unix.EACCES) }
func (c *call) listen(n, backlog int) answer            { return fail(unix.EACCES) }
