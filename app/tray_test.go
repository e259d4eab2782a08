package app

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"handrail/core/approval"
	"handrail/core/client"
	"handrail/core/grant"
	"handrail/core/program"
	"handrail/core/release"
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
	{"xcode", Status{Xcode: true, Assistants: []Assistant{{ID: "http:a", Name: "A", Level: client.Ask, Tools: []string{"bash"}}}}},
	{"waiting", Status{Address: "http://127.0.0.1:7437", Running: 3, Waiting: waitingNow}},
	{"paused", Status{Address: "http://127.0.0.1:7437", Running: 3, Waiting: waitingNow, Paused: true}},
	{"paused_shortly", Status{Paused: true, PausedUntil: noon.Add(PauseFor)}},
	{"classic", Status{Classic: true}},
	{"busy", busy},
	{"hostile", Status{Address: "http://127.0.0.1:7437/\u202e", Home: "/home/ann", Waiting: waitingNow[:1], Recent: []Activity{
		{noon, "Cl\u0430ude\n\n\n", "edit\x1b", strings.Repeat("รูปที่", 30), OutcomeDone},
	}, Jobs: []Job{{"job-1", "Cl\u0430ude\n", "a\n\tb\u202e" + strings.Repeat("รูปที่", 30), noon}},
		Assistants: []Assistant{{ID: "\u202e", Name: "\n\u202e" + strings.Repeat("long ", 30), Tools: []string{"\u202e"}, Reach: []grant.Reached{{What: grant.SignIn, Host: "\u202emoc"}}, Level: 77, Away: true}},
		Folders:    []Folder{{"x", "\u202e", "/home/ann/" + strings.Repeat("a long name\u202e/", 9), grant.Look}},
		Later:      []Later{{"/home/anna/x\ny", "\u202e", noon}, {"/" + strings.Repeat("very long ", 30), "", noon}},
		Undo:       &Undoable{"\u202e", "", "\u202e", "a\nb"},
	}},
	{"newer", Status{Place: program.DiskImage, Update: release.Status{State: release.Available, Version: "v1.3.0"}, Download: "https://example.com/download"}},
	{"newest", Status{Place: program.SecondCopy, Update: release.Status{State: release.Current, Version: "v1.2.0"}}},
	{"no_news", Status{Place: program.Stays, Update: release.Status{State: release.Stale, Since: noon}, Download: "https://example.com/download"}},
	{"updates_off", Status{Update: release.Status{State: release.Off}}},
	{"many", Status{Running: 1200, Recent: func() (list []Activity) {
		for i := range 15 {
			list = append(list, Activity{noon.Add(time.Duration(-i) * time.Minute), "Claude", "read_file", fmt.Sprintf("%d.txt", i), OutcomeDone})
		}
		return list
	}()}},
}

var waitingNow = []approval.Request{request(approval.EditFolder, nil), undone}

// busy has something of everything.
var busy = Status{Address: "http://127.0.0.1:7437", Home: "/home/ann", Running: 8,
	Jobs: func() (list []Job) {
		for i := range 7 {
			list = append(list, Job{fmt.Sprint("job-", i), "Claude", fmt.Sprint("npm run dev -- --port 300", i), noon.Add(time.Duration(i) * time.Minute)})
		}
		return list
	}(),
	Assistants: []Assistant{
		{ID: "stdio:/opt/claude/claude", Name: "Claude", Level: client.Ask, Tools: []string{"bash", "edit"}, Reach: []grant.Reached{{What: grant.Network}, {What: grant.Loopback}, {What: grant.SignIn, Host: "example.com"}, {What: grant.Clipboard}},
			Held: grant.Held{On: []grant.Switch{grant.Docker}, ToolsOff: []string{"edit"}}, Waiting: []grant.Wish{{Client: "stdio:/opt/claude/claude", Switch: grant.Outside}}},
		{ID: "http:cursor", Name: "Cursor", Level: client.Look, Tools: []string{"read_file"}},
		{ID: "stdio:/opt/old/old", Name: "old", Held: grant.Held{On: []grant.Switch{grant.Xcode}}, Away: true},
	},
	Folders: []Folder{
		{"stdio:/opt/claude/claude", "Claude", "/home/ann/Handrail/Holiday Photos", grant.Edit},
		{"stdio:/opt/claude/claude", "Claude", "/home/ann/Documents/" + strings.Repeat("letters/", 8) + "2026", grant.Copies},
		{"http:cursor", "Cursor", "/home/ann/Downloads", grant.Look},
	},
	Later: func() (list []Later) {
		for i := range 25 {
			list = append(list, Later{fmt.Sprintf("/home/ann/Handrail/site%d/package.json", i), "Claude", noon})
		}
		return list
	}(),
	Undo: &Undoable{"20260304-abc", "Claude", "bash", "rm -rf old"},
}

func TestMenu(t *testing.T) {
	for _, c := range statuses {
		for _, language := range tongues {
			menu := Menu(c.status, NewWords(language))
			golden(t, "menu_"+c.name+"_"+language+".golden", menuText(menu, ""))
			// What is there at first stays, with the separators where they are.
			first := Menu(Status{}, NewWords(language))
			if len(menu) != len(first) {
				t.Fatalf("%s has %d items, the first menu %d", c.name, len(menu), len(first))
			}
			for i := range menu {
				if menu[i].Separator != first[i].Separator {
					t.Errorf("%s: item %d", c.name, i)
				}
			}
			if text := menuText(menu, ""); strings.Contains(text, "\u202e") || strings.Contains(text, "\u0430") {
				t.Errorf("%s is not escaped", c.name)
			}
		}
	}
}

var deeds = [...]string{"", "pause shortly", "pause", "resume", "stop", "revoke folder", "revoke reach", "revoke client", "revoke all", "turn on", "turn off", "undo", "show file", "open page", "look for updates", "ignore updates", "activity", "connect", "settings", "quit"}

func menuText(menu []Item, indent string) string {
	var b strings.Builder
	for _, item := range menu {
		switch {
		case item.Hidden:
		case item.Separator:
			b.WriteString(indent + "----\n")
		default:
			b.WriteString(indent + [...]string{"", "☐ ", "☑ "}[item.Tick] + item.Text)
			if a := item.Action; a != (Action{}) {
				about := deeds[a.Do] + " " + a.Client + " " + a.Job + a.Folder + a.Change + a.Switch + a.Path
				about = strings.ReplaceAll(about, "  ", " ")
				if a.Reach.What != 0 {
					about += a.Reach.What.String() + " " + a.Reach.Host
				}
				fmt.Fprintf(&b, " [%s]", Escape(strings.TrimSpace(about)))
			}
			b.WriteString("\n" + menuText(item.Items, indent+"    "))
		}
	}
	return b.String()
}

// An item that has just become another one takes no click: the person aimed at what stood there.
func TestAimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &tray{settle: settles}
		stop := func(job string) Item { return Item{Text: "Stop", Action: Action{Do: StopJob, Job: job}} }
		s := &slot{shown: stop("a")}
		is := func(want Action) {
			t.Helper()
			if got := tr.aimed(s); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		}
		is(stop("a").Action)
		s.becomes(stop("b"))
		is(Action{})
		time.Sleep(settles - 1)
		is(Action{})
		time.Sleep(time.Nanosecond)
		is(stop("b").Action)
		s.becomes(Item{Text: "Stop it", Action: stop("b").Action}) // only its text
		is(stop("b").Action)
		s.becomes(Item{Hidden: true})
		time.Sleep(settles)
		is(Action{})
		s.becomes(stop("b"))
		is(Action{})
	})
}

func TestIcon(t *testing.T) {
	idle, _ := icon(Status{})
	working, _ := icon(Status{Running: 1})
	waiting, _ := icon(Status{Running: 1, Waiting: waitingNow})
	paused, _ := icon(Status{Running: 1, Waiting: waitingNow, Paused: true})
	if string(idle) == string(working) || string(working) == string(waiting) || string(idle) == string(waiting) {
		t.Error("two states have one icon")
	}
	if string(paused) != string(idle) {
		t.Error("paused looks busy")
	}
}
