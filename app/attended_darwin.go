package app

/*
#cgo CFLAGS: -fobjc-arc
#include <stdlib.h>
#include "attended_darwin.h"
*/
import "C"

import (
	"context"
	"time"
	"unsafe"
)

// openScreen looks once a second while a question waits: what the system says of a locked screen comes to a run loop of the main thread
// alone.
func openScreen(ctx context.Context) screen {
	ctx, cancel := context.WithCancel(ctx)
	changed := make(chan struct{}, 1)
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				select {
				case changed <- struct{}{}:
				default:
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return screen{seen: func() bool { return bool(C.handrail_screen_seen()) }, changed: changed, close: cancel}
}

// noticeID is that of the one notification that there is at a time.
const noticeID = "app.handrail.question"

// notify shows a notification, once the person has let the app show any. It shows none where Handrail runs outside its bundle.
func notify(n Notice) (withdraw func()) {
	id, title, text := C.CString(noticeID), C.CString(n.Title), C.CString(n.Text)
	defer C.free(unsafe.Pointer(id))
	defer C.free(unsafe.Pointer(title))
	defer C.free(unsafe.Pointer(text))
	C.handrail_notify(id, title, text)
	return func() {
		id := C.CString(noticeID)
		defer C.free(unsafe.Pointer(id))
		C.handrail_notified(id)
	}
}
