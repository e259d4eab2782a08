package tool

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"handrail/core/client"
	"handrail/core/hint"
	"handrail/core/job"
)

// BashBGInput is what bash_bg takes.
type BashBGInput struct {
	Action  string  `json:"action" jsonschema:"start a job, look at one, list them, or end one"`
	Command *string `json:"command,omitempty" jsonschema:"for start: the script"`
	Workdir *string `json:"workdir,omitempty" jsonschema:"for start: folder to run in; default: the workspace"`
	JobID   *string `json:"job_id,omitempty" jsonschema:"for status and kill"`
	Wait    *whole  `json:"wait,omitempty" jsonschema:"for status: seconds to wait for output that it hasn't shown yet or the end, 0 to 30; default 0"`
}

// BashBGOutput tells of one job or of all.
type BashBGOutput struct {
	Jobs []JobStatus `json:"jobs"`
}

// JobStatus is one job as bash_bg shows it.
type JobStatus struct {
	JobID      string `json:"job_id"`
	Command    string `json:"command"`
	Running    bool   `json:"running"`
	ExitCode   *int   `json:"exit_code,omitempty"`
	Signal     string `json:"signal,omitempty"`
	Stopped    string `json:"stopped,omitempty" jsonschema:"why it was stopped, if it was"`
	DurationMS int64  `json:"duration_ms"`
	LogTail    string `json:"log_tail,omitempty" jsonschema:"status and kill: the last 2000 characters of its output"`
	LogFile    string `json:"log_file,omitempty" jsonschema:"where its whole output is"`
	ChangesOutput
}

// tailRunes is how much of its output a job's status shows.
const tailRunes = 2000

var bashBGTool = define[BashBGInput, BashBGOutput](Tool{
	Name: "bash_bg", Title: "Background commands", Destructive: true,
	Levels: []client.Level{client.Ask, client.Trusted},
	Enums:  map[string][]string{"action": {"start", "status", "list", "kill"}},
	Description: "Run a shell command in the background, in the same sandbox as bash: servers, long builds, downloads. start gives a job_id at once; status shows " +
		"whether it runs and the end of its output; kill ends it with all it started. At most 5 run at once; they end with the session. The person can open a server's page only after request_access with level loopback, given before it starts. For what takes seconds use bash. " +
		"What bash does outside the sandbox (opening an app, a document or a web address, copying, notifying) is done at once and makes no job.",
}, func(ctx context.Context, g *Gate, c *Call, in BashBGInput) (plan, error) {
	p := plan{text: strings.TrimSpace(in.Action + " " + value(in.JobID, "") + value(in.Command, ""))}
	switch in.Action {
	case "start":
		if strings.TrimSpace(value(in.Command, "")) == "" {
			return p, hint.New("bad_arguments", "start needs a command")
		}
		if err := noPatch(*in.Command); err != nil {
			return p, err
		}
		dir, err := g.workdir(c, value(in.Workdir, ""))
		if err != nil {
			return p, err
		}
		if errand, ok, err := g.errand(c, *in.Command, dir.path); ok {
			errand.text = p.text
			return withoutJob(errand), err
		}
		shell, err := shell()
		if err != nil {
			return p, err
		}
		deletes, done, err := g.deletions(c, *in.Command, dir.path, shell)
		if p.done = done; err != nil {
			return p, err
		}
		p.effects = append(append(dir.effects, deletes...), effect{kind: run})
		p.run = func(ctx context.Context) (answer, error) {
			j, err := g.start(ctx, c, []string{shell, "-c", *in.Command}, *in.Command, dir.path, 0, true)
			if err != nil {
				return answer{}, g.withJobs(c, err, true)
			}
			j.Hand()
			return g.jobs(func(b *strings.Builder, _ *JobStatus, _ *job.Job) {
				b.WriteString("[started; look at it with action status]\n")
			}, j), nil
		}
	case "list":
		p.run = func(context.Context) (answer, error) { return g.jobs(nameCommand, g.Jobs.List(c.Session.ID)...), nil }
	case "status", "kill":
		id := value(in.JobID, "")
		if id == "" {
			return p, g.withJobs(c, hint.New("bad_arguments", in.Action+" needs a job_id"), false)
		}
		j, ok := g.Jobs.Find(c.Session.ID, id)
		if !ok {
			return p, g.withJobs(c, hint.New("not_found", fmt.Sprintf("this session has no job %q", id)), false)
		}
		wait := value(in.Wait, 0)
		if wait < 0 || wait > 30 {
			return p, hint.New("bad_arguments", fmt.Sprintf("wait is %d", wait)).Because("it must be 0 to 30 seconds")
		}
		if in.Action == "kill" {
			p.run = func(context.Context) (answer, error) {
				j.Stop(job.Killed)
				<-j.Done()
				return g.jobs(g.showTail, j), nil
			}
			break
		}
		p.run = func(ctx context.Context) (answer, error) {
			if wait > 0 {
				shown := int64(0)
				g.mu.Lock()
				if x := g.watched[j.ID]; x != nil {
					shown = x.shown
				}
				g.mu.Unlock()
				defer c.keepAlive("Waiting for " + j.ID)()
				waitFor(ctx, time.Duration(wait)*time.Second, j.Done(), j.Output.Grown(shown))
			}
			return g.jobs(g.showTail, j), nil
		}
	default:
		return p, hint.New("bad_arguments", fmt.Sprintf("there is no action %q", in.Action)).Then("the actions are start, status, list and kill")
	}
	return p, nil
})

// withoutJob gives the answer of an app command, which is done at once, as bash_bg does.
func withoutJob(p plan) plan {
	run := p.run
	if run == nil {
		return p
	}
	p.run = func(ctx context.Context) (answer, error) {
		a, err := run(ctx)
		if a.text != "" {
			a.text = strings.TrimSuffix(a.text, "\n") + "\n"
		}
		return answer{a.text + "[done at once, outside the sandbox: there is no job]", BashBGOutput{Jobs: []JobStatus{}}}, err
	}
	return p
}

// withJobs adds to a refusal which jobs there are; with running, only those that run.
func (g *Gate) withJobs(c *Call, err error, running bool) error {
	var names []string
	for _, j := range g.Jobs.List(c.Session.ID) {
		state := "ended"
		if j.Running() {
			state = "running"
		} else if running {
			continue
		}
		names = append(names, fmt.Sprintf("%s (%s: %s)", j.ID, state, firstRunes(j.Spec.Text, 60)))
	}
	h := hint.Of(err)
	if len(names) == 0 {
		return h.Then(cmp.Or(h.Next, "there are no jobs; start one first"))
	}
	return h.Then(strings.TrimPrefix(h.Next+"; the jobs are: "+strings.Join(names, ", "), "; "))
}

// nameCommand tells a job's command in a list, where its output would be too much.
func nameCommand(b *strings.Builder, s *JobStatus, _ *job.Job) {
	fmt.Fprintf(b, "  %s\n", short(s.Command))
}

// showTail tells the end of a job's output.
func (g *Gate) showTail(b *strings.Builder, s *JobStatus, j *job.Job) {
	text := j.Output.All()
	g.mu.Lock()
	if x := g.watched[j.ID]; x != nil { // its session may have ended meanwhile
		x.shown = text.Total
	}
	g.mu.Unlock()
	if s.LogTail = lastRunes(plainText(lastBytes(text, 8*tailRunes)).text, tailRunes); s.LogTail != "" {
		b.WriteString(strings.TrimSuffix(s.LogTail, "\n") + "\n")
	}
}

// jobs tells how jobs are doing, and of each what more says.
func (g *Gate) jobs(more func(*strings.Builder, *JobStatus, *job.Job), list ...*job.Job) answer {
	out := BashBGOutput{Jobs: []JobStatus{}}
	var b strings.Builder
	for _, j := range list {
		file, _, _ := j.Output.File()
		s := JobStatus{JobID: j.ID, Command: j.Spec.Text, Running: j.Running(), LogFile: file, DurationMS: time.Since(j.Started).Milliseconds()}
		fmt.Fprintf(&b, "%s: ", j.ID)
		if s.Running {
			fmt.Fprintf(&b, "running for %.0f s", time.Since(j.Started).Seconds())
		} else {
			r := j.Result()
			code := r.ExitCode
			s.ExitCode, s.Signal, s.Stopped, s.DurationMS = &code, r.Signal, string(r.Stopped), r.Duration.Milliseconds()
			fmt.Fprintf(&b, "exited, code %d", code)
			if r.Stopped != "" {
				fmt.Fprintf(&b, " (%s)", r.Stopped)
			}
		}
		if file != "" {
			fmt.Fprintf(&b, "; log: %s", file)
		}
		b.WriteString("\n")
		more(&b, &s, j)
		var changes string
		s.ChangesOutput, changes = g.changesOf(j)
		if changes != "" {
			b.WriteString(strings.TrimPrefix(changes, "\n") + "\n")
		}
		out.Jobs = append(out.Jobs, s)
	}
	if len(list) == 0 {
		b.WriteString("no jobs")
	}
	return answer{strings.TrimSuffix(b.String(), "\n"), out}
}
