// Handrail-ui is the part of Handrail that shows windows. Handrail itself starts it; a person never has to.
//
//	handrail-ui dialog           asks one question, as package app's dialog protocol says
//	handrail-ui window activity  shows the activity log, as package app's window protocol says
//	handrail-ui window settings  shows what the person can set
//	handrail-ui window connect   connects an assistant, likewise
//	handrail-ui window welcome   is what the first start opens
//	handrail-ui display          says whether there is a display that it can draw on
//
// As a dialog it starts from no answer and fails closed: without a display, without OpenGL, without a font for the question's words,
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
	case len(os.Args) == 2 && os.Args[1] == "display":
		conn, err := reachDisplay()
		if err != nil {
			fail(statusNoShow, "no display: %v", err)
		}
		conn.Close()
		os.Exit(0)
	case len(os.Args) >= 2 && os.Args[1] == "window":
		if len(os.Args) == 3 {
			if open, ok := windows[os.Args[2]]; ok {
				os.Exit(window(os.Args[2], open))
			}
		}
		fail(statusUsage, "there is no such window")
	}
	fail(statusUsage, "usage: handrail-ui dialog, or handrail-ui window activity, settings, connect or welcome")
}

func fail(status int, format string, values ...any) {
	fmt.Fprintf(os.Stderr, "handrail-ui: "+format+"\n", values...)
	os.Exit(status)
}
