//go:build !darwin

package main

import "errors"

type dialogCommand struct{}

// Run fails: here handrail-ui asks.
func (dialogCommand) Run() error {
	return errors.New("dialogs are shown by handrail-ui on this system")
}
