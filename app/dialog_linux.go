package app

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// What a dialog needs of our environment: the display and who may use it, the home folder for the X cookie, and the
// switch that makes OpenGL draw without a graphics card. Loader variables, PATH and toolkit settings are left out.
var dialogEnvironment = []string{"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "HOME", "LANG", "LIBGL_ALWAYS_SOFTWARE"}

// startDialog starts handrail-ui, which stands beside our own executable.
func startDialog() (*dialogProcess, error) {
	folder, err := ownFolder()
	if err != nil {
		return nil, err
	}
	return startDialogIn(folder)
}

// ownFolder is where our own executable stands.
func ownFolder() (string, error) {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return "", err
	}
	if strings.HasSuffix(self, " (deleted)") {
		return "", errors.New("the running program was replaced on disk: start Handrail again")
	}
	return filepath.Dir(self), nil
}

// startDialogIn starts handrail-ui of a folder. Folder and file must be ours alone to change. The file is started by its
// descriptor, so it is the file that was checked, and the process that came of it is compared with it. Not checked: the
// folders above, and what is in the file.
func startDialogIn(folder string) (p *dialogProcess, err error) {
	err = withOwn(folder, func(cmd *exec.Cmd, check func(pid int) error) error {
		cmd.Args, cmd.Env = append(cmd.Args, "dialog"), environment(dialogEnvironment)
		p, err = run(cmd, check)
		return err
	})
	return p, err
}

// CanAsk says why no dialog could be shown here: handrail-ui is missing or not ours, or reaches no display that it can draw on.
func CanAsk() error {
	folder, err := ownFolder()
	if err != nil {
		return err
	}
	return canAskIn(folder)
}

func canAskIn(folder string) error {
	return withOwn(folder, func(cmd *exec.Cmd, _ func(pid int) error) error {
		var said bytes.Buffer
		cmd.Args, cmd.Env, cmd.Stderr, cmd.WaitDelay = append(cmd.Args, "display"), environment(dialogEnvironment), &said, time.Second
		if err := cmd.Start(); err != nil {
			return err
		}
		end := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		defer end.Stop()
		if err := cmd.Wait(); err != nil {
			return errors.New(cmp.Or(strings.TrimSpace(strings.TrimPrefix(said.String(), "handrail-ui: ")), err.Error()))
		}
		return nil
	})
}

// windowEnvironment is what a window gets: besides what a dialog gets the session's bus, which tells it whether the desktop is dark.
var windowEnvironment = append([]string{"DBUS_SESSION_BUS_ADDRESS"}, dialogEnvironment...)

// startWindow starts handrail-ui as startDialog does.
func startWindow(name string) (p *windowProcess, err error) {
	folder, err := ownFolder()
	if err != nil {
		return nil, err
	}
	err = withOwn(folder, func(cmd *exec.Cmd, check func(pid int) error) error {
		cmd.Args, cmd.Env = append(cmd.Args, "window", name), environment(windowEnvironment)
		p, err = runWindow(cmd, check)
		return err
	})
	return p, err
}

// withOwn calls start with a command for handrail-ui of a folder, which has no further arguments yet, and with the check that what
// came of it runs that file.
func withOwn(folder string, start func(cmd *exec.Cmd, check func(pid int) error) error) error {
	dir, err := openOwn(unix.AT_FDCWD, folder, unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer dir.Close()
	file, err := openOwn(int(dir.Fd()), "handrail-ui", 0)
	if err != nil {
		return err
	}
	defer file.Close()
	want, err := file.Stat()
	if err != nil {
		return err
	}
	if !want.Mode().IsRegular() {
		return errors.New("handrail-ui is no regular file")
	}
	// The number is ours: in the child it may be another descriptor by the time the file is opened.
	cmd := &exec.Cmd{Path: fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), file.Fd()), Args: []string{"handrail-ui"}, Dir: "/"}
	return start(cmd, func(pid int) error {
		got, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid))
		if err != nil {
			return err
		}
		if !os.SameFile(want, got) {
			return errors.New("it runs another file")
		}
		return nil
	})
}

// openOwn opens a file or folder, no link, and reports it when others could have changed it.
func openOwn(at int, name string, flags int) (*os.File, error) {
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|flags, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	file := os.NewFile(uintptr(fd), name)
	info, err := file.Stat()
	if err == nil {
		err = ownFile(info)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
