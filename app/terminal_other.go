//go:build !linux && !darwin

package app

import (
	"context"

	"handrail/core/approval"
)

// Terminal asks nobody here.
type Terminal struct{}

// NewTerminal gives an asker that refuses.
func NewTerminal(Words) *Terminal { return &Terminal{} }

// In returns t.
func (t *Terminal) In(func() Manner) *Terminal { return t }

// Ask refuses.
func (*Terminal) Ask(context.Context, approval.Request) approval.Decision {
	return approval.Refuse(approval.CouldNotShow, "terminal", "Handrail can't ask on this system's terminals")
}
