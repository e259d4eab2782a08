package search

import (
	"cmp"
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"handrail/core/search/document"
)

// Place is a folder by its path, absolute without links, and its identity.
type Place struct {
	Path          string
	Device, Inode uint64
}

// Words gives what a query looks for, for an index of another kind: words in lower case, without accents and without those that
// questions are made of, and what is written without spaces between words as it stands. They hold letters, digits and marks alone.
func Words(text string) []string {
	var list []string
	add := func(w string) {
		if !slices.Contains(list, w) && len(list) < mostTerms {
			list = append(list, w)
		}
	}
	for _, t := range termsOf(text) {
		for _, w := range t.words {
			if !strings.ContainsFunc(w, func(r rune) bool { return unicode.In(r, together...) }) {
				add(w)
			}
		}
	}
	w := words{whole: func(run string) { add(recompose.Replace(run)) }}
	w.add([]byte(text[:min(len(text), 4000)]))
	return list
}

// recompose puts the vowel am of Thai and Lao together again, which the index takes apart.
var recompose = strings.NewReplacer("\u0e4d\u0e32", "\u0e33", "\u0ecd\u0eb2", "\u0eb3")

// What Read takes at most.
const (
	readTime = 8 * time.Second
	readText = 4 << 20 // bytes of a text; documents as for the index
)

// Read looks for the words of a query in files that something else found, of a folder without an index: each is read whole. It
// stops after some seconds, and when it has read some files more than it may give. Files outside the folder, those that an index
// would leave out, and those that don't hold a word are no hits. Scores are for comparing what one Read gives.
func Read(ctx context.Context, o Options, q Query, in Place, files []string) ([]Hit, error) {
	if q.Readable == nil || o.Closed == nil {
		return nil, nil
	}
	if q.Limit == 0 {
		q.Limit = 10
	}
	s := &finding{q: q, terms: termsOf(q.Text), closed: o.Closed}
	if len(s.terms) == 0 {
		return nil, ErrNoWords
	}
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	f := &folder{path: in.Path, device: int64(in.Device), inode: int64(in.Inode)}
	top, err := f.open()
	if err != nil {
		return nil, err
	}
	defer top.Close()
	var all []*weighed
	for _, path := range files {
		if ctx.Err() != nil || len(all) >= candidates*q.Limit {
			break
		}
		rel, err := filepath.Rel(in.Path, path)
		if err != nil || !filepath.IsLocal(rel) || rel == "." || !wanted(o.Closed, f, rel) {
			continue
		}
		file, err := openRegular(top, rel)
		if err != nil {
			continue
		}
		is, err := factsOf(file)
		if at := (&found{folder: f, path: rel, mtime: is.mtime}); err == nil && s.fits(at) {
			if w := s.whole(ctx, o, at, file, is.size); w != nil {
				all = append(all, w)
			}
		}
		file.Close()
	}
	return s.order(all), nil
}

// whole reads a file; nil if no word of the query is in it or in its name.
func (s *finding) whole(ctx context.Context, o Options, f *found, file io.Reader, size int64) *weighed {
	var text []byte
	var parts []passage
	kind := document.Kind(f.path)
	switch {
	case kind != "" && o.Extract != nil && size <= maxDocument:
		pages, err := o.Extract(ctx, kind, file)
		if err != nil {
			break // it can be found by its name still
		}
		for _, p := range pages {
			text = append(text, p.Text...)
		}
		parts = ofPages(pages)
	case kind == "" && size <= readText:
		raw, err := io.ReadAll(io.LimitReader(file, readText))
		if err != nil {
			break
		}
		if t, ok := decode(raw); ok {
			text, parts = t, passages(t)
		}
	}
	type fit struct {
		shown
		terms int
	}
	var fits []fit
	for _, p := range parts {
		show := shown{before: text[max(0, p.at-beforeBytes):p.at], text: p.text, line: p.line}
		if kind != "" {
			show.page = p.line
		}
		if _, _, n, _ := s.snippet(show); n > 0 {
			fits = append(fits, fit{show, n})
		}
	}
	slices.SortStableFunc(fits, func(a, b fit) int { return cmp.Compare(b.terms, a.terms) })
	h := s.weighed(f, f.mtime)
	for _, p := range fits[:min(len(fits), passagesRead)] {
		s.take(h, p.shown)
	}
	if len(fits) == 0 {
		if !slices.Contains(h.named, true) {
			return nil
		}
		h.passages = []tally{{lines: make([]int, len(s.terms))}}
	}
	return h
}
