//go:build !darwin && !linux

package statefile

import "errors"

// Lock refuses: it is not known here how to.
func Lock(string) (unlock func(), err error) { return nil, errors.ErrUnsupported }
