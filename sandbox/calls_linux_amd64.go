package sandbox

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// handleHere answers the older calls, which this architecture has beside their successors.
func (s *supervisor) handleHere(c *call, number int) answer {
	a := c.args
	cwd := uint64(unix.AT_FDCWD & 0xffffffff)
	switch number {
	case unix.SYS_OPEN:
		return c.open(cwd, a[0], int(uint32(a[1])), uint32(a[2]))
	case unix.SYS_CREAT:
		return c.open(cwd, a[0], unix.O_CREAT|unix.O_WRONLY|unix.O_TRUNC, uint32(a[1]))
	case unix.SYS_MKDIR:
		return c.mkdir(cwd, a[0], uint32(a[1]))
	case unix.SYS_MKNOD:
		return c.mknod(cwd, a[0], uint32(a[1]))
	case unix.SYS_LINK:
		return c.link(cwd, a[0], cwd, a[1], 0)
	case unix.SYS_SYMLINK:
		return c.symlink(a[0], cwd, a[1])
	case unix.SYS_RENAME:
		return c.rename(cwd, a[0], cwd, a[1], 0)
	case unix.SYS_UNLINK:
		return c.unlink(cwd, a[0], 0)
	case unix.SYS_RMDIR:
		return c.unlink(cwd, a[0], unix.AT_REMOVEDIR)
	case unix.SYS_ACCESS:
		return c.access(cwd, a[0], uint32(a[1]), 0)
	case unix.SYS_CHMOD:
		return c.chmod(cwd, a[0], uint32(a[1]), 0)
	case unix.SYS_CHOWN:
		return c.chown(cwd, a[0], int(int32(a[1])), int(int32(a[2])), 0)
	case unix.SYS_LCHOWN:
		return c.chown(cwd, a[0], int(int32(a[1])), int(int32(a[2])), unix.AT_SYMLINK_NOFOLLOW)
	case unix.SYS_UTIME: // whole seconds
		ts, ok := c.times(a[1], 1, 1)
		if !ok {
			return pass
		}
		return c.setTimes(cwd, a[0], true, ts)
	case unix.SYS_UTIMES:
		ts, ok := c.times(a[1], 2, 1000)
		if !ok {
			return pass
		}
		return c.setTimes(cwd, a[0], true, ts)
	case unix.SYS_FUTIMESAT:
		ts, ok := c.times(a[2], 2, 1000)
		if !ok {
			return pass
		}
		addr := a[1]
		if addr == 0 {
			addr = noPath
		}
		return c.setTimes(a[0], addr, true, ts)
	}
	return pass
}

// times reads two times of the older calls: each of 1 word (seconds) or of 2 (seconds and a part, in units of scale
// nanoseconds). A null address is nil: now.
func (c *call) times(addr uint64, words int, scale int64) (*[2]unix.Timespec, bool) {
	if addr == 0 {
		return nil, true
	}
	var raw [4]int64
	buf := unsafe.Slice((*byte)(unsafe.Pointer(&raw)), 16*words)
	if n, err := c.memory(addr, buf); err != nil || n != len(buf) {
		return nil, false
	}
	if words == 1 {
		return &[2]unix.Timespec{{Sec: raw[0]}, {Sec: raw[1]}}, true
	}
	return &[2]unix.Timespec{{Sec: raw[0], Nsec: raw[1] * scale}, {Sec: raw[2], Nsec: raw[3] * scale}}, true
}
