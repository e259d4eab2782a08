package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// minLandlock is the oldest Landlock ABI that is enough: it covers truncating files (Linux 6.2). From ABI 6 (Linux 6.12) on,
// signals and abstract sockets stay inside too.
const minLandlock = 3

// Landlock's rights on files.
const (
	rightsRead  = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir
	rightsFile  = ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev
	rightsWrite = rightsRead | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSMakeDir |
		ll.AccessFSMakeReg | ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeSym | ll.AccessFSRefer | ll.AccessFSIoctlDev
	rightsAll = rightsWrite | ll.AccessFSMakeChar | ll.AccessFSMakeBlock
)

func landlockABI() (int, error) {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil || abi < minLandlock {
		return 0, &UnavailableError{
			What:    "the kernel has no Landlock that is new enough",
			Install: "use Linux 6.2 or newer with landlock among the lsm= of its command line",
			Cause:   err,
		}
	}
	return abi, nil
}

// ruleset is a set of Landlock rules that is being made.
type ruleset struct {
	fd      int
	handled uint64
}

func newRuleset(abi int) (ruleset, error) {
	attr := ll.RulesetAttr{HandledAccessFS: rightsAll}
	if abi < 5 {
		attr.HandledAccessFS &^= ll.AccessFSIoctlDev
	}
	if abi >= 6 {
		attr.Scoped = ll.ScopeAbstractUnixSocket | ll.ScopeSignal
	}
	fd, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return ruleset{}, fmt.Errorf("creating Landlock rules: %w", err)
	}
	return ruleset{fd, attr.HandledAccessFS}, nil
}

// allow gives rights below the file that fd is.
func (r ruleset) allow(fd int, rights uint64) error {
	attr := ll.PathBeneathAttr{ParentFd: fd, AllowedAccess: rights & r.handled}
	if err := ll.LandlockAddPathBeneathRule(r.fd, &attr, 0); err != nil {
		return fmt.Errorf("adding a Landlock rule: %w", err)
	}
	return nil
}

// rulesets are several that get the same rules.
type rulesets []ruleset

// allowPath gives rights below a path of the sandbox's own view. A path that isn't there is left out.
func (all rulesets) allowPath(path string, rights uint64) error {
	fd, err := openat2(unix.AT_FDCWD, path, unix.O_PATH, 0, unix.RESOLVE_NO_MAGICLINKS)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("adding a Landlock rule for %s: %w", path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= rightsFile | ll.AccessFSExecute
	}
	for _, r := range all {
		if err := r.allow(fd, rights); err != nil {
			return err
		}
	}
	return nil
}

// allowOwn gives what a command may do without asking the supervisor: read all that is shown, change the session's own
// folders, use the usual devices.
func (all rulesets) allowOwn(p Policy) error {
	if err := all.allowPath("/", rightsRead); err != nil {
		return err
	}
	if p.profile == readOnly {
		return all.allowPath("/dev/null", rightsFile)
	}
	for _, path := range []string{p.machine.Temp, p.machine.Caches, "/tmp", "/dev/shm"} {
		if path == "/tmp" && p.profile == classic || path == "" {
			continue
		}
		if err := all.allowPath(path, rightsWrite); err != nil {
			return err
		}
	}
	for _, path := range append(writeDevices["linux"], "/dev/tty", "/dev/ptmx", "/dev/pts") {
		if err := all.allowPath(path, rightsFile|ll.AccessFSReadDir); err != nil {
			return err
		}
	}
	return nil
}

// confine puts this thread, and what it starts, under Landlock: it may do what a command may, and change the folders that were
// granted, which it holds open.
//
// It gives the second layer, for the command alone. That grants nothing in the folders that the policy opens for changes: those
// go through the supervisor, which this layer also keeps from being traced or signalled.
func confine(abi int, p Policy, eachPlace func(do func(fd int) error) error) (command int, err error) {
	own, err := newRuleset(abi)
	if err != nil {
		return -1, err
	}
	defer unix.Close(own.fd)
	second, err := newRuleset(abi)
	if err != nil {
		return -1, err
	}
	err = rulesets{own, second}.allowOwn(p)
	if err == nil {
		err = eachPlace(func(fd int) error { return own.allow(fd, rightsWrite) })
	}
	if err == nil {
		if err = ll.LandlockRestrictSelf(own.fd, 0); err != nil {
			err = fmt.Errorf("entering Landlock: %w", err)
		}
	}
	if err != nil {
		unix.Close(second.fd)
		return -1, err
	}
	return second.fd, nil
}

func procFD(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
