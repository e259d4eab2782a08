package search

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Query is a question to an index.
type Query struct {
	// Text is words in any language, or a whole question; "in quotes" stands together. At most 1,000 characters are read.
	Text string
	// Folder, if not empty, holds what is found: an absolute path.
	Folder string
	// Kinds, if any, are file name endings without the dot, in lower case.
	Kinds []string
	// After and Before, if not zero, bound when the file was changed last.
	After, Before time.Time
	// Limit is how many files are found at most, 1 to 50; 0 is 10.
	Limit int
	// Readable reports whether the one who asks may read a file. Nil: nothing.
	Readable func(path string) bool
}

// Hit is a file that was found, by its best passage.
type Hit struct {
	Path string
	Line int // of the first line of Text; 0 in a document, and where only the name fits
	Page int // of a document, from 1
	Text string
	// Around is what stands around Text, at most some kilobytes before and behind it: a caller that withholds secrets looks
	// there, for a line of a key alone doesn't show that it is one.
	Around   string
	Score    float64 // higher is better; for comparing hits of one answer
	Modified time.Time
}

// ErrNoWords is given for a query in which nothing can be looked for.
var ErrNoWords = errors.New("there is no word to look for")

// Find gives files in which the words of the query stand, best first. A file that was changed since it was read is left out,
// and read again.
func (x *Index) Find(ctx context.Context, q Query) ([]Hit, error) {
	if q.Readable == nil {
		return nil, nil
	}
	if q.Limit == 0 {
		q.Limit = 10
	}
	q.Limit = min(max(q.Limit, 1), 50)
	terms := termsOf(q.Text)
	if len(terms) == 0 {
		return nil, ErrNoWords
	}
	ctx, cancel := context.WithTimeout(ctx, longestFind)
	defer cancel()
	x.refresh(ctx)
	x.mu.Lock()
	folders := make(map[int64]*folder)
	for _, f := range x.folders {
		folders[f.id] = f
	}
	x.mu.Unlock()
	s := &finding{x: x, q: q, closed: x.opts.Closed, terms: terms, folders: folders, files: make(map[int64]*found)}
	if err := s.search(ctx); err != nil {
		return nil, err
	}
	return s.hits(ctx)
}

// longestFind bounds a search: it serves one of many.
const longestFind = 10 * time.Second

// refreshWait is how long a search waits at most for a look at what changed.
const refreshWait = time.Second

// refresh has the folders looked through first, where the system doesn't tell of changes.
func (x *Index) refresh(ctx context.Context) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.blind.Load() || x.round == 0 || time.Since(x.last) < refreshWait {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, refreshWait)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.scans.Broadcast()
	})()
	x.poke()
	for round := x.round; x.round == round && ctx.Err() == nil; {
		x.scans.Wait()
	}
}

// term is one thing that is looked for: an FTS5 expression, and the words that show it in a passage.
type term struct {
	match string
	words []string
	// weak words say little of what is meant.
	weak bool
}

// mostTerms bounds a query.
const mostTerms = 16

// termsOf reads a query.
func termsOf(text string) []term {
	if r := []rune(text); len(r) > 1000 {
		text = string(r[:1000])
	}
	var list []term
	for i, part := range strings.Split(strings.NewReplacer("“", `"`, "”", `"`).Replace(text), `"`) {
		quoted := i%2 == 1
		if quoted {
			list = append(list, termOf(part, true)...)
			continue
		}
		for word := range strings.FieldsSeq(part) {
			list = append(list, termOf(word, false)...)
		}
	}
	seen := make(map[string]bool)
	list = slices.DeleteFunc(list, func(t term) bool {
		had := seen[t.match]
		seen[t.match] = true
		return had
	})
	if strong := slices.DeleteFunc(slices.Clone(list), func(t term) bool { return t.weak }); len(strong) > 0 {
		list = strong
	}
	return list[:min(len(list), mostTerms)]
}

// termOf gives the terms of what stands between spaces, or between quotes.
func termOf(text string, quoted bool) []term {
	var w words
	w.add([]byte(text))
	var list []term
	if all := strings.Fields(strings.ToLower(string(w.words))); len(all) > 0 {
		all = all[:min(len(all), mostTerms)]
		// What hangs together without a space (read_all, e-mail, www.example.com) is a phrase.
		list = append(list, term{match: `{name words} : "` + strings.Join(all, " ") + `"`, words: all, weak: len(all) == 1 && !quoted && weak[all[0]]})
	}
	if pairs := strings.Fields(string(w.pairs)); len(pairs) > 0 {
		pairs = pairs[:min(len(pairs), 4*mostTerms)]
		switch {
		case utf8.RuneCountInString(pairs[0]) == 1 && len(pairs) == 1:
			list = append(list, term{match: `{name pairs} : "` + pairs[0] + `" *`, words: pairs})
		case quoted || len(pairs) <= 3:
			list = append(list, term{match: `{name pairs} : "` + strings.Join(pairs, " ") + `"`, words: []string{joined(pairs)}})
		default:
			// Words without spaces between them: nobody says where one ends, so each part of three pairs is looked for.
			for i := 0; i+2 < len(pairs); i += 2 {
				three := pairs[i : i+3]
				if i+4 >= len(pairs) {
					three = pairs[len(pairs)-3:]
				}
				list = append(list, term{match: `{name pairs} : "` + strings.Join(three, " ") + `"`, words: []string{joined(three)}})
			}
		}
	}
	return list
}

// joined turns pairs of neighbours back into the text.
func joined(pairs []string) string {
	text := []rune(pairs[0])
	for _, p := range pairs[1:] {
		r := []rune(p)
		text = append(text, r[len(r)-1])
	}
	return string(text)
}

// weak are the English words that questions are made of.
var weak = func() map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(`a about all also am an and any are as at be been but by can could did do does for from get give had has have how i if in into is it its
		know like many me more most much must my not of on one or our should show so some such tell that the their them then there these they this those to use used using
		was way we were what when where which who whom whose why will with would you your`) {
		m[w] = true
	}
	return m
}()

// expressions gives what is asked of FTS5, one after the other until there are enough files: all terms in a passage, all but
// one, any.
func expressions(terms []term) []string {
	all := make([]string, len(terms))
	for i, t := range terms {
		all[i] = "(" + t.match + ")"
	}
	list := []string{strings.Join(all, " AND ")}
	if len(all) == 1 {
		return list
	}
	if len(all) > 2 && len(all) <= 8 {
		var some []string
		for i := range all {
			some = append(some, "("+strings.Join(slices.Delete(slices.Clone(all), i, i+1), " AND ")+")")
		}
		list = append(list, strings.Join(some, " OR "))
	}
	return append(list, strings.Join(all, " OR "))
}

// finding is a search under way.
type finding struct {
	x       *Index
	q       Query
	closed  func(path string) bool
	terms   []term
	folders map[int64]*folder
	files   map[int64]*found
	tops    map[*folder]*os.File // opened once
}

// found is a file that fits, or (fits is false) doesn't.
type found struct {
	id, size, mtime, inode int64
	folder                 *folder
	path, kind             string
	fits                   bool
	passages               map[int64]float64 // by their number: how well each fits
}

func (s *finding) fitting() (n int) {
	for _, f := range s.files {
		if f.fits {
			n++
		}
	}
	return n
}

// How many passages FTS5 is asked for: at first, and at most, if the first are of files that don't fit.
const (
	firstPassages = 300
	mostPassages  = 20000
)

// common is in how many passages a term stands at least that says too little to rank by: FTS5 would go through all of them.
const common = 3000

// search looks for the rarer terms, by rank; only if there are none for all that are common, in no order. How many terms a
// passage really holds is counted later, in its text.
func (s *finding) search(ctx context.Context) error {
	var rare []term
	for _, t := range s.terms {
		var n int
		err := s.x.read.QueryRowContext(ctx, "select count(*) from (select 1 from entry where entry match ? limit ?)", t.match, common).Scan(&n)
		if err != nil {
			return fmt.Errorf("searching: %w", err)
		}
		if n > 0 && n < common {
			rare = append(rare, t)
		}
	}
	ranked := len(rare) > 0
	if !ranked {
		rare = s.terms
	}
	for _, match := range expressions(rare) {
		for limit := firstPassages; limit <= mostPassages; limit *= 8 {
			n, err := s.ask(ctx, match, ranked, limit)
			if err != nil {
				return err
			}
			if s.fitting() >= s.q.Limit {
				return nil
			}
			if n < limit {
				break
			}
		}
	}
	return nil
}

func (s *finding) ask(ctx context.Context, match string, ranked bool, limit int) (n int, err error) {
	rank, order := "-e.rank", "and rank match 'bm25(1.0, 6.0, 1.0)' order by rank"
	if !ranked {
		rank, order = "1", ""
	}
	query := "select e.rowid, " + rank + ", f.id, f.folder, f.path, f.size, f.mtime, f.inode, f.kind from entry e join passage p on p.id = e.rowid join file f on f.id = p.file where entry match ? " + order + " limit ?"
	rows, err := s.x.read.QueryContext(ctx, query, match, limit)
	if err != nil {
		return 0, fmt.Errorf("searching: %w", err)
	}
	defer rows.Close()
	for ; rows.Next(); n++ {
		var passage, folder int64
		var rank float64
		var f found
		if err := rows.Scan(&passage, &rank, &f.id, &folder, &f.path, &f.size, &f.mtime, &f.inode, &f.kind); err != nil {
			return 0, fmt.Errorf("searching: %w", err)
		}
		had := s.files[f.id]
		if had == nil {
			f.folder, f.passages = s.folders[folder], make(map[int64]float64)
			f.fits = f.folder != nil && s.fits(&f)
			had = &f
			s.files[f.id] = had
		}
		if _, again := had.passages[passage]; had.fits && !again {
			had.passages[passage] = rank
		}
	}
	if err := rows.Err(); err != nil {
		return 0, fmt.Errorf("searching: %w", err)
	}
	return n, nil
}

func (s *finding) fits(f *found) bool {
	path := f.absolute()
	modified := time.Unix(0, f.mtime)
	switch {
	case s.q.Folder != "" && s.q.Folder != path && !within(filepath.Clean(s.q.Folder), path):
		return false
	case len(s.q.Kinds) > 0 && !slices.Contains(s.q.Kinds, strings.ToLower(strings.TrimPrefix(filepath.Ext(path), "."))):
		return false
	case !s.q.After.IsZero() && modified.Before(s.q.After), !s.q.Before.IsZero() && modified.After(s.q.Before):
		return false
	}
	return !s.closed(path) && s.q.Readable(path)
}

func (f *found) absolute() string { return filepath.Join(f.folder.path, f.path) }

// candidates is how many files are opened for one that is given at most.
const candidates = 6

// hits reads the passages of the best files and orders them by what stands there. FTS5 weighs words by all files, also by those
// that this client may not read: its rank only chooses which passages are read, and is in no score and no order that is given.
func (s *finding) hits(ctx context.Context) ([]Hit, error) {
	s.tops = make(map[*folder]*os.File)
	defer func() {
		for _, top := range s.tops {
			top.Close()
		}
	}()
	var list []*found
	for _, f := range s.files {
		if f.fits {
			list = append(list, f)
		}
	}
	slices.SortFunc(list, func(a, b *found) int { return cmp.Or(cmp.Compare(b.best(), a.best()), cmp.Compare(a.id, b.id)) })
	var all []*weighed
	stale := false
	for _, f := range list[:min(len(list), candidates*s.q.Limit)] {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h, ok, err := s.hit(ctx, f)
		if err != nil {
			return nil, err
		}
		if stale = stale || !ok; ok {
			all = append(all, h)
		}
	}
	if stale {
		s.x.poke()
	}
	return s.order(all), nil
}

// order gives the best.
func (s *finding) order(all []*weighed) []Hit {
	s.weigh(all)
	slices.SortFunc(all, func(a, b *weighed) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Path, b.Path)) })
	hits := []Hit{}
	for _, w := range all[:min(len(all), s.q.Limit)] {
		hits = append(hits, w.Hit)
	}
	return hits
}

// weighed is a hit, and what its score is made of.
type weighed struct {
	Hit
	passages []tally
	named    []bool // by term: it stands in the path
	most     int    // how many terms stand in what is shown; -1: nothing is
}

// tally is in how many lines of a passage each term stands, and how long the passage is.
type tally struct {
	lines []int
	bytes int
}

// weigh gives the scores: Okapi BM25 over the passages that were read, and for terms in the path, the more of the terms a file
// has the more.
func (s *finding) weigh(all []*weighed) {
	n, total := 0, 0
	holding := make([]int, len(s.terms))
	for _, w := range all {
		for _, p := range w.passages {
			n++
			total += p.bytes
			for j, lines := range p.lines {
				if lines > 0 {
					holding[j]++
				}
			}
		}
	}
	mean := float64(total) / float64(max(n, 1))
	rarity := make([]float64, len(s.terms))
	for j, h := range holding {
		rarity[j] = math.Log(1 + (float64(n-h)+0.5)/(float64(h)+0.5))
	}
	const saturation, length, inName = 1.2, 0.75, 2.0
	for _, w := range all {
		best := 0.0
		has := make([]bool, len(s.terms))
		for _, p := range w.passages {
			score := 0.0
			for j, lines := range p.lines {
				has[j] = has[j] || lines > 0
				f := float64(lines)
				score += rarity[j] * f * (saturation + 1) / (f + saturation*(1-length+length*float64(p.bytes)/max(mean, 1)))
			}
			best = max(best, score)
		}
		covered := 0
		for j, named := range w.named {
			if named {
				best += inName * rarity[j]
			}
			if named || has[j] {
				covered++
			}
		}
		w.Score = math.Round(100*best*(0.3+float64(covered)/float64(len(s.terms)))) / 100
	}
}

func (f *found) best() (best float64) {
	for _, rank := range f.passages {
		best = max(best, rank)
	}
	return best
}

// passagesRead is how many passages of a file are read.
const passagesRead = 3

// hit reads the best passages of a file; ok is false if it isn't any more the file that was read for the index.
func (s *finding) hit(ctx context.Context, f *found) (h *weighed, ok bool, err error) {
	top := s.tops[f.folder]
	if top == nil {
		if top, err = f.folder.open(); err != nil {
			return h, false, nil
		}
		s.tops[f.folder] = top
	}
	file, err := openRegular(top, f.path)
	if err != nil {
		return h, false, nil
	}
	defer file.Close()
	is, err := factsOf(file)
	if err != nil || is.size != f.size || is.mtime != f.mtime || is.inode != f.inode {
		return h, false, nil
	}
	h = s.weighed(f, is.mtime)
	var ids []int64
	for id := range f.passages {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b int64) int { return cmp.Or(cmp.Compare(f.passages[b], f.passages[a]), cmp.Compare(a, b)) })
	text, err := s.reader(ctx, f, file, is.size)
	if err != nil {
		return h, false, err
	}
	for _, id := range ids[:min(len(ids), passagesRead)] {
		p, err := text(id)
		if err != nil {
			return h, false, err
		}
		s.take(h, p)
	}
	return h, true, nil
}

// weighed begins what is known of a file with its name.
func (s *finding) weighed(f *found, modified int64) *weighed {
	h := &weighed{Hit: Hit{Path: f.absolute(), Modified: time.Unix(0, modified)}, most: -1}
	name := plainWords([]byte(f.path))
	for _, t := range s.terms {
		h.named = append(h.named, t.stands(name, name))
	}
	return h
}

// take counts a passage, and shows it if more terms stand together there than in those before.
func (s *finding) take(h *weighed, p shown) {
	snippet, line, n, count := s.snippet(p)
	h.passages = append(h.passages, count)
	if n > h.most {
		h.most, h.Text, h.Around = n, snippet, string(p.before)+string(p.text)
		if h.Page, h.Line = p.page, 0; p.page == 0 && n > 0 {
			h.Line = p.line + line
		}
	}
}

// shown is a passage as it was read.
type shown struct {
	before, text []byte
	line, page   int
}

// beforeBytes is how much of what stands before a passage is looked at for secrets: more than the longest key.
const beforeBytes = 8 << 10

// reader gives a function that reads a passage of an opened file, or of the document's text that is kept.
func (s *finding) reader(ctx context.Context, f *found, file *os.File, size int64) (func(id int64) (shown, error), error) {
	var pages []byte
	var raw []byte
	if f.kind != "" {
		var packed []byte
		err := s.x.read.QueryRowContext(ctx, "select pages from document where id = ?", f.id).Scan(&packed)
		if err == nil {
			var list []Page
			if list, err = unpack(packed); err == nil {
				for _, p := range list {
					pages = append(pages, p.Text...)
				}
			}
		} else if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the search index: %w", err)
		}
	}
	return func(id int64) (shown, error) {
		var at, line, next int
		err := s.x.passage.QueryRowContext(ctx, id).Scan(&at, &line, &next)
		if errors.Is(err, sql.ErrNoRows) {
			return shown{}, nil
		}
		if err != nil {
			return shown{}, fmt.Errorf("reading the search index: %w", err)
		}
		if f.kind != "" {
			if at = min(at, len(pages)); next < at || next > len(pages) {
				next = min(len(pages), at+most)
			}
			return shown{pages[max(0, at-beforeBytes):at], pages[at:next], line, line}, nil
		}
		if next < at {
			next = at + most
		}
		// The passage stands there as it is, unless the file's encoding is another.
		var head [4]byte
		if _, err := file.ReadAt(head[:], 0); err != nil && err != io.EOF {
			return shown{}, nil
		}
		start := max(0, at-beforeBytes)
		whole := make([]byte, max(0, min(int64(next), size)-int64(start)))
		if n, err := file.ReadAt(whole, int64(start)); err != nil && err != io.EOF {
			return shown{}, nil
		} else {
			whole = whole[:n]
		}
		before, part := whole[:min(at-start, len(whole))], whole[min(at-start, len(whole)):]
		if utf8.Valid(part) && bytes.IndexByte(part, 0) < 0 && !bytes.HasPrefix(head[:], []byte{0xEF, 0xBB, 0xBF}) {
			return shown{before, part, line, 0}, nil
		}
		if raw == nil {
			whole, err := io.ReadAll(io.NewSectionReader(file, 0, min(size, maxText)))
			if err != nil {
				return shown{}, nil
			}
			raw, _ = decode(whole)
		}
		at = min(at, len(raw))
		return shown{raw[max(0, at-beforeBytes):at], raw[at:min(len(raw), next)], line, 0}, nil
	}, nil
}

// plainWords gives a text's words and pairs with a space on both sides of each.
func plainWords(text []byte) string {
	w := words{split: true}
	w.add(text)
	return " " + strings.ToLower(string(w.words)) + " " + string(w.pairs)
}

// stands reports whether a term is in a line or a path that plainWords made ready: by the beginnings of its words, since FTS5
// looks for stems.
func (t term) stands(plain string, text string) bool {
	for _, w := range t.words {
		if w[0] >= utf8.RuneSelf && strings.Contains(text, w) {
			continue
		}
		if len(w) > 5 {
			w = w[:len(w)-2]
		}
		if !strings.Contains(plain, " "+w) {
			return false
		}
	}
	return true
}

// The size of a snippet.
const (
	snippetLines = 4
	snippetBytes = 600
)

// snippet gives the lines of a passage in which most terms stand, which line of the passage they begin with, and how many terms
// stand there; and the count of the whole passage.
func (s *finding) snippet(p shown) (text string, first, most int, count tally) {
	count = tally{make([]int, len(s.terms)), len(p.text)}
	lines := strings.Split(strings.TrimSuffix(string(p.text), "\n"), "\n")
	in := make([][]bool, len(lines))
	for i, l := range lines {
		plain := plainWords([]byte(l))
		folded := strings.ToLower(l)
		in[i] = make([]bool, len(s.terms))
		for j, t := range s.terms {
			if in[i][j] = t.stands(plain, folded); in[i][j] {
				count.lines[j]++
			}
		}
	}
	for i := range lines {
		n := 0
		for j := range s.terms {
			for k := i; k < min(len(lines), i+snippetLines); k++ {
				if in[k][j] {
					n++
					break
				}
			}
		}
		if n > most && slices.Contains(in[i], true) {
			first, most = i, n
		}
	}
	var b strings.Builder
	for _, l := range lines[first:min(len(lines), first+snippetLines)] {
		l = strings.ToValidUTF8(strings.TrimRight(l, " \t\r"), "")
		if b.Len()+len(l) > snippetBytes {
			l = around(l, s.terms, snippetBytes-b.Len())
		}
		if b.WriteString(l); b.Len() >= snippetBytes {
			break
		}
		b.WriteByte('\n')
	}
	return strings.Trim(b.String(), "\n"), first, most, count
}

// around cuts a long line to so many bytes around the first term in it.
func around(line string, terms []term, room int) string {
	if room < 40 {
		return ""
	}
	at := len(line)
	folded := strings.ToLower(line)
	for _, t := range terms {
		for _, w := range t.words {
			if i := strings.Index(folded, w); i >= 0 && i < at {
				at = i
			}
		}
	}
	if at == len(line) || len(folded) != len(line) {
		at = 0
	}
	start := max(0, min(at-room/3, len(line)-room+6))
	for start > 0 && !utf8.RuneStart(line[start]) {
		start--
	}
	end := min(len(line), start+room-6)
	for end < len(line) && !utf8.RuneStart(line[end]) {
		end--
	}
	text := line[start:end]
	if start > 0 {
		text = "…" + text
	}
	if end < len(line) {
		text += "…"
	}
	return text
}
