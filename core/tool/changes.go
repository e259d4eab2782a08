package tool

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"handrail/core/audit"
	"handrail/core/command"
	"handrail/core/edit"
	"handrail/core/grant"
	"handrail/core/hint"
	"handrail/core/job"
	"handrail/sandbox"
)

// ChangesOutput says what a command changed in folders that it may change, as far as it has ended.
type ChangesOutput struct {
	Changed      []FileChange `json:"changed,omitempty" jsonschema:"files in granted folders that changed while it ran; the first 50"`
	ChangedCount int          `json:"changed_count,omitempty" jsonschema:"in all"`
	ChangedMore  bool         `json:"changed_more,omitempty" jsonschema:"there may be more"`
	RunsLater    []string     `json:"runs_later,omitempty" jsonschema:"those that something else runs later, outside the sandbox; the first 10"`
	RunsCount    int          `json:"runs_later_count,omitempty" jsonschema:"in all"`
	NotUndoable  []string     `json:"not_undoable,omitempty" jsonschema:"what can't be put back, and why"`
}

// FileChange is one file that a command changed.
type FileChange struct {
	Path string `json:"path"`
	How  string `json:"how" jsonschema:"created, changed, deleted or renamed"`
	From string `json:"from,omitempty" jsonschema:"old path, if renamed"`
}

// Most files that an answer names, by kind.
const (
	mostChanged = 50
	mostNamed   = 10
)

// watched is a job of which is told what it changes.
type watched struct {
	job    *job.Job
	call   *Call
	untold []string
	edits  []string      // files that edit tools wrote while it ran; the first mostChanged
	ended  chan struct{} // closed when it is known what was changed
	// told says that the call that started the job tells of it, or has; else the activity log gets a note when it ends.
	told     bool
	recorded bool
	shown    int64 // bytes of its output when bash_bg showed it last
	data     ChangesOutput
	text     string
	runs     []string // all of them
	changes  []string // what can be undone
}

// startJob starts a job that may change granted folders: what stands there is kept before, and what it changed is told
// when it has ended, but for what lies in the untold folders: everyone knows that git writes into its own.
func (g *Gate) startJob(ctx context.Context, c *Call, spec job.Spec, untold ...string) (*job.Job, error) {
	w := g.Snapshots.Begin(ctx, c.by(short(spec.Text)), g.changeable(c.Session.ID, spec.Policy)...)
	if ctx.Err() != nil {
		w.End()
		return nil, hint.New("cancelled", "the command was not run").Because("the call was cancelled before").Wrap(context.Cause(ctx))
	}
	j, err := g.Jobs.Start(spec)
	if err != nil {
		w.End()
		return nil, notStarted(err)
	}
	g.stopIfOff(j, c.Session.Client.ID) // it may have been turned off since the policy was made
	x := &watched{job: j, call: c, untold: untold, ended: make(chan struct{}), told: true}
	g.mu.Lock()
	if g.watched == nil {
		g.watched = make(map[string]*watched)
	}
	for id, old := range g.watched { // those of which nobody can ask any more
		if _, ok := g.Jobs.Find(old.job.Spec.Session, id); !ok && !old.job.Running() {
			delete(g.watched, id)
		}
	}
	g.watched[j.ID] = x
	c.classic = spec.Policy.Profile() == "classic"
	g.mu.Unlock()
	g.telling.Go(func() {
		<-j.Done()
		g.ended(x, w.End())
	})
	return j, nil
}

// changeable lists what a command of a session may change under a policy, and can be put back: under classic the workspace, though
// it may change more.
func (g *Gate) changeable(session string, p sandbox.Policy) []edit.Place {
	if p.Profile() == "classic" {
		id, err := grant.Identify(g.Workspace)
		if err != nil {
			return nil
		}
		return []edit.Place{{Path: g.Workspace, Device: id.Device, Inode: id.Inode}}
	}
	var places []edit.Place
	open := p.Writable()
	for _, h := range g.Grants.List(session) {
		if h.Right == grant.Edit && slices.Contains(open, h.Folder) {
			places = append(places, edit.Place{Path: h.Folder, Device: h.ID.Device, Inode: h.ID.Inode, File: h.File})
		}
	}
	return places
}

// ended takes up what a job changed. If the call that started it has answered already, the activity log says that it has ended,
// and what runs later.
func (g *Gate) ended(x *watched, r edit.Report) {
	g.mu.Lock()
	edits := x.edits
	g.mu.Unlock()
	x.data, x.text, x.runs = g.describe(r, x.untold, edits)
	x.changes = r.Changes
	if x.job.Spec.Policy.Profile() == "classic" {
		x.text += "\n[no boundary: the person has set that commands run under the profile classic; only changes in the workspace can be put back]"
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	defer close(x.ended)
	if x.told {
		return
	}
	g.wake(x)
	how := fmt.Sprintf("exit code %d", x.job.Result().ExitCode)
	if why := x.job.Result().Stopped; why != "" {
		how += fmt.Sprintf(" (%s)", why)
	}
	err := g.append(x.call, audit.Record{Kind: audit.Note, Call: x.call.ID, Tool: x.call.Tool.Name, Text: x.job.ID + " has ended", Detail: how, Job: x.job.ID, RunsLater: first(x.runs, mostChanged), Changes: first(x.changes, mostChanged)})
	if err != nil {
		g.Log.Error("the activity log failed", "error", err)
	}
}

// mostWaking is how many ends of jobs a session is told of at once: a client that doesn't read what it is sent misses the others.
const mostWaking = 10

// endRunes is how much of its output a client is told with a job's end.
const endRunes = 180

// wake tells the client that a job which its call left running has ended, if the client has asked for such messages
// (logging/setLevel), and not where it, or the end of its session, has ended the job. g.mu is held.
func (g *Gate) wake(x *watched) {
	r := x.job.Result()
	if x.call.wake == nil || r.Stopped == job.Killed || r.Stopped == job.Ended || g.waking[x.call.Session.ID] >= mostWaking {
		return
	}
	level, word, how := "info", "completed", fmt.Sprintf("code %d", r.ExitCode)
	switch {
	case r.Stopped != "":
		how = string(r.Stopped)
	case r.Signal != "":
		how = "signal " + r.Signal
	}
	if r.ExitCode != 0 || r.Stopped != "" {
		level, word = "warning", "failed"
	}
	message := fmt.Sprintf("%s %s (%s, %s)", x.call.Tool.Name, word, x.job.ID, how)
	tail := plainText(lastBytes(x.job.Output.All(), 8*endRunes)).text
	if tail = lastRunes(strings.Join(strings.Fields(tail), " "), endRunes); tail != "" {
		message += ": " + tail
	}
	if g.waking == nil {
		g.waking = make(map[string]int)
	}
	session := x.call.Session.ID
	g.waking[session]++
	go func() { // a client may read late, or never
		x.call.wake(level, message)
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.waking[session]--; g.waking[session] == 0 {
			delete(g.waking, session)
		}
	}()
}

// written notes that an edit tool has written files: a command that runs meanwhile must not pass for their author.
func (g *Gate) written(paths ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, x := range g.watched {
		if !closed(x.ended) {
			x.edits = append(x.edits, first(paths, mostChanged-len(x.edits))...)
		}
	}
}

// changesOf tells what a job changed, once it has ended. While it runs there is nothing to tell, and its call won't.
func (g *Gate) changesOf(j *job.Job) (data ChangesOutput, text string) {
	g.mu.Lock()
	x := g.watched[j.ID]
	g.mu.Unlock()
	if x == nil {
		return data, ""
	}
	if j.Running() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if !closed(x.ended) {
			x.told, x.call.leftRunning = false, j.ID
			return data, ""
		}
	}
	<-x.ended
	g.mu.Lock()
	defer g.mu.Unlock()
	if x.told && !x.recorded {
		x.recorded, x.call.runsLater, x.call.changes = true, x.runs, x.changes
	}
	return x.data, x.text
}

// hows is the order in which an answer tells what happened.
var hows = []edit.How{edit.Created, edit.Changed, edit.Renamed, edit.Deleted}

// describe puts what was changed into words.
func (g *Gate) describe(r edit.Report, untold, edits []string) (data ChangesOutput, text string, runs []string) {
	var b strings.Builder
	data.ChangedMore = r.Partly
	files := slices.DeleteFunc(edit.Outermost(r.Files), func(f edit.ChangedFile) bool {
		return slices.ContainsFunc(untold, func(dir string) bool { return grant.Within(dir, f.Path()) })
	})
	data.ChangedCount = len(files)
	slices.SortStableFunc(files, func(a, b edit.ChangedFile) int {
		return cmp.Compare(slices.Index(hows, a.How), slices.Index(hows, b.How))
	})
	var names []string
	for i, f := range first(files, mostChanged) {
		x := FileChange{Path: f.Path(), How: string(f.How)}
		name := g.near(x.Path)
		if f.From != "" {
			x.From = filepath.Join(f.Folder, f.From)
			name = g.near(x.From) + " to " + name
		}
		if i == 0 || files[i-1].How != f.How {
			name = x.How + " " + name
		}
		data.Changed, names = append(data.Changed, x), append(names, name)
	}
	if len(names) > 0 {
		names = first(names, mostNamed)
		fmt.Fprintf(&b, "\n[files: %s%s", strings.Join(names, ", "), more(len(files)-len(names)))
		if r.Shared {
			b.WriteString("; another command ran at the same time and may have changed some of them")
		}
		var edited []string
		for _, f := range files {
			if slices.Contains(edits, f.Path()) {
				edited = append(edited, g.near(f.Path()))
			}
		}
		if len(edited) > 0 {
			fmt.Fprintf(&b, "; meanwhile an edit wrote %s%s", strings.Join(first(edited, mostNamed), ", "), more(len(edited)-mostNamed))
		}
		b.WriteString("]")
	}
	for i, f := range r.Files {
		if f.How == edit.Deleted || f.Dir {
			continue
		}
		by := command.RunsLater(command.Touched{Path: f.Path(), Created: f.How != edit.Changed, Executable: f.Executable, Texts: func() (before, after []byte, ok bool) { return r.Texts(i) }})
		if by != "" {
			runs = append(runs, f.Path())
			if len(runs) <= mostNamed {
				data.RunsLater = append(data.RunsLater, f.Path())
			}
		}
	}
	data.RunsCount = len(runs)
	b.WriteString(g.runsLater(runs))
	for _, n := range r.Notes {
		data.NotUndoable = append(data.NotUndoable, n)
		fmt.Fprintf(&b, "\n[undo: %s]", n)
	}
	lost := 0
	for _, f := range r.Files {
		if f.Lost == "" {
			continue
		}
		if lost++; lost <= mostNamed {
			n := fmt.Sprintf("%s can't be put back: %s", g.near(f.Path()), f.Lost)
			data.NotUndoable = append(data.NotUndoable, n)
			fmt.Fprintf(&b, "\n[undo: %s]", n)
		}
	}
	if lost > mostNamed {
		fmt.Fprintf(&b, "\n[undo:%s can't be put back]", more(lost-mostNamed))
	}
	return data, b.String(), runs
}

// runsLater is the line that names files which something else runs later; "" for none.
func (g *Gate) runsLater(paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	names := make([]string, 0, mostNamed)
	for _, p := range first(paths, mostNamed) {
		names = append(names, g.near(p))
	}
	return fmt.Sprintf("\n[runs later, outside the sandbox: %s%s; tell the person what they would run]", strings.Join(names, ", "), more(len(paths)-len(names)))
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// several is a number of things: "1 process", "2 processes".
func several(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func first[T any](list []T, n int) []T { return list[:min(n, len(list))] }

// near writes a path as it is called from the workspace. What could be taken for something else is quoted.
func (g *Gate) near(path string) string {
	if rel, err := filepath.Rel(g.Workspace, path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	odd := func(r rune) bool { return !unicode.IsPrint(r) || strings.ContainsRune(" ,;[]\"\uFFFD", r) }
	if strings.ContainsFunc(path, odd) {
		return strconv.Quote(path)
	}
	return path
}

// short is a command's text in one line, for the list of what can be undone.
func short(text string) string {
	text = strings.Join(strings.Fields(firstRunes(audit.Redact(text), 300)), " ")
	if cut := firstRunes(text, 120); cut != text {
		return cut + "…"
	}
	return text
}

// editRunsLater tells whether something else runs what an edit made or changed.
func (g *Gate) editRunsLater(path string, r edit.Result) bool {
	return command.RunsLater(command.Touched{Path: path, Created: r.Created, Texts: func() (before, after []byte, ok bool) {
		if g.Undo == nil || r.UndoID == "" {
			return nil, nil, false
		}
		before, err := g.Undo.Old(r.UndoID)
		return before, r.Text, err == nil
	}}) != ""
}
