package core

import (
	"os"
	"path/filepath"
)

// developer gives the folder of Apple's developer tools that xcode-select chose, or the usual one; "" if none is installed. It
// runs no tool of theirs: one that is only a stand-in would open a window.
func developer() string {
	for _, dir := range []string{"/var/db/xcode_select_link", "/Applications/Xcode.app/Contents/Developer", "/Library/Developer/CommandLineTools"} {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			continue
		}
		if info, err := os.Stat(filepath.Join(real, "usr/bin")); err == nil && info.IsDir() {
			return real
		}
	}
	return ""
}
