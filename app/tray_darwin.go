package app

import "github.com/progrium/darwinkit/macos/appkit"

// trayTitle would stand beside the icon in the menu bar.
const trayTitle = ""

// prepareTray keeps Handrail out of the Dock: the tray's library sets no activation policy.
func prepareTray() error {
	if !SurfaceFactsNow().Graphical {
		return ErrNoTray
	}
	appkit.Application_SharedApplication().SetActivationPolicy(appkit.ApplicationActivationPolicyAccessory)
	return nil
}
