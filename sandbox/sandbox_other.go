//go:build !linux && !darwin

package sandbox

import "errors"

const trueProgram = "/bin/true"

var errNone = errors.New("there is none")

type running struct{}

func start(Policy, Command) (*Process, error) {
	return nil, &UnavailableError{What: "Handrail has no sandbox for this system"}
}

// Launch refuses: there is nothing to launch on this system.
func Launch([]string) int { return 71 }

// PID is 0: nothing runs.
func (*Process) PID() int { return 0 }

// Wait fails: nothing runs.
func (*Process) Wait() (Exit, error) { return Exit{}, errNone }

// Terminate fails: nothing runs.
func (*Process) Terminate() error { return errNone }

// Kill fails: nothing runs.
func (*Process) Kill() error { return errNone }
