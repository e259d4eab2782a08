package main

import (
	"errors"
	"fmt"
	"image/color"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/widget"

	"handrail/app"
	"handrail/core/audit"
)

// activity is the window that shows the activity log: a list of what happened beside what is known of the entry that is chosen. All
// but pushed and load runs on Fyne's main goroutine.
type activity struct {
	app    fyne.App
	talk   *app.WindowTalk
	faces  *typefaces
	words  app.Words
	says   app.ActivityWords
	window fyne.Window
	pen    pen

	book   app.Book
	filter app.Filter
	all    bool // the log has been read to its beginning
	chosen *app.Entry
	// told is what is known of the chosen entry besides the log, as it comes.
	told told

	search                *field
	clients, sorts, ends  *choice
	list                  *entryList
	reader                *reader
	count, notice, nobody *textLine
	choices               []string // the clients
}

// told is what the resident says about an entry.
type told struct {
	answer           *string
	looked, answered bool
	undo             []undoLook
}

// undoLook is what undoing a change would do, or why it can't be undone.
type undoLook struct {
	change string
	facts  []app.Fact
	err    error
}

const (
	activityWidth, activityHeight = 1040, 680
	barHeight                     = 56
	footHeight                    = 32
	rowHeight                     = 56
	firstPage, nextPage           = 100, 2000
)

func newActivity(a fyne.App, talk *app.WindowTalk, faces *typefaces, words app.Words) *activity {
	w := &activity{app: a, talk: talk, faces: faces, words: words, says: words.Activity()}
	w.window = a.NewWindow(faces.readable(w.says.Title))
	w.window.SetPadded(false)
	w.window.Resize(fyne.NewSize(activityWidth, activityHeight))
	w.window.SetMaster()
	w.build()
	a.Settings().AddListener(func(fyne.Settings) { fyne.Do(w.build) }) // the desktop has become dark or light
	w.window.Canvas().AddShortcut(&desktop.CustomShortcut{KeyName: fyne.KeyF, Modifier: fyne.KeyModifierShortcutDefault}, func(fyne.Shortcut) { w.window.Canvas().Focus(w.search) })
	w.window.Canvas().AddShortcut(&desktop.CustomShortcut{KeyName: fyne.KeyW, Modifier: fyne.KeyModifierShortcutDefault}, func(fyne.Shortcut) { w.window.Close() })
	a.Lifecycle().SetOnStarted(func() {
		w.window.Show()
		w.window.Canvas().Focus(w.list)
	})
	go w.load()
	return w
}

// build makes what the window holds, in the colours of the desktop.
func (w *activity) build() {
	colors := app.Light
	if isDark(w.app.Settings()) {
		colors = app.Dark
	}
	if w.pen.colors == colors {
		return
	}
	focused := w.window.Canvas().Focused()
	searches, lists := w.search != nil && focused == w.search, w.list != nil && focused == w.list
	w.pen = pen{w.faces, colors}
	w.app.Settings().SetTheme(paletteTheme{colors})
	w.search = newField(w.pen, w.says.Search, func(text string) {
		w.filter.Text = text
		w.find()
	})
	w.search.text = w.filter.Text
	w.choices = append([]string{""}, w.book.Clients()...)
	w.clients = newChoice(w.pen, w.says.Who, []string{w.says.AllClients}, 170, func(i int) {
		w.filter.Client = w.choices[i]
		w.find()
	})
	w.sorts = newChoice(w.pen, w.says.What, w.says.Sorts, 170, func(i int) {
		w.filter.Sort = app.Sorts[i]
		w.find()
	})
	w.ends = newChoice(w.pen, w.says.Result, w.says.Outcomes, 130, func(i int) {
		w.filter.Outcome = app.Outcomes[i]
		w.find()
	})
	export := newPressable(w.pen, w.says.Export, w.export)
	w.list = newEntryList(w)
	w.reader = newReader(w.pen, w.says.Details)
	w.count, w.notice, w.nobody = newTextLine(w.faces), newTextLine(w.faces), newTextLine(w.faces)
	w.window.SetContent(container.New(&activityLayout{w}, canvas.NewRectangle(colors.Bar), canvas.NewRectangle(colors.Paper), canvas.NewRectangle(colors.Bar),
		canvas.NewRectangle(colors.Sheet), w.search, w.clients.pressable, w.sorts.pressable, w.ends.pressable, export, w.list, w.nobody.Raster, w.reader, w.count.Raster, w.notice.Raster))
	w.showClients()
	w.find()
	w.read()
	switch { // the keyboard stays where it was
	case searches:
		w.window.Canvas().Focus(w.search)
	case lists:
		w.window.Canvas().Focus(w.list)
	}
}

// activityLayout is the window's layout.
type activityLayout struct{ w *activity }

func (activityLayout) MinSize([]fyne.CanvasObject) fyne.Size { return fyne.NewSize(860, 420) }

func (l *activityLayout) Layout(o []fyne.CanvasObject, size fyne.Size) {
	put := func(o fyne.CanvasObject, x, y, width, height float32) {
		o.Move(fyne.NewPos(x, y))
		o.Resize(fyne.NewSize(width, height))
	}
	left := float32(int(size.Width * 0.46))
	body := size.Height - barHeight - footHeight
	put(o[0], 0, 0, size.Width, barHeight)
	put(o[1], 0, barHeight, size.Width, body)
	put(o[2], 0, size.Height-footHeight, size.Width, footHeight)
	put(o[3], left, barHeight, 2, body)
	x, y := size.Width-12, float32(barHeight-controlHeight)/2
	for _, i := range []int{8, 7, 6, 5} {
		width := o[i].MinSize().Width
		x -= width
		put(o[i], x, y, width, controlHeight)
		x -= 8
	}
	put(o[4], 12, y, x-12, controlHeight)
	put(o[9], 0, barHeight, left, body)
	line := l.w.pen.height(14)
	put(o[10], 24, barHeight+24, left-48, line)
	put(o[11], left+2, barHeight, size.Width-left-2, body)
	put(o[12], 16, size.Height-footHeight+(footHeight-line)/2, 220, line)
	put(o[13], left+16, size.Height-footHeight+(footHeight-line)/2, size.Width-left-32, line)
	if l.w.reader.scroll.Content.MinSize().Width != size.Width-left-20 {
		l.w.read()
	}
}

// load reads the log, the newest first, and keeps at it until all of it is there.
func (w *activity) load() {
	most, before := firstPage, int64(0)
	for {
		s, err := w.talk.Ask(app.WindowAsk{Page: &app.PageAsk{Before: before, Most: most}})
		if err != nil || s.Page == nil {
			w.tell(w.words.Failed(cmpError(err)))
			return
		}
		last := s.Page.Next == 0
		fyne.DoAndWait(func() {
			w.book.Older(s.Page.Records)
			w.all = last
			w.refresh()
		})
		if last {
			return
		}
		most, before = nextPage, s.Page.Next
	}
}

func cmpError(err error) error {
	if err == nil {
		return errors.New("no answer")
	}
	return err
}

// pushed takes up what the resident says by itself.
func (w *activity) pushed(s app.WindowSays) {
	if s.Changed {
		w.catchUp()
	}
}

// catchUp reads what is new.
func (w *activity) catchUp() {
	newest := uint64(0)
	fyne.DoAndWait(func() { newest = w.book.Newest() })
	var fresh []audit.Record
	for before, more := int64(0), true; more; {
		s, err := w.talk.Ask(app.WindowAsk{Page: &app.PageAsk{Before: before, Most: firstPage}})
		if err != nil || s.Page == nil {
			return
		}
		fresh = append(fresh, s.Page.Records...)
		before = s.Page.Next
		n := len(fresh)
		more = before != 0 && n > 0 && fresh[n-1].Seq > newest+1
	}
	slices.Reverse(fresh)
	fyne.Do(func() {
		w.book.Newer(fresh)
		w.refresh()
		if w.chosen != nil && len(fresh) > 0 {
			w.ask(w.chosen)
		}
	})
}

// refresh shows what the book holds now.
func (w *activity) refresh() {
	w.showClients()
	w.showCount()
	w.list.renew()
}

func (w *activity) showClients() {
	names := w.book.Clients()
	if slices.Equal(w.choices[1:], names) && len(w.clients.options) == len(w.choices) {
		return
	}
	w.choices = append([]string{""}, names...)
	options := []string{w.says.AllClients}
	for _, n := range names {
		options = append(options, app.Escape(n))
	}
	w.clients.offer(options)
}

// find lists what the filter lets through.
func (w *activity) find() {
	w.book.Find(w.filter)
	w.list.ScrollToTop()
	w.refresh()
}

func (w *activity) showCount() {
	n := len(w.book.Found())
	text := w.words.Entries(n)
	if !w.all {
		text += " …"
	}
	w.count.set(w.pen.span(text, w.faces.regular, 13, w.pen.colors.PaleInk))
	nobody := ""
	switch {
	case n > 0 || !w.all:
	case w.book.All() == 0:
		nobody = w.says.Empty
	default:
		nobody = w.says.None
	}
	w.nobody.set(w.pen.span(nobody, w.faces.regular, 14, w.pen.colors.PaleInk))
}

// tell says something at the window's foot. It may be called on any goroutine.
func (w *activity) tell(text string) {
	fyne.Do(func() { w.notice.set(w.pen.span(text, w.faces.regular, 13, w.pen.colors.Ink)) })
}

// choose shows an entry.
func (w *activity) choose(e *app.Entry) {
	if w.chosen == e {
		return
	}
	w.chosen, w.told = e, told{}
	w.reader.scroll.ScrollToTop()
	w.read()
	w.ask(e)
}

// ask asks the resident what it knows of an entry besides the log.
func (w *activity) ask(e *app.Entry) {
	call, changes := e.Call, slices.Clone(e.Changes)
	go func() {
		var t told
		if call != "" {
			s, err := w.talk.Ask(app.WindowAsk{Answer: call})
			t.answered = err == nil
			t.answer = s.Answer
		}
		for _, id := range changes {
			s, err := w.talk.Ask(app.WindowAsk{Look: id})
			look := undoLook{change: id, err: err}
			if err == nil && s.Look != nil {
				q, err := app.NewQuestion(*s.Look, w.words)
				look.err = err
				look.facts = slices.DeleteFunc(q.Facts, func(f app.Fact) bool { return !f.Exact })
			}
			t.undo = append(t.undo, look)
		}
		t.looked = true
		fyne.Do(func() {
			if w.chosen == e {
				w.told = t
				w.read()
			}
		})
	}()
}

// diffInk is the colour of a line of a diff.
func (w *activity) diffInk(line string, _ app.Part) color.Color {
	switch {
	case strings.HasPrefix(line, "+"):
		return w.pen.colors.Good
	case strings.HasPrefix(line, "-"):
		return w.pen.colors.Bad
	}
	return w.pen.colors.Ink
}

// read writes down what is known of the chosen entry.
func (w *activity) read() {
	width := max(w.reader.Size().Width, 300)
	c := &column{pen: w.pen, left: 18, width: width - 18 - 30, y: 14}
	ink := func(string, app.Part) color.Color { return w.pen.colors.Ink }
	e := w.chosen
	if e == nil {
		c.add(0, 10, wrap(c.text(w.says.Choose, w.faces.regular, 14, w.pen.colors.PaleInk, false), c.width))
	} else {
		who, tool, _ := w.words.EntryLines(e)
		c.add(0, 0, wrap(append(c.text(who+"  ", w.faces.bold, 18, w.pen.colors.Ink, false), c.text(tool, w.faces.regular, 18, w.pen.colors.Ink, false)...), c.width))
		w.buttons(c, e)
		for _, f := range w.words.EntryFacts(e) {
			c.fact(f, ink)
		}
		for _, u := range w.told.undo {
			if u.err != nil {
				c.add(0, 12, wrap(c.text(w.words.NotUndone(u.err), w.faces.regular, 14, w.pen.colors.PaleInk, false), c.width))
				continue
			}
			c.add(0, 18, wrap(c.text(w.says.IfUndone, w.faces.bold, 15, w.pen.colors.Ink, false), c.width))
			for _, f := range u.facts {
				c.fact(f, w.diffInk)
			}
		}
		switch {
		case w.told.answer != nil && *w.told.answer != "":
			c.fact(app.Fact{Label: w.says.Answer, Value: app.Printed(strings.TrimSuffix(*w.told.answer, "\n")), Exact: true}, ink)
		case w.told.answered && w.told.answer == nil:
			c.fact(app.Fact{Label: w.says.Answer, Value: w.says.NoAnswer}, ink)
		}
	}
	w.reader.show(tall{width - 18, c.y + 20}, c.objects)
}

// buttons puts down what can be done about an entry.
func (w *activity) buttons(c *column, e *app.Entry) {
	x := float32(0)
	top := c.y + 8
	button := func(name string, press func()) {
		b := newPressable(w.pen, name, press)
		b.Resize(b.MinSize())
		b.Move(fyne.NewPos(c.left+x, top))
		c.objects = append(c.objects, b)
		x += b.MinSize().Width + 8
		c.y = top + controlHeight
	}
	if path := shown(e); path != "" {
		button(w.says.Show, func() { w.do(app.WindowAsk{Show: path}, "") })
	}
	// It comes later, and must not push away what is being clicked.
	for _, u := range w.told.undo {
		if u.err == nil {
			button(w.says.Undo, func() { w.do(app.WindowAsk{Undo: u.change}, w.says.Asked) })
		}
	}
}

// shown is the file of an entry that can be shown.
func shown(e *app.Entry) string {
	for _, p := range slices.Concat(e.RunsLater, e.Paths) {
		if filepath.IsAbs(p) {
			return p
		}
	}
	return ""
}

// do asks the resident for something, and says what came of it.
func (w *activity) do(a app.WindowAsk, done string) {
	go func() {
		if _, err := w.talk.Ask(a); err != nil {
			done = w.words.Failed(err)
		}
		w.tell(done)
	}()
}

// export writes what is listed to a new file.
func (w *activity) export() {
	entries := slices.Clone(w.book.Found())
	go func() {
		name, err := exportTo(w.talk.Hello.Home, time.Now(), func(f *os.File) error { return w.words.Export(f, entries) })
		if err != nil {
			w.tell(w.words.NotExported(err))
			return
		}
		w.tell(w.words.Exported(name))
	}()
}

// exportTo makes a new file in the folder for downloads, or where there is none in the home folder.
func exportTo(home string, now time.Time, write func(*os.File) error) (name string, err error) {
	folder := filepath.Join(home, "Downloads")
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		folder = home
	}
	for n := range 100 {
		name = filepath.Join(folder, "Handrail activity "+now.Format("2006-01-02 15.04"))
		if n > 0 {
			name += fmt.Sprintf(" (%d)", n+1)
		}
		name += ".csv"
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		if err = errors.Join(write(f), f.Close()); err != nil {
			os.Remove(name)
		}
		return name, err
	}
	return "", fmt.Errorf("there are too many of them in %s", folder)
}

// entryList is the list. The arrow keys choose.
type entryList struct {
	widget.List
	w *activity
	// at is the place of the chosen entry, -1 for none; what stands there is chosen again silently.
	at     int
	silent bool
}

// AccessibilityLabel is the window's name.
func (l *entryList) AccessibilityLabel() string { return l.w.says.Title }

// AccessibilityRole implements fyne.Accessible.
func (l *entryList) AccessibilityRole() fyne.AccessibleRole { return fyne.AccessibleRoleContainer }

func newEntryList(w *activity) *entryList {
	l := &entryList{w: w, at: -1}
	l.Length = func() int { return len(w.book.Found()) }
	l.CreateItem = func() fyne.CanvasObject { return newEntryRow(w.pen) }
	l.UpdateItem = func(id widget.ListItemID, o fyne.CanvasObject) {
		if found := w.book.Found(); id < len(found) {
			o.(*entryRow).show(w.words, found[id])
		}
	}
	l.OnSelected = func(id widget.ListItemID) {
		l.at = id
		if found := w.book.Found(); !l.silent && id < len(found) {
			w.choose(found[id])
		}
	}
	l.HideSeparators = true
	l.ExtendBaseWidget(l)
	return l
}

// renew shows the list anew, with the chosen entry chosen where it stands now.
func (l *entryList) renew() {
	at := -1
	if l.w.chosen != nil {
		at = slices.Index(l.w.book.Found(), l.w.chosen)
	}
	if at != l.at {
		l.UnselectAll()
		l.at = at
		if at >= 0 {
			offset := l.GetScrollOffset()
			l.silent = true
			l.Select(at)
			l.silent = false
			l.ScrollToOffset(offset)
		}
	}
	l.Refresh()
}

func (l *entryList) TypedKey(e *fyne.KeyEvent) {
	page := max(1, int(l.Size().Height/rowHeight)-1)
	last := l.Length() - 1
	to := l.at
	switch e.Name {
	case fyne.KeyDown:
		to++
	case fyne.KeyUp:
		to--
	case fyne.KeyPageDown:
		to += page
	case fyne.KeyPageUp:
		to -= page
	case fyne.KeyHome:
		to = 0
	case fyne.KeyEnd:
		to = last
	default:
		return
	}
	if last >= 0 {
		l.Select(max(0, min(to, last)))
	}
}

// entryRow is an entry in the list.
type entryRow struct {
	widget.BaseWidget
	pen                 pen
	first, result, what *textLine
	edge                *canvas.Rectangle
	name                string
}

// AccessibilityLabel says the entry in a line.
func (r *entryRow) AccessibilityLabel() string { return r.name }

// AccessibilityRole implements fyne.Accessible.
func (r *entryRow) AccessibilityRole() fyne.AccessibleRole { return fyne.AccessibleRoleText }

func newEntryRow(p pen) *entryRow {
	r := &entryRow{pen: p, first: newTextLine(p.faces), result: newTextLine(p.faces), what: newTextLine(p.faces), edge: canvas.NewRectangle(p.colors.Sheet)}
	r.ExtendBaseWidget(r)
	return r
}

func (r *entryRow) MinSize() fyne.Size { return fyne.NewSize(100, rowHeight) }

func (r *entryRow) CreateRenderer() fyne.WidgetRenderer {
	return widget.NewSimpleRenderer(container.New(entryLayout{r}, r.first.Raster, r.result.Raster, r.what.Raster, r.edge))
}

func (r *entryRow) show(w app.Words, e *app.Entry) {
	who, tool, what := w.EntryLines(e)
	c, f := r.pen.colors, r.pen.faces
	at := e.At.Local()
	when := at.Format("15:04")
	if now := time.Now(); at.Year() != now.Year() || at.YearDay() != now.YearDay() {
		when = at.Format("2006-01-02 15:04")
	}
	r.first.set(r.pen.span(when+"   ", f.regular, 13, c.PaleInk), r.pen.span(who+"  ", f.bold, 14, c.Ink), r.pen.span(tool, f.regular, 14, c.Ink))
	ink := map[app.Outcome]color.Color{app.OutcomeDone: c.Good, app.OutcomeRefused: c.Bad, app.OutcomeFailed: c.Bad, app.OutcomeRunning: c.Busy}[e.Outcome]
	if ink == nil {
		ink = c.PaleInk
	}
	r.result.set(r.pen.span(w.Result(e), f.regular, 13, ink))
	r.name = strings.Join([]string{when, who, tool, what, w.Result(e)}, ", ")
	r.what.set(r.pen.span(what, f.regular, 14, c.PaleInk))
	r.Refresh()
}

type entryLayout struct{ r *entryRow }

func (entryLayout) MinSize([]fyne.CanvasObject) fyne.Size { return fyne.NewSize(100, rowHeight) }

func (l entryLayout) Layout(o []fyne.CanvasObject, size fyne.Size) {
	line := l.r.pen.height(14)
	const result = 112
	top := (rowHeight - 2*line) / 2
	o[0].Move(fyne.NewPos(16, top))
	o[0].Resize(fyne.NewSize(max(size.Width-16-result-32, 10), line))
	o[1].Move(fyne.NewPos(size.Width-result-20, top))
	o[1].Resize(fyne.NewSize(result, line))
	o[2].Move(fyne.NewPos(16, top+line))
	o[2].Resize(fyne.NewSize(max(size.Width-36, 10), line))
	o[3].Move(fyne.NewPos(16, size.Height-1))
	o[3].Resize(fyne.NewSize(size.Width-16, 1))
}
