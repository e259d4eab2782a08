//go:build linux && launcher

package main

import (
	_ "embed"

	"handrail/sandbox"
)

// launcher is sandbox/launch, which the Makefile builds first.
//
//go:embed build/launcher
var launcher []byte

func useLauncher() { sandbox.UseLauncher(launcher) }
