package tool

import (
	"path/filepath"
	"slices"

	"handrail/core/command"
	"handrail/sandbox"
)

// seen are the files as the session sees them: a pattern must not tell what a folder holds that is closed to it.
type seen struct {
	command.Files
	decide func(sandbox.Op, string) sandbox.Decision
}

func (s seen) Stat(path string) (command.File, error) {
	f, err := s.Files.Stat(path)
	if err == nil && !s.decide(sandbox.Read, f.Real).Allowed {
		return command.File{}, errUnseen
	}
	return f, err
}

func (s seen) Names(folder string) ([]string, error) {
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return nil, err
	}
	if !s.decide(sandbox.Read, real).Allowed {
		return nil, errUnseen
	}
	names, err := s.Files.Names(real)
	return slices.DeleteFunc(names, func(n string) bool { return s.decide(sandbox.Read, filepath.Join(real, n)).Closed }), err
}
