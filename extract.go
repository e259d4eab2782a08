package main

import (
	"encoding/json"
	"os"

	"handrail/core/search/document"
)

type extractCommand struct {
	Kind string `arg:"" help:"The document's kind: the ending of its name."`
}

// Run reads a document on standard input and writes its pages on standard output. Handrail starts it in a sandbox.
func (c *extractCommand) Run() error {
	limitMemory()
	pages, err := document.Extract(c.Kind, os.Stdin)
	if err != nil && len(pages) == 0 {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(pages)
}
