package sandbox

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "launch" {
		os.Exit(Launch(os.Args[2:]))
	}
	os.Exit(m.Run())
}
