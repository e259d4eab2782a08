package app

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

var statuses = []struct {
	name   string
	status Status
}{
	{"new", Status{}},
	{"idle", Status{Address: "http://127.0.0.1:7437", Searches: true, Searched: 1234, Recent: []Activity{{noon, "Claude", "edit", "Holiday Photos/list.txt", OutcomeDone}}}},
	{"working", Status{Address: "http://127.0.0.1:7437", Running: 1, Searches: true, Searched: 1, Reading: true, Recent: []Activity{
		{noon, "Claude", "bash", "", OutcomeRunning},
		{noon.Add(-time.Minute), "Cursor", "write_file", "notes.txt", OutcomeRefused},
		{noon.Add(-time.Hour), "Cursor", "bash", "", OutcomeFailed},
		{noon.Add(-9 * time.Hour), "Cursor", "bash", "", "exploded"},
	}}},
	{"waiting", Status{Address: "http://127.0.0.1:7437", Running: 3, Waiting: 2}},
	{"paused", Status{Address: "http://127.0.0.1:7437", Running: 3, Waiting: 2, Paused: true}},
	{"hostile", Status{Address: "http://127.0.0.1:7437/\u202e", Waiting: 1, Recent: []Activity{
		{noon, "Cl\u0430ude\n\n\n", "edit\x1b", strings.Repeat("รูปที่", 30), OutcomeDone},
	}}},
	{"many", Status{Running: 1200, Recent: func() (list []Activity) {
		for i := range 15 {
			list = append(list, Activity{noon.Add(time.Duration(-i) * time.Minute), "Claude", "read_file", fmt.Sprintf("%d.txt", i), OutcomeDone})
		}
		return list
	}()}},
}

func TestMenu(t *testing.T) {
	for _, c := range statuses {
		for _, language := range tongues {
			menu := Menu(c.status, NewWords(language))
			golden(t, "menu_"+c.name+"_"+language+".golden", menuText(menu, ""))
			if got, want := len(flat(menu)), len(flat(Menu(Status{}, NewWords("en")))); got != want {
				t.Errorf("%s has %d items, the others %d", c.name, got, want)
			}
		}
	}
}

func menuText(menu []Item, indent string) string {
	var b strings.Builder
	for _, item := range menu {
		switch {
		case item.Hidden:
		case item.Separator:
			b.WriteString(indent + "----\n")
		default:
			b.WriteString(indent + item.Text)
			if item.Action != NoAction {
				fmt.Fprintf(&b, " [%s]", [...]string{"", "pause", "resume", "revoke all", "quit"}[item.Action])
			}
			b.WriteString("\n" + menuText(item.Items, indent+"    "))
		}
	}
	return b.String()
}

func TestIcon(t *testing.T) {
	idle, _ := icon(Status{})
	working, _ := icon(Status{Running: 1})
	waiting, _ := icon(Status{Running: 1, Waiting: 1})
	paused, _ := icon(Status{Running: 1, Waiting: 1, Paused: true})
	if string(idle) == string(working) || string(working) == string(waiting) || string(idle) == string(waiting) {
		t.Error("two states have one icon")
	}
	if string(paused) != string(idle) {
		t.Error("paused looks busy")
	}
}
