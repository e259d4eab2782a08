package core

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"handrail/core/grant"
	"handrail/core/hint"
	"handrail/core/search"
	"handrail/core/search/document"
	"handrail/core/statefile"
	"handrail/sandbox"
)

// searchSettings is what the file search.json in the state folder holds. No tool can write it.
type searchSettings struct {
	Folders []string `json:"folders"`
}

func searchFile(state string) string { return filepath.Join(state, "search.json") }

// SearchFolders gives the folders that the person chose for the search index: none, where they chose none.
func SearchFolders(state string) ([]string, error) {
	text, err := os.ReadFile(searchFile(state))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var s searchSettings
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		err = d.Decode(&s)
	}
	if err != nil {
		return nil, fmt.Errorf("reading which folders are searched: %w", err)
	}
	return s.Folders, nil
}

// AddSearchFolders adds folders to those that are searched. Links in their paths are resolved. A Handrail that runs takes note of
// it at its next search, or when it starts. Which client may see what is found there is another matter: it needs to be allowed to
// read it.
func AddSearchFolders(state string, folders ...string) error {
	return changeSearchFolders(state, func(chosen []string) ([]string, error) {
		for _, f := range folders {
			real, err := filepath.EvalSymlinks(f)
			if err != nil {
				return nil, err
			}
			if info, err := os.Stat(real); err != nil || !info.IsDir() || !filepath.IsAbs(real) {
				return nil, fmt.Errorf("%s is no folder", f)
			}
			if !slices.Contains(chosen, real) {
				chosen = append(chosen, real)
			}
		}
		return chosen, nil
	})
}

// RemoveSearchFolders takes folders out of those that are searched. What the index holds of them goes at the next search, or when
// Handrail starts.
func RemoveSearchFolders(state string, folders ...string) error {
	return changeSearchFolders(state, func(chosen []string) ([]string, error) {
		for _, f := range folders {
			real, err := filepath.EvalSymlinks(f)
			if err != nil {
				real = f // it isn't there any more
			}
			i := slices.IndexFunc(chosen, func(c string) bool { return c == f || c == real })
			if i < 0 {
				return nil, fmt.Errorf("%s is not in the list", f)
			}
			chosen = slices.Delete(chosen, i, i+1)
		}
		return chosen, nil
	})
}

func changeSearchFolders(state string, to func(chosen []string) ([]string, error)) error {
	fail := func(err error) error { return fmt.Errorf("choosing which folders are searched: %w", err) }
	if err := os.MkdirAll(state, 0o700); err != nil {
		return fail(err)
	}
	unlock, err := statefile.Lock(searchFile(state))
	if err != nil {
		return fail(err)
	}
	defer unlock()
	chosen, err := SearchFolders(state)
	if err != nil {
		return err
	}
	if chosen, err = to(chosen); err != nil {
		return fail(err)
	}
	text, err := json.MarshalIndent(searchSettings{chosen}, "", "  ")
	if err == nil {
		err = statefile.Replace(searchFile(state), append(text, '\n'))
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

// searching is the host's index: none until the person has chosen a folder.
type searching struct {
	opts     Options
	changed  func()
	patience time.Duration // with a document; 0 is extractTime

	current atomic.Pointer[search.Index] // index, for those who don't wait

	mu     sync.Mutex
	index  *search.Index
	chosen []string
	room   *room // of the extractor
	stop   context.CancelFunc
	ended  chan struct{}
	closed bool
}

// open gives the index over the folders that are chosen now; nil when there are none.
func (s *searching) open() (*search.Index, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("opening the search index: it is being closed")
	}
	folders, err := SearchFolders(s.opts.State)
	if err != nil {
		return nil, err
	}
	if s.index == nil && len(folders) == 0 {
		// What was read before isn't kept.
		return nil, os.RemoveAll(filepath.Join(s.opts.State, "search"))
	}
	if s.index != nil {
		if !slices.Equal(folders, s.chosen) {
			if err := s.index.SetFolders(folders); err != nil {
				return nil, err
			}
			s.chosen = folders
		}
		if len(folders) == 0 {
			return nil, nil
		}
		return s.index, nil
	}
	return s.index, s.begin(folders)
}

// options say how files are read, for the index and beside it.
func (s *searching) options() (search.Options, error) {
	if s.room == nil {
		r, err := newRoom(s.opts, rand.Text(), "")
		if err != nil {
			return search.Options{}, err
		}
		s.room = r
	}
	r := s.room
	decide := sandbox.Guarded(machine(s.opts, r.temp, "", nil)).CloseSensitive().Decider()
	return search.Options{
		Extract: func(ctx context.Context, kind string, in io.Reader) ([]search.Page, error) {
			return s.extract(ctx, r, kind, in)
		},
		Closed: func(path string) bool {
			_, sensitive := sandbox.Sensitive(path)
			return sensitive || decide(sandbox.Read, path).Closed
		}}, nil
}

func (s *searching) begin(folders []string) error {
	dir, err := folder(filepath.Join(s.opts.State, "search"), 0o700)
	if err != nil {
		return err
	}
	o, err := s.options()
	if err != nil {
		return err
	}
	o.File, o.Rest, o.Changed = filepath.Join(dir, "index.db"), onBattery, s.changed
	index, err := search.Open(o)
	if err != nil {
		return err
	}
	if err := index.SetFolders(folders); err != nil {
		return errors.Join(err, index.Close())
	}
	ctx, stop := context.WithCancel(context.Background())
	s.current.Store(index)
	s.index, s.chosen, s.stop, s.ended = index, folders, stop, make(chan struct{})
	go func() {
		defer close(s.ended)
		index.Run(ctx)
	}()
	return nil
}

func (s *searching) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var err error
	if s.index != nil {
		s.stop()
		<-s.ended
		err = s.index.Close()
	}
	if s.room != nil {
		s.room.remove()
	}
	return err
}

// status gives the index's; ok is false when there is none.
func (s *searching) status() (status search.Status, ok bool) {
	index := s.current.Load()
	if index == nil {
		return search.Status{}, false
	}
	status = index.Status()
	return status, len(status.Folders) > 0
}

// What the extractor may take for a document.
const (
	extractTime   = 60 * time.Second
	extractOutput = 2*document.MaxText + 1<<20
)

// extract runs `handrail extract` in a sandbox in which it reads the system, our own executable and its standard input, and writes
// nothing but its standard output: documents are files from anywhere, and what reads them is large.
func (s *searching) extract(ctx context.Context, r *room, kind string, in io.Reader) ([]search.Page, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.patience, extractTime))
	defer cancel()
	// An empty folder is its workspace.
	m := sandbox.Machine{Home: s.opts.Home, State: s.opts.State, Workspace: r.work, Temp: r.temp, Ports: s.opts.Ports, Executable: s.opts.Executable}
	id, err := grant.Identify(filepath.Dir(s.opts.Executable))
	if err != nil {
		return nil, err
	}
	policy := sandbox.ReadOnly(m).AllowRead(sandbox.Place{Path: s.opts.Executable, Device: id.Device, Inode: id.Inode, File: true})

	stdin, feed, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	read, stdout, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, stdin.Close(), feed.Close())
	}
	defer read.Close()
	p, err := sandbox.Start(policy, sandbox.Command{Argv: []string{s.opts.Executable, "extract", kind}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin", "GOMEMLIMIT=1GiB"},
		Stdin: stdin, Stdout: stdout, Processes: 64})
	_, _ = stdin.Close(), stdout.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting the extractor: %w", err), feed.Close())
	}
	stop := context.AfterFunc(ctx, func() { _ = p.Kill() })
	defer stop()
	go func() {
		_, _ = io.Copy(feed, in) // what is missing of the document is the extractor's to complain of
		_ = feed.Close()
	}()
	text, err := io.ReadAll(io.LimitReader(read, extractOutput+1))
	if err != nil || len(text) > extractOutput {
		_ = p.Kill()
	}
	exit, werr := p.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("the extractor was stopped: %w", ctx.Err())
	case err != nil || werr != nil:
		return nil, errors.Join(err, werr)
	case len(text) > extractOutput:
		return nil, errors.New("the extractor said too much")
	case exit.Code != 0:
		return nil, fmt.Errorf("the extractor ended with status %d", exit.Code)
	}
	var pages []search.Page
	if err := json.Unmarshal(text, &pages); err != nil {
		return nil, fmt.Errorf("reading what the extractor says: %w", err)
	}
	return pages, nil
}

// SearchFolders gives the folders that the person chose for the search index.
func (h *Host) SearchFolders() ([]string, error) { return SearchFolders(h.opts.State) }

// AddSearchFolders and RemoveSearchFolders change them for the person, at once: only what they click may call them. Status tells how
// far the reading is.
func (h *Host) AddSearchFolders(folders ...string) error {
	return h.searchFolders("searched from now on: ", AddSearchFolders, folders)
}

func (h *Host) RemoveSearchFolders(folders ...string) error {
	return h.searchFolders("no longer searched: ", RemoveSearchFolders, folders)
}

func (h *Host) searchFolders(what string, change func(string, ...string) error, folders []string) error {
	if err := change(h.opts.State, folders...); err != nil {
		return err
	}
	h.note(what + strings.Join(folders, ", "))
	_, err := h.searching.open()
	return err
}

// searcher is what the gate sees of the index.
type searcher struct{ *Host }

func (h searcher) Find(ctx context.Context, q search.Query) ([]search.Hit, search.Status, error) {
	index, err := h.searching.open()
	if err != nil {
		return nil, search.Status{}, hint.New("internal", "the search index can't be opened").Then("search with bash, and tell the person to look at `handrail search`").Wrap(err)
	}
	if index == nil {
		return nil, search.Status{}, nil
	}
	hits, err := index.Find(ctx, q)
	return hits, index.Status(), err
}

// Read reads files that something else found.
func (h searcher) Read(ctx context.Context, q search.Query, in search.Place, files []string) ([]search.Hit, error) {
	s := h.searching
	s.mu.Lock()
	var o search.Options
	err := errors.New("the index is being closed")
	if !s.closed {
		o, err = s.options()
	}
	s.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("reading beside the search index: %w", err)
	}
	return search.Read(ctx, o, q, in, files)
}

func (h searcher) Chosen() ([]string, error) { return h.SearchFolders() }

func (h searcher) Choose(folders []string) error { return h.AddSearchFolders(folders...) }
