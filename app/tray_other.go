//go:build !linux && !darwin

package app

const trayTitle = "Handrail"

func prepareTray() error { return ErrNoTray }
