package client

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"handrail/core/hint"
	"handrail/core/statefile"
)

// Tokens are the bearer tokens of HTTP clients, one a client, kept in a file as SHA-256 hashes (a token has 260 random
// bits, so a plain hash can't be searched). The zero value lets nobody in; use OpenTokens.
//
// A client's token is either one that the person carried to it ([Tokens.New]), which is valid until it is revoked, or one that
// it got by pairing ([Tokens.Pair]), which lasts an hour and is renewed. Neither is let in where the other belongs.
//
// Several processes may use the file: it is read again when it has changed, and changed under a lock. A file that can't
// be read, is malformed, has an unknown field, or can be written by others lets nobody in, and [Tokens.Err] says why.
//
// Not covered yet: the file is protected by its mode alone. Who can write it can also add a token or raise a level;
// commands in the sandbox can't, other programs of the same user can.
type Tokens struct {
	path string

	mu      sync.Mutex
	seen    fs.FileInfo // the file as it was when it was read; nil when there was none
	read    bool
	entries []tokenEntry
	err     error
	revoked func(clientID string)
}

// Token is what may be shown of a token.
type Token struct {
	Name    string
	Level   Level
	Created time.Time
	// Used is the day it was last used, zero if never.
	Used time.Time
	// Paired says that the client got it by pairing; Until is then when it can't be renewed any more.
	Paired bool
	Until  time.Time
}

// tokenFile is the file's JSON.
type tokenFile struct {
	Version int          `json:"version"`
	Tokens  []tokenEntry `json:"tokens"`
}

type tokenEntry struct {
	Name    string `json:"name"`
	Level   string `json:"level"`
	SHA256  string `json:"sha256"`
	Created string `json:"created"`
	Used    string `json:"used,omitempty"`
	// Paired is what a client's token that it got by pairing has besides; SHA256 is then the access token's.
	Paired *pairedEntry `json:"paired,omitempty"`

	level Level
	hash  [sha256.Size]byte
}

// lasting is what stays of an entry while its token is renewed.
func (e *tokenEntry) lasting() [sha256.Size]byte {
	if e.Paired != nil {
		return e.Paired.family
	}
	return e.hash
}

const (
	tokenFileVersion = 1
	tokenPrefix      = "hr_"
	dayFormat        = time.DateOnly
)

// tokenName also keeps a name apart from what is joined to it in a session's key.
var tokenName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// OpenTokens gives the tokens kept at path. Nothing is read yet; a file that isn't there holds no token.
func OpenTokens(path string) *Tokens { return &Tokens{path: path} }

// OnRevoke sets what is called when a token has gone or its level has changed, with its client's ID. A change made by
// another process is noticed when the next token is verified. No lock is held while it is called.
func (t *Tokens) OnRevoke(f func(clientID string)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.revoked = f
}

// New makes a token for a client and returns it: the only time that it can be seen. The name is 1 to 64 letters, digits,
// ".", "_" and "-", and not in use. The level is Look or Ask: Trusted needs a code signature, which HTTP doesn't show.
func (t *Tokens) New(name string, level Level) (token string, err error) {
	if err := usable(name, level); err != nil {
		return "", err
	}
	token = newToken()
	err = t.change(func(entries []tokenEntry) ([]tokenEntry, error) {
		if taken(entries, name) {
			return nil, nameTaken(name)
		}
		return append(entries, newEntry(name, level, token)), nil
	})
	if err != nil {
		return "", err
	}
	return token, nil
}

// usable says what is wrong with a name and a level for a token.
func usable(name string, level Level) error {
	if err := UsableName(name); err != nil {
		return err
	}
	if level != Look && level != Ask {
		return hint.New("bad_level", fmt.Sprintf("a token can't have the access level %q", level)).Then("use look or ask")
	}
	return nil
}

// UsableName says why a client can't have a name: it is 1 to 64 letters, digits, ".", "_" and "-".
func UsableName(name string) error {
	if !tokenName.MatchString(name) {
		return hint.New("bad_name", fmt.Sprintf("%q can't name a client", name)).
			Then("use 1 to 64 letters, digits, dots, dashes or underscores")
	}
	return nil
}

func taken(entries []tokenEntry, name string) bool {
	return slices.ContainsFunc(entries, func(e tokenEntry) bool { return e.Name == name })
}

func nameTaken(name string) error {
	return hint.New("name_taken", fmt.Sprintf("there is already a token for %q", name)).Then("revoke it first, or use another name")
}

func newToken() string { return tokenPrefix + strings.ToLower(rand.Text()+rand.Text()) }

func newEntry(name string, level Level, token string) tokenEntry {
	hash := sha256.Sum256([]byte(token))
	return tokenEntry{
		Name: name, Level: level.String(), SHA256: hex.EncodeToString(hash[:]),
		Created: time.Now().UTC().Format(time.RFC3339), level: level, hash: hash,
	}
}

// Revoke removes a client's token. Its sessions end (see [Tokens.OnRevoke]). A name without a token is an error.
func (t *Tokens) Revoke(name string) error {
	return t.change(func(entries []tokenEntry) ([]tokenEntry, error) {
		left := slices.DeleteFunc(slices.Clone(entries), func(e tokenEntry) bool { return e.Name == name })
		if len(left) == len(entries) {
			return nil, hint.New("no_token", fmt.Sprintf("there is no token for %q", name))
		}
		return left, nil
	})
}

// Verify says whose token it is. Anything but a token of [Tokens.New] in the file is refused, in the same time for each.
func (t *Tokens) Verify(token string) (Identity, Level, bool) {
	return t.verify(token, func(e *tokenEntry) bool { return e.Paired == nil })
}

// verify says whose token it is, if its entry is good for what it is used for.
func (t *Tokens) verify(token string, good func(*tokenEntry) bool) (Identity, Level, bool) {
	if t == nil || t.path == "" {
		return Identity{}, None, false
	}
	hash := sha256.Sum256([]byte(token))
	t.mu.Lock()
	gone, revoked := t.reload()
	found := find(t.entries, func(e *tokenEntry) []byte { return e.hash[:] }, hash[:])
	if found >= 0 && !good(&t.entries[found]) {
		found = -1
	}
	var e tokenEntry
	today := time.Now().UTC().Format(dayFormat)
	if found >= 0 {
		e = t.entries[found]
		t.entries[found].Used = today // also where the file can't be written, so that it isn't tried at each call
	}
	t.mu.Unlock()
	tell(revoked, gone)
	if found < 0 {
		return Identity{}, None, false
	}
	if e.Used != today {
		t.touch(e.hash, today)
	}
	return Identity{ID: TokenID(e.Name)}, e.level, true
}

// find gives the entry whose hash is the wanted one, or -1, in the same time for each.
func find(entries []tokenEntry, of func(*tokenEntry) []byte, want []byte) int {
	found := -1
	for i := range entries {
		if subtle.ConstantTimeCompare(want, of(&entries[i])) == 1 {
			found = i
		}
	}
	return found
}

// touch notes the day of use. That it can't be noted refuses nobody.
func (t *Tokens) touch(hash [sha256.Size]byte, today string) {
	_ = t.change(func(entries []tokenEntry) ([]tokenEntry, error) {
		entries = slices.Clone(entries)
		for i := range entries {
			if entries[i].hash == hash {
				entries[i].Used = today
			}
		}
		return entries, nil
	})
}

// List gives what may be shown of all tokens, in the order in which they were made.
func (t *Tokens) List() ([]Token, error) {
	t.mu.Lock()
	gone, revoked := t.reload()
	list := make([]Token, len(t.entries))
	for i, e := range t.entries {
		created, _ := time.Parse(time.RFC3339, e.Created) // checked when it was read
		used, _ := time.Parse(dayFormat, cmp.Or(e.Used, "0001-01-01"))
		list[i] = Token{Name: e.Name, Level: e.level, Created: created, Used: used}
		if e.Paired != nil {
			list[i].Paired, list[i].Until = true, e.Paired.refreshUntil
		}
	}
	err := t.err
	t.mu.Unlock()
	tell(revoked, gone)
	return list, err
}

// Err says why nobody is let in: the file is malformed or can't be read. Nil when all is well, as of the last look.
func (t *Tokens) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// TokenID is the [Identity.ID] of the client that has the token of that name.
func TokenID(name string) string { return "http:" + name }

func tell(f func(string), clients []string) {
	if f == nil {
		return
	}
	for _, id := range clients {
		f(id)
	}
}

// reload reads the file if it has changed, and gives the clients whose token has gone or whose level is another one.
// t.mu is held.
func (t *Tokens) reload() (gone []string, revoked func(string)) {
	before, had := t.entries, t.read
	info, err := os.Stat(t.path)
	if err == nil && t.read && t.err == nil && same(t.seen, info) {
		return nil, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		t.seen, t.entries, t.err, t.read = nil, nil, nil, true
	} else {
		t.load()
	}
	if !had {
		return nil, nil
	}
	for _, old := range before {
		if !slices.ContainsFunc(t.entries, func(e tokenEntry) bool { return e.lasting() == old.lasting() && e.level == old.level }) {
			gone = append(gone, TokenID(old.Name))
		}
	}
	return gone, t.revoked
}

func same(a, b fs.FileInfo) bool {
	return a != nil && os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size() && a.Mode() == b.Mode()
}

func (t *Tokens) load() {
	t.seen, t.entries, t.read = nil, nil, true
	info, entries, err := readTokens(t.path)
	if err != nil {
		t.err = hint.New("bad_token_file", "the file of client tokens can't be used, so no client is let in").
			Because(err.Error()).Then("mend or remove " + t.path + " and connect the clients again").Wrap(err)
		return
	}
	t.seen, t.entries, t.err = info, entries, nil
}

const maxTokenFile = 1 << 20

func readTokens(path string) (fs.FileInfo, []tokenEntry, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errors.New("it is not a file")
	}
	if info.Mode().Perm()&0o022 != 0 {
		return nil, nil, fmt.Errorf("others can write it (mode %04o)", info.Mode().Perm())
	}
	text, err := io.ReadAll(io.LimitReader(f, maxTokenFile+1))
	if err != nil {
		return nil, nil, err
	}
	if len(text) > maxTokenFile {
		return nil, nil, errors.New("it is too large")
	}
	entries, err := parseTokens(text)
	return info, entries, err
}

// parseTokens reads the file's text. Anything unexpected is an error.
func parseTokens(text []byte) ([]tokenEntry, error) {
	var file tokenFile
	if err := json.Unmarshal(text, &file, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	if file.Version != tokenFileVersion {
		return nil, fmt.Errorf("its version is %d, not %d", file.Version, tokenFileVersion)
	}
	for i := range file.Tokens {
		e := &file.Tokens[i]
		if !tokenName.MatchString(e.Name) {
			return nil, fmt.Errorf("token %d has no usable name", i+1)
		}
		var err error
		if e.level, err = ParseLevel(e.Level); err != nil {
			return nil, fmt.Errorf("the token for %s: %w", e.Name, err)
		}
		if e.level > Ask {
			return nil, fmt.Errorf("the token for %s: a token can't have the access level %q", e.Name, e.Level)
		}
		hash, err := hex.DecodeString(e.SHA256)
		if err != nil || len(hash) != len(e.hash) {
			return nil, fmt.Errorf("the token for %s has no SHA-256 hash", e.Name)
		}
		copy(e.hash[:], hash)
		if e.Paired != nil {
			if err := e.Paired.parse(); err != nil {
				return nil, fmt.Errorf("the token for %s: %w", e.Name, err)
			}
		}
		if _, err := time.Parse(time.RFC3339, e.Created); err != nil {
			return nil, fmt.Errorf("the token for %s: when was it made: %w", e.Name, err)
		}
		if _, err := time.Parse(dayFormat, cmp.Or(e.Used, "0001-01-01")); err != nil {
			return nil, fmt.Errorf("the token for %s: when was it used: %w", e.Name, err)
		}
		for _, other := range file.Tokens[:i] {
			if other.Name == e.Name || other.hash == e.hash || other.lasting() == e.lasting() {
				return nil, fmt.Errorf("the token for %s is there twice", e.Name)
			}
		}
	}
	return file.Tokens, nil
}

// change reads, changes and writes the file under its lock.
func (t *Tokens) change(f func([]tokenEntry) ([]tokenEntry, error)) error {
	if t == nil || t.path == "" {
		return errors.New("changing tokens: there is no token file")
	}
	if err := os.MkdirAll(filepath.Dir(t.path), 0o700); err != nil {
		return fmt.Errorf("making the folder of the token file: %w", err)
	}
	unlock, err := statefile.Lock(t.path)
	if err != nil {
		return fmt.Errorf("locking the token file: %w", err)
	}
	defer unlock()
	t.mu.Lock()
	gone, revoked, err := t.changeLocked(f)
	t.mu.Unlock()
	tell(revoked, gone)
	return err
}

func (t *Tokens) changeLocked(f func([]tokenEntry) ([]tokenEntry, error)) (gone []string, revoked func(string), err error) {
	gone, revoked = t.reload()
	if t.err != nil {
		return gone, revoked, t.err
	}
	entries, err := f(t.entries)
	if err != nil {
		return gone, revoked, err
	}
	text, err := json.Marshal(tokenFile{Version: tokenFileVersion, Tokens: entries}, jsontext.WithIndent("  "))
	if err == nil {
		err = statefile.Replace(t.path, append(text, '\n'))
	}
	if err != nil {
		return gone, revoked, fmt.Errorf("writing the token file: %w", err)
	}
	more, revoked := t.reload()
	return append(gone, more...), revoked, t.err
}
