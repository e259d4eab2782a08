package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"handrail/core"
	"handrail/core/audit"
	"handrail/core/program"
)

type demoCommand struct {
	Look bool `help:"Play the level look instead: an assistant that may only read. Nobody is asked."`
}

// Run plays the main job: the app and a client of its own, in a scratch home folder. The questions are real; the person
// answers them.
func (c demoCommand) Run() error {
	// Not in /tmp, which commands have one of their own of.
	base := "/var/tmp"
	if _, err := os.Stat(base); err != nil {
		base = ""
	}
	scratch, err := os.MkdirTemp(base, "handrail-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	if scratch, err = filepath.EvalSymlinks(scratch); err != nil {
		return err
	}
	place, err := program.Find()
	if err != nil {
		return err
	}
	d := demo{out: os.Stdout, exe: place.Executable, home: filepath.Join(scratch, "home"), state: filepath.Join(scratch, "state")}
	d.workspace = filepath.Join(d.home, "Handrail")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if c.Look {
		return d.look(ctx)
	}
	return d.play(ctx)
}

type demo struct {
	out                         io.Writer
	exe, home, state, workspace string
	client                      *mcp.ClientSession
}

// demoFiles are what stands in the workspace.
var demoFiles = map[string]string{"Holiday Photos/captions.txt": "beach\nmountain\n", "Letters/aunt.txt": "Dear aunt,\n"}

func (d *demo) play(ctx context.Context) error {
	for name, text := range demoFiles {
		path := filepath.Join(d.workspace, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	d.step("starting the app and connecting an assistant")
	// What the first start shows would lie over the question where no window manager is.
	if err := errors.Join(os.MkdirAll(d.state, 0o700), os.WriteFile(welcomed(d.state), nil, 0o600)); err != nil {
		return err
	}
	app := exec.CommandContext(ctx, d.exe, "--state", d.state, "--workspace", d.workspace, "--addr", "")
	app.Env, app.Stderr = d.environment(), os.Stderr
	app.Cancel = func() error { return app.Process.Signal(os.Interrupt) }
	app.WaitDelay = 10 * time.Second
	if err := app.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- app.Wait() }()
	defer func() {
		app.Process.Signal(os.Interrupt)
		<-ended
	}()
	for _, steps := range []func(context.Context) error{d.job, d.harm} {
		if err := d.connect(ctx, ended); err != nil {
			return err
		}
		err := steps(ctx)
		d.client.Close()
		if err != nil {
			return err
		}
	}
	app.Process.Signal(os.Interrupt)
	if err := <-ended; err != nil {
		return fmt.Errorf("the app ended badly: %w", err)
	}
	ended <- nil
	log, anchor := core.LogFiles(d.state)
	rep, err := audit.Verify(log, anchor, nil)
	if err != nil {
		return err
	}
	if rep.Records == 0 || len(rep.Findings) > 0 {
		return fmt.Errorf("the activity log is not whole: %+v", rep)
	}
	d.step("the activity log is whole: %d records", rep.Records)
	return nil
}

// environment is ours, with a scratch home folder: nothing that is done here can reach the person's own.
func (d *demo) environment() []string {
	var env []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "HOME=") && !strings.HasPrefix(e, "XDG_STATE_HOME=") && !strings.HasPrefix(e, "XDG_CACHE_HOME=") {
			env = append(env, e)
		}
	}
	return append(env, "HOME="+d.home)
}

// connect waits for the app's socket and joins a client to it through `handrail stdio`, as an assistant does.
func (d *demo) connect(ctx context.Context, ended chan error) error {
	socket := core.Socket(d.state)
	for {
		if _, err := os.Stat(socket); err == nil {
			break
		}
		select {
		case err := <-ended:
			ended <- err
			return fmt.Errorf("the app did not start: %v", err)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	bridge := exec.Command(d.exe, "stdio", "--state", d.state)
	bridge.Env, bridge.Stderr = d.environment(), os.Stderr
	var err error
	d.client, err = mcp.NewClient(&mcp.Implementation{Name: "Demo Assistant", Version: "1"}, nil).Connect(ctx, &mcp.CommandTransport{Command: bridge}, nil)
	return err
}

func (d *demo) step(format string, args ...any) { fmt.Fprintf(d.out, "• "+format+"\n", args...) }

// call makes one tool call and gives its text.
func (d *demo) call(ctx context.Context, tool string, args map[string]any) (text string, failed bool, err error) {
	r, err := d.client.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", false, err
	}
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			text += t.Text
		}
	}
	return text, r.IsError, nil
}

// wait makes a call that asks the person, again for as long as they have not answered.
func (d *demo) wait(ctx context.Context, tool string, args map[string]any) (string, bool, error) {
	for {
		text, failed, err := d.call(ctx, tool, args)
		if err != nil || !strings.HasPrefix(text, "[approval_pending]") {
			return text, failed, err
		}
	}
}

// job is the main job: a command, an edit that is allowed, one that is not.
func (d *demo) job(ctx context.Context) error {
	text, failed, err := d.call(ctx, "bash", map[string]any{"command": "ls -R . && uname -s"})
	if err := trouble("running a command", text, failed, err); err != nil {
		return err
	}
	d.step("bash ran in the sandbox:\n%s", indent(text))

	captions := filepath.Join(d.workspace, "Holiday Photos", "captions.txt")
	d.step("the assistant wants to edit Holiday Photos/captions.txt: a question is on the screen. Click Allow")
	text, failed, err = d.wait(ctx, "edit", map[string]any{"path": captions, "old_string": "beach", "new_string": "beach at sunset"})
	if err := trouble("editing after Allow", text, failed, err); err != nil {
		return err
	}
	if data, err := os.ReadFile(captions); err != nil || string(data) != "beach at sunset\nmountain\n" {
		return fmt.Errorf("the file holds %q after the edit (%v)", data, err)
	}
	d.step("allowed; the file was changed:\n%s", indent(text))

	letter := filepath.Join(d.workspace, "Letters", "aunt.txt")
	d.step("the assistant wants to edit Letters/aunt.txt: another folder, another question. Click Don't Allow")
	text, failed, err = d.wait(ctx, "edit", map[string]any{"path": letter, "old_string": "Dear", "new_string": "Dearest"})
	if err != nil {
		return err
	}
	if data, err := os.ReadFile(letter); !failed || err != nil || string(data) != "Dear aunt,\n" {
		return fmt.Errorf("after Don't Allow the file holds %q (%v): %s", data, err, text)
	}
	d.step("refused; the file is untouched:\n%s", indent(text))

	return nil
}

// harm is a second assistant that tries the worst. The first one's grants are not its own. First it sees that nothing in
// the home folder can be changed.
func (d *demo) harm(ctx context.Context) error {
	text, failed, err := d.call(ctx, "bash", map[string]any{"command": "touch ~/probe || echo closed"})
	_, probe := os.Lstat(filepath.Join(d.home, "probe"))
	if err := trouble("trying the home folder", text, failed || !strings.Contains(text, "closed") || !errors.Is(probe, os.ErrNotExist), err); err != nil {
		return err
	}
	text, _, err = d.call(ctx, "bash", map[string]any{"command": "rm -rf ~"})
	if err != nil {
		return err
	}
	for name := range demoFiles {
		if _, err := os.Stat(filepath.Join(d.workspace, name)); err != nil {
			return errors.New("rm -rf ~ deleted files")
		}
	}
	d.step("another assistant tried rm -rf ~, and the sandbox denied it:\n%s", indent(lastLines(text, 4)))
	return nil
}

// trouble is what went wrong with a call: its own error, or the one the tool told.
func trouble(doing, text string, failed bool, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", doing, err)
	case failed:
		return fmt.Errorf("%s: %s", doing, text)
	}
	return nil
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
