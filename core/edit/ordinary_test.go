//go:build !linux

package edit

import (
	"os"
	"testing"
)

// asOrdinary calls f; the tests run as an ordinary user here.
func asOrdinary(t *testing.T, dir string, f func(dir string)) {
	t.Helper()
	if os.Geteuid() == 0 {
		t.Fatal("run this test as an ordinary user")
	}
	f(dir)
}
