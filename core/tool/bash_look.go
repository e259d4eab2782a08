package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"handrail/core/client"
	"handrail/core/command"
	"handrail/core/git"
	"handrail/core/grant"
	"handrail/core/hint"
	"handrail/core/job"
	"handrail/sandbox"
)

// BashLookInput is what bash takes at the level look.
type BashLookInput struct {
	Command string  `json:"command" jsonschema:"one command, or several joined by pipes"`
	Workdir *string `json:"workdir,omitempty" jsonschema:"folder to run in; default: the workspace"`
	Timeout *whole  `json:"timeout,omitempty" jsonschema:"seconds until it is stopped, 1 to 40; default 40"`
	Query   *string `json:"query,omitempty" jsonschema:"what the person asked, in their words: a command that misses it in one of a few known ways is put right, and the result says how"`
}

// BashLookOutput is what the command printed.
type BashLookOutput struct {
	Stdout      string   `json:"stdout" jsonschema:"shortened if truncated"`
	Stderr      string   `json:"stderr,omitempty"`
	ExitCode    int      `json:"exit_code"`
	Signal      string   `json:"signal,omitempty"`
	DurationMS  int64    `json:"duration_ms"`
	TimedOut    bool     `json:"timed_out,omitempty"`
	Stopped     string   `json:"stopped,omitempty" jsonschema:"why it was stopped"`
	Truncated   bool     `json:"truncated,omitempty" jsonschema:"output_file holds all of it"`
	OutputFile  string   `json:"output_file,omitempty"`
	InvalidUTF8 bool     `json:"invalid_utf8,omitempty" jsonschema:"broken bytes were replaced"`
	LeftOut     int      `json:"left_out,omitempty" jsonschema:"lines that name files closed to assistants"`
	Ran         string   `json:"ran,omitempty" jsonschema:"the command that ran in place of the one given"`
	Adjusted    []string `json:"adjusted,omitempty" jsonschema:"how the command was put right, and why"`
	Hint        string   `json:"hint,omitempty"`
}

// lookTimeout is the most that a command may take, so that its call answers before a client cuts it.
const lookTimeout = 40

var bashLookTool = define[BashLookInput, BashLookOutput](Tool{
	Name: "bash", Title: "Run a command that only reads", ReadOnly: true, Idempotent: true,
	Levels: []client.Level{client.Look},
	Description: "Run a command that only reads: one of " + strings.Join(command.ReadOnlyPrograms(), ", ") + ", or several joined by pipes. For counting and listing files, and for searching " +
		"their whole text. Write absolute paths. There is no other shell syntax: no redirects (2>/dev/null and 2>&1 may stand), no chains (; && ||), no variables, no substitutions; a pattern like *.txt is written ./*.txt or quoted. " +
		"git takes branch, diff, grep, log, ls-files, rev-parse, show and status; pass a repository's folder as workdir. Nothing can be changed and there is no network. Keys, passwords and what assistants keep are closed. " +
		"Outside the workspace call request_access first.",
}, func(ctx context.Context, g *Gate, c *Call, in BashLookInput) (plan, error) {
	p := plan{text: in.Command}
	timeout := value(in.Timeout, lookTimeout)
	if timeout < 1 || timeout > lookTimeout {
		return p, hint.New("bad_arguments", fmt.Sprintf("timeout is %d", timeout)).Because(fmt.Sprintf("it must be 1 to %d seconds", lookTimeout)).Then("narrow the search: a folder, a name, a depth")
	}
	if command.Narration(in.Command) {
		p.run = func(context.Context) (answer, error) { return answer{text: "", data: BashLookOutput{}}, nil }
		return p, nil
	}
	dir, err := g.workdir(c, value(in.Workdir, ""))
	if err != nil {
		return p, err
	}
	p.effects = dir.effects
	w, err := g.look(c, in.Command, value(in.Query, ""), dir.path)
	if err != nil {
		return p, err
	}
	if len(w.notes) > 0 { // the activity log says what ran
		p.text += "\nran: " + w.script
	}
	effects, err := w.operands()
	p.done = func() { closeAll(effects) }
	if err != nil {
		return p, err
	}
	p.effects = append(p.effects, effects...)
	p.run = func(ctx context.Context) (answer, error) {
		return w.run(ctx, time.Duration(timeout)*time.Second)
	}
	return p, nil
})

// looking is one call of the read-only bash.
type looking struct {
	gate    *Gate
	call    *Call
	script  string   // as it runs
	notes   []string // how it differs from the one given
	dir     string
	room    Room
	verdict command.Verdict
	decide  func(sandbox.Op, string) sandbox.Decision
	// top is that of the repository which git commands are about; "" for none.
	repo *git.Repository
}

// look reads a script, puts it right by the question if there is one, and refuses it unless it only reads.
func (g *Gate) look(c *Call, script, query, dir string) (*looking, error) {
	r, err := g.room(c.Session)
	if err != nil {
		return nil, err
	}
	w := &looking{gate: g, call: c, dir: dir, room: r, decide: r.Policy.Decider()}
	w.script, w.notes = command.Normalise(w.read(script), query)
	w.verdict = command.ReadOnly(w.read(w.script), command.LookRules())
	if !w.verdict.Allowed {
		return nil, hint.New("not_read_only", "this command may not run here").Because(w.verdict.Reason).Then(w.verdict.Instead)
	}
	if slices.ContainsFunc(w.verdict.Stages, func(s command.Stage) bool { return filepath.Base(s.Argv[0]) == "git" }) {
		if repo, err := git.Find(dir, w.ceiling()); err == nil {
			w.repo = &repo
		}
	}
	return w, nil
}

func (w *looking) read(script string) command.Plan {
	return command.Analyse(script, command.Context{Shell: command.Bash, Dir: w.dir, Home: w.gate.Home.Home,
		Path: filepath.SplitList(w.room.variable("PATH")), Files: seen{command.System(), w.decide}})
}

// ceiling is the highest folder in which git looks for a repository.
func (w *looking) ceiling() string {
	if grant.Within(w.gate.Workspace, w.dir) {
		return w.gate.Workspace
	}
	if h, ok := w.gate.Grants.Covers(w.call.Session.ID, grant.Look, w.dir); ok {
		return h.Folder
	}
	return w.dir
}

// mostAsked is how many folders one command may ask the person for.
const mostAsked = 4

// operands checks every word that names, or may name, a file: what is closed is refused, what the person
// could open is an effect for the gate.
func (w *looking) operands() (effects []effect, err error) {
	var units []grant.Unit
	for _, o := range w.verdict.Paths {
		paths := []string{o.Path}
		if o.Stored && w.repo != nil && !filepath.IsAbs(o.Text) {
			paths = append(paths, filepath.Join(cmp.Or(w.repo.Top, w.repo.Dir), o.Text))
		}
		if real, err := resolve(filepath.Clean(o.Path)); err == nil && real != o.Path {
			paths = append(paths, real)
		}
		for _, path := range paths {
			if path == "" {
				return effects, hint.New("bad_path", fmt.Sprintf("it isn't known where %q leads", o.Text)).Then("write an absolute path")
			}
			if d := w.decide(sandbox.Read, path); d.Closed {
				return effects, hint.New("denied", fmt.Sprintf("%q is closed to assistants", o.Text)).Because(d.Rule).Then("no permission opens it; ask the person to do this themselves")
			}
		}
		if o.Stored || w.decide(sandbox.Read, paths[len(paths)-1]).Allowed {
			continue // a name that isn't in the file system is git's to refuse
		}
		at, err := w.gate.locate(o.Path, w.dir, false)
		if err != nil {
			return effects, err
		}
		if slices.Contains(units, at.unit) {
			at.close()
			continue
		}
		units = append(units, at.unit)
		effects = append(effects, effect{kind: read, place: at})
		if len(units) > mostAsked {
			return effects, hint.New("too_many_folders", fmt.Sprintf("the command reads more than %d folders that the person would have to open", mostAsked)).
				Then("call request_access for the folder that holds them, or name fewer")
		}
	}
	return effects, nil
}

func closeAll(effects []effect) {
	for _, e := range effects {
		e.place.close()
	}
}

// run runs the pipeline as argument lists, each in a sandbox that changes nothing and has no network, and filters what it
// prints.
func (w *looking) run(ctx context.Context, timeout time.Duration) (answer, error) {
	// The grants that the gate may have made since are in here.
	r, err := w.gate.room(w.call.Session)
	if err != nil {
		return answer{}, err
	}
	w.room, w.decide = r, r.Policy.Decider()
	spec := job.Spec{Session: w.call.Session.ID, Tool: w.call.Tool.Name, Text: w.script, Dir: w.dir, Policy: r.Policy, Timeout: max(time.Second, min(timeout, w.call.left()))}
	for i := range w.verdict.Stages {
		s := &w.verdict.Stages[i]
		if filepath.Base(s.Argv[0]) == "mdfind" {
			spec.Policy = spec.Policy.AllowSpotlight()
			w.only(s)
		}
		env := append(slices.Clone(r.Env), "PWD="+w.dir)
		if filepath.Base(s.Argv[0]) == "git" {
			if env, err = w.gitEnvironment(ctx, *s, env); err != nil {
				return answer{}, err
			}
		}
		spec.Stages = append(spec.Stages, job.Stage{Argv: s.Argv, Env: env, Errors: job.Errors(s.Stderr)})
	}
	// What it prints lies where no session reads until it is filtered.
	if spec.Work, err = os.MkdirTemp(w.gate.Home.State, "look-"); err != nil {
		return answer{}, fmt.Errorf("making a folder for output: %w", err)
	}
	defer os.RemoveAll(spec.Work)
	defer w.call.keepAlive("The command runs")()
	j, err := w.gate.startJob(ctx, w.call, spec)
	if err != nil {
		return answer{}, err
	}
	select {
	case <-j.Done():
	case <-ctx.Done():
		j.Stop(job.Cancelled)
		<-j.Done()
	}
	return w.report(j)
}

// only binds a search of the index to the folders that are open, unless it names one (ReadOnly lets the word -onlyin be nothing
// else): what it finds elsewhere would tell of files that the session may not read.
func (w *looking) only(s *command.Stage) {
	if slices.Contains(s.Argv, "-onlyin") {
		return
	}
	in := []string{"-onlyin", w.gate.Workspace}
	for _, h := range w.gate.Grants.List(w.call.Session.ID) {
		in = append(in, "-onlyin", h.Folder)
	}
	s.Argv = slices.Insert(slices.Clone(s.Argv), 1, in...)
}

// gitEnvironment is what git finds: its own settings switched off where they could start a program, and no way up out of
// what is open.
func (w *looking) gitEnvironment(ctx context.Context, s command.Stage, env []string) ([]string, error) {
	var settings, modules []git.Setting
	if w.repo != nil {
		gw := &gitWork{gate: w.gate, call: w.call, repo: *w.repo, program: s.Argv[0]}
		if err := gw.learn(ctx); err != nil {
			return nil, err
		}
		settings, modules = gw.settings, gw.modules
	}
	neutral := git.Neutral(settings, modules, false, "lfs")
	for _, e := range s.Env {
		if !strings.HasPrefix(e, "GIT_CONFIG_") {
			env = append(env, e)
			continue
		}
		if n, key, ok := strings.Cut(strings.TrimPrefix(e, "GIT_CONFIG_KEY_"), "="); ok && strings.HasPrefix(e, "GIT_CONFIG_KEY_") {
			for _, v := range s.Env {
				if value, ok := strings.CutPrefix(v, "GIT_CONFIG_VALUE_"+n+"="); ok {
					neutral = append(neutral, git.Setting{Key: key, Value: value})
				}
			}
		}
	}
	env = append(env, "HOME="+w.room.Temp, "XDG_CONFIG_HOME="+w.room.Temp, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_SSH_COMMAND=false", "GIT_PROTOCOL_FROM_USER=0", "GIT_ADVICE=0", "GIT_CEILING_DIRECTORIES="+filepath.Dir(w.ceiling()), fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(neutral)))
	for i, n := range neutral {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, n.Key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, n.Value))
	}
	return env, nil
}

// report tells what the command printed: filtered, shortened, and kept whole in a file where it is long.
func (w *looking) report(j *job.Job) (answer, error) {
	end := j.Result()
	filter := newNameFilter(w.verdict, w.dir, w.decide)
	var b strings.Builder
	data := BashLookOutput{ExitCode: end.ExitCode, Signal: end.Signal, DurationMS: end.Duration.Milliseconds(), TimedOut: end.Stopped == job.TimedOut, Stopped: string(end.Stopped), Adjusted: w.notes}
	if len(w.notes) > 0 {
		data.Ran = w.script
		fmt.Fprintf(&b, "[%s; ran: %s]\n", strings.Join(w.notes, "; "), w.script)
	}
	out, errs := j.Output.Stream(job.Stdout), j.Output.Stream(job.Stderr)
	var whole string
	rotated := false
	if out.Missing == 0 && errs.Missing == 0 {
		raw := append(slices.Clone(out.Head), out.Tail...)
		data.Stdout = filter.text(raw, false)
		rawErrs := append(slices.Clone(errs.Head), errs.Tail...)
		data.Stderr = filter.text(rawErrs, true)
		data.InvalidUTF8 = plainText(raw).invalid || plainText(rawErrs).invalid
		whole = data.Stdout
		if data.Stderr != "" {
			whole = endLine(data.Stdout) + data.Stderr
		}
	} else {
		file, cut, err := j.Output.Save()
		if file == "" {
			return answer{}, fmt.Errorf("keeping output: %w", cmp.Or(err, errors.New("no file")))
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			return answer{}, fmt.Errorf("reading output: %w", err)
		}
		rotated = cut
		whole = filter.text(raw, false)
		data.Stdout, data.InvalidUTF8 = whole, plainText(raw).invalid
	}
	if filter != nil {
		data.LeftOut = filter.left
	}
	if err := withhold(answer{text: whole}); err != nil {
		return answer{}, err
	}
	if text := brief(whole); text != whole {
		data.Truncated = true
		data.Stdout, data.Stderr = brief(data.Stdout), brief(data.Stderr)
		what := "the whole output"
		if rotated {
			what = "the last part of the output"
		}
		file, err := keep(w.room.Work, j.ID, whole)
		if err != nil {
			return answer{}, err
		}
		data.OutputFile = file
		fmt.Fprintf(&b, "[bash] truncated: %s, %d bytes, is in %s\n", what, len(whole), file)
		whole = text
	}
	b.WriteString(endLine(whole))
	var status []string
	switch {
	case end.Err != nil:
		status = append(status, "how it ended is not known")
	case data.TimedOut:
		status = append(status, fmt.Sprintf("timed out after %.0f s and was stopped; narrow the search: a folder, a name, a depth", end.Duration.Seconds()))
	case end.Stopped != "":
		status = append(status, "stopped: "+string(end.Stopped))
	case end.Signal != "":
		status = append(status, "ended by "+end.Signal)
	case end.ExitCode != 0:
		status = append(status, fmt.Sprintf("exit code %d", end.ExitCode))
	}
	if data.InvalidUTF8 {
		status = append(status, "bytes that are no UTF-8 were replaced")
	}
	if data.LeftOut > 0 {
		status = append(status, fmt.Sprintf("lines left out because they name files closed to assistants: %d", data.LeftOut))
	}
	if end.Stopped == "" {
		if data.Hint = explain(end, j); data.Hint != "" && (filter == nil || !filter.listed(data.Hint)) {
			status = append(status, "hint: "+data.Hint)
		} else {
			data.Hint = ""
		}
	}
	if len(status) > 0 {
		fmt.Fprintf(&b, "[%s]", strings.Join(status, "; "))
	}
	return answer{b.String(), data}, nil
}

func endLine(s string) string {
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return s
}

func brief(s string) string {
	return shorten(job.Text{Head: []byte(s), Total: int64(len(s))}, maxOutput, 0).text
}

// keep writes output into a new file of the session's folder for that.
func keep(work, id, text string) (string, error) {
	root, err := os.OpenRoot(work)
	if err != nil {
		return "", fmt.Errorf("keeping output: %w", err)
	}
	defer root.Close()
	name := id + ".txt"
	if err := root.WriteFile(name, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("keeping output: %w", err)
	}
	return filepath.Join(work, name), nil
}
