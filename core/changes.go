package core

import (
	"fmt"

	"handrail/core/audit"
	"handrail/core/edit"
	"handrail/core/grant"
	"handrail/core/hint"
)

// reachable reports whether a session may read or change what lies at path.
func (h *Host) reachable(path string) bool {
	if grant.Within(h.opts.Workspace, path) {
		return true
	}
	for _, held := range h.grants.All() {
		for _, g := range held {
			if g.Contains(path) {
				return true
			}
		}
	}
	return false
}

// Changes lists what assistants changed and the person can have put back, the newest first: what commands did, edits, and
// what was put back.
func (h *Host) Changes() []edit.Change { return h.kept.Changes() }

// mostRecorded is how many files of an undo the activity log names.
const mostRecorded = 100

// Undo puts back what stood before a change. Files that were changed since stay as they are: if there are any, nothing is
// done unless rest asks for the others. Only the person may ask for it; no tool does. See [edit.Snapshots.Undo] for the
// errors.
func (h *Host) Undo(id string, rest bool) (edit.Undone, error) {
	if err := h.audit.Append(audit.Record{Kind: audit.Note, Text: "undoing " + id}); err != nil {
		return edit.Undone{}, hint.New("no_record", "nothing was put back").Because("the activity log can't be written, and nothing happens unrecorded").Wrap(err)
	}
	u, err := h.kept.Undo(id, rest)
	r := audit.Record{Kind: audit.Note, Text: "undone " + id, Outcome: "ok"}
	if err != nil {
		r.Text, r.Outcome = "not undone "+id, hint.Code(err)
	}
	if u.ID != "" {
		r.Detail = fmt.Sprintf("%d files, as %s", len(u.Files), u.ID)
	}
	for _, f := range u.Files[:min(len(u.Files), mostRecorded)] {
		r.Paths = append(r.Paths, f.Path())
	}
	if len(u.Left) > 0 {
		r.Detail += fmt.Sprintf("; %d left as they are", len(u.Left))
	}
	if rerr := h.audit.Append(r); rerr != nil {
		h.log.Error("the activity log failed", "error", rerr)
	}
	h.changed()
	return u, err
}
