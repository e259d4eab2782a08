//go:build !linux && !darwin

package app

func secret(string, string, bool) ([]byte, error) { return nil, ErrNoKeychain }

func forget(string, string) error { return ErrNoKeychain }
