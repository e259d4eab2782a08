//go:build !darwin

package core

// developer is none: only macOS has stand-ins for tools that aren't installed.
func developer() string { return "" }
