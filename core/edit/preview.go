package edit

import (
	"bytes"
	"path"
	"strings"
	"unicode/utf8"
)

// Preview tells what an undo would do, without doing it.
type Preview struct {
	Change
	// Undoes are what would become of each file that can be put back, the first MostPreviewed of UndoesCount; what a folder
	// holds that comes or goes is not listed beside it.
	Undoes      []ChangedFile
	UndoesCount int
	// Left are the files that would stay as they are, and why.
	Left []Refusal
	// Diff is what the texts among the files would become: lines that begin with a blank, -, + or @@, and before each file's
	// one that begins with A, M or D and has its path. DiffMore says that it isn't all: some are no text, or there is too much.
	Diff     string
	DiffMore bool
}

// MostPreviewed is how many files a Preview lists, maxPreview how many bytes its diff has at most.
const (
	MostPreviewed = 100
	maxPreview    = 60 << 10
)

// Preview looks at what Undo would do to a change now. It changes nothing. The error is one of Undo's but stale: what can't be
// put back is in Left.
func (s *Snapshots) Preview(id string) (Preview, error) {
	var p Preview
	r, err := s.undoOrLook(id, true, &p)
	if err != nil {
		return Preview{}, err
	}
	for _, c := range s.Changes() {
		if c.ID == id {
			p.Change = c
		}
	}
	if p.Change.ID == "" {
		return Preview{}, errNoChange
	}
	p.Left = r.Left
	all := Outermost(p.Undoes)
	p.Undoes, p.UndoesCount = all[:min(len(all), MostPreviewed)], len(all)
	return p, nil
}

// add takes up a file that would be put back. A nil text is one that isn't there, or isn't told.
func (p *Preview) add(f ChangedFile, now, then []byte) {
	p.Undoes = append(p.Undoes, f)
	if f.Dir {
		return
	}
	if !plainText(now) || !plainText(then) || len(now) > mostTold || len(then) > mostTold {
		p.DiffMore = true
		return
	}
	diff := wholeDiff(now, then, replaced(now, then))
	if diff == "" {
		return
	}
	heading := shown(f.Path())
	if heading == `"`+f.Path()+`"` {
		heading = f.Path()
	}
	diff = howLetters[f.How] + " " + heading + "\n" + diff
	if !strings.HasSuffix(diff, "\n") {
		diff += "\n"
	}
	if len(p.Diff)+len(diff) > maxPreview {
		p.DiffMore = true
		return
	}
	p.Diff += diff
}

// howLetters are what a diff's line for a file begins with.
var howLetters = map[How]string{Created: "A", Changed: "M", Deleted: "D"}

func plainText(b []byte) bool { return utf8.Valid(b) && !bytes.ContainsRune(b, 0) }

// preview tells what the steps would do.
func (u *undoing) preview(look *Preview) {
	for _, x := range u.steps {
		if !x.act() {
			continue
		}
		f := ChangedFile{Folder: u.c.Place.Path, Name: x.name, How: Changed, Dir: x.now != nil && x.now.Kind == directory || x.Before != nil && x.Before.Kind == directory}
		if u.c.Place.File {
			f.Name = ""
		}
		switch {
		case x.now == nil:
			f.How = Created
		case x.Before == nil:
			f.How = Deleted
		}
		now, then, told := []byte(nil), []byte(nil), true
		if x.now != nil && x.now.Kind == regular {
			d, err := u.at.in(x.name)
			if err == nil {
				now, told = d.told(path.Base(x.name))
			} else {
				told = false
			}
		}
		if x.Before != nil && x.Before.Kind == regular && x.Before.Kept != "" && told {
			then, told = u.st.dir.told(x.Before.Kept)
		}
		if !told {
			now, then = []byte{0}, nil // no text
		}
		look.add(f, now, then)
	}
}
