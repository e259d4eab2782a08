package main

import (
	"os"

	"handrail/app"
)

type dialogCommand struct{}

// Run asks one question with the system's own dialog. Only the process that started us reads the answer.
func (dialogCommand) Run() error { return app.ShowDialog(os.Stdin, os.Stdout) }
