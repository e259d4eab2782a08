//go:build !unix

package app

import (
	"errors"
	"os"
)

func socketPair() (ours, theirs *os.File, err error) {
	return nil, nil, errors.New("there are no pairs of sockets on this system")
}
