package edit

import (
	"cmp"
	"errors"
	"os"
	"slices"
	"strings"

	"handrail/core/hint"
)

// File is one file of a WriteAll: Hunks change a file that exists; without them Content is written, as by [Write].
type File struct {
	Name    string
	Hunks   []Hunk
	Content string
}

// WriteAll changes several files, all or none: everything is on the disk before the first file is replaced, and if one
// can't be, those before it are put back. If even that fails, the error (rollback_failed) names the files that hold the
// old content, and what was kept for undo stays. A process that is killed in between leaves some files new and some old,
// each whole. Results are in the order of files.
func WriteAll(root *os.Root, files []File, o Options) ([]Result, error) {
	g := group{root: root, options: o, results: make([]Result, len(files))}
	defer g.close()
	if err := g.find(files); err != nil {
		return nil, err
	}
	for i := range g.parts {
		if err := g.prepare(&g.parts[i]); err != nil {
			return nil, g.back(inFile(g.parts[i].file.Name, err))
		}
	}
	for _, p := range g.parts {
		if p.pending == nil {
			continue
		}
		if err := p.pending.commit(); err != nil {
			return nil, g.back(inFile(p.file.Name, err))
		}
	}
	for _, p := range g.parts {
		if p.pending == nil {
			continue
		}
		if note := p.pending.finish(); note != "" {
			r := &g.results[p.at]
			r.Notes = append(r.Notes, note)
		}
	}
	return g.results, nil
}

// group is the files of one WriteAll, in the order of their locks.
type group struct {
	root    *os.Root
	options Options
	parts   []part
	results []Result
}

type part struct {
	file    File
	at      int // its place in the results
	place   *place
	key     lockKey
	target  *target  // takes the place's place
	pending *pending // nil where nothing is to be written
	forget  func()
}

func (g *group) close() {
	for _, p := range g.parts {
		if p.target != nil {
			p.target.close()
		} else {
			p.place.close()
		}
	}
}

// find finds all files before any is locked.
func (g *group) find(files []File) error {
	for i, f := range files {
		err := checkHunks(f.Hunks)
		if len(f.Hunks) == 0 {
			err = checkContent(f.Name, f.Content)
		}
		if err != nil {
			return inFile(f.Name, err)
		}
		p, err := find(g.root, f.Name, g.options, len(f.Hunks) == 0)
		if err != nil {
			return err
		}
		g.parts = append(g.parts, part{file: f, place: p, key: p.key(), at: i})
	}
	// Locks are taken in one order, so that two calls can't wait for each other.
	slices.SortFunc(g.parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(a.key.parent.device, b.key.parent.device), cmp.Compare(a.key.parent.inode, b.key.parent.inode),
			cmp.Compare(a.key.name, b.key.name))
	})
	for i := 1; i < len(g.parts); i++ {
		if g.parts[i].key == g.parts[i-1].key {
			return hint.New("bad_hunk", shown(g.parts[i].place.name)+" is there twice").Then("name each file once")
		}
	}
	return nil
}

// prepare locks a file, plans its change and writes it next to the file.
func (g *group) prepare(p *part) error {
	place := p.place
	p.place = nil
	t, err := place.acquire(g.root, g.options, hold(p.key))
	if err != nil {
		return err
	}
	p.target = t
	var r Result
	if len(p.file.Hunks) == 0 {
		r, err = t.write(p.file.Content)
	} else if err = t.load(); err == nil {
		r, err = Apply(t.content, p.file.Hunks, g.options)
	}
	if err != nil {
		return err
	}
	t.hash(&r)
	if !r.Unchanged && !g.options.DryRun {
		if p.pending, err = t.prepare(r.Text, t.like()); err != nil {
			return err
		}
		if p.forget, err = t.keep(&r); err != nil {
			return err
		}
	}
	g.results[p.at] = t.complete(r)
	return nil
}

// back puts everything back.
func (g *group) back(cause error) error {
	var failed []string
	errs := []error{cause}
	for _, p := range slices.Backward(g.parts) {
		if p.pending == nil {
			continue
		}
		if err := p.pending.rollback(); err != nil {
			failed, errs = append(failed, err.Error()), append(errs, err)
		}
	}
	if failed != nil {
		return hint.New("rollback_failed", "some files were changed and could not be put back: "+strings.Join(failed, "; ")).
			Wrap(errors.Join(errs...))
	}
	for _, p := range g.parts {
		if p.forget != nil {
			p.forget()
		}
	}
	return cause
}

// inFile says in an error which file of several it is about.
func inFile(name string, err error) error {
	h := *hint.Of(err)
	h.What = "in " + shown(name) + ": " + h.What
	return &h
}
