//go:build linux

package main

import (
	"errors"
	"image"
	"image/color"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"handrail/app"
	"handrail/app/apptest"
	"handrail/core/audit"
)

// someSettings is a core of which something can be set.
type someSettings struct {
	*theLog
	mu  sync.Mutex
	now app.Settings
	set chan app.SettingChange
}

func newSettingsHost() *someSettings {
	row := func(name, value string, values ...string) app.Setting {
		return app.Setting{Name: name, Value: value, Values: values}
	}
	touch := row("presence", "off", "on", "off")
	touch.Missing = true
	return &someSettings{theLog: newLog(), set: make(chan app.SettingChange, 10), now: app.Settings{Usual: "/home/ann/Handrail", Rows: []app.Setting{
		row("workspace", ""), row("level", "ask", "none", "look", "ask"), row("network", "ask", "never", "ask"), row("profile", "guarded", "guarded", "classic"), touch, row("login", "off", "on", "off"),
		row("language", "auto", "auto", "en", "th"), row("visible", "2", "1", "2", "5", "10"), row("undo", "3", "1", "3", "10", "30"), row("updates", "on", "on", "off")},
		Folders: []string{"/home/ann/Documents/a/very/long/name/of/a/folder/that/does/not/fit/into/one/line/of/this/window", "/home/ann/รูปถ่าย/น้ำตกแม่สา"}}}
}

func (s *someSettings) Settings() app.Settings {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now
	now.Rows = slices.Clone(now.Rows)
	return now
}

func (s *someSettings) ChangeSetting(c app.SettingChange) (bool, error) {
	s.set <- c
	if c.Value == "/nowhere" {
		return false, errors.New("it isn't there")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.now.Rows {
		if r := &s.now.Rows[i]; r.Name == c.Name {
			if c.Name == "workspace" {
				r.Asked, r.Wanted = true, c.Value
				return true, nil
			}
			r.Value = c.Value
		}
	}
	return false, nil
}

func (l *theLog) Settings() app.Settings { return app.Settings{} }
func (l *theLog) ChangeSetting(app.SettingChange) (bool, error) {
	return false, errors.New("there is none")
}

// hears waits until something was set.
func (s *someSettings) hears(t *testing.T, w *apptest.Window, want app.SettingChange) {
	t.Helper()
	select {
	case got := <-s.set:
		if got != want {
			t.Fatalf("set %+v, want %+v", got, want)
		}
	case <-time.After(long):
		must(t, w.SavePicture("../../build/screens/settings_failed.png"))
		t.Fatalf("not set: %+v", want)
	}
}

// settingsWindow opens the window and gives it with where its controls are, in the order in which the keyboard reaches them.
func settingsWindow(t *testing.T, d *apptest.Display, host app.WindowHost, language, title string) (*app.Windows, *apptest.Window) {
	t.Helper()
	windows := app.NewWindows(host, app.NewWords(language).Fixed(), os.Getenv("HOME"))
	t.Cleanup(windows.Close)
	must(t, windows.Open("settings"))
	w, err := d.Window(title, long)
	must(t, err)
	return windows, w
}

// buttons waits until a window shows that many buttons below one another in its right column, and gives their middles.
func buttons(t *testing.T, w *apptest.Window, c color.NRGBA, n int) (at []image.Point) {
	t.Helper()
	for deadline := time.Now().Add(long); ; {
		img, err := w.Picture()
		must(t, err)
		at = nil
		x, from := settingsWidth-settingsEdge-9-controlWidth+8, -1
		for y := 0; y <= settingsHeight-footHeight; y++ {
			p := img.RGBAAt(x, y)
			on := p.R == c.R && p.G == c.G && p.B == c.B && y < settingsHeight-footHeight
			switch {
			case on && from < 0:
				from = y
			case !on && from >= 0:
				if y-from > controlHeight/2 {
					at = append(at, image.Pt(x, (from+y)/2))
				}
				from = -1
			}
		}
		if len(at) >= n {
			return at
		}
		if time.Now().After(deadline) {
			must(t, w.SavePicture("../../build/screens/settings_failed.png"))
			t.Fatalf("%d buttons, want %d", len(at), n)
		}
		_, _ = w.Changes(img, 100*time.Millisecond)
	}
}

// pick opens the choice at a place and picks what is in it at that position. A click that comes while the window writes itself anew is
// done again.
func pick(t *testing.T, d *apptest.Display, w *apptest.Window, at image.Point, option int) {
	t.Helper()
	pressUntil(t, d, w, at, at.Add(image.Pt(0, controlHeight)), func(p color.RGBA) bool { return color.NRGBA(p) == app.Light.Button })
	click(t, d, w, at.Add(image.Pt(0, controlHeight*(option+1))))
}

// pressUntil clicks at a place until another one has a colour that will do.
func pressUntil(t *testing.T, d *apptest.Display, w *apptest.Window, at, where image.Point, will func(color.RGBA) bool) {
	t.Helper()
	deadline := time.Now().Add(long)
	for {
		click(t, d, w, at)
		for patience := time.Now().Add(2 * time.Second); time.Now().Before(patience); {
			img, err := w.Picture()
			must(t, err)
			if will(img.RGBAAt(where.X, where.Y)) {
				return
			}
			if _, err := w.Changes(img, 2*time.Second); err != nil {
				break
			}
		}
		if time.Now().After(deadline) {
			must(t, w.SavePicture("../../build/screens/settings_failed.png"))
			t.Fatalf("not what it should be at %v", where)
		}
	}
}

// tab presses Tab so many times. Each is seen in the column of the controls before the next: the X server reports keys that are pressed
// again at once as repeated.
func tab(t *testing.T, d *apptest.Display, w *apptest.Window, n int) {
	t.Helper()
	column := image.Rect(settingsWidth-settingsEdge-9-controlWidth-4, 0, settingsWidth, settingsHeight-footHeight)
	for range n {
		before, err := w.Picture()
		must(t, err, d.Key(apptest.Tab))
		for now, deadline := before, time.Now().Add(long); alike(before, now, column); {
			now, err = w.Changes(now, time.Until(deadline))
			must(t, err)
		}
	}
}

// alike reports whether two pictures are the same in a part.
func alike(a, b *image.RGBA, in image.Rectangle) bool {
	for y := in.Min.Y; y < in.Max.Y; y++ {
		for x := in.Min.X; x < in.Max.X; x++ {
			if a.RGBAAt(x, y) != b.RGBAAt(x, y) {
				return false
			}
		}
	}
	return true
}

// The settings window, driven by the pointer and the keyboard.
func TestSettings(t *testing.T) {
	d := screen(t)
	host := newSettingsHost()
	windows, w := settingsWindow(t, d, host, "en", "Handrail: settings")
	at := buttons(t, w, app.Light.Button, 6)
	must(t, w.SavePicture("../../build/screens/settings_en.png"))
	// The pointer.
	pick(t, d, w, at[2], 0)
	host.hears(t, w, app.SettingChange{Name: "network", Value: "never"})
	pick(t, d, w, at[4], 0)
	host.hears(t, w, app.SettingChange{Name: "login", Value: "on"})
	// What is typed is what is chosen, whole; what waits is said.
	field := image.Pt(60, at[0].Y)
	pressUntil(t, d, w, field, image.Pt(field.X, field.Y-controlHeight/2+1), func(p color.RGBA) bool { return int(p.B)-int(p.R) > 40 }) // its frame, softened

	for _, r := range "/x/../work" {
		must(t, d.Key(int(r)))
	}
	before, err := w.Picture()
	must(t, err)
	must(t, d.Key(apptest.Return))
	host.hears(t, w, app.SettingChange{Name: "workspace", Value: "/work"})
	_, err = w.Changes(before, long)
	must(t, err)
	// The keyboard, from what it is on: the field for the workspace, its button, the level.
	tab(t, d, w, 2)
	must(t, d.Key(apptest.Up))
	host.hears(t, w, app.SettingChange{Name: "level", Value: "look"})
	tab(t, d, w, 5) // network, sandbox, login, language, questions
	must(t, d.Key(apptest.Down))
	host.hears(t, w, app.SettingChange{Name: "visible", Value: "5"})
	// The rest is scrolled to: undo, updates, the folders' buttons, the field.
	tab(t, d, w, 5)
	for _, r := range "/nowhere" {
		must(t, d.Key(int(r)))
	}
	must(t, d.Key(apptest.Return))
	host.hears(t, w, app.SettingChange{Name: "search", Value: "/nowhere"})
	must(t, w.SavePicture("../../build/screens/settings_folders.png"))
	// Another process that changes something is seen by what it changed.
	before, err = w.Picture()
	must(t, err)
	host.mu.Lock()
	host.now.Folders = host.now.Folders[1:]
	host.mu.Unlock()
	host.append(audit.Record{Kind: audit.Note, Text: "no longer searched"})
	_, err = w.Changes(before, long)
	must(t, err)
	must(t, windows.Open("settings"))
	pid := w.PID()
	must(t, w.Close(), w.Gone(long))
	gone(t, pid)
}

func TestSettingsInThaiAndDark(t *testing.T) {
	d := screen(t)
	must(t, os.WriteFile(os.Getenv("HOME")+"/dark", nil, 0o644))
	host := newSettingsHost()
	host.now.Broken = "/home/ann/.local/state/handrail/settings-broken.json"
	host.now.Rows[2].Asked, host.now.Rows[2].Wanted = true, "ask"
	_, w := settingsWindow(t, d, host, "th", "การตั้งค่าของ Handrail")
	spot(t, w, app.Dark.Button, func(size image.Point) image.Rectangle { return image.Rect(size.X-300, 0, size.X, size.Y-footHeight) })
	must(t, w.SavePicture("../../build/screens/settings_th_dark.png"))
}

// Whatever the keyboard reaches has a name that fits into it, and nothing lies over another thing or out of the window.
func TestSettingsFit(t *testing.T) {
	a := test.NewTempApp(t)
	faces := loaded(t, fonts(t, noto))
	for _, language := range []string{"en", "th"} {
		for _, width := range []float32{620, settingsWidth, 1400} {
			host := newSettingsHost()
			host.now.Problem = "it can't be kept"
			for i := range host.now.Rows { // the longest of each
				r := &host.now.Rows[i]
				r.Asked, r.Missing = true, false
				if r.Name == "workspace" {
					r.Value, r.Wanted = host.now.Folders[0], host.now.Folders[0]
				} else {
					r.Wanted = r.Values[0]
				}
			}
			words := app.NewWords(language)
			w := &settings{app: a, talk: new(app.WindowTalk), faces: faces, words: words, says: words.SettingsWords(), typed: make(map[string]string), now: &host.now}
			w.window = a.NewWindow("")
			w.window.SetPadded(false)
			w.build()
			w.window.Resize(fyne.NewSize(width, settingsHeight))
			w.show()
			reached := 0
			var taken []image.Rectangle
			for _, o := range w.reader.Content.(*fyne.Container).Objects {
				at := image.Rect(int(o.Position().X), int(o.Position().Y), int(o.Position().X+o.Size().Width), int(o.Position().Y+o.Size().Height))
				if at.Min.X < 0 || at.Max.X > int(width) {
					t.Errorf("%s at %v: something lies at %v", language, width, at)
				}
				for _, other := range taken {
					if both := at.Intersect(other); both.Dx() > 1 && both.Dy() > 1 {
						t.Errorf("%s at %v: %v lies over %v", language, width, at, other)
					}
				}
				taken = append(taken, at)
				switch c := o.(type) {
				case *pressable:
					reached++
					if strings.TrimSpace(strings.TrimSuffix(c.name, "▾")) == "" || c.label.width() > c.Size().Width-24+1 {
						t.Errorf("%s at %v: %q doesn't fit into %v", language, width, c.name, c.Size())
					}
				case *field:
					reached++
					if c.hint == "" || c.label.width() > c.Size().Width-24+1 {
						t.Errorf("%s at %v: %q doesn't fit into %v", language, width, c.hint, c.Size())
					}
				}
			}
			if reached != len(w.controls) || reached < 15 {
				t.Errorf("%s at %v: %d controls, of %d", language, width, reached, len(w.controls))
			}
			w.window.Close()
		}
	}
}

// What is typed becomes a whole path where it can.
func TestFullPath(t *testing.T) {
	for typed, want := range map[string]string{"": "", " /a/../b/ ": "/b", "~": "/home/ann", "~/x": "/home/ann/x", "~bob/x": "~bob/x", "x": "x"} {
		if got := fullPath("/home/ann", typed); got != want {
			t.Errorf("%q is %q, want %q", typed, got, want)
		}
	}
}
