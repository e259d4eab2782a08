package tool

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"handrail/core/git"
	"handrail/core/grant"
	"handrail/core/hint"
	"handrail/core/job"
	"handrail/sandbox"
)

// guard refuses what would lose something that git itself wouldn't mind losing: commits that were pushed, and changes of files
// that are stored nowhere.
func (w *gitWork) guard(ctx context.Context, a git.Args, cmd git.Command) error {
	switch {
	case cmd.Action == "commit" && cmd.Mode == "amend":
		if err := w.notPushed(ctx, "HEAD", "amending", "make a new commit instead"); err != nil {
			return err
		}
	case cmd.Action == "rebase" && cmd.Mode == "start":
		if err := w.notPushed(ctx, a.Ref+"..HEAD", "rebasing", "merge instead"); err != nil {
			return err
		}
	case (cmd.Action == "checkout" && len(a.Paths) > 0 || cmd.Action == "restore" && !a.Staged) && !a.Discard:
		if err := w.keepsChanges(ctx, a.Paths); err != nil {
			return err
		}
	}
	if err := w.open(ctx, a, cmd); err != nil {
		return err
	}
	if cmd.Action == "commit" || cmd.Action == "merge" || cmd.Action == "rebase" || cmd.Action == "stash" || cmd.Action == "tag" && a.Message != "" {
		return w.identify(ctx, cmd.Mode != "abort" && cmd.Mode != "list" && cmd.Mode != "show")
	}
	return nil
}

// mostProtected is how many protected names one action may ask for: more would be allowed unread.
const mostProtected = 5

// open asks for the protected names that an action would change, each alone, and opens those for it. What can't be listed, as
// with a branch that isn't there, git itself will say.
func (w *gitWork) open(ctx context.Context, a git.Args, cmd git.Command) error {
	var names []string
	for _, argv := range cmd.Touches(a) {
		text, _ := w.query(ctx, argv...)
		for name := range strings.SplitSeq(text, "\x00") {
			if _, ok := sandbox.Protected(name); ok && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) > mostProtected {
		return hint.New("protected", fmt.Sprintf("this changes %d files that other programs obey", len(names))).Because("too many to ask for: " + strings.Join(first(names, mostProtected), ", ") + " …").
			Then("ask the person to do this with git themselves")
	}
	for _, name := range names {
		at, err := w.gate.locate(filepath.Join(w.repo.Top, name), w.gate.Workspace, false)
		if err != nil {
			return err
		}
		w.places = append(w.places, at)
		if at.real != filepath.Join(w.repo.Top, name) {
			continue // a link that leads elsewhere: the sandbox decides
		}
		if _, err := w.gate.judge(ctx, w.call, effect{kind: write, place: at}); err != nil {
			return err
		}
		for dir := at.real; dir != w.repo.Top; dir = filepath.Dir(dir) { // git makes the folders too
			if _, ok := sandbox.Protected(dir); ok {
				w.opens = append(w.opens, dir)
			}
		}
	}
	return nil
}

// notPushed refuses to rewrite commits that a remote is known to have.
func (w *gitWork) notPushed(ctx context.Context, commits, doing, instead string) error {
	argv := []string{"rev-list", "--max-count=1", commits}
	if commits == "HEAD" {
		argv = []string{"rev-parse", "--verify", "HEAD"}
	}
	if _, err := w.query(ctx, argv...); err != nil {
		return err
	}
	rev := commits
	if commits == "HEAD" {
		rev = "HEAD^!"
	}
	all, err := w.query(ctx, "rev-list", "--count", rev, "--")
	if err != nil {
		return err
	}
	own, err := w.query(ctx, "rev-list", "--count", rev, "--not", "--remotes", "--")
	if err != nil {
		return err
	}
	if all != own {
		return hint.New("pushed", doing+" would rewrite commits that a remote has").Because("others may have them too").Then(instead)
	}
	return nil
}

// keepsChanges refuses to overwrite files whose changes are stored nowhere.
func (w *gitWork) keepsChanges(ctx context.Context, paths []string) error {
	text, err := w.query(ctx, git.Commands[0].Argv(git.Args{Paths: paths})...)
	if err != nil {
		return err
	}
	s, err := git.ParseStatus([]byte(text))
	if err != nil {
		return hint.New("git_failed", "what git said can't be read").Wrap(err)
	}
	var lost []string
	for _, f := range s.Files {
		if !f.Untracked && f.Unstaged != "D" && (f.Unstaged != "" || f.Staged != "" && f.Staged != "D" || f.Conflict) {
			lost = append(lost, f.Path)
		}
	}
	if len(lost) > 0 {
		return hint.New("would_discard", fmt.Sprintf("this throws away changes of %s that are committed nowhere", strings.Join(lost, ", "))).
			Then("commit or stash them first; only if the person wants them gone, call again with discard true")
	}
	return nil
}

// identify takes who commits are by from the person's own settings, where the repository doesn't say it. If the action commits, it must be
// known.
func (w *gitWork) identify(ctx context.Context, commits bool) error {
	theirs, err := w.personal(ctx)
	if err != nil {
		return err
	}
	for _, s := range theirs {
		if rest, ok := strings.CutPrefix(s.Key, "filter."); ok {
			if i := strings.LastIndexByte(rest, '.'); i > 0 && !slices.Contains(w.filters, rest[:i]) {
				w.filters = append(w.filters, rest[:i])
			}
		}
	}
	for _, key := range []string{"user.name", "user.email"} {
		if _, ok := git.Last(w.settings, key); ok {
			continue
		}
		v, ok := git.Last(theirs, key)
		if !ok || v == "" {
			if !commits {
				continue
			}
			return hint.New("no_identity", "it is not known who commits are by").Because("neither the repository nor the person's own settings say " + key).
				Then("ask the person to run: git config --global user.name \"Their Name\", and the same for user.email")
		}
		w.person = append(w.person, git.Setting{Key: key, Value: v})
	}
	return nil
}

// personal gives the settings in the person's own files (git-config(1), FILES), which no command sees: they are read by git
// in a sandbox that has these files and writes nothing.
func (w *gitWork) personal(ctx context.Context) ([]git.Setting, error) {
	var all []git.Setting
	for _, rel := range []string{".config/git/config", ".gitconfig"} {
		file, err := filepath.EvalSymlinks(filepath.Join(w.gate.Home.Home, rel))
		if err != nil {
			continue
		}
		r, err := w.policy(false)
		if err != nil {
			return nil, err
		}
		holder, err := grant.Identify(filepath.Dir(file))
		if err != nil {
			continue
		}
		r.Policy = r.Policy.AllowRead(sandbox.Place{Path: file, Device: holder.Device, Inode: holder.Inode, File: true})
		if !r.Policy.Decide(sandbox.Read, file).Allowed {
			continue // it leads into something secret
		}
		list := func(includes string) ([]byte, int, error) {
			var j *job.Job
			j, err := w.startJob(ctx, r, []string{w.program, "config", "-f", file, "--list", "-z", includes}, w.environment(r, false, "none", nil), nil)
			out, _, exit, err := w.output(ctx, j, err)
			return out, exit, err
		}
		out, exit, err := list("--includes")
		if err == nil && exit != 0 { // it includes what can't be read
			out, exit, err = list("--no-includes")
		}
		if err != nil {
			return nil, err
		}
		if exit != 0 {
			continue
		}
		settings, err := git.ParseSettings(out, false)
		if err != nil {
			return nil, hint.New("git_failed", "the person's git settings can't be read").Wrap(err)
		}
		all = append(all, settings...)
	}
	return all, nil
}
