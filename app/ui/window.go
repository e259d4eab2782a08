package main

import (
	"image/color"
	"net"
	"os"
	"time"

	"fyne.io/fyne/v2"
	fyneapp "fyne.io/fyne/v2/app"
	"fyne.io/fyne/v2/theme"

	"handrail/app"
	"handrail/assets"
)

// listener is a window, as what the resident says by itself reaches it.
type listener interface{ pushed(app.WindowSays) }

// windows make each window that there is.
var windows = map[string]func(fyne.App, *app.WindowTalk, *typefaces, app.Words) listener{
	"activity": func(a fyne.App, t *app.WindowTalk, f *typefaces, w app.Words) listener {
		return newActivity(a, t, f, w)
	},
	"settings": func(a fyne.App, t *app.WindowTalk, f *typefaces, w app.Words) listener {
		return newSettings(a, t, f, w)
	},
	"connect": func(a fyne.App, t *app.WindowTalk, f *typefaces, w app.Words) listener { return newConnect(a, t, f, w) },
	"welcome": func(a fyne.App, t *app.WindowTalk, f *typefaces, w app.Words) listener { return newWelcome(a, t, f, w) },
}

// window shows the window that the resident asks for on descriptor 3, and returns an exit status. Its process ends with the window,
// and with the resident.
func window(name string, open func(fyne.App, *app.WindowTalk, *typefaces, app.Words) listener) int {
	file := os.NewFile(3, "resident")
	conn, err := net.FileConn(file)
	if err != nil {
		fail(statusUsage, "window %s: Handrail starts it by itself: %v", name, err)
	}
	file.Close()
	pushes := make(chan app.WindowSays, 100)
	talk, err := app.JoinWindow(conn, func(s app.WindowSays) { pushes <- s })
	if err != nil || talk.Hello.Window != name {
		fail(statusRequest, "window %s: %v", name, err)
	}
	go func() {
		<-talk.Gone()
		os.Exit(statusGone)
	}()
	if _, err := reachDisplay(); err != nil {
		fail(statusNoShow, "no display: %v", err)
	}
	faces, err := loadTypefaces()
	if err != nil {
		fail(statusNoShow, "%v", err)
	}
	faces.complete("ก", systemFonts) // names of files are Thai whatever the language, and lines stay as high as they are
	language := talk.Hello.Language
	if language == "th" && !faces.has('ก') {
		language = "en" // nobody could read it
	}
	os.Setenv("XDG_CONFIG_HOME", os.DevNull)
	os.Setenv("XDG_CACHE_HOME", os.DevNull)
	os.Setenv("MESA_SHADER_CACHE_DISABLE", "true")
	settleDark()
	fyneapp.SetMetadata(fyne.AppMetadata{ID: "app.handrail", Name: "Handrail", Migrations: map[string]bool{"fyneDo": true}})
	a := fyneapp.New()
	a.SetIcon(fyne.NewStaticResource("app.png", assets.AppIcon))
	w := open(a, talk, faces, app.NewWords(language))
	for _, shown := range a.Driver().AllWindows() {
		// On a busy computer the process was once seen to go on without its window.
		shown.SetOnClosed(func() { time.AfterFunc(3*time.Second, func() { os.Exit(0) }) })
	}
	go func() {
		for s := range pushes {
			if s.Front {
				fyne.Do(func() { toFront(a, talk) })
			} else {
				w.pushed(s)
			}
		}
	}()
	a.Run()
	return 0
}

// toFront brings the window to the front and says so, unless it is being closed: then the resident opens another.
func toFront(a fyne.App, talk *app.WindowTalk) {
	for _, w := range a.Driver().AllWindows() {
		w.RequestFocus()
		go talk.Ask(app.WindowAsk{Fronted: true})
	}
}

// paletteTheme is a theme in the colours of a palette, with a scroll bar that is always to be seen.
type paletteTheme struct{ app.Palette }

func (paletteTheme) Font(s fyne.TextStyle) fyne.Resource     { return theme.DefaultTheme().Font(s) }
func (paletteTheme) Icon(n fyne.ThemeIconName) fyne.Resource { return theme.DefaultTheme().Icon(n) }

func (p paletteTheme) Color(n fyne.ThemeColorName, v fyne.ThemeVariant) color.Color {
	switch n {
	case theme.ColorNameBackground, theme.ColorNameOverlayBackground, theme.ColorNameMenuBackground:
		return p.Paper
	case theme.ColorNameSelection:
		return p.Chosen
	case theme.ColorNameHover:
		return p.Sheet
	case theme.ColorNameSeparator, theme.ColorNameScrollBarBackground:
		return p.Sheet
	case theme.ColorNameScrollBar:
		return p.PaleInk
	case theme.ColorNameForeground:
		return p.Ink
	case theme.ColorNameShadow:
		return color.Transparent
	}
	return theme.DefaultTheme().Color(n, v)
}

func (paletteTheme) Size(n fyne.ThemeSizeName) float32 {
	switch n {
	case theme.SizeNameScrollBar, theme.SizeNameScrollBarSmall:
		return 9
	case theme.SizeNamePadding:
		return 0
	}
	return theme.DefaultTheme().Size(n)
}
