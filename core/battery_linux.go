package core

import (
	"bytes"
	"os"
	"path/filepath"
)

// onBattery reports whether the computer runs on its battery: it has mains, and none is connected (power_supply in the kernel's
// documentation of sysfs).
func onBattery() bool {
	files, err := filepath.Glob("/sys/class/power_supply/*/online")
	if err != nil {
		return false
	}
	mains := false
	for _, f := range files {
		online, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		if bytes.HasPrefix(online, []byte("1")) {
			return false
		}
		mains = true
	}
	return mains
}
