package main

import (
	"path/filepath"
	"reflect"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"

	"handrail/app"
)

// settings is the window in which the person sets what holds for all assistants. It asks the resident for each change; what would
// allow more is asked in a dialog. All but pushed and load runs on Fyne's main goroutine.
type settings struct {
	app    fyne.App
	talk   *app.WindowTalk
	faces  *typefaces
	words  app.Words
	says   app.SettingsWords
	window fyne.Window
	pen    pen

	now    *app.Settings // nil until they have come
	typed  map[string]string
	notice *textLine
	reader *container.Scroll
	// controls are what the keyboard reaches, by the setting and what they do.
	controls map[string]fyne.Focusable
	shown    float32 // the width for which it was laid out
}

const (
	settingsWidth, settingsHeight = 760, 700
	settingsEdge                  = 24
	controlWidth                  = 230
)

func newSettings(a fyne.App, talk *app.WindowTalk, faces *typefaces, words app.Words) *settings {
	w := &settings{app: a, talk: talk, faces: faces, words: words, says: words.SettingsWords(), typed: make(map[string]string)}
	w.window = a.NewWindow(faces.readable(w.says.Title))
	w.window.SetPadded(false)
	w.window.Resize(fyne.NewSize(settingsWidth, settingsHeight))
	w.window.SetMaster()
	w.window.SetOnDropped(w.dropped)
	w.build()
	a.Settings().AddListener(func(fyne.Settings) { fyne.Do(w.build) }) // the desktop has become dark or light
	w.window.Canvas().AddShortcut(&desktop.CustomShortcut{KeyName: fyne.KeyW, Modifier: fyne.KeyModifierShortcutDefault}, func(fyne.Shortcut) { w.window.Close() })
	a.Lifecycle().SetOnStarted(w.window.Show)
	go w.load(true)
	return w
}

// build makes what the window holds, in the colours of the desktop.
func (w *settings) build() {
	colors := app.Light
	if isDark(w.app.Settings()) {
		colors = app.Dark
	}
	if w.pen.colors == colors {
		return
	}
	focused := w.focused()
	w.pen = pen{w.faces, colors}
	w.app.Settings().SetTheme(paletteTheme{colors})
	w.notice = newTextLine(w.faces)
	w.reader = container.NewVScroll(container.NewWithoutLayout())
	w.window.SetContent(container.New(settingsLayout{w}, canvas.NewRectangle(colors.Paper), w.reader, canvas.NewRectangle(colors.Bar), w.notice.Raster))
	w.show()
	w.focus(focused)
}

// focused names the control that the keyboard is on; "" for none.
func (w *settings) focused() string {
	on := w.window.Canvas().Focused()
	for name, c := range w.controls {
		if c == on {
			return name
		}
	}
	return ""
}

func (w *settings) focus(name string) {
	if c := w.controls[name]; c != nil {
		w.window.Canvas().Focus(c)
	}
}

// settingsLayout is the window's layout.
type settingsLayout struct{ w *settings }

func (settingsLayout) MinSize([]fyne.CanvasObject) fyne.Size { return fyne.NewSize(620, 420) }

func (l settingsLayout) Layout(o []fyne.CanvasObject, size fyne.Size) {
	body := size.Height - footHeight
	o[0].Resize(size)
	o[1].Resize(fyne.NewSize(size.Width, body))
	o[2].Move(fyne.NewPos(0, body))
	o[2].Resize(fyne.NewSize(size.Width, footHeight))
	line := l.w.pen.height(13)
	o[3].Move(fyne.NewPos(settingsEdge, body+(footHeight-line)/2))
	o[3].Resize(fyne.NewSize(size.Width-2*settingsEdge, line))
	if l.w.shown != size.Width {
		l.w.show()
	}
}

// load asks for the settings, and writes them down if they are others. anew is also where a control shows what was wished for in vain.
func (w *settings) load(anew bool) {
	s, err := w.talk.Ask(app.WindowAsk{Settings: true})
	if err != nil || s.Settings == nil {
		w.tell(w.words.Failed(cmpError(err)))
		return
	}
	fyne.Do(func() {
		if anew || !reflect.DeepEqual(w.now, s.Settings) { // writing it anew loses a click that has begun
			w.now = s.Settings
			w.show()
		}
	})
}

// pushed takes up what the resident says by itself.
func (w *settings) pushed(s app.WindowSays) {
	if s.Changed {
		w.load(false)
	}
}

// tell says something at the window's foot. It may be called on any goroutine.
func (w *settings) tell(text string) {
	fyne.Do(func() { w.notice.set(w.pen.span(text, w.faces.regular, 13, w.pen.colors.Ink)) })
}

// set has the resident set something, and says what came of it.
func (w *settings) set(name, value string) {
	go func() {
		s, err := w.talk.Ask(app.WindowAsk{Set: &app.SettingChange{Name: name, Value: value}})
		switch {
		case err != nil:
			w.tell(w.words.Failed(err))
		case s.Asks:
			w.tell(w.says.Asked)
		default:
			w.tell(w.says.Changed)
		}
		w.load(true)
	}()
}

// dropped takes a folder that was let go over the field for one.
func (w *settings) dropped(at fyne.Position, files []fyne.URI) {
	dropOn(at, files, w.controls, "workspace", "search")
}

// dropOn enters a file that was let go over one of the fields that have these names.
func dropOn(at fyne.Position, files []fyne.URI, controls map[string]fyne.Focusable, names ...string) {
	if len(files) != 1 || files[0].Scheme() != "file" {
		return
	}
	for _, name := range names {
		f, ok := controls[name].(*field)
		if !ok {
			continue
		}
		corner := fyne.CurrentApp().Driver().AbsolutePositionForObject(f)
		if in := at.Subtract(corner); in.X >= 0 && in.Y >= 0 && in.X < f.Size().Width && in.Y < f.Size().Height {
			f.enter(files[0].Path())
		}
	}
}

// fullPath is a path that the person typed, whole.
func fullPath(home, path string) string {
	path = strings.TrimSpace(path)
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		path = home + rest
	}
	if filepath.IsAbs(path) {
		path = filepath.Clean(path)
	}
	return path
}

// show writes the settings down. What the keyboard was on it stays on.
func (w *settings) show() {
	if w.now == nil {
		return
	}
	focused := w.focused()
	w.controls = make(map[string]fyne.Focusable)
	width := max(w.window.Canvas().Size().Width, 620)
	w.shown = width
	c := &column{pen: w.pen, left: settingsEdge, width: width - 3*settingsEdge - controlWidth - 9, y: 10}
	if problem := w.words.SettingsProblem(*w.now); problem != "" {
		c.width += controlWidth + settingsEdge
		c.add(0, 10, wrap(c.text(problem, w.faces.bold, 14, w.pen.colors.Bad, false), c.width))
		c.width -= controlWidth + settingsEdge
	}
	for _, s := range w.now.Rows {
		w.row(c, s)
	}
	w.folders(c)
	content := container.New(tall{width - 9, c.y + 20}, c.objects...)
	offset := w.reader.Offset
	w.reader.Content = content
	w.reader.Refresh()
	w.reader.ScrollToOffset(offset)
	w.focus(focused)
}

// head writes a label with its sentence, and gives where its control stands.
func (w *settings) head(c *column, label, why string) (top float32) {
	top, _ = c.add(0, 16, wrap(c.text(label, w.faces.bold, 15, w.pen.colors.Ink, false), c.width))
	c.add(0, 2, wrap(c.text(why, w.faces.regular, 13.5, w.pen.colors.PaleInk, false), c.width))
	return top
}

// put puts a control down.
func (c *column) put(o fyne.CanvasObject, x, y, width float32) {
	o.Move(fyne.NewPos(x, y))
	o.Resize(fyne.NewSize(width, controlHeight))
	c.objects = append(c.objects, o)
	c.y = max(c.y, y+controlHeight)
}

// button puts a button down that the keyboard reaches.
func (w *settings) button(c *column, name string, b *pressable, x, y float32) {
	w.controls[name] = b
	b.reached = func() { w.reveal(b) }
	c.put(b, x, y, b.MinSize().Width)
}

// reveal scrolls to what the keyboard has come to.
func (w *settings) reveal(o fyne.CanvasObject) {
	top, bottom := o.Position().Y-60, o.Position().Y+o.Size().Height+20
	switch y := w.reader.Offset.Y; {
	case top < y:
		w.reader.ScrollToOffset(fyne.NewPos(0, max(top, 0)))
	case bottom > y+w.reader.Size().Height:
		w.reader.ScrollToOffset(fyne.NewPos(0, bottom-w.reader.Size().Height))
	}
}

// row puts a setting down.
func (w *settings) row(c *column, s app.Setting) {
	top := w.head(c, w.words.SettingLabel(s), w.words.SettingWhy(s))
	right := c.left + c.width + settingsEdge
	switch {
	case s.Missing && s.Value != "on":
	case len(s.Values) > 0:
		var options []string
		at := 0
		for i, v := range s.Values {
			options = append(options, w.words.SettingValue(s.Name, v))
			if v == s.Value {
				at = i
			}
		}
		choice := newChoice(w.pen, w.words.SettingLabel(s), options, controlWidth, func(int) {})
		choice.choose(at)
		choice.changed = func(i int) { w.set(s.Name, s.Values[i]) }
		w.button(c, s.Name, choice.pressable, right, top)
	default:
		w.folder(c, s)
	}
	if s.Asked {
		c.add(0, 4, wrap(c.text(w.words.SettingWaits(s), w.faces.regular, 13.5, w.pen.colors.Busy, false), c.width))
	}
}

// folder puts down a setting that is a folder.
func (w *settings) folder(c *column, s app.Setting) {
	path := s.Value
	if path == "" {
		path = w.now.Usual
	}
	c.add(0, 4, wrap(c.text(app.Escape(path), w.faces.mono, 13.5, w.pen.colors.Ink, true), c.width))
	w.path(c, s.Name, w.words.SettingLabel(s), w.says.Choose, func(path string) { w.set(s.Name, path) })
	if s.Value != "" {
		b := newPressable(w.pen, w.words.SettingValue(s.Name, "usual"), func() { w.set(s.Name, "") })
		b.about = w.words.SettingLabel(s)
		w.button(c, s.Name+" usual", b, c.left, c.y+6)
	}
}

// path puts down a field for a folder and the button that takes it.
func (w *settings) path(c *column, name, about, does string, take func(path string)) {
	f := newField(w.pen, w.says.Path, func(text string) { w.typed[name] = text })
	f.text = w.typed[name]
	f.draw()
	press := func() {
		if path := fullPath(w.talk.Hello.Home, w.typed[name]); path != "" {
			delete(w.typed, name)
			take(path)
		}
	}
	f.done, f.about = press, about
	b := newPressable(w.pen, does, press)
	b.about = about
	y := c.y + 6
	w.controls[name] = f
	f.reached = func() { w.reveal(f) }
	c.put(f, c.left, y, c.width)
	w.button(c, name+" add", b, c.left+c.width+settingsEdge, y)
}

// folders puts down the folders that are searched.
func (w *settings) folders(c *column) {
	w.head(c, w.says.Folders, w.says.FoldersWhy)
	if len(w.now.Folders) == 0 {
		c.add(0, 4, wrap(c.text(w.says.NoFolders, w.faces.regular, 13.5, w.pen.colors.Ink, false), c.width))
	}
	for _, folder := range w.now.Folders {
		top, _ := c.add(0, 10, wrap(c.text(app.Escape(folder), w.faces.mono, 13.5, w.pen.colors.Ink, true), c.width))
		b := newPressable(w.pen, w.says.Remove, func() { w.set("unsearch", folder) })
		b.about = app.Escape(folder)
		w.button(c, "unsearch "+folder, b, c.left+c.width+settingsEdge, top-6)
	}
	w.path(c, "search", w.says.Folders, w.says.Add, func(path string) { w.set("search", path) })
}
