package main

import (
	"errors"
	"slices"
	"testing"
)

// The first window opens once, and again where it couldn't be opened.
func TestWelcome(t *testing.T) {
	state := t.TempDir()
	var opened []string
	open := func(err error) func(string) error {
		return func(window string) error { opened = append(opened, window); return err }
	}
	for _, o := range []func(string) error{open(errors.New("no display")), open(nil), open(nil)} {
		if err := welcome(state, o); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"welcome", "welcome"}; !slices.Equal(opened, want) {
		t.Errorf("%q, want %q", opened, want)
	}
}
