package sandbox

import (
	"os"
	"path/filepath"
	"strings"
)

// ProtectedAt is Protected for a program of ours that changes files itself, with no kernel around it: it also looks at the disk. Git
// takes any folder with HEAD, objects and refs for a repository, whatever its name is, and obeys the settings and hooks in it.
// So these are protected there, and so is what would make a folder that holds a HEAD one. The path is absolute and clean, with its
// links resolved. On Linux commands are kept from the same by the supervisor.
func ProtectedAt(path string) (name string, ok bool) {
	if name, ok := Protected(path); ok {
		return name, true
	}
	for dir, below := filepath.Dir(path), filepath.Base(path); dir != "/" && dir != "."; dir, below = filepath.Dir(dir), filepath.Base(dir)+"/"+below {
		part, rest, _ := strings.Cut(fold(below), "/")
		switch {
		case part == "objects" || part == "refs":
			if there(dir, "HEAD") && !there(dir, part) {
				return below, true
			}
		case protectedInGit.has(part):
			sample := part == "hooks" && !strings.Contains(rest, "/") && strings.HasSuffix(rest, ".sample")
			if !sample && there(dir, "HEAD") && there(dir, "objects") && there(dir, "refs") {
				return below, true
			}
		}
	}
	return "", false
}

// there reports whether a folder has an entry. What can't be told counts as there.
func there(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return !os.IsNotExist(err)
}
