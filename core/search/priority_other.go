//go:build !linux && !darwin

package search

func background() {}
