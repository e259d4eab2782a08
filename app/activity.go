package app

import (
	"encoding/csv"
	"io"
	"slices"
	"strings"
	"time"

	"handrail/core/audit"
)

// Entry is one thing that happened, as the activity window lists it: a call with its questions and its result, what the person did,
// or a note of Handrail's own. Its texts may be anyone's: whoever shows one escapes it.
type Entry struct {
	// Call names the call in the activity log; "" for what is none.
	Call string
	// Seq is the number of the newest record that was taken up, At when the first of them was written.
	Seq             uint64
	At              time.Time
	Client, Program string
	Session         string
	Tool, Text      string
	Paths           []string
	// By says what allowed it. Code is the outcome as the log has it, Detail what the log says besides.
	By, Code, Detail string
	Outcome          Outcome
	// Changes can be undone; Undid is the change that this entry put back.
	Changes   []string
	Undid     string
	RunsLater []string

	ended  bool // its result was taken up
	folded string
}

// Sort is what kind of thing an entry is. The zero value is any.
type Sort string

const (
	AnySort  Sort = ""
	Commands Sort = "commands"
	Edits    Sort = "edits"
	Reads    Sort = "reads"
	Asks     Sort = "asks" // asking for a right
	Own      Sort = "own"  // Handrail's own notes, and what the person did
)

// Sorts are all of them, Outcomes all outcomes that can be looked for.
var (
	Sorts    = []Sort{AnySort, Commands, Edits, Reads, Asks, Own}
	Outcomes = []Outcome{"", OutcomeDone, OutcomeRefused, OutcomeFailed, OutcomeRunning}
)

var sortOf = map[string]Sort{
	"bash": Commands, "bash_bg": Commands, "exec": Commands, "process": Commands, "python_exec": Commands, "git": Commands,
	"edit": Edits, "write_file": Edits, "apply_patch": Edits,
	"read_file": Reads, "list_files": Reads, "rag_search": Reads, "request_access": Asks, "": Own,
}

// Sort gives the entry's sort. A tool that isn't known runs something, for all that is known.
func (e *Entry) Sort() Sort {
	if s, ok := sortOf[e.Tool]; ok {
		return s
	}
	return Commands
}

// OutcomeOf reads how a record of the activity log says that something ended.
func OutcomeOf(code string) Outcome {
	switch code {
	case "ok", "allowed":
		return OutcomeDone
	case "refused", "denied", "not_grantable", "no_answer", "could_not_show", "paused", "withdrawn", "held_back":
		return OutcomeRefused
	}
	return OutcomeFailed
}

// Book joins the records of the activity log to entries, in whatever order they come. The zero value is empty.
type Book struct {
	entries []*Entry // the newest first
	byCall  map[string]*Entry
	newest  uint64
	oldest  uint64
	found   []*Entry
	filter  Filter
}

// Filter says which entries are looked for; the zero value is all.
type Filter struct {
	Client  string
	Sort    Sort
	Outcome Outcome
	// Text is looked for in all that an entry says, whatever the case of letters; each of its words must be there.
	Text string
}

// Older takes up records that are older than all others, the newest first, as audit.Page gives them.
func (b *Book) Older(records []audit.Record) {
	for _, r := range records {
		if b.oldest != 0 && r.Seq >= b.oldest {
			continue
		}
		b.oldest, b.newest = r.Seq, max(b.newest, r.Seq)
		if e := b.take(r, false); e != nil {
			b.entries = append(b.entries, e)
			b.found = append(b.found, e)
		}
	}
	if b.filter != (Filter{}) { // what came may have completed entries that didn't fit before
		b.Find(b.filter)
	}
}

// Newer takes up records that are newer than all others, the oldest first.
func (b *Book) Newer(records []audit.Record) {
	changed := false
	for _, r := range records {
		if r.Seq <= b.newest {
			continue
		}
		b.newest, changed = r.Seq, true
		if b.oldest == 0 {
			b.oldest = r.Seq
		}
		if e := b.take(r, true); e != nil {
			b.entries = slices.Insert(b.entries, 0, e)
		}
	}
	if changed {
		b.Find(b.filter)
	}
}

// Newest is the number of the newest record that was taken up, 0 for none.
func (b *Book) Newest() uint64 { return b.newest }

// Find sets what is looked for.
func (b *Book) Find(f Filter) {
	b.filter, b.found = f, nil
	for _, e := range b.entries {
		if e.matches(f) {
			b.found = append(b.found, e)
		}
	}
}

// Found gives what was looked for, the newest first. It isn't changed afterwards, but for its entries.
func (b *Book) Found() []*Entry { return b.found }

// All counts the entries.
func (b *Book) All() int { return len(b.entries) }

// Clients are those that entries name, in order.
func (b *Book) Clients() []string {
	seen := make(map[string]bool)
	for _, e := range b.entries {
		if e.Client != "" {
			seen[e.Client] = true
		}
	}
	var list []string
	for name := range seen {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// take takes up a record, and gives the entry that it begins; nil where it belongs to another. later says that it is newer than all.
func (b *Book) take(r audit.Record, later bool) *Entry {
	if b.byCall == nil {
		b.byCall = make(map[string]*Entry)
	}
	e := b.byCall[r.Call]
	begins := r.Call == "" || e == nil
	if begins {
		e = &Entry{Call: r.Call, Seq: r.Seq}
		if r.Call != "" {
			b.byCall[r.Call] = e
		}
	}
	e.add(r, later)
	if begins {
		return e
	}
	return nil
}

func (e *Entry) add(r audit.Record, later bool) {
	e.folded = ""
	e.Seq = max(e.Seq, r.Seq)
	if e.At.IsZero() || !later {
		e.At = r.Time
	}
	keep := func(to *string, from string, better bool) {
		if *to == "" || better && from != "" {
			*to = from
		}
	}
	call := r.Kind == audit.Intent || r.Kind == audit.Result
	keep(&e.Client, r.Client, false)
	keep(&e.Program, r.Program, false)
	keep(&e.Session, r.Session, false)
	keep(&e.Tool, r.Tool, call)
	keep(&e.Text, r.Text, call)
	if len(r.Paths) > 0 && (len(e.Paths) == 0 || call) {
		e.Paths = r.Paths
	}
	keep(&e.By, r.By, r.Kind == audit.Intent)
	e.Changes = append(e.Changes, r.Changes...)
	e.RunsLater = append(e.RunsLater, r.RunsLater...)
	keep(&e.Undid, r.Undid, false)
	switch {
	case r.Kind == audit.Result:
		e.ended, e.Code, e.Outcome = true, r.Outcome, OutcomeOf(r.Outcome)
		keep(&e.Detail, r.Detail, true)
	case r.Call == "":
		e.ended, e.Code, e.Detail = true, r.Outcome, r.Detail
		if e.Outcome = OutcomeDone; r.Outcome != "" {
			e.Outcome = OutcomeOf(r.Outcome)
		}
	default:
		keep(&e.Detail, r.Detail, false)
		if r.Kind == audit.Decision && !e.ended {
			e.Code = r.Outcome
		}
	}
	if !e.ended {
		e.Outcome = OutcomeRunning
	}
}

func (e *Entry) matches(f Filter) bool {
	if f.Client != "" && e.Client != f.Client || f.Sort != AnySort && e.Sort() != f.Sort || f.Outcome != "" && e.Outcome != f.Outcome {
		return false
	}
	if f.Text == "" {
		return true
	}
	if e.folded == "" {
		e.folded = strings.ToLower(strings.Join(slices.Concat([]string{e.Client, e.Program, e.Tool, e.Text, e.By, e.Code, e.Detail}, e.Paths, e.RunsLater), "\n"))
	}
	for word := range strings.FieldsSeq(strings.ToLower(f.Text)) {
		if !strings.Contains(e.folded, word) {
			return false
		}
	}
	return true
}

// Export writes entries as a table of comma-separated values, the newest first, with everything in it escaped as on the screen.
// What a spreadsheet would take for a formula begins with an apostrophe.
func (w Words) Export(out io.Writer, entries []*Entry) error {
	table := csv.NewWriter(out)
	var head []string
	for _, id := range []string{"label_when", "activity_who", "label_program", "label_tool", "activity_what", "activity_where", "activity_by", "activity_result", "activity_detail"} {
		head = append(head, w.say(id, nil))
	}
	if err := table.Write(head); err != nil {
		return err
	}
	for _, e := range entries {
		row := []string{e.At.Format(time.RFC3339), e.Client, e.Program, e.Tool, e.Text, strings.Join(e.Paths, " "), e.By, w.Result(e), e.Detail}
		for i := range row {
			if row[i] = Escape(row[i]); i > 0 && row[i] != "" && strings.ContainsRune("=+-@", rune(row[i][0])) {
				row[i] = "'" + row[i]
			}
		}
		if err := table.Write(row); err != nil {
			return err
		}
	}
	table.Flush()
	return table.Error()
}

// Result says how an entry ended.
func (w Words) Result(e *Entry) string {
	switch e.Outcome {
	case OutcomeDone, OutcomeRefused, OutcomeFailed, OutcomeRunning:
		return w.say("outcome_"+string(e.Outcome), nil)
	}
	return w.say("outcome_unknown", nil)
}

// EntryLines are an entry in a list: who did it, and with what; and what it was.
func (w Words) EntryLines(e *Entry) (who, tool, what string) {
	who = Escape(e.Client)
	if e.Client == "" {
		who = "Handrail"
	}
	return who, Escape(e.Tool), Escape(oneLine(e.Text))
}

// EntryFacts are what is known of an entry, for reading.
func (w Words) EntryFacts(e *Entry) (facts []Fact) {
	add := func(label, value string, exact bool) {
		if value != "" {
			facts = append(facts, Fact{Label: w.say(label, nil), Value: value, Exact: exact})
		}
	}
	add("activity_what", escapeDiff(strings.TrimSuffix(e.Text, "\n")), true)
	add("activity_where", bullets(e.Paths), true)
	add("activity_by", w.allowedBy(e), false)
	result := w.Result(e)
	if e.Code != "" && e.Code != "ok" {
		result += " (" + Escape(e.Code) + ")"
	}
	add("activity_result", result, false)
	add("activity_detail", escapeDiff(e.Detail), true)
	add("activity_later", bullets(e.RunsLater), true)
	add("label_when", w.moment(e.At.Local())+e.At.Local().Format(":05"), false)
	add("activity_who", Escape(e.Client), false)
	add("label_program", Escape(e.Program), true)
	add("label_session", Escape(e.Session), true)
	return facts
}

// allowedBy says what allowed an entry.
func (w Words) allowedBy(e *Entry) string {
	switch {
	case e.By != "":
		return Escape(e.By)
	case e.Tool == "" || e.Outcome == OutcomeRefused:
		return ""
	}
	return w.say("activity_by_nobody", nil)
}
