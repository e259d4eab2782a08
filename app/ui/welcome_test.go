//go:build linux

package main

import (
	"image"
	"os"
	"path/filepath"
	"testing"

	"handrail/app"
	"handrail/app/apptest"
	"handrail/core"
	"handrail/core/setting"
)

// firstStart is a core as the first window sees it. Whether it starts at login is kept here.
type firstStart struct {
	resident
	login chan string
}

func (f firstStart) Settings() app.Settings {
	workspace, waits := f.Setting(setting.Workspace)
	row := app.Setting{Name: "workspace", Value: workspace}
	if waits != nil {
		row.Asked, row.Wanted = true, waits.Now
	}
	login := app.Setting{Name: "login", Value: "off", Values: []string{"on", "off"}}
	return app.Settings{Usual: filepath.Join(os.Getenv("HOME"), "Handrail"), Rows: []app.Setting{row, login}}
}

func (f firstStart) ChangeSetting(c app.SettingChange) (asks bool, err error) {
	if c.Name == "login" {
		f.login <- c.Value
		return false, nil
	}
	return f.resident.ChangeSetting(c)
}

// welcomes opens the first window.
func welcomes(t *testing.T, d *apptest.Display, language, title string) (firstStart, *apptest.Window) {
	t.Helper()
	h, _, _ := aHost(t, language, func(o *core.Options) {
		key := make([]byte, 32)
		o.Settings = setting.Open(o.State, func(bool) ([]byte, error) { return key, nil })
	})
	f := firstStart{resident{h}, make(chan string, 1)}
	windows := app.NewWindows(f, app.NewWords(language).Fixed(), os.Getenv("HOME"))
	t.Cleanup(windows.Close)
	must(t, windows.Open("welcome"))
	w, err := d.Window(title, long)
	must(t, err)
	return f, w
}

// The three screens, by the pointer: another workspace counts once it is agreed to in the dialog, and an assistant is connected.
func TestWelcome(t *testing.T) {
	d := screen(t)
	files := installed(t, "cursor")
	other := filepath.Join(os.Getenv("HOME"), "Projects")
	must(t, os.Mkdir(other, 0o755))
	f, w := welcomes(t, d, "en", "Welcome to Handrail")
	standing(t, w, app.Light.Button, 1)
	must(t, w.SavePicture("../../build/screens/welcome_limits_en.png"))
	press(t, d, w, app.Light.Button, 0, 1)

	choose := standing(t, w, app.Light.Button, 4)[0]          // Choose; Start at Login; Back and Next
	click(t, d, w, image.Pt(100, choose.Min.Y+choose.Dy()/2)) // the field
	for _, r := range "~/Projects" {
		must(t, d.Key(int(r)))
	}
	press(t, d, w, app.Light.Button, 0, 4)
	dialog, err := d.Window("Handrail: a question", long)
	must(t, err)
	if at, waits := f.Setting(setting.Workspace); at != "" || waits == nil || waits.Now != other {
		t.Errorf("before the click: %q, %+v", at, waits)
	}
	must(t, dialog.Click(app.AllowFill, long), dialog.Gone(long))
	settles(t, f.Host, func() bool {
		at, waits := f.Setting(setting.Workspace)
		return at == other && waits == nil
	})
	press(t, d, w, app.Light.Button, 1, 4)
	if got := <-f.login; got != "on" {
		t.Errorf("start at login: %q", got)
	}
	standing(t, w, app.Light.Button, 4)
	must(t, w.SavePicture("../../build/screens/welcome_place_en.png"))
	press(t, d, w, app.Light.Button, 3, 4)

	standing(t, w, app.Light.Button, 3) // Connect; Back and Done
	must(t, w.SavePicture("../../build/screens/welcome_connect_en.png"))
	at := press(t, d, w, app.Light.Button, 0, 3)
	_, after := golden(t, "cursor")
	holds(t, w, files["cursor"], after)
	coloured(t, w, app.Light.Good, at.Max.Y)
	press(t, d, w, app.Light.Button, 2, 3)
	must(t, w.Gone(long))
}

// By the keyboard, in Thai and the dark: Return leads through the screens, and nothing changes.
func TestWelcomeInThaiAndDark(t *testing.T) {
	d := screen(t)
	must(t, os.WriteFile(filepath.Join(os.Getenv("HOME"), "dark"), nil, 0o644))
	f, w := welcomes(t, d, "th", "ยินดีต้อนรับสู่ Handrail")
	standing(t, w, app.Dark.Button, 1)
	must(t, w.SavePicture("../../build/screens/welcome_limits_th_dark.png"), d.Key(apptest.Tab), d.Key(apptest.Return))
	standing(t, w, app.Dark.Button, 4)
	must(t, w.SavePicture("../../build/screens/welcome_place_th_dark.png"), d.Key(apptest.Return))
	standing(t, w, app.Dark.Button, 2)
	must(t, w.SavePicture("../../build/screens/welcome_connect_th_dark.png"), d.Key(apptest.Return))
	must(t, w.Gone(long))
	if at, waits := f.Setting(setting.Workspace); at != "" || waits != nil || len(f.login) != 0 {
		t.Errorf("%q, %+v, %d", at, waits, len(f.login))
	}
}
