package tool

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"handrail/core/approval"
	"handrail/core/client"
	"handrail/core/command"
	"handrail/core/grant"
	"handrail/core/hint"
	"handrail/core/job"
	"handrail/sandbox"
)

// ExecInput is what exec takes. The names are OpenClaw's.
type ExecInput struct {
	Command        string            `json:"command" jsonschema:"the script; bash runs it without a login shell or start-up files"`
	Title          *string           `json:"title,omitempty" jsonschema:"what it is for, in at most 120 characters"`
	Workdir        *string           `json:"workdir,omitempty" jsonschema:"folder to run in, as it is, without ~; default: the workspace"`
	Env            map[string]string `json:"env,omitempty" jsonschema:"variables to set; PATH is put in front; variables that make programs load code are refused"`
	YieldMs        *whole            `json:"yieldMs,omitempty" jsonschema:"milliseconds to wait before it goes on in the background, 10 to 120000; default 10000"`
	Background     *bool             `json:"background,omitempty" jsonschema:"go on in the background at once, with an open standard input"`
	TimeoutSeconds *whole            `json:"timeoutSeconds,omitempty" jsonschema:"seconds until it is killed with all it started, also in the background; 0: never; default 1800"`
	PTY            *bool             `json:"pty,omitempty" jsonschema:"run it in a terminal of 120 by 30 characters"`
	Elevated       *bool             `json:"elevated,omitempty" jsonschema:"the same as host gateway"`
	Host           *string           `json:"host,omitempty" jsonschema:"auto and sandbox: in the sandbox; gateway: outside it, if the person switched that on for this client: each call asks; no node is paired"`
	Ask            *string           `json:"ask,omitempty" jsonschema:"when the person is asked; it can only make their own setting stricter"`
	Node           *string           `json:"node,omitempty" jsonschema:"for host node"`
}

// ExecOutput is how a command ended, or what it waits for.
type ExecOutput struct {
	Status      string `json:"status" jsonschema:"completed (with any exit code), failed, running, approval-pending (it has not started)"`
	ExitCode    *int   `json:"exitCode,omitempty"`
	ExitSignal  string `json:"exitSignal,omitempty"`
	ExitReason  string `json:"exitReason,omitempty"`
	FailureKind string `json:"failureKind,omitempty"`
	TimedOut    bool   `json:"timedOut,omitempty"`
	DurationMs  int64  `json:"durationMs,omitempty"`
	Aggregated  string `json:"aggregated,omitempty" jsonschema:"both streams; of more than 200000 characters the newest"`
	Cwd         string `json:"cwd,omitempty"`
	SessionID   string `json:"sessionId,omitempty" jsonschema:"for process"`
	PID         int    `json:"pid,omitempty"`
	StartedAt   int64  `json:"startedAt,omitempty"`
	Tail        string `json:"tail,omitempty" jsonschema:"while it runs: its last 2000 characters"`
	FollowUp    string `json:"followUp,omitempty"`
	ApprovalID  string `json:"approvalId,omitempty" jsonschema:"for process, action poll"`
	// ExpiresAtMs is when a question that nobody answered is withdrawn.
	ExpiresAtMs      int64    `json:"expiresAtMs,omitempty"`
	AllowedDecisions []string `json:"allowedDecisions,omitempty"`
	Host             string   `json:"host,omitempty"`
	Command          string   `json:"command,omitempty" jsonschema:"as it will run"`
	Warnings         []string `json:"warnings,omitempty"`
	OutputFile       string   `json:"outputFile,omitempty"`
	Hint             string   `json:"hint,omitempty"`
	ChangesOutput
}

// outcome is what the activity log says of a call that did nothing yet.
func (o ExecOutput) outcome() string {
	if o.Status == "approval-pending" {
		return "approval_pending"
	}
	return ""
}

// Limits of exec, as OpenClaw has them.
const (
	yieldDefault   = 10_000 // milliseconds
	yieldLeast     = 10
	yieldMost      = 120_000
	timeoutDefault = 1800 // seconds
	maxTitle       = 120  // characters
	maxAggregated  = 200_000
)

const execName = "exec"

var (
	execAsks  = []string{"off", "on-miss", "always"}
	execHosts = []string{"auto", "sandbox", "gateway", "node"}
)

var execTool = define[ExecInput, ExecOutput](Tool{
	Name: execName, Title: "Run a command", Destructive: true,
	Levels: []client.Level{client.Ask, client.Trusted},
	Enums:  map[string][]string{"host": execHosts, "ask": execAsks},
	Description: "Run a shell command in the sandbox that bash has, in the foreground or in the background: after yieldMs it goes on as a session that process follows, feeds and ends. " +
		"Start what takes long once and look at it with process, action poll; don't make loops that wait. Processes that a command leaves behind with & end with it: use background. " +
		"If the person must be asked and doesn't answer within 45 s, approval-pending comes back: the command has not started, starts by itself once they allow it, and is polled like a session.",
}, func(ctx context.Context, g *Gate, c *Call, in ExecInput) (plan, error) {
	p := plan{text: in.Command}
	x := &execution{in: in}
	if err := x.check(); err != nil {
		return p, err
	}
	if g.Switches.Of(c.Session.Client.ID).Without(processTool.Name) {
		x.stays()
	}
	if err := g.mayGoOutside(c, x); err != nil {
		return p, err
	}
	dir, failed, err := g.execDir(c, value(in.Workdir, ""))
	if err != nil {
		return p, err
	}
	if failed != "" {
		p.run = func(context.Context) (answer, error) {
			return answer{failed, ExecOutput{Status: "failed", FailureKind: "runtime-error", Cwd: g.Workspace}}, nil
		}
		return p, nil
	}
	x.dir = dir.path
	if errand, ok, err := g.errand(c, in.Command, dir.path); ok && !x.outside {
		return inExecWords(errand, dir.path), err
	}
	if x.shell, err = shell(); err != nil {
		return p, err
	}
	room, err := g.room(c.Session)
	if err != nil {
		return p, err
	}
	if err := x.judge(g, room); err != nil {
		return p, err
	}
	if x.judged.Outcome == command.AskPerson {
		if err := x.settled(g, c); err != nil {
			return p, err
		}
	}
	if x.by != "" {
		p.by = []string{x.by}
	}
	p.effects = dir.effects
	if x.judged.Outcome == command.RunScript { // else the question shows what it deletes
		deletes, done, err := g.deletions(c, in.Command, dir.path, x.shell)
		if p.done = done; err != nil {
			return p, err
		}
		p.effects = append(p.effects, deletes...)
	}
	p.effects = append(p.effects, effect{kind: run})
	p.run = func(ctx context.Context) (answer, error) {
		if x.judged.Outcome == command.AskPerson {
			return g.askToRun(ctx, c, x)
		}
		if x.by != "" {
			if err := x.stillSettled(g, c); err != nil {
				return answer{}, err
			}
		}
		j, err := g.startExec(ctx, c, x)
		if err != nil {
			return answer{}, err
		}
		return g.yield(ctx, c, j, x)
	}
	return p, nil
})

// execution is one command on its way from a call to a job.
type execution struct {
	in       ExecInput
	outside  bool     // it is to run outside the sandbox
	toEnd    bool     // it is waited for, however long it takes: the client can't follow it
	folder   grant.ID // what dir was when the person was asked
	dir      string
	shell    string
	env      []string // what the call sets, sorted
	warnings []string

	read   command.Plan
	judged command.Judgement
	rule   *approval.Rule // the lasting rule that can be offered, or that covers it
	by     string         // the lasting rule that covers it
	run    command.Run    // how it runs if it was judged or asked for; else the text as it was given runs
}

// check looks at what the call asks for, before anything is read or found.
func (x *execution) check() error {
	in := x.in
	host := strings.TrimSpace(value(in.Host, "auto"))
	bad := func(what string, args ...any) *hint.Hint {
		return hint.New("bad_arguments", fmt.Sprintf(what, args...))
	}
	switch {
	case strings.TrimSpace(in.Command) == "":
		return emptyCommand()
	case utf8.RuneCountInString(value(in.Title, "")) > maxTitle:
		return bad("the title has more than %d characters", maxTitle)
	case value(in.TimeoutSeconds, 0) < 0:
		return bad("timeoutSeconds is %d", *in.TimeoutSeconds).Because("it must be 0 (none) or more")
	case !slices.Contains(execHosts, host):
		return bad("host is %q", host).Because("it is no name of a computer: it is one of " + strings.Join(execHosts, ", "))
	case host == "node" || value(in.Node, "") != "":
		return hint.New("no_node", "no node is paired").Because("Handrail runs commands on this computer only").Then("leave host and node out")
	}
	x.outside = host == "gateway" || value(in.Elevated, false)
	if _, err := command.ParseAsk(value(in.Ask, "off")); err != nil {
		return bad("%s", err)
	}
	if err := noPatch(in.Command); err != nil {
		return err
	}
	if first, _, _ := strings.Cut(strings.TrimSpace(in.Command), " "); first == "/approve" {
		return hint.New("not_a_command", "/approve is no command").Because("only the person answers questions, in Handrail's window").
			Then("tell them that a question waits")
	}
	blocked, invalid := command.CheckEnvironment(in.Env, x.outside)
	var wrong []string
	if len(blocked) > 0 {
		wrong = append(wrong, "not allowed: "+strings.Join(blocked, ", "))
	}
	if len(invalid) > 0 {
		wrong = append(wrong, fmt.Sprintf("no names of variables, or with a NUL byte: %q", invalid))
	}
	if len(wrong) > 0 {
		return hint.New("bad_environment", "the command was not run because of variables in env").Because(strings.Join(wrong, "; ")).
			Then("leave them out: they make programs load other code")
	}
	for _, name := range slices.Sorted(maps.Keys(in.Env)) {
		x.env = append(x.env, name+"="+in.Env[name])
	}
	return nil
}

// execDir is the folder that a command starts in. A folder that isn't there is a failed command, not an error of the call.
func (g *Gate) execDir(c *Call, path string) (dir workdir, failed string, err error) {
	no := func(why string) string {
		return fmt.Sprintf("workdir %q %s: the command was not run. Check the path, or leave workdir out.", path, why)
	}
	switch {
	case path != "" && strings.TrimSpace(path) == "":
		return dir, no("is blank"), nil
	case strings.HasPrefix(path, "~"):
		return dir, no("is taken as it stands, and no folder has that name"), nil
	}
	dir, err = g.workdir(c, path)
	switch hint.Code(err) {
	case "not_found", "bad_arguments", "broken_link":
		return dir, no("is unavailable or no folder"), nil
	}
	return dir, "", err
}

// judge reads the script, refuses what may not run, and says whether the person is asked.
func (x *execution) judge(g *Gate, r Room) error {
	files := command.Files(seen{g.files(), r.Policy.Decider()})
	if x.outside {
		files = g.files()
	}
	x.read = command.Analyse(x.in.Command, command.Context{Shell: command.ParseShell(filepath.Base(x.shell)), Dir: x.dir, Home: g.Home.Home,
		Path: filepath.SplitList(variableOf(x.environment(g, r), "PATH")), Files: files, Temp: []string{r.Temp}})
	if name, ok := g.Own.Starts(x.read); ok {
		return hint.New("denied", fmt.Sprintf("the command starts Handrail's own program %q", name)).Because("assistants don't control Handrail").
			Then("ask the person to do what you need there")
	}
	if f, ok := command.Preflight(x.read, readScript); ok {
		return hint.New("preflight", fmt.Sprintf("%s, line %d, has %s outside a string", f.Path, f.Line, f.Variable)).
			Because("Python has no such variables, so the script can't run; a shell may have been meant").Then("use os.environ.get(" + strings.TrimPrefix(f.Variable, "$") + ")")
	}
	policy, status := g.Policy.Now()
	if len(status.Waiting) > 0 && g.PolicyWaits != nil {
		g.PolicyWaits()
	}
	wanted, _ := command.ParseAsk(value(x.in.Ask, "off"))
	mode, where := policy.Sandbox, "the sandbox"
	if x.outside {
		mode, where = policy.Host, "commands outside the sandbox"
		if why := command.Untold(x.read); why != "" { // nothing would keep Handrail's own programs from it
			return hint.New("denied", "what this command runs can't be told before it runs").Because("it holds " + why + ", and it is to run outside the sandbox").
				Then("write programs by their names, without variables in their place, eval and the like")
		}
	}
	if x.in.Ask != nil && wanted > mode.Ask {
		x.warnings = append(x.warnings, fmt.Sprintf("ask %s was not taken: the person's setting is %s, and a call can only make it stricter", wanted, mode.Ask))
	}
	mode = mode.Harder(wanted)
	x.judged = policy.Judge(x.read, mode)
	if blocked, _ := command.CheckEnvironment(x.in.Env, true); len(blocked) > 0 && x.judged.Decision.Allowed && x.judged.Outcome == command.RunScript {
		// What the list allows is allowed as it is found and runs, not with other settings.
		x.judged.Outcome, x.judged.Why = command.AskPerson, []string{"it sets " + strings.Join(blocked, ", ")}
		if mode.NoMiss {
			x.judged.Outcome = command.RefuseScript
		}
	}
	if status.Problem != "" {
		x.judged.Why = append(x.judged.Why, "the policy file can't be read")
	}
	switch {
	case x.outside && x.judged.Outcome == command.RunScript: // each call is asked for, whatever the list says
		x.judged.Outcome = command.AskPerson
	case x.judged.Missed && !x.outside: // no lasting rule reaches outside
		x.offer(g)
	}
	switch {
	case x.judged.Outcome == command.RefuseScript:
		return hint.New("denied", "exec denied: "+cmp.Or(strings.Join(x.judged.Why, "; "), "the policy refuses it")).
			Because(fmt.Sprintf("the person's policy for %s is %s", where, mode)).Then("tell them what you need; only they change it")
	case x.judged.Outcome == command.AskPerson, x.judged.Decision.Allowed:
		x.run = x.read.Run()
		if x.judged.Outcome == command.RunScript && x.run.Exact { // the list judged something else than would run
			return hint.New("denied", "exec denied: what the list allows can't be written in one way only")
		}
	default:
		x.run = command.Run{Script: x.in.Command, Exact: true}
	}
	return nil
}

// stays has the command run to its end, in the time that it may take: without process nobody could follow it.
func (x *execution) stays() {
	if value(x.in.Background, false) || x.in.YieldMs != nil {
		x.warnings = append(x.warnings, "background and yieldMs were not taken: process is turned off for this client, so the command runs to its end")
	}
	x.in.Background, x.in.YieldMs, x.toEnd = nil, nil, true
}

// environment is what the command finds.
func (x *execution) environment(g *Gate, r Room) []string {
	set := map[string]string{"PWD": x.dir, "HANDRAIL_TOOL": "exec"}
	if value(x.in.PTY, false) {
		set["TERM"] = "xterm-256color"
	}
	for name, v := range x.in.Env {
		if name == "PATH" {
			v += string(filepath.ListSeparator) + r.variable("PATH")
		}
		set[name] = v
	}
	base := r.Env
	if x.outside {
		base = g.ownEnvironment(r)
	}
	env := slices.DeleteFunc(slices.Clone(base), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		_, ok := set[name]
		return ok
	})
	for _, name := range slices.Sorted(maps.Keys(set)) {
		env = append(env, name+"="+set[name])
	}
	return env
}

func variableOf(env []string, name string) string { return Room{Env: env}.variable(name) }

// startExec starts a command that may run.
func (g *Gate) startExec(ctx context.Context, c *Call, x *execution) (*job.Job, error) {
	r, err := g.commands(c.Session)
	if err != nil {
		return nil, err
	}
	argv := x.run.Argv
	if argv == nil {
		argv = []string{x.shell, "-c", x.run.Script}
	}
	timeout := time.Duration(value(x.in.TimeoutSeconds, timeoutDefault)) * time.Second
	if x.outside {
		if err := g.mayGoOutside(c, x); err != nil { // it may have been turned off while the person was asked
			return nil, err
		}
		r.Policy = sandbox.Outside(r.Policy.Machine())
	}
	spec := job.Spec{Session: c.Session.ID, Tool: c.Tool.Name, Text: x.in.Command, Argv: argv, Dir: x.dir, DirDevice: x.folder.Device, DirInode: x.folder.Inode, Env: x.environment(g, r), Policy: r.Policy,
		Timeout: timeout, Work: r.Work, Background: value(x.in.Background, false), Interactive: value(x.in.Background, false)}
	if value(x.in.PTY, false) {
		spec.Terminal = &job.DefaultSize
	}
	g.pruneJobs(c.Session.ID)
	if g.runningExec(c.Session.ID) >= mostRunning {
		return nil, hint.New("limit_reached", "the command was not run").Because(fmt.Sprintf("%d run already", mostRunning)).Then("end one with process, action kill")
	}
	return g.startJob(ctx, c, spec)
}

// yield waits for a command, as long as its call says and clients wait, and tells how it goes.
func (g *Gate) yield(ctx context.Context, c *Call, j *job.Job, x *execution) (answer, error) {
	wait := cmp.Or(g.testOnlySlow, yieldDefault*time.Millisecond)
	if x.in.YieldMs != nil {
		wait = time.Duration(min(max(*x.in.YieldMs, yieldLeast), yieldMost)) * time.Millisecond
	}
	if value(x.in.Background, false) {
		wait = 0
	}
	stop := c.stream(j)
	defer stop()
	timer := time.NewTimer(min(wait, c.left()))
	defer timer.Stop()
	over := timer.C
	if x.toEnd {
		over = nil
	}
	select {
	case <-j.Done():
	case <-over:
		j.Hand()
	case <-ctx.Done():
		j.Stop(job.Cancelled)
		<-j.Done()
	}
	return g.execReport(j, x.warnings), nil
}

// inExecWords gives the answer of an app command as exec does.
func inExecWords(p plan, dir string) plan {
	run := p.run
	if run == nil {
		return p
	}
	p.run = func(ctx context.Context) (answer, error) {
		a, err := run(ctx)
		if out, ok := a.data.(CommandOutput); ok {
			a.data = ExecOutput{Status: "completed", ExitCode: out.ExitCode, ExitReason: "exit", Aggregated: out.Stdout, Cwd: dir}
			a.text = cmp.Or(a.text, noOutput)
		}
		return a, err
	}
	return p
}
