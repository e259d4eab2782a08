package core

import (
	"sync"
	"time"
)

// pause says whether everything is refused. The zero value isn't on.
type pause struct {
	mu    sync.Mutex
	on    bool
	until time.Time // zero: until the person ends it
	timer *time.Timer
}

// begin turns it on, or gives it another end: after d, when over is called, or never if d is 0. It reports whether it was on.
func (p *pause) begin(d time.Duration, over func()) (was bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was = p.on
	p.set(true)
	if d <= 0 {
		return was
	}
	p.until = time.Now().Add(d)
	var timer *time.Timer
	timer = time.AfterFunc(d, func() {
		p.mu.Lock()
		mine := p.timer == timer
		if mine {
			p.set(false)
		}
		p.mu.Unlock()
		if mine {
			over()
		}
	})
	p.timer = timer
	return was
}

// end turns it off, and reports whether it was on.
func (p *pause) end() (was bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was = p.on
	p.set(false)
	return was
}

func (p *pause) set(on bool) {
	if p.timer != nil {
		p.timer.Stop()
	}
	p.on, p.until, p.timer = on, time.Time{}, nil
}

// now tells whether it is on, and until when; the zero time is until the person ends it.
func (p *pause) now() (on bool, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.on, p.until
}
