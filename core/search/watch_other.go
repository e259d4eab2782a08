//go:build !linux

package search

// watch tells of no change here: on macOS FSEvents needs a C compiler, and kqueue an open file for each file.
type watch struct{}

func newWatch() *watch                { return new(watch) }
func (*watch) add(string)             {}
func (*watch) err() error             { return nil }
func (*watch) changes() <-chan string { return nil }
func (*watch) close()                 {}
func (*watch) tells() bool            { return false }
