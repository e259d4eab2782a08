package main

import (
	"fyne.io/fyne/v2"

	"handrail/app"
)

// welcome is the window that the first start opens: what Handrail does and can't stop, where assistants work, and connecting one. It
// allows nothing: another workspace is asked about in a dialog, and an assistant when it calls.
type welcome struct {
	*connect
	tells app.WelcomeWords
	step  int
	set   *app.Settings // nil until they have come
}

func newWelcome(a fyne.App, talk *app.WindowTalk, faces *typefaces, words app.Words) *welcome {
	w := &welcome{connect: prepareConnect(a, talk, faces, words), tells: words.WelcomeWords()}
	w.write = w.screen
	w.open(w.tells.Title)
	w.window.SetOnDropped(func(at fyne.Position, files []fyne.URI) { dropOn(at, files, w.controls, "workspace") })
	go w.load()
	return w
}

// pushed takes up what the resident says by itself.
func (w *welcome) pushed(s app.WindowSays) {
	w.connect.pushed(s)
	if s.Changed {
		w.load()
	}
}

// load asks for the settings.
func (w *welcome) load() {
	s, err := w.talk.Ask(app.WindowAsk{Settings: true})
	if err != nil || s.Settings == nil {
		return
	}
	fyne.Do(func() {
		w.set = s.Settings
		for _, row := range w.set.Rows {
			if row.Name == "workspace" && !row.Asked && w.notes["workspace"] == (note{text: w.words.SettingsWords().Asked}) {
				delete(w.notes, "workspace") // it was answered; the folder says how
				w.typed["workspace"] = ""
			}
		}
		if w.step == 1 {
			w.show()
		}
	})
}

// screen puts down the screen that is shown, and the buttons that lead on and back.
func (w *welcome) screen(c *column) {
	screens := []func(*column){w.limits, w.place, w.assistants}
	w.text(c, 0, w.words.WelcomeStep(w.step+1, len(screens)), w.pen.colors.PaleInk)
	screens[w.step](c)
	y := max(c.y+28, w.laid.Height-controlHeight-24)
	x := c.left
	if w.step > 0 {
		x += 8 + w.button(c, "back", w.tells.Back, x, y, func() { w.turn(-1) })
	}
	on, press := w.tells.Next, func() { w.turn(1) }
	if w.step == len(screens)-1 {
		on, press = w.tells.Done, w.window.Close
	}
	w.button(c, "on", on, x, y, press) // one button, so that the keyboard stays on it
}

// turn goes to the next screen, or to the one before.
func (w *welcome) turn(by int) {
	w.step += by
	w.reader.ScrollToOffset(fyne.Position{})
	w.show()
}

func (w *welcome) list(c *column, sentences []string) {
	const in = 18
	for _, s := range sentences {
		top, _ := c.add(0, 8, wrap(c.text("•", w.faces.regular, 14, w.pen.colors.PaleInk, false), in))
		c.y = top
		c.add(in, 0, wrap(c.text(s, w.faces.regular, 14, w.pen.colors.Ink, false), c.width-in))
	}
}

func (w *welcome) limits(c *column) {
	w.head(c, w.tells.DoesHead)
	w.list(c, w.tells.Does)
	w.head(c, w.tells.CannotHead)
	w.list(c, w.tells.Cannot)
}

// place is about the workspace, and starting at login where that is possible.
func (w *welcome) place(c *column) {
	w.head(c, w.tells.PlaceHead)
	w.text(c, 4, w.tells.Place, w.pen.colors.Ink)
	if w.set == nil {
		return
	}
	for _, s := range w.set.Rows {
		switch s.Name {
		case "workspace":
			w.workspace(c, s)
		case "login":
			if !s.Missing {
				w.login(c, s)
			}
		}
	}
}

func (w *welcome) workspace(c *column, s app.Setting) {
	path := s.Value
	if path == "" {
		path = w.set.Usual
	}
	c.add(0, 10, wrap(c.text(app.Escape(path), w.faces.mono, 15, w.pen.colors.Ink, true), c.width))
	w.text(c, 14, w.tells.PlaceLater, w.pen.colors.PaleInk)
	says := w.words.SettingsWords()
	take := func() {
		if path := fullPath(w.talk.Hello.Home, w.typed["workspace"]); path != "" {
			w.change("workspace", path)
		}
	}
	width, y := c.width-buttonsWidth, c.y+8
	w.field(c, "workspace", says.Path, width, take)
	w.button(c, "choose", says.Choose, c.left+width+8, y, take)
	if s.Asked {
		w.text(c, 4, w.words.SettingWaits(s), w.pen.colors.Busy)
	} else {
		w.noted(c, "workspace")
	}
}

func (w *welcome) login(c *column, s app.Setting) {
	w.head(c, w.words.SettingLabel(s))
	w.text(c, 4, w.words.SettingWhy(s), w.pen.colors.Ink)
	name, value := w.tells.Login, "on"
	if s.Value == "on" {
		name, value = w.tells.NoLogin, "off"
	}
	w.button(c, "login", name, c.left, c.y+8, func() { w.change("login", value) })
	w.noted(c, "login")
}

// change has the resident set something, or ask about it, and says what came of it.
func (w *welcome) change(name, value string) {
	go func() {
		s, err := w.talk.Ask(app.WindowAsk{Set: &app.SettingChange{Name: name, Value: value}})
		says := w.words.SettingsWords()
		n := note{says.Changed, false}
		switch {
		case err != nil:
			n = note{w.words.Failed(err), true}
		case s.Asks:
			n = note{says.Asked, false}
		}
		fyne.Do(func() { w.notes[name] = n })
		w.load()
	}()
}

// assistants lists those on this computer, to be connected.
func (w *welcome) assistants(c *column) {
	w.head(c, w.tells.ConnectHead)
	w.text(c, 4, w.tells.Connect, w.pen.colors.Ink)
	w.here(c)
	w.text(c, 16, w.tells.Try, w.pen.colors.Ink)
	w.text(c, 10, w.tells.Later, w.pen.colors.PaleInk)
}
