//go:build !linux && !darwin

package app

import "context"

func openScreen(context.Context) screen {
	return screen{seen: func() bool { return true }, close: func() {}}
}

func notify(Notice) (withdraw func()) { return func() {} }
