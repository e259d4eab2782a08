package approval

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Queue asks one question at a time, in the order they came. The zero value refuses everything: it has no Asker.
type Queue struct {
	asker  Asker
	notify func()

	mu      sync.Mutex
	waiting []*pending // the first is the one being shown
	decided map[string]*pending
	tempers map[string]*temper // by client
}

// PerClient is how many questions of one client may wait; one more is refused unseen.
const PerClient = 3

// NewQueue gives an empty queue. changed is called, on any goroutine, when Waiting has changed; it may be nil.
func NewQueue(asker Asker, changed func()) *Queue {
	if changed == nil {
		changed = func() {}
	}
	return &Queue{asker: asker, notify: changed, decided: make(map[string]*pending)}
}

type pending struct {
	id       string
	key      string
	request  Request
	cancel   context.CancelCauseFunc
	ctx      context.Context
	done     chan struct{}
	decision Decision
	callers  int // wait now
	calls    []caller
	left     int  // stopped waiting and were told to come back for the answer
	used     bool // the answer allowed, and a caller has it
}

// caller is one call that waits for a question.
type caller struct {
	ctx  context.Context
	gone <-chan struct{}
}

// wanted says that somebody waits for the answer or will come back for it. A call that has just ended may not have left yet.
func (p *pending) wanted() bool {
	return p.left > 0 || slices.ContainsFunc(p.calls, func(c caller) bool {
		select {
		case <-c.gone:
			return false
		default:
			return c.ctx.Err() == nil
		}
	})
}

// Answer is what Ask gives: a decision, or the id of a question that still waits.
type Answer struct {
	Decision Decision
	// Pending is set while there is no decision: the call should come back.
	Pending string
	// Request is the one that was asked: a caller that joined a waiting question gets the first caller's.
	Request Request
}

// Ask puts r to the person, or joins the question with the same key, and waits. key says which calls ask the same
// thing, such as a session and a folder; it holds the session's ID, so that no session gets another's answer.
//
// It returns when there is a decision, or after wait with Pending set: the question goes on, and the next Ask with the
// same key gets its answer. An answer is handed out once to each that waits or was told to come back; one that allows a
// single call ([Kind.Once]) to the first of them alone. When ctx or gone ends while this was the only caller, the question
// is withdrawn.
func (q *Queue) Ask(ctx context.Context, gone <-chan struct{}, session context.Context, key string, r Request, wait time.Duration) Answer {
	if q == nil || q.asker == nil {
		return Answer{Decision: Refuse(CouldNotShow, "", "no one can be asked"), Request: r}
	}
	p, why := q.join(session, key, r, caller{ctx, gone})
	if p == nil {
		return Answer{Decision: why, Request: r}
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
	case <-ctx.Done():
		q.leave(p, true)
		return Answer{Decision: Refuse(Withdrawn, "", "the call was cancelled"), Request: p.request}
	case <-gone:
		q.leave(p, true)
		return Answer{Decision: Refuse(Withdrawn, "", "the client is gone"), Request: p.request}
	}
	return q.take(p)
}

// join gives the question with that key, which may be a new one; nil and a decision if none may be asked.
func (q *Queue) join(session context.Context, key string, r Request, c caller) (p *pending, why Decision) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p = q.decided[key]; p != nil {
		p.callers++
		p.left--
		return p, why
	}
	mine := 0
	for _, p := range q.waiting {
		if p.key == key {
			p.callers++
			p.calls = append(p.calls, c)
			p.left = max(0, p.left-1) // the caller that was told to come back, as far as can be told
			return p, why
		}
		if p.request.Who.ID == r.Who.ID {
			mine++
		}
	}
	if mine >= PerClient {
		return nil, Refuse(CouldNotShow, "", "too many questions of this client are waiting")
	}
	if left := q.tempers[r.Who.ID].held(time.Now()); left > 0 {
		return nil, Refuse(HeldBack, "", fmt.Sprintf("the person has refused several questions of this client; no other is shown for %d s", int(left.Seconds())+1))
	}
	ctx, cancel := context.WithCancelCause(session)
	p = &pending{id: rand.Text(), key: key, request: r, ctx: ctx, cancel: cancel, done: make(chan struct{}), callers: 1, calls: []caller{c}}
	q.waiting = append(q.waiting, p)
	if len(q.waiting) == 1 {
		go q.run()
	}
	// A question that waits for its turn ends with its session or its 30 minutes, not only when it gets its turn.
	expire := time.AfterFunc(Lives, func() { cancel(errLate) })
	context.AfterFunc(ctx, func() {
		expire.Stop()
		q.drop(p)
	})
	go q.notify()
	return p, why
}

// take hands out the decision, once, or says that it is pending.
func (q *Queue) take(p *pending) Answer {
	q.mu.Lock()
	defer q.mu.Unlock()
	p.callers--
	select {
	case <-p.done:
	default:
		p.left++
		return Answer{Pending: p.id, Request: p.request}
	}
	if p.callers <= 0 && p.left <= 0 && q.decided[p.key] == p {
		delete(q.decided, p.key)
	}
	d := p.decision
	if d.Verdict == Allowed && p.request.Kind.Once() {
		if p.used {
			d = Refuse(Withdrawn, d.Surface, "the person allowed one call, and another one has used that")
		}
		p.used = true
	}
	return Answer{Decision: d, Request: p.request}
}

func (q *Queue) leave(p *pending, withdraw bool) {
	q.mu.Lock()
	p.callers--
	last := p.callers <= 0 && p.left <= 0
	q.mu.Unlock()
	if last && withdraw {
		p.cancel(context.Canceled)
	}
}

// run shows what waits, one after another, until nothing does.
func (q *Queue) run() {
	for {
		q.mu.Lock()
		if len(q.waiting) == 0 {
			q.mu.Unlock()
			return
		}
		p := q.waiting[0]
		wanted := p.wanted()
		ctx := p.ctx
		if q.tempers[p.request.Who.ID].insists(time.Now()) {
			ctx = Insisting(ctx)
		}
		q.mu.Unlock()
		d := Refuse(Withdrawn, "", "withdrawn before it was shown")
		if p.ctx.Err() == nil && wanted {
			d = q.asker.Ask(ctx, p.request)
			// An answer that came together with the end of the session is no answer.
			if p.ctx.Err() != nil && d.Verdict == Allowed {
				d = Refuse(Withdrawn, d.Surface, "the session ended while it was shown")
			}
		}
		q.mu.Lock()
		q.waiting = q.waiting[1:]
		q.remember(p.request.Who.ID, d)
		q.settle(p, d)
		more := len(q.waiting) > 0
		q.mu.Unlock()
		p.cancel(nil)
		q.notify()
		if !more {
			return
		}
	}
}

// drop ends a question that isn't being shown; the one being shown ends by its context.
func (q *Queue) drop(p *pending) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, other := range q.waiting {
		if i > 0 && other == p {
			q.waiting = append(q.waiting[:i:i], q.waiting[i+1:]...)
			q.settle(p, Refuse(Withdrawn, "", context.Cause(p.ctx).Error()))
			go q.notify()
			return
		}
	}
}

// remember takes up how the person answered a client. What no client asks is never held back.
func (q *Queue) remember(client string, d Decision) {
	if client == "" {
		return
	}
	if q.tempers == nil {
		q.tempers = make(map[string]*temper)
	}
	t := q.tempers[client]
	if t == nil {
		if d.Verdict != Refused {
			return
		}
		t = new(temper)
		q.tempers[client] = t
	}
	if t.note(d, time.Now()); d.Verdict == Allowed {
		delete(q.tempers, client)
	}
}

func (q *Queue) settle(p *pending, d Decision) {
	p.decision = d
	close(p.done)
	// Kept for those that wait now and for the caller that was told to come back.
	if p.callers > 0 || p.left > 0 {
		q.decided[p.key] = p
		time.AfterFunc(ValidFor, func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			if q.decided[p.key] == p {
				delete(q.decided, p.key)
			}
		})
	}
}

// Asks reports whether there is anyone to put a question to.
func (q *Queue) Asks() bool { return q != nil && q.asker != nil }

// Waiting lists the questions that wait, the one being shown first.
func (q *Queue) Waiting() []Request {
	if q == nil {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	list := make([]Request, len(q.waiting))
	for i, p := range q.waiting {
		list[i] = p.request
	}
	return list
}
