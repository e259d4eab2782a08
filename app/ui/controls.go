package main

import (
	"image"
	"image/color"
	"math"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/widget"

	"handrail/app"
)

// The controls of windows that show and ask nothing. The pointer and the keyboard both work them, and their text is drawn as that of
// the dialog is.

// pen is what text is drawn with.
type pen struct {
	faces  *typefaces
	colors app.Palette
}

func (p pen) height(size float32) float32 { return size * (p.faces.above + p.faces.below) }

func (p pen) span(s string, face typeface, size float32, c color.Color) span {
	return span{p.faces.readable(s), style{face: face, size: size, color: c}}
}

// fit cuts a line to a width.
func fit(spans []span, width float32) []span {
	used := float32(0)
	for i, s := range spans {
		all := measure(s)
		if used+all <= width {
			used += all
			continue
		}
		dots := span{"…", s.style}
		left := width - used - measure(dots)
		var b strings.Builder
		for _, c := range clusters(s) {
			if left -= c.width; left < 0 {
				break
			}
			b.WriteString(c.text)
		}
		s.text = b.String() + "…"
		return append(append([]span(nil), spans[:i]...), s)
	}
	return spans
}

// textLine is a line of text that is cut to its width.
type textLine struct {
	*canvas.Raster
	faces *typefaces
	spans []span
}

func newTextLine(faces *typefaces) *textLine {
	l := &textLine{faces: faces}
	l.Raster = canvas.NewRaster(func(w, h int) image.Image {
		width := l.Raster.Size().Width
		return l.faces.paint(fit(l.spans, width), w, h, float32(w)/max(width, 1))
	})
	return l
}

func (l *textLine) set(spans ...span) {
	l.spans = spans
	l.Raster.Refresh()
}

func (l *textLine) width() float32 {
	width := float32(2)
	for _, s := range l.spans {
		width += measure(s)
	}
	return float32(math.Ceil(float64(width)))
}

// pressable is a button for the pointer and the keyboard. It is for what can be taken back or is asked about again: nothing here
// allows anything.
type pressable struct {
	widget.BaseWidget
	pen      pen
	name     string
	about    string // what it is about, for who doesn't see what stands beside it; "" where its name says it
	press    func()
	ground   *canvas.Rectangle
	label    *textLine
	keys     func(*fyne.KeyEvent) // further keys; may be nil
	reached  func()               // the keyboard has come to it; may be nil
	minWidth float32
}

var (
	_ fyne.Focusable     = (*pressable)(nil)
	_ fyne.Tappable      = (*pressable)(nil)
	_ desktop.Cursorable = (*pressable)(nil)
	_ fyne.Accessible    = (*pressable)(nil)
)

// AccessibilityLabel is what it is about and what it does.
func (b *pressable) AccessibilityLabel() string {
	return strings.TrimPrefix(b.about+": "+strings.TrimSuffix(b.name, opens), ": ")
}

// AccessibilityRole implements fyne.Accessible.
func (b *pressable) AccessibilityRole() fyne.AccessibleRole { return fyne.AccessibleRoleButton }

// opens marks a choice.
const opens = "  ▾"

const controlHeight = 34

func newPressable(p pen, name string, press func()) *pressable {
	b := &pressable{pen: p, press: press, ground: canvas.NewRectangle(p.colors.Button), label: newTextLine(p.faces)}
	b.ground.CornerRadius = 6
	b.ground.StrokeWidth = 2
	b.ground.StrokeColor = p.colors.Button
	b.ExtendBaseWidget(b)
	b.rename(name)
	return b
}

func (b *pressable) rename(name string) {
	b.name = name
	b.label.set(b.pen.span(name, b.pen.faces.regular, 14, b.pen.colors.ButtonInk))
	b.Refresh()
}

func (b *pressable) MinSize() fyne.Size {
	return fyne.NewSize(max(b.label.width()+24, b.minWidth), controlHeight)
}

func (b *pressable) CreateRenderer() fyne.WidgetRenderer {
	return widget.NewSimpleRenderer(container.New(labelled{b.pen.height(14)}, b.ground, b.label.Raster))
}

// labelled lays a label out on its ground.
type labelled struct{ height float32 }

func (labelled) MinSize([]fyne.CanvasObject) fyne.Size { return fyne.NewSize(0, controlHeight) }

func (l labelled) Layout(o []fyne.CanvasObject, size fyne.Size) {
	o[0].Resize(size)
	o[1].Resize(fyne.NewSize(max(size.Width-24, 1), l.height))
	o[1].Move(fyne.NewPos(12, (size.Height-l.height)/2))
}

func (b *pressable) Tapped(*fyne.PointEvent) { b.press() }
func (b *pressable) Cursor() desktop.Cursor  { return desktop.PointerCursor }
func (b *pressable) FocusGained() {
	b.frame(b.pen.colors.Focus)
	if b.reached != nil {
		b.reached()
	}
}
func (b *pressable) FocusLost()          { b.frame(b.pen.colors.Button) }
func (b *pressable) TypedRune(rune)      {}
func (b *pressable) frame(c color.Color) { b.ground.StrokeColor = c; b.ground.Refresh() }
func (b *pressable) TypedKey(e *fyne.KeyEvent) {
	switch e.Name {
	case fyne.KeySpace, fyne.KeyReturn, fyne.KeyEnter:
		b.press()
	default:
		if b.keys != nil {
			b.keys(e)
		}
	}
}

// choice is one of several things: a click shows them, the arrow keys go through them.
type choice struct {
	*pressable
	options []string
	chosen  int
	changed func(int)
	popup   *widget.PopUp
}

func newChoice(p pen, about string, options []string, width float32, changed func(int)) *choice {
	c := &choice{options: options, changed: changed}
	c.pressable = newPressable(p, "", c.show)
	c.minWidth, c.about = width, about
	c.keys = func(e *fyne.KeyEvent) {
		switch e.Name {
		case fyne.KeyDown:
			c.choose(c.chosen + 1)
		case fyne.KeyUp:
			c.choose(c.chosen - 1)
		}
	}
	c.name = ""
	c.label.set()
	c.choose(0)
	return c
}

// offer changes what can be chosen; what was chosen stays so, if it is still there.
func (c *choice) offer(options []string) {
	was := c.options[c.chosen]
	c.options, c.chosen = options, 0
	for i, o := range options {
		if o == was {
			c.chosen = i
		}
	}
	c.rename(options[c.chosen] + opens)
}

func (c *choice) choose(i int) {
	if i < 0 || i >= len(c.options) {
		return
	}
	changed := i != c.chosen
	c.chosen = i
	c.rename(c.options[i] + opens)
	if changed {
		c.changed(i)
	}
}

func (c *choice) show() {
	on := fyne.CurrentApp().Driver().CanvasForObject(c.pressable)
	if on == nil {
		return
	}
	list := container.NewVBox()
	for i, o := range c.options {
		b := newPressable(c.pen, o, func() {
			c.popup.Hide()
			c.choose(i)
		})
		b.minWidth = c.Size().Width
		list.Add(b)
	}
	all := container.NewVScroll(list)
	all.SetMinSize(fyne.NewSize(list.MinSize().Width+9, min(list.MinSize().Height, 400)))
	c.popup = widget.NewPopUp(all, on)
	at := fyne.CurrentApp().Driver().AbsolutePositionForObject(c.pressable)
	c.popup.ShowAtPosition(at.AddXY(0, c.Size().Height))
}

// field is a line to type into, at its end.
type field struct {
	widget.BaseWidget
	pen     pen
	about   string // as a pressable has it
	hint    string
	text    string
	changed func(string)
	done    func() // Return was pressed; may be nil
	reached func() // the keyboard has come to it; may be nil
	ground  *canvas.Rectangle
	label   *textLine
	focused bool
}

var (
	_ fyne.Focusable    = (*field)(nil)
	_ fyne.Shortcutable = (*field)(nil)
	_ fyne.Tappable     = (*field)(nil)
	_ fyne.Accessible   = (*field)(nil)
)

// AccessibilityLabel is what belongs into it, and what stands in it.
func (f *field) AccessibilityLabel() string {
	return strings.TrimSuffix(strings.TrimPrefix(f.about+": ", ": ")+f.hint+": "+app.Escape(f.text), ": ")
}

// AccessibilityRole implements fyne.Accessible, which has none for what is typed into.
func (f *field) AccessibilityRole() fyne.AccessibleRole { return fyne.AccessibleRoleText }

func newField(p pen, hint string, changed func(string)) *field {
	f := &field{pen: p, hint: hint, changed: changed, ground: canvas.NewRectangle(p.colors.Paper), label: newTextLine(p.faces)}
	f.ground.CornerRadius, f.ground.StrokeWidth, f.ground.StrokeColor = 6, 2, p.colors.PaleInk
	f.ExtendBaseWidget(f)
	f.draw()
	return f
}

func (f *field) draw() {
	text, ink := app.Escape(f.text), f.pen.colors.Ink
	switch {
	case f.text == "" && !f.focused:
		text, ink = f.hint, f.pen.colors.PaleInk
	case f.focused:
		text += "▏"
	}
	f.label.set(f.pen.span(text, f.pen.faces.regular, 14, ink))
}

func (f *field) MinSize() fyne.Size { return fyne.NewSize(180, controlHeight) }

func (f *field) CreateRenderer() fyne.WidgetRenderer {
	return widget.NewSimpleRenderer(container.New(labelled{f.pen.height(14)}, f.ground, f.label.Raster))
}

func (f *field) enter(text string) {
	if len(text) > 500 {
		return
	}
	f.text = text
	f.draw()
	f.changed(text)
}

func (f *field) Tapped(*fyne.PointEvent) {
	if on := fyne.CurrentApp().Driver().CanvasForObject(f); on != nil {
		on.Focus(f)
	}
}
func (f *field) FocusGained() {
	f.focus(true, f.pen.colors.Focus)
	if f.reached != nil {
		f.reached()
	}
}
func (f *field) FocusLost()       { f.focus(false, f.pen.colors.PaleInk) }
func (f *field) TypedRune(r rune) { f.enter(f.text + string(r)) }
func (f *field) focus(on bool, frame color.Color) {
	f.focused, f.ground.StrokeColor = on, frame
	f.ground.Refresh()
	f.draw()
}

func (f *field) TypedKey(e *fyne.KeyEvent) {
	switch e.Name {
	case fyne.KeyBackspace:
		if runes := []rune(f.text); len(runes) > 0 {
			f.enter(string(runes[:len(runes)-1]))
		}
	case fyne.KeyEscape, fyne.KeyDelete:
		f.enter("")
	case fyne.KeyReturn, fyne.KeyEnter:
		if f.done != nil {
			f.done()
		}
	}
}

func (f *field) TypedShortcut(s fyne.Shortcut) {
	if paste, ok := s.(*fyne.ShortcutPaste); ok {
		f.enter(f.text + strings.Join(strings.Fields(paste.Clipboard.Content()), " "))
	}
}

// reader is a scrolled column of text, for the pointer's wheel and the keyboard.
type reader struct {
	widget.BaseWidget
	name   string
	scroll *container.Scroll
	text   *fyne.Container
	frame  *canvas.Rectangle
	pen    pen
}

var (
	_ fyne.Focusable  = (*reader)(nil)
	_ fyne.Accessible = (*reader)(nil)
)

// AccessibilityLabel says what can be read in it.
func (r *reader) AccessibilityLabel() string { return r.name }

// AccessibilityRole implements fyne.Accessible.
func (r *reader) AccessibilityRole() fyne.AccessibleRole { return fyne.AccessibleRoleText }

func newReader(p pen, name string) *reader {
	r := &reader{name: name, pen: p, text: container.NewWithoutLayout(), frame: canvas.NewRectangle(color.Transparent)}
	r.scroll = container.NewVScroll(r.text)
	r.frame.StrokeWidth = 2
	r.ExtendBaseWidget(r)
	return r
}

func (r *reader) CreateRenderer() fyne.WidgetRenderer {
	return widget.NewSimpleRenderer(container.NewStack(r.frame, r.scroll))
}

// show changes what there is to read.
func (r *reader) show(layout fyne.Layout, objects []fyne.CanvasObject) {
	r.text.Layout, r.text.Objects = layout, objects
	r.text.Refresh()
	r.scroll.Refresh()
}

func (r *reader) FocusGained()              { r.frame.StrokeColor = r.pen.colors.Focus; r.frame.Refresh() }
func (r *reader) FocusLost()                { r.frame.StrokeColor = color.Transparent; r.frame.Refresh() }
func (r *reader) TypedRune(rune)            {}
func (r *reader) TypedKey(e *fyne.KeyEvent) { scrollBy(r.scroll, e.Name) }

// scrollBy scrolls as a key says, if it says so.
func scrollBy(s *container.Scroll, key fyne.KeyName) {
	step := float32(0)
	switch key {
	case fyne.KeyUp:
		step = -40
	case fyne.KeyDown:
		step = 40
	case fyne.KeyPageUp:
		step = 60 - s.Size().Height
	case fyne.KeyPageDown:
		step = s.Size().Height - 60
	case fyne.KeyHome:
		step = -s.Offset.Y
	case fyne.KeyEnd:
		step = s.Content.Size().Height
	}
	if step != 0 {
		s.ScrollToOffset(fyne.NewPos(0, s.Offset.Y+step))
	}
}

// column lays text out, one thing below the other.
type column struct {
	pen
	left, width float32
	y           float32
	objects     []fyne.CanvasObject
}

// add puts lines below what is there, and gives where they stand.
func (c *column) add(x, gap float32, lines [][]span) (top, bottom float32) {
	top = c.y + gap
	c.y = top
	for _, o := range c.faces.draw(lines) {
		o.Move(o.Position().AddXY(c.left+x, top))
		c.objects = append(c.objects, o)
		c.y = o.Position().Y + o.Size().Height
	}
	return top, c.y
}

func (c *column) text(s string, face typeface, size float32, ink color.Color, exact bool) []span {
	return []span{{c.faces.readable(s), style{face, size, ink, exact}}}
}

// fact adds a label and its value. ink gives the colour of a part of an exact one.
func (c *column) fact(f app.Fact, ink func(line string, p app.Part) color.Color) {
	c.add(0, 8, wrap(c.text(f.Label, c.faces.regular, 12.5, c.colors.PaleInk, false), c.width))
	if !f.Exact {
		c.add(0, 0, wrap(c.text(f.Value, c.faces.regular, 15, c.colors.Ink, false), c.width))
		return
	}
	sheet := canvas.NewRectangle(c.colors.Sheet)
	sheet.CornerRadius = 4
	c.objects = append(c.objects, sheet)
	var lines [][]span
	for _, parts := range f.Parts() {
		var spans []span
		whole := ""
		for _, p := range parts {
			whole += p.Text
		}
		for _, p := range parts {
			spans = append(spans, c.text(p.Text, c.faces.mono, 14, ink(whole, p), true)...)
		}
		if spans == nil {
			spans = c.text(" ", c.faces.mono, 14, c.colors.Ink, true) // else it takes no height
		}
		lines = append(lines, wrap(spans, c.width-16)...)
	}
	top, bottom := c.add(8, 4, lines)
	sheet.Move(fyne.NewPos(c.left, top-3))
	sheet.Resize(fyne.NewSize(c.width, bottom-top+6))
	c.y += 3
}
