package sandbox

import (
	"slices"
	"testing"
)

func TestDisclaiming(t *testing.T) {
	argv := []string{"/usr/bin/sandbox-exec", "-p", "(version 1)", "--", "/handrail", "launch"}
	args := disclaiming("/handrail", argv)
	if args[0] != "/handrail" || args[1] != "launch" {
		t.Fatalf("%q", args)
	}
	if got, ok := disclaimed(args[2:]); !ok || !slices.Equal(got, argv) {
		t.Errorf("%q, %v", got, ok)
	}
	for _, args := range [][]string{nil, {"disclaim"}, {"disclaim", "--"}, {"disclaim", "--", "sh"}, {"disclaim", "/bin/sh"}, {"--", "/bin/sh", "x"}, {"", "--", "/bin/sh"}, {"disclaim", "--", ""}} {
		if got, ok := disclaimed(args); ok {
			t.Errorf("%q became %q", args, got)
		}
	}
}
