//go:build !linux && !darwin

package main

import "time"

func copySecret(string, time.Duration) error { return errNoClipboard }
