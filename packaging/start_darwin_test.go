//go:build package

package packaging

import "testing"

// desktop: the session in which the test runs has a menu bar. When the icon is there isn't told.
func desktop(*testing.T) (env []string, shown <-chan struct{}) { return nil, nil }
