package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"handrail/core/edit"
	"handrail/core/grant"
	"handrail/core/hint"
	"handrail/sandbox"
)

// place is where a path leads: a unit's folder that is held open, and a name in it. What was checked and what is used are
// the same folder, whatever is renamed or swapped for a link in between; package edit takes the name with NoLinks.
type place struct {
	given string // as the model wrote it
	real  string // absolute, links resolved
	// dir is the folder that a grant on unit binds, reached without following a link; of a unit that doesn't exist yet, the
	// workspace. name is real, relative to it.
	dir  *os.Root
	name string
	info fs.FileInfo // of name; nil when there is none
	unit grant.Unit
	// unitID is the identity of dir; zero while the unit doesn't exist.
	unitID grant.ID
	// notes say where the path led elsewhere than it was written.
	notes []string
	// made says that makeUnit made the unit's folder.
	made bool
}

func (p *place) close() {
	if p != nil && p.dir != nil {
		p.dir.Close()
	}
}

// isDir says whether a folder stands there now.
func (p *place) isDir() bool { return p.info != nil && p.info.IsDir() }

// locate finds out where path leads. A relative path starts at base. It reads no file and makes nothing. folder says
// that the path is meant to be a folder, also where nothing stands there yet.
func (g *Gate) locate(path, base string, folder bool) (*place, error) {
	full, err := g.expand(path, base)
	if err != nil {
		return nil, err
	}
	real, err := resolve(full)
	if err != nil {
		return nil, err
	}
	return g.reachPlace(path, real, folder)
}

// locateEntry is locate for a name itself: if it is a link, the link is meant and not what it leads to.
func (g *Gate) locateEntry(path, base string) (*place, error) {
	full, err := g.expand(path, base)
	if err != nil {
		return nil, err
	}
	dir, err := resolve(filepath.Dir(full))
	if err != nil {
		return nil, err
	}
	return g.reachPlace(path, filepath.Join(dir, filepath.Base(full)), false)
}

// reachPlace opens the unit of a path whose links are resolved.
func (g *Gate) reachPlace(path, real string, folder bool) (*place, error) {
	real, notes, err := g.twin(real)
	if err != nil {
		return nil, err
	}
	info, err := os.Lstat(real)
	p := &place{given: path, real: real, notes: notes, unit: grant.UnitOf(g.Workspace, real, err == nil && info.IsDir() || err != nil && folder)}
	start := string(filepath.Separator)
	if !p.unit.Outside {
		start = g.Workspace
	}
	if p.dir, err = os.OpenRoot(start); err != nil {
		return nil, notThere(path, err)
	}
	if !p.unit.Outside && identity(p.dir) != g.WorkspaceID {
		p.close()
		return nil, hint.New("workspace_replaced", "the workspace is no longer the folder that it was").
			Because("it was moved, deleted or replaced").Then("ask the person to restart Handrail")
	}
	if err := p.enterUnit(start); err != nil {
		p.close()
		return nil, notThere(path, err)
	}
	p.info, _ = p.dir.Lstat(p.name) // what can't be looked at can't be opened either, and then says why
	return p, nil
}

// enterUnit goes from start, which dir is, to the folder that a grant on the unit binds.
func (p *place) enterUnit(start string) (err error) {
	holder := grant.Grant{Folder: p.unit.Folder, File: p.unit.File}.Holder()
	rel, err := filepath.Rel(start, holder)
	if err != nil {
		return err
	}
	for element := range strings.SplitSeq(rel, string(filepath.Separator)) {
		if element == "." {
			continue
		}
		err := p.enter(element)
		if errors.Is(err, fs.ErrNotExist) && !p.unit.Outside {
			p.name, err = filepath.Rel(start, p.real)
			return err
		}
		if err != nil {
			return err
		}
	}
	p.unitID = identity(p.dir)
	p.name, err = filepath.Rel(holder, p.real)
	return err
}

// enter opens a folder of dir through no link and goes on from there.
func (p *place) enter(element string) error {
	info, err := p.dir.Lstat(element)
	if err != nil {
		return err
	}
	next, err := p.dir.OpenRoot(element)
	if err != nil {
		return err
	}
	p.dir.Close()
	p.dir = next
	// OpenRoot follows links; what it opened must be what stood there, and that must be no link.
	opened, err := next.Stat(".")
	if err != nil {
		return err
	}
	if !os.SameFile(info, opened) {
		return hint.New("changed", fmt.Sprintf("%q changed while it was being opened", p.given)).Then("try again")
	}
	return nil
}

// stays looks again at a file that was written without being asked for alone: a command that ran at the same time may have made
// its folder a Git folder, whose settings and hooks are. Such a file is taken away.
func (p *place) stays() error {
	name, ok := sandbox.ProtectedAt(p.real)
	if !ok {
		return nil
	}
	h := hint.New("protected", fmt.Sprintf("%q was taken away again", p.given)).Because("while it was written its folder became a Git repository, which obeys " + name).Then("call again: the person is asked for it")
	if err := p.dir.Remove(p.name); err != nil {
		return h.Because("it could not be taken away: tell the person").Wrap(err)
	}
	return h
}

// makeUnit makes the unit's folder, which is missing, in the workspace, and goes into it. made is false when another did
// that meanwhile.
func (p *place) makeUnit() (made bool, err error) {
	err = p.dir.Mkdir(filepath.Base(p.unit.Folder), 0o755)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	p.made = p.made || err == nil
	return err == nil, p.enterUnit(filepath.Dir(p.unit.Folder))
}

// twin gives the name that a path in the workspace has on disk where it differs only in Unicode normalisation or in the
// kind of spaces: models can't always write such names.
func (g *Gate) twin(real string) (name string, notes []string, err error) {
	if _, err := os.Lstat(real); err == nil || !grant.Within(g.Workspace, real) || real == g.Workspace {
		return real, nil, nil
	}
	root, err := os.OpenRoot(g.Workspace)
	if err != nil {
		return "", nil, notThere(real, err)
	}
	defer root.Close()
	rel, err := filepath.Rel(g.Workspace, real)
	if err != nil {
		return "", nil, err
	}
	found, err := edit.Resolve(root, rel)
	if err != nil {
		return "", nil, err
	}
	return filepath.Join(g.Workspace, found.Name), found.Notes, nil
}

func identity(root *os.Root) grant.ID {
	info, err := root.Stat(".")
	if err != nil {
		return grant.ID{}
	}
	id, err := grant.IdentityOf(info)
	if err != nil {
		return grant.ID{}
	}
	return id
}

// expand makes path absolute: a leading ~ or ~/ is the home folder, a relative path starts at base. Nothing else is
// expanded: "~bob", "a/~" and "%2e%2e" are names.
func (g *Gate) expand(path, base string) (string, error) {
	switch {
	case path == "":
		return "", hint.New("bad_path", "the path is empty")
	case strings.ContainsRune(path, 0):
		return "", hint.New("bad_path", "the path holds a NUL character")
	case path == "~":
		return g.Home.Home, nil
	case strings.HasPrefix(path, "~/"):
		return filepath.Join(g.Home.Home, path[2:]), nil
	case filepath.IsAbs(path):
		return filepath.Clean(path), nil
	}
	return filepath.Join(base, path), nil
}

// Resolve follows the links in an absolute path as the tools do. What doesn't exist yet is kept as it is written.
func Resolve(path string) (string, error) { return resolve(filepath.Clean(path)) }

// resolve follows the links in path. What doesn't exist yet is kept as it is written, below the deepest folder that does.
// A link that leads nowhere is refused: a file made through it would appear where nobody looked.
func resolve(path string) (string, error) {
	rest := ""
	for at := path; ; at = filepath.Dir(at) {
		real, err := filepath.EvalSymlinks(at)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", notThere(path, err)
		}
		if _, err := os.Lstat(at); err == nil {
			return "", hint.New("broken_link", fmt.Sprintf("%q is, or goes through, a link that leads nowhere", path))
		}
		if filepath.Dir(at) == at {
			return "", notThere(path, err)
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

// notThere says in plain words why a path can't be opened.
func notThere(path string, err error) error {
	var h *hint.Hint
	switch {
	case errors.As(err, &h):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return hint.New("not_found", fmt.Sprintf("there is no %q", path)).Wrap(err)
	case errors.Is(err, fs.ErrPermission):
		return hint.New("denied", fmt.Sprintf("%q can't be opened", path)).Because("the system does not permit it").Wrap(err)
	case errors.Is(err, errNotDir):
		return hint.New("not_found", fmt.Sprintf("there is no %q", path)).Because("a part of the path is a file").Wrap(err)
	case errors.Is(err, errNameTooLong):
		return hint.New("bad_path", "the path, or a name in it, is too long").Wrap(err)
	case errors.Is(err, errLoop):
		return hint.New("broken_link", fmt.Sprintf("%q goes round in circles of links", path)).Wrap(err)
	}
	return hint.New("failed", fmt.Sprintf("%q can't be opened", path)).Wrap(err)
}
