//go:build !linux && !darwin

package core

func onBattery() bool { return false }
