package tool

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"handrail/core/client"
	"handrail/core/grant"
	"handrail/core/hint"
	"handrail/core/job"
)

// PythonExecInput is what python_exec takes.
type PythonExecInput struct {
	Code    string  `json:"code" jsonschema:"the program; print what you want to see"`
	Timeout *whole  `json:"timeout,omitempty" jsonschema:"seconds until it is killed with all it started, 1 to 600; default 120"`
	Workdir *string `json:"workdir,omitempty" jsonschema:"folder to run in; default: the workspace"`
	Venv    *bool   `json:"venv,omitempty" jsonschema:"run in the virtual environment .venv of the workspace's folder that workdir lies in (of the workspace itself without workdir); it is made if it is missing"`
}

var pythonExecTool = define[PythonExecInput, CommandOutput](Tool{
	Name: "python_exec", Title: "Run Python", Destructive: true,
	Levels: []client.Level{client.Ask, client.Trusted},
	Description: "Run a Python 3 program in the same sandbox as bash: it reads the workspace, and writes only in granted folders and in tempfile's folder. Nothing is kept between calls. " +
		"Standard input is empty. A program that still runs after 45 s goes on as a background job: follow it with bash_bg.",
}, func(ctx context.Context, g *Gate, c *Call, in PythonExecInput) (plan, error) {
	p := plan{text: in.Code}
	timeout := value(in.Timeout, 120)
	switch {
	case strings.TrimSpace(in.Code) == "":
		return p, hint.New("bad_arguments", "the code is empty")
	case timeout < 1 || timeout > 600:
		return p, hint.New("bad_arguments", fmt.Sprintf("timeout is %d", timeout)).Because("it must be 1 to 600 seconds").Then("use bash_bg for what takes longer")
	}
	room, err := g.room(c.Session)
	if err != nil {
		return p, err
	}
	python, err := room.program("python3")
	if err != nil {
		return p, err
	}
	dir, err := g.workdir(c, value(in.Workdir, ""))
	if err != nil {
		return p, err
	}
	p.effects = dir.effects
	missing := false
	if value(in.Venv, false) {
		var e effect
		if e, python, missing, err = g.venv(dir.path, python); err != nil {
			return p, err
		}
		p.done = e.place.close
		p.effects = append(p.effects, e)
	}
	p.effects = append(p.effects, effect{kind: run})
	p.run = func(ctx context.Context) (answer, error) {
		if missing {
			if a, err := g.makeVenv(ctx, c, room, filepath.Dir(filepath.Dir(python))); err != nil || a.text != "" {
				return a, err
			}
		}
		j, err := g.startPython(ctx, c, python, in.Code, dir.path, time.Duration(timeout)*time.Second)
		if err != nil {
			return answer{}, err
		}
		return g.follow(ctx, c, j)
	}
	return p, nil
})

// startPython runs code, which python reads from its standard input, as a job of the call's session. The folder is on its
// module path; what it prints is UTF-8 and not held back.
func (g *Gate) startPython(ctx context.Context, c *Call, python, code, dir string, timeout time.Duration) (*job.Job, error) {
	r, err := g.commands(c.Session)
	if err != nil {
		return nil, err
	}
	return g.startJob(ctx, c, job.Spec{Session: c.Session.ID, Tool: c.Tool.Name, Text: code, Argv: []string{python, "-X", "utf8", "-u", "-"}, Dir: dir,
		Env: append(r.Env, "PWD="+dir), Input: []byte(code), Policy: r.Policy, Timeout: timeout, Work: r.Work})
}

// venv finds the virtual environment for a folder: .venv in the unit that dir lies in, or in the workspace itself. One that
// is there is read; one that is missing is made, which is a change of that unit.
func (g *Gate) venv(dir, python string) (e effect, venvPython string, missing bool, err error) {
	unit := grant.UnitOf(g.Workspace, dir, true)
	at, err := g.locate(filepath.Join(unit.Folder, ".venv"), g.Workspace, true)
	if err != nil {
		return effect{}, "", false, err
	}
	e = effect{kind: read, place: at}
	venvPython = filepath.Join(at.real, "bin", filepath.Base(python))
	switch {
	case at.info == nil:
		e.kind, missing = write, true
	case !at.isDir():
		err = hint.New("not_regular", fmt.Sprintf("%q is no folder", at.real))
	default:
		var info fs.FileInfo
		if info, err = at.dir.Lstat(filepath.Join(at.name, "bin", filepath.Base(python))); err != nil {
			// An empty folder: made for a call that then failed.
			e.kind, missing, err = write, true, nil
		} else if info.IsDir() {
			err = hint.New("not_regular", fmt.Sprintf("%q is no virtual environment", at.real)).Then("remove or rename it, then call again")
		}
	}
	if err != nil {
		at.close()
	}
	return e, venvPython, missing, err
}

// makeVenv makes a virtual environment. An answer with a text tells that this failed.
func (g *Gate) makeVenv(ctx context.Context, c *Call, room Room, dir string) (answer, error) {
	python, err := room.program("python3")
	if err != nil {
		return answer{}, err
	}
	r, err := g.room(c.Session) // with the grant that was given meanwhile
	if err != nil {
		return answer{}, err
	}
	defer c.keepAlive("Making the virtual environment " + dir)()
	j, err := g.startJob(ctx, c, job.Spec{Session: c.Session.ID, Tool: c.Tool.Name, Text: "making " + dir, Argv: []string{python, "-m", "venv", dir}, Dir: filepath.Dir(dir),
		Env: r.Env, Policy: r.Policy, Timeout: c.left(), Work: r.Work})
	if err != nil {
		return answer{}, err
	}
	select {
	case <-j.Done():
	case <-ctx.Done():
		j.Stop(job.Cancelled)
		<-j.Done()
	}
	if end := j.Result(); end.Err == nil && end.Stopped == "" && end.ExitCode == 0 {
		return answer{}, nil
	}
	said := string(j.Output.All().Head)
	if strings.Contains(said, "ensurepip is not") {
		return answer{}, hint.New("not_installed", "a virtual environment can't be made").Because("Python's module ensurepip is missing").
			Then("tell the person; on Debian and Ubuntu it comes with sudo apt install python3-venv")
	}
	a := g.report(j)
	a.text = "the virtual environment could not be made; the code was not run\n" + a.text
	return a, nil
}
