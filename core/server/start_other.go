//go:build !darwin && !linux

package server

import "errors"

// Start can't start anything on this system.
func (a App) Start() error { return errors.ErrUnsupported }
