package search

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// watch tells of changes in folders (inotify(7)).
type watch struct {
	w     *fsnotify.Watcher
	names chan string
	lost  error
}

func newWatch([]string, string, func()) watcher {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return &watch{lost: err}
	}
	t := &watch{w: w, names: make(chan string, 1024)}
	go t.read()
	return t
}

func (t *watch) read() {
	defer close(t.names)
	for {
		select {
		case e, ok := <-t.w.Events:
			if !ok {
				return
			}
			if e.Op != fsnotify.Chmod {
				t.names <- e.Name
			}
		case _, ok := <-t.w.Errors:
			if !ok {
				return
			}
			go func() {
				for range t.w.Events {
				}
			}()
			return // some were lost: everything is looked through again
		}
	}
}

func (t *watch) add(path string) {
	if t.w == nil || t.lost != nil {
		return
	}
	if err := t.w.Add(path); errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EMFILE) {
		t.lost = err
	}
}

// err says why changes aren't told.
func (t *watch) err() error {
	if t.lost == nil {
		return nil
	}
	return fmt.Errorf("changes of files are found only after a search: watching the folders: %w", t.lost)
}

func (t *watch) changes() <-chan string { return t.names }

func (t *watch) close() {
	if t.w == nil {
		return
	}
	_ = t.w.Close()
	for range t.names {
	}
}

// tells reports whether the system tells of changes.
func (t *watch) tells() bool { return t.lost == nil }
