//go:build !darwin

package app

import (
	"os"
	"strings"
)

// SystemLanguages are the person's languages, the preferred first, for [NewWords]: what the environment says, as POSIX
// and GNU gettext do.
func SystemLanguages() []string {
	var list []string
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		value := os.Getenv(name)
		if value == "" {
			continue
		}
		if value != "C" && value != "POSIX" {
			list = strings.Split(os.Getenv("LANGUAGE"), ":")
		}
		return append(list, value)
	}
	return nil
}
