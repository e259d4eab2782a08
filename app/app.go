// Package app is what the person sees of Handrail, apart from the windows that need Fyne: what a question says, the
// dialog that asks it, the menu bar's menu, and the choice of the surface that asks. It renders the core's status and
// implements the core's approval.Asker; it decides nothing and knows no tool.
//
// A question starts as an approval.Request. [NewQuestion] turns it into words, [Escape] makes every foreign word in it
// safe to read, and [Dialog] puts it on the screen in a process of its own. Only a click of the person's in that process
// allows.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Run is the resident app: the icon in the menu bar until ctx ends or the person quits; then host has ended too. Where
// there is no tray it says so on complain and goes on without one, until ctx ends. It must be called on the main
// goroutine.
func Run(ctx context.Context, host Host, w func() Words, complain io.Writer) error {
	err := RunTray(ctx, host, w)
	if errors.Is(err, ErrNoTray) {
		fmt.Fprintf(complain, "handrail: %v; going on without an icon\n", err)
		<-ctx.Done()
		host.Quit()
		err = ctx.Err()
	}
	if errors.Is(err, context.Canceled) {
		return nil // that is how it ends
	}
	return err
}
