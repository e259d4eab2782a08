package broker

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// oddAttributes refuses a document whose attributes say which app opens it, or that it is of another kind than its name says.
func oddAttributes(f *os.File, no func(string) error) error {
	size, err := unix.Flistxattr(int(f.Fd()), nil)
	if err != nil || size == 0 {
		return err
	}
	buf := make([]byte, size+1024)
	n, err := unix.Flistxattr(int(f.Fd()), buf)
	if err != nil {
		return fmt.Errorf("looking at a document's attributes: %w", err)
	}
	for name := range strings.SplitSeq(string(buf[:n]), "\x00") {
		switch name {
		case "com.apple.LaunchServices.OpenWith", "com.apple.ResourceFork", "com.apple.FinderInfo":
			return no("its attributes may say that another app opens it (" + name + ")")
		}
	}
	return nil
}
