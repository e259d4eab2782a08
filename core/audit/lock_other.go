//go:build !unix

package audit

import (
	"errors"
	"os"
)

func lock(*os.File) error { return errors.New("no lock for the activity log on this system") }
