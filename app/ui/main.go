// Handrail-ui is the part of Handrail that shows windows. Handrail itself starts it; a person never has to.
//
//	handrail-ui dialog     asks one question, as package app's dialog protocol says
//
// It starts from no answer and fails closed: without a display, without OpenGL, without a font for the question's words,
// after a panic or a signal it ends with a status other than 0, which allows nothing.
package main

import (
	"fmt"
	"os"
)

// Exit statuses. Only 0 goes with an answer.
const (
	statusUsage   = 2 // also Go's own for a panic
	statusGone    = 3 // the parent went away or withdrew the question
	statusNone    = 4 // it ended without an answer
	statusNoShow  = 5 // nothing could be shown
	statusRequest = 6 // the request can't be shown
)

func main() {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "dialog":
		os.Exit(dialog(os.Stdin, os.Stdout))
	case len(os.Args) >= 2 && os.Args[1] == "window":
		fail(statusUsage, "this version has no windows but the dialog")
	}
	fail(statusUsage, "usage: handrail-ui dialog")
}

func fail(status int, format string, values ...any) {
	fmt.Fprintf(os.Stderr, "handrail-ui: "+format+"\n", values...)
	os.Exit(status)
}
