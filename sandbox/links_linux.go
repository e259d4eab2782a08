package sandbox

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// A protected name may be a link: a start-up file of the home folder that stands in a folder of dotfiles, a hook that is a script
// of the project. What it leads to is as good as the name, so it is closed for changes too.

// links are what protected links lead to.
type links struct {
	targets map[string]bool
	scanned map[string]bool // granted folders that were looked through
}

// maxEntries bounds how many entries of a folder are looked at.
const maxEntries = 1000

// linked reports whether a path is, or lies in, what a protected link leads to. Links deeper than a granted folder's own folders
// aren't known.
func (c *call) linked(path string) bool {
	if place, _, ok := find(c.index.writes, path); ok && !c.links.scanned[place] {
		c.links.scanned[place] = true
		c.links.scan(place, 1)
	}
	for at := path; len(at) > 1; at = filepath.Dir(at) {
		if c.links.targets[at] {
			return true
		}
	}
	return false
}

// scan looks for protected links in a folder, its hooks, and the folders directly in it.
func (l *links) scan(dir string, depth int) {
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	entries, _ := f.ReadDir(maxEntries)
	f.Close()
	for _, entry := range entries {
		path := join(dir, entry.Name())
		switch {
		case entry.Type() == os.ModeSymlink:
			if _, named := Protected(path); named {
				l.add(path)
			}
		case !entry.IsDir():
		case fold(entry.Name()) == ".git":
			l.scan(join(path, "hooks"), 0)
		case depth > 0:
			l.scan(path, depth-1)
		}
	}
}

// add notes where a link leads.
func (l *links) add(link string) {
	if target, err := filepath.EvalSymlinks(link); err == nil {
		l.targets[target] = true
	}
}

// startUpLinks lists what the home folder's own start-up files lead to, where they are links into a granted folder.
func startUpLinks(p Policy) []string {
	var targets []string
	for _, rel := range classicInHome {
		path := filepath.Join(p.machine.Home, rel)
		var st unix.Stat_t
		if unix.Lstat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFLNK {
			continue
		}
		target, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		for _, place := range p.writes {
			if within(place.Path, target) {
				targets = append(targets, target)
				break
			}
		}
	}
	return targets
}
