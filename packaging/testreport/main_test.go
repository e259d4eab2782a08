package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What a test's output says is reported, and only a run without a failure, a crash or a skip counts as good.
func TestReport(t *testing.T) {
	program := filepath.Join(t.TempDir(), "testreport")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const run, pass = `{"Action":"run","Package":"p","Test":"TestA"}` + "\n", `{"Action":"pass","Package":"p","Test":"TestA"}` + "\n"
	for _, c := range []struct {
		name, events string
		good         bool
		says         string
	}{
		{"passed", run + pass, true, "1 tests passed, 0 failed"},
		{"nothing ran", "", false, "0 tests passed"},
		{"failed", run + `{"Action":"output","Package":"p","Test":"TestA","Output":"why\n"}` + "\n" + `{"Action":"fail","Package":"p","Test":"TestA"}` + "\n", false, "why"},
		{"skipped", run + `{"Action":"skip","Package":"p","Test":"TestA"}` + "\n", false, "SKIPPED without leave: p TestA"},
		{"cut off", run + pass + strings.ReplaceAll(run, "TestA", "TestB"), false, "FAIL p TestB"},
		{"cut off, the stacks with another test", run + `{"Action":"output","Package":"p","Test":"TestA","Output":"panic: test timed out\n"}` + "\n" + pass + `{"Action":"fail","Package":"p"}` + "\n", false, "test timed out"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command(program)
			cmd.Stdin = strings.NewReader(c.events)
			out, err := cmd.CombinedOutput()
			if (err == nil) != c.good || !strings.Contains(string(out), c.says) {
				t.Errorf("%v:\n%s", err, out)
			}
		})
	}
}
