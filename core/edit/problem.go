package edit

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strconv"
	"syscall"

	"handrail/core/hint"
)

// problem turns what the system said into a hint. doing is a verb phrase such as "writing". A hint stays what it is.
func problem(doing, name string, err error) error {
	return problemOn(runtime.GOOS, doing, name, err)
}

func problemOn(system, doing, name string, err error) error {
	if err == nil {
		return nil
	}
	if h, ok := errors.AsType[*hint.Hint](err); ok {
		return h
	}
	what := doing + " " + shown(name)
	code, why, next := "failed", "", ""
	switch {
	case isErrno(err, syscall.ENOSPC, syscall.EDQUOT):
		code, why, next = "no_space", "the disk is full, or the quota is used up", "free some space; the file is as it was"
	case isErrno(err, syscall.EROFS):
		code, why, next = "read_only", "the disk is read-only", "write to another folder"
	case isErrno(err, syscall.EFBIG):
		code, why = "too_large", "the system doesn't allow a file of that size"
	case errors.Is(err, fs.ErrPermission) && system == "darwin" && isErrno(err, syscall.EPERM):
		code, why, next = "denied", "macOS doesn't let Handrail do that", "the person can allow it in System Settings › Privacy & Security › Files and Folders"
	case errors.Is(err, fs.ErrPermission):
		code, why = "denied", "the system doesn't permit it"
	case errors.Is(err, fs.ErrNotExist):
		code, why = "not_found", "it doesn't exist"
	case isErrno(err, syscall.ENAMETOOLONG, syscall.EILSEQ, syscall.EINVAL):
		code, why = "bad_path", "the file system takes no such name"
	case isErrno(err, syscall.ENOTDIR):
		code, why = "not_found", "what stands before the last / is not a folder"
	case isErrno(err, syscall.EMFILE, syscall.ENFILE):
		code, why, next = "failed", "too many files are open", "try again"
	case errors.Is(err, errors.ErrUnsupported):
		code, why = "unsupported", "files can't be changed safely on this system"
	}
	return hint.New(code, what+" failed").Because(why).Then(next).Wrap(fmt.Errorf("%s: %w", what, err))
}

// shown quotes a name, so that none can look like something else.
func shown(name string) string {
	if name == "" {
		return "the folder itself"
	}
	return strconv.QuoteToGraphic(name)
}

func stale(name, why string) error {
	return hint.New("stale", shown(name)+" was changed since it was read").Because(why).
		Then("nothing was written; call read_file and make the edit again")
}
