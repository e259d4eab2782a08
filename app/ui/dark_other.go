//go:build !linux

package main

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/theme"
)

// settleDark leaves it to Fyne, which asks the system.
func settleDark() {}

func isDark(s fyne.Settings) bool { return s.ThemeVariant() == theme.VariantDark }
