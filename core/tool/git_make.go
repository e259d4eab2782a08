package tool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"handrail/core/git"
	"handrail/core/grant"
	"handrail/core/hint"
	"handrail/sandbox"
)

// placeRepository finds where a new repository will be, and what that means for the gate.
func (g *Gate) placeRepository(c *Call, path string, a git.Args) (*gitWork, error) {
	room, err := g.room(c.Session)
	if err != nil {
		return nil, err
	}
	program, err := room.program("git")
	if err != nil {
		return nil, err
	}
	if a.Action == "clone" {
		r, err := usable(a.URL)
		if err != nil {
			return nil, err
		}
		if r.Reach == git.Folder {
			from, err := g.locate(r.Path, g.Workspace, true)
			if err != nil {
				return nil, err
			}
			from.close()
			if !room.Policy.Decide(sandbox.Read, from.real).Allowed {
				return nil, outsideRepository(r.Path)
			}
			if _, err := git.Find(from.real, from.real); err != nil {
				return nil, hint.New("no_repository", fmt.Sprintf("there is no repository at %q", from.real)).Wrap(err)
			}
		}
		if path == "" {
			path = strings.TrimSuffix(filepath.Base(strings.TrimRight(r.Path, "/")), ".git")
		}
	}
	if path == "" {
		path = g.Workspace
	}
	at, err := g.locate(path, g.Workspace, true)
	if err != nil {
		return nil, err
	}
	dot := filepath.Join(at.real, ".git")
	w := &gitWork{gate: g, call: c, program: program, places: []*place{at}, effects: []effect{{kind: write, place: at}}, makes: dot, opens: []string{dot, filepath.Join(dot, "config")}}
	switch {
	case at.unit.Outside && !g.covers(c.Session, grant.Edit, at):
		err = outsideRepository(path)
	case at.info != nil && !at.info.IsDir():
		err = hint.New("exists", fmt.Sprintf("%q is a file", path))
	case a.Action == "clone" && !emptyFolder(at):
		err = hint.New("exists", fmt.Sprintf("%q exists and is not empty", path)).Then("give another folder as repo")
	default:
		if _, found := git.Find(at.real, at.real); found == nil {
			err = hint.New("exists", fmt.Sprintf("%q is a repository already", path))
		}
	}
	if err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// emptyFolder says that nothing stands in a folder, or that there is none.
func emptyFolder(at *place) bool {
	f, err := at.dir.Open(at.name)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	names, _ := f.Readdirnames(1)
	return len(names) == 0
}

// make makes a repository, by init or as a clone. Its Git folder is new, so its settings may be written for this once; what git
// wrote there is looked at before anything obeys it.
func (w *gitWork) make(ctx context.Context, a git.Args) (answer, error) {
	at := w.places[0]
	folder := at.real
	if a.Action == "init" {
		j, err := w.start(ctx, []string{"init", "--template=", "--initial-branch=main", "--", folder}, nil, true, false)
		if err != nil {
			return answer{}, err
		}
		if !w.wait(ctx, j) || j.Result().ExitCode != 0 || j.Result().Stopped != "" {
			return w.explain(w.gate.report(j), j), nil
		}
		if err := w.made(folder); err != nil {
			return answer{}, err
		}
		return w.explain(w.gate.report(j), j), nil
	}
	r, err := usable(a.URL)
	if err != nil {
		return answer{}, err
	}
	if err := w.reach(ctx, &r, false); err != nil {
		return answer{}, err
	}
	url := a.URL
	if r.Reach == git.Folder {
		url = r.Path
	}
	clone, err := at.hold()
	if err != nil {
		return answer{}, err
	}
	defer clone.Close()
	if !emptyFolder(&place{dir: clone, name: "."}) { // something came while the person was asked: it isn't ours to take away
		return answer{}, hint.New("changed", fmt.Sprintf("%q is no longer empty", folder)).Then("give another folder as repo")
	}
	var files []string
	done := false
	defer func() {
		if !done {
			unmake(at, at.dir, clone, files)
		}
	}()
	j, err := w.bring(ctx, r, slices.Concat([]string{"clone", "--template=", "--no-checkout", "--no-local", "--no-recurse-submodules"}, serving(upload, r), []string{"--", url, folder})...)
	if err != nil {
		return answer{}, err
	}
	cloned := w.explain(w.gate.report(j), j)
	if j.Running() {
		done = true
		dir, err := at.dir.OpenRoot(".") // the call lets its own go
		clone, err2 := clone.OpenRoot(".")
		if err == nil && err2 == nil {
			w.gate.telling.Go(func() {
				defer dir.Close()
				defer clone.Close()
				<-j.Done()
				if r := j.Result(); r.ExitCode != 0 || r.Stopped != "" || r.Err != nil {
					unmake(at, dir, clone, nil)
				}
			})
		}
		cloned.text += "\n[when it has ended, call git with action checkout, ref HEAD and paths [\".\"] to have the files]"
		return cloned, nil
	}
	if j.Result().ExitCode != 0 || j.Result().Stopped != "" {
		return cloned, nil
	}
	if err := w.made(folder); err != nil {
		done = true // for the person to look at
		return answer{}, err
	}
	if err := w.learn(ctx); err != nil {
		return answer{}, err
	}
	if _, born := w.head(ctx); !born {
		done = ctx.Err() == nil
		return cloned, nil
	}
	top, err := w.query(ctx, "ls-tree", "--name-only", "-z", "HEAD")
	if err != nil {
		return answer{}, err
	}
	files = strings.Split(strings.TrimSuffix(top, "\x00"), "\x00")
	// Without the network: what stands in the files is not to be trusted with it.
	whole, err := w.then(ctx, cloned, []string{"checkout", "--force", "--no-guess", "HEAD", "--"})
	out, _ := whole.data.(GitOutput)
	done = err == nil && out.Stopped == ""
	return whole, err
}

// hold makes the folder that a place names, if there is none, and opens it through no link: whatever another command puts in its
// place later, it is that folder.
func (p *place) hold() (*os.Root, error) {
	if err := p.dir.MkdirAll(p.name, 0o777); err != nil {
		return nil, notThere(p.given, err)
	}
	dir, err := p.dir.OpenRoot(".")
	if err != nil {
		return nil, notThere(p.given, err)
	}
	held := &place{given: p.given, dir: dir}
	for element := range strings.SplitSeq(p.name, string(filepath.Separator)) {
		if element == "." {
			continue
		}
		if err := held.enter(element); err != nil {
			held.close()
			return nil, notThere(p.given, err)
		}
	}
	return held.dir, nil
}

// unmake takes away what a clone that failed or was stopped has left in its folder, which is held: its Git folder and the files that
// it was to check out. The folder itself, which was empty or missing, stays where a grant is on it, where it was there before, where
// it holds anything else, and where another stands in its place.
func unmake(at *place, dir, clone *os.Root, files []string) {
	for _, name := range append(files, ".git") {
		if name != "" && filepath.Clean(name) != "." && filepath.IsLocal(name) {
			_ = clone.RemoveAll(name) // what can't be removed the person will see
		}
	}
	if at.info != nil || at.name == "." {
		return
	}
	made, err := clone.Stat(".")
	if now, err2 := dir.Lstat(at.name); err == nil && err2 == nil && os.SameFile(made, now) {
		_ = dir.Remove(at.name)
	}
}

// made takes on the repository that was made, if it is harmless.
func (w *gitWork) made(folder string) error {
	if err := sandbox.CheckRepository(filepath.Join(folder, ".git")); err != nil {
		return hint.New("unsafe_settings", "the repository that was made has settings that are not harmless").Because(err.Error()).Then("tell the person; don't use it").Wrap(err)
	}
	repo, err := git.Find(folder, folder)
	if err != nil {
		return noRepository(folder, folder, folder, err)
	}
	w.repo, w.opens = repo, nil
	return nil
}
