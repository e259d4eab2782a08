package tool

import (
	"errors"
	"os"
	"path/filepath"
)

// installing says how a person gets a program.
var installing = map[string]string{
	"python3": "from python.org, or with Homebrew (brew install python)",
	"git":     "with Homebrew (brew install git), or with Apple's developer tools (xcode-select --install)",
}

// notShim fails for the stand-ins in /usr/bin that offer to install Apple's developer tools while there are none.
func notShim(path string) error {
	if filepath.Dir(path) != "/usr/bin" {
		return nil
	}
	for _, there := range []string{"/Library/Developer/CommandLineTools/usr/bin/" + filepath.Base(path), "/var/db/xcode_select_link"} {
		if _, err := os.Stat(there); err == nil {
			return nil
		}
	}
	return errors.New("Apple's developer tools are not installed")
}
