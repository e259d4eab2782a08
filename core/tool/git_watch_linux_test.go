package tool

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// watchPrograms gives the names of the files in a folder that were opened, by anyone, since it was last asked (inotify(7)): a
// program is opened to be run, also where it can leave no mark.
func watchPrograms(t *testing.T, dir string) (opened func() []string) {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := map[int]string{}
	for _, e := range entries {
		wd, err := unix.InotifyAddWatch(fd, filepath.Join(dir, e.Name()), unix.IN_OPEN)
		if err != nil {
			t.Fatal(err)
		}
		names[wd] = e.Name()
	}
	return func() []string {
		list := []string{}
		buf := make([]byte, 64<<10)
		for {
			n, err := unix.Read(fd, buf)
			if errors.Is(err, unix.EAGAIN) {
				return list
			}
			if err != nil {
				t.Fatal(err)
			}
			for at := 0; at+unix.SizeofInotifyEvent <= n; {
				list = append(list, names[int(int32(binary.NativeEndian.Uint32(buf[at:])))])
				at += unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(buf[at+12:]))
			}
		}
	}
}

// revealing lists the processes in whose arguments or environment one of the secrets stands (proc(5)).
func revealing(t *testing.T, secrets ...string) (list []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(files) == 0 {
		t.Fatal("no /proc", err)
	}
	for _, dir := range files {
		for _, name := range []string{"cmdline", "environ"} {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				continue // it has ended, or is someone else's
			}
			for _, secret := range secrets {
				if strings.Contains(string(text), secret) {
					list = append(list, filepath.Join(dir, name)+": "+strings.ReplaceAll(string(text), "\x00", " "))
				}
			}
		}
	}
	return list
}
