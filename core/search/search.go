// Package search is the local index behind rag_search: it finds files by what is in them.
//
//	x, err := search.Open(search.Options{File: ".../search.db", Closed: closed, Extract: extract})
//	x.SetFolders([]string{"/home/me/Documents"})
//	go x.Run(ctx)                            // reads what changed, again and again, until ctx is over
//	hits, err := x.Find(ctx, search.Query{Text: "when does the lease end", Readable: readable})
//
// The index covers the folders that the person chose; there are none at first. It holds words and their places, not the
// files: a passage that is shown is read from the file, which must still be the one that was read for the index. Only the
// text of documents (PDF, DOCX …) is kept, compressed, since getting it out takes long.
//
// # How it is kept
//
// A file is cut into passages of some kilobytes. A passage is a row of an FTS5 table without content; three columns hold the words of the file's path, the words of the text, and, for
// writing without spaces between words (Thai, Chinese, Japanese …), each pair of neighbouring characters.
//
// # What it doesn't do
//
// It says nothing of who may see what: a caller passes a function that decides for each file, and gets no hit and no
// count of others. It follows no symbolic link, sees what another computer changes on a network volume only when it starts, leaves out hidden files and folders, and what Options.Closed names.
package search

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite" // the database driver "sqlite"

	"handrail/core/search/document"
)

// Page is a part of a document's text: a page, a sheet, a slide or a chapter, counted from 1.
type Page = document.Page

// Options say what an Index works with.
type Options struct {
	// File is the database; its folder must exist and be the caller's alone.
	File string
	// Closed reports whether a file or folder is never read for the index. Nil closes everything.
	Closed func(path string) bool
	// Extract gets the text out of a document of a kind that package document names. Nil: documents are left out.
	Extract func(ctx context.Context, kind string, in io.Reader) ([]Page, error)
	// Rest reports whether indexing should wait now, because the computer runs on its battery. Nil never waits.
	Rest func() bool
	// Changed is called, on any goroutine, when Status has changed. It may be nil.
	Changed func()
}

// Index is an index on disk. Make one with Open; its methods may be called at once.
type Index struct {
	opts  Options
	write *sql.DB // one connection
	read  *sql.DB
	// passage gives where a passage begins, by its number: its byte, its line and the next one's byte.
	passage *sql.Stmt
	wake    chan struct{}
	watch   watches

	mu      sync.Mutex // guards folders, and roots of folders
	folders []*folder
	edition int // counts SetFolders
	covered int // the edition whose folders have been read once

	files, bytes, waiting atomic.Int64
	blind                 atomic.Bool // the system doesn't tell of changes
	trouble               atomic.Pointer[string]

	written int // files since the last merge; of Run's goroutine

	scans *sync.Cond // on mu: a round of reading has ended; round counts them
	round int
	last  time.Time // when it ended
}

// folder is a folder that the person chose.
type folder struct {
	path          string // without links
	device, inode int64
	id            int64
	err           error // why it can't be read
}

// Status is what the app shows of an index.
type Status struct {
	Folders []FolderStatus
	Files   int64
	Bytes   int64 // of text
	// Waiting are files that were found and aren't read yet.
	Waiting int64
	// Busy says that the folders aren't all read yet since Open or SetFolders.
	Busy bool
	// Trouble says what doesn't work; empty when all is well.
	Trouble string
}

// FolderStatus is a folder of an index and why it can't be read, if so.
type FolderStatus struct {
	Path string
	Err  string
}

const schema = `
create table if not exists folder(id integer primary key, path text not null unique);
create table if not exists file(id integer primary key, folder integer not null, path text not null, size integer not null, mtime integer not null,
	inode integer not null, bytes integer not null, kind text not null, first integer not null, passages integer not null, unique(folder, path));
create table if not exists passage(id integer primary key, file integer not null, at integer not null, line integer not null);
create table if not exists document(id integer primary key, pages blob not null);
create virtual table if not exists entry using fts5(words, name, pairs, content='', contentless_delete=1, tokenize="porter ascii");
insert into entry(entry, rank) values('hashsize', 67108864);
insert into entry(entry, rank) values('automerge', 8);
insert into entry(entry, rank) values('crisismerge', 32);
insert into entry(entry, rank) values('usermerge', 2);
pragma user_version = 1;`

// version is that of schema; a database of another one is made anew.
const version = 1

// Open opens an index, or makes it. A database that is damaged or of another version is thrown away: it can be made again.
func Open(o Options) (*Index, error) {
	if o.Closed == nil {
		o.Closed = func(string) bool { return true }
	}
	if o.Rest == nil {
		o.Rest = func() bool { return false }
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	x := &Index{opts: o, wake: make(chan struct{}, 1), watch: newWatch}
	x.scans = sync.NewCond(&x.mu)
	if err := x.open(); err != nil {
		for _, end := range []string{"", "-wal", "-shm"} {
			if err := os.Remove(o.File + end); err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, fmt.Errorf("removing the damaged search index: %w", err)
			}
		}
		if err := x.open(); err != nil {
			return nil, err
		}
	}
	return x, nil
}

func (x *Index) open() (err error) {
	f, err := os.OpenFile(x.opts.File, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("opening the search index: %w", err)
	}
	if err := f.Close(); err != nil {
		return err
	}
	name := (&url.URL{Scheme: "file", Path: x.opts.File}).String()
	pragmas := "?_pragma=busy_timeout(5000)&_pragma=secure_delete(1)&_pragma=auto_vacuum(incremental)&_pragma=journal_mode(wal)&_pragma=synchronous(normal)"
	x.write, err = sql.Open("sqlite", name+pragmas+"&_pragma=cache_size(-32768)&_txlock=immediate")
	if err != nil {
		return fmt.Errorf("opening the search index: %w", err)
	}
	x.write.SetMaxOpenConns(1)
	var v int
	if err = x.write.QueryRow("pragma user_version").Scan(&v); err == nil && v != version && v != 0 {
		err = fmt.Errorf("it is of version %d", v)
	}
	if err == nil {
		_, err = x.write.Exec(schema)
	}
	if err == nil {
		err = x.count()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("opening the search index: %w", err), x.write.Close())
	}
	x.read, err = sql.Open("sqlite", name+pragmas+"&_pragma=query_only(1)&_pragma=cache_size(-16384)")
	if err != nil {
		return errors.Join(fmt.Errorf("opening the search index: %w", err), x.write.Close())
	}
	x.read.SetMaxOpenConns(4)
	x.read.SetConnMaxIdleTime(time.Minute)
	x.passage, err = x.read.Prepare("select at, line, coalesce((select at from passage n where n.id = p.id + 1 and n.file = p.file), -1) from passage p where id = ?")
	if err != nil {
		return errors.Join(fmt.Errorf("opening the search index: %w", err), x.Close())
	}
	return nil
}

func (x *Index) count() error {
	var files, bytes int64
	err := x.write.QueryRow("select count(*), coalesce(sum(bytes), 0) from file").Scan(&files, &bytes)
	x.files.Store(files)
	x.bytes.Store(bytes)
	return err
}

// Close closes the database. Run must have ended.
func (x *Index) Close() error {
	if x.passage != nil {
		x.passage.Close()
	}
	return errors.Join(x.read.Close(), x.write.Close())
}

// SetFolders says which folders the index covers, by absolute paths without links; what it holds of others goes at once. A
// folder that can't be opened, or to which a link leads, stays in the list, and Status says why. From now on it is this folder:
// another that comes in its place isn't read.
func (x *Index) SetFolders(paths []string) error {
	var list []*folder
	for _, p := range paths {
		p = filepath.Clean(p)
		if slices.ContainsFunc(list, func(f *folder) bool { return f.path == p }) {
			continue
		}
		f := &folder{path: p}
		top, err := openTop(p)
		if err == nil {
			var is facts
			is, err = statAt(top, ".")
			f.device, f.inode = is.device, is.inode
			err = errors.Join(err, top.Close())
		}
		f.err = err
		list = append(list, f)
	}
	// A folder inside another one that was chosen is covered by it.
	list = slices.DeleteFunc(list, func(f *folder) bool {
		return slices.ContainsFunc(list, func(g *folder) bool { return f != g && within(g.path, f.path) })
	})
	tx, err := x.write.Begin()
	if err != nil {
		return fmt.Errorf("changing the folders of the search index: %w", err)
	}
	defer tx.Rollback()
	rows, err := tx.Query("select id, path from folder")
	if err != nil {
		return fmt.Errorf("changing the folders of the search index: %w", err)
	}
	had := make(map[string]int64)
	for rows.Next() {
		var id int64
		var path string
		if err := rows.Scan(&id, &path); err != nil {
			return errors.Join(err, rows.Close())
		}
		had[path] = id
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for _, f := range list {
		if f.id = had[f.path]; f.id == 0 {
			r, err := tx.Exec("insert into folder(path) values(?)", f.path)
			if err == nil {
				f.id, err = r.LastInsertId()
			}
			if err != nil {
				return fmt.Errorf("changing the folders of the search index: %w", err)
			}
		}
		delete(had, f.path)
	}
	for _, id := range had {
		ids, err := fileIDs(tx, "select id from file where folder = ?", id)
		if err == nil {
			err = forget(tx, ids)
		}
		if err == nil {
			_, err = tx.Exec("delete from folder where id = ?", id)
		}
		if err != nil {
			return fmt.Errorf("taking a folder out of the search index: %w", err)
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("changing the folders of the search index: %w", err)
	}
	x.mu.Lock()
	x.folders = list
	x.edition++
	x.mu.Unlock()
	x.poke()
	x.opts.Changed()
	return x.count()
}

// within reports whether path is inside folder; both are clean and their links are resolved.
func within(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != "." && filepath.IsLocal(rel)
}

// poke has Run look through the folders again.
func (x *Index) poke() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// Folders gives the folders that are covered.
func (x *Index) Folders() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var list []string
	for _, f := range x.folders {
		list = append(list, f.path)
	}
	return list
}

// Status gives a snapshot.
func (x *Index) Status() Status {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := Status{Files: x.files.Load(), Bytes: x.bytes.Load(), Waiting: x.waiting.Load(), Busy: x.covered != x.edition}
	for _, f := range x.folders {
		fs := FolderStatus{Path: f.path}
		if f.err != nil {
			fs.Err = f.err.Error()
		}
		s.Folders = append(s.Folders, fs)
	}
	if t := x.trouble.Load(); t != nil {
		s.Trouble = *t
	}
	return s
}

// say keeps what doesn't work, or with nil that all is well again.
func (x *Index) say(err error) {
	if err == nil {
		x.trouble.Store(nil)
	} else {
		text := err.Error()
		x.trouble.Store(&text)
	}
	x.opts.Changed()
}
