package tool

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"handrail/core/approval"
	"handrail/core/audit"
	"handrail/core/command"
	"handrail/core/grant"
	"handrail/core/hint"
	"handrail/core/job"
)

// askedCommand is a command that the person is asked about. It starts by itself when they allow it, whether or not the call
// that wanted it still waits.
type askedCommand struct {
	id      string
	call    *Call
	runs    *execution
	request approval.Request
	began   time.Time
	cancel  context.CancelCauseFunc
	// settled closes when it has started (job) or will not (err).
	settled chan struct{}
	job     *job.Job
	err     error
	// told says that a call has answered with the id; else that call tells how it went.
	told bool
	// collected says that a call has had the outcome.
	collected bool
}

// askToRun puts a command to the person and waits as long as clients do. The same call again, while the question waits or its
// outcome wasn't collected, joins it.
func (g *Gate) askToRun(ctx context.Context, c *Call, x *execution) (answer, error) {
	a, isNew, err := g.putToPerson(c, x)
	if err != nil {
		return answer{}, err
	}
	stop := c.keepAlive("Waiting for the person to answer in Handrail")
	timer := time.NewTimer(c.left())
	defer timer.Stop()
	select {
	case <-a.settled:
	case <-timer.C:
	case <-ctx.Done():
	case <-c.gone:
	}
	stop()
	gone := ctx.Err() != nil || closed(c.gone)
	g.mu.Lock()
	settled := closed(a.settled)
	switch {
	case settled:
		a.collected = true
	case !gone:
		a.told = true
	case isNew && !a.told: // nobody knows of it
		a.cancel(errCallGone)
	}
	g.mu.Unlock()
	switch {
	case settled && a.err != nil:
		return answer{}, a.err
	case settled:
		return g.yield(ctx, c, a.job, x)
	case gone:
		return answer{}, errCallGone
	}
	return a.pending(), nil
}

var errCallGone = hint.New("withdrawn", "the question was withdrawn").Because("the call that asked was cancelled")

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// pending is the answer while the person hasn't decided.
func (a *askedCommand) pending() answer {
	out := ExecOutput{Status: "approval-pending", ApprovalID: a.id, ExpiresAtMs: a.began.Add(approval.Lives).UnixMilli(), AllowedDecisions: []string{"allow-once", "deny"},
		Host: a.runs.host(), Command: a.request.Command.Runs, Cwd: a.runs.dir, Warnings: a.runs.warnings}
	if a.request.Command.Rule != nil {
		out.AllowedDecisions = []string{"allow-once", "allow-always", "deny"}
	}
	next := fmt.Sprintf("look with process, action poll, sessionId %s. Don't send it again", a.id)
	if a.runs.toEnd {
		next = "send the same call again to have its result"
	}
	return answer{text: fmt.Sprintf("Approval pending (id %s): the command has not started. Handrail asks the person on their screen; tell them that a question waits. "+
		"It starts by itself when they allow it: %s.", a.id, next), data: out}
}

// putToPerson finds the question that the call has asked already, or asks it.
func (g *Gate) putToPerson(c *Call, x *execution) (a *askedCommand, isNew bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forgetAsked()
	for _, old := range g.asked {
		if old.call.Session.ID == c.Session.ID && old.call.same == c.same && !old.collected {
			return old, false, nil
		}
	}
	if g.NonceSurface {
		return nil, false, hint.New("cannot_ask", "the person can't be asked").Because("there is no screen here, and this needs one")
	}
	r, err := g.commandRequest(c, x)
	if err != nil {
		return nil, false, err
	}
	ctx, cancel := context.WithCancelCause(c.Session.Context())
	a = &askedCommand{id: "approval-" + strings.ToLower(rand.Text()[:10]), call: c, runs: x, request: r, began: time.Now(), cancel: cancel, settled: make(chan struct{})}
	if err := g.append(c, audit.Record{Kind: audit.Question, Call: c.ID, Tool: c.Tool.Name, Text: "exec " + r.Command.Runs, Paths: []string{r.Folder}}); err != nil {
		cancel(nil)
		return nil, false, err
	}
	if g.asked == nil {
		g.asked = make(map[string]*askedCommand)
	}
	g.asked[a.id] = a
	g.telling.Go(func() {
		defer cancel(nil)
		j, err := g.decided(ctx, a)
		g.mu.Lock()
		a.job, a.err = j, err
		close(a.settled)
		g.mu.Unlock()
	})
	return a, true, nil
}

// forgetAsked drops what nobody will come back for: that of sessions that have ended, and what was settled long ago.
func (g *Gate) forgetAsked() {
	for id, a := range g.asked {
		if closed(a.settled) && (a.call.Session.Context().Err() != nil || time.Since(a.began) > approval.Lives+keepFor) {
			delete(g.asked, id)
		}
	}
}

// decided waits for the person and starts what they allowed.
func (g *Gate) decided(ctx context.Context, a *askedCommand) (*job.Job, error) {
	c := a.call
	got := g.Queue.Ask(ctx, nil, ctx, c.Session.ID+"\x00"+a.id, a.request, approval.Lives)
	d := got.Decision
	verdict := d.Verdict.String()
	if got.Pending != "" { // it lived as long as a question may
		d, verdict = approval.Refuse(approval.NoAnswer, "", "nobody answered in time"), approval.NoAnswer.String()
		a.cancel(nil)
	}
	err := g.append(c, audit.Record{Kind: audit.Decision, Call: c.ID, Tool: c.Tool.Name, Text: "exec " + a.request.Command.Runs, Paths: []string{a.request.Folder}, By: d.Surface, Outcome: verdict, Detail: d.Detail})
	if err != nil {
		return nil, err
	}
	if d.Covers(a.request) != nil {
		return nil, unanswered(d, a.request)
	}
	if err := g.open(c); err != nil { // the person may have paused while they were asked
		return nil, err
	}
	// What would run now must be what they were shown: the same programs, scripts, folder and policy.
	now, err := a.again(g)
	if err != nil {
		return nil, err
	}
	if err := d.Covers(now); err != nil {
		return nil, hint.New("changed", "the command is no longer what the person allowed").Because("a program, a script or the folder changed, or the answer came too late").
			Then("call exec again: they will be asked again")
	}
	if d.Always {
		if err := g.keepRule(c, now, d.Surface); err != nil {
			return nil, err
		}
	}
	g.mu.Lock()
	told := a.told
	g.mu.Unlock()
	if told {
		if err := g.append(c, audit.Record{Kind: audit.Intent, Call: c.ID, Tool: c.Tool.Name, Text: a.runs.in.Command, Paths: []string{a.request.Folder}, By: d.Surface}); err != nil {
			return nil, err
		}
	}
	j, err := g.startExec(c.Session.Context(), c, a.runs)
	if err != nil {
		if told {
			err = g.refused(c, plan{text: a.runs.in.Command}, err)
		}
		return nil, err
	}
	j.Hand()
	if told {
		g.changesOf(j) // its call has answered, so the log tells what runs later
	}
	return j, nil
}

// again reads the command anew and gives the request that it would be now. It fails if it may no longer run.
func (a *askedCommand) again(g *Gate) (approval.Request, error) {
	room, err := g.room(a.call.Session)
	if err != nil {
		return approval.Request{}, err
	}
	x := &execution{in: a.runs.in, dir: a.runs.dir, shell: a.runs.shell, env: a.runs.env, outside: a.runs.outside}
	if err := g.mayGoOutside(a.call, x); err != nil {
		return approval.Request{}, err
	}
	if err := x.judge(g, room); err != nil {
		return approval.Request{}, err
	}
	if x.judged.Outcome == command.RunScript { // the policy was changed meanwhile; they allowed more than is needed now
		x.judged.Why, x.run, x.rule = a.runs.judged.Why, a.runs.run, a.runs.rule
	}
	return g.commandRequest(a.call, x)
}

// commandRequest is the question about a command.
func (g *Gate) commandRequest(c *Call, x *execution) (approval.Request, error) {
	r := approval.Request{Kind: approval.Exec, Who: c.Session.Client, Session: c.Session.ID, Tool: c.Tool.Name, Home: g.Home.Home, Folder: x.dir}
	id, err := grant.Identify(x.dir)
	if err != nil {
		return r, hint.New("changed", fmt.Sprintf("the folder %q is no longer there", x.dir)).Wrap(err)
	}
	if x.outside {
		r.Kind = approval.Outside
	}
	q := &approval.Command{Text: x.in.Command, Runs: x.run.String(), Env: x.env, Why: x.judged.Why, Rule: x.rule}
	if x.run.Argv == nil {
		q.Shell = x.shell
	}
	if len(q.Text)+len(strings.Join(q.Env, "\n")) > approval.MaxCommand || len(q.Runs) > approval.MaxCommand {
		return r, hint.New("too_long", "the command is too long to be asked for").Because(fmt.Sprintf("at most %d bytes can be shown", approval.MaxCommand)).
			Then("put it into a script, and run that")
	}
	if x.outside {
		room, err := g.room(c.Session)
		if err != nil {
			return r, err
		}
		for _, e := range g.ownEnvironment(room) {
			name, _, _ := strings.Cut(e, "=")
			q.Inherits = append(q.Inherits, name)
		}
	}
	bound, open := command.Bind(x.read)
	q.Open = open
	for _, b := range bound {
		if x.outside && (g.inReach(b.Path) || g.inReach(b.Real)) {
			return r, hint.New("denied", fmt.Sprintf("%q can't run outside the sandbox", b.Path)).Because("an assistant may change it, so that it could be another when it starts than the person was shown").
				Then("write what it does in command, so that the person reads it; or ask them to run it themselves")
		}
		f := approval.File{Path: b.Path, Real: b.Real, ID: grant.ID{Device: b.ID.Device, Inode: b.ID.Inode}, Script: b.Script}
		if b.Mutable {
			if f.SHA256, err = fileHash(b.Real); err != nil {
				return r, err
			}
		}
		if !slices.Contains(q.Files, f) {
			q.Files = append(q.Files, f)
		}
	}
	if _, targets := command.Deletes(x.read); len(targets) > 0 {
		for _, t := range targets {
			q.Deletes = append(q.Deletes, firstRunes(t.Text, approval.MaxReason))
		}
		q.Deletes = first(q.Deletes, approval.MaxListed)
	}
	if max(len(q.Files), len(q.Open), len(q.Env)) > approval.MaxListed {
		return r, hint.New("too_long", "the command runs too much to be asked for").Then("split it, or put it into a script")
	}
	if value(x.in.PTY, false) || value(x.in.Background, false) {
		q.Why = append(slices.Clone(q.Why), "it can be given input while it runs")
	}
	r.FolderID, r.Command, x.folder = id, q, id
	r.Reason = cut(value(x.in.Title, ""))
	return r, nil
}

// maxBound is how long a program or script may be that the user can change and a command is bound to, in bytes.
const maxBound = 512 << 20

// fileHash is the SHA-256 of a file, in hex.
func fileHash(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a command may have put a pipe there since
	if err != nil {
		return "", notThere(path, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxBound {
		return "", hint.New("too_large", fmt.Sprintf("%q can't be asked for", path)).Because("it is no plain file, or too large to be compared again when it starts")
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", notThere(path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
