package sandbox

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"
)

// The kernel binds an IPv4 socket to the port of an address without a family, too (AF_UNSPEC, 0.0.0.0).
func TestPortOfNoFamily(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for _, permissions := range []Permission{Network, Loopback, Network | Loopback} {
		c := &call{supervisor: &supervisor{policy: Policy{permissions: permissions, machine: Machine{Ports: []int{40404}}}}}
		for port, want := range map[uint16]bool{40404: false, 443: false, 40405: permissions&Loopback != 0, 0: true} {
			raw := binary.BigEndian.AppendUint16(binary.NativeEndian.AppendUint16(nil, unix.AF_UNSPEC), port)
			if _, ok := c.ownAddress(socket{fd: fd, domain: unix.AF_INET}, parseAddress(append(raw, make([]byte, 12)...))); ok != want {
				t.Errorf("permissions %v, port %d: %v", permissions, port, ok)
			}
		}
	}
}
