package app

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// What a dialog needs of our environment: the display and who may use it, the home folder for the X cookie, and the
// switch that makes OpenGL draw without a graphics card. Loader variables, PATH and toolkit settings are left out.
var dialogEnvironment = []string{"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "HOME", "LANG", "LIBGL_ALWAYS_SOFTWARE"}

// startDialog starts handrail-ui, which stands beside our own executable.
func startDialog() (*dialogProcess, error) {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(self, " (deleted)") {
		return nil, errors.New("the running program was replaced on disk: start Handrail again")
	}
	return startDialogIn(filepath.Dir(self))
}

// startDialogIn starts handrail-ui of a folder. Folder and file must be ours alone to change. The file is started by its
// descriptor, so it is the file that was checked, and the process that came of it is compared with it. Not checked: the
// folders above, and what is in the file.
func startDialogIn(folder string) (*dialogProcess, error) {
	dir, err := openOwn(unix.AT_FDCWD, folder, unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	file, err := openOwn(int(dir.Fd()), "handrail-ui", 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	want, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !want.Mode().IsRegular() {
		return nil, errors.New("handrail-ui is no regular file")
	}
	cmd := &exec.Cmd{
		Path: fmt.Sprintf("/proc/self/fd/%d", file.Fd()),
		Args: []string{"handrail-ui", "dialog"},
		Env:  environment(dialogEnvironment),
		Dir:  "/",
	}
	return run(cmd, func(pid int) error {
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
