//go:build !linux && !darwin

package app

import "errors"

func startDialog() (*dialogProcess, error) {
	return nil, errors.New("Handrail has no dialog on this system")
}

// CanAsk says that no dialog can be shown here.
func CanAsk() error { return errors.New("Handrail has no dialog on this system") }

func startWindow(string) (*windowProcess, error) {
	return nil, errors.New("there are no windows on this system")
}
