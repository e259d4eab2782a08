package core

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"handrail/core/audit"
	"handrail/core/hint"
)

// What a command deleted is listed, and put back by the person alone; the activity log says so.
func TestUndo(t *testing.T) {
	o := options(t)
	h := newHost(t, o)
	c, _ := joined(t, h)
	file := filepath.Join(h.opts.Workspace, "proj", "notes.txt")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("mine\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	if text, failed := call(t, c, "request_access", map[string]any{"folder": "proj"}); failed {
		t.Fatal(text)
	}
	if text, failed := call(t, c, "bash", map[string]any{"command": "rm proj/notes.txt && echo x > proj/new.txt"}); failed {
		t.Fatal(text)
	}
	changes := h.Changes()
	if len(changes) != 1 || changes[0].Count != 2 || changes[0].By[0].Tool != "bash" {
		t.Fatalf("%+v", changes)
	}
	u, err := h.Undo(changes[0].ID, false)
	if err != nil || len(u.Left) > 0 {
		t.Fatal(err, u)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(file), "new.txt")); err == nil {
		t.Error("what the command made is still there")
	}
	if _, err := h.Undo("no-such-change", true); err == nil {
		t.Error("a change that isn't there was undone")
	}
	var notes []string
	for _, r := range h.audit.Recent(50, audit.Note) {
		if r.Outcome != "" || strings.HasPrefix(r.Text, "undo") {
			notes = append(notes, r.Text+" "+r.Outcome)
		}
	}
	for _, want := range []string{"undoing " + changes[0].ID + " ", "undone " + changes[0].ID + " ok", "not undone no-such-change " + hint.Code(func() error { _, err := h.Undo("no-such-change", true); return err }())} {
		if !slices.Contains(notes, want) {
			t.Errorf("the log has no %q: %q", want, notes)
		}
	}
}
