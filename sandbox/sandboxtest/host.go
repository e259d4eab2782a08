package sandboxtest

import (
	"encoding/json"
	"fmt"
	"os"

	"handrail/sandbox"
)

// hostCommand makes the test program a host, which is killed while a command of it runs.
const hostCommand = "sandboxtest-host"

// host starts a script under guarded with an edit grant, says so, and waits. The machine is on standard input.
func host(args []string) int {
	var m sandbox.Machine
	if err := json.NewDecoder(os.Stdin).Decode(&m); err != nil || len(args) != 1 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	place, err := sandbox.PlaceAt(m.Workspace + "/granted")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	proc, err := sandbox.Start(sandbox.Guarded(m).AllowWrite(place), sandbox.Command{
		Argv: []string{"/bin/sh", "-c", args[0]}, Dir: m.Workspace, Env: []string{"PATH=/usr/bin:/bin"}, Stdout: os.Stdout, Stderr: os.Stderr,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	proc.Wait()
	return 0
}
