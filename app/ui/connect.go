package main

import (
	"image/color"
	"reflect"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"

	"handrail/app"
	"handrail/core/assistant"
	"handrail/core/hint"
)

// connect is the window in which the person connects an assistant: those on this computer, by a click; others through the browser or
// with a token. It asks the resident for everything. All but pushed, do and load runs on Fyne's main goroutine.
type connect struct {
	app    fyne.App
	talk   *app.WindowTalk
	faces  *typefaces
	words  app.Words
	says   app.ConnectWords
	window fyne.Window
	pen    pen

	now *app.Connections // nil until it has come
	// notes are what came of the last click, by the assistant or the part of the window that it was about.
	notes map[string]note
	typed map[string]string // into the fields
	more  bool              // what ChatGPT needs is shown

	// write puts down what the window holds.
	write  func(*column)
	reader *container.Scroll
	left   *textLine // the time that is left for pairing
	ticks  *time.Ticker
	// controls are what the keyboard reaches, by what they do. One that was there before stays the same object, so that a click on it
	// counts that began before.
	controls, before map[string]fyne.Focusable
	laid             fyne.Size // the size for which it was laid out
}

// note is a sentence about what came of a click.
type note struct {
	text string
	bad  bool
}

const (
	connectWidth, connectHeight = 720, 720
	connectEdge                 = 28
	buttonsWidth                = 210
	// tokenStays is how long a token stays in the clipboard.
	tokenStays = 60 * time.Second
)

func newConnect(a fyne.App, talk *app.WindowTalk, faces *typefaces, words app.Words) *connect {
	w := prepareConnect(a, talk, faces, words)
	w.write = w.ways
	w.open(w.says.Title)
	return w
}

func prepareConnect(a fyne.App, talk *app.WindowTalk, faces *typefaces, words app.Words) *connect {
	w := &connect{app: a, talk: talk, faces: faces, words: words, says: words.ConnectWords(), notes: make(map[string]note), typed: make(map[string]string), ticks: time.NewTicker(time.Second)}
	w.ticks.Stop()
	return w
}

// open shows the window.
func (w *connect) open(title string) {
	a := w.app
	w.window = a.NewWindow(w.faces.readable(title))
	w.window.SetPadded(false)
	w.window.Resize(fyne.NewSize(connectWidth, connectHeight))
	w.window.SetMaster()
	w.build()
	a.Settings().AddListener(func(fyne.Settings) { fyne.Do(w.build) }) // the desktop has become dark or light
	w.window.Canvas().AddShortcut(&desktop.CustomShortcut{KeyName: fyne.KeyW, Modifier: fyne.KeyModifierShortcutDefault}, func(fyne.Shortcut) { w.window.Close() })
	a.Lifecycle().SetOnStarted(w.window.Show)
	go func() {
		for range w.ticks.C {
			fyne.Do(w.tick)
		}
	}()
	go w.do(app.ConnectAsk{Do: app.LookAtAssistants}, "")
}

// build makes what the window holds, in the colours of the desktop.
func (w *connect) build() {
	colors := app.Light
	if isDark(w.app.Settings()) {
		colors = app.Dark
	}
	if w.pen.colors == colors {
		return
	}
	w.pen = pen{w.faces, colors}
	w.app.Settings().SetTheme(paletteTheme{colors})
	w.reader = container.NewVScroll(container.NewWithoutLayout())
	w.window.SetContent(container.New(connectLayout{w}, canvas.NewRectangle(colors.Paper), w.reader))
	w.show()
}

// connectLayout is the window's layout.
type connectLayout struct{ w *connect }

func (connectLayout) MinSize([]fyne.CanvasObject) fyne.Size { return fyne.NewSize(600, 400) }

func (l connectLayout) Layout(o []fyne.CanvasObject, size fyne.Size) {
	o[0].Resize(size)
	o[1].Resize(size)
	if l.w.laid != size {
		l.w.show()
	}
}

// pushed takes up what the resident says by itself.
func (w *connect) pushed(s app.WindowSays) {
	switch {
	case s.Token != nil:
		w.token(*s.Token)
	case s.Changed:
		w.do(app.ConnectAsk{Do: app.LookAtAssistants}, "")
	}
}

// do has the resident do something, and shows how all stands then. about is what a note about it belongs to; "" for none.
func (w *connect) do(a app.ConnectAsk, about string) {
	s, err := w.talk.Ask(app.WindowAsk{Connect: &a})
	fyne.Do(func() {
		if about == "" && (s.Connect == nil || reflect.DeepEqual(s.Connect, w.now)) {
			return // what is being clicked stays where it is
		}
		if s.Connect != nil {
			w.now = s.Connect
		}
		if about != "" {
			w.notes[about] = w.outcome(a, s, err)
		}
		w.show()
	})
}

// outcome says what came of a click.
func (w *connect) outcome(a app.ConnectAsk, s app.WindowSays, err error) note {
	one, known := w.assistant(a.ID)
	switch {
	case err != nil && known:
		return note{app.AssistantProblem(w.words, one, hint.New(s.Code, "")), true}
	case err != nil && a.Do == app.SetTunnel:
		return note{w.words.TunnelFailed(s.Code), true}
	case err != nil:
		return note{w.words.Failed(err), true}
	case a.Do == app.ConnectOne:
		return note{app.AssistantAfter(w.words, one) + " " + w.says.Try, false}
	case a.Do == app.DisconnectOne:
		return note{app.AssistantAfter(w.words, one), false}
	case a.Do == app.MakeToken, a.Do == app.SetTunnel && w.now.TunnelWaits != "":
		return note{w.says.Asking, false}
	}
	return note{}
}

func (w *connect) assistant(id string) (assistant.Assistant, bool) {
	if w.now != nil {
		for _, a := range w.now.Assistants {
			if a.ID == id {
				return a, true
			}
		}
	}
	return assistant.Assistant{}, false
}

// token puts a token that has come into the clipboard, and keeps it nowhere else.
func (w *connect) token(t app.NewToken) {
	n := note{w.words.TokenFailed(t.Error), true}
	if t.Error == "" {
		secret := t.Token
		t.Token = ""
		if err := copySecret(secret, tokenStays); err != nil {
			n = note{w.words.TokenFailed("no_clipboard"), true}
			w.do(app.ConnectAsk{Do: app.TokenLost}, "")
		} else {
			n = note{w.words.TokenCopied(t, tokenStays), false}
			w.do(app.ConnectAsk{Do: app.TokenKept}, "")
		}
	}
	fyne.Do(func() {
		w.notes["token"] = n
		w.show()
	})
}

// tick counts the time for pairing down.
func (w *connect) tick() {
	left := time.Duration(0)
	if w.now != nil {
		left = time.Until(w.now.Until)
	}
	if left <= 0 {
		w.ticks.Stop()
		if w.now != nil && w.now.PairAt != "" {
			w.now.PairAt = ""
			w.show()
		}
		return
	}
	w.left.set(w.pen.span(w.words.TimeLeft(left), w.faces.regular, 13.5, w.pen.colors.PaleInk))
}

// show writes down how all stands. What the keyboard was on it stays on.
func (w *connect) show() {
	if w.now == nil {
		return
	}
	on := w.window.Canvas()
	focused := ""
	for name, c := range w.controls {
		if on.Focused() == c {
			focused = name
		}
	}
	w.before, w.controls = w.controls, make(map[string]fyne.Focusable)
	w.laid = on.Size()
	width := max(w.laid.Width, 600)
	c := &column{pen: w.pen, left: connectEdge, width: width - 2*connectEdge - 9, y: 16}
	w.write(c)
	offset := w.reader.Offset
	w.reader.Content = container.New(tall{width - 9, c.y + 24}, c.objects...)
	w.reader.Refresh()
	on.Refresh(w.reader) // what fits into the window is else not drawn anew: a scroll only refreshes its bar
	w.reader.ScrollToOffset(offset)
	if f := w.controls[focused]; f != nil {
		on.Focus(f)
	} else if focused != "" {
		on.Unfocus() // it is gone: Tab begins anew
	}
}

// ways are all the ways to connect an assistant.
func (w *connect) ways(c *column) {
	w.text(c, 0, w.says.Intro, w.pen.colors.Ink)
	w.head(c, w.says.Here)
	w.here(c)
	w.web(c)
	w.carried(c)
	w.public(c)
}

func (w *connect) head(c *column, text string) {
	c.add(0, 22, wrap(c.text(text, w.faces.bold, 18, w.pen.colors.Ink, false), c.width))
}

func (w *connect) text(c *column, gap float32, text string, ink color.Color) {
	c.add(0, gap, wrap(c.text(text, w.faces.regular, 14, ink, false), c.width))
}

// noted writes down what came of the last click about something.
func (w *connect) noted(c *column, about string) {
	n := w.notes[about]
	if n.text == "" {
		return
	}
	ink := w.pen.colors.Good
	if n.bad {
		ink = w.pen.colors.Bad
	}
	w.text(c, 4, n.text, ink)
}

// button puts a button down, for the pointer and the keyboard.
func (w *connect) button(c *column, does, name string, x, y float32, press func()) (width float32) {
	b, ok := w.before[does].(*pressable)
	if !ok || b.pen != w.pen {
		b = newPressable(w.pen, name, press)
		b.reached = func() { w.reveal(b) }
	}
	if b.press = press; b.name != name {
		b.rename(name)
	}
	w.controls[does] = b
	width = b.MinSize().Width
	c.put(b, x, y, width)
	return width
}

// reveal scrolls to what the keyboard has come to.
func (w *connect) reveal(o fyne.CanvasObject) {
	top, bottom := o.Position().Y-70, o.Position().Y+o.Size().Height+24
	switch y := w.reader.Offset.Y; {
	case top < y:
		w.reader.ScrollToOffset(fyne.NewPos(0, max(top, 0)))
	case bottom > y+w.reader.Size().Height:
		w.reader.ScrollToOffset(fyne.NewPos(0, bottom-w.reader.Size().Height))
	}
}

// here lists the assistants on this computer.
func (w *connect) here(c *column) {
	if w.now.Place != "" {
		w.text(c, 6, w.words.ConnectPlace(w.now.Place), w.pen.colors.Bad)
	}
	var missing []string
	for _, a := range w.now.Assistants {
		if a.State == assistant.NotFound {
			missing = append(missing, a.Name)
		} else {
			w.row(c, a)
		}
	}
	if len(missing) == len(w.now.Assistants) {
		w.text(c, 8, w.says.None, w.pen.colors.Ink)
	}
	if len(missing) > 0 {
		w.text(c, 12, w.words.ConnectElsewhere(missing), w.pen.colors.PaleInk)
	}
}

// row is an assistant on this computer.
func (w *connect) row(c *column, a assistant.Assistant) {
	c.y += 12
	all, top := c.width, c.y
	c.width -= buttonsWidth
	ink := w.pen.colors.PaleInk
	switch a.State {
	case assistant.Connected:
		ink = w.pen.colors.Good
	case assistant.Taken, assistant.Broken:
		ink = w.pen.colors.Bad
	}
	c.add(0, 0, wrap(c.text(a.Name, w.faces.bold, 15, w.pen.colors.Ink, false), c.width))
	w.text(c, 0, app.AssistantState(w.words, a), ink)
	c.width = all
	problem := ""
	switch a.State {
	case assistant.Taken:
		problem = "not_ours"
	case assistant.Broken:
		problem = "config_unreadable"
	}
	right := c.left + c.width
	put := func(do app.ConnectDeed, name string) {
		width := newPressable(w.pen, name, nil).MinSize().Width
		right -= width
		w.button(c, string(do)+" "+a.ID, name, right, top+3, func() { go w.do(app.ConnectAsk{Do: do, ID: a.ID}, a.ID) })
		w.controls[string(do)+" "+a.ID].(*pressable).about = a.Name
		right -= 8
	}
	if a.State == assistant.Connected || a.State == assistant.Different {
		put(app.DisconnectOne, w.says.Remove)
	}
	if w.now.Place == "" && (a.State == assistant.Apart || a.State == assistant.Different) {
		put(app.ConnectOne, w.says.Connect)
	}
	switch {
	case w.notes[a.ID].text != "":
		w.noted(c, a.ID)
	case problem != "":
		w.text(c, 4, app.AssistantProblem(w.words, a, hint.New(problem, "")), w.pen.colors.Bad)
	}
}

// web is for assistants that sign in through the browser.
func (w *connect) web(c *column) {
	w.head(c, w.says.Web)
	w.text(c, 4, w.says.WebWhy, w.pen.colors.PaleInk)
	if w.now.PairAt == "" {
		w.button(c, "pair", w.says.Pair, c.left, c.y+8, func() { go w.do(app.ConnectAsk{Do: app.PairOne}, "web") })
		w.noted(c, "web")
		return
	}
	c.add(0, 8, wrap(c.text(app.Escape(w.now.PairAt), w.faces.mono, 15, w.pen.colors.Ink, true), c.width))
	x, y := c.left, c.y+8
	address := w.now.PairAt
	x += 8 + w.button(c, "copy", w.says.Copy, x, y, func() { w.app.Clipboard().SetContent(address) })
	x += 16 + w.button(c, "stop", w.says.Stop, x, y, func() { go w.do(app.ConnectAsk{Do: app.StopPairing}, "web") })
	w.left = newTextLine(w.faces)
	line := w.pen.height(13.5)
	w.left.Move(fyne.NewPos(x, y+(controlHeight-line)/2))
	w.left.Resize(fyne.NewSize(c.left+c.width-x, line))
	c.objects = append(c.objects, w.left.Raster)
	w.text(c, 6, w.says.PairGive, w.pen.colors.Ink)
	if w.now.Tunnel != "" {
		w.text(c, 6, w.says.TunnelGive, w.pen.colors.Ink)
		c.add(0, 2, wrap(c.text(app.Escape(w.now.Tunnel), w.faces.mono, 15, w.pen.colors.Ink, true), c.width))
	}
	w.ticks.Reset(time.Second)
	w.left.set(w.pen.span(w.words.TimeLeft(time.Until(w.now.Until)), w.faces.regular, 13.5, w.pen.colors.PaleInk))
}

// carried is for assistants with a token that the person carries to them.
func (w *connect) carried(c *column) {
	w.head(c, w.says.Token)
	w.text(c, 4, w.says.TokenWhy, w.pen.colors.PaleInk)
	ask := func() { go w.do(app.ConnectAsk{Do: app.MakeToken, Name: strings.TrimSpace(w.typed["name"])}, "token") }
	y := c.y + 8
	w.field(c, "name", w.says.TokenName, 300, ask)
	w.button(c, "token", w.says.CopyToken, c.left+300+8, y, ask)
	w.noted(c, "token")
}

// field puts a line to type into down; done is called when Return is pressed.
func (w *connect) field(c *column, name, hint string, width float32, done func()) {
	f, ok := w.before[name].(*field)
	if !ok || f.pen != w.pen {
		f = newField(w.pen, hint, func(text string) { w.typed[name] = text })
	}
	if f.text != w.typed[name] {
		f.text = w.typed[name]
		f.draw()
	}
	f.done, f.reached = done, func() { w.reveal(f) }
	w.controls[name] = f
	c.put(f, c.left, c.y+8, width)
}

// public is what ChatGPT would need.
func (w *connect) public(c *column) {
	w.head(c, w.says.Public)
	paragraphs := app.PublicAddress(w.words)
	name := w.says.More
	if w.more {
		name = w.says.Less
	} else {
		paragraphs = paragraphs[:1]
	}
	for i, p := range paragraphs {
		gap := float32(8)
		if i == 0 {
			gap = 4
		}
		w.text(c, gap, p, w.pen.colors.PaleInk)
	}
	if w.more {
		w.tunnel(c)
	}
	w.button(c, "more", name, c.left, c.y+8, func() {
		w.more = !w.more
		w.show()
	})
}

// tunnel is the host name of the person's own tunnel, or where it is given.
func (w *connect) tunnel(c *column) {
	set := func(host string) { go w.do(app.ConnectAsk{Do: app.SetTunnel, Name: host}, "tunnel") }
	if w.now.Tunnel != "" {
		c.add(0, 10, wrap(c.text(app.Escape(w.now.Tunnel), w.faces.mono, 15, w.pen.colors.Ink, true), c.width))
		w.text(c, 4, w.says.TunnelGive, w.pen.colors.Ink)
		w.button(c, "no tunnel", w.says.Remove, c.left, c.y+8, func() { set("") })
		w.controls["no tunnel"].(*pressable).about = app.Escape(w.now.Tunnel)
	} else {
		ask := func() { set(strings.TrimSpace(w.typed["tunnel"])) }
		y := c.y + 8
		w.field(c, "tunnel", w.says.TunnelName, 380, ask)
		w.button(c, "tunnel set", w.says.SetTunnel, c.left+380+8, y, ask)
	}
	if w.notes["tunnel"].bad || w.now.TunnelWaits != "" {
		w.noted(c, "tunnel")
	}
}
