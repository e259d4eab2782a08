package core

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"handrail/core/approval"
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
		r.Changes, r.Undid = []string{u.ID}, id
		r.Detail = fmt.Sprintf("%d files, as %s", len(u.Files), u.ID)
	}
	for _, f := range u.Files[:min(len(u.Files), mostRecorded)] {
		r.Paths = append(r.Paths, f.Path())
	}
	if len(u.Left) > 0 {
		r.Detail += fmt.Sprintf("; %d left as they are", len(u.Left))
	}
	h.record(r)
	return u, err
}

// AskUndo asks the person whether a change is to be put back, by a question that shows what comes back, and does it if they say
// so. It returns once the question waits; an error says that nothing can be put back.
func (h *Host) AskUndo(id string) error {
	if h.life.Err() != nil {
		return errQuits
	}
	r, err := h.LookUndo(id)
	if code := hint.Code(err); code == "not_found" || code == "nothing_to_undo" {
		h.undoable.drop(id)
		h.changed()
	}
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.life.Err() != nil {
		return errQuits
	}
	h.asking.Go(func() {
		outcome, detail := h.askUndo(r)
		if outcome != "" {
			h.record(audit.Record{Kind: audit.Note, Text: "not undone " + id, Outcome: outcome, Detail: detail})
		}
	})
	return nil
}

var errQuits = hint.New("closed", "Handrail is about to quit")

// LookUndo is the question whether to undo a change, as things stand now. It asks nobody.
func (h *Host) LookUndo(id string) (r approval.Request, err error) {
	p, err := h.kept.Preview(id)
	if err != nil {
		return r, err
	}
	if len(p.Undoes) == 0 {
		x := hint.New("stale", "nothing of this change can be put back")
		if len(p.Left) > 0 {
			x = x.Because(p.Left[0].Path + ": " + p.Left[0].Why)
		}
		return r, x
	}
	u := &approval.Undo{Change: id, Time: p.Time.Local(), Folder: p.Folder, Diff: p.Diff, DiffMore: p.DiffMore, More: p.UndoesCount - len(p.Undoes)}
	if len(p.By) > 0 {
		u.Client, u.Tool, u.Text = p.By[0].Client, p.By[0].Tool, p.By[0].Text
	}
	for _, f := range p.Undoes {
		switch f.How {
		case edit.Created:
			u.Back = append(u.Back, f.Path())
		case edit.Deleted:
			u.Gone = append(u.Gone, f.Path())
		default:
			u.Old = append(u.Old, f.Path())
		}
	}
	for _, l := range p.Left[:min(len(p.Left), approval.MaxListed)] {
		u.Left = append(u.Left, approval.Left(l))
	}
	u.LeftMore = len(p.Left) - len(u.Left)
	return approval.Request{Kind: approval.UndoChange, Home: h.opts.Home, Undo: u}, nil
}

// askUndo asks, and undoes the change if the person says so and what they were shown still holds. outcome is "" if Undo was
// called, which records by itself.
func (h *Host) askUndo(r approval.Request) (outcome, detail string) {
	id := r.Undo.Change
	d := h.queue.Ask(h.life, nil, h.life, "undo\x00"+id, r, approval.Lives).Decision
	if d.Verdict != approval.Allowed {
		return d.Verdict.String(), d.Detail
	}
	now, err := h.LookUndo(id)
	if err == nil {
		err = d.Covers(now)
	}
	if err != nil {
		return "changed", err.Error()
	}
	if _, err := h.Undo(id, len(now.Undo.Left) > 0); err != nil {
		h.log.Warn("a change was not undone", "error", err)
	}
	return "", ""
}

// Change is something that can be undone, in short.
type Change struct {
	ID                 string
	Time               time.Time
	Client, Tool, Text string // Client is what it calls itself
	undoOf             string
}

// undoable are the changes that can be undone, the newest first. The zero value has none yet.
type undoable struct {
	mu   sync.Mutex
	list []Change
}

// mostUndoable is how many of them are at hand for the menu.
const mostUndoable = 500

// load adds the changes that were kept before.
func (u *undoable) load(changes []edit.Change) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, c := range changes {
		if len(u.list) >= mostUndoable {
			return
		}
		if slices.ContainsFunc(u.list, func(x Change) bool { return x.ID == c.ID }) {
			continue
		}
		x := Change{ID: c.ID, Time: c.Time, undoOf: c.UndoOf}
		if len(c.By) > 0 {
			x.Client, x.Tool, x.Text = c.By[0].Client, c.By[0].Tool, c.By[0].Text
		}
		u.list = append(u.list, x)
	}
}

// take adds what a record tells of.
func (u *undoable) take(r audit.Record) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, id := range r.Changes {
		u.list = slices.Insert(u.list, 0, Change{ID: id, Time: r.Time, Client: r.Client, Tool: r.Tool, Text: r.Text, undoOf: r.Undid})
	}
	u.list = u.list[:min(len(u.list), mostUndoable)]
}

func (u *undoable) drop(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.list = slices.DeleteFunc(u.list, func(c Change) bool { return c.ID == id })
}

// last is the newest change that is no undo and wasn't undone; nil when there is none.
func (u *undoable) last() *Change {
	u.mu.Lock()
	defer u.mu.Unlock()
	undone := make(map[string]bool)
	for _, c := range u.list {
		switch {
		case undone[c.ID]:
		case c.undoOf != "":
			undone[c.undoOf] = true
		default:
			return &c
		}
	}
	return nil
}
