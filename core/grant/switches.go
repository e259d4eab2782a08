package grant

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"handrail/core/statefile"
)

// Switch is something that the person turns on for one client, until they turn it off. The zero value is none.
type Switch string

const (
	Outside  Switch = "outside"   // it may ask to run commands outside the sandbox
	SSHAgent Switch = "ssh-agent" // its commands reach the person's SSH agent
	Docker   Switch = "docker"    // its commands reach Docker
	Browser  Switch = "browser"   // its commands start browsers for tests
	Xcode    Switch = "xcode"     // its commands use Apple's developer tools
	AllHome  Switch = "home"      // it may look at the whole home folder
)

var allSwitches = []Switch{Outside, SSHAgent, Docker, Browser, Xcode, AllHome}

// AllSwitches lists every switch, in the order in which they are shown.
func AllSwitches() []Switch { return slices.Clone(allSwitches) }

// Held is what the person has set for one client. The zero value is what a new client has: nothing is on, and no tool is off.
type Held struct {
	On       []Switch `json:"on,omitempty"`
	ToolsOff []string `json:"tools_off,omitempty"`
}

// Has reports whether a switch is on.
func (h Held) Has(s Switch) bool { return slices.Contains(h.On, s) }

// Without reports whether a tool is turned off.
func (h Held) Without(tool string) bool { return slices.Contains(h.ToolsOff, tool) }

// Wish is a change that would let a client do more, and that waits for the person's click: to turn a switch on, or a tool that was
// off. One of Switch and Tool is set.
type Wish struct {
	Client string
	Switch Switch
	Tool   string
}

// Name is how the person calls what would be turned on.
func (w Wish) Name() string { return string(w.Switch) + w.Tool }

// Keychain gives the key by which switches that the person agreed to are sealed; renew puts a new one in its place, so that what
// was sealed before is worth nothing any more. An error is no key.
type Keychain func(renew bool) ([]byte, error)

// Switches keeps the switches of all clients in one file of the state folder. A client is named by its credential
// (client.Identity.ID), never by what it calls itself.
//
// Any program of the person's can write the file, so what is in it counts at once only where it turns a switch, or a tool, off.
// What would turn one on is a [Wish]: it counts when they click on it ([Switches.Agree]), and not before. What they agreed to
// is kept in the same file with a MAC whose key is in the keychain. The key is renewed with each change of that, so an older
// file of ours is worth no more than a forged one. Without a keychain no switch can be turned on.
//
// Not covered: who deletes the file or the key while Handrail doesn't run turns tools on again that were off.
//
// The zero Switches, and nil, hold nothing and keep nothing. It is safe for use by several goroutines and processes.
type Switches struct {
	file     string
	keychain Keychain
	asks     bool

	mu      sync.Mutex
	agreed  map[string]Held
	text    []byte // the file as it was last read; nil if it couldn't be
	wanted  map[string]Held
	problem error
}

const (
	maxSwitchFile = 1 << 20 // bytes
	maxClients    = 1000
	// unknownProgram is what all programs are called that the system couldn't tell.
	unknownProgram = "stdio:unknown"
)

var (
	// ErrNoKey is given when there is no keychain, so that no switch can be turned on.
	ErrNoKey = errors.New("there is no keychain, so nothing can be turned on")
	// ErrNoWish is given for a wish that isn't in the file any more, or that counts already.
	ErrNoWish   = errors.New("this is no longer what is wanted")
	errNoClient = errors.New("this client can't be told from others, so nothing can be turned on for it")
)

// SwitchFile names the file of the switches in a state folder.
func SwitchFile(state string) string { return filepath.Join(state, "switches.json") }

// OpenSwitches opens the switches of a state folder. keychain may be nil: there is none. asks is for the one process that asks the
// person: it believes what it has seen them agree to, whatever the file says later, but for what that narrows. Any other
// process knows what the file shows.
func OpenSwitches(state string, keychain Keychain, asks bool) *Switches {
	s := &Switches{file: SwitchFile(state), keychain: keychain, asks: asks}
	if text, err := s.readFile(); err == nil {
		s.agreed = s.sealed(text)
	}
	return s
}

// switchFile is the file's JSON.
type switchFile struct {
	Version int             `json:"version"`
	Clients map[string]Held `json:"clients"`
	Agreed  map[string]Held `json:"agreed,omitempty"`
	MAC     string          `json:"mac,omitempty"`
}

// toolName is what a tool may be called; which there are is not known here.
var toolName = regexp.MustCompile(`^[a-z][a-z_]{0,39}$`)

func (s *Switches) readFile() ([]byte, error) { return statefile.Read(s.file, maxSwitchFile, 0o077) }

// parse reads the file's text. Anything unexpected is an error.
func parse(text []byte) (switchFile, error) {
	var f switchFile
	if err := json.Unmarshal(text, &f, json.RejectUnknownMembers(true)); err != nil {
		return switchFile{}, err
	}
	if f.Version != 1 || len(f.Clients) > maxClients {
		return switchFile{}, errors.New("it is for another version, or names too many clients")
	}
	for client, h := range f.Clients {
		for _, on := range h.On {
			if !slices.Contains(allSwitches, on) {
				return switchFile{}, fmt.Errorf("there is no switch %q", on)
			}
		}
		if strings.TrimSpace(client) == "" || client == unknownProgram && len(h.On) > 0 {
			return switchFile{}, errNoClient
		}
		if i := slices.IndexFunc(h.ToolsOff, func(t string) bool { return !toolName.MatchString(t) }); i >= 0 {
			return switchFile{}, fmt.Errorf("there is no tool %q", h.ToolsOff[i])
		}
	}
	return f, nil
}

// seal gives the seal of the keychain's key, or of a new one.
func (s *Switches) seal(renew bool) statefile.Seal {
	if s.keychain == nil {
		return statefile.Seal{}
	}
	key, err := s.keychain(renew)
	if err != nil {
		return statefile.Seal{}
	}
	return statefile.NewSeal(key, "switches")
}

// sealed gives what a file's text shows to have been agreed to; nil if nothing does.
func (s *Switches) sealed(text []byte) map[string]Held {
	f, err := parse(text)
	if err != nil || f.MAC == "" {
		return nil
	}
	agreed, err := json.Marshal(f.Agreed, json.Deterministic(true))
	if err != nil || !s.seal(false).Fits(agreed, f.MAC) {
		return nil
	}
	return f.Agreed
}

// meet gives what both allow, in a form of which there is one only.
func meet(a, b map[string]Held) map[string]Held {
	m := make(map[string]Held)
	for _, from := range []map[string]Held{a, b} {
		for client := range from {
			h := Held{ToolsOff: slices.Concat(a[client].ToolsOff, b[client].ToolsOff)}
			for _, on := range allSwitches {
				if a[client].Has(on) && b[client].Has(on) {
					h.On = append(h.On, on)
				}
			}
			slices.Sort(h.ToolsOff)
			h.ToolsOff = slices.Compact(h.ToolsOff)
			if len(h.On)+len(h.ToolsOff) > 0 {
				m[client] = h
			}
		}
	}
	return m
}

func equal(a, b map[string]Held) bool {
	return maps.EqualFunc(meet(a, a), meet(b, b), func(x, y Held) bool { return slices.Equal(x.On, y.On) && slices.Equal(x.ToolsOff, y.ToolsOff) })
}

// look reads the file anew where it has changed, and takes up what it narrows.
func (s *Switches) look() {
	text, err := s.readFile()
	if err == nil && s.text != nil && bytes.Equal(text, s.text) {
		return
	}
	s.text, s.wanted, s.problem = nil, nil, nil
	var f switchFile
	if err == nil {
		f, err = parse(text)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.problem = fmt.Errorf("reading the switches: %w", err)
		return
	}
	s.text, s.wanted = text, f.Clients
	if !s.asks {
		s.agreed = s.sealed(text)
	}
	if narrower := meet(s.agreed, s.wanted); !equal(narrower, s.agreed) {
		s.agreed = narrower
		if err := s.change(func(_, _ map[string]Held) error { return nil }); err != nil {
			s.problem = fmt.Errorf("what was turned off can't be kept for the next start: %w", err)
		}
	}
}

// Of is what counts for a client now.
func (s *Switches) Of(client string) Held {
	if s == nil || s.file == "" {
		return Held{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	return meet(s.agreed, s.wanted)[client]
}

// Clients lists the clients for which something is set or wanted, by what counts for them now.
func (s *Switches) Clients() map[string]Held {
	if s == nil || s.file == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	all := meet(s.agreed, s.wanted)
	for client := range s.wanted {
		if _, ok := all[client]; !ok {
			all[client] = Held{}
		}
	}
	return all
}

// Waiting lists what waits for the person's click.
func (s *Switches) Waiting() (list []Wish) {
	if s == nil || s.file == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	return s.waiting()
}

func (s *Switches) waiting() (list []Wish) {
	if s.wanted == nil && s.problem != nil {
		return nil
	}
	clients := slices.AppendSeq(slices.Collect(maps.Keys(s.wanted)), maps.Keys(s.agreed))
	slices.Sort(clients)
	for _, client := range slices.Compact(clients) {
		wanted, agreed := s.wanted[client], s.agreed[client]
		for _, on := range allSwitches {
			if wanted.Has(on) && !agreed.Has(on) {
				list = append(list, Wish{Client: client, Switch: on})
			}
		}
		for _, tool := range agreed.ToolsOff {
			if !wanted.Without(tool) {
				list = append(list, Wish{Client: client, Tool: tool})
			}
		}
	}
	return list
}

// Problem says why the file can't be read, so that nothing in it counts, or why a narrowing of it couldn't be kept.
func (s *Switches) Problem() error {
	if s == nil || s.file == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	return s.problem
}

// Set writes into the file that a switch, or a tool, is to be on or off for a client. Off counts at once, also in a Handrail that
// runs. On is a wish, and needs the person's click.
func (s *Switches) Set(client, name string, on bool) error {
	w := Wish{Client: client, Tool: name}
	if slices.Contains(allSwitches, Switch(name)) {
		w = Wish{Client: client, Switch: Switch(name)}
	}
	switch {
	case s == nil || s.file == "":
		return errors.New("there are no switches")
	case w.Switch == "" && !toolName.MatchString(w.Tool):
		return fmt.Errorf("there is no switch and no tool %q", name)
	case strings.TrimSpace(client) == "" || client == unknownProgram && w.Switch != "" && on:
		return errNoClient
	case w.Switch != "" && on && !s.seal(false).Known():
		return ErrNoKey
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	return s.change(func(wanted, _ map[string]Held) error {
		wanted[client] = wanted[client].with(w, on)
		return nil
	})
}

// with gives h with what a wish names turned on or off.
func (h Held) with(w Wish, on bool) Held {
	h = Held{slices.Clone(h.On), slices.Clone(h.ToolsOff)}
	if w.Switch != "" {
		if h.On = slices.DeleteFunc(h.On, func(s Switch) bool { return s == w.Switch }); on {
			h.On = append(h.On, w.Switch)
		}
	} else if h.ToolsOff = slices.DeleteFunc(h.ToolsOff, func(t string) bool { return t == w.Tool }); !on {
		h.ToolsOff = append(h.ToolsOff, w.Tool)
	}
	return h
}

// CanAgree says why [Switches.Agree] would refuse a wish now; nil if it wouldn't. What it is to do is recorded in between.
func (s *Switches) CanAgree(w Wish) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.canAgree(w)
}

func (s *Switches) canAgree(w Wish) error {
	s.look()
	switch {
	case !s.asks || !slices.Contains(s.waiting(), w):
		return ErrNoWish
	case w.Switch != "" && !s.seal(false).Known():
		return ErrNoKey
	}
	return nil
}

// Agree makes a wish count. Only a surface that had the person's click on it may call it, in the process that asks. It gives
// ErrNoWish, and nothing counts, if another process has taken the wish back.
func (s *Switches) Agree(w Wish) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.canAgree(w); err != nil {
		return err
	}
	return s.change(func(wanted, agreed map[string]Held) error {
		if w.Switch != "" && !wanted[w.Client].Has(w.Switch) || w.Tool != "" && wanted[w.Client].Without(w.Tool) {
			return ErrNoWish
		}
		agreed[w.Client] = agreed[w.Client].with(w, true)
		return nil
	})
}

// Forget takes back all that is turned on for a client, and what waits: a token of the same name may be another's next time. A
// tool that is off stays off: a client can give its token back itself, and gets nothing by that.
func (s *Switches) Forget(client string) error {
	if s == nil || s.file == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	left := map[string]Held{client: {ToolsOff: meet(s.wanted, s.agreed)[client].ToolsOff}}
	of := func(all map[string]Held) map[string]Held { return map[string]Held{client: all[client]} }
	if s.problem == nil && equal(of(s.wanted), left) && equal(of(s.agreed), left) {
		return nil // who watches the file would be told of nothing
	}
	return s.change(func(wanted, agreed map[string]Held) error {
		wanted[client] = Held{ToolsOff: meet(wanted, agreed)[client].ToolsOff}
		delete(agreed, client)
		return nil
	})
}

// change replaces the file, while no other process does, and seals what is agreed to as far as it is wanted. An error of f leaves it.
func (s *Switches) change(f func(wanted, agreed map[string]Held) error) error {
	unlock, err := statefile.Lock(s.file)
	if err != nil {
		return fmt.Errorf("changing the switches: %w", err)
	}
	defer unlock()
	var file switchFile
	text, err := s.readFile()
	if err == nil {
		file, err = parse(text)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("changing the switches: %w", err)
	}
	if file.Clients == nil {
		file.Clients = make(map[string]Held)
	}
	before := s.sealed(text)
	agreed := meet(s.agreed, s.agreed)
	if !s.asks { // what it knew may be older
		agreed = meet(before, before)
	}
	if err := f(file.Clients, agreed); err != nil {
		return err
	}
	maps.DeleteFunc(file.Clients, func(_ string, h Held) bool { return len(h.On)+len(h.ToolsOff) == 0 })
	file.Version = 1
	agreed = meet(agreed, file.Clients)
	if (before == nil) != (file.MAC == "") || !equal(before, agreed) {
		file.Agreed, file.MAC = agreed, ""
		sealed, err := json.Marshal(agreed, json.Deterministic(true))
		if err != nil {
			return fmt.Errorf("changing the switches: %w", err)
		}
		file.MAC = s.seal(true).Of(sealed)
	}
	if file.MAC == "" { // nobody could believe it
		file.Agreed = nil
	}
	text, err = json.Marshal(file, json.Deterministic(true), jsontext.WithIndent("  "))
	if err == nil {
		err = statefile.Replace(s.file, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("keeping the switches: %w", err)
	}
	s.agreed, s.text = agreed, nil // it is read anew
	return nil
}
