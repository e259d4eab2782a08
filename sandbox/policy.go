package sandbox

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Machine holds the facts of this computer and this session that a policy is made of. Paths are absolute, clean and have
// their links resolved. The zero value has no folders, so a profile made of it allows next to nothing.
type Machine struct {
	Home      string // the person's home folder
	State     string // our own files: never readable, not even inside a granted folder
	Workspace string // the folder the person works in: readable
	Temp      string // the session's private temporary folder: exists, mode 0700; writable but under ReadOnly
	// Caches is a private folder for what package managers download, writable like Temp. Empty: none.
	Caches string
	// Rooms is the folder that holds Temp, Caches and those of other sessions. Where a place holds it, nothing in it is open but the
	// session's own: Temp, Caches and the places that lie in it. Empty: there is none.
	Rooms string
	// Ports are our own TCP ports, which no permission opens.
	Ports []int
	// Path is the person's login-shell PATH: folders of tools, also below Home, that programs may read and run.
	Path []string
	// Executable is Handrail itself. On Linux it is started again inside the sandbox, unless UseLauncher gave a smaller program.
	Executable string
	// Secrets are paths that are never readable, beside the built-in list.
	Secrets []string
	// Obeyed are files and folders that are protected by where links with protected names lead, not by their own names: see
	// FollowStartUps.
	Obeyed []string
	// Developer is the active developer folder on macOS (xcode-select -p). Empty: none is installed.
	Developer string
	// SSHAgent and Docker are the sockets that AllowSSHAgent and AllowDocker open. Empty: there are none.
	SSHAgent, Docker string
	// System is "darwin" or "linux": whose folders the profiles name. Empty: the one we run on.
	System string
}

// Place is a folder, or one file, that a grant names.
type Place struct {
	Path string // absolute, links resolved
	// Device and Inode identify the folder, and for a File the folder that holds it (the file itself may not exist yet, and
	// is replaced at each edit). Start refuses a place where another folder stands now.
	Device, Inode uint64
	File          bool
}

// Policy says what a command may reach. It is a value: methods return changed copies. The zero Policy allows nothing.
type Policy struct {
	profile     profile
	machine     Machine
	reads       []Place
	writes      []Place
	names       []string // protected names that were opened one by one
	staging     bool     // AllowRepositories
	sensitive   bool     // CloseSensitive
	spotlight   bool     // AllowSpotlight
	permissions Permission
}

type profile uint8

const (
	nothing profile = iota
	guarded
	readOnly
	classic
	outside
)

var profiles = [...]string{"nothing", "guarded", "readonly", "classic", "outside"}

func (p profile) String() string {
	if int(p) < len(profiles) {
		return profiles[p]
	}
	return profiles[nothing]
}

// Guarded is the default: everything is denied but reading the system, installed tools and the workspace, and writing in the
// temporary folder.
func Guarded(m Machine) Policy { return Policy{profile: guarded, machine: m} }

// ReadOnly reads what Guarded reads and writes nothing but /dev/null. It has no network, and nothing widens its writes.
func ReadOnly(m Machine) Policy { return Policy{profile: readOnly, machine: m} }

// Classic denies a list and allows the rest, the network too. It is no boundary: a program can have another program, outside
// the sandbox, do what it may not.
func Classic(m Machine) Policy { return Policy{profile: classic, machine: m} }

// AllowRead returns a policy that may also read the places. Secrets and our own files in them stay closed.
func (p Policy) AllowRead(places ...Place) Policy {
	p.reads = slices.Concat(p.reads, places)
	return p
}

// AllowWrite returns a policy that may also read and change the places. Protected names in them stay closed.
func (p Policy) AllowWrite(places ...Place) Policy {
	p.writes = slices.Concat(p.writes, places)
	return p
}

// AllowProtected returns a policy that may change these protected paths, each one alone, where AllowWrite covers them.
func (p Policy) AllowProtected(paths ...string) Policy {
	p.names = slices.Concat(p.names, paths)
	return p
}

// AllowRepositories returns a policy under which repositories can be made in Temp and Caches. On Linux that is so anyway; on
// macOS a folder that was prepared there could be moved into a granted one with all that is protected in it, so it needs a policy
// without AllowWrite, and a Temp and Caches that no other command gets. Whoever moves the result looks at it first
// (CheckRepository).
func (p Policy) AllowRepositories() Policy {
	p.staging = true
	return p
}

// Machine gives the facts the policy was made of.
func (p Policy) Machine() Machine { return p.machine }

// Profile names the profile: "nothing", "guarded", "readonly", "classic" or "outside".
func (p Policy) Profile() string { return p.profile.String() }

// Writable lists the folders and files that a command may change, sorted.
func (p Policy) Writable() []string {
	var w []string
	switch p.profile {
	case guarded:
		w = append(w, p.machine.Temp, p.machine.Caches)
		fallthrough
	case classic:
		for _, place := range p.writes {
			w = append(w, place.Path)
		}
	}
	w = slices.DeleteFunc(w, func(s string) bool { return s == "" })
	slices.Sort(w)
	return slices.Compact(w)
}

// String says the policy as one sentence.
func (p Policy) String() string {
	switch p.profile {
	case nothing:
		return "nothing is allowed"
	case outside:
		return "outside: nothing is closed"
	case readOnly:
		return "readonly: reads the system, tools" + list(p.readable(), ", ") + "; writes nothing"
	}
	s := p.profile.String() + ": reads the system, tools" + list(p.readable(), ", ") + "; writes " + strings.Join(p.Writable(), ", ")
	for _, perm := range p.permissions.List() {
		s += "; " + perm.String()
	}
	return s
}

func (p Policy) readable() []string {
	var r []string
	if p.machine.Workspace != "" {
		r = append(r, p.machine.Workspace)
	}
	for _, place := range p.reads {
		r = append(r, place.Path)
	}
	return r
}

func list(items []string, sep string) string {
	if len(items) == 0 {
		return ""
	}
	return sep + strings.Join(items, sep)
}

// Validate reports what is wrong with the policy's paths: not absolute, not clean, not UTF-8, with a control character, a
// place without identity, or a folder that no policy may open.
func (p Policy) Validate() error { return p.compiled().valid() }

func (p Policy) validate() error {
	if p.profile == nothing {
		return errors.New("policy: nothing is allowed")
	}
	if p.staging && len(p.writes) > 0 {
		return errors.New("policy: repositories can't be made under a policy that changes granted folders")
	}
	m := p.machine
	for _, f := range []struct{ name, path string }{
		{"home folder", m.Home}, {"state folder", m.State}, {"workspace", m.Workspace}, {"temporary folder", m.Temp},
	} {
		if f.path == "" {
			return fmt.Errorf("policy: the %s is not set", f.name)
		}
	}
	for _, own := range []string{m.Workspace, m.Temp, m.Caches} {
		if within(m.State, own) {
			return fmt.Errorf("policy: %q lies in the state folder, which stays closed", own)
		}
	}
	for _, own := range []string{m.Temp, m.Caches} {
		if within(own, m.Workspace) || within(own, m.Home) {
			return fmt.Errorf("policy: the session's own folder %q holds the workspace or the home folder", own)
		}
	}
	paths := []string{m.Home, m.State, m.Workspace, m.Temp, m.Caches, m.Rooms, m.Executable, m.Developer, m.SSHAgent, m.Docker}
	paths = slices.Concat(paths, m.Secrets, m.Obeyed, p.names)
	for _, place := range slices.Concat(p.reads, p.writes) {
		if place.Path == "" || place.Device == 0 && place.Inode == 0 {
			return fmt.Errorf("policy: the place %q has no identity", place.Path)
		}
		paths = append(paths, place.Path)
	}
	for _, path := range paths {
		if path != "" {
			if err := checkPath(path); err != nil {
				return fmt.Errorf("policy: %w", err)
			}
		}
	}
	return nil
}

func (p Policy) placePaths() []string {
	var s []string
	for _, place := range slices.Concat(p.reads, p.writes) {
		s = append(s, place.Path)
	}
	return s
}

// checkPath refuses what can't be passed on safely: a profile or a mount list is no place for a newline.
func checkPath(path string) error {
	switch {
	case !filepath.IsAbs(path):
		return fmt.Errorf("path %q is not absolute", path)
	case filepath.Clean(path) != path:
		return fmt.Errorf("path %q is not clean", path)
	case !utf8.ValidString(path):
		return fmt.Errorf("path %q is not UTF-8", path)
	case strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("path %q has a control character", path)
	}
	return nil
}

// ownRooms are the folders in Rooms that are the session's own.
func (p Policy) ownRooms() []string {
	m := p.machine
	return slices.DeleteFunc(slices.Concat([]string{m.Temp, m.Caches}, p.placePaths()), func(path string) bool {
		return path == "" || path == m.Rooms || !within(m.Rooms, path)
	})
}

// roomsShown reports whether a place holds Rooms.
func (p Policy) roomsShown() bool {
	return p.machine.Rooms != "" && slices.ContainsFunc(append(p.placePaths(), p.machine.Workspace), func(path string) bool { return within(fold(path), fold(p.machine.Rooms)) })
}

// within reports whether path is folder or lies below it, by whole elements. Both are absolute and clean.
func within(folder, path string) bool {
	if folder == "" {
		return false
	}
	if folder == "/" {
		return strings.HasPrefix(path, "/")
	}
	return strings.HasPrefix(path, folder) && (len(path) == len(folder) || path[len(folder)] == '/')
}

// Reading gives the policy of the profile readonly that reads what this one does.
func (p Policy) Reading() Policy {
	q := Policy{profile: readOnly, machine: p.machine, reads: slices.Concat(p.reads, p.writes), sensitive: p.sensitive, spotlight: p.spotlight}
	if p.profile == nothing {
		q.profile = nothing
	}
	return q
}

// AllowSpotlight returns a policy that may ask macOS's index of files, also under ReadOnly. The index knows names and words of
// files that the policy doesn't open, so only a command whose words are known, and that searches in folders that are open,
// should have it. It matters on macOS only.
func (p Policy) AllowSpotlight() Policy {
	p.spotlight = p.profile != nothing
	return p
}
