package edit

import (
	"errors"
	"io"
	"os"
	"slices"
	"syscall"

	"handrail/core/hint"
)

// identity is a file's device and inode.
type identity struct{ device, inode uint64 }

type kind uint8

const (
	unknown kind = iota
	regular
	directory
	symlink
	fifo
	socket
	device
)

var kindNames = [...]string{"not a file", "a file", "a folder", "a link", "a FIFO", "a socket", "a device"}

func (k kind) String() string { return kindNames[k] }

// info is what a stat tells. Times are nanoseconds since 1970; perm has the set-id bits.
type info struct {
	id           identity
	kind         kind
	perm         uint32
	links        uint64
	size         int64
	mtime, ctime int64
	uid, gid     uint32
	cloud        bool // a placeholder for content that is elsewhere: macOS, SF_DATALESS
}

// same reports whether i is the file that j was, with the content it had as far as a stat can tell.
func (i info) same(j info) bool {
	return i.kind == j.kind && i.id == j.id && i.size == j.size && i.mtime == j.mtime
}

func isErrno(err error, list ...syscall.Errno) bool {
	var e syscall.Errno
	return errors.As(err, &e) && slices.Contains(list, e)
}

// names lists the folder, at most so many entries.
func (d folder) names(most int) ([]string, error) {
	again, err := d.openFolder(".") // the file's own place in the list is shared
	if err != nil {
		return nil, err
	}
	defer again.Close()
	list, err := again.Readdirnames(most)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return list, err
}

// rootFolder opens the folder that root stands for.
func rootFolder(root *os.Root) (folder, error) {
	f, err := root.Open(".")
	return folder{f}, err
}

// keepOwner gives a new file the owner and the group of the old one.
func keepOwner(to *os.File, uid, gid uint32) error {
	mine, err := statFile(to)
	if err != nil || mine.uid == uid && mine.gid == gid {
		return err
	}
	if err := chown(to, uid, gid); err != nil {
		return hint.New("denied", "the file's owner or group can't be kept").
			Because("it belongs to another user, and a safe write makes a new file").
			Then("ask the person to change the file or its owner").Wrap(err)
	}
	return nil
}
