package edit

import (
	"os"
	"path"
	"slices"
	"strings"
)

// Git takes any folder with HEAD, objects and refs for a repository, whatever its name is, and obeys the settings and hooks in it. A
// file that was harmless when it was changed may stand in such a folder by the time the change is undone, so this is judged then. A
// folder called .git is left out: what is in it is protected by its name from its first moment, and put back as a whole.
var (
	gitParts    = []string{"HEAD", "objects", "refs"}
	gitSettings = []string{"config", "config.worktree", "commondir", "hooks"}
)

const whyGit = "its folder is a Git repository now, or would become one, and Git obeys it"

// obeyed gives the folder that is, or becomes, a Git folder when something comes to stand at the path p, if Git then obeys what it didn't
// before. will tells what will stand at a path, now what stands there now.
func obeyed(p string, will, now func(string) bool) (folder string, ok bool) {
	for dir, below := path.Dir(p), path.Base(p); dir != "/" && dir != "."; dir, below = path.Dir(dir), path.Base(dir)+"/"+below {
		first, rest, _ := strings.Cut(below, "/")
		sample := rest != "" && !strings.Contains(rest, "/") && strings.HasSuffix(rest, ".sample")
		same := func(name string) bool { return strings.EqualFold(name, first) }
		sets := slices.ContainsFunc(gitSettings, same) && !sample
		makes := slices.ContainsFunc(gitParts, same) && !now(path.Join(dir, first))
		if (sets || makes) && !strings.EqualFold(path.Base(dir), ".git") &&
			!slices.ContainsFunc(gitParts, func(part string) bool { return !same(part) && !will(path.Join(dir, part)) }) {
			return dir, true
		}
	}
	return "", false
}

// standsNow tells what stands on the disk. What can't be told counts as standing.
func standsNow(p string) bool {
	_, err := os.Lstat(p)
	return !os.IsNotExist(err)
}

// settings refuses what would make Git obey a file that it didn't obey before the change.
func (u *undoing) settings(x *step) (changed bool) {
	if !x.act() || x.Before == nil {
		return false
	}
	step := func(p string) *step { return u.byName[nameIn(u.c.Place.Path, p)] }
	will := func(p string) bool {
		if s := step(p); s != nil && s.act() {
			return s.Before != nil
		}
		return standsNow(p)
	}
	dir, ok := obeyed(u.path(x.name), will, standsNow)
	if !ok {
		return false
	}
	// A repository that goes back as a whole, with no settings but those that the change took, is what it was.
	whole := !slices.ContainsFunc(gitParts, func(part string) bool { s := step(path.Join(dir, part)); return s == nil || !s.comes() }) &&
		!slices.ContainsFunc(gitSettings, func(name string) bool {
			s := step(path.Join(dir, name))
			return (s == nil || !s.act()) && standsNow(path.Join(dir, name))
		})
	if whole {
		return false
	}
	x.why = whyGit
	return true
}
