//go:build unix

package tool

import "syscall"

const (
	errNotDir      = syscall.ENOTDIR
	errNameTooLong = syscall.ENAMETOOLONG
	errLoop        = syscall.ELOOP
)
