package server

import (
	"net"

	"golang.org/x/sys/unix"
)

// peer says who is at the other end of a Unix socket: the effective user and the process that connected or listened
// (unix(4): LOCAL_PEERCRED, LOCAL_PEERPID).
func peer(conn *net.UnixConn) (uid, pid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var cred *unix.Xucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		if cred, failed = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED); failed != nil {
			return
		}
		pid, failed = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	}); err != nil {
		return 0, 0, err
	}
	if failed != nil {
		return 0, 0, failed
	}
	return int(cred.Uid), pid, nil
}
