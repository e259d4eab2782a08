package sandbox

import (
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// A Git folder holds HEAD, objects and refs, whatever its own name is: Git, started below any folder that does, obeys the
// config and the hooks in it. The names .git and *.git are protected by Protected; the supervisor also looks for the others, and
// keeps account of the repositories that the command itself makes.

// isGit reports whether the folder looks like a Git folder, were the name assumed there too.
func isGit(folder int, assumed string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		var st unix.Stat_t
		if fold(name) != assumed && unix.Fstatat(folder, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
			return false
		}
	}
	return true
}

// isGitPart reports a name, folded, by which Git knows its folders.
func isGitPart(name string) bool { return name == "head" || name == "objects" || name == "refs" }

// madeAs says what a folder is that the command made.
type madeAs uint8

const (
	madeFolder madeAs = iota + 1
	madeBare          // one that became a bare repository
	madeGit           // a folder .git: all that is in it was made by the command too, for no folder is moved there
)

// recordMade notes that the command made a folder.
func (c *call) recordMade(parent int, name string, isGit bool) {
	var st unix.Stat_t
	if unix.Fstatat(parent, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
		c.made[idOf(&st)] = madeFolder
		if isGit {
			c.made[idOf(&st)] = madeGit
		}
	}
}

// madeAs says what a folder is, if the command made it.
func (c *call) madeAs(folder int) madeAs {
	var st unix.Stat_t
	if unix.Fstat(folder, &st) != nil {
		return 0
	}
	return c.made[idOf(&st)]
}

// isMade reports whether a folder is a Git folder that the command made.
func (c *call) isMade(folder int) bool { return c.madeAs(folder) >= madeBare }

func openFolder(path string) (int, error) {
	return openat2(unix.AT_FDCWD, path, unix.O_PATH|unix.O_DIRECTORY, 0, unix.RESOLVE_NO_SYMLINKS)
}

// ownGit reports whether a protected name lies in a Git folder that the command made and may be removed, or its attributes
// changed: nothing of the person's is in there.
func (c *call) ownGit(op Op, sp *spot) bool {
	if op != Delete && op != Attributes {
		return false
	}
	elements := strings.Split(sp.path(), "/")
	from, to := protected(strings.Split(fold(sp.path()), "/"))
	if from == to || !strings.HasSuffix(fold(elements[from]), ".git") {
		return false
	}
	folder, err := openFolder(strings.Join(elements[:from+1], "/"))
	if err != nil {
		return false
	}
	defer unix.Close(folder)
	return c.isMade(folder)
}

// guardsGit reports whether an operation that is allowed by its path must not happen for what its folder is, or would become.
func (c *call) guardsGit(op Op, path string) bool {
	i := strings.LastIndexByte(path, '/')
	dir, name := path[:max(i, 1)], fold(path[i+1:]) // some folders take names in other letters for the same
	parts := isGitPart(name)
	if c.policy.profile == classic || !parts && !protectedInGit.has(name) && !strings.HasSuffix(fold(dir), "/hooks") || strings.HasSuffix(fold(dir), ".git") && !parts {
		return false
	}
	folder, err := openFolder(dir)
	if err != nil {
		return false // the operation will fail too
	}
	defer unix.Close(folder)
	switch {
	case parts && op == Create:
		if isGit(folder, "") {
			return false
		}
		c.notGit = true
		return isGit(folder, name) && !c.adopt(dir, folder)
	case parts && op == Delete: // what is left would no longer look like a Git folder, and its config could be changed
		return !strings.HasSuffix(fold(dir), ".git") && isGit(folder, "") && !c.isMade(folder)
	case protectedInGit.has(name) && isGit(folder, ""):
		return !(c.isMade(folder) && (op == Delete || op == Attributes))
	case strings.HasSuffix(fold(dir), "/hooks") && !strings.HasSuffix(name, ".sample"):
		above, err := openFolder(dir[:strings.LastIndexByte(dir, '/')])
		if err != nil {
			return false
		}
		defer unix.Close(above)
		return isGit(above, "") && !(c.isMade(above) && op == Delete)
	}
	return false
}

// adopt takes a folder that is about to become a Git folder (a bare repository) for one that the command made, if it did make it
// and nothing in it would run. The config is replaced by a copy, which no descriptor of the command is open on.
func (c *call) adopt(dir string, view int) bool {
	if strings.HasSuffix(fold(dir), "/.git") {
		return true // its names are protected from its first moment
	}
	var st unix.Stat_t
	if unix.Fstat(view, &st) != nil {
		return false
	}
	id := idOf(&st)
	if c.made[id] == 0 {
		return false
	}
	folder, err := c.openHeld(dir)
	if err != nil {
		return false
	}
	defer unix.Close(folder)
	if unix.Fstat(folder, &st) != nil || idOf(&st) != id { // another sandbox put another there
		return false
	}
	if checkRepository(procFD(folder), false) != nil {
		return false
	}
	text, mode, err := readConfig(folder, "config")
	switch {
	case err == unix.ENOENT:
	case err != nil, harmlessConfig(text) != nil, replaceConfig(folder, "config", text, mode) != nil:
		return false
	}
	c.made[id] = max(c.made[id], madeBare)
	return true
}

// isConfig reports whether a rename is Git's way to put a new config in place.
func (c *call) isConfig(from, to *spot) bool {
	if c.policy.profile == classic || from.folder != to.folder || from.name != "config.lock" || to.name != "config" || !from.is(unix.S_IFREG) {
		return false
	}
	_, isProtected := Protected(to.path())
	return isProtected || isGit(to.view, "")
}

// renameConfig puts a new config in place when it is harmless: any harmless setting in a repository that the command made or
// that had no config, and which branch follows which in one that was there before. What is put there is a copy.
func (c *call) renameConfig(from, to *spot) answer {
	folder, err := c.host(to)
	if err != nil {
		return result(err)
	}
	text, mode, err := readConfig(folder, from.name)
	if err != nil {
		return fail(unix.EPERM)
	}
	if to.exists && !c.inMade(to.folder) {
		before, _, err := readConfig(folder, to.name)
		if err != nil || followsBranches(before, text) != nil {
			return fail(unix.EPERM)
		}
	} else if harmlessConfig(text) != nil {
		return fail(unix.EPERM)
	}
	return result(replaceConfig(folder, from.name, text, mode, to.name))
}

// inMade reports whether a folder is a Git folder that the command made, or lies in a folder .git that it made.
func (c *call) inMade(dir string) bool {
	least := madeBare
	for ; len(dir) > 1; dir = dir[:max(strings.LastIndexByte(dir, '/'), 0)] {
		folder, err := openFolder(dir)
		if err != nil {
			return false
		}
		made := c.madeAs(folder)
		unix.Close(folder)
		if made >= least {
			return true
		}
		least = madeGit
	}
	return false
}

// readConfig reads a config, which must be a file of its own.
func readConfig(folder int, name string) (text string, mode uint32, err error) {
	fd, err := openBelow(folder, name, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", 0, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return "", 0, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink > 1 || st.Size > maxConfig {
		return "", 0, unix.EPERM
	}
	b, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err == nil && len(b) > maxConfig {
		err = unix.EFBIG
	}
	return string(b), st.Mode & 0o777, err
}

// replaceConfig puts the text into a new file in the place of name, so that whoever has the old one open writes to nothing
// any more, and renames that to the last name given.
func replaceConfig(folder int, name, text string, mode uint32, rename ...string) error {
	if err := unix.Unlinkat(folder, name, 0); err != nil {
		return err
	}
	fd, err := openBelow(folder, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, mode)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = f.WriteString(text)
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if err != nil {
		unix.Unlinkat(folder, name, 0)
		return unix.EIO
	}
	for _, to := range rename {
		err = unix.Renameat(folder, name, folder, to)
	}
	return err
}

// movesInGit reports whether a folder may be moved, for what Git folders its old and its new path lie in. Inside a Git folder
// only the parts that hold no settings move; in and out of one nothing does, or a name that is protected there could be
// prepared elsewhere.
func movesInGit(from, to string) bool {
	a, aIn := gitPart(from)
	b, bIn := gitPart(to)
	return !aIn && !bIn || aIn && bIn && gitNames.has(a) && a == b
}

// gitPart gives the element below the outermost Git folder that a path lies in.
func gitPart(path string) (part string, in bool) {
	elements := strings.Split(fold(path), "/")
	for i, e := range elements[:len(elements)-1] {
		if strings.HasSuffix(e, ".git") {
			return elements[i+1], true
		}
	}
	return "", false
}
