//go:build !darwin

package sandbox

import (
	"context"
	"time"
)

// WatchDenials returns at once: only macOS's kernel records what a sandbox refuses.
func WatchDenials(context.Context) {}

// Denials gives none: see WatchDenials.
func (*Process) Denials(time.Duration) []Denial { return nil }

// EndLeft finds none: on Linux commands end with Handrail, also when it is killed.
func EndLeft(string) int { return 0 }
