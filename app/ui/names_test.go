//go:build linux

package main

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/test"

	"handrail/app"
	"handrail/core/assistant"
	"handrail/core/audit"
)

// worked lists what a person works in a tree of objects: what the pointer presses and the keyboard reaches.
func worked(o fyne.CanvasObject) (all []fyne.CanvasObject) {
	_, taps := o.(fyne.Tappable)
	_, presses := o.(desktop.Mouseable)
	_, reached := o.(fyne.Focusable)
	if taps || presses || reached {
		all = append(all, o)
	}
	var within []fyne.CanvasObject
	switch o := o.(type) {
	case *fyne.Container:
		within = o.Objects
	case *container.Scroll:
		within = []fyne.CanvasObject{o.Content}
	case fyne.Widget:
		within = test.WidgetRenderer(o).Objects()
	}
	for _, o := range within {
		all = append(all, worked(o)...)
	}
	return all
}

// Everything that a person can work in a window has a name of its own for who doesn't see it.
func TestNames(t *testing.T) {
	a := test.NewTempApp(t)
	faces := loaded(t, fonts(t, noto))
	named, nameless, windows := 0, 0, 0
	check := func(what string, w fyne.Window) {
		t.Helper()
		defer w.Close()
		windows++
		names := make(map[string]fyne.CanvasObject)
		here := 0
		for _, o := range worked(w.Content()) {
			kind := reflect.TypeOf(o).Elem()
			if kind.Name() == "listItem" || kind.Name() == "Scroll" { // Fyne's: the row in it has a name, and what is scrolled
				continue
			}
			x, ok := o.(fyne.Accessible)
			if !ok || strings.TrimSpace(strings.Trim(x.AccessibilityLabel(), ":▾ ")) == "" {
				t.Errorf("%s: a %v at %v without a name", what, kind, o.Position())
				nameless++
				continue
			}
			if same := names[x.AccessibilityLabel()]; same != nil {
				t.Errorf("%s: two are called %q", what, x.AccessibilityLabel())
			}
			names[x.AccessibilityLabel()] = o
			here++
		}
		if named += here; here < 1 {
			t.Errorf("%s: nothing to work in it", what)
		}
	}
	for _, language := range []string{"en", "th"} {
		words := app.NewWords(language)
		for _, change := range []func(q *app.Question){func(*app.Question) {}, func(q *app.Question) { q.Always = "Always" }, func(q *app.Question) { q.Quiet = "Quiet" }} {
			q, err := app.NewQuestion(request(), words)
			must(t, err)
			change(&q)
			d := &dialogWindow{talk: &app.Conversation{Request: app.DialogRequest{Question: q}}, faces: faces}
			d.build(a)
			check(language+" dialog", d.window)
		}

		list := &activity{app: a, talk: new(app.WindowTalk), faces: faces, words: words, says: words.Activity()}
		list.window = a.NewWindow("")
		list.window.Resize(fyne.NewSize(activityWidth, activityHeight))
		list.build()
		for i := range 5 {
			list.book.Newer([]audit.Record{{Seq: uint64(i + 1), Kind: audit.Result, Call: fmt.Sprint(i), Client: "Claude", Tool: "bash", Text: fmt.Sprint("make ", i), Outcome: "ok"}})
		}
		list.showClients()
		list.find()
		check(language+" activity", list.window)

		host := newSettingsHost()
		set := &settings{app: a, talk: new(app.WindowTalk), faces: faces, words: words, says: words.SettingsWords(), typed: make(map[string]string), now: &host.now}
		set.window = a.NewWindow("")
		set.window.Resize(fyne.NewSize(settingsWidth, settingsHeight))
		set.build()
		check(language+" settings", set.window)

		for _, step := range []int{-1, 0, 1, 2} {
			w := &welcome{connect: prepareConnect(a, new(app.WindowTalk), faces, words), tells: words.WelcomeWords(), step: step, set: &host.now}
			w.write = w.screen
			if step < 0 {
				w.write = w.ways
			}
			w.now = &app.Connections{PairAt: "http://127.0.0.1:7438/mcp", Assistants: []assistant.Assistant{
				{ID: "a", Name: "A", State: assistant.Apart}, {ID: "b", Name: "B", State: assistant.Apart}, {ID: "c", Name: "C", State: assistant.Different}, {ID: "d", Name: "D", State: assistant.Connected}}}
			w.window = a.NewWindow("")
			w.window.Resize(fyne.NewSize(connectWidth, connectHeight))
			w.build()
			check(fmt.Sprint(language, " connect, screen ", step), w.window)
		}
	}
	t.Logf("names cases: %d that a person works in %d windows, %d without a name", named, windows, nameless)
}
