package search

import (
	"bytes"
	"cmp"
	"compress/flate"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"handrail/core/search/document"
)

// What is read at most, in bytes: of a text, and of a document.
const (
	maxText     = 32 << 20
	maxDocument = 128 << 20
	maxPassages = 1 << 16 // of a file
)

// Run keeps the index fresh until ctx is over: it looks through the folders at the start, and then reads what changes. Where
// the system doesn't tell of changes, folders are looked through again when somebody searches (refresh).
func (x *Index) Run(ctx context.Context) {
	background()
	for ctx.Err() == nil {
		select {
		case <-x.wake: // what it was for is done now
		default:
		}
		x.mu.Lock()
		folders, edition := x.folders, x.edition
		x.mu.Unlock()
		paths := make([]string, len(folders))
		for i, f := range folders {
			paths[i] = f.path
		}
		x.blind.Store(true)
		w := x.watch(paths, filepath.Join(filepath.Dir(x.opts.File), "watch"), func() { x.blind.Store(false) })
		if w.tells() {
			x.blind.Store(false)
		}
		var err error
		for _, f := range folders {
			ferr := x.scan(ctx, f, ".", w)
			if ctx.Err() != nil {
				w.close()
				return
			}
			x.mu.Lock()
			f.err = ferr
			x.mu.Unlock()
		}
		if err = w.err(); err != nil {
			x.blind.Store(true)
		}
		err = cmp.Or(err, x.merge(ctx))
		x.mu.Lock()
		x.covered = edition
		x.mu.Unlock()
		x.ended()
		x.say(err)
		x.follow(ctx, w, folders)
		w.close()
	}
}

// ended says that a round of reading is over.
func (x *Index) ended() {
	x.waiting.Store(0)
	x.mu.Lock()
	x.round++
	x.last = time.Now()
	x.scans.Broadcast()
	x.mu.Unlock()
	x.opts.Changed()
}

// The index is put together anew, which makes it smaller and faster, when so many files were read since the last time, and so
// large a part of all: it takes as long as the whole index is large.
const (
	manyFiles = 1000
	largePart = 10 // a tenth
)

// mergePages is how many pages of the database one step of a merge writes, about.
const mergePages = 2000

func (x *Index) merge(ctx context.Context) error {
	if x.written < max(manyFiles, int(x.files.Load()/largePart)) {
		return nil
	}
	x.written = 0
	c, err := x.write.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	changes := func() (n int64) {
		if err == nil {
			err = c.QueryRowContext(ctx, "select total_changes()").Scan(&n)
		}
		return n
	}
	// A number below zero begins a merge of all; a step that changes less than two rows had nothing to do (sqlite.org/fts5.html).
	for step, before := -mergePages, changes(); err == nil; step = mergePages {
		_, err = c.ExecContext(ctx, "insert into entry(entry, rank) values('merge', ?)", step)
		after := changes()
		if after-before < 2 {
			break
		}
		before = after
	}
	if err == nil {
		// It frees a page for each row that is read.
		var rows *sql.Rows
		if rows, err = c.QueryContext(ctx, "pragma incremental_vacuum"); err == nil {
			for rows.Next() {
			}
			err = errors.Join(rows.Err(), rows.Close())
		}
	}
	if err != nil {
		return fmt.Errorf("merging the search index: %w", err)
	}
	return nil
}

// settle is how long a file must be left alone before it is read again.
const settle = 300 * time.Millisecond

// follow reads what changes until the folders have to be looked through again.
func (x *Index) follow(ctx context.Context, w watcher, folders []*folder) {
	dirty := make(map[string]bool)
	var due <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-x.wake:
			return
		case name, ok := <-w.changes():
			if !ok {
				return // some were lost
			}
			dirty[name] = true
			if due == nil {
				due = time.After(settle)
			}
		case <-due:
			due = nil
			for name := range dirty {
				for _, f := range folders {
					if rel, err := filepath.Rel(f.path, name); err == nil && filepath.IsLocal(rel) {
						if err := x.scan(ctx, f, rel, w); err != nil && ctx.Err() == nil {
							x.say(err)
						}
					}
				}
			}
			clear(dirty)
			x.ended()
		}
	}
}

// known is what the index knows of a file.
type known struct {
	id, size, mtime, inode int64
}

// scan brings the index up to date with what is at rel in a folder: a file, or a folder with all in it.
func (x *Index) scan(ctx context.Context, f *folder, rel string, w watcher) error {
	top, err := f.open()
	if err != nil {
		// It may be on a disk that isn't there now: what is known of it stays, and gives no hit meanwhile.
		return fmt.Errorf("opening %s: %w", f.path, err)
	}
	defer top.Close()
	had, err := x.known(f, rel)
	if err != nil {
		return err
	}
	// One goroutine reads and one writes.
	b := &batch{x: x}
	rows, done := make(chan row, 2), make(chan error, 1)
	go func() {
		background()
		err := b.write(rows)
		for range rows { // so that the reader isn't left waiting
		}
		done <- err
	}()
	if parent, perr := openFolder(top, filepath.Dir(rel)); perr == nil {
		err = x.walk(ctx, parent, f, rel, w, had, rows)
		parent.Close()
	} // else nothing is there any more
	if err == nil {
		for _, k := range had {
			rows <- row{replaces: k.id, gone: true}
		}
	}
	close(rows)
	err = cmp.Or(<-done, err)
	x.written += b.files
	return err
}

// known gives the files that the index knows at rel and below it, by their paths in the folder.
func (x *Index) known(f *folder, rel string) (map[string]known, error) {
	rows, err := x.read.Query("select path, id, size, mtime, inode from file where folder = ? and (? = '.' or path = ? or substr(path, 1, ?) = ?)",
		f.id, rel, rel, len([]rune(rel))+1, rel+"/")
	if err != nil {
		return nil, fmt.Errorf("reading the search index: %w", err)
	}
	defer rows.Close()
	had := make(map[string]known)
	for rows.Next() {
		var name string
		var k known
		if err := rows.Scan(&name, &k.id, &k.size, &k.mtime, &k.inode); err != nil {
			return nil, err
		}
		had[name] = k
	}
	return had, rows.Err()
}

// facts are what is known of a name in a folder.
type facts struct {
	regular, folder            bool
	size, mtime, inode, device int64
}

// open opens the folder, if it is the one that was chosen.
func (f *folder) open() (*os.File, error) {
	top, err := openTop(f.path)
	if err != nil {
		return nil, err
	}
	is, err := statAt(top, ".")
	if err == nil && (is.device != f.device || is.inode != f.inode) {
		err = errors.New("another folder is in its place")
	}
	if err != nil {
		return nil, errors.Join(err, top.Close())
	}
	return top, nil
}

// walk goes through rel, whose last name stands in dir. It takes what it finds out of had.
func (x *Index) walk(ctx context.Context, dir *os.File, f *folder, rel string, w watcher, had map[string]known, rows chan<- row) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if rel != "." && !wanted(x.opts.Closed, f, rel) {
		return nil
	}
	is, err := statAt(dir, path.Base(rel))
	switch {
	case err != nil:
		return nil // it can't be looked at, so it isn't found
	case is.regular:
		return x.file(ctx, dir, f, rel, is, had, rows)
	case !is.folder:
		return nil
	}
	here, err := openFolder(dir, path.Base(rel))
	if err != nil {
		return nil
	}
	defer here.Close()
	w.add(filepath.Join(f.path, rel)) // before the listing, so that nothing that comes after it is missed
	for {
		entries, err := here.ReadDir(512)
		for _, e := range entries {
			if t := e.Type(); !t.IsRegular() && !t.IsDir() {
				continue
			}
			if err := x.walk(ctx, here, f, path.Join(rel, e.Name()), w, had, rows); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}

// wanted reports whether a file or folder belongs into the index, by its name.
func wanted(closed func(path string) bool, f *folder, rel string) bool {
	for part := range strings.SplitSeq(rel, "/") {
		if strings.HasPrefix(part, ".") || part == "node_modules" || part == "__pycache__" {
			return false
		}
	}
	return !closed(filepath.Join(f.path, rel))
}

// file reads a file if it has changed.
func (x *Index) file(ctx context.Context, dir *os.File, f *folder, rel string, is facts, had map[string]known, rows chan<- row) error {
	k, old := had[rel]
	delete(had, rel)
	if old && k.size == is.size && k.mtime == is.mtime && k.inode == is.inode {
		return nil
	}
	x.waiting.Add(1)
	defer x.waiting.Add(-1)
	for x.opts.Rest() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Minute):
		}
	}
	kind := document.Kind(rel)
	limit := int64(maxText)
	if kind != "" {
		limit = maxDocument
	}
	r := row{folder: f.id, path: rel, kind: kind}
	if old {
		r.replaces = k.id
	}
	r.gone = true
	file, err := openRegular(dir, path.Base(rel))
	if err != nil {
		rows <- r
		return nil
	}
	defer file.Close()
	if is, err = factsOf(file); err != nil || is.size > limit {
		rows <- r
		return nil
	}
	r.size, r.mtime, r.inode = is.size, is.mtime, is.inode
	if kind == "" {
		raw, err := io.ReadAll(io.LimitReader(file, limit))
		if err != nil {
			rows <- r
			return nil
		}
		if text, ok := decode(raw); ok {
			r.bytes = int64(len(text))
			r.prepare(passages(text))
		}
	} else if x.opts.Extract != nil {
		pages, err := x.opts.Extract(ctx, kind, file)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil { // else it is kept as read, and not tried again until it changes
			r.pages = pages
			r.prepare(ofPages(pages))
			for _, p := range pages {
				r.bytes += int64(len(p.Text))
			}
		}
	}
	if len(r.parts) == 0 {
		r.prepare([]passage{{line: 1}}) // so that it is found by its name
	}
	r.gone = false
	rows <- r
	return nil
}

func ids(id int64) []int64 {
	if id == 0 {
		return nil
	}
	return []int64{id}
}

// row is what the index is told of a file.
type row struct {
	folder, size, mtime, inode, bytes int64
	path, kind                        string
	names                             []byte
	parts                             []part
	pages                             []Page
	replaces                          int64 // the file's number so far, or 0
	gone                              bool  // it isn't there, or isn't to be read, any more
}

// part is a passage made ready.
type part struct {
	at, line, size int
	words, pairs   []byte
}

func (r *row) prepare(list []passage) {
	w := words{split: true}
	w.add([]byte(r.path))
	r.names = append(append(bytes.Clone(w.words), ' '), w.pairs...)
	for _, p := range list[:min(len(list), maxPassages)] {
		w.reset()
		w.add(p.text)
		r.parts = append(r.parts, part{p.at, p.line, len(p.text), bytes.Clone(w.words), bytes.Clone(w.pairs)})
	}
}

// batch gathers changes in one transaction, for a commit costs more than a small file.
type batch struct {
	x     *Index
	tx    *sql.Tx
	words *sql.Stmt
	parts *sql.Stmt
	next  int64 // the number of the next passage; they are not used again, so that numbers lie close together
	bytes int
	files int
	since time.Time
}

// A batch is committed when it holds so much text or is so old.
const (
	batchBytes = 96 << 20
	batchAge   = 10 * time.Second
	batchWait  = 500 * time.Millisecond // without a new one
)

// write takes rows in until there are no more.
func (b *batch) write(rows <-chan row) error {
	defer b.rollback()
	for {
		var r row
		more := true
		select {
		case r, more = <-rows:
		case <-time.After(batchWait): // others wait for the database
			if err := b.commit(); err != nil {
				return err
			}
			r, more = <-rows
		}
		var err error
		switch {
		case !more:
			return b.commit()
		case r.gone:
			err = b.forget(ids(r.replaces))
		default:
			err = b.put(r)
		}
		if err != nil {
			return err
		}
	}
}

func (b *batch) begin() (err error) {
	if b.tx != nil {
		return nil
	}
	if b.tx, err = b.x.write.Begin(); err != nil {
		return fmt.Errorf("writing the search index: %w", err)
	}
	b.since = time.Now()
	b.words, err = b.tx.Prepare("insert into entry(rowid, name, words, pairs) values(?, ?, ?, ?)")
	if err == nil {
		b.parts, err = b.tx.Prepare("insert into passage(id, file, at, line) values(?, ?, ?, ?)")
	}
	if err == nil {
		err = b.tx.QueryRow("select coalesce(max(id), 0) + 1 from passage").Scan(&b.next)
	}
	return err
}

func (b *batch) put(r row) error {
	if err := b.begin(); err != nil {
		return err
	}
	if err := forget(b.tx, ids(r.replaces)); err != nil {
		return err
	}
	res, err := b.tx.Exec("insert into file(folder, path, size, mtime, inode, bytes, kind, first, passages) values(?, ?, ?, ?, ?, ?, ?, ?, ?)",
		r.folder, r.path, r.size, r.mtime, r.inode, r.bytes, r.kind, b.next, len(r.parts))
	if err != nil {
		return fmt.Errorf("writing the search index: %w", err)
	}
	id, err := res.LastInsertId()
	if err != nil {
		return err
	}
	if len(r.pages) > 0 {
		packed, err := pack(r.pages)
		if err == nil {
			_, err = b.tx.Exec("insert into document(id, pages) values(?, ?)", id, packed)
		}
		if err != nil {
			return fmt.Errorf("writing the search index: %w", err)
		}
	}
	for _, p := range r.parts {
		if _, err := b.words.Exec(b.next, r.names, p.words, p.pairs); err != nil {
			return fmt.Errorf("writing the search index: %w", err)
		}
		if _, err := b.parts.Exec(b.next, id, p.at, p.line); err != nil {
			return fmt.Errorf("writing the search index: %w", err)
		}
		b.next++
		b.bytes += p.size
	}
	b.files++
	return b.due()
}

func (b *batch) forget(ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	if err := b.begin(); err != nil {
		return err
	}
	if err := forget(b.tx, ids); err != nil {
		return err
	}
	return b.due()
}

func (b *batch) due() error {
	if b.bytes < batchBytes && time.Since(b.since) < batchAge {
		return nil
	}
	return b.commit()
}

func (b *batch) commit() error {
	if b.tx == nil {
		return nil
	}
	err := b.tx.Commit()
	b.tx, b.bytes = nil, 0
	if err == nil {
		err = b.x.count()
	}
	b.x.opts.Changed()
	if err != nil {
		return fmt.Errorf("writing the search index: %w", err)
	}
	return nil
}

func (b *batch) rollback() {
	if b.tx != nil {
		_ = b.tx.Rollback()
		_ = b.x.count()
	}
}

func fileIDs(tx *sql.Tx, query string, args ...any) ([]int64, error) {
	rows, err := tx.Query(query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// forget takes files out of the index.
func forget(tx *sql.Tx, ids []int64) error {
	for _, id := range ids {
		var first, passages int64
		err := tx.QueryRow("select first, passages from file where id = ?", id).Scan(&first, &passages)
		for _, q := range []string{"delete from entry where rowid >= ?1 and rowid < ?2", "delete from passage where id >= ?1 and id < ?2", "delete from document where id = ?3",
			"delete from file where id = ?3"} {
			if err == nil {
				_, err = tx.Exec(q, first, first+passages, id)
			}
		}
		if err != nil {
			return fmt.Errorf("taking a file out of the search index: %w", err)
		}
	}
	return nil
}

func pack(pages []Page) ([]byte, error) {
	var b bytes.Buffer
	z, err := flate.NewWriter(&b, flate.DefaultCompression)
	if err != nil {
		return nil, err
	}
	err = errors.Join(json.NewEncoder(z).Encode(pages), z.Close())
	return b.Bytes(), err
}

func unpack(packed []byte) (pages []Page, err error) {
	err = json.NewDecoder(flate.NewReader(bytes.NewReader(packed))).Decode(&pages)
	return pages, err
}
