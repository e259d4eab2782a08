package server

import (
	"fmt"
	"os/exec"
	"strings"
)

// Start opens the app in the background (open(1): -g, -b). It returns before the app answers.
func (a App) Start() error {
	args := []string{"-g", "-b", a.BundleID}
	if len(a.Args) > 0 {
		args = append(append(args, "--args"), a.Args...)
	}
	if text, err := exec.Command("/usr/bin/open", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("opening the app %s: %w: %s", a.BundleID, err, strings.TrimSpace(string(text)))
	}
	return nil
}
