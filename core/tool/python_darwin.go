package tool

import (
	"errors"
	"os"
	"path/filepath"
)

// notShim fails for the stand-ins in /usr/bin that offer to install Apple's developer tools while there are none.
func notShim(path string) error {
	if filepath.Dir(path) != "/usr/bin" {
		return nil
	}
	if _, err := os.Stat("/Library/Developer/CommandLineTools/usr/bin/python3"); err == nil {
		return nil
	}
	if _, err := os.Stat("/var/db/xcode_select_link"); err == nil {
		return nil
	}
	return errors.New("Apple's developer tools are not installed")
}
