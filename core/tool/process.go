package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"handrail/core/client"
	"handrail/core/hint"
	"handrail/core/job"
)

// ProcessInput is what process takes. The names are OpenClaw's.
type ProcessInput struct {
	Action    string   `json:"action" jsonschema:"what to do"`
	SessionID *string  `json:"sessionId,omitempty" jsonschema:"the session, or the approvalId of a command that waits for the person; for all but list"`
	Data      *string  `json:"data,omitempty" jsonschema:"write: what to write"`
	EOF       *bool    `json:"eof,omitempty" jsonschema:"write: then close the standard input (in a terminal: send ^D)"`
	Keys      []string `json:"keys,omitempty" jsonschema:"send-keys: keys by name, such as Enter, Tab, Up, C-c, M-x, F5"`
	Hex       []string `json:"hex,omitempty" jsonschema:"send-keys: bytes in hex, one an item; sent after literal, before keys"`
	Literal   *string  `json:"literal,omitempty" jsonschema:"send-keys: text, sent first"`
	Text      *string  `json:"text,omitempty" jsonschema:"paste: the text"`
	Bracketed *bool    `json:"bracketed,omitempty" jsonschema:"paste: mark it as pasted; default: in a terminal"`
	Offset    *whole   `json:"offset,omitempty" jsonschema:"log: first line, from 0"`
	Limit     *whole   `json:"limit,omitempty" jsonschema:"log: how many lines; without offset the last ones"`
	Timeout   *whole   `json:"timeout,omitempty" jsonschema:"poll: milliseconds to wait for new output or the end, 0 to 30000"`
}

// ProcessOutput tells of one session, or of all.
type ProcessOutput struct {
	Status     string          `json:"status,omitempty"`
	SessionID  string          `json:"sessionId,omitempty"`
	Sessions   []ProcessStatus `json:"sessions,omitempty"`
	Output     string          `json:"output,omitempty" jsonschema:"poll: what is new; log: the lines"`
	Aggregated string          `json:"aggregated,omitempty" jsonschema:"poll, once it has ended: all output"`
	ExitCode   *int            `json:"exitCode,omitempty"`
	ExitSignal string          `json:"exitSignal,omitempty"`
	ExitReason string          `json:"exitReason,omitempty"`
	DurationMs int64           `json:"durationMs,omitempty"`
	// RetryInMs grows while polls find nothing.
	RetryInMs       int64    `json:"retryInMs,omitempty"`
	TotalLines      int      `json:"totalLines,omitempty"`
	TotalChars      int      `json:"totalChars,omitempty"`
	Truncated       bool     `json:"truncated,omitempty"`
	StdinWritable   bool     `json:"stdinWritable,omitempty"`
	WaitingForInput bool     `json:"waitingForInput,omitempty" jsonschema:"it takes input and has written nothing for 15 s"`
	IdleMs          int64    `json:"idleMs,omitempty"`
	Warnings        []string `json:"warnings,omitempty"`
}

// ProcessStatus is one session in a list.
type ProcessStatus struct {
	SessionID       string `json:"sessionId"`
	Status          string `json:"status"`
	Name            string `json:"name"`
	Command         string `json:"command"`
	Cwd             string `json:"cwd"`
	StartedAt       int64  `json:"startedAt"`
	RuntimeMs       int64  `json:"runtimeMs"`
	PID             int    `json:"pid,omitempty"`
	ExitCode        *int   `json:"exitCode,omitempty"`
	ExitReason      string `json:"exitReason,omitempty"`
	Tail            string `json:"tail,omitempty"`
	StdinWritable   bool   `json:"stdinWritable"`
	WaitingForInput bool   `json:"waitingForInput,omitempty"`
	IdleMs          int64  `json:"idleMs,omitempty"`
}

var processActions = []string{"list", "poll", "log", "write", "send-keys", "submit", "paste", "kill", "clear", "remove"}

// Limits of process, as OpenClaw has them.
const (
	pollMost = 30_000 // milliseconds
	logLines = 200
	idleFor  = 15 * time.Second
	maxInput = 1 << 20 // bytes written at once
)

// retries is how long to wait after polls that found nothing, one after another.
var retries = []time.Duration{5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute}

// following is how far a client has followed a job.
type following struct {
	seen    int64 // bytes of output that a poll has handed out
	empties int   // polls in a row that found nothing
}

var processTool = define[ProcessInput, ProcessOutput](Tool{
	Name: "process", Title: "Follow commands", Destructive: true,
	Levels: []client.Level{client.Ask, client.Trusted},
	Enums:  map[string][]string{"action": processActions},
	Description: "Follow, feed and end commands that exec left running, also those that wait for the person (poll their approvalId). poll gives what is new, log pages through all lines, " +
		"write and paste give input, send-keys keys, submit the Enter key; kill ends one with all it started; clear forgets one that has ended, remove also one that runs.",
}, func(ctx context.Context, g *Gate, c *Call, in ProcessInput) (plan, error) {
	id := value(in.SessionID, "")
	p := plan{text: strings.TrimSpace(in.Action + " " + id)}
	switch {
	case !slices.Contains(processActions, in.Action):
		return p, hint.New("bad_arguments", fmt.Sprintf("there is no action %q", in.Action)).Then("the actions are " + strings.Join(processActions, ", "))
	case in.Action == "list":
		p.run = func(context.Context) (answer, error) { return g.processes(c), nil }
		return p, nil
	case id == "":
		return p, hint.New("bad_arguments", "sessionId is required for this action")
	}
	j, asked, err := g.findProcess(c, id)
	if err != nil {
		return p, err
	}
	if asked != nil {
		return g.processAsked(c, p, in, asked)
	}
	p.run = func(ctx context.Context) (answer, error) { return g.processJob(ctx, c, in, j) }
	return p, nil
})

// findProcess finds a job of the call's session, by its ID or by that of the question about it; or the question, while it waits
// or if it was refused.
func (g *Gate) findProcess(c *Call, id string) (*job.Job, *askedCommand, error) {
	g.pruneJobs(c.Session.ID)
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.asked[id]
	switch {
	case a == nil || a.call.Session.ID != c.Session.ID:
	case !closed(a.settled) || a.err != nil:
		return nil, a, nil
	default:
		id, a.collected = a.job.ID, true
	}
	if j, ok := g.Jobs.Find(c.Session.ID, id); ok {
		return j, nil, nil
	}
	return nil, nil, hint.New("not_found", fmt.Sprintf("no session found for %q", id)).Then("action list names those that there are")
}

// processAsked is an action on a command that has not started.
func (g *Gate) processAsked(c *Call, p plan, in ProcessInput, a *askedCommand) (plan, error) {
	switch in.Action {
	case "poll", "log":
		p.run = func(ctx context.Context) (answer, error) {
			stop := c.keepAlive("Waiting for the person to answer in Handrail")
			waitFor(ctx, pollTime(in), a.settled, nil)
			stop()
			if !closed(a.settled) {
				return answer{a.pending().text, ProcessOutput{Status: "approval-pending", SessionID: a.id, RetryInMs: retries[0].Milliseconds()}}, nil
			}
			g.mu.Lock()
			a.collected = true
			g.mu.Unlock()
			if a.err != nil {
				return answer{}, a.err
			}
			return g.processJob(ctx, c, in, a.job)
		}
	case "kill", "remove", "clear":
		p.run = func(context.Context) (answer, error) {
			a.cancel(errCallGone)
			<-a.settled
			g.mu.Lock()
			defer g.mu.Unlock()
			if a.job != nil { // it was allowed at that moment
				a.job.Stop(job.Killed)
			} else if in.Action != "kill" {
				delete(g.asked, a.id)
			}
			return answer{fmt.Sprintf("The question %s was withdrawn; the command does not run.", a.id), ProcessOutput{Status: "failed", SessionID: a.id}}, nil
		}
	default:
		return p, hint.New("not_started", fmt.Sprintf("the command of %s has not started", a.id)).Because("the person has not allowed it").Then("poll it")
	}
	return p, nil
}

func pollTime(in ProcessInput) time.Duration {
	return time.Duration(min(max(value(in.Timeout, 0), 0), pollMost)) * time.Millisecond
}

// waitFor waits until one of the channels closes, but no longer than d and ctx.
func waitFor(ctx context.Context, d time.Duration, a, b <-chan struct{}) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-a:
	case <-b:
	case <-t.C:
	case <-ctx.Done():
	}
}

// processJob is an action on a job.
func (g *Gate) processJob(ctx context.Context, c *Call, in ProcessInput, j *job.Job) (answer, error) {
	said := func(format string, args ...any) (answer, error) {
		return answer{fmt.Sprintf(format, args...), ProcessOutput{Status: statusOf(j), SessionID: j.ID}}, nil
	}
	switch in.Action {
	case "poll":
		return g.poll(ctx, c, in, j), nil
	case "log":
		return g.processLog(in, j), nil
	case "clear":
		if !g.Jobs.Remove(j) {
			return answer{}, hint.New("still_running", fmt.Sprintf("no finished session found for %q", j.ID)).Because("it still runs").Then("end it with kill first, or use remove")
		}
		return said("Cleared session %s.", j.ID)
	case "remove":
		if g.Jobs.Remove(j) {
			return said("Removed session %s.", j.ID)
		}
		j.Stop(job.Killed)
		g.telling.Go(func() {
			<-j.Done()
			g.Jobs.Remove(j)
		})
		return said("Removed session %s (termination requested).", j.ID)
	}
	if !j.Running() {
		return answer{}, hint.New("not_running", fmt.Sprintf("no active session found for %q", j.ID)).Because("it has ended").Then("poll or log gives its output")
	}
	switch in.Action {
	case "kill":
		j.Stop(job.Killed)
		return said("Termination requested for session %s.", j.ID)
	case "write":
		data := value(in.Data, "")
		if err := send(j, data); err != nil && !(data == "" && value(in.EOF, false)) {
			return answer{}, err
		}
		if value(in.EOF, false) {
			if err := j.Stdin.Close(); err != nil {
				return answer{}, notWritable(j, err)
			}
			return said("Wrote %d bytes to session %s (stdin closed).", len(data), j.ID)
		}
		return said("Wrote %d bytes to session %s.", len(data), j.ID)
	case "submit":
		end, name := "\r", "CR"
		if !j.Stdin.Terminal() {
			end, name = "\n", "LF"
		}
		if err := send(j, end); err != nil {
			return answer{}, err
		}
		return said("Submitted session %s (sent %s).", j.ID, name)
	case "paste":
		text := value(in.Text, "")
		if text == "" {
			return answer{}, hint.New("bad_arguments", "no paste text provided")
		}
		data := text
		if value(in.Bracketed, j.Stdin.Terminal()) {
			// Text that ends the paste by itself would be typed from there on.
			data = "\x1b[200~" + strings.NewReplacer("\x1b[200~", "", "\x1b[201~", "").Replace(text) + "\x1b[201~"
		}
		if err := send(j, data); err != nil {
			return answer{}, err
		}
		return said("Pasted %d chars to session %s.", utf8.RuneCountInString(text), j.ID)
	}
	return g.sendKeys(in, j)
}

// send writes to a job's standard input.
func send(j *job.Job, data string) error {
	if len(data) > maxInput {
		return hint.New("too_large", fmt.Sprintf("%d bytes are too much at once", len(data))).Because(fmt.Sprintf("at most %d are written", maxInput)).Then("write it in pieces, or put it into a file")
	}
	if _, err := j.Stdin.Write([]byte(data)); err != nil {
		return notWritable(j, err)
	}
	return nil
}

func notWritable(j *job.Job, err error) error {
	h := hint.New("not_writable", fmt.Sprintf("session %s stdin is not writable", j.ID)).Wrap(err)
	if errors.Is(err, job.ErrInputFull) {
		return h.Because("the command doesn't read it; a part may have been taken").Then("wait until it does")
	}
	return h.Because("it was started without, or it is closed").Then("start the command with background or pty to give it input")
}

func (g *Gate) sendKeys(in ProcessInput, j *job.Job) (answer, error) {
	var data strings.Builder
	var warnings []string
	data.WriteString(value(in.Literal, ""))
	for _, h := range in.Hex {
		if b, ok := hexByte(h); ok {
			data.WriteByte(b)
		} else {
			warnings = append(warnings, "Invalid hex byte: "+h)
		}
	}
	mode := cursorNormal
	if j.Stdin.Terminal() {
		switch keys := j.Stdin.CursorKeys(); {
		case keys == job.CursorApplication:
			mode = cursorApplication
		case keys == job.CursorUnknown && j.Output.All().Total == 0:
			mode = cursorUnknown // it may still ask for the other; a terminal starts in the normal one
		}
	}
	for _, name := range in.Keys {
		seq, warning, needsMode := keyBytes(name, mode)
		if needsMode {
			return answer{}, hint.New("not_ready", "the cursor key mode is not known yet").Because("the program has written nothing yet").
				Then("poll or log until its first output appears, then send the keys again")
		}
		if data.WriteString(seq); warning != "" {
			warnings = append(warnings, warning)
		}
	}
	if data.Len() == 0 {
		return answer{}, hint.New("bad_arguments", "no key data provided").Because(strings.Join(warnings, "; "))
	}
	if err := send(j, data.String()); err != nil {
		return answer{}, err
	}
	text := fmt.Sprintf("Sent %d bytes to session %s.", data.Len(), j.ID)
	if len(warnings) > 0 {
		text += "\nWarnings:\n- " + strings.Join(warnings, "\n- ")
	}
	return answer{text, ProcessOutput{Status: statusOf(j), SessionID: j.ID, Warnings: warnings}}, nil
}

func statusOf(j *job.Job) string {
	if j.Running() {
		return "running"
	}
	return endOf(j).status
}

// idle says how long a job has written nothing, and whether it may be waiting for input.
func (g *Gate) idle(j *job.Job) (since time.Duration, waiting bool) {
	if !j.Running() {
		return 0, false
	}
	since = time.Since(j.Output.LastWrite(j.Started))
	return since, j.Stdin.Open() && since >= cmp.Or(g.testOnlySlow, idleFor)
}

// followed gives how far polls have come with a job.
func (g *Gate) followed(j *job.Job) *following {
	if g.polled == nil {
		g.polled = make(map[*job.Job]*following)
	}
	f := g.polled[j]
	if f == nil {
		f = new(following)
		g.polled[j] = f
	}
	return f
}

func (g *Gate) poll(ctx context.Context, c *Call, in ProcessInput, j *job.Job) answer {
	g.mu.Lock()
	seen := g.followed(j).seen
	g.mu.Unlock()
	stop := c.keepAlive("Waiting for " + j.ID)
	waitFor(ctx, pollTime(in), j.Done(), j.Output.Grown(seen))
	stop()

	out := ProcessOutput{SessionID: j.ID}
	running := j.Running() // before the output is read: what it writes after that is for the next poll
	g.mu.Lock()
	f := g.followed(j)
	total := j.Output.All().Total
	raw, before := j.Output.Last(total - f.seen)
	lost := before > f.seen
	f.seen = before + int64(len(raw))
	if len(raw) > 0 || !running {
		f.empties = 0
	} else {
		f.empties++
	}
	out.RetryInMs = retries[min(max(f.empties-1, 0), len(retries)-1)].Milliseconds()
	g.mu.Unlock()

	out.Output = readable(raw)
	if short := lastRunes(out.Output, maxAggregated); len(short) < len(out.Output) {
		out.Output, lost = short, true
	}
	var b strings.Builder
	if out.Truncated = lost; lost {
		b.WriteString(discarded + "\n")
	}
	if out.Output == "" {
		b.WriteString("(no new output)")
	}
	b.WriteString(strings.TrimRight(out.Output, "\n") + "\n\n")
	if running {
		out.Status, out.StdinWritable, out.DurationMs = "running", j.Stdin.Open(), time.Since(j.Started).Milliseconds()
		b.WriteString("Process still running.")
		out.idle(&b, g, j)
		return answer{b.String(), out}
	}
	end := endOf(j)
	out.RetryInMs = 0
	out.Status, out.ExitCode, out.ExitSignal, out.ExitReason, out.DurationMs = end.status, end.code, end.signal, end.reason, j.Result().Duration.Milliseconds()
	out.Aggregated, _ = aggregated(j)
	switch {
	case end.reason == "exit" && end.code != nil:
		fmt.Fprintf(&b, "Process exited with code %d.", *end.code)
	case end.reason == "signal":
		fmt.Fprintf(&b, "Process exited with signal %s.", end.signal)
	default:
		b.WriteString(end.said)
	}
	_, changes := g.changesOf(j)
	b.WriteString(changes)
	return answer{b.String(), out}
}

// idle says that a session may be waiting for input.
func (o *ProcessOutput) idle(b *strings.Builder, g *Gate, j *job.Job) {
	d, waiting := g.idle(j)
	o.IdleMs, o.WaitingForInput = d.Milliseconds(), waiting
	if waiting {
		fmt.Fprintf(b, "\nNo new output for %d s; this session may be waiting for input. Use process write, send-keys, submit, or paste to give it some.", int(d.Seconds()))
	}
}

func (g *Gate) processLog(in ProcessInput, j *job.Job) answer {
	text, cut := aggregated(j)
	out := ProcessOutput{Status: statusOf(j), SessionID: j.ID, TotalChars: utf8.RuneCountInString(text), Truncated: cut, StdinWritable: j.Running() && j.Stdin.Open()}
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	out.TotalLines = len(lines)
	from, to := 0, len(lines)
	limit := int(max(value(in.Limit, logLines), 0))
	switch {
	case in.Offset == nil:
		from = max(0, to-limit)
	case in.Limit == nil:
		from = min(max(0, int(*in.Offset)), to)
	default:
		from = min(max(0, int(*in.Offset)), to)
		to = min(from+limit, to)
	}
	out.Output = strings.Join(lines[from:to], "")
	var b strings.Builder
	if cut && from == 0 {
		b.WriteString(discarded + "\n")
	}
	if out.Output == "" {
		b.WriteString("(no output yet)")
	}
	b.WriteString(strings.TrimRight(out.Output, "\n"))
	if in.Offset == nil && in.Limit == nil && from > 0 {
		fmt.Fprintf(&b, "\n[showing last %d of %d lines; pass offset/limit to page]", logLines, len(lines))
	}
	if j.Running() {
		out.idle(&b, g, j)
	}
	return answer{b.String(), out}
}

// processes lists what the session runs, has run, or waits to run.
func (g *Gate) processes(c *Call) answer {
	g.pruneJobs(c.Session.ID)
	out := ProcessOutput{}
	var b strings.Builder
	line := func(s ProcessStatus, notes ...string) {
		out.Sessions = append(out.Sessions, s)
		fmt.Fprintf(&b, "%s %-9s %s", s.SessionID, s.Status, time.Duration(s.RuntimeMs)*time.Millisecond)
		for _, n := range notes {
			fmt.Fprintf(&b, " [%s]", n)
		}
		fmt.Fprintf(&b, " :: %s\n", s.Name)
	}
	for _, j := range g.Jobs.List(c.Session.ID) {
		s := ProcessStatus{SessionID: j.ID, Status: statusOf(j), Name: short(j.Spec.Text), Command: j.Spec.Text, Cwd: j.Spec.Dir, StartedAt: j.Started.UnixMilli(), StdinWritable: j.Running() && j.Stdin.Open()}
		text := j.Output.All()
		s.Tail = lastRunes(readable(lastBytes(text, 4*tailRunes)), tailRunes)
		var notes []string
		if j.Running() {
			d, waiting := g.idle(j)
			s.PID, s.RuntimeMs, s.IdleMs, s.WaitingForInput = j.PID(), time.Since(j.Started).Milliseconds(), d.Milliseconds(), waiting
			if waiting {
				notes = append(notes, "input-wait")
			}
		} else {
			end := endOf(j)
			s.RuntimeMs, s.ExitCode, s.ExitReason = j.Result().Duration.Milliseconds(), end.code, end.reason
			if end.failure == "overall-timeout" {
				notes = append(notes, end.failure)
			}
		}
		line(s, notes...)
	}
	g.mu.Lock()
	var waiting []*askedCommand
	for _, a := range g.asked {
		if a.call.Session.ID == c.Session.ID && (!closed(a.settled) || a.err != nil && !a.collected) {
			waiting = append(waiting, a)
		}
	}
	g.mu.Unlock()
	slices.SortFunc(waiting, func(a, b *askedCommand) int { return a.began.Compare(b.began) })
	for _, a := range waiting {
		s := ProcessStatus{SessionID: a.id, Status: "approval-pending", Name: short(a.runs.in.Command), Command: a.runs.in.Command, Cwd: a.runs.dir, StartedAt: a.began.UnixMilli()}
		if closed(a.settled) {
			s.Status = "failed"
		}
		if err := a.errNow(); err != nil {
			line(s, hint.Code(err))
		} else {
			line(s)
		}
	}
	if len(out.Sessions) == 0 {
		b.WriteString("No running or recent sessions.")
	}
	return answer{strings.TrimSuffix(b.String(), "\n"), out}
}

// errNow is why the command won't start; nil while that isn't known.
func (a *askedCommand) errNow() error {
	if closed(a.settled) {
		return a.err
	}
	return nil
}
