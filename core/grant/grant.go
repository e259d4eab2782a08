// Package grant holds what the person allowed: to which session, which right, on which folder.
//
// A grant names a folder by its path with links resolved and by its identity (device and inode). Both must still agree
// when the grant is used: a folder that was swapped for another, or for a link, is a new question. Grants live in memory
// and end with their session; nothing here widens one, and there is no grant on everything.
//
// The unit of an edit grant is the direct child of the workspace under which a path falls; a file that
// stands in the workspace itself is a unit of its own; outside the workspace it is the folder that holds the file.
package grant

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Right is what a grant allows in its folder. The zero value allows nothing.
type Right uint8

const (
	None   Right = iota
	Look         // read
	Copies       // read, and change working copies of the edit tools (a folder outside the workspace)
	Edit         // read and change, also by commands
	Delete       // and delete by commands that say so; given only beside Edit, and it opens nothing by itself
)

var rights = [...]string{"none", "look", "copies", "edit", "delete"}

func (r Right) String() string {
	if int(r) < len(rights) {
		return rights[r]
	}
	return "none"
}

// ID is a file's identity while it exists: its device and inode. The zero ID is no file.
type ID struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

// Grant is one right on one folder. The zero Grant allows nothing.
type Grant struct {
	Right  Right
	Folder string // absolute, links resolved
	// ID is the folder's. For a File it is that of the folder that holds it: the file itself is replaced at each edit.
	ID ID
	// File says that Folder names a single file that stands in the workspace itself.
	File bool
	// Blind says that Copies gives no right to read: it was given by a phrase in the chat, and no person was seen.
	Blind bool
}

// Holder is the folder whose identity the grant binds.
func (g Grant) Holder() string {
	if g.File {
		return filepath.Dir(g.Folder)
	}
	return g.Folder
}

// Check reports whether what the grant names is still what it named.
func (g Grant) Check() error {
	if g.Right == None || g.Folder == "" || g.ID == (ID{}) {
		return errors.New("no grant")
	}
	id, err := Identify(g.Holder())
	if err != nil {
		return fmt.Errorf("checking the grant on %q: %w", g.Folder, err)
	}
	if id != g.ID {
		return fmt.Errorf("checking the grant on %q: another folder stands there now", g.Folder)
	}
	return nil
}

// Contains reports whether path, absolute and with links resolved, is the grant's folder or lies in it. It compares
// whole path elements and says nothing of identity; Check does.
func (g Grant) Contains(path string) bool {
	if g.File {
		return path == g.Folder
	}
	return Within(g.Folder, path)
}

// Within reports whether path is folder or lies below it, by whole elements. Both must be absolute and resolved.
func Within(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsAbs(folder) && filepath.IsAbs(path) && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// Unit is what is asked for when path is to be changed. Both arguments are absolute with links resolved.
type Unit struct {
	Folder string
	File   bool // Folder is a single file in the workspace itself
	// Outside says that the unit isn't in the workspace: only working copies are changed there.
	Outside bool
}

// UnitOf gives the unit of path. isDir says that path is, or will be, a folder.
func UnitOf(workspace, path string, isDir bool) Unit {
	if !Within(workspace, path) {
		if isDir {
			return Unit{Folder: path, Outside: true}
		}
		return Unit{Folder: filepath.Dir(path), Outside: true}
	}
	rel, err := filepath.Rel(workspace, path)
	if err != nil || rel == "." {
		return Unit{Folder: workspace}
	}
	first, _, below := strings.Cut(rel, string(filepath.Separator))
	return Unit{Folder: filepath.Join(workspace, first), File: !below && !isDir}
}

// Reach is a grant that isn't about a folder. The zero value is none.
type Reach uint8

const (
	Network   Reach = 1 + iota // other computers, for every command of the session
	Loopback                   // this computer's own address, likewise
	SignIn                     // the sign-in that the person saved for one host, for git
	Clipboard                  // what the person copied
)

var reaches = [...]string{"", "network", "loopback", "sign-in", "clipboard"}

func (r Reach) String() string {
	if int(r) < len(reaches) {
		return reaches[r]
	}
	return ""
}

// Store holds the grants of the sessions that live. The zero value is empty and ready.
type Store struct {
	mu    sync.Mutex
	held  map[string][]Grant
	reach map[string]map[Reached]bool
}

// Reached is a reach that a session was given; Host is "" but for SignIn.
type Reached struct {
	What Reach
	Host string
}

// AddReach gives a session a reach. Only SignIn is for one host; the others are given with host empty.
func (s *Store) AddReach(session string, what Reach, host string) {
	if session == "" || what == 0 || what == SignIn && host == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reach == nil {
		s.reach = make(map[string]map[Reached]bool)
	}
	if s.reach[session] == nil {
		s.reach[session] = make(map[Reached]bool)
	}
	s.reach[session][Reached{what, host}] = true
}

// Reaches reports whether a session was given a reach, for that host and no other.
func (s *Store) Reaches(session string, what Reach, host string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return what != 0 && s.reach[session][Reached{what, host}]
}

// Reach lists what a session was given to reach.
func (s *Store) Reach(session string) []Reached {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Keys(s.reach[session]), func(a, b Reached) int {
		return cmp.Or(cmp.Compare(a.What, b.What), cmp.Compare(a.Host, b.Host))
	})
}

// RevokeReach takes one reach of a session back.
func (s *Store) RevokeReach(session string, r Reached) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.reach[session], r)
}

// Add gives a session a grant. One that the session holds already, or that allows nothing, is not added twice.
func (s *Store) Add(session string, g Grant) {
	if session == "" || g.Right == None || g.Folder == "" || g.ID == (ID{}) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.held = make(map[string][]Grant)
	}
	if !slices.Contains(s.held[session], g) {
		s.held[session] = append(s.held[session], g)
	}
}

// Covers gives the narrowest grant of the session that holds at least right on path and is still what it was. path is
// absolute with links resolved. A grant whose folder was swapped is dropped.
func (s *Store) Covers(session string, right Right, path string) (Grant, bool) {
	var best Grant
	for _, g := range s.List(session) {
		if g.Right >= right && right != None && !(g.Blind && right < Copies) && g.Contains(path) && len(g.Folder) >= len(best.Folder) {
			best = g
		}
	}
	return best, best.Folder != ""
}

// List gives the session's grants that are still what they were, and drops the others.
func (s *Store) List(session string) []Grant {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := slices.DeleteFunc(s.held[session], func(g Grant) bool { return g.Check() != nil })
	if len(kept) == 0 {
		delete(s.held, session)
		return nil
	}
	s.held[session] = kept
	return slices.Clone(kept)
}

// Revoke ends a session's grants on a folder; all of them, and what it reaches, when folder is empty.
func (s *Store) Revoke(session, folder string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if folder == "" {
		delete(s.held, session)
		delete(s.reach, session)
		return
	}
	if s.held != nil {
		s.held[session] = slices.DeleteFunc(s.held[session], func(g Grant) bool { return g.Folder == folder })
	}
}

// All lists every session's grants by session, for the menu.
func (s *Store) All() map[string][]Grant {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string][]Grant, len(s.held))
	for id, held := range s.held {
		all[id] = slices.SortedFunc(slices.Values(held), func(a, b Grant) int { return cmp.Compare(a.Folder, b.Folder) })
	}
	return all
}

// Identify gives the identity of the file at path without following a link there. A link is an error: a grant never
// names one.
func Identify(path string) (ID, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return ID{}, err
	}
	if info.Mode()&os.ModeSymlink != 0 {
		return ID{}, fmt.Errorf("%q is a link", path)
	}
	return IdentityOf(info)
}
