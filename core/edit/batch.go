package edit

import (
	"cmp"
	"errors"
	"os"
	"slices"

	"handrail/core/hint"
)

// File is one file of a WriteAll: Hunks change a file that exists; without them Content is written, as by [Write].
type File struct {
	Name    string
	Hunks   []Hunk
	Content string
}

// WriteAll changes several files, all or none: everything is on the disk before the first file is replaced, and if one
// can't be, those before it are put back. If even that fails, the error names the file that holds the old content. A
// process that is killed in between leaves some files new and some old, each whole.
func WriteAll(root *os.Root, files []File, o Options) (results []Result, err error) {
	type part struct {
		file  File
		place *place
		key   lockKey
		at    int
	}
	parts := make([]part, len(files))
	defer func() {
		for _, p := range parts {
			p.place.close() // those that became targets are closed by them
		}
	}()
	for i, f := range files {
		if len(f.Hunks) > 0 {
			err = checkHunks(f.Hunks)
		} else {
			err = checkContent(f.Name, f.Content)
		}
		if err != nil {
			return nil, err
		}
		p, err := find(root, f.Name, o, len(f.Hunks) == 0)
		if err != nil {
			return nil, err
		}
		parts[i] = part{file: f, place: p, key: p.key(), at: i}
	}
	// Locks are taken in one order, so that two calls can't wait for each other.
	slices.SortFunc(parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(a.key.parent.device, b.key.parent.device), cmp.Compare(a.key.parent.inode, b.key.parent.inode),
			cmp.Compare(a.key.name, b.key.name))
	})
	for i := 1; i < len(parts); i++ {
		if parts[i].key == parts[i-1].key {
			return nil, hint.New("bad_hunk", shown(parts[i].place.name)+" is there twice").Then("name each file once")
		}
	}
	results = make([]Result, len(files))
	var all []*pending
	forget := func() {}
	back := func(cause error) error {
		var failed error
		for _, p := range slices.Backward(all) {
			failed = errors.Join(failed, p.rollback())
		}
		forget()
		if failed != nil {
			return hint.New("rollback_failed", "some files were changed and could not be put back: "+failed.Error()).Wrap(errors.Join(cause, failed))
		}
		return cause
	}
	for i := range parts {
		p := &parts[i]
		t, err := p.place.acquire(root, o, hold(p.key))
		p.place = nil
		if err != nil {
			return nil, back(err)
		}
		defer t.close()
		var r Result
		if len(p.file.Hunks) > 0 {
			if err = t.load(); err == nil {
				r, err = Apply(t.content, p.file.Hunks, o)
			}
		} else {
			r, err = t.write(p.file.Content)
		}
		if err != nil {
			return nil, back(err)
		}
		if !r.Unchanged {
			r.OldHash, r.Hash = "", hashOf(r.Text)
			if t.file != nil {
				r.OldHash = hashOf(t.content)
			}
		}
		if r.Unchanged || o.DryRun {
			results[p.at] = t.complete(r)
			continue
		}
		like := model{}
		if t.file != nil {
			like = model{file: t.file, perm: t.was.perm, owner: &t.was}
		}
		q, err := t.prepare(r.Text, like)
		if err != nil {
			return nil, back(err)
		}
		all = append(all, q)
		out, err := t.keep(&r)
		if err != nil {
			return nil, back(err)
		}
		before := forget
		forget = func() { out(); before() }
		results[p.at] = t.complete(r)
	}
	for _, p := range all {
		if err := p.commit(); err != nil {
			return nil, back(err)
		}
	}
	for _, p := range all {
		if note := p.finish(); note != "" {
			for i := range results {
				if results[i].Name == p.t.name {
					results[i].Notes = append(results[i].Notes, note)
				}
			}
		}
	}
	return results, nil
}
