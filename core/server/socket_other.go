//go:build !darwin && !linux

package server

import (
	"errors"
	"io/fs"
	"net"
)

var errLocked = errors.New("locked by another process")

func lockSocket(string) (unlock func(), err error) { return nil, errors.ErrUnsupported }

func owner(fs.FileInfo) (uid int, ok bool) { return 0, false }

func peer(*net.UnixConn) (uid, pid int, err error) { return 0, 0, errors.ErrUnsupported }
