//go:build !(linux && launcher)

package main

// useLauncher has no launcher: `handrail launch` is started, which does the same and takes longer to start.
func useLauncher() {}
