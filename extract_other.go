//go:build !linux

package main

// limitMemory does nothing: macOS doesn't enforce RLIMIT_AS. GOMEMLIMIT has the collector try.
func limitMemory() {}
