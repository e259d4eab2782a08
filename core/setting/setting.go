// Package setting keeps what the person has set for all assistants together: how much a new one may do, whether any may ask for the
// network, how they are asked and in which language. What is set for one client is in package grant ([grant.Switches]).
//
// A setting is a name and one of a few values. Any program of the person's can write the file, so what is in it counts at once only
// where it narrows, or where it widens nothing (a language). A wider value is a wish: it counts when the person clicks on it
// ([Store.Agree]), and not before.
//
//	s := setting.Open(state, keychain)
//	s.Get(setting.Network)          // "ask"
//	s.Set(setting.Network, "never") // counts at once
//	s.Set(setting.Network, "ask")   // waits
package setting

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"handrail/core/statefile"
)

// Name is a setting. The zero value is none.
type Name string

const (
	Workspace Name = "workspace" // the folder that assistants work in, from the next start; "" is the usual one
	Level     Name = "level"     // what an assistant that starts Handrail itself may do at most: none, look, ask
	Network   Name = "network"   // whether assistants may ask for the network: never, ask
	Tunnel    Name = "tunnel"    // host name of the person's own HTTPS tunnel, by which assistants on the web reach Handrail; "" is none
	Profile   Name = "profile"   // of commands: guarded, or classic, which is no boundary
	Presence  Name = "presence"  // whether the system checks that it is the person (Touch ID) who allows what can't be taken back: on, off
	Language  Name = "language"  // en, th, or auto: the system's
	Visible   Name = "visible"   // minutes for which a question stays on the screen
	Undo      Name = "undo"      // GB, from the next start: a third for edits, the rest for commands
)

// kind is what is known of a setting.
type kind struct {
	values []string // those that there are, the narrowest first; nil for a path, or what host says
	usual  string
	free   bool // no value is wider than another
	host   bool // it is a host name, and none is narrower than any
}

var kinds = map[Name]kind{
	Workspace: {},
	Level:     {values: []string{"none", "look", "ask"}, usual: "ask"},
	Network:   {values: []string{"never", "ask"}, usual: "ask"},
	Tunnel:    {host: true},
	Profile:   {values: []string{"guarded", "classic"}, usual: "guarded"},
	Presence:  {values: []string{"on", "off"}, usual: "off"},
	Language:  {values: []string{"auto", "en", "th"}, usual: "auto", free: true},
	Visible:   {values: []string{"1", "2", "5", "10"}, usual: "2", free: true},
	Undo:      {values: []string{"1", "3", "10", "30"}, usual: "3", free: true},
}

// Values lists the values of a setting, the narrowest first; none for a path.
func (n Name) Values() []string { return slices.Clone(kinds[n].values) }

// valid says why a setting can't have a value.
func (n Name) valid(value string) error {
	k, ok := kinds[n]
	switch {
	case !ok:
		return fmt.Errorf("there is no setting %q", n)
	case k.host && value != "":
		return ValidHost(value)
	case k.values == nil && value != "" && (!filepath.IsAbs(value) || filepath.Clean(value) != value):
		return fmt.Errorf("%q is no whole path", value)
	case k.values != nil && !slices.Contains(k.values, value):
		return fmt.Errorf("%s can't be %q", n, value)
	}
	return nil
}

// wider reports whether value allows something that than doesn't.
func (n Name) wider(value, than string) bool {
	k := kinds[n]
	switch {
	case k.free:
		return false
	case k.host && value == "":
		return false
	case k.values == nil: // another folder, or host
		return value != than
	}
	return slices.Index(k.values, value) > slices.Index(k.values, than)
}

// ValidHost says why a name can't be that of a tunnel: one on the internet, in ASCII and small letters, with a dot (RFC 1123, 2.1), and
// none that is kept for private networks (RFC 6761, 6762, 8375).
func ValidHost(name string) error {
	bad := func(why string) error { return fmt.Errorf("%q is no host name on the internet: %s", name, why) }
	if len(name) > 253 {
		return bad("it is too long")
	}
	labels := strings.Split(name, ".")
	if len(labels) < 2 {
		return bad("it has no dot")
	}
	for _, l := range labels {
		if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' {
			return bad("between its dots are 1 to 63 letters, digits and dashes, with no dash at an end")
		}
		for _, c := range []byte(l) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
				return bad("it has other characters than a to z, 0 to 9 and dashes")
			}
		}
	}
	last := labels[len(labels)-1]
	if last[0] >= '0' && last[0] <= '9' {
		return bad("it is an address in numbers")
	}
	if slices.Contains([]string{"localhost", "local", "internal", "home", "lan", "arpa", "invalid", "onion", "localdomain"}, last) {
		return bad("it is a private one")
	}
	return nil
}

// Change is a wider value that waits for the person's click, and what counts until then.
type Change struct {
	Name     Name
	Was, Now string
}

// Keychain gives the key by which what the person agreed to is sealed; renew puts a new one in its place, so that an older file of
// ours is worth no more than a forged one. An error is no key.
type Keychain func(renew bool) ([]byte, error)

// Store keeps the settings in one file of the state folder. What the person agreed to is in it with a MAC whose key is in the
// keychain. Without a keychain no setting can be made wider than it usually is.
//
// Not covered: who deletes the file while Handrail doesn't run has narrowed settings be the usual ones again.
//
// Of nil, and of the zero Store, every setting is the usual one and can't be changed. It is safe for use by several goroutines. One
// process uses it at a time.
type Store struct {
	file     string
	keychain Keychain

	mu     sync.Mutex
	text   []byte // the file as it was last read
	wanted map[Name]string
	agreed map[Name]string
	kept   error // why a narrowing, or what stands in a broken file's place, couldn't be kept
}

// File names the file in a state folder, Broken what a file that can't be read is kept as.
func File(state string) string   { return filepath.Join(state, "settings.json") }
func Broken(state string) string { return filepath.Join(state, "settings-broken.json") }

const most = 64 << 10 // bytes of the file

// ErrNoKey is given when there is no keychain, so that nothing can be made wider.
var ErrNoKey = errors.New("there is no keychain, so nothing can be allowed for good")

// ErrNoChange is given for a change that nothing asks for any more, or that counts already.
var ErrNoChange = errors.New("this is no longer what is wanted")

type file struct {
	Version  int             `json:"version"`
	Settings map[Name]string `json:"settings,omitempty"`
	Agreed   map[Name]string `json:"agreed,omitempty"`
	MAC      string          `json:"mac,omitempty"`
}

// Open opens the settings of a state folder. keychain may be nil: there is none. A file that can't be read is kept aside ([Broken]),
// and every setting is the narrowest until the person changes it.
func Open(state string, keychain Keychain) *Store {
	s := &Store{file: File(state), keychain: keychain, agreed: map[Name]string{}}
	text, err := statefile.Read(s.file, most, 0o077)
	var f file
	if err == nil {
		f, err = parse(text)
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		for n, k := range kinds {
			if k.values != nil && !k.free {
				s.agreed[n] = k.values[0]
			}
		} // of a path, and of a host, the usual is the narrowest
	case s.seals(f):
		s.agreed = f.Agreed
	default:
		for n, value := range f.Agreed { // nobody vouches for it, so it can only narrow
			if !n.wider(value, kinds[n].usual) {
				s.agreed[n] = value
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	return s
}

// parse reads the file's text. Anything unexpected is an error.
func parse(text []byte) (f file, err error) {
	if err := json.Unmarshal(text, &f, json.RejectUnknownMembers(true)); err != nil {
		return file{}, err
	}
	if f.Version != 1 {
		return file{}, errors.New("it is for another version")
	}
	for _, values := range []map[Name]string{f.Settings, f.Agreed} {
		for n, value := range values {
			if err := n.valid(value); err != nil {
				return file{}, err
			}
		}
	}
	if f.Agreed == nil {
		f.Agreed = map[Name]string{}
	}
	return f, nil
}

// Problem says what is wrong with the settings of a state folder: the file can't be read, or one that couldn't was kept aside. It
// changes nothing.
func Problem(state string) error {
	text, err := statefile.Read(File(state), most, 0o077)
	if err == nil {
		_, err = parse(text)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s can't be read, and every setting is the narrowest: %w", File(state), err)
	}
	if _, err := os.Lstat(Broken(state)); err == nil {
		return fmt.Errorf("your settings couldn't be read; they are kept in %s, and what could let assistants do more was set to the narrowest", Broken(state))
	}
	return nil
}

func (s *Store) seal(renew bool) statefile.Seal {
	if s.keychain == nil {
		return statefile.Seal{}
	}
	key, err := s.keychain(renew)
	if err != nil {
		return statefile.Seal{}
	}
	return statefile.NewSeal(key, "settings")
}

func (s *Store) seals(f file) bool {
	text, err := json.Marshal(f.Agreed, json.Deterministic(true))
	return err == nil && f.MAC != "" && s.seal(false).Fits(text, f.MAC)
}

func of(values map[Name]string, n Name) string {
	if v, ok := values[n]; ok {
		return v
	}
	return kinds[n].usual
}

// look reads the file anew where it has changed, and takes up what it narrows. s.mu is held.
func (s *Store) look() {
	text, err := statefile.Read(s.file, most, 0o077)
	switch {
	case err == nil && s.wanted != nil && bytes.Equal(text, s.text):
		return
	case errors.Is(err, os.ErrNotExist): // what counts goes on counting
		s.text, s.wanted = nil, maps.Clone(s.agreed)
		return
	}
	var f file
	if err == nil {
		f, err = parse(text)
	}
	if err != nil {
		// What is aside already is the first one, which is the person's.
		if _, aside := os.Lstat(Broken(filepath.Dir(s.file))); aside != nil {
			err = os.Rename(s.file, Broken(filepath.Dir(s.file)))
		} else {
			err = os.RemoveAll(s.file)
		}
		s.wanted = maps.Clone(s.agreed)
		s.kept = errors.Join(err, s.write(s.wanted, s.agreed))
		return
	}
	s.text, s.wanted = text, f.Settings
	if s.wanted == nil {
		s.wanted = map[Name]string{}
	}
	agreed := maps.Clone(s.agreed)
	for n, k := range kinds {
		if v := of(s.wanted, n); !k.free && v != of(agreed, n) && !n.wider(v, of(agreed, n)) {
			agreed[n] = v
		}
	}
	if !maps.Equal(agreed, s.agreed) {
		s.agreed = agreed
		s.kept = s.write(s.wanted, agreed)
	}
}

// write replaces the file. s.mu is held.
func (s *Store) write(wanted, agreed map[Name]string) error {
	unlock, err := statefile.Lock(s.file)
	if err != nil {
		return err
	}
	defer unlock()
	f := file{Version: 1, Settings: wanted, Agreed: agreed}
	sealed, err := json.Marshal(agreed, json.Deterministic(true))
	if err != nil {
		return err
	}
	f.MAC = s.seal(true).Of(sealed)
	text, err := json.Marshal(f, json.Deterministic(true), jsontext.WithIndent("  "))
	if err == nil {
		err = statefile.Replace(s.file, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("keeping the settings: %w", err)
	}
	s.text, s.wanted, s.agreed = append(text, '\n'), wanted, agreed
	return nil
}

// Get is what counts now.
func (s *Store) Get(n Name) string {
	if s == nil || s.file == "" {
		return kinds[n].usual
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	return s.get(n)
}

func (s *Store) get(n Name) string {
	if kinds[n].free {
		return of(s.wanted, n)
	}
	return of(s.agreed, n) // what is narrower was taken up
}

// Waiting lists what waits for the person's click.
func (s *Store) Waiting() (list []Change) {
	if s == nil || s.file == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	for _, n := range slices.Sorted(maps.Keys(kinds)) {
		if v := of(s.wanted, n); n.wider(v, s.get(n)) {
			list = append(list, Change{n, s.get(n), v})
		}
	}
	return list
}

// Problem says what is wrong with the file, or what of it couldn't be kept.
func (s *Store) Problem() error {
	if s == nil || s.file == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	return errors.Join(s.kept, Problem(filepath.Dir(s.file)))
}

// Set writes a value into the file. A wider one is a wish that waits; any other counts at once. So does what counts already: a wish
// for something else is then taken back.
func (s *Store) Set(n Name, value string) (waits bool, err error) {
	if s == nil || s.file == "" {
		return false, errors.New("there are no settings")
	}
	if err := n.valid(value); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	waits = n.wider(value, s.get(n))
	if waits && !s.seal(false).Known() {
		return false, ErrNoKey
	}
	wanted, agreed := maps.Clone(s.wanted), maps.Clone(s.agreed)
	if wanted[n] = value; !waits && !kinds[n].free {
		agreed[n] = value
	}
	return waits, s.write(wanted, agreed)
}

// Agree makes a change count. Only a surface that had the person's click on it may call it.
func (s *Store) Agree(c Change) error {
	if s == nil || s.file == "" || !slices.Contains(s.Waiting(), c) {
		return ErrNoChange
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.seal(false).Known() {
		return ErrNoKey
	}
	agreed := maps.Clone(s.agreed)
	agreed[c.Name] = c.Now
	return s.write(maps.Clone(s.wanted), agreed)
}
