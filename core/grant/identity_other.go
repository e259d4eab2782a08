//go:build !unix

package grant

import (
	"errors"
	"os"
)

// IdentityOf fails: without an identity there are no grants.
func IdentityOf(os.FileInfo) (ID, error) {
	return ID{}, errors.New("the system gives files no identity")
}
