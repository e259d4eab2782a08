package sandboxtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// probeCommand makes the test program the probe.
const probeCommand = "sandboxtest-probe"

// escapeCommand makes the test program try one escape.
const escapeCommand = "sandboxtest-escape"

// tryEscape tries the escape of that name, and writes what came of it.
func tryEscape(args []string) int {
	said, err := escape(strings.Join(args, " "))
	fmt.Println(said)
	if err != nil {
		return 1
	}
	return 0
}

// Attempt is one thing that the probe tries.
type Attempt struct {
	Route string // one of routes
	Path  string
	// Beside is another file in the same folder, which stands for what a route moves or links.
	Beside string
}

// route is a way to do an operation: the same operation must be decided alike whichever way is taken.
type route struct {
	name string
	do   func(a Attempt) error
}

// routes are by the letter of their operation, as the grid writes it.
var routes = map[byte][]route{
	'r': {
		{"open", func(a Attempt) error {
			fd, err := unix.Open(a.Path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			_, err = unix.Read(fd, make([]byte, 1))
			if errors.Is(err, unix.EISDIR) {
				err = nil
			}
			return err
		}},
		{"open through a folder", func(a Attempt) error {
			return inFolder(a.Path, func(dir int, name string) error { return opens(dir, name, unix.O_RDONLY) })
		}},
	},
	'w': {
		{"open to write", func(a Attempt) error { return opens(unix.AT_FDCWD, a.Path, unix.O_WRONLY) }},
		{"open to read and write", func(a Attempt) error { return opens(unix.AT_FDCWD, a.Path, unix.O_RDWR) }},
		{"open to append", func(a Attempt) error { return opens(unix.AT_FDCWD, a.Path, unix.O_WRONLY|unix.O_APPEND) }},
		{"open to make or write", func(a Attempt) error { return opens(unix.AT_FDCWD, a.Path, unix.O_WRONLY|unix.O_CREAT) }},
		{"open truncating", func(a Attempt) error { return opens(unix.AT_FDCWD, a.Path, unix.O_RDONLY|unix.O_TRUNC) }},
		{"open relative to a folder", func(a Attempt) error {
			return inFolder(a.Path, func(dir int, name string) error { return opens(dir, name, unix.O_WRONLY) })
		}},
		{"open by a winding path", func(a Attempt) error {
			dir := filepath.Dir(a.Path)
			return opens(unix.AT_FDCWD, dir+"/./../"+filepath.Base(dir)+"//"+filepath.Base(a.Path), unix.O_WRONLY)
		}},
		{"open from the working folder", func(a Attempt) error {
			back, err := os.Getwd()
			if err != nil {
				return err
			}
			defer os.Chdir(back)
			if err := unix.Chdir(filepath.Dir(a.Path)); err != nil {
				return err
			}
			return opens(unix.AT_FDCWD, filepath.Base(a.Path), unix.O_WRONLY)
		}},
		{"open through a link", func(a Attempt) error {
			link := filepath.Join(os.Getenv("TMPDIR"), "link-"+strings.ReplaceAll(a.Path, "/", "_"))
			if len(link) > 200 {
				link = filepath.Join(os.Getenv("TMPDIR"), fmt.Sprintf("link-%d", len(a.Path)))
			}
			os.Remove(link)
			if err := os.Symlink(a.Path, link); err != nil && !errors.Is(err, unix.EROFS) && !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EPERM) {
				return err
			} else if err != nil { // a profile that writes nowhere: no link, so nothing behind one
				return opens(unix.AT_FDCWD, a.Path, unix.O_WRONLY)
			}
			return opens(unix.AT_FDCWD, link, unix.O_WRONLY)
		}},
		{"open again by descriptor", func(a Attempt) error {
			fd, err := unix.Open(a.Path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return opens(unix.AT_FDCWD, fmt.Sprintf("/dev/fd/%d", fd), unix.O_WRONLY)
		}},
		{"truncate", func(a Attempt) error { return unix.Truncate(a.Path, 3) }},
		{"replace", func(a Attempt) error { return unix.Rename(a.Beside, a.Path) }},
	},
	'c': {
		{"open to make", func(a Attempt) error { return opens(unix.AT_FDCWD, a.Path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL) }},
		{"open to make for reading", func(a Attempt) error { return opens(unix.AT_FDCWD, a.Path, unix.O_RDONLY|unix.O_CREAT) }},
		{"make relative to a folder", func(a Attempt) error {
			return inFolder(a.Path, func(dir int, name string) error { return opens(dir, name, unix.O_WRONLY|unix.O_CREAT) })
		}},
		{"rename", func(a Attempt) error { return unix.Rename(a.Beside, a.Path) }},
		{"link", func(a Attempt) error { return unix.Link(a.Beside, a.Path) }},
		{"symlink", func(a Attempt) error { return unix.Symlink("nowhere", a.Path) }},
		{"pipe", func(a Attempt) error { return unix.Mkfifo(a.Path, 0o600) }},
		{"through a dangling link", func(a Attempt) error {
			link := filepath.Join(os.Getenv("TMPDIR"), "dangling")
			os.Remove(link)
			if err := os.Symlink(a.Path, link); err != nil {
				return opens(unix.AT_FDCWD, a.Path, unix.O_WRONLY|unix.O_CREAT)
			}
			return opens(unix.AT_FDCWD, link, unix.O_WRONLY|unix.O_CREAT)
		}},
	},
	'd': {
		{"unlink", func(a Attempt) error { return unix.Unlink(a.Path) }},
		{"unlink relative to a folder", func(a Attempt) error {
			return inFolder(a.Path, func(dir int, name string) error { return unix.Unlinkat(dir, name, 0) })
		}},
		{"rename away", func(a Attempt) error {
			return unix.Rename(a.Path, filepath.Join(filepath.Dir(a.Beside), "moved-"+filepath.Base(a.Beside)))
		}},
	},
	'a': {
		{"mode", func(a Attempt) error { return unix.Chmod(a.Path, 0o640) }},
		{"mode relative to a folder", func(a Attempt) error {
			return inFolder(a.Path, func(dir int, name string) error { return unix.Fchmodat(dir, name, 0o640, 0) })
		}},
		{"mode by descriptor", func(a Attempt) error {
			fd, err := unix.Open(a.Path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Fchmod(fd, 0o640)
		}},
		{"times", func(a Attempt) error {
			return unix.UtimesNanoAt(unix.AT_FDCWD, a.Path, []unix.Timespec{{Sec: 1}, {Sec: 2}}, 0)
		}},
		{"times in microseconds", func(a Attempt) error { return unix.Utimes(a.Path, []unix.Timeval{{Sec: 1}, {Sec: 2}}) }},
		{"owner", func(a Attempt) error { return unix.Chown(a.Path, os.Getuid(), os.Getgid()) }},
		{"owner of a link", func(a Attempt) error { return unix.Lchown(a.Path, os.Getuid(), os.Getgid()) }},
	},
}

// opens opens a file relative to a folder, and changes nothing.
func opens(dir int, name string, flags int) error {
	fd, err := unix.Openat(dir, name, flags|unix.O_CLOEXEC|unix.O_NONBLOCK, 0o600)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// inFolder does something with a file by a descriptor of its folder.
func inFolder(path string, do func(dir int, name string) error) error {
	dir, err := unix.Open(filepath.Dir(path), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return do(dir, filepath.Base(path))
}

// probe tries attempts, and writes the error of each.
func probe(in io.Reader, out io.Writer) int {
	var attempts []Attempt
	if err := json.NewDecoder(in).Decode(&attempts); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	byName := map[string]route{}
	for _, list := range routes {
		for _, r := range list {
			byName[r.name] = r
		}
	}
	for _, r := range netRoutes {
		byName[r.name] = r
	}
	unix.Umask(0o022)
	results := make([]string, len(attempts))
	for i, a := range attempts {
		r, ok := byName[a.Route]
		if !ok {
			fmt.Fprintf(os.Stderr, "no route %q\n", a.Route)
			return 1
		}
		if err := r.do(a); err != nil {
			results[i] = errnoName(err)
		}
	}
	if err := json.NewEncoder(out).Encode(results); err != nil {
		return 1
	}
	return 0
}

func errnoName(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return unix.ErrnoName(errno)
	}
	return err.Error()
}
