package command

import (
	"path/filepath"
	"strings"
)

// Files answers what is on disk. Its answers may be those of a policy: what the caller may not see need not be told.
type Files interface {
	// Stat follows links. An error means that nothing is there, or that it can't be told: see [Exists].
	Stat(path string) (File, error)
	// Writable reports whether the user could replace the file: its bytes, or one of the folders that hold it.
	// What can't be told is writable.
	Writable(path string) bool
	// Names lists a folder, in any order.
	Names(folder string) ([]string, error)
}

// File is what Stat found. The zero value is a file that is no program.
type File struct {
	Real    string // absolute, links resolved
	ID      FileID
	Size    int64
	Folder  bool
	Regular bool
	Exec    bool // the user may execute it
}

// FileID names a file on this computer as long as it exists. The zero value names none.
type FileID struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

// within reports whether path is folder or below it. Both are absolute and clean.
func within(path, folder string) bool {
	if folder == "/" {
		return strings.HasPrefix(path, "/")
	}
	return path == folder || len(path) > len(folder) && path[len(folder)] == '/' && strings.HasPrefix(path, folder)
}

// absolute joins a path to a folder; "" if the folder isn't known. It doesn't resolve links, so ".." may lead elsewhere.
func absolute(folder, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	if !filepath.IsAbs(folder) {
		return ""
	}
	return filepath.Join(folder, path)
}
