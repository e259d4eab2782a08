package main

import (
	"os"

	"fyne.io/fyne/v2"

	"handrail/app"
)

// settleDark decides, before Fyne starts, whether windows are dark: Fyne takes an unknown desktop for a dark one.
func settleDark() {
	if os.Getenv("FYNE_THEME") == "" && !app.DesktopIsDark() {
		os.Setenv("FYNE_THEME", "light")
		return
	}
	os.Setenv("FYNE_THEME", "dark")
}

func isDark(fyne.Settings) bool { return os.Getenv("FYNE_THEME") == "dark" }
