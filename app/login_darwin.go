package app

/*
#cgo CFLAGS: -fobjc-arc
#include "login_darwin.h"
*/
import "C"

import "fmt"

// What SMAppService's status says.
const (
	loginEnabled  = 1
	loginApproval = 2 // the person has yet to agree in System Settings, or has switched it off there
)

// LoginFile is none: the system keeps it.
func LoginFile() string { return "" }

// StartsAtLogin says whether the system starts Handrail at login. It needs macOS 13.
func StartsAtLogin() (bool, error) {
	switch status := C.handrail_login_status(); status {
	case loginEnabled:
		return true, nil
	case -1:
		return false, ErrNoLogin
	}
	return false, nil
}

// StartAtLogin has the system start this app at login, or not any more. Where the person has switched it off in System Settings, they
// are shown them: nothing else can switch it on again.
func StartAtLogin(_ string, on bool) error {
	want := C.int(0)
	if on {
		want = 1
	}
	if code := C.handrail_login(want); code != 0 {
		return fmt.Errorf("%w (%d)", ErrNoLogin, int(code))
	}
	if on && C.handrail_login_status() == loginApproval {
		C.handrail_login_settings()
	}
	return nil
}
