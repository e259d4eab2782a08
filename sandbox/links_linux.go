package sandbox

import (
	"os"
	"path/filepath"
)

// A protected name may be a link, such as a hook that is a script of the project. What it leads to is as good as the name, so it is
// closed for changes too. Where the home folder's start-up files lead is known to the policy: see FollowStartUps.

// links are what protected links lead to.
type links struct {
	targets map[string]bool
	scanned map[string]bool // granted folders that were looked through
}

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
	for _, entry := range entries(dir, maxEntries) {
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

// add notes the links on the way that a link leads, and its end.
func (l *links) add(link string) {
	met, end := follow(filepath.Dir(link), filepath.Base(link))
	for _, path := range append(met, end) {
		if path != "" && path != link {
			l.targets[path] = true
		}
	}
}
