package edit

import (
	"path"
	"sync"
)

// lockKey names a file by the folder that holds it: the file itself is another one after each edit. Names that some file
// system takes for one are one key. copies is a key of its own, held while a working copy is looked for and made.
type lockKey struct {
	parent identity
	name   string
	copies bool
}

var (
	locksMu sync.Mutex
	locks   = map[lockKey]*heldLock{}
)

type heldLock struct {
	sync.Mutex
	users int
}

func (p *place) key() lockKey {
	return lockKey{parent: p.parent, name: foldName(path.Join(append(p.missing[:len(p.missing):len(p.missing)], p.base)...))}
}

// hold waits until no other edit in this process has the key. The result lets it go.
func hold(k lockKey) func() {
	locksMu.Lock()
	l := locks[k]
	if l == nil {
		l = new(heldLock)
		locks[k] = l
	}
	l.users++
	locksMu.Unlock()
	l.Lock()
	return func() {
		l.Unlock()
		locksMu.Lock()
		defer locksMu.Unlock()
		if l.users--; l.users == 0 {
			delete(locks, k)
		}
	}
}
