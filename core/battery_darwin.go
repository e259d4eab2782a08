package core

import (
	"sync"

	"github.com/ebitengine/purego"
)

// unlimited is kIOPSTimeRemainingUnlimited (IOPowerSources.h): power comes from the mains.
const unlimited = -2.0

var timeRemaining = sync.OnceValue(func() func() float64 {
	lib, err := purego.Dlopen("/System/Library/Frameworks/IOKit.framework/IOKit", purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return nil
	}
	symbol, err := purego.Dlsym(lib, "IOPSGetTimeRemainingEstimate")
	if err != nil {
		return nil
	}
	var f func() float64
	purego.RegisterFunc(&f, symbol)
	return f
})

// onBattery reports whether the computer runs on its battery.
func onBattery() bool {
	f := timeRemaining()
	return f != nil && f() != unlimited
}
