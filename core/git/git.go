// Package git knows what a Git repository is on disk, which git commands Handrail offers, and what in a repository's own
// settings would run programs or send data elsewhere. It runs nothing: package tool runs what it is told here, in the sandbox.
//
//	repo, err := git.Find("/home/ann/Handrail/site/css", "/home/ann/Handrail")
//	argv, err := git.Args{Action: "log", MaxCount: 5}.Argv()
//
// A repository belongs to whoever last wrote it, and git obeys it: hooks, filters, drivers and helpers named in it are
// programs that git starts. [Neutral] gives the settings that keep it from doing so, [Hazards] what can't be set right and so
// must not be near the network. What a setting of a future git could run is not known here; the sandbox bounds that.
package git

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Repository is where the parts of a repository are. All paths are absolute with links resolved.
type Repository struct {
	// Top is the folder of the work tree; empty in a bare repository.
	Top string
	// Dir is the Git folder: HEAD and the index are in it.
	Dir string
	// Common is the Git folder that holds config, objects and refs: Dir, but for a linked work tree that of the first.
	Common string
}

// Bare says that there is no work tree.
func (r Repository) Bare() bool { return r.Top == "" }

// Linked says that it is a further work tree of a repository that is elsewhere (git-worktree(1)).
func (r Repository) Linked() bool { return r.Common != r.Dir }

// Submodule says that its Git folder lies in that of the repository around it (gitsubmodules(7)).
func (r Repository) Submodule() bool {
	return !r.Bare() && strings.Contains(r.Dir, string(filepath.Separator)+"modules"+string(filepath.Separator))
}

// Folders lists the folders that a command on the repository works with, each once.
func (r Repository) Folders() []string {
	var list []string
	for _, f := range []string{r.Top, r.Common, r.Dir} {
		covered := f == ""
		for _, other := range list {
			covered = covered || f == other || strings.HasPrefix(f, other+string(filepath.Separator))
		}
		if !covered {
			list = append(list, f)
		}
	}
	return list
}

// ErrNone is given where there is no repository.
var ErrNone = errors.New("no repository")

// BrokenError is given where a .git leads to no Git folder.
type BrokenError struct{ Path, Why string }

func (e *BrokenError) Error() string { return fmt.Sprintf("%q: %s", e.Path, e.Why) }

// Find looks for the repository that dir is in, upwards to the folder ceiling and no further. Both are absolute with links
// resolved. It reads names, and the text of a .git file and of commondir (gitrepository-layout(5)). It doesn't say whether
// what it finds lies below ceiling: a .git file may lead anywhere.
func Find(dir, ceiling string) (Repository, error) {
	for at := dir; ; at = filepath.Dir(at) {
		if filepath.Base(at) != ".git" {
			found, err := repositoryAt(at)
			if !errors.Is(err, ErrNone) {
				return found, err
			}
		}
		if at == ceiling || at == filepath.Dir(at) {
			return Repository{}, ErrNone
		}
	}
}

// repositoryAt gives the repository whose work tree starts at the folder, or the bare one that it is.
func repositoryAt(folder string) (Repository, error) {
	dot := filepath.Join(folder, ".git")
	info, err := os.Stat(dot)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if isGitFolder(folder) {
			return Repository{Dir: folder, Common: folder}, nil
		}
		return Repository{}, ErrNone
	case err != nil:
		return Repository{}, err
	}
	real, err := filepath.EvalSymlinks(dot)
	if err != nil {
		return Repository{}, err
	}
	if !info.IsDir() {
		if real, err = pointer(real, "gitdir: ", folder); err != nil {
			return Repository{}, &BrokenError{dot, err.Error()}
		}
	}
	r := Repository{Top: folder, Dir: real, Common: real}
	if _, err := os.Lstat(filepath.Join(real, "commondir")); err == nil {
		if r.Common, err = pointer(filepath.Join(real, "commondir"), "", real); err != nil {
			return Repository{}, &BrokenError{filepath.Join(real, "commondir"), err.Error()}
		}
		if !isGitFolder(r.Common) {
			return Repository{}, &BrokenError{filepath.Join(real, "commondir"), "it leads to no Git folder"}
		}
	} else if !isGitFolder(real) {
		if info.IsDir() { // git goes on upwards then, and so does Find
			return Repository{}, ErrNone
		}
		return Repository{}, &BrokenError{dot, "it leads to no Git folder"}
	}
	return r, nil
}

// maxPointer bounds the text of a file that says where a folder is.
const maxPointer = 8 << 10

// pointer reads a file of one line that names a folder, relative to base, and gives the folder with links resolved.
func pointer(file, prefix, base string) (string, error) {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() {
		return "", errors.New("it is no file of text")
	}
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a command may have put a pipe there since
	if err != nil {
		return "", errors.New("it can't be read")
	}
	defer f.Close()
	if opened, err := f.Stat(); err != nil || !os.SameFile(info, opened) {
		return "", errors.New("it changed meanwhile")
	}
	text, err := io.ReadAll(io.LimitReader(f, maxPointer))
	path, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), prefix)
	if err != nil || !ok || path == "" || len(text) == maxPointer || strings.ContainsAny(path, "\n\x00") {
		return "", errors.New("it doesn't say where the Git folder is")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("it leads to %q, which is not there", filepath.Clean(path))
	}
	return real, nil
}

// isGitFolder reports what git itself looks for (is_git_directory in its setup).
func isGitFolder(dir string) bool {
	for _, name := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			return false
		}
	}
	_, err := os.Lstat(filepath.Join(dir, "HEAD"))
	return err == nil
}

// Underway names what was begun in the repository and not finished: "merge", "rebase", "cherry-pick", "revert", "bisect" or "".
func (r Repository) Underway() string {
	for _, u := range []struct{ name, file string }{
		{"rebase", "rebase-merge"}, {"rebase", "rebase-apply"}, {"merge", "MERGE_HEAD"}, {"cherry-pick", "CHERRY_PICK_HEAD"}, {"revert", "REVERT_HEAD"}, {"bisect", "BISECT_LOG"},
	} {
		if _, err := os.Lstat(filepath.Join(r.Dir, u.file)); err == nil {
			return u.name
		}
	}
	return ""
}
