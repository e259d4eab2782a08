package tool

import (
	"context"
	"fmt"
	"strings"

	"handrail/core/git"
	"handrail/core/hint"
	"handrail/core/job"
)

// status gives what git says of the work tree, as data and in words.
func (w *gitWork) status(ctx context.Context, a git.Args, cmd git.Command) (answer, error) {
	text, err := w.query(ctx, cmd.Argv(a)...)
	if err != nil {
		return answer{}, err
	}
	s, err := git.ParseStatus([]byte(text))
	if err != nil {
		return answer{}, hint.New("git_failed", "what git said can't be read").Wrap(err)
	}
	out := GitOutput{Repository: w.repo.Top, Branch: s.Branch, Upstream: s.Upstream, Ahead: s.Ahead, Behind: s.Behind, Underway: w.repo.Underway()}
	out.ExitCode = new(int)
	var b strings.Builder
	switch {
	case s.Branch == "" && s.Head != "":
		fmt.Fprintf(&b, "HEAD is detached at %s", firstRunes(s.Head, 12))
	default:
		fmt.Fprintf(&b, "on branch %s", s.Branch)
	}
	if s.Head == "" {
		b.WriteString(", no commit yet")
	}
	if s.Upstream != "" {
		fmt.Fprintf(&b, ", follows %s (%d ahead, %d behind)", s.Upstream, s.Ahead, s.Behind)
	}
	if out.Underway != "" {
		fmt.Fprintf(&b, "\na %s is underway", out.Underway)
		if len(s.Conflicts()) == 0 {
			fmt.Fprintf(&b, ": go on with action %s, mode continue", out.Underway)
		}
	}
	switch {
	case w.repo.Submodule():
		b.WriteString("\nthis is a submodule")
	case len(w.modules) > 0:
		b.WriteString("\nwhat isn't committed inside submodules is not looked at")
	case w.repo.Linked():
		fmt.Fprintf(&b, "\nthis is a further work tree of %s", w.repo.Common)
	}
	for _, f := range s.Files {
		g := GitFile{Path: f.Path, From: f.From, Staged: f.Staged, Unstaged: f.Unstaged}
		switch {
		case f.Untracked:
			g.State = "untracked"
		case f.Conflict:
			g.State = "conflict"
		}
		out.Files = append(out.Files, g)
	}
	list := func(heading string, in func(git.File) string) {
		var lines []string
		for _, f := range s.Files {
			if letter := in(f); letter != "" {
				line := "  " + letter + " " + f.Path
				if f.From != "" {
					line += " (was " + f.From + ")"
				}
				lines = append(lines, line)
			}
		}
		if len(lines) > 0 {
			b.WriteString("\n" + heading + "\n" + strings.Join(lines, "\n"))
		}
	}
	list("in conflict:", func(f git.File) string { return when(f.Conflict, "!") })
	list("staged:", func(f git.File) string { return f.Staged })
	list("not staged:", func(f git.File) string { return f.Unstaged })
	list("untracked:", func(f git.File) string { return when(f.Untracked, "?") })
	if len(s.Files) == 0 {
		b.WriteString("\nnothing to commit, the work tree is clean")
	}
	whole := b.String()
	cutText := shorten(job.Text{Head: []byte(whole), Total: int64(len(whole))}, maxOutput, 0)
	return answer{cutText.text, out}, nil
}

func when(yes bool, text string) string {
	if yes {
		return text
	}
	return ""
}

// unwritten is what git says where a file of a commit could not be made in the work tree.
const unwritten = "unable to create file"

// meanings are what git says when it refuses, and what to do then.
var meanings = []struct{ says, hint string }{
	{"unknown revision or path", "there is no such commit, branch or tag; look with action branch, tag or log"},
	{"bad revision", "there is no such commit, branch or tag; look with action branch, tag or log"},
	{"ambiguous argument", "there is no such commit, branch or tag; look with action branch, tag or log"},
	{"invalid reference", "there is no such branch; look with action branch"},
	{"not something we can merge", "there is no such branch or commit; look with action branch"},
	{"invalid upstream", "there is no such branch or commit; look with action branch"},
	{"does not have any commits yet", "the repository is empty: make a first commit with add and commit"},
	{"nothing to commit", "there is nothing to commit; see action status"},
	{"nothing added to commit", "nothing is staged: name the files with action add, then commit"},
	{"no changes added to commit", "nothing is staged: name the files with action add, then commit"},
	{"clean filter", "this file goes through a filter, which is a program that is not run here (Git LFS is one); ask the person to add it with git themselves"},
	{"is outside repository", "paths are relative to the top of the repository, and in it"},
	{"did not match any file", "no file of that name is there, or known to git"},
	{"would be overwritten by", "changes that are not committed stand in the way: commit or stash them first"},
	{"conflict", "resolve the conflicts in the files, stage them with action add, then go on with mode continue (or give up with mode abort)"},
	{"[rejected]", "the remote has commits that are not here, and nothing is ever forced: pull with mode merge or rebase, then push"},
	{"[remote rejected]", "the remote doesn't take this; see what it says"},
	{"not found.", "there is no such branch of this repository's own; a branch of a remote can't be deleted from here"},
	{"not fully merged", "it holds commits that are merged nowhere; only the person can delete it"},
	{"cannot delete branch", "the branch is checked out"},
	{"already checked out at", "another work tree of this repository has that branch checked out"},
	{"you are in the middle of", "finish or abort what is underway first; see action status"},
	{"you have unstaged changes", "commit or stash the changes first"},
	{"your index contains uncommitted changes", "commit or stash the changes first"},
	{"authentication failed", "the saved sign-in was refused; ask the person to sign in once with git itself, in a terminal"},
	{"couldn't find remote ref", "the remote has no branch of that name"},
	{unwritten, "a name that other programs obey is written only once the person agrees: ask for it with action restore and its path"},
	{"already exists", "choose another name"},
	{"not a valid object name", "there is no such commit, or the repository has none yet"},
	{"not possible to fast-forward", "both sides have commits of their own: pull with mode merge or rebase"},
	{"index.lock", "another git works on this repository, or was killed while it did; if none runs, the person can remove the file index.lock"},
}

// nothingSaid is the answer where git says nothing: it did what it was told.
const nothingSaid = "done"

// explain adds what git's words mean to the answer.
func (w *gitWork) explain(a answer, j *job.Job) answer {
	data, ok := a.data.(CommandOutput)
	if !ok {
		return a
	}
	out := GitOutput{CommandOutput: data, Repository: w.repo.Top, Underway: w.repo.Underway()}
	if data.ExitCode != nil && *data.ExitCode != 0 {
		said := strings.ToLower(data.Stderr + data.Stdout)
		for _, m := range meanings {
			if strings.Contains(said, m.says) && (data.Hint == "" || m.says == unwritten) {
				out.Hint = m.hint
				a.text = strings.TrimSuffix(a.text, "\n") + "\n[hint: " + m.hint + "]"
				break
			}
		}
	}
	if a.text == "" {
		a.text = nothingSaid
	}
	a.data = out
	return a
}
