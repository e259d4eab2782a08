package command

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"

	"handrail/core/statefile"
)

// PolicyStore keeps the policy in force: what the person's policy file says, as far as that allows no more than what they
// have agreed to.
//
// The file can be changed by any program of theirs, so only a narrowing counts at once. A widening waits until they agree to
// it with a click ([PolicyStore.Agree]). What they agreed to, and each narrowing since, is kept beside the file with a MAC whose
// key is in the keychain. Without a key nothing that was kept can be believed: what was agreed to is then [DefaultPolicy], and no
// widening of it ever counts.
//
// The zero PolicyStore gives the zero Policy, which refuses. It is safe for use by several goroutines.
type PolicyStore struct {
	file, kept, home string
	seal             statefile.Seal

	mu     sync.Mutex
	agreed Policy
	text   []byte // the file as it was last read; nil if it couldn't be
	read   bool
	policy Policy
	status PolicyStatus
}

// PolicyStatus says what became of the policy file.
type PolicyStatus struct {
	File string
	// Problem says why the file isn't read, if it isn't: then everything is asked for.
	Problem string
	// Waiting lists, a line each, what the file would allow more than the person has agreed to. It isn't allowed.
	Waiting []string
	// NoKey says that there is no keychain, so that no widening can ever be agreed to.
	NoKey bool
}

// PolicyFile names the policy file in a state folder.
func PolicyFile(state string) string { return filepath.Join(state, "exec-policy.json") }

// OpenPolicy opens the policy of a state folder. key is from the keychain; nil is none. home replaces a leading "~" in patterns.
func OpenPolicy(state, home string, key []byte) *PolicyStore {
	s := &PolicyStore{file: PolicyFile(state), kept: filepath.Join(state, "exec-policy.agreed"), home: home, seal: statefile.NewSeal(key, "exec policy")}
	s.agreed = s.load()
	return s
}

// keptPolicy is how an agreed policy stands on disk.
type keptPolicy struct {
	Policy Policy `json:"policy"`
	MAC    string `json:"mac"`
}

// load gives what was agreed to. A record that isn't ours counts for nothing.
func (s *PolicyStore) load() Policy {
	otherwise := DefaultPolicy()
	if err := otherwise.compile(s.home); err != nil { // it has no entries
		return Policy{}
	}
	text, err := statefile.Read(s.kept, 2*MaxPolicy, 0)
	var k keptPolicy
	if err != nil || json.Unmarshal(text, &k, json.RejectUnknownMembers(true)) != nil {
		return otherwise
	}
	agreed, err := json.Marshal(k.Policy, json.Deterministic(true))
	if err != nil || !s.seal.Fits(agreed, k.MAC) || k.Policy.compile(s.home) != nil {
		return otherwise
	}
	return k.Policy
}

// keep writes down what was agreed to.
func (s *PolicyStore) keep(p Policy) error {
	if !s.seal.Known() {
		return nil
	}
	agreed, err := json.Marshal(p, json.Deterministic(true))
	if err != nil {
		return err
	}
	text, err := json.Marshal(keptPolicy{p, s.seal.Of(agreed)}, json.Deterministic(true))
	if err != nil {
		return err
	}
	return statefile.Replace(s.kept, text)
}

// Now gives the policy in force. It reads the file anew where that has changed.
func (s *PolicyStore) Now() (Policy, PolicyStatus) {
	if s == nil || s.file == "" {
		return Policy{}, PolicyStatus{Problem: "there is no policy"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := readPolicyFile(s.file)
	if s.read && err == nil && s.text != nil && bytes.Equal(text, s.text) {
		return s.policy, s.status
	}
	s.read, s.text = true, text
	wanted := DefaultPolicy()
	switch {
	case errors.Is(err, os.ErrNotExist):
		s.text, err = nil, wanted.compile(s.home)
	case err == nil:
		wanted, err = ReadPolicy(text, s.home)
	}
	s.status = PolicyStatus{File: s.file, NoKey: !s.seal.Known()}
	if err != nil {
		s.status.Problem = err.Error()
		ask := s.agreed
		ask.Sandbox.Ask, ask.Host.Ask = AskAlways, AskAlways
		s.policy = ask
		return s.policy, s.status
	}
	now, err := s.agreed.Narrower(wanted, s.home)
	if err != nil { // both were compiled before
		s.status.Problem = err.Error()
		s.policy = Policy{}
		return s.policy, s.status
	}
	s.status.Waiting = wanted.Wider(s.agreed)
	if len(s.agreed.Wider(now)) > 0 {
		s.agreed = now
		if err := s.keep(now); err != nil {
			s.status.Problem = fmt.Sprintf("a narrowing can't be kept for the next start: %v", err)
		}
	}
	s.policy = now
	return s.policy, s.status
}

// ErrNoKey is given when there is no keychain, so that nothing can be agreed to.
var ErrNoKey = errors.New("there is no keychain, so the policy can't be widened")

// ErrOther is given when the file has changed since the person was shown what it allows more.
var ErrOther = errors.New("the policy file has changed meanwhile")

// CanAgree says why [PolicyStore.Agree] would refuse now; nil if it wouldn't. What it is to do is recorded in between.
func (s *PolicyStore) CanAgree(waiting []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.agreeable(waiting)
	return err
}

// Agree makes the policy file count as it is, if what it allows more is what the person was shown and clicked on: waiting is the
// Waiting of that status. Only a surface that had their click may call it.
func (s *PolicyStore) Agree(waiting []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.agreeable(waiting)
	if err != nil {
		return err
	}
	if err := s.keep(p); err != nil {
		return err
	}
	s.agreed, s.read = p, false
	return nil
}

// agreeable reads the file, if what it allows more is waiting.
func (s *PolicyStore) agreeable(waiting []string) (Policy, error) {
	if !s.seal.Known() {
		return Policy{}, ErrNoKey
	}
	text, err := readPolicyFile(s.file)
	p := DefaultPolicy()
	switch {
	case errors.Is(err, os.ErrNotExist): // it was taken away
		err = p.compile(s.home)
	case err == nil:
		p, err = ReadPolicy(text, s.home)
	}
	if err != nil {
		return Policy{}, err
	}
	if !slices.Equal(p.Wider(s.agreed), waiting) {
		return Policy{}, ErrOther
	}
	return p, nil
}

// readPolicyFile reads a file that nobody but the user can have written.
func readPolicyFile(path string) ([]byte, error) { return statefile.Read(path, 2*MaxPolicy, 0o022) }
