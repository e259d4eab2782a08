//go:build linux

package main

import (
	"encoding/csv"
	"errors"
	"image"
	"image/color"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"handrail/app"
	"handrail/app/apptest"
	"handrail/core/approval"
	"handrail/core/audit"
)

// theLog is a core with an activity log, as windows see it.
type theLog struct {
	app.Connector
	mu      sync.Mutex
	records []audit.Record // the oldest first
	changed map[int]func()
	next    int
	asked   chan string // what the person is asked to undo
}

func newLog(records ...audit.Record) *theLog {
	l := &theLog{changed: make(map[int]func()), asked: make(chan string, 10)}
	for _, r := range records {
		l.append(r)
	}
	return l
}

func (l *theLog) append(r audit.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Seq = uint64(len(l.records) + 1)
	if r.Time.IsZero() {
		r.Time = time.Date(2026, 3, 4, 12, 0, len(l.records), 0, time.UTC)
	}
	l.records = append(l.records, r)
	for _, f := range l.changed {
		f()
	}
}

func (l *theLog) Subscribe(f func()) func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.next
	l.next++
	l.changed[n] = f
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.changed, n)
	}
}

func (l *theLog) Records(before int64, most, _ int) (page []audit.Record, next int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before == 0 {
		before = int64(len(l.records))
	}
	from := max(0, int(before)-most)
	page = slices.Clone(l.records[from:before])
	slices.Reverse(page)
	return page, int64(from), nil
}

func (l *theLog) Answer(call string) (string, bool) {
	return "Holiday Photos/list.txt (+1 −1 lines)\n@@ -1,2 +1,2 @@\n June\n-sea\n+lake\n", call == "edit"
}

func (l *theLog) LookUndo(change string) (approval.Request, error) {
	if change != "change-1" {
		return approval.Request{}, errors.New("everything is as it was before already")
	}
	return approval.Request{Kind: approval.UndoChange, Home: "/home/ann", Undo: &approval.Undo{Change: change, Time: time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC),
		Client: "Claude", Tool: "edit", Folder: "/home/ann/Handrail/Holiday Photos", Old: []string{"/home/ann/Handrail/Holiday Photos/list.txt"},
		Diff: "M /home/ann/Handrail/Holiday Photos/list.txt\n@@ -1,2 +1,2 @@\n June\n-lake\n+sea\n"}}, nil
}

func (l *theLog) AskUndo(change string) error {
	l.asked <- change
	return nil
}

// some is a log with something of everything, the newest last.
func some() *theLog {
	const claude, cursor = "Claude", "Cursor"
	return newLog(
		audit.Record{Kind: audit.Note, Text: audit.Started, Detail: "workspace /home/ann/Handrail"},
		audit.Record{Kind: audit.Intent, Call: "list", Client: claude, Tool: "list_files", Text: "."},
		audit.Record{Kind: audit.Result, Call: "list", Client: claude, Tool: "list_files", Text: ".", Outcome: "ok"},
		audit.Record{Kind: audit.Question, Call: "net", Client: cursor, Tool: "request_access", Text: "network", Paths: []string{""}},
		audit.Record{Kind: audit.Decision, Call: "net", Client: cursor, Tool: "request_access", Text: "network", By: "dialog", Outcome: "refused"},
		audit.Record{Kind: audit.Result, Call: "net", Client: cursor, Tool: "request_access", Text: "network", Outcome: "refused"},
		audit.Record{Kind: audit.Intent, Call: "make", Client: claude, Tool: "bash", Text: "make all && ./configure --prefix=/home/ann/very/long/path/that/does/not/fit/into/the/list", Paths: []string{"/home/ann/Handrail/site"}},
		audit.Record{Kind: audit.Result, Call: "make", Client: claude, Tool: "bash", Text: "make all && ./configure --prefix=/home/ann/very/long/path/that/does/not/fit/into/the/list", Outcome: "failed", Detail: "exit code 2", RunsLater: []string{"/home/ann/Handrail/site/Makefile"}},
		audit.Record{Kind: audit.Intent, Call: "thai", Client: claude, Tool: "read_file", Text: "รูปถ่าย/น้ำตกแม่สาและผู้ร่วมเดินทาง.txt"},
		audit.Record{Kind: audit.Result, Call: "thai", Client: claude, Tool: "read_file", Text: "รูปถ่าย/น้ำตกแม่สาและผู้ร่วมเดินทาง.txt", Outcome: "ok"},
		audit.Record{Kind: audit.Intent, Call: "odd", Client: "Cl\u0430ude\u202e", Tool: "bash", Text: "echo \u202e\x1b[2J"},
		audit.Record{Kind: audit.Question, Call: "edit", Client: claude, Tool: "edit", Text: "edit_folder", Paths: []string{"/home/ann/Handrail/Holiday Photos"}},
		audit.Record{Kind: audit.Decision, Call: "edit", Client: claude, Tool: "edit", Text: "edit_folder", By: "dialog", Outcome: "allowed"},
		audit.Record{Kind: audit.Intent, Call: "edit", Client: claude, Program: "/opt/claude/claude", Session: "LWNOB7XFVUX5M3QZKQGT2TXAZI", Tool: "edit", Text: "Holiday Photos/list.txt", Paths: []string{"/home/ann/Handrail/Holiday Photos/list.txt"}, By: "dialog on /home/ann/Handrail/Holiday Photos"},
		audit.Record{Kind: audit.Result, Call: "edit", Client: claude, Program: "/opt/claude/claude", Session: "LWNOB7XFVUX5M3QZKQGT2TXAZI", Tool: "edit", Text: "Holiday Photos/list.txt", Paths: []string{"/home/ann/Handrail/Holiday Photos/list.txt"}, Outcome: "ok", Changes: []string{"change-1"}},
	)
}

// spot is where a part of the window has a colour: the first such block from the top left of a rectangle.
func spot(t *testing.T, w *apptest.Window, c color.NRGBA, in func(size image.Point) image.Rectangle) image.Point {
	t.Helper()
	deadline := time.Now().Add(long)
	for {
		img, err := w.Picture()
		must(t, err)
		r := in(img.Rect.Size())
		for y := r.Min.Y; y < r.Max.Y-8; y++ {
			for x := r.Min.X; x < r.Max.X-8; x++ {
				all := true
				for dy := 0; dy < 8 && all; dy++ {
					for dx := 0; dx < 8 && all; dx++ {
						p := img.RGBAAt(x+dx, y+dy)
						all = p.R == c.R && p.G == c.G && p.B == c.B
					}
				}
				if all {
					return image.Pt(x+4, y+4)
				}
			}
		}
		if time.Now().After(deadline) {
			must(t, w.SavePicture("../../build/screens/activity_failed.png"))
			t.Fatalf("no %v in %v", c, r)
		}
		_, _ = w.Changes(img, 100*time.Millisecond)
	}
}

// firstChosen has the keyboard choose the first entry, once there is one.
func firstChosen(t *testing.T, d *apptest.Display, w *apptest.Window, chosen color.NRGBA) {
	t.Helper()
	choose(t, w, 0, chosen, func() { must(t, d.Key(apptest.Home)) })
}

// choose does what chooses the entry in a row, again until it is chosen: done twice it must do the same.
func choose(t *testing.T, w *apptest.Window, row int, chosen color.NRGBA, do func()) {
	t.Helper()
	for deadline := time.Now().Add(long); ; {
		img, err := w.Picture()
		must(t, err)
		if p := img.RGBAAt(6, barHeight+row*rowHeight+rowHeight/2); p.R == chosen.R && p.G == chosen.G && p.B == chosen.B {
			return
		}
		if time.Now().After(deadline) {
			must(t, w.SavePicture("../../build/screens/activity_failed.png"))
			t.Fatalf("entry %d isn't chosen", row)
		}
		do()
		_, _ = w.Changes(img, 200*time.Millisecond)
	}
}

func click(t *testing.T, d *apptest.Display, w *apptest.Window, at image.Point) {
	t.Helper()
	place, err := w.Place()
	must(t, err, d.Move(place.Min.X+at.X, place.Min.Y+at.Y), d.Press(1), d.Release(1))
}

// exports are the tables that come into a folder.
type exports struct {
	folder string
	events *os.File // inotify(7)
}

func watchExports(t *testing.T, folder string) *exports {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	must(t, err)
	x := &exports{folder, os.NewFile(uintptr(fd), "inotify")}
	t.Cleanup(func() { x.events.Close() })
	_, err = unix.InotifyAddWatch(fd, folder, unix.IN_CLOSE_WRITE)
	must(t, err)
	return x
}

// next waits until the next table is written and gives the texts of its rows.
func (x *exports) next(t *testing.T) (texts []string) {
	t.Helper()
	must(t, x.events.SetReadDeadline(time.Now().Add(long)))
	event := make([]byte, unix.SizeofInotifyEvent+unix.NAME_MAX+1) // holds one with the longest name, or some that are shorter
	n, err := x.events.Read(event)
	if err != nil {
		t.Fatalf("no table: %v", err)
	}
	name, _, _ := strings.Cut(string(event[unix.SizeofInotifyEvent:n]), "\x00")
	f, err := os.Open(filepath.Join(x.folder, name))
	must(t, err)
	rows, err := csv.NewReader(f).ReadAll()
	must(t, err, f.Close())
	for _, r := range rows[1:] {
		texts = append(texts, r[4])
	}
	return texts
}

// The activity window, driven by the pointer and the keyboard.
func TestActivity(t *testing.T) {
	d := screen(t)
	home := os.Getenv("HOME")
	must(t, os.Mkdir(filepath.Join(home, "Downloads"), 0o755))
	tables := watchExports(t, filepath.Join(home, "Downloads"))
	log := some()
	windows := app.NewWindows(log, app.NewWords("en").Fixed(), home)
	t.Cleanup(windows.Close)
	must(t, windows.Open("activity"))
	w, err := d.Window("Handrail: activity", long)
	must(t, err)
	asked := func(want string) {
		t.Helper()
		select {
		case got := <-log.asked:
			if got != want {
				t.Errorf("asked to undo %s, want %s", got, want)
			}
		case <-time.After(long):
			must(t, w.SavePicture("../../build/screens/activity_failed.png"))
			t.Fatalf("not asked to undo %s", want)
		}
	}
	right := func(size image.Point) image.Rectangle {
		return image.Rect(590, barHeight, size.X, size.Y-footHeight)
	}

	// The keyboard chooses the first entry; what is known of it comes, with a button to undo it.
	firstChosen(t, d, w, app.Light.Chosen)
	undo := spot(t, w, app.Light.Button, right)
	must(t, w.SavePicture("../../build/screens/activity_en.png"))
	click(t, d, w, undo)
	asked("change-1")
	// The keyboard undoes it too.
	firstChosen(t, d, w, app.Light.Chosen)
	framed := func() bool {
		img, err := w.Picture()
		must(t, err)
		for y := undo.Y - controlHeight; y < undo.Y; y++ {
			if p := img.RGBAAt(undo.X, y); int(p.B)-int(p.R) > 40 {
				return true
			}
		}
		return false
	}
	for n := 0; !framed(); n++ {
		before, err := w.Picture()
		must(t, err, d.Key(apptest.Tab))
		if _, err = w.Changes(before, long); err != nil || n > 10 {
			must(t, w.SavePicture("../../build/screens/activity_failed.png"))
			t.Fatalf("the keyboard doesn't come to Undo: %v", err)
		}
	}
	must(t, d.Key(apptest.Return))
	asked("change-1")
	// What is looked for is what is listed, and what is exported.
	search := image.Pt(60, barHeight/2)
	export := image.Pt(activityWidth-30, barHeight/2)
	click(t, d, w, search)
	for _, r := range "list" {
		must(t, d.Key(int(r)))
	}
	click(t, d, w, export)
	if got := tables.next(t); strings.Join(got, "|") != "Holiday Photos/list.txt|make all && ./configure --prefix=/home/ann/very/long/path/that/does/not/fit/into/the/list|." {
		t.Errorf("%q", got)
	}
	// What happens meanwhile comes by itself.
	log.append(audit.Record{Kind: audit.Result, Call: "new", Client: "Claude", Tool: "bash", Text: "ls list", Outcome: "ok"})
	spotNew := func() []string {
		for n := 2; ; n++ {
			click(t, d, w, export)
			if got := tables.next(t); len(got) != 3 || n > 50 {
				return got
			}
		}
	}
	if got := spotNew(); len(got) != 4 || got[0] != "ls list" {
		t.Errorf("%q", got)
	}

	// One window of a kind; a second click brings it to the front.
	must(t, windows.Open("activity"))
	if again, err := d.Window("Handrail: activity", long); err != nil || again.PID() != w.PID() {
		t.Errorf("another window: %v", err)
	}
	pid := w.PID()
	// Closed and opened again at once, while the process of the first ends.
	must(t, w.Close(), w.Gone(long), windows.Open("activity"))
	gone(t, pid)
	w, err = d.Window("Handrail: activity", long)
	must(t, err)
	if w.PID() == pid {
		t.Error("it was not closed")
	}
	// The resident's end is the window's.
	pid = w.PID()
	windows.Close()
	must(t, w.Gone(long))
	gone(t, pid)
	if err := windows.Open("activity"); err == nil {
		t.Error("a window opens after the end")
	}
}

// gone waits until a process has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return
	}
	must(t, err)
	defer unix.Close(fd)
	for deadline := time.Now().Add(long); ; {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(time.Until(deadline).Milliseconds()))
		switch {
		case errors.Is(err, unix.EINTR) && time.Now().Before(deadline):
			continue
		case err != nil || n == 0:
			t.Fatalf("process %d runs: %v", pid, err)
		}
		return
	}
}

func TestActivityInThaiAndDark(t *testing.T) {
	d := screen(t)
	must(t, os.WriteFile(filepath.Join(os.Getenv("HOME"), "dark"), nil, 0o644))
	windows := app.NewWindows(some(), app.NewWords("th").Fixed(), os.Getenv("HOME"))
	defer windows.Close()
	must(t, windows.Open("activity"))
	w, err := d.Window("กิจกรรมของ Handrail", long)
	must(t, err)
	firstChosen(t, d, w, app.Dark.Chosen)
	// Each key counts, however fast they come.
	must(t, d.Key(apptest.Down), d.Key(apptest.Down), d.Key(apptest.Down), d.Key(apptest.Down))
	choose(t, w, 4, app.Dark.Chosen, func() {})
	choose(t, w, 2, app.Dark.Chosen, func() { click(t, d, w, image.Pt(60, barHeight+2*rowHeight+rowHeight/2)) })
	must(t, w.SavePicture("../../build/screens/activity_th_dark.png"))
}
