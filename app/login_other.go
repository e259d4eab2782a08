//go:build !linux && !darwin

package app

// StartsAtLogin doesn't know.
func StartsAtLogin() (bool, error) { return false, ErrNoLogin }

// StartAtLogin refuses.
func StartAtLogin(string, bool) error { return ErrNoLogin }

// LoginFile is none.
func LoginFile() string { return "" }
