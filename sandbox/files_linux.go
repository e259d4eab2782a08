package sandbox

import (
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// handle answers a call by its number.
func (s *supervisor) handle(c *call, number int) answer {
	a := c.args
	cwd := uint64(unix.AT_FDCWD & 0xffffffff)
	switch number {
	case unix.SYS_OPENAT:
		return c.open(a[0], a[1], int(uint32(a[2])), uint32(a[3]))
	case unix.SYS_MKDIRAT:
		return c.mkdir(a[0], a[1], uint32(a[2]))
	case unix.SYS_MKNODAT:
		return c.mknod(a[0], a[1], uint32(a[2]))
	case unix.SYS_SYMLINKAT:
		return c.symlink(a[0], a[1], a[2])
	case unix.SYS_LINKAT:
		return c.link(a[0], a[1], a[2], a[3], uint32(a[4]))
	case unix.SYS_RENAMEAT:
		return c.rename(a[0], a[1], a[2], a[3], 0)
	case unix.SYS_RENAMEAT2:
		return c.rename(a[0], a[1], a[2], a[3], uint(uint32(a[4])))
	case unix.SYS_UNLINKAT:
		return c.unlink(a[0], a[1], int(uint32(a[2])))
	case unix.SYS_TRUNCATE:
		return c.truncate(a[0], int64(a[1]))
	case unix.SYS_FACCESSAT:
		return c.access(a[0], a[1], uint32(a[2]), 0)
	case unix.SYS_FACCESSAT2:
		return c.access(a[0], a[1], uint32(a[2]), int(uint32(a[3])))
	case unix.SYS_FCHMODAT:
		return c.chmod(a[0], a[1], uint32(a[2]), 0)
	case unix.SYS_FCHMODAT2:
		return c.chmod(a[0], a[1], uint32(a[2]), int(uint32(a[3])))
	case unix.SYS_FCHMOD:
		return c.chmod(a[0], noPath, uint32(a[1]), 0)
	case unix.SYS_FCHOWNAT:
		return c.chown(a[0], a[1], int(int32(a[2])), int(int32(a[3])), int(uint32(a[4])))
	case unix.SYS_FCHOWN:
		return c.chown(a[0], noPath, int(int32(a[1])), int(int32(a[2])), 0)
	case unix.SYS_UTIMENSAT:
		return c.utimens(a[0], a[1], a[2], int(uint32(a[3])))
	case unix.SYS_SETXATTR, unix.SYS_LSETXATTR:
		return c.setxattr(cwd, a[0], a[1], a[2], a[3], int(uint32(a[4])), number == unix.SYS_SETXATTR)
	case unix.SYS_FSETXATTR:
		return c.setxattr(a[0], noPath, a[1], a[2], a[3], int(uint32(a[4])), true)
	case unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR:
		return c.removexattr(cwd, a[0], a[1], number == unix.SYS_REMOVEXATTR)
	case unix.SYS_FREMOVEXATTR:
		return c.removexattr(a[0], noPath, a[1], true)
	case unix.SYS_UMASK:
		s.umasks.changes(c.tid)
		return pass
	case unix.SYS_CONNECT:
		return c.connect(int(int32(a[0])), a[1], a[2])
	case unix.SYS_BIND:
		return c.bind(int(int32(a[0])), a[1], a[2])
	case unix.SYS_LISTEN:
		return c.listen(int(int32(a[0])), int(int32(a[1])))
	}
	return s.handleHere(c, number)
}

// noPath stands for the path argument of a call that names a descriptor instead.
const noPath = ^uint64(0)

// allowed asks the policy about an operation at the spot. The answer counts only when it is not ok: protected names fail,
// everything else is left to the kernel, which refuses it (or, in the session's own folders, does it).
func (c *call) allowed(op Op, sp *spot, h how) (answer, bool) {
	d := c.index.decideHow(op, sp.path(), h)
	if !d.Allowed && d.Opens == OpensProtected && c.ownGit(op, sp) {
		return answer{}, true
	}
	switch {
	case d.Allowed && c.isPrivate(sp.folder):
		return pass, false
	case d.Allowed:
		if path := sp.path(); c.policy.profile == guarded && (sp.links && !named(path) || c.linked(path)) {
			return fail(unix.EPERM), false // it was reached through a link with a protected name, or one leads to it
		}
		if c.guardsGit(op, sp.path()) {
			return fail(unix.EPERM), false
		}
		return answer{}, true
	case d.Opens != OpensProtected:
		return pass, false
	case op == Create && sp.exists:
		return fail(unix.EEXIST), false
	case op != Create && !sp.exists:
		return fail(unix.ENOENT), false
	}
	return fail(unix.EPERM), false
}

// isPrivate reports whether a folder is the session's own or the system's, where the supervisor changes nothing.
func (c *call) isPrivate(folder string) bool {
	deepest := -1
	for _, root := range c.private {
		if within(root, folder) {
			deepest = max(deepest, len(root))
		}
	}
	for _, h := range c.held {
		if within(h.path, folder) && len(h.path) > deepest {
			return false // such as a workspace that lies in /tmp
		}
	}
	return deepest >= 0
}

// modeBits are those that a command may set: not "run as the file's owner".
func modeBits(mode uint32) uint32 { return mode & 0o7777 &^ unix.S_ISUID }

const openKnown = unix.O_ACCMODE | unix.O_CREAT | unix.O_EXCL | unix.O_NOCTTY | unix.O_TRUNC | unix.O_APPEND | unix.O_NONBLOCK | unix.O_DSYNC | unix.O_SYNC |
	unix.O_DIRECT | unix.O_LARGEFILE | unix.O_DIRECTORY | unix.O_NOATIME | unix.O_TMPFILE

func (c *call) open(dirfd, addr uint64, flags int, mode uint32) answer {
	path, ok := c.text(addr)
	if !ok || flags&unix.O_PATH != 0 {
		return pass
	}
	if n, ok := c.descriptor(path); ok {
		return c.reopen(n, flags)
	}
	if strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/proc/") {
		return pass
	}
	if flags&unix.O_TMPFILE == unix.O_TMPFILE {
		return c.openUnnamed(dirfd, path, flags, mode)
	}
	for range maxLinks {
		a := c.openSpot(dirfd, path, flags, mode)
		if a.errno == unix.ELOOP || a.errno == unix.ESTALE || a.errno == unix.EEXIST && flags&unix.O_EXCL == 0 {
			continue // another program of the person's came between
		}
		return a
	}
	return fail(unix.ELOOP)
}

func (c *call) openSpot(dirfd uint64, path string, flags int, mode uint32) answer {
	follow := flags&unix.O_NOFOLLOW == 0 && flags&(unix.O_CREAT|unix.O_EXCL) != unix.O_CREAT|unix.O_EXCL
	sp, ok := c.spot(dirfd, path, follow)
	if !ok {
		return pass
	}
	defer sp.close()
	op := Write
	switch {
	case !sp.exists && flags&unix.O_CREAT == 0, sp.slash, sp.is(unix.S_IFLNK):
		return pass // the kernel fails with the right error
	case !sp.exists:
		op = Create
	case flags&(unix.O_WRONLY|unix.O_RDWR|unix.O_TRUNC) == 0: // would have made it, had it been missing: only reads
		return pass
	case flags&unix.O_EXCL != 0 && flags&unix.O_CREAT != 0:
		return fail(unix.EEXIST)
	case !sp.is(unix.S_IFREG) && !sp.is(unix.S_IFIFO):
		return pass
	}
	if a, ok := c.allowed(op, &sp, plain); !ok {
		return a
	}
	mask := uint32(0)
	if op == Create {
		mask = c.umask()
	}
	folder, err := c.host(&sp)
	if err != nil {
		return result(err)
	}
	if sp.is(unix.S_IFIFO) && flags&unix.O_NONBLOCK == 0 {
		if folder, err = unix.FcntlInt(uintptr(folder), unix.F_DUPFD_CLOEXEC, 0); err != nil {
			return result(err)
		}
		go c.openPipe(folder, sp.name, flags)
		return answer{sent: true}
	}
	known := flags & openKnown &^ unix.O_CREAT
	how := uint32(0)
	if op == Create { // nothing was there: what comes meanwhile isn't the command's
		known |= unix.O_CREAT | unix.O_EXCL
		how = modeBits(mode) &^ mask
	}
	fd, err := openBelow(folder, sp.name, known, how)
	if err != nil {
		return result(err)
	}
	defer unix.Close(fd)
	// Never a folder: the command could walk from it into all of the host's.
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG && st.Mode&unix.S_IFMT != unix.S_IFIFO {
		return fail(unix.EPERM)
	}
	// Another session's sandbox may have renamed the folder since the decision: what counts is where the file is now.
	now, ok := realPath(fd)
	if !ok || now != sp.path() && !c.index.decide(op, now).Allowed || op == Write && c.guardsGit(op, now) || op == Create && !c.stays(folder, sp.name, plain) {
		if op == Create {
			unix.Unlinkat(folder, sp.name, 0)
		}
		return fail(unix.EPERM)
	}
	return c.give(fd, flags&unix.O_CLOEXEC != 0)
}

// openBelow opens a name in a folder on the host, itself and nothing it may link to.
func openBelow(folder int, name string, flags int, mode uint32) (int, error) {
	return openat2(folder, name, flags|unix.O_NOFOLLOW|unix.O_NOCTTY, mode, unix.RESOLVE_BENEATH|unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS)
}

// openPipe opens a named pipe, which waits for the other side.
func (c *call) openPipe(folder int, name string, flags int) {
	defer unix.Close(folder)
	fd, err := openBelow(folder, name, flags&openKnown&^unix.O_CREAT, 0)
	if err != nil {
		c.answer(result(err))
		return
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO {
		c.answer(fail(unix.EPERM)) // it was replaced
		return
	}
	if a := c.give(fd, flags&unix.O_CLOEXEC != 0); !a.sent {
		c.answer(a)
	}
}

// openUnnamed opens a file without a name in a folder (O_TMPFILE). It gets a name, if any, by link.
func (c *call) openUnnamed(dirfd uint64, path string, flags int, mode uint32) answer {
	real, st, ok := c.object(dirfd, path, true)
	if !ok || st.Mode&unix.S_IFMT != unix.S_IFDIR || c.isPrivate(real) || !c.index.decide(Create, join(real, "unnamed")).Allowed {
		return pass
	}
	folder, err := c.openObject(real, idOf(&st))
	if err != nil {
		return result(err)
	}
	defer unix.Close(folder)
	fd, err := unix.Openat(folder, ".", flags&(openKnown|unix.O_TMPFILE)|unix.O_CLOEXEC, modeBits(mode)&^c.umask())
	if err != nil {
		return result(err)
	}
	defer unix.Close(fd)
	return c.give(fd, flags&unix.O_CLOEXEC != 0)
}

// reopen opens one of the caller's own descriptors anew, by its path in /proc or /dev.
func (c *call) reopen(n, flags int) answer {
	real, st, ok := c.object(uint64(n), "", true)
	if !ok || st.Mode&unix.S_IFMT != unix.S_IFREG || c.isPrivate(real) {
		return pass
	}
	if !c.index.decide(Write, real).Allowed {
		// A file that the command was given opened for writing, such as its standard output: it gets what it has.
		fd, err := c.duplicate(n)
		if err != nil {
			return pass
		}
		defer unix.Close(fd)
		has, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		want := flags & unix.O_ACCMODE
		if has = has & unix.O_ACCMODE; err != nil || has != unix.O_RDWR && has != want || want == unix.O_RDONLY {
			return pass
		}
		return c.give(fd, flags&unix.O_CLOEXEC != 0)
	}
	file, err := c.openObject(real, idOf(&st))
	if err != nil {
		return result(err)
	}
	defer unix.Close(file)
	fd, err := unix.Open(procFD(file), flags&openKnown&^(unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW)|unix.O_CLOEXEC, 0)
	if err != nil {
		return result(err)
	}
	defer unix.Close(fd)
	return c.give(fd, flags&unix.O_CLOEXEC != 0)
}

func join(folder, name string) string {
	if folder == "/" {
		return "/" + name
	}
	return folder + "/" + name
}

// changeAt does one change at a spot on the host, when the policy allows it.
func (c *call) changeAt(op Op, dirfd, addr uint64, h how, do func(folder int, sp *spot) error) answer {
	path, ok := c.text(addr)
	if !ok {
		return pass
	}
	sp, ok := c.spot(dirfd, path, false)
	if !ok {
		return pass
	}
	defer sp.close()
	if a, ok := c.allowed(op, &sp, h); !ok {
		return a
	}
	folder, err := c.host(&sp)
	if err != nil {
		return result(err)
	}
	err = do(folder, &sp)
	if err == nil && op == Create && !c.stays(folder, sp.name, h) {
		flags := 0
		if h == ofFolder {
			flags = unix.AT_REMOVEDIR
		}
		unix.Unlinkat(folder, sp.name, flags)
		return fail(unix.EPERM)
	}
	return result(err)
}

// stays reports whether what was just made at a name in a folder on the host may stay there. Between the decision and the deed
// another sandbox, whose supervisor is another, may have moved the folder or made it a Git folder. It looks again after its own
// deed as well, so one of the two sees what the other did.
func (c *call) stays(folder int, name string, h how) bool {
	dir, ok := realPath(folder)
	if !ok {
		return false
	}
	path := join(dir, name)
	if !c.index.decideHow(Create, path, h).Allowed {
		return false
	}
	if c.notGit && isGitPart(fold(name)) && isGit(folder, "") {
		return c.adopt(dir, folder)
	}
	return !c.guardsGit(Create, path)
}

func (c *call) mkdir(dirfd, addr uint64, mode uint32) answer {
	return c.changeAt(Create, dirfd, addr, ofFolder, func(folder int, sp *spot) error {
		isGit := fold(sp.name) == ".git"
		if isGit && c.nested[sp.folder] && !sp.exists {
			return unix.EPERM // it would stand in for the repository around it
		}
		if err := unix.Mkdirat(folder, sp.name, mode&0o1777&^c.umask()); err != nil {
			return err
		}
		c.recordMade(folder, sp.name, isGit)
		return nil
	})
}

func (c *call) mknod(dirfd, addr uint64, mode uint32) answer {
	switch mode & unix.S_IFMT {
	case 0, unix.S_IFREG, unix.S_IFIFO:
	default: // devices; sockets are made by binding them
		return fail(unix.EPERM)
	}
	return c.changeAt(Create, dirfd, addr, plain, func(folder int, sp *spot) error {
		return unix.Mknodat(folder, sp.name, mode&unix.S_IFMT|modeBits(mode)&^c.umask(), 0)
	})
}

func (c *call) symlink(target, dirfd, addr uint64) answer {
	to, ok := c.text(target)
	if !ok {
		return pass
	}
	return c.changeAt(Create, dirfd, addr, plain, func(folder int, sp *spot) error {
		return unix.Symlinkat(to, folder, sp.name)
	})
}

func (c *call) unlink(dirfd, addr uint64, flags int) answer {
	return c.changeAt(Delete, dirfd, addr, plain, func(folder int, sp *spot) error {
		err := unix.Unlinkat(folder, sp.withSlash(), flags)
		if err == nil {
			delete(c.made, idOf(&sp.stat)) // the number may come back for another folder
		}
		return err
	})
}

// withSlash is the name as the caller wrote it: the kernel tells files and folders apart by a slash.
func (sp *spot) withSlash() string {
	if sp.slash {
		return sp.name + "/"
	}
	return sp.name
}

func (c *call) truncate(addr uint64, length int64) answer {
	path, ok := c.text(addr)
	if !ok {
		return pass
	}
	sp, ok := c.spot(uint64(unix.AT_FDCWD&0xffffffff), path, true)
	if !ok {
		return pass
	}
	defer sp.close()
	if !sp.is(unix.S_IFREG) {
		return pass
	}
	if a, ok := c.allowed(Write, &sp, plain); !ok {
		return a
	}
	folder, err := c.host(&sp)
	if err != nil {
		return result(err)
	}
	fd, err := openBelow(folder, sp.name, unix.O_WRONLY, 0)
	if err != nil {
		return result(err)
	}
	defer unix.Close(fd)
	return result(unix.Ftruncate(fd, length))
}

func (c *call) link(oldDir, oldAddr, newDir, newAddr uint64, flags uint32) answer {
	oldPath, ok := c.text(oldAddr)
	newPath, ok2 := c.text(newAddr)
	if !ok || !ok2 || oldPath == "" && flags&unix.AT_EMPTY_PATH == 0 {
		return pass
	}
	real, st, ok := c.object(oldDir, oldPath, flags&unix.AT_SYMLINK_FOLLOW != 0)
	if !ok || st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return pass
	}
	sp, ok := c.spot(newDir, newPath, false)
	if !ok {
		return pass
	}
	defer sp.close()
	if a, ok := c.allowed(Create, &sp, plain); !ok {
		return a
	}
	folder, err := c.host(&sp)
	if err != nil {
		return result(err)
	}
	// A second name gives the right to change the file, so the first must have it too.
	switch d := c.index.decide(Write, real); {
	case st.Nlink == 0:
		return c.linkUnnamed(oldDir, oldPath, folder, &sp)
	case d.Opens == OpensProtected:
		return fail(unix.EPERM)
	case !d.Allowed || c.isPrivate(real):
		return fail(unix.EXDEV)
	}
	file, err := c.openObject(real, idOf(&st))
	if err != nil {
		return result(err)
	}
	defer unix.Close(file)
	if c.guardsGit(Write, real) {
		return fail(unix.EPERM)
	}
	return c.linkTo(file, folder, &sp)
}

// linkTo gives an open file a name.
func (c *call) linkTo(file, folder int, sp *spot) answer {
	err := unix.Linkat(unix.AT_FDCWD, procFD(file), folder, sp.name, unix.AT_SYMLINK_FOLLOW)
	if err == nil && !c.stays(folder, sp.name, plain) {
		unix.Unlinkat(folder, sp.name, 0)
		return fail(unix.EPERM)
	}
	return result(err)
}

// linkUnnamed gives a name to a file that openUnnamed made.
func (c *call) linkUnnamed(oldDir uint64, oldPath string, folder int, sp *spot) answer {
	n, ok := c.descriptor(oldPath)
	if oldPath == "" {
		n, ok = int(int32(oldDir)), true
	}
	if !ok {
		return fail(unix.ENOENT)
	}
	fd, err := c.duplicate(n)
	if err != nil {
		return result(err)
	}
	defer unix.Close(fd)
	return c.linkTo(fd, folder, sp)
}

func (c *call) rename(oldDir, oldAddr, newDir, newAddr uint64, flags uint) answer {
	oldPath, ok := c.text(oldAddr)
	newPath, ok2 := c.text(newAddr)
	if !ok || !ok2 || flags&^(unix.RENAME_NOREPLACE|unix.RENAME_EXCHANGE) != 0 {
		return pass
	}
	from, ok := c.spot(oldDir, oldPath, false)
	if !ok {
		return pass
	}
	defer from.close()
	to, ok := c.spot(newDir, newPath, false)
	if !ok {
		return pass
	}
	defer to.close()

	private := c.isPrivate(from.folder)
	if private && c.isPrivate(to.folder) {
		return pass
	}
	if private != c.isPrivate(to.folder) {
		return fail(unix.EXDEV)
	}
	exchange := flags&unix.RENAME_EXCHANGE != 0
	if !from.exists || exchange && !to.exists {
		return fail(unix.ENOENT)
	}
	if to.exists && flags&unix.RENAME_NOREPLACE != 0 {
		return fail(unix.EEXIST)
	}
	if a, ok := c.allowed(Delete, &from, plain); !ok {
		return a
	}
	if !exchange && c.isConfig(&from, &to) {
		return c.renameConfig(&from, &to)
	}
	type step struct {
		op Op
		sp *spot
	}
	steps := []step{}
	if to.exists {
		steps = append(steps, step{Delete, &to})
	}
	if exchange {
		steps = append(steps, step{Create, &from})
	}
	for _, st := range append(steps, step{Create, &to}) {
		sp := *st.sp
		if st.op == Create {
			sp.exists = false // what stands there is replaced: no "exists already"
		}
		if a, ok := c.allowed(st.op, &sp, plain); !ok {
			return a
		}
	}
	if from.is(unix.S_IFDIR) && !movesInGit(from.path(), to.path()) || exchange && to.is(unix.S_IFDIR) && !movesInGit(to.path(), from.path()) {
		return fail(unix.EPERM)
	}
	newFolder, err := c.host(&to)
	if err != nil {
		return result(err)
	}
	oldFolder, err := c.host(&from)
	if err != nil {
		return result(err)
	}
	err = unix.Renameat2(oldFolder, from.withSlash(), newFolder, to.withSlash(), flags)
	if err == nil && (!c.stays(newFolder, to.name, plain) || exchange && !c.stays(oldFolder, from.name, plain)) {
		if !exchange {
			flags = unix.RENAME_NOREPLACE
		}
		if unix.Renameat2(newFolder, to.name, oldFolder, from.name, flags) != nil {
			unix.Unlinkat(newFolder, to.name, 0)
		}
		return fail(unix.EPERM)
	}
	if err == nil && to.exists && !exchange {
		delete(c.made, idOf(&to.stat))
	}
	return result(err)
}

// changeObject does one change of a file's attributes on the host, when the policy allows it, by its name in a folder; what the
// name links to is not changed. A file named by a descriptor, or one like ".", is looked for by its real path.
func (c *call) changeObject(dirfd, addr uint64, follow bool, do func(folder int, name string) error) answer {
	path, ok := "", true
	if addr != noPath {
		if path, ok = c.text(addr); !ok {
			return pass
		}
	}
	if n, ok := c.descriptor(path); ok && follow {
		dirfd, addr, path = uint64(n), noPath, ""
	}
	var sp spot
	switch last := path[strings.LastIndexByte(path, '/')+1:]; last {
	case "", ".", "..":
		real, st, ok := c.object(dirfd, path, follow)
		if !ok || real == "/" || c.isPrivate(real) {
			return pass
		}
		sp, ok = c.spot(0, real, false)
		if !ok || idOf(&sp.stat) != idOf(&st) { // it lost its name: the descriptor itself says whether it may be changed
			sp.close()
			return pass
		}
	default:
		if sp, ok = c.spot(dirfd, path, follow); !ok {
			return pass
		}
	}
	defer sp.close()
	if !sp.exists {
		return pass
	}
	if a, ok := c.allowed(Attributes, &sp, plain); !ok {
		return a
	}
	folder, err := c.host(&sp)
	if err != nil {
		return result(err)
	}
	return result(do(folder, sp.name))
}

// hasSUID reports whether a mode has a file run as its owner. No command sets that, wherever it may write.
func hasSUID(mode uint32) bool { return mode&unix.S_ISUID != 0 }

func (c *call) chmod(dirfd, addr uint64, mode uint32, flags int) answer {
	if hasSUID(mode) {
		return fail(unix.EPERM)
	}
	if flags&unix.AT_EMPTY_PATH != 0 {
		if path, ok := c.text(addr); ok && path == "" {
			addr = noPath
		}
	}
	return c.changeObject(dirfd, addr, flags&unix.AT_SYMLINK_NOFOLLOW == 0, func(folder int, name string) error {
		p, err := unix.BytePtrFromString(name)
		if err != nil {
			return unix.EINVAL
		}
		_, _, errno := unix.Syscall6(unix.SYS_FCHMODAT2, uintptr(folder), uintptr(unsafe.Pointer(p)), uintptr(mode&0o7777), unix.AT_SYMLINK_NOFOLLOW, 0, 0)
		if errno != unix.ENOSYS {
			return errnoErr(errno)
		}
		file, err := openBelow(folder, name, unix.O_PATH, 0) // before Linux 6.6
		if err != nil {
			return err
		}
		defer unix.Close(file)
		return unix.Chmod(procFD(file), mode&0o7777)
	})
}

func (c *call) chown(dirfd, addr uint64, uid, gid, flags int) answer {
	if flags&unix.AT_EMPTY_PATH != 0 {
		if path, ok := c.text(addr); ok && path == "" {
			addr = noPath
		}
	}
	return c.changeObject(dirfd, addr, flags&unix.AT_SYMLINK_NOFOLLOW == 0, func(folder int, name string) error {
		return unix.Fchownat(folder, name, uid, gid, unix.AT_SYMLINK_NOFOLLOW)
	})
}

func (c *call) utimens(dirfd, addr, times uint64, flags int) answer {
	if addr == 0 { // futimens
		addr = noPath
	}
	var ts *[2]unix.Timespec
	if times != 0 {
		ts = new([2]unix.Timespec)
		buf := unsafe.Slice((*byte)(unsafe.Pointer(ts)), unsafe.Sizeof(*ts))
		if n, err := c.memory(times, buf); err != nil || n != len(buf) {
			return pass
		}
	}
	return c.setTimes(dirfd, addr, flags&unix.AT_SYMLINK_NOFOLLOW == 0, ts)
}

func (c *call) setTimes(dirfd, addr uint64, follow bool, ts *[2]unix.Timespec) answer {
	return c.changeObject(dirfd, addr, follow, func(folder int, name string) error {
		// The raw call: nil means now, and the special values UTIME_NOW and UTIME_OMIT pass through.
		p, err := unix.BytePtrFromString(name)
		if err != nil {
			return unix.EINVAL
		}
		_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(folder), uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(ts)), unix.AT_SYMLINK_NOFOLLOW, 0, 0)
		return errnoErr(errno)
	})
}

func errnoErr(errno unix.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

// maxAttribute is XATTR_SIZE_MAX.
const maxAttribute = 65536

func (c *call) setxattr(dirfd, addr, name, value, size uint64, flags int, follow bool) answer {
	key, ok := c.text(name)
	if !ok || size > maxAttribute {
		return pass
	}
	data := make([]byte, size)
	if size > 0 {
		for got := 0; got < len(data); {
			n, err := c.memory(value+uint64(got), data[got:])
			if err != nil || n <= 0 {
				return pass
			}
			got += n
		}
	}
	return c.changeObject(dirfd, addr, follow, func(folder int, name string) error {
		return unix.Lsetxattr(procFD(folder)+"/"+name, key, data, flags)
	})
}

func (c *call) removexattr(dirfd, addr, name uint64, follow bool) answer {
	key, ok := c.text(name)
	if !ok {
		return pass
	}
	return c.changeObject(dirfd, addr, follow, func(folder int, name string) error {
		return unix.Lremovexattr(procFD(folder)+"/"+name, key)
	})
}

// access answers whether the caller may write: the view is read-only, so the kernel says no everywhere.
func (c *call) access(dirfd, addr uint64, mode uint32, flags int) answer {
	path, ok := c.text(addr)
	if !ok {
		return pass
	}
	follow := flags&unix.AT_SYMLINK_NOFOLLOW == 0
	real, st, ok := c.object(dirfd, path, follow)
	if !ok || c.isPrivate(real) {
		return pass
	}
	op, at := Write, real
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		op, at = Create, join(real, "unnamed")
	}
	switch d := c.index.decide(op, at); {
	case d.Opens == OpensProtected:
		return fail(unix.EACCES)
	case !d.Allowed:
		return pass
	}
	// The file's own mode is looked at first; "read-only file system" says that it has nothing against it.
	err := unix.Faccessat(unix.AT_FDCWD, real, mode, flags&unix.AT_EACCESS)
	if err == unix.EROFS {
		return answer{}
	}
	return result(err)
}
