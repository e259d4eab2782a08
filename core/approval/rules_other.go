//go:build !unix

package approval

import "errors"

func lock(string) (func(), error) { return nil, errors.ErrUnsupported }
