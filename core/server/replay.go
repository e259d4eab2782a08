package server

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"
)

// keptFor is how long the answer to a call waits for a client that has gone to come back; a call that still runs by then
// is cancelled.
const keptFor = 60 * time.Second

const (
	// maxKept bounds what all kept streams hold, in bytes. Beyond it, those whose client went first are emptied.
	maxKept = 16 << 20
	// maxNotices is how many events are kept of a stream that isn't a call's: changes of lists, never answers.
	maxNotices = 32
)

var errNotKept = errors.New("what was sent is no longer kept")

// replay keeps what was sent on the streams of sessions before 2026-07-28, in which losing the connection doesn't cancel
// a call: the client may come back with Last-Event-ID and gets the rest (MCP 2025-11-25, transports: resumability). It is
// the SDK's [mcp.EventStore], and also what knows whether anybody listens to a stream. A call's stream is kept until its
// answer has gone out, or for keptFor after its client went.
type replay struct {
	stop context.Context // all calls end with it

	mu       sync.Mutex
	sessions map[string]map[string]*kept
	bytes    int
}

// kept is one stream.
type kept struct {
	// over ends when nobody came back.
	over context.Context

	abandon  context.CancelFunc
	events   [][]byte
	first    int // the index of events[0]
	bytes    int
	readers  int
	since    time.Time // when the last reader went
	answered bool
	drop     *time.Timer
}

func newReplay(stop context.Context) *replay {
	return &replay{stop: stop, sessions: make(map[string]map[string]*kept)}
}

// Open begins a stream. The one with an empty id is the session's own; any other is a call's, with the request it came in
// as its reader.
func (p *replay) Open(ctx context.Context, session, stream string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := &kept{}
	k.over, k.abandon = context.WithCancel(p.stop)
	if p.sessions[session] == nil {
		p.sessions[session] = make(map[string]*kept)
	}
	p.sessions[session][stream] = k
	if x := exchangeOf(ctx); x != nil && stream != "" {
		x.kept = k
		p.attach(session, stream, k, x)
	}
	return nil
}

// attach counts x as a reader until its request ends. p.mu is held.
func (p *replay) attach(session, stream string, k *kept, x *exchange) {
	k.readers++
	if k.drop != nil {
		k.drop.Stop()
		k.drop = nil
	}
	context.AfterFunc(x.request, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		k.readers--
		if k.readers > 0 || p.sessions[session][stream] != k {
			return
		}
		if k.answered && x.finished.Load() {
			p.remove(session, stream, k)
			return
		}
		k.since = time.Now()
		k.drop = time.AfterFunc(keptFor, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if k.readers == 0 {
				p.remove(session, stream, k)
			}
		})
	})
}

// remove forgets a stream and ends its call. p.mu is held.
func (p *replay) remove(session, stream string, k *kept) {
	if p.sessions[session][stream] != k {
		return
	}
	k.abandon()
	p.bytes -= k.bytes
	delete(p.sessions[session], stream)
}

// Append keeps one event. On a stream that is no longer kept it is lost.
func (p *replay) Append(_ context.Context, session, stream string, data []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.sessions[session][stream]
	if k == nil {
		return errNotKept
	}
	k.events = append(k.events, data)
	k.bytes += len(data)
	p.bytes += len(data)
	if stream == "" {
		for len(k.events) > maxNotices {
			p.shift(k)
		}
	} else if len(data) > 0 && glance(data).answers {
		k.answered = true
	}
	p.makeRoom()
	return nil
}

// shift forgets a stream's first event. p.mu is held.
func (p *replay) shift(k *kept) {
	k.bytes -= len(k.events[0])
	p.bytes -= len(k.events[0])
	k.events = k.events[1:]
	k.first++
}

// makeRoom empties streams that nobody reads, the one that was left first first. p.mu is held.
func (p *replay) makeRoom() {
	for p.bytes > maxKept {
		var oldest *kept
		for _, streams := range p.sessions {
			for _, k := range streams {
				if k.readers == 0 && k.bytes > 0 && (oldest == nil || k.since.Before(oldest.since)) {
					oldest = k
				}
			}
		}
		if oldest == nil {
			return
		}
		for len(oldest.events) > 0 {
			p.shift(oldest)
		}
	}
}

// After gives what was sent on a stream after an index, to a client that came back: it is then a reader.
func (p *replay) After(ctx context.Context, session, stream string, index int) iter.Seq2[[]byte, error] {
	events, err := p.after(ctx, session, stream, index)
	return func(yield func([]byte, error) bool) {
		if err != nil {
			yield(nil, err)
			return
		}
		for _, event := range events {
			if !yield(event, nil) {
				return
			}
		}
	}
}

func (p *replay) after(ctx context.Context, session, stream string, index int) ([][]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.sessions[session][stream]
	if k == nil || index+1 < k.first || index+1 > k.first+len(k.events) {
		return nil, errNotKept
	}
	if x := exchangeOf(ctx); x != nil && stream != "" {
		p.attach(session, stream, k, x)
	}
	return slices.Clone(k.events[index+1-k.first:]), nil
}

// SessionClosed forgets a session's streams.
func (p *replay) SessionClosed(_ context.Context, session string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for stream, k := range p.sessions[session] {
		if k.drop != nil {
			k.drop.Stop()
		}
		p.remove(session, stream, k)
	}
	delete(p.sessions, session)
	return nil
}
