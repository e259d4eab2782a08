package approval

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"sync"
)

// Nonces is the weakest surface: a single-use phrase that the model must hand back once the person has said yes in the
// chat. It forces one round trip and leaves a trace; it does not prove that a person agreed. It is
// used only where the system has no screen at all, and answers one kind of question: an edit grant. The zero value is
// ready.
type Nonces struct {
	mu   sync.Mutex
	open map[string]string // session and folder → phrase
}

// Phrase gives the phrase for a folder in a session, the same one until it is used.
func (n *Nonces) Phrase(session, folder string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	key := session + "\x00" + folder
	if n.open[key] == "" {
		if n.open == nil {
			n.open = make(map[string]string)
		}
		var b [4]byte
		rand.Read(b[:])
		n.open[key] = hex.EncodeToString(b[:])
	}
	return n.open[key]
}

// Redeem reports whether phrase is the one given for the folder, and uses it up if it is. A wrong one changes nothing;
// one that was never given is wrong.
func (n *Nonces) Redeem(session, folder, phrase string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	key := session + "\x00" + folder
	want := n.open[key]
	if want == "" || subtle.ConstantTimeCompare([]byte(want), []byte(phrase)) != 1 {
		return false
	}
	delete(n.open, key)
	return true
}

// End forgets a session's phrases.
func (n *Nonces) End(session string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for key := range n.open {
		if len(key) > len(session) && key[:len(session)] == session && key[len(session)] == 0 {
			delete(n.open, key)
		}
	}
}
