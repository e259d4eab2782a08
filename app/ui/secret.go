package main

import "errors"

// errNoClipboard says that there is no clipboard here that takes a secret.
var errNoClipboard = errors.New("there is no clipboard")
