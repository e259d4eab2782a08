package edit

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"handrail/core/hint"
)

// place is where a name leads, with links resolved: an opened folder and one element in it.
type place struct {
	dir    folder
	parent identity
	// name is the whole name in the root, links resolved; base its last element, empty for the root itself. A folder that
	// the name ends in is its own place: base is the folder's name in the one above it.
	name, base string
	// missing are the folders, from dir on, that don't exist yet; base lies in the last.
	missing []string
	exists  bool
	info    info // of what exists
	notes   []string
}

func (p *place) close() {
	if p != nil && p.dir.File != nil {
		p.dir.Close()
	}
}

const mostLinks = 40

// find walks name from root, one element after another, and never by the system's own following of links: a link's
// target is walked in the same way, so it can't lead out of the root, and no folder can be swapped for a link on the
// way. Where an element doesn't exist, the one entry that is equal but for Unicode normalisation and kinds of spaces is
// taken, with a note. With create, missing folders and a missing file are no error.
func find(root *os.Root, name string, o Options, create bool) (*place, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	top, err := rootFolder(root)
	if err != nil {
		return nil, problem("opening", ".", err)
	}
	w := walk{root: root, name: name, stack: []folder{top}, noLinks: o.NoLinks, ofLink: o.ofLink}
	defer w.close()
	w.push(name)
	for len(w.rest) > 0 {
		if err := w.step(create); err != nil {
			return nil, err
		}
	}
	return w.place()
}

func checkName(name string) error {
	bad := func(why string) error {
		return hint.New("bad_path", "the path "+shown(name)+" can't be used").Because(why)
	}
	switch {
	case name == "":
		return hint.New("bad_path", "the path is empty")
	case !utf8.ValidString(name):
		return bad("it is not valid UTF-8")
	case strings.IndexByte(name, 0) >= 0:
		return bad("it holds a NUL character")
	case filepath.IsAbs(name):
		return bad("it must be relative to the folder that was opened")
	}
	return nil
}

// walk is a walk in progress. stack holds the opened folders from the root to where it stands; done the names of all but
// the root. missing are elements beyond, that don't exist.
type walk struct {
	root    *os.Root
	name    string
	noLinks bool
	ofLink  bool // a link that the name ends in is what is meant
	stack   []folder
	done    []string
	rest    []string
	links   int
	missing []string
	last    *place // set when the last element is not a folder
	notes   []string
}

func (w *walk) close() {
	for _, d := range w.stack {
		d.Close()
	}
}

func (w *walk) push(name string) {
	w.rest = append(strings.Split(name, "/"), w.rest...)
}

func (w *walk) here() folder { return w.stack[len(w.stack)-1] }

func (w *walk) path(element string) string {
	return path.Join(append(slices.Clone(w.done), element)...)
}

func (w *walk) outside(link bool) error {
	if link {
		return hint.New("is_link_outside", shown(w.name)+" is, or goes through, a link that leads out of the folder").
			Then("use the path of the file itself, if it may be used")
	}
	return hint.New("outside", shown(w.name)+" leads out of the folder")
}

// step takes one element.
func (w *walk) step(create bool) error {
	e := w.rest[0]
	w.rest = w.rest[1:]
	switch {
	case e == "" || e == ".":
		return nil
	case e == ".." && len(w.missing) > 0:
		w.missing = w.missing[:len(w.missing)-1]
		return nil
	case e == "..":
		if len(w.done) == 0 {
			return w.outside(w.links > 0)
		}
		w.here().Close()
		w.stack, w.done = w.stack[:len(w.stack)-1], w.done[:len(w.done)-1]
		return nil
	case len(w.missing) > 0:
		w.missing = append(w.missing, e)
		return nil
	}
	st, err := w.here().stat(e)
	if errors.Is(err, fs.ErrNotExist) {
		if other := w.here().twin(e); other != "" {
			w.notes = append(w.notes, "used "+shown(w.path(other))+", whose name differs only in Unicode normalisation or in the kind of spaces")
			e = other
			st, err = w.here().stat(e)
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && create:
		w.missing = append(w.missing, e)
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return w.absent(e, err)
	case err != nil:
		return problem("opening", w.path(e), err)
	case st.kind == symlink && w.ofLink && len(w.rest) == 0:
		w.last = &place{base: e, exists: true, info: st}
		return nil
	case st.kind == symlink:
		return w.follow(e)
	case st.kind == directory:
		d, err := w.here().openFolder(e)
		if err != nil {
			return problem("opening", w.path(e), err)
		}
		w.stack, w.done = append(w.stack, d), append(w.done, e)
		return nil
	}
	if slices.ContainsFunc(w.rest, func(s string) bool { return s != "" && s != "." }) {
		return hint.New("not_found", shown(w.path(e))+" is "+st.kind.String()+", not a folder").Wrap(syscall.ENOTDIR)
	}
	w.last = &place{base: e, exists: true, info: st}
	w.rest = nil
	return nil
}

// follow walks on at the target of a link.
func (w *walk) follow(e string) error {
	if w.noLinks {
		return hint.New("is_link", shown(w.path(e))+" is a link").Because("it was none when the path was checked").Then("try again")
	}
	if w.links++; w.links > mostLinks {
		return hint.New("link_loop", "the links at "+shown(w.name)+" lead in a circle")
	}
	target, err := w.here().readlink(e)
	if err != nil {
		return problem("reading the link", w.path(e), err)
	}
	if filepath.IsAbs(target) {
		rel, ok := inRoot(w.root.Name(), target)
		if !ok {
			return w.outside(true)
		}
		for len(w.done) > 0 {
			w.here().Close()
			w.stack, w.done = w.stack[:len(w.stack)-1], w.done[:len(w.done)-1]
		}
		target = rel
	}
	w.push(target)
	return nil
}

// inRoot gives an absolute path as a name in the root, if it lies there by its spelling, or with links resolved. The name
// is walked like any other, so a wrong answer can't lead out.
func inRoot(root, target string) (string, bool) {
	root, err := filepath.Abs(root)
	if err != nil {
		return "", false
	}
	below := func(root, target string) (string, bool) {
		rel, err := filepath.Rel(root, target)
		return rel, err == nil && filepath.IsLocal(rel)
	}
	if rel, ok := below(root, target); ok {
		return rel, true
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		if rel, ok := below(real, target); ok {
			return rel, true
		}
		if dir, err := filepath.EvalSymlinks(filepath.Dir(target)); err == nil {
			return below(real, filepath.Join(dir, filepath.Base(target)))
		}
	}
	return "", false
}

// place ends the walk.
func (w *walk) place() (*place, error) {
	p := w.last
	switch {
	case p != nil:
	case len(w.missing) > 0:
		n := len(w.missing) - 1
		p = &place{base: w.missing[n], missing: w.missing[:n]}
	default: // a folder
		st, err := statFile(w.here().File)
		if err != nil {
			return nil, problem("opening", w.name, err)
		}
		p = &place{exists: true, info: st}
		if n := len(w.done) - 1; n >= 0 {
			p.base = w.done[n]
			w.here().Close()
			w.stack, w.done = w.stack[:n+1], w.done[:n]
		}
	}
	st, err := statFile(w.here().File)
	if err != nil {
		return nil, problem("opening", w.name, err)
	}
	p.dir, p.parent, p.notes = w.here(), st.id, w.notes
	w.stack = w.stack[:len(w.stack)-1]
	p.name = path.Join(append(append(slices.Clone(w.done), p.missing...), p.base)...)
	return p, nil
}

// Found is where a name leads.
type Found struct {
	// Name is the name in the root with links resolved, "." for the root itself.
	Name string
	// Exists says that something is there, and Folder that it is a folder.
	Exists, Folder bool
	// Notes say where the name differs from the one that was given.
	Notes []string
}

// Resolve finds where name leads in root. What doesn't exist has a name as well. The caller decides on it, and then acts
// on it with [Options.NoLinks].
func Resolve(root *os.Root, name string) (Found, error) {
	p, err := find(root, name, Options{}, true)
	if err != nil {
		return Found{}, err
	}
	defer p.close()
	f := Found{Name: p.name, Exists: p.exists, Folder: p.exists && p.info.kind == directory, Notes: p.notes}
	if f.Name == "" {
		f.Name = "."
	}
	return f, nil
}

// mostNames is how many entries of a folder are looked at for a name that is almost right.
const mostNames = 20000

// twin finds the one entry that is equal to name but for normalisation and kinds of spaces.
func (d folder) twin(name string) string {
	list, err := d.names(mostNames)
	if err != nil {
		return ""
	}
	want, found := foldSpaces(name), ""
	for _, n := range list {
		if foldSpaces(n) == want {
			if found != "" {
				return ""
			}
			found = n
		}
	}
	return found
}

// foldSpaces gives a name in NFC with plain spaces.
func foldSpaces(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Zs, r) {
			return ' '
		}
		return r
	}, norm.NFC.String(name))
}

// foldName also takes case away, as most file systems of macOS do.
func foldName(name string) string { return strings.ToLower(foldSpaces(name)) }

// absent is the error for a name that isn't there, with up to three that are like it.
func (w *walk) absent(e string, err error) error {
	h := hint.New("not_found", shown(w.path(e))+" doesn't exist").Wrap(err)
	near := nearNames(w.here(), e)
	if len(near) == 0 {
		return h.Then("call list_files for the names there are")
	}
	for i, n := range near {
		near[i] = shown(w.path(n))
	}
	return h.Then("there is " + strings.Join(near, " and "))
}

// nearNames finds entries whose names differ from name in case or in a few letters.
func nearNames(d folder, name string) []string {
	list, err := d.names(mostNames)
	if err != nil || len(name) > 255 {
		return nil
	}
	type near struct {
		name string
		far  int
	}
	var found []near
	want := []rune(foldName(name))
	limit := min(2, len(want)/3)
	for _, n := range list {
		if ours(n) || !utf8.ValidString(n) {
			continue
		}
		if far := distance(want, []rune(foldName(n)), limit); far <= limit {
			found = append(found, near{n, far})
		}
	}
	slices.SortFunc(found, func(a, b near) int { return cmp.Or(a.far-b.far, strings.Compare(a.name, b.name)) })
	var names []string
	for _, f := range found[:min(len(found), 3)] {
		names = append(names, f.name)
	}
	return names
}

// distance counts the letters to add, remove or change to get from a to b, or gives more than limit.
func distance(a, b []rune, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		best := row[0]
		for j := range b {
			step := diagonal
			if a[i] != b[j] {
				step++
			}
			diagonal = row[j+1]
			row[j+1] = min(step, row[j]+1, row[j+1]+1)
			best = min(best, row[j+1])
		}
		if best > limit {
			return limit + 1
		}
	}
	return row[len(b)]
}
