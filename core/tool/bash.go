package tool

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"handrail/core/client"
	"handrail/core/command"
	"handrail/core/hint"
	"handrail/core/job"
	"handrail/sandbox"
)

// BashInput is what bash takes.
type BashInput struct {
	Command string  `json:"command" jsonschema:"the script; bash runs it without a login shell or start-up files"`
	Workdir *string `json:"workdir,omitempty" jsonschema:"folder to run in; default: the workspace"`
	Session *bool   `json:"session,omitempty" jsonschema:"start where the last command with session ended (cd), else in the workspace"`
	Timeout *whole  `json:"timeout,omitempty" jsonschema:"seconds until it is killed with all it started, 1 to 600; default 120"`
}

// CommandOutput is how a command ended, or that it goes on.
type CommandOutput struct {
	Stdout string `json:"stdout" jsonschema:"shortened if truncated"`
	Stderr string `json:"stderr,omitempty"`
	// ExitCode is nil while the command runs.
	ExitCode    *int   `json:"exit_code,omitempty"`
	Signal      string `json:"signal,omitempty"`
	DurationMS  int64  `json:"duration_ms"`
	TimedOut    bool   `json:"timed_out,omitempty"`
	Stopped     string `json:"stopped,omitempty" jsonschema:"why it was stopped"`
	Truncated   bool   `json:"truncated,omitempty" jsonschema:"output_file holds all of it"`
	OutputFile  string `json:"output_file,omitempty"`
	InvalidUTF8 bool   `json:"invalid_utf8,omitempty" jsonschema:"broken bytes were replaced"`
	LeftRunning int    `json:"left_running,omitempty" jsonschema:"background processes ended with it"`
	Running     bool   `json:"running,omitempty" jsonschema:"as job_id"`
	JobID       string `json:"job_id,omitempty"`
	Hint        string `json:"hint,omitempty"`
	ChangesOutput
}

var bashTool = define[BashInput, CommandOutput](Tool{
	Name: "bash", Title: "Run a command", Destructive: true,
	Levels: []client.Level{client.Ask, client.Trusted},
	Description: "Run any shell command in a sandbox on the person's computer. It reads the workspace and installed tools; it writes only in folders the person granted " +
		"(request_access asks them; for the network too) and in $TMPDIR. Deleting files there asks them once a folder. Standard input is empty. A command that still runs after 45 s goes on as a background job: " +
		"follow it with bash_bg. Use bash_bg start for servers and long builds. A plain echo is taken for a remark to the person: it isn't run and prints nothing. " +
		"A command that only opens an app, a document or a web address, copies or pastes, notifies or sets the volume is done outside the sandbox (macOS: open, pbcopy, pbpaste, osascript; " +
		"Linux: xdg-open, wl-copy, xclip, notify-send).",
}, func(ctx context.Context, g *Gate, c *Call, in BashInput) (plan, error) {
	p := plan{text: in.Command}
	timeout := value(in.Timeout, 120)
	if timeout < 1 || timeout > 600 {
		return p, hint.New("bad_arguments", fmt.Sprintf("timeout is %d", timeout)).Because("it must be 1 to 600 seconds").Then("use bash_bg for what takes longer")
	}
	if strings.TrimSpace(in.Command) == "" {
		return p, emptyCommand()
	}
	if command.Narration(in.Command) {
		p.run = func(context.Context) (answer, error) {
			return answer{text: "", data: CommandOutput{ExitCode: new(int), Hint: "not run: a plain echo is taken for a remark to the person; write it in the chat"}}, nil
		}
		return p, nil
	}
	if err := noPatch(in.Command); err != nil {
		return p, err
	}
	folder, keep := value(in.Workdir, ""), value(in.Session, false)
	if folder == "" && keep {
		folder = g.folderOf(c.Session)
	}
	dir, err := g.workdir(c, folder)
	if err != nil {
		if keep && value(in.Workdir, "") == "" {
			g.setFolder(c.Session, "") // it is gone: the next command starts in the workspace
		}
		return p, err
	}
	if p, ok, err := g.errand(c, in.Command, dir.path); ok {
		return p, err
	}
	shell, err := shell()
	if err != nil {
		return p, err
	}
	deletes, done, err := g.deletions(c, in.Command, dir.path, shell)
	if p.done = done; err != nil {
		return p, err
	}
	p.effects = append(append(dir.effects, deletes...), effect{kind: run})
	p.run = func(ctx context.Context) (answer, error) {
		text, file := in.Command, ""
		if keep {
			r, err := g.room(c.Session)
			if err != nil {
				return answer{}, err
			}
			file = filepath.Join(r.Temp, "folder-"+c.ID)
			text = keepFolder(in.Command, file)
		}
		j, err := g.start(ctx, c, []string{shell, "-c", text}, in.Command, dir.path, time.Duration(timeout)*time.Second, false)
		if err != nil {
			return answer{}, err
		}
		a, err := g.follow(ctx, c, j)
		if keep && !j.Running() {
			switch path := folderKept(file); {
			case path == "":
			case !j.Spec.Policy.Decide(sandbox.Read, path).Allowed:
				a.text = strings.TrimPrefix(strings.TrimSuffix(a.text, "\n")+"\n", "\n") + fmt.Sprintf("[session: the next command doesn't start in %s, which it could not read]", g.near(path))
			default:
				g.setFolder(c.Session, path)
			}
		}
		return a, err
	}
	return p, nil
})

func emptyCommand() error {
	return hint.New("bad_arguments", "the command is empty").Then("give the script to run as command")
}

type workdir struct {
	path    string
	effects []effect
}

// workdir is the folder a command starts in: one that the session may read.
func (g *Gate) workdir(c *Call, path string) (workdir, error) {
	if path == "" {
		return workdir{path: g.Workspace}, nil
	}
	p, err := g.locate(path, g.Workspace, true)
	if err != nil {
		return workdir{}, err
	}
	defer p.close()
	if p.info == nil {
		return workdir{}, hint.New("not_found", fmt.Sprintf("there is no folder %q to run in", path))
	}
	if !p.info.IsDir() {
		return workdir{}, hint.New("bad_arguments", fmt.Sprintf("%q is no folder to run in", path))
	}
	return workdir{path: p.real, effects: []effect{{kind: read, place: p}}}, nil
}

// start starts a script as a job of the call's session: by argv, whose last word is the script or begins it.
func (g *Gate) start(ctx context.Context, c *Call, argv []string, script, dir string, timeout time.Duration, background bool) (*job.Job, error) {
	r, err := g.commands(c.Session)
	if err != nil {
		return nil, err
	}
	return g.startJob(ctx, c, job.Spec{Session: c.Session.ID, Tool: c.Tool.Name, Text: script, Argv: argv, Dir: dir,
		Env: append(r.Env, "PWD="+dir), Policy: r.Policy, Timeout: timeout, Work: r.Work, Background: background})
}

// shell is the shell that scripts are read and run as: bash, else sh.
func shell() (string, error) {
	for _, path := range []string{"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/bin/sh"} {
		if found, err := exec.LookPath(path); err == nil {
			return found, nil
		}
	}
	return "", hint.New("no_shell", "there is neither bash nor sh here")
}

// follow waits for a job and tells how it goes; one that still runs when a client would lose patience goes on.
func (g *Gate) follow(ctx context.Context, c *Call, j *job.Job) (answer, error) {
	stop := c.stream(j)
	defer stop()
	select {
	case <-j.Done():
	case <-time.After(c.left()):
		j.Hand()
	case <-ctx.Done():
		j.Stop(job.Cancelled)
		<-j.Done()
	}
	return g.report(j), nil
}

// stream sends what the job writes as progress, at most once a second.
func (c *Call) stream(j *job.Job) (stop func()) {
	if c.notify == nil {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		var seen int64
		t := time.NewTicker(time.Second)
		defer t.Stop()
		for {
			select {
			case <-done:
				return
			case <-j.Output.Grown(seen):
			}
			text := j.Output.All()
			fresh := lastBytes(text, text.Total-seen)
			seen = text.Total
			c.progress(plainText(fresh).text)
			select {
			case <-done:
				return
			case <-t.C:
			}
		}
	}()
	return func() { close(done) }
}
