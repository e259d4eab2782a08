package app

import "errors"

// ErrNoLogin is given where Handrail can't be started at login: the program doesn't stand in a place that stays, or the system has no way.
var ErrNoLogin = errors.New("there is no way to start Handrail at login here")
