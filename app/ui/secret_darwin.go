package main

/*
#cgo CFLAGS: -fobjc-arc
#cgo LDFLAGS: -framework AppKit
#include <stdlib.h>
#include <string.h>
#include "secret_darwin.h"
*/
import "C"

import (
	"time"
	"unsafe"
)

// copySecret puts a text into the clipboard for a time, marked so that managers of clipboards don't keep it (nspasteboard.org).
//
// Not covered: a manager that doesn't know the mark, other programs that look at the clipboard meanwhile, and a window that is closed
// before the time is over: it stays in the clipboard then.
func copySecret(text string, stays time.Duration) error {
	c := C.CString(text)
	defer func() {
		C.memset(unsafe.Pointer(c), 0, C.size_t(len(text)))
		C.free(unsafe.Pointer(c))
	}()
	count := C.copy_secret(c)
	if count < 0 {
		return errNoClipboard
	}
	time.AfterFunc(stays, func() { C.clear_secret(count) })
	return nil
}
