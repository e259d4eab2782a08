package sandboxtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Together tries what one sandbox can't do with two at once on the same granted folder, whose supervisors don't know of each other.
func Together(t *testing.T) {
	b := NewBench(t)
	p, program := b.Guarded(), b.program()
	outs := make(chan string, len(together))
	for _, part := range together {
		go func() {
			out, exit, err := b.run(p, nil, program, escapeCommand, part.name)
			if err != nil || exit.Code != 0 {
				out = "not tried: " + part.name + ": " + out
			}
			outs <- strings.TrimSpace(out)
		}()
	}
	for range together {
		out := <-outs
		held := out != "" && !strings.HasPrefix(out, "not tried")
		if !held {
			t.Errorf("it got out, or was not tried: %q", out)
		}
		tried("two sandboxes", "a repository with a harmful config", held, out)
	}
}

// stayTime is how long a supervisor may take on a busy machine to look once more.
const stayTime = 30 * time.Second

// together are the parts of one attack: one makes a folder a Git folder, the other puts a harmful config into it meanwhile.
var together = []attempt{
	{"make a repository while its config comes", func() error {
		dir := granted("d")
		changes, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
		if err != nil {
			return notTried(err)
		}
		defer unix.Close(changes)
		for end := time.Now().Add(raceTime); time.Now().Before(end); {
			for _, name := range []string{"", "/objects", "/refs"} {
				if err := unix.Mkdir(dir+name, 0o755); err != nil && err != unix.EEXIST {
					return notTried(err)
				}
			}
			if _, err := unix.InotifyAddWatch(changes, dir, unix.IN_DELETE|unix.IN_MOVE|unix.IN_CLOSE_WRITE); err != nil {
				return notTried(err)
			}
			harmful := func() bool {
				text, _ := os.ReadFile(dir + "/config")
				_, err := os.Lstat(dir + "/HEAD")
				return err == nil && strings.Contains(string(text), "fsmonitor")
			}
			if opens(unix.AT_FDCWD, dir+"/HEAD", unix.O_WRONLY|unix.O_CREAT) == nil {
				// Both may be there until the one that came second was looked at once more.
				for stays := time.Now().Add(stayTime); harmful(); {
					if time.Now().After(stays) {
						return nil
					}
					_, _ = unix.Poll([]unix.PollFd{{Fd: int32(changes), Events: unix.POLLIN}}, int(time.Until(stays).Milliseconds())+1)
					_, _ = unix.Read(changes, make([]byte, 4096))
				}
			}
			unix.Unlink(dir + "/HEAD")
			unix.Unlink(dir + "/config")
		}
		return unix.EPERM
	}},
	{"put a config into what becomes a repository", func() error {
		file := granted("evil")
		for end := time.Now().Add(raceTime); time.Now().Before(end); {
			if err := os.WriteFile(file, []byte("[core]\n\tfsmonitor = x\n"), 0o644); err != nil {
				return notTried(err)
			}
			for time.Now().Before(end) && unix.Rename(file, filepath.Join(granted("d"), "config")) != nil {
			}
		}
		return unix.EPERM
	}},
}
