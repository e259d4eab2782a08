package server

import (
	"net"

	"golang.org/x/sys/unix"
)

// peer says who is at the other end of a Unix socket: the user and process that connected or listened (unix(7): SO_PEERCRED).
func peer(conn *net.UnixConn) (uid, pid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var cred *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return 0, 0, err
	}
	if failed != nil {
		return 0, 0, failed
	}
	return int(cred.Uid), int(cred.Pid), nil
}
