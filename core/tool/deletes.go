package tool

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"handrail/core/approval"
	"handrail/core/command"
	"handrail/core/grant"
	"handrail/core/hint"
)

// deletion is what a script deletes in one granted folder, as far as reading it tells.
type deletion struct {
	script string
	// names are its targets as the script has them.
	names []string
	// files and bytes count what stands there now; more says that there may be more.
	files int
	bytes int64
	more  bool
}

// deletions lists the granted folders in which a script deletes something that is there now, each as an effect for the gate.
// What can't be told from the script isn't listed: it runs, bounded by the sandbox, and can be undone. done closes what was
// opened.
func (g *Gate) deletions(c *Call, script, dir, shell string) (effects []effect, done func(), err error) {
	done = func() {
		for _, e := range effects {
			e.place.close()
		}
	}
	if g.classic(c.Session) { // which deletes nothing in the workspace, and elsewhere what it likes
		return nil, done, nil
	}
	r, err := g.room(c.Session)
	if err != nil {
		return nil, done, err
	}
	open := r.Policy.Writable()
	granted := slices.DeleteFunc(g.Grants.List(c.Session.ID), func(h grant.Grant) bool { return h.Right != grant.Edit || !slices.Contains(open, h.Folder) })
	if len(granted) == 0 {
		return nil, done, nil
	}
	plan := command.Analyse(script, command.Context{Shell: command.ParseShell(filepath.Base(shell)), Dir: dir, Home: g.Home.Home, Path: searched(r.Env), Files: command.System(), Temp: []string{r.Temp}})
	if answer, _ := command.Deletes(plan); answer != command.Does {
		return nil, done, nil
	}
	all, _ := plan.Effects()
	for _, h := range granted {
		d := g.deletedIn(h, granted, all, dir)
		if d == nil {
			continue
		}
		at, err := g.locate(h.Folder, g.Workspace, !h.File)
		if err != nil {
			return effects, done, err
		}
		if len(script) > approval.MaxDiff {
			at.close()
			return effects, done, hint.New("too_long", "the command was not run").Because("it deletes files, and is too long to be shown to the person").Then("put it into a file, or send it in parts")
		}
		d.script = script
		effects = append(effects, effect{kind: remove, place: at, deletes: d})
	}
	return effects, done, nil
}

// searched is PATH of an environment.
func searched(env []string) []string {
	for _, v := range slices.Backward(env) {
		if list, ok := strings.CutPrefix(v, "PATH="); ok {
			return filepath.SplitList(list)
		}
	}
	return nil
}

// deletedIn collects what a script certainly deletes in one granted folder; nil for nothing that is there. Where it isn't
// known what it deletes, that is taken to be in the folder where it runs, or else in any of them.
func (g *Gate) deletedIn(h grant.Grant, granted []grant.Grant, all []command.Effect, dir string) *deletion {
	d, n := &deletion{}, newCounter()
	for _, e := range all {
		if !e.Certain || e.Kind != command.Removes && e.Kind != command.Overwrites {
			continue
		}
		hit := false
		switch t := e.Target; {
		case t.Pattern && t.Under != "":
			from := follow(t.Under)
			hit = n.pattern(h, from, strings.Split(strings.TrimPrefix(strings.TrimPrefix(t.Path, t.Under), "/"), "/"))
		case t.Path != "":
			real := filepath.Join(follow(filepath.Dir(t.Path)), filepath.Base(t.Path)) // a link is deleted itself
			if e.Kind == command.Overwrites {
				real = follow(t.Path)
			}
			hit = n.add(h, real)
		case t.Under != "":
			under := follow(t.Under)
			hit = h.Contains(under) || grant.Within(under, h.Folder)
			n.more = n.more || hit
		default:
			at := func(h grant.Grant) bool { return h.Contains(dir) }
			hit = h.Contains(dir) || !slices.ContainsFunc(granted, at)
			n.more = n.more || hit
		}
		if hit {
			text := e.Target.Text
			if text == "" {
				text = e.Target.Why
			}
			if !slices.Contains(d.names, text) {
				d.names = append(d.names, text)
			}
		}
	}
	if len(d.names) == 0 {
		return nil
	}
	d.files, d.bytes, d.more = n.files, n.bytes, n.more
	return d
}

// follow resolves the links in a path, as far as it exists.
func follow(path string) string {
	if real, err := resolve(filepath.Clean(path)); err == nil {
		return real
	}
	return path
}

// counter counts files in a granted folder, within bounds.
type counter struct {
	files    int
	bytes    int64
	more     bool
	entries  int
	deadline time.Time
	seen     map[string]bool
}

func newCounter() *counter {
	return &counter{deadline: time.Now().Add(countTime), seen: make(map[string]bool)}
}

func (n *counter) full() bool {
	n.entries++
	if n.entries > countFiles || n.entries%256 == 0 && time.Now().After(n.deadline) {
		n.more = true
		return true
	}
	return false
}

// add counts what stands at path, with all below it, as far as that is in the granted folder. It reports whether anything
// does. Links are not followed.
func (n *counter) add(h grant.Grant, path string) (found bool) {
	if !h.Contains(path) {
		if !grant.Within(path, h.Folder) {
			return false
		}
		path = h.Folder // what holds the folder is deleted
	}
	if n.seen[path] {
		return true
	}
	n.seen[path] = true
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		found = true
		if n.full() {
			return fs.SkipAll
		}
		if !d.IsDir() {
			n.files++
			if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
				n.bytes += info.Size()
			}
		}
		return nil
	})
	return found
}

// pattern counts what a file name pattern stands for below a folder, an element of the path at a time.
func (n *counter) pattern(h grant.Grant, folder string, elements []string) (found bool) {
	if !h.Contains(folder) && !grant.Within(folder, h.Folder) {
		return false
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if n.full() {
			return true // what wasn't looked at may be there
		}
		if strings.HasPrefix(e.Name(), ".") && !strings.HasPrefix(elements[0], ".") {
			continue
		}
		if ok, err := path.Match(strings.ReplaceAll(elements[0], "[!", "[^"), e.Name()); err == nil && !ok {
			continue
		}
		at := filepath.Join(folder, e.Name())
		if len(elements) == 1 {
			found = n.add(h, at) || found
		} else if e.IsDir() {
			found = n.pattern(h, at, elements[1:]) || found
		}
	}
	return found
}

// ask completes the request about a deletion.
func (d *deletion) ask(r approval.Request) approval.Request {
	r.Kind, r.Path = approval.Delete, ""
	r.Files, r.Bytes, r.More = d.files, d.bytes, d.more
	r.Script = d.script
	for _, name := range first(d.names, approval.MaxDeletes) {
		r.Deletes = append(r.Deletes, firstRunes(name, approval.MaxReason))
	}
	r.DeletesMore = len(d.names) - len(r.Deletes)
	return r
}

// deleteGranted says whether the person has allowed deleting in the folder that a place names.
func (g *Gate) deleteGranted(session string, p *place) bool {
	h, ok := g.Grants.Covers(session, grant.Delete, p.real)
	return ok && h.Folder == p.unit.Folder && h.ID == p.unitID
}
