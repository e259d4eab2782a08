// Package client says who is calling: an assistant's name and program, what it may do at most, and the session in which
// it does it.
//
// A name is evidence that is shown to the person, never authentication. What authenticates is the credential: for HTTP a
// token of which only the hash is kept, for stdio and the socket the connection itself. Rights hang on a [Session]; a
// session belongs to one credential, starts with no grant, and everything it was allowed ends with it.
package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Level is what a client may do at most. The zero value may do nothing; a higher value may do more.
type Level uint8

const (
	None    Level = iota // sees no tools
	Look                 // reads
	Ask                  // writes and runs commands; the person is asked
	Trusted              // as Ask, and answers are kept for the client; only for a stable code signature
)

var levels = [...]string{"none", "look", "ask", "trusted"}

func (l Level) String() string {
	if int(l) < len(levels) {
		return levels[l]
	}
	return "none"
}

// ParseLevel reads what String gives. An unknown name is an error and [None].
func ParseLevel(s string) (Level, error) {
	for i, name := range levels {
		if s == name {
			return Level(i), nil
		}
	}
	return None, fmt.Errorf("unknown access level %q: it is none, look, ask or trusted", s)
}

// Identity is what is known of a client. Only ID is a credential's; the rest is evidence.
type Identity struct {
	// ID names the credential: "http:" and the token's name, or "stdio:" and the program.
	ID string
	// Name is what the client calls itself (MCP clientInfo). Anyone can claim any name.
	Name string
	// Version goes with Name.
	Version string
	// Program is the executable of the nearest program in the calling chain that isn't a shell or an interpreter;
	// empty when the system could not say.
	Program string
	// PID is the peer's process, 0 for HTTP.
	PID int
	// Signed is the team that signed Program, verified by the system; empty when there is no stable signature.
	Signed string
}

// Label is the name a person is shown: the self-given name when there is one, else the program, else "unknown program".
// It is not escaped: whoever shows it does that.
func (i Identity) Label() string { return cmp.Or(i.Name, i.Program, "unknown program") }

// Session is one stretch of work of one credential. The zero value is ended and may do nothing.
type Session struct {
	// ID is unguessable but authenticates nothing.
	ID string
	// Client is who it belongs to.
	Client Identity
	// Level is fixed when the session starts; lowering it ends the session.
	Level Level

	ctx context.Context
	end context.CancelCauseFunc
}

// Context ends with the session. For the zero Session it is already over.
func (s *Session) Context() context.Context {
	if s == nil || s.ctx == nil {
		return over
	}
	return s.ctx
}

var over = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// Limits of a session of a client that keeps no connection (HTTP). A connected client's ends with its connection.
const (
	MaxAge  = 8 * time.Hour
	MaxIdle = 30 * time.Minute
	// MaxSessions is how many such sessions one credential may have. When it starts one more, the one that was idle
	// for longest ends; a session with a running call is left alone.
	MaxSessions = 32
)

// Sessions holds the sessions that live now. The zero value is not usable; use NewSessions.
type Sessions struct {
	mu    sync.Mutex
	byKey map[string]*entry
	ended func(*Session)
}

type entry struct {
	session *Session
	begun   time.Time
	used    time.Time
	busy    int
	idle    *time.Timer // nil for a connected client
}

// NewSessions gives an empty set. ended is called once for every session that ends, after its context is over, on a
// goroutine of its own; it may be nil.
func NewSessions(ended func(*Session)) *Sessions {
	return &Sessions{byKey: make(map[string]*entry), ended: ended}
}

// Connect starts a session for a connection. It lives until [Sessions.End] is called for its ID.
func (s *Sessions) Connect(who Identity, level Level) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.add(newID(), who, level)
	return e.session
}

// Use finds or starts the session of a key (a token's name, or a token's name and an MCP session id) and holds it busy
// until done is called: a session isn't idle while a call runs. The session ends MaxIdle after its last call and MaxAge
// after its start. A client whose level has changed since gets a new session.
func (s *Sessions) Use(key string, who Identity, level Level) (session *Session, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.byKey[key]
	now := time.Now()
	if e != nil && (e.session.Level != level || e.session.Client.ID != who.ID || now.Sub(e.begun) > MaxAge) {
		s.remove(key, e)
		e = nil
	}
	if e == nil {
		s.makeRoom(who.ID)
		e = s.add(key, who, level)
		e.idle = time.AfterFunc(MaxIdle, func() { s.expire(key, e) })
	}
	e.used = now
	e.busy++
	return e.session, sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		e.busy--
		e.used = time.Now()
		e.idle.Reset(MaxIdle)
	})
}

// makeRoom ends the session of a credential that was idle for longest, if it has MaxSessions of them.
func (s *Sessions) makeRoom(clientID string) {
	var n int
	var oldestKey string
	var oldest *entry
	for key, e := range s.byKey {
		if e.session.Client.ID != clientID || e.idle == nil {
			continue
		}
		n++
		if e.busy == 0 && (oldest == nil || e.used.Before(oldest.used)) {
			oldestKey, oldest = key, e
		}
	}
	if n >= MaxSessions && oldest != nil {
		s.remove(oldestKey, oldest)
	}
}

func (s *Sessions) add(key string, who Identity, level Level) *entry {
	ctx, end := context.WithCancelCause(context.Background())
	now := time.Now()
	e := &entry{session: &Session{ID: newID(), Client: who, Level: level, ctx: ctx, end: end}, begun: now, used: now}
	s.byKey[key] = e
	return e
}

func (s *Sessions) expire(key string, e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey[key] != e {
		return
	}
	if rest := MaxIdle - time.Since(e.used); e.busy > 0 || rest > 0 {
		e.idle.Reset(max(rest, time.Minute))
		return
	}
	s.remove(key, e)
}

func (s *Sessions) remove(key string, e *entry) {
	delete(s.byKey, key)
	if e.idle != nil {
		e.idle.Stop()
	}
	e.session.end(errEnded)
	if s.ended != nil {
		go s.ended(e.session)
	}
}

var errEnded = errors.New("the session has ended")

// End ends one session. Ending one that isn't there does nothing.
func (s *Sessions) End(id string) { s.endWhere(func(x *Session) bool { return x.ID == id }) }

// EndKey ends the session that [Sessions.Use] started for key.
func (s *Sessions) EndKey(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.byKey[key]; e != nil {
		s.remove(key, e)
	}
}

// EndClient ends all sessions of a credential.
func (s *Sessions) EndClient(clientID string) {
	s.endWhere(func(x *Session) bool { return x.Client.ID == clientID })
}

// EndAll ends every session.
func (s *Sessions) EndAll() { s.endWhere(func(*Session) bool { return true }) }

func (s *Sessions) endWhere(match func(*Session) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, e := range s.byKey {
		if match(e.session) {
			s.remove(key, e)
		}
	}
}

// Live lists the sessions that live now, in no order.
func (s *Sessions) Live() []*Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	live := make([]*Session, 0, len(s.byKey))
	for _, e := range s.byKey {
		live = append(live, e.session)
	}
	return live
}

func newID() string { return rand.Text() }

type sessionKey struct{}

// WithSession gives a context that carries the session of the call being served.
func WithSession(ctx context.Context, s *Session) context.Context {
	return context.WithValue(ctx, sessionKey{}, s)
}

// FromContext is the session of the call being served, or nil.
func FromContext(ctx context.Context) *Session {
	s, _ := ctx.Value(sessionKey{}).(*Session)
	return s
}

type goneKey struct{}

// WithGone gives a context that carries a channel which closes when the client of the call being served has gone: it
// closed its connection and nobody is there to read the answer. That is not cancellation: the call may go on.
func WithGone(ctx context.Context, gone <-chan struct{}) context.Context {
	return context.WithValue(ctx, goneKey{}, gone)
}

// Gone is the channel of [WithGone]. Without one it is nil, which never closes. It may also close when the call is over.
func Gone(ctx context.Context) <-chan struct{} {
	gone, _ := ctx.Value(goneKey{}).(<-chan struct{})
	return gone
}
