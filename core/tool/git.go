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
	"handrail/core/git"
	"handrail/core/grant"
	"handrail/core/hint"
	"handrail/core/job"
	"handrail/sandbox"
)

// GitInput is what git takes. Which fields an action takes, package git's Commands says.
type GitInput struct {
	Action   string   `json:"action" jsonschema:"what to do"`
	Mode     *string  `json:"mode,omitempty" jsonschema:"the first is the default. branch: list, create, delete, upstream; commit: new, amend; pull: ff_only, merge, rebase; switch: existing, create; merge, rebase: start, continue, abort; stash: push, list, show, apply, pop; tag: list, create; remote: list, add, set_url"`
	Repo     *string  `json:"repo,omitempty" jsonschema:"a folder in it, or for init and clone the one to make; default: the workspace"`
	Paths    []string `json:"paths,omitempty" jsonschema:"relative to the top of the repository"`
	Message  *string  `json:"message,omitempty" jsonschema:"of a commit, merge, stash or tag"`
	Ref      *string  `json:"ref,omitempty" jsonschema:"a commit, branch or tag; log, diff: or a range; branch upstream: the remote's branch"`
	Name     *string  `json:"name,omitempty" jsonschema:"of the branch, tag or remote"`
	Remote   *string  `json:"remote,omitempty" jsonschema:"default: the branch's own, else origin"`
	URL      *string  `json:"url,omitempty" jsonschema:"of a remote, without a password"`
	Format   *string  `json:"format,omitempty" jsonschema:"diff, show: patch, stat, names; log: short, full, stat, patch"`
	MaxCount *whole   `json:"max_count,omitempty" jsonschema:"of log: 1 to 1000; default 20"`
	Staged   *bool    `json:"staged,omitempty" jsonschema:"diff: what is staged; restore: unstage"`
	Discard  *bool    `json:"discard,omitempty" jsonschema:"checkout, restore: throw away uncommitted changes of these paths"`
}

// GitOutput is how the command ended, and for status what it found.
type GitOutput struct {
	CommandOutput
	Repository string    `json:"repository,omitempty" jsonschema:"the top of its work tree"`
	Branch     string    `json:"branch,omitempty" jsonschema:"status: empty if HEAD is detached"`
	Upstream   string    `json:"upstream,omitempty"`
	Ahead      int       `json:"ahead,omitempty"`
	Behind     int       `json:"behind,omitempty"`
	Underway   string    `json:"underway,omitempty" jsonschema:"a merge, rebase … that is not finished"`
	Files      []GitFile `json:"files,omitempty" jsonschema:"status: files unlike the last commit"`
}

// GitFile is one file in a status.
type GitFile struct {
	Path     string `json:"path"`
	From     string `json:"from,omitempty" jsonschema:"old name"`
	Staged   string `json:"staged,omitempty" jsonschema:"M, A, D, R or T, as in git status"`
	Unstaged string `json:"unstaged,omitempty"`
	State    string `json:"state,omitempty" jsonschema:"untracked or conflict"`
}

var gitTool = define[GitInput, GitOutput](Tool{
	Name: "git", Title: "Git", Destructive: true,
	Levels: []client.Level{client.Ask, client.Trusted},
	Enums:  map[string][]string{"action": git.Actions(), "mode": git.Modes()},
	Description: "Work with a Git repository in the workspace or a granted folder, in the sandbox. Hooks, filters and other programs that a repository names are not run. " +
		"Nothing is forced, and what was pushed is not rewritten. Changes need an edit grant on the folder (the person is asked).",
}, func(ctx context.Context, g *Gate, c *Call, in GitInput) (plan, error) {
	a := in.args()
	address := ""
	if r, err := git.ParseRemote(a.URL); err == nil {
		address = r.Address // without a password
	}
	p := plan{text: strings.Join(strings.Fields(strings.Join(append([]string{a.Action, a.Mode, a.Name, a.Ref, a.Remote, address}, a.Paths...), " ")), " ")}
	cmd, err := a.Command()
	if err != nil {
		return p, err
	}
	var w *gitWork
	if cmd.Does == git.Makes {
		w, err = g.placeRepository(c, value(in.Repo, ""), a)
	} else {
		w, err = g.openRepository(c, value(in.Repo, g.Workspace), cmd)
	}
	if err != nil {
		return p, err
	}
	p.done, p.effects = w.close, w.effects
	p.run = func(ctx context.Context) (answer, error) { return w.do(ctx, a, cmd) }
	return p, nil
})

func (in GitInput) args() git.Args {
	return git.Args{Action: in.Action, Mode: value(in.Mode, ""), Paths: in.Paths, Message: value(in.Message, ""), Ref: value(in.Ref, ""), Name: value(in.Name, ""),
		Remote: value(in.Remote, ""), URL: value(in.URL, ""), Format: value(in.Format, ""), MaxCount: int(value(in.MaxCount, 0)), Staged: value(in.Staged, false), Discard: value(in.Discard, false)}
}

// gitWork is one call of git on one repository.
type gitWork struct {
	gate    *Gate
	call    *Call
	repo    git.Repository
	program string
	places  []*place
	effects []effect
	// settings and modules are what the repository's own files of settings say; filters are the names of filters that the
	// person's do.
	settings, modules []git.Setting
	filters           []string
	// person are settings that are the person's: who a commit is by.
	person []git.Setting
	// opens are protected names that were asked for, or of a repository that is being made; other is the Git folder that is
	// fetched from or pushed to, makes the one that is made.
	opens        []string
	other, makes string
}

func (w *gitWork) close() {
	for _, p := range w.places {
		p.close()
	}
}

// openRepository finds the repository that a path is in, and what a command on it means for the gate.
func (g *Gate) openRepository(c *Call, path string, cmd git.Command) (*gitWork, error) {
	room, err := g.room(c.Session)
	if err != nil {
		return nil, err
	}
	program, err := room.program("git")
	if err != nil {
		return nil, err
	}
	at, err := g.locate(path, g.Workspace, true)
	if err != nil {
		return nil, err
	}
	defer at.close()
	if at.info == nil {
		return nil, hint.New("not_found", fmt.Sprintf("there is no folder %q", path))
	}
	dir := at.real
	if !at.info.IsDir() {
		dir = filepath.Dir(dir)
	}
	ceiling := g.Workspace
	if !grant.Within(g.Workspace, dir) {
		h, ok := g.Grants.Covers(c.Session.ID, grant.Look, dir)
		if !ok {
			return nil, outsideRepository(path)
		}
		ceiling = h.Folder
	}
	repo, err := git.Find(dir, ceiling)
	if err != nil {
		return nil, noRepository(path, dir, ceiling, err)
	}
	w := &gitWork{gate: g, call: c, repo: repo, program: program}
	for _, folder := range repo.Folders() {
		p, err := g.locate(holder(folder), g.Workspace, true)
		if err != nil {
			w.close()
			return nil, err
		}
		w.places = append(w.places, p)
		if !room.Policy.Decide(sandbox.Read, folder).Allowed || p.unit.Outside && cmd.Does > git.Reads && !g.covers(c.Session, grant.Edit, p) {
			w.close()
			return nil, outsideRepository(folder)
		}
		kind := read
		if cmd.Does > git.Reads {
			kind = write
		}
		if !slices.ContainsFunc(w.effects, func(e effect) bool { return e.place.unit == p.unit }) {
			w.effects = append(w.effects, effect{kind: kind, place: p})
		}
	}
	return w, nil
}

// holder is the folder that a Git folder belongs to, also that of a submodule or of a further work tree: a grant is on that.
func holder(folder string) string {
	if above, _, ok := strings.Cut(folder+"/", "/.git/"); ok {
		return cmp.Or(above, "/")
	}
	return folder
}

func outsideRepository(path string) error {
	return hint.New("outside", fmt.Sprintf("%q is neither in the workspace nor in a folder that was opened", path)).
		Because("git works only there").Then("call request_access for the folder, with level edit to change it")
}

func noRepository(path, dir, ceiling string, err error) error {
	var broken *git.BrokenError
	if errors.As(err, &broken) {
		return hint.New("broken_repository", fmt.Sprintf("%q belongs to a repository that can't be opened", path)).Because(broken.Error()).Wrap(err)
	}
	if !errors.Is(err, git.ErrNone) {
		return notThere(path, err)
	}
	h := hint.New("no_repository", fmt.Sprintf("%q is in no Git repository", path))
	for up := filepath.Dir(ceiling); ; up = filepath.Dir(up) {
		if _, err := os.Lstat(filepath.Join(up, ".git")); err == nil {
			return h.Because("a repository that starts further up, outside the workspace, is not used").Then("tell the person, who could make its top folder the workspace")
		}
		if up == filepath.Dir(up) {
			return h.Then("give a folder of a repository as repo, or make one with the action init")
		}
	}
}

// do runs the command, once the gate let it.
func (w *gitWork) do(ctx context.Context, a git.Args, cmd git.Command) (answer, error) {
	if cmd.Does == git.Makes {
		return w.make(ctx, a)
	}
	if err := w.learn(ctx); err != nil {
		return answer{}, err
	}
	if w.repo.Bare() && !slices.Contains(withoutWorkTree, cmd.Action) {
		return answer{}, hint.New("bare_repository", fmt.Sprintf("%q is a bare repository", w.repo.Dir)).Because("it has no files to work on").Then("clone it to work on its files")
	}
	if err := w.guard(ctx, a, cmd); err != nil {
		return answer{}, err
	}
	switch {
	case cmd.Action == "status":
		return w.status(ctx, a, cmd)
	case cmd.Action == "remote" && cmd.Mode == "list":
		return w.remotes(), nil
	case cmd.Does == git.Settings:
		return w.change(ctx, a, cmd)
	case cmd.Action == "push":
		return w.push(ctx, a)
	case cmd.Does == git.Fetches:
		return w.fetch(ctx, a, cmd)
	}
	return w.run(ctx, a, cmd)
}

// run runs an action that is one command of git.
func (w *gitWork) run(ctx context.Context, a git.Args, cmd git.Command) (answer, error) {
	var input []byte
	if a.Message != "" && cmd.Action != "stash" && cmd.Action != "merge" {
		input = []byte(a.Message)
	}
	j, err := w.start(ctx, cmd.Argv(a), input, cmd.Does > git.Reads, cmd.Stores)
	if err != nil {
		return answer{}, err
	}
	done, err := w.gate.follow(ctx, w.call, j)
	if err != nil {
		return answer{}, err
	}
	if done = w.explain(done, j); cmd.Does == git.Reads && done.text == nothingSaid {
		done.text = "nothing to show"
	}
	return done, nil
}

// withoutWorkTree are the actions that make sense in a bare repository.
var withoutWorkTree = []string{"log", "show", "diff", "branch", "tag", "remote", "fetch", "push"}

// policy is what a command of git may do. One that reads changes nothing, whatever was granted.
func (w *gitWork) policy(writes bool) (Room, error) {
	r, err := w.gate.room(w.call.Session)
	if err != nil || writes {
		r.Policy = r.Policy.AllowProtected(w.opens...)
		return r, err
	}
	p := sandbox.ReadOnly(r.Policy.Machine())
	if id, err := grant.Identify(r.Work); err == nil {
		p = p.AllowRead(sandbox.Place{Path: r.Work, Device: id.Device, Inode: id.Inode})
	}
	for _, h := range w.gate.Grants.List(w.call.Session.ID) {
		p = p.AllowRead(sandbox.Place{Path: h.Folder, Device: h.ID.Device, Inode: h.ID.Inode, File: h.File})
	}
	r.Policy = p
	return r, nil
}

// environment is everything that git finds: no settings but the repository's, no way to ask, and none to reach anything but by
// protocol, one of git's names or "none".
func (w *gitWork) environment(r Room, writes bool, protocol string, settings []git.Setting) []string {
	env := []string{"PATH=" + r.variable("PATH"), "HOME=" + r.Temp, "XDG_CONFIG_HOME=" + r.Temp, "TMPDIR=" + r.Temp, "LC_ALL=C.UTF-8", "TZ=" + r.variable("TZ"), "HANDRAIL=1",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GIT_EDITOR=:", "GIT_SEQUENCE_EDITOR=:", "GIT_PAGER=cat", "GIT_SSH_COMMAND=false", "GIT_MERGE_AUTOEDIT=no",
		"GIT_ALLOW_PROTOCOL=" + protocol, "GIT_PROTOCOL_FROM_USER=0", "GIT_NO_LAZY_FETCH=1", "GIT_LITERAL_PATHSPECS=1", "GIT_ADVICE=0"}
	if w.repo.Dir != "" {
		env = append(env, "GIT_DIR="+w.repo.Dir)
	}
	if !writes {
		env = append(env, "GIT_OPTIONAL_LOCKS=0")
	}
	if w.repo.Top != "" {
		env = append(env, "GIT_WORK_TREE="+w.repo.Top)
	}
	for i, s := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s.Key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s.Value))
	}
	if len(settings) > 0 {
		env = append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings)))
	}
	return env
}

// dir is where git runs: what it is given as a path is relative to that.
func (w *gitWork) dir() string { return cmp.Or(w.repo.Top, w.repo.Dir, w.gate.Workspace) }

// gitTimeout bounds one command of git.
const gitTimeout = 10 * time.Minute

// start starts a command of git as a job of the call's session.
func (w *gitWork) start(ctx context.Context, argv []string, input []byte, writes, stores bool) (*job.Job, error) {
	r, err := w.policy(writes)
	if err != nil {
		return nil, err
	}
	return w.startJob(ctx, r, append([]string{w.program}, argv...), w.environment(r, writes, "none", w.neutral(stores)), input)
}

func (w *gitWork) neutral(stores bool) []git.Setting {
	return slices.Concat(w.person, git.Neutral(w.settings, w.modules, stores, append(w.filters, "lfs")...))
}

// own lists the folders that are git's own.
func (w *gitWork) own() []string {
	return slices.DeleteFunc([]string{w.repo.Dir, w.repo.Common, filepath.Join(holder(w.repo.Dir), ".git"), w.other, w.makes}, func(dir string) bool { return dir == "" })
}

// startJob starts a job whose changes of granted folders can be told and undone.
func (w *gitWork) startJob(ctx context.Context, r Room, argv, env []string, input []byte) (*job.Job, error) {
	return w.gate.startJob(ctx, w.call, job.Spec{Session: w.call.Session.ID, Tool: "git", Text: "git " + strings.Join(argv[1:], " "), Argv: argv, Dir: w.dir(), Env: env,
		Input: input, Policy: r.Policy, Timeout: gitTimeout, Work: r.Work}, w.own()...)
}

// output waits for a job and gives what it wrote; an error is a hint with git's own words.
func (w *gitWork) output(ctx context.Context, j *job.Job, err error) (stdout, stderr []byte, exit int, _ error) {
	if err != nil {
		return nil, nil, 0, err
	}
	select {
	case <-j.Done():
	case <-ctx.Done():
		j.Stop(job.Cancelled)
		<-j.Done()
	}
	out, errs, end := j.Output.Stream(job.Stdout), j.Output.Stream(job.Stderr), j.Result()
	switch {
	case end.Err != nil || end.Stopped != "" || end.Signal != "":
		return nil, nil, 0, hint.New("failed", "git was stopped before it answered").Wrap(end.Err)
	case out.Missing > 0 || errs.Missing > 0:
		return nil, nil, 0, hint.New("too_large", "the repository's settings, or what is asked of it, are too long")
	}
	return append(out.Head, out.Tail...), append(errs.Head, errs.Tail...), end.ExitCode, nil
}

// query runs a command of git that only reads, and gives what it wrote. A command that fails is an error.
func (w *gitWork) query(ctx context.Context, argv ...string) (string, error) {
	j, err := w.start(ctx, argv, nil, false, false)
	out, errs, exit, err := w.output(ctx, j, err)
	if err == nil && exit != 0 {
		err = gitSaid(errs)
	}
	return string(out), err
}

func gitSaid(stderr []byte) error {
	return hint.New("git_failed", "git refused").Because(strings.Join(strings.Fields(firstRunes(plainText(stderr).text, 500)), " "))
}

// listSettings prints what the repository's own files of settings say on standard output and .gitmodules on the other.
const listSettings = `"$1" config --list -z --show-scope --includes || exit; if [ -e "$2" ]; then "$1" config -f "$2" --list -z >&2; fi`

// learn reads the repository's settings, as git itself reads them, before anything obeys them.
func (w *gitWork) learn(ctx context.Context) error {
	r, err := w.policy(false)
	if err != nil {
		return err
	}
	j, err := w.startJob(ctx, r, []string{"/bin/sh", "-c", listSettings, "sh", w.program, filepath.Join(w.repo.Top, ".gitmodules")}, w.environment(r, false, "none", nil), nil)
	out, errs, exit, err := w.output(ctx, j, err)
	if err != nil {
		return err
	}
	if exit != 0 {
		return gitSaid(errs)
	}
	if w.settings, err = git.ParseSettings(out, true); err == nil {
		w.modules, err = git.ParseSettings(errs, false)
	}
	if err != nil {
		return hint.New("git_failed", "the repository's settings can't be read").Wrap(err)
	}
	w.settings = slices.DeleteFunc(w.settings, func(s git.Setting) bool { return s.Scope != "local" && s.Scope != "worktree" })
	return nil
}
