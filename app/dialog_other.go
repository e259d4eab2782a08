//go:build !linux && !darwin

package app

import "errors"

func startDialog() (*dialogProcess, error) {
	return nil, errors.New("Handrail has no dialog on this system")
}
