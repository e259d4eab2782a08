package main

import (
	"image/color"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"fyne.io/fyne/v2"
	fyneapp "fyne.io/fyne/v2/app"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/theme"

	"handrail/app"
	"handrail/assets"
)

// The dialog's measures, in Fyne's units.
const (
	windowWidth  = 580
	windowHeight = 540
	margin       = 22
	iconSize     = 44
	footer       = 68
	buttonHeight = 38
	textWidth    = windowWidth - 2*margin - 14 // 14 for the scroll bar
)

// dialog shows the question that comes on in, gives the answer on out, and returns an exit status.
func dialog(in io.Reader, out io.Writer) int {
	talk, err := app.Converse(in, out)
	if err != nil {
		fail(statusRequest, "%v", err)
	}
	go func() {
		<-talk.Gone
		os.Exit(statusGone)
	}()
	if talk.Request.Presence {
		fail(statusRequest, "the system can't check here who the person is, which they want")
	}
	display, err := reachDisplay()
	if err != nil {
		fail(statusNoShow, "no display: %v", err)
	}
	faces, err := loadTypefaces()
	if err != nil {
		fail(statusNoShow, "%v", err)
	}
	own, foreign := texts(talk.Request.Question)
	faces.complete(own+foreign, systemFonts)
	if lacks := faces.lacks(own); len(lacks) > 0 {
		fail(statusNoShow, "found no font for the words of the question, language %q: no %q (U+%04X); install one, on Debian fonts-noto-core or fonts-thai-tlwg",
			talk.Request.Language, lacks[0], lacks[0])
	}
	// Fyne reads and watches a settings file of the user, in which other programs could make the window unreadable, asks
	// the session bus for colours, and makes itself a cache. This dialog looks the same always and leaves nothing behind.
	os.Setenv("XDG_CONFIG_HOME", os.DevNull)
	os.Setenv("XDG_CACHE_HOME", os.DevNull)
	os.Setenv("FYNE_THEME", "light")
	fyneapp.SetMetadata(fyne.AppMetadata{ID: "app.handrail", Name: "Handrail", Migrations: map[string]bool{"fyneDo": true}})
	a := fyneapp.New()
	// Mesa, which draws OpenGL on Linux, writes its cache of shaders on a thread of the lowest priority. On a busy computer
	// that thread, and so this process, would end only seconds after the answer.
	os.Setenv("MESA_SHADER_CACHE_DISABLE", "true")
	a.Settings().SetTheme(look{paletteTheme{app.Light}})
	a.SetIcon(fyne.NewStaticResource("app.png", assets.AppIcon))

	d := &dialogWindow{talk: talk, faces: faces, display: display}
	d.build(a)
	a.Run()
	return statusNone // Fyne also ends like this after SIGTERM
}

// texts gives the characters of a question: of words that are surely our own, without which it can't be read, and of all
// others, where what a client or a file brings with it may stand as numbers.
func texts(q app.Question) (own, foreign string) {
	ours := []string{q.Window, q.Cut, q.More, q.Refuse, q.Allow, q.Always, q.Quiet}
	others := []string{q.Says, q.Reason}
	for _, s := range q.Title {
		if s.Bold { // what the message is about
			others = append(others, s.Text)
		} else {
			ours = append(ours, s.Text)
		}
	}
	for _, f := range slices.Concat(q.Facts, q.Details) {
		ours, others = append(ours, f.Label), append(others, strings.ReplaceAll(f.Value, "\n", ""))
	}
	return strings.Join(ours, ""), strings.Join(others, "")
}

// dialogWindow is the window with the question. All but changed runs on Fyne's main goroutine.
type dialogWindow struct {
	talk          *app.Conversation
	faces         *typefaces
	display       *server
	window        fyne.Window
	watch         *watcher
	scroll        *container.Scroll
	refuse, allow *button
	// third is the button for a lasting rule, or the one that asks for silence; nil where neither is offered.
	third *button

	stillAtDown time.Duration // of the button that was pressed last

	mu    sync.Mutex // guards still
	still app.Still
}

func (d *dialogWindow) build(a fyne.App) {
	q := d.talk.Request.Question
	d.window = a.NewWindow(d.faces.readable(q.Window))
	d.scroll = container.NewVScroll(d.question(q))
	d.refuse = newButton(q.Refuse, d.label(q.Refuse, app.RefuseInk), app.RefuseFill)
	d.allow = newButton(q.Allow, d.label(q.Allow, app.WaitingInk), app.WaitingFill)
	d.refuse.up = func(e *desktop.MouseEvent) {
		if e.Button == desktop.MouseButtonPrimary && d.refuse.pressed {
			d.answer(app.Refused)
		}
	}
	d.allow.down, d.allow.up = d.pressed, func(e *desktop.MouseEvent) { d.released(e, d.allow, app.Allowed) }

	line := canvas.NewRectangle(app.Sheet)
	objects := []fyne.CanvasObject{canvas.NewRectangle(app.Paper), d.scroll, line, d.refuse, d.allow}
	switch {
	case q.Always != "":
		d.third = newButton(q.Always, d.label(q.Always, app.WaitingInk), app.UnreadyFill)
		d.third.down, d.third.up = d.pressed, func(e *desktop.MouseEvent) { d.released(e, d.third, app.Always) }
	case q.Quiet != "":
		d.third = newButton(q.Quiet, d.label(q.Quiet, app.QuietInk), app.QuietFill)
		d.third.up = func(e *desktop.MouseEvent) {
			if e.Button == desktop.MouseButtonPrimary && d.third.pressed {
				d.answer(app.Quiet)
			}
		}
	}
	if d.third != nil {
		objects = append(objects, d.third)
	}
	d.window.SetPadded(false)
	d.window.SetContent(container.New(places{d}, objects...))
	d.window.Resize(fyne.NewSize(windowWidth, windowHeight))
	d.window.SetFixedSize(true)
	d.window.Canvas().SetOnTypedKey(d.key)
	d.window.SetCloseIntercept(func() { d.answer(app.Refused) })
	if w, ok := d.window.(interface{ RequestAlwaysOnTop() }); ok {
		w.RequestAlwaysOnTop()
	}
	d.window.CenterOnScreen()
	a.Lifecycle().SetOnStarted(d.show)
}

// show puts the window on the screen, and tells the parent once it is there.
func (d *dialogWindow) show() {
	d.window.Show()
	var err error
	d.watch, err = watch(d.display, d.window, d.changed)
	if err != nil {
		fail(statusNoShow, "%v", err)
	}
	d.changed(moved)
	d.awaitShown(time.Now().Add(10 * time.Second))
	time.AfterFunc(d.talk.Request.VisibleFor(), func() { fyne.Do(func() { d.answer(app.TimedOut) }) })
}

func (d *dialogWindow) awaitShown(until time.Time) {
	size := d.refuse.Size()
	switch {
	case d.watch.shows(app.RefuseFill, int(size.Width*size.Height/2)):
		if d.talk.Shown() != nil {
			os.Exit(statusGone)
		}
	case time.Now().After(until):
		fail(statusNoShow, "the window doesn't appear")
	default:
		time.AfterFunc(20*time.Millisecond, func() { fyne.Do(func() { d.awaitShown(until) }) })
	}
}

// changed starts the second anew in which no click counts. It may be called on any goroutine.
func (d *dialogWindow) changed(c change) {
	d.mu.Lock()
	if c == covered {
		d.still.Gone()
	} else {
		d.still.Moved(time.Now())
	}
	d.mu.Unlock()
	fyne.Do(d.showArmed)
	time.AfterFunc(app.StandStill, func() { fyne.Do(d.showArmed) })
}

func (d *dialogWindow) stillFor() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.still.For(time.Now())
}

// showArmed draws the buttons that allow as they are: ready for a click or not.
func (d *dialogWindow) showArmed() {
	q := d.talk.Request.Question
	allow, always := [2]color.Color{app.WaitingInk, app.WaitingFill}, [2]color.Color{app.WaitingInk, app.UnreadyFill}
	if d.stillFor() >= app.StandStill {
		allow, always = [2]color.Color{app.AllowInk, app.AllowFill}, [2]color.Color{app.AlwaysInk, app.AlwaysFill}
	}
	d.allow.paint(d.label(q.Allow, allow[0]), allow[1])
	if q.Always != "" {
		d.third.paint(d.label(q.Always, always[0]), always[1])
	}
}

func (d *dialogWindow) pressed(*desktop.MouseEvent) {
	d.stillAtDown = d.stillUpToNow()
}

// released gives an answer that allows, if a person clicked on its button.
func (d *dialogWindow) released(e *desktop.MouseEvent, on *button, a app.Answer) {
	if app.Genuine(app.EventFacts{
		LeftUp:      e.Button == desktop.MouseButtonPrimary,
		DownOnAllow: on.pressed,
		UpOnAllow:   on.holds(e.Position),
		StillAtDown: d.stillAtDown,
		StillAtUp:   d.stillUpToNow(),
		Origin:      app.Unattributed,
	}) {
		d.answer(a)
	}
}

// stillUpToNow is stillFor once everything that the X server has seen so far is counted in.
func (d *dialogWindow) stillUpToNow() time.Duration {
	if d.watch == nil || !d.watch.catchUp() {
		return 0
	}
	return d.stillFor()
}

func (d *dialogWindow) key(e *fyne.KeyEvent) {
	if e.Name == fyne.KeyEscape {
		d.answer(app.Refused)
		return
	}
	scrollBy(d.scroll, e.Name)
}

func (d *dialogWindow) answer(a app.Answer) {
	if d.talk.Answer(a) != nil {
		os.Exit(statusGone)
	}
	os.Exit(0)
}

// question lays the question's text out in a column.
func (d *dialogWindow) question(q app.Question) fyne.CanvasObject {
	c := &column{pen: pen{d.faces, app.Light}, left: margin, width: textWidth, y: margin}
	icon := canvas.NewImageFromResource(fyne.NewStaticResource("app.png", assets.AppIcon))
	icon.Resize(fyne.NewSquareSize(iconSize))
	icon.Move(fyne.NewPos(margin, c.y))
	c.objects = append(c.objects, icon)
	var title []span
	for _, s := range q.Title {
		face := d.faces.regular
		if s.Bold {
			face = d.faces.bold
		}
		title = append(title, c.text(s.Text, face, 18, app.Ink, false)...)
	}
	c.add(iconSize+14, 0, wrap(title, textWidth-iconSize-14))
	c.y = max(c.y, margin+iconSize) + 4

	ink := func(_ string, p app.Part) color.Color { return app.MarkInk(p.As) }
	for _, f := range q.Facts {
		c.fact(f, ink)
	}
	if q.Says != "" {
		c.add(0, 8, wrap(c.text(q.Says, d.faces.regular, 12.5, app.PaleInk, false), textWidth))
		quote := c.text(q.Reason+" ", d.faces.regular, 15, app.Ink, false)
		c.add(0, 0, wrap(append(quote, c.text(q.Cut, d.faces.regular, 15, app.PaleInk, false)...), textWidth))
	}
	c.add(0, 18, wrap(c.text(q.More, d.faces.bold, 15, app.Ink, false), textWidth))
	for _, f := range q.Details {
		c.fact(f, ink)
	}
	return container.New(tall{windowWidth - 2, c.y + margin}, c.objects...)
}

func (d *dialogWindow) label(s string, c color.Color) []fyne.CanvasObject {
	return d.faces.draw(wrap([]span{{d.faces.readable(s), style{face: d.faces.bold, size: 15, color: c}}}, windowWidth))
}

// tall is the layout of objects that stand where they are.
type tall struct{ width, height float32 }

func (t tall) Layout([]fyne.CanvasObject, fyne.Size) {}

func (t tall) MinSize([]fyne.CanvasObject) fyne.Size {
	return fyne.NewSize(t.width, t.height)
}

// places is the window's layout: the question above, the two answers below. A new layout is a change.
type places struct{ d *dialogWindow }

func (p places) Layout(o []fyne.CanvasObject, size fyne.Size) {
	paper, scroll, line, refuse, allow := o[0], o[1], o[2], o[3].(*button), o[4].(*button)
	paper.Resize(size)
	scroll.Resize(fyne.NewSize(size.Width, size.Height-footer))
	line.Move(fyne.NewPos(0, size.Height-footer))
	line.Resize(fyne.NewSize(size.Width, 2))
	y := size.Height - footer + (footer-buttonHeight)/2
	x := size.Width - margin
	for _, b := range []*button{allow, refuse} {
		width := max(b.MinSize().Width, 130)
		x -= width
		b.Move(fyne.NewPos(x, y))
		b.Resize(fyne.NewSize(width, buttonHeight))
		x -= 14
	}
	if b := p.d.third; b != nil {
		b.Move(fyne.NewPos(margin, y))
		b.Resize(fyne.NewSize(b.MinSize().Width, buttonHeight))
	}
	if p.d.watch != nil {
		p.d.changed(moved)
	}
}

func (places) MinSize([]fyne.CanvasObject) fyne.Size { return fyne.NewSize(windowWidth, windowHeight) }

// look is the dialog's theme: fixed colours, and a scroll bar that is always to be seen.
type look struct{ paletteTheme }

func (l look) Color(n fyne.ThemeColorName, _ fyne.ThemeVariant) color.Color {
	return l.paletteTheme.Color(n, theme.VariantLight)
}

func (l look) Size(n fyne.ThemeSizeName) float32 {
	if n == theme.SizeNamePadding {
		return theme.DefaultTheme().Size(n)
	}
	return l.paletteTheme.Size(n)
}
