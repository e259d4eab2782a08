package search

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/text/unicode/norm"
)

// watcher tells of changes in the folders that are searched.
type watcher interface {
	// add has a folder watched too, by its absolute path.
	add(path string)
	// err says why changes aren't told, where that is worth saying.
	err() error
	// changes gives the absolute paths of what changed; it is closed when some were lost.
	changes() <-chan string
	close()
	// tells reports whether the system tells of changes, as far as is known.
	tells() bool
}

// watches makes a watcher of folders. proof is a folder of our own to try it with, and heard is called, on any goroutine, when it is
// found to tell of changes; it returns at once.
type watches func(folders []string, proof string, heard func()) watcher

// source has the system tell of changes in folders and in all below them, until stop is called. tell may be called on any thread,
// also after that; lost says that something changed there that isn't told.
type source func(folders []string, tell func(path string, lost bool)) (stop func(), err error)

// treeWatch is a watcher by a system that tells of whole trees. It isn't believed until it has told of a file that we make for
// that: else changes would go unnoticed where it fails silently, and folders are looked through at each search meanwhile.
type treeWatch struct {
	folders []string
	proof   string
	heard   func()
	stop    func()
	names   chan string
	proven  atomic.Bool

	mu    sync.Mutex
	ended bool // names is closed
}

// mostWaiting is how many changes wait while folders are read; with more, all is looked through again.
const mostWaiting = 4096

func watchTrees(from source, folders []string, proof string, heard func()) watcher {
	t := &treeWatch{folders: folders, proof: proof, heard: heard, names: make(chan string, mostWaiting)}
	err := os.MkdirAll(proof, 0o700)
	if err == nil {
		t.proof, err = filepath.EvalSymlinks(proof)
	}
	if err == nil {
		t.stop, err = from(append([]string{t.proof}, folders...), t.tell)
	}
	if err != nil {
		return t // it proves nothing, so folders are looked through
	}
	file := filepath.Join(t.proof, "heard")
	if err := os.Remove(file); err == nil || os.IsNotExist(err) {
		_ = os.WriteFile(file, nil, 0o600) // without it nothing is proven
	}
	return t
}

func (t *treeWatch) tell(path string, lost bool) {
	path = filepath.Clean(path)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return
	}
	if _, ours := inTree(t.proof, path); ours {
		if !t.proven.Swap(true) {
			t.heard()
		}
		return
	}
	if !lost {
		lost = true // also what is told of no folder of ours: how does the system call it?
		for _, f := range t.folders {
			if rel, in := inTree(f, path); in {
				select {
				case t.names <- filepath.Join(f, rel):
					lost = false
				default:
				}
			}
		}
	}
	if lost {
		t.ended = true
		close(t.names)
	}
}

// dataVolume is where macOS keeps what people see at the root of the disk.
const dataVolume = "/System/Volumes/Data"

// inTree gives the part of a path below a folder. The system may call the folder by its name on the disk: with other capitals, in
// another Unicode form, or on the volume of data.
func inTree(folder, path string) (rel string, ok bool) {
	for _, p := range []string{path, strings.TrimPrefix(path, dataVolume)} {
		if rel, err := filepath.Rel(folder, p); err == nil && filepath.IsLocal(rel) {
			return rel, true
		}
		have, want := strings.Split(p, "/"), strings.Split(folder, "/")
		same := len(have) >= len(want)
		for i := 0; same && i < len(want); i++ {
			same = strings.EqualFold(norm.NFC.String(have[i]), norm.NFC.String(want[i]))
		}
		if same {
			return filepath.Join(have[len(want):]...), true
		}
	}
	return "", false
}

func (t *treeWatch) add(string)             {} // it is below a folder that is watched
func (t *treeWatch) err() error             { return nil }
func (t *treeWatch) changes() <-chan string { return t.names }
func (t *treeWatch) tells() bool            { return t.proven.Load() }

func (t *treeWatch) close() {
	if t.stop != nil {
		t.stop()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		t.ended = true
		close(t.names)
	}
}
