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
	"sync"
	"sync/atomic"
	"time"

	"handrail/core/grant"
	"handrail/core/hint"
	"handrail/core/search"
	"handrail/core/search/document"
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

// SetSearchFolders chooses the folders. A Handrail that runs takes note of it at its next search, or when it starts.
func SetSearchFolders(state string, folders []string) error {
	text, err := json.MarshalIndent(searchSettings{folders}, "", "  ")
	if err == nil {
		err = os.MkdirAll(state, 0o700)
	}
	var f *os.File
	if err == nil {
		f, err = os.CreateTemp(state, "search-*.tmp")
	}
	if err == nil {
		_, err = f.Write(append(text, '\n'))
		if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
			err = os.Rename(f.Name(), searchFile(state))
		}
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("choosing which folders are searched: %w", err)
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

func (s *searching) begin(folders []string) error {
	dir, err := folder(filepath.Join(s.opts.State, "search"), 0o700)
	if err != nil {
		return err
	}
	r, err := newRoom(s.opts, rand.Text(), "")
	if err != nil {
		return err
	}
	policy := sandbox.Guarded(machine(s.opts, r.temp, "", nil)).CloseSensitive()
	decide := policy.Decider()
	index, err := search.Open(search.Options{File: filepath.Join(dir, "index.db"), Rest: onBattery, Changed: s.changed,
		Extract: func(ctx context.Context, kind string, in io.Reader) ([]search.Page, error) {
			return s.extract(ctx, r, kind, in)
		},
		Closed: func(path string) bool {
			_, sensitive := sandbox.Sensitive(path)
			return sensitive || decide(sandbox.Read, path).Closed
		}})
	if err == nil {
		err = index.SetFolders(folders)
	}
	if err != nil {
		r.remove()
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	s.current.Store(index)
	s.index, s.chosen, s.room, s.stop, s.ended = index, folders, r, stop, make(chan struct{})
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
	if s.index == nil {
		return nil
	}
	s.stop()
	<-s.ended
	s.room.remove()
	return s.index.Close()
}

// status gives the index's; ok is false when there is none.
func (s *searching) status() (status search.Status, ok bool) {
	index := s.current.Load()
	if index == nil {
		return search.Status{}, false
	}
	return index.Status(), true
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
	m := sandbox.Machine{Home: s.opts.Home, State: s.opts.State, Workspace: r.work, Temp: r.temp, Port: s.opts.Port, Executable: s.opts.Executable}
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

// search looks in the index. status is the zero one when there is none.
func (h *Host) search(ctx context.Context, q search.Query) ([]search.Hit, search.Status, error) {
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
