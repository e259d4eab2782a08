//go:build !darwin && !linux

package client

import "errors"

func lockFile(string) (unlock func(), err error) { return nil, errors.ErrUnsupported }
