//go:build !linux

package sandboxtest

import "fmt"

// escape has none to try: the scripts of Cases hold this system's.
func escape(name string) (string, error) { return "", fmt.Errorf("no escape %q", name) }

const chaosCommand = "sandboxtest-chaos"

// chaos is none here.
func chaos([]string) int { return 1 }
