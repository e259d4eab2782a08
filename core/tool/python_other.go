//go:build !darwin

package tool

func notShim(string) error { return nil }
