//go:build linux

package main

import (
	"image"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"handrail/app"
	"handrail/app/apptest"
	"handrail/core"
)

// assistantOf connects an assistant to a host, as on stdio.
func assistantOf(t *testing.T, h *core.Host) *mcp.ClientSession {
	t.Helper()
	in, toHost := io.Pipe()
	fromHost, out := io.Pipe()
	go func() {
		_ = h.ServeStdio(t.Context(), in, out)
		out.Close()
	}()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "Claude"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: fromHost, Writer: toHost}, nil)
	must(t, err)
	t.Cleanup(func() { s.Close(); toHost.Close() })
	return s
}

// settled waits until a window stands still.
func settled(t *testing.T, w *apptest.Window) {
	t.Helper()
	for late := time.Now().Add(long); time.Now().Before(late); {
		img, err := w.Picture()
		must(t, err)
		if _, err := w.Changes(img, 500*time.Millisecond); err != nil {
			return
		}
	}
	t.Fatal("it doesn't stand still")
}

// A change is undone from the activity window by two clicks, its undo as well, and what was changed since is left as it is.
func TestUndoByClicks(t *testing.T) {
	d := screen(t)
	h, windows, _ := aHost(t, "en", nil)
	file := filepath.Join(os.Getenv("HOME"), "Handrail", "letters", "a.txt")
	must(t, os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("old\n"), 0o644))
	s := assistantOf(t, h)
	writes := func(text string) chan error {
		done := make(chan error, 1)
		go func() {
			r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "write_file", Arguments: map[string]any{"path": "letters/a.txt", "content": text, "overwrite": true}})
			if err == nil && r.IsError {
				t.Errorf("write_file: %s", r.Content[0].(*mcp.TextContent).Text)
			}
			done <- err
		}()
		return done
	}
	allow := func() {
		t.Helper()
		dialog, err := d.Window("Handrail: a question", long)
		must(t, err)
		must(t, dialog.MoveTo(100, 100), dialog.Click(app.AllowFill, long), dialog.Gone(long))
	}
	holdsText := func(want string) {
		t.Helper()
		settles(t, h, func() bool { text, err := os.ReadFile(file); return err == nil && string(text) == want })
	}
	written := writes("new\n")
	allow()
	must(t, <-written)
	holdsText("new\n")

	must(t, windows.Open("activity"))
	w, err := d.Window("Handrail: activity", long)
	must(t, err)
	right := func(size image.Point) image.Rectangle {
		return image.Rect(590, barHeight, size.X, size.Y-footHeight)
	}
	withUndo := 0      // buttons, where an undo is among them
	newest := func() { // chooses the newest entry, once the window has it
		t.Helper()
		settled(t, w)
		click(t, d, w, image.Pt(200, barHeight+rowHeight/2))
		firstChosen(t, d, w, app.Light.Chosen)
		settled(t, w)
	}
	undo := func() {
		t.Helper()
		newest()
		img, err := w.Picture()
		must(t, err)
		withUndo = len(buttonsOf(img, app.Light.Button))
		click(t, d, w, spot(t, w, app.Light.Button, right))
		allow()
		settles(t, h, func() bool {
			records, _, err := h.Records(0, 1, 1<<20)
			return err == nil && len(records) == 1 && strings.HasPrefix(records[0].Text, "undone")
		})
	}
	undo()
	holdsText("old\n")
	undo()
	holdsText("new\n")

	// The person changes it; what an assistant did before isn't undone over it.
	must(t, os.WriteFile(file, []byte("mine\n"), 0o644))
	newest()
	standing(t, w, app.Light.Button, withUndo-1)
	if last := h.Status().LastChange; last == nil {
		t.Error("nothing was changed")
	} else if _, err := h.LookUndo(last.ID); err == nil {
		t.Error("what was changed since can be undone")
	}
	must(t, w.SavePicture("../../build/screens/activity_stale_en.png"))
	holdsText("mine\n")
}
