package edit

import (
	"cmp"
	"os"
	"path"
	"slices"
	"strings"

	"handrail/core/hint"
)

// group gives the entries of one patch, in their order; none where it is no patch.
func (u *Undo) group(id string) []Entry {
	var list []Entry
	names, _ := u.files()
	for _, n := range names {
		if groupOf(n) != id {
			continue
		}
		if e, f, err := u.open(strings.TrimSuffix(n, undoSuffix)); err == nil {
			f.Close()
			if e.Group == id {
				list = append(list, e)
			}
		}
	}
	return list
}

// changes tells of what can be undone as of any change: a patch is one.
func (u *Undo) changes() []Change {
	var list []Change
	groups := make(map[string][]Entry)
	for _, e := range u.List() {
		if e.Group == "" {
			list = append(list, e.change())
		} else {
			groups[e.Group] = append(groups[e.Group], e)
		}
	}
	for id, entries := range groups {
		if len(entries) != entries[0].Of { // a process was killed before it began to write
			continue
		}
		list = append(list, groupChange(id, entries))
	}
	return list
}

// groupChange tells of a patch. A file that was renamed is one file.
func groupChange(id string, entries []Entry) Change {
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.ID, b.ID) })
	c := Change{ID: id, Time: entries[0].Time, By: []By{entries[0].By}, Folder: entries[0].Folder, UndoOf: entries[0].UndoOf}
	renamed := make(map[string]bool)
	for _, e := range entries {
		if nameIn(e.Folder, e.From) != "" {
			renamed[e.From] = true
		}
	}
	for _, e := range entries {
		c.Folder = common(c.Folder, e.Folder)
		if e.NewHash == "" && renamed[path.Join(e.Folder, e.Name)] {
			continue
		}
		f := e.change().Files[0]
		if from := nameIn(e.Folder, e.From); from != "" {
			f.How, f.From = Renamed, from
		}
		if c.Count++; len(c.Files) < MostListed {
			c.Files = append(c.Files, f)
		}
	}
	return c
}

// nameIn gives the name of a path in a folder, "" if it isn't there.
func nameIn(folder, p string) string {
	name, ok := strings.CutPrefix(p, strings.TrimSuffix(folder, "/")+"/")
	if !ok {
		return ""
	}
	return name
}

// common is the deepest folder that holds both.
func common(a, b string) string {
	for a != b && nameIn(a, b) == "" && a != "/" && a != "." {
		a = path.Dir(a)
	}
	return a
}

// restoring is an entry that is being undone.
type restoring struct {
	Entry
	root *os.Root
	part *part
	why  string // it is left as it is
	skip bool   // it is as it was already
	old  []byte
}

// restoreGroup puts back what stood in all files of a patch before it, in one change: all of them or none. Where a patch was
// cut off in the middle, files that it hadn't changed yet are as they were. A file that was changed since is left as it
// is, and nothing is done unless rest asks for the others.
func (u *Undo) restoreGroup(id string, entries []Entry, rest bool, look *Preview) (Undone, error) {
	if len(entries) != max(1, entries[0].Of) {
		return Undone{}, hint.New("no_undo", "a part of what was kept is gone").Then("it can't be put back")
	}
	g := group{options: Options{NoLinks: true, Undo: u, By: By{Tool: "undo", Text: entries[0].By.Text}, undoOf: id}}
	list := make([]*restoring, len(entries))
	defer func() {
		g.close()
		for _, r := range list {
			if r != nil && r.root != nil {
				r.root.Close()
			}
		}
	}()
	links := map[*part]bool{}
	for i, e := range entries {
		r := &restoring{Entry: e}
		list[i] = r
		if err := r.find(&g, u); err != nil {
			r.why = hint.Of(err).What
		}
		links[r.part] = e.Link != ""
	}
	if err := g.lock(func(p *part) bool { return links[p] }); err != nil {
		return Undone{}, err
	}
	var done Undone
	some := false
	for _, r := range list {
		if r.why == "" {
			r.judge()
		}
		some = some || r.why == "" && !r.skip
		if r.why != "" {
			done.Left = append(done.Left, Refusal{path.Join(r.Folder, r.Name), r.why})
		}
	}
	switch {
	case len(done.Left) == 0 && !some:
		return done, hint.New("nothing_to_undo", "everything is as it was before already")
	case look != nil:
		for _, r := range list {
			if r.why == "" && !r.skip {
				look.add(r.undone(), r.part.target.content, r.old)
			}
		}
		return done, nil
	case len(done.Left) > 0 && (!rest || !some):
		return done, refusal(done.Left, some)
	}
	if err := g.commit(); err != nil {
		return done, err
	}
	done.ID = g.id
	for _, r := range list {
		if r.why != "" || r.skip {
			continue
		}
		done.Files = append(done.Files, r.undone())
		done.Notes = append(done.Notes, r.part.r.Notes...)
	}
	return done, nil
}

// undone is what becomes of the file when the entry is undone.
func (e Entry) undone() ChangedFile {
	f := e.change().Files[0]
	f.How = undoneHow[f.How]
	return f
}

// undoneHow is what undoing a change does.
var undoneHow = map[How]How{Created: Deleted, Changed: Changed, Deleted: Created}

func (r *restoring) find(g *group, u *Undo) (err error) {
	_, f, err := u.open(r.ID)
	if err != nil {
		return err
	}
	defer f.Close()
	if r.old, err = r.Entry.old(f); err != nil {
		return err
	}
	if r.OldHash != "" && r.Link == "" && hashOf(r.old) != r.OldHash {
		return hint.New("no_undo", "what was kept of it was damaged")
	}
	if r.root, err = os.OpenRoot(r.Folder); err != nil {
		return problem("opening", r.Folder, err)
	}
	r.part, err = g.find(At{r.root, r.Name}, r.Name, true, r.Link != "")
	return err
}

// judge plans what to do with a file.
func (r *restoring) judge() {
	p := r.part
	if p.err != nil {
		r.why = hint.Of(p.err).What
		return
	}
	t := p.target
	now := ""
	switch {
	case t.parent != identity{r.Device, r.Inode}:
		r.why = "another folder holds it now"
		return
	case t.link != "":
		now = hashOf([]byte(t.link))
	case t.file != nil:
		err := t.removable()
		if err == nil && r.OldHash != "" {
			err = t.changeable()
		}
		if err == nil {
			err = t.read()
		}
		if err != nil {
			r.why = hint.Of(err).What
			return
		}
		now = t.oldHash()
	}
	at := func(hash string, mode uint32) bool { return now == hash && (r.NewMode == 0 || t.was.perm == mode) }
	switch {
	case at(r.NewHash, r.NewMode):
	case at(r.OldHash, r.Mode):
		r.skip = true
		return
	case now == "":
		r.why = "it is gone"
		return
	case r.NewHash == "":
		r.why = "something else stands there now"
		return
	default:
		r.why = "it was changed since"
		return
	}
	if r.OldHash != "" {
		if _, ok := obeyed(path.Join(r.Folder, r.Name), standsNow, standsNow); ok {
			r.why = whyGit
			return
		}
	}
	switch {
	case r.OldHash == "":
		p.plan(putNone)
	case r.Link != "":
		p.link = r.Link
		p.plan(putLink)
	default:
		p.r = Result{Text: r.old, Created: t.file == nil, Replaced: 1}
		p.like = model{perm: r.Mode}
		if t.file != nil {
			p.like = t.like()
		}
		if r.NewMode != 0 {
			p.like.perm, p.member.newMode = r.Mode, r.Mode
		}
		p.plan(putText)
	}
}
