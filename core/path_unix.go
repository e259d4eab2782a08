//go:build unix

package core

import (
	"os/exec"
	"syscall"
)

// ownGroup lets a command be killed with what it started, and keeps it off our terminal.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
