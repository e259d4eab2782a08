//go:build !linux && !darwin

package app

func secret(string, string) ([]byte, error) { return nil, ErrNoKeychain }
