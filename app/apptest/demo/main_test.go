package main

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// The main job from end to end, with the programs as they are shipped: a real client, a real sandbox, real windows, a real
// pointer. `make programs` makes them.
func TestMainJob(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("windows are clicked under Xvfb")
	}
	programs := filepath.Join("..", "..", "..", "build")
	for _, name := range []string{"handrail", "handrail-ui"} {
		if _, err := os.Stat(filepath.Join(programs, name)); err != nil {
			t.Fatalf("%v: run make programs first", err)
		}
	}
	if err := play(t.Context(), programs, filepath.Join(programs, "screens")); err != nil {
		t.Fatal(err)
	}
}
