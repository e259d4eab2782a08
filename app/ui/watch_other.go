//go:build !linux

package main

import (
	"errors"
	"image/color"

	"fyne.io/fyne/v2"
)

// Elsewhere the dialog is native, or there is none.
type watcher struct{}

type change int

const (
	moved change = iota
	covered
)

var errElsewhere = errors.New("this system's dialog isn't shown by handrail-ui")

type server struct{}

func (*server) Close() {}

func reachDisplay() (*server, error) { return nil, errElsewhere }

func watch(*server, fyne.Window, func(change)) (*watcher, error) { return nil, errElsewhere }

func (*watcher) catchUp() bool               { return false }
func (*watcher) shows(color.NRGBA, int) bool { return false }
