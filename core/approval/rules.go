package approval

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"handrail/core/statefile"
)

// Rules keeps the lasting rules that the person chose with Always Allow, in a file of the state folder. A rule covers a question
// that shows the very same: client, command, folder, programs and scripts, each by path, identity and content. Only the
// session, the client's version and process, the model's reason and why the person is asked may differ.
//
// The file has a MAC whose key is in the keychain. A file that isn't ours, or that can't be read, holds no rule, and none is added
// to it. Without a key no rule can be made. Not covered: who can write the file may put back an older one of ours.
//
// The zero Rules, and nil, cover nothing. It is safe for use by several goroutines and processes.
type Rules struct {
	file string
	seal statefile.Seal

	mu   sync.Mutex
	text []byte // the file as it was last read
	list []KeptRule
	err  error
}

// KeptRule is a rule in the file.
type KeptRule struct {
	ID      string    `json:"id"`
	Made    time.Time `json:"made"`
	Request Request   `json:"request"`
}

// maxRules is how many rules are kept, maxRulesFile how many bytes of the file are read.
const (
	maxRules     = 500
	maxRulesFile = 16 << 20
)

var (
	// ErrNoKey is given when there is no keychain, so that no rule can be kept.
	ErrNoKey = errors.New("there is no keychain, so no lasting rule can be kept")
	// ErrNoRule is given for a rule that isn't there.
	ErrNoRule     = errors.New("there is no such rule")
	errForeign    = errors.New("the file of lasting rules was changed by another program: none of them counts; remove it to begin anew")
	errNotOffered = errors.New("no lasting rule was offered")
)

// OpenRules opens the rules of a state folder. key is from the keychain; nil is none.
func OpenRules(state string, key []byte) *Rules {
	return &Rules{file: filepath.Join(state, "exec-rules.json"), seal: statefile.NewSeal(key, "lasting rules")}
}

// File is where the rules are kept.
func (s *Rules) File() string { return s.file }

// Offers reports whether a rule can be kept now.
func (s *Rules) Offers() bool {
	if s == nil || !s.seal.Known() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read()
	return s.err == nil && len(s.list) < maxRules
}

// lasting is what of a request a rule is about, and its name.
func (r Request) lasting() (Request, string, error) {
	if r.Kind != Exec || r.Command == nil || r.Command.Rule == nil {
		return r, "", errNotOffered
	}
	command := *r.Command
	command.Why = nil
	r.Command, r.Session, r.Reason = &command, "", ""
	r.Who.PID, r.Who.Version = 0, ""
	if _, err := json.Marshal(r); err != nil { // a text that is no UTF-8: two of them could look the same in the file
		return r, "", fmt.Errorf("%w: %w", errNotOffered, err)
	}
	digest := r.Digest()
	return r, hex.EncodeToString(digest[:6]), nil
}

// Covers reports whether a rule covers r, and which.
func (s *Rules) Covers(r Request) (id string, ok bool) {
	about, id, err := r.lasting()
	if s == nil || !s.seal.Known() || err != nil {
		return "", false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read()
	want := about.Digest()
	ok = slices.ContainsFunc(s.list, func(k KeptRule) bool { return k.ID == id && k.Request.Digest() == want })
	return id, ok
}

// RuleID names the rule that r offers, made or not. An error says why it offers none.
func (r Request) RuleID() (string, error) {
	_, id, err := r.lasting()
	return id, err
}

// Keep makes the rule that r offers. Only who has the person's answer to it ([Decision].Always) may call it.
func (s *Rules) Keep(r Request) (id string, err error) {
	about, id, err := r.lasting()
	if err != nil {
		return "", err
	}
	return id, s.change(func(list []KeptRule) ([]KeptRule, error) {
		if len(list) >= maxRules {
			return nil, fmt.Errorf("there are %d lasting rules already", len(list))
		}
		list = slices.DeleteFunc(list, func(k KeptRule) bool { return k.ID == id })
		return append(list, KeptRule{id, time.Now().UTC().Truncate(time.Second), about}), nil
	})
}

// List gives the rules, the oldest first.
func (s *Rules) List() ([]KeptRule, error) {
	if s == nil || !s.seal.Known() {
		return nil, ErrNoKey
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read()
	return slices.Clone(s.list), s.err
}

// Remove takes a rule back. It counts at once, also in a Handrail that runs.
func (s *Rules) Remove(id string) error {
	return s.change(func(list []KeptRule) ([]KeptRule, error) {
		rest := slices.DeleteFunc(slices.Clone(list), func(k KeptRule) bool { return k.ID == id })
		if len(rest) == len(list) {
			return nil, ErrNoRule
		}
		return rest, nil
	})
}

// Forget takes back all rules of a client, by its ID: a token of the same name may be another's next time.
func (s *Rules) Forget(client string) error {
	if list, err := s.List(); err != nil || !slices.ContainsFunc(list, func(k KeptRule) bool { return k.Request.Who.ID == client }) {
		return err
	}
	return s.change(func(list []KeptRule) ([]KeptRule, error) {
		return slices.DeleteFunc(list, func(k KeptRule) bool { return k.Request.Who.ID == client }), nil
	})
}

// RemoveAll takes all rules back, also those of a file that isn't ours.
func (s *Rules) RemoveAll() error {
	err := os.Remove(s.file)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return err
}

// rulesFile is the file's JSON.
type rulesFile struct {
	Version int            `json:"version"`
	Rules   jsontext.Value `json:"rules"`
	MAC     string         `json:"mac"`
}

// read reads the file anew where it has changed.
func (s *Rules) read() {
	text, err := statefile.Read(s.file, maxRulesFile, 0o077)
	switch {
	case errors.Is(err, os.ErrNotExist):
		s.text, s.list, s.err = nil, nil, nil
		return
	case err == nil && s.text != nil && bytes.Equal(text, s.text):
		return
	}
	s.text, s.list, s.err = text, nil, nil
	if err != nil {
		s.err = fmt.Errorf("reading the lasting rules: %w", err)
		return
	}
	var f rulesFile
	if err := json.Unmarshal(text, &f, json.RejectUnknownMembers(true)); err != nil || f.Version != 1 || !s.seal.Fits(f.Rules, f.MAC) {
		s.err = errForeign
		return
	}
	var list []KeptRule
	if err := json.Unmarshal(f.Rules, &list, json.RejectUnknownMembers(true)); err != nil {
		s.err = errForeign
		return
	}
	s.list = list
}

// change replaces the list, while no other process does.
func (s *Rules) change(f func([]KeptRule) ([]KeptRule, error)) error {
	if s == nil || !s.seal.Known() {
		return ErrNoKey
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	unlock, err := statefile.Lock(s.file)
	if err != nil {
		return fmt.Errorf("changing the lasting rules: %w", err)
	}
	defer unlock()
	s.read()
	if s.err != nil {
		return s.err
	}
	list, err := f(slices.Clone(s.list))
	if err != nil {
		return err
	}
	rules, err := json.Marshal(list)
	if err != nil {
		return err
	}
	text, err := json.Marshal(rulesFile{1, rules, s.seal.Of(rules)})
	if err == nil {
		err = statefile.Replace(s.file, text)
	}
	if err != nil {
		return fmt.Errorf("keeping the lasting rules: %w", err)
	}
	s.text = nil // it is read anew
	return nil
}
