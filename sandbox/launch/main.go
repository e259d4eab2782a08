// Launch is `handrail launch` as a program of its own: what runs inside the sandbox, and nothing else, so that a command starts
// sooner. It isn't shipped beside Handrail: on Linux the Makefile puts it into the executable (see sandbox.UseLauncher).
package main

import (
	"os"

	"handrail/sandbox"
)

func main() {
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "launch" {
		args = args[1:]
	}
	os.Exit(sandbox.Launch(args))
}
