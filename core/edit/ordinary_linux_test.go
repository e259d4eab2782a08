package edit

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// asOrdinary calls f as a user without rights of its own. Where the tests run as root, f's goroutine gets another file
// system identity, which also takes root's file rights from it, setfsuid(2). dir is a folder that f may use.
func asOrdinary(t *testing.T, dir string, f func(dir string)) {
	t.Helper()
	if os.Geteuid() != 0 {
		f(dir)
		return
	}
	const nobody = 65534
	for _, err := range []error{os.Chown(dir, nobody, nobody), os.Chmod(filepath.Dir(dir), 0o711)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	unix.Setfsuid(nobody)
	unix.Setfsgid(nobody)
	defer unix.Setfsgid(0)
	defer unix.Setfsuid(0)
	if was, err := unix.SetfsuidRetUid(nobody); err != nil || was != nobody {
		t.Fatalf("the file system identity is %d, %v", was, err)
	}
	f(dir)
}
