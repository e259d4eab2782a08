package job

import (
	"runtime"
	"sync"

	"github.com/ebitengine/purego"
	"github.com/ebitengine/purego/objc"
)

// activityUserInitiated is NSActivityUserInitiated (NSProcessInfo.h): no App Nap, no sleep for want of input. The display still
// sleeps, and so does a computer whose lid is closed.
const activityUserInitiated = 0x00FFFFFF

// foundation loads the framework once: a program without windows may not have it.
var foundation = sync.OnceValue(func() bool {
	_, err := purego.Dlopen("/System/Library/Frameworks/Foundation.framework/Foundation", purego.RTLD_NOW|purego.RTLD_GLOBAL)
	return err == nil
})

// keepAwake keeps the system from putting Handrail to sleep or slowing it down until release is called. Where the system can't be
// asked it does nothing.
func keepAwake(why string) (release func()) {
	if !foundation() {
		return func() {}
	}
	var info, activity objc.ID
	inPool(func() {
		reason := objc.ID(objc.GetClass("NSString")).Send(objc.RegisterName("stringWithUTF8String:"), why+"\x00")
		info = objc.ID(objc.GetClass("NSProcessInfo")).Send(objc.RegisterName("processInfo"))
		activity = info.Send(objc.RegisterName("beginActivityWithOptions:reason:"), uint64(activityUserInitiated), reason)
		activity.Send(objc.RegisterName("retain"))
	})
	return func() {
		inPool(func() {
			info.Send(objc.RegisterName("endActivity:"), activity)
			activity.Send(objc.RegisterName("release"))
		})
	}
}

// inPool calls f on one thread, and lets go of the objects that the system made for it.
func inPool(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pool := objc.ID(objc.GetClass("NSAutoreleasePool")).Send(objc.RegisterName("new"))
	defer pool.Send(objc.RegisterName("drain"))
	f()
}
