// Package release learns, at most once a day, whether a newer version of Handrail is out, and tells. It downloads and
// installs nothing.
//
// What it asks for is one small file, the [Feed], at an address that is compiled into a release together with the key that
// signs it. The request is the same for everybody: no version, no name, no cookie. A development build has neither
// address nor key and asks for nothing.
//
//	source, err := release.ParseSource(address, key)
//	u := release.New(release.Options{Source: source, Version: "v1.2.0", State: dir})
//	go u.Run(ctx, changed)
//	u.Status() // {Available v1.3.0}
//
// Who controls the network, or the computer that serves the feed, can hold a new feed back until the last one expires, and
// then it shows ([Stale]). They can't make Handrail tell of a version that was never released, nor of an older one than
// runs or than it has told of before. That last is kept in a file in the state folder: who may write that can make it
// forget.
//
// It uses [handrail/core/statefile] and nothing else of the project.
package release

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/semver"

	"handrail/core/statefile"
)

const (
	every   = 24 * time.Hour      // between two requests, also after one that failed
	first   = time.Minute         // after the start
	look    = time.Hour           // how often the clock is looked at: timers stand still while a computer sleeps
	patient = 30 * 24 * time.Hour // without an answer, until that is told
	timeout = 30 * time.Second
)

// State is what is known.
type State uint8

const (
	Unknown   State = iota // nothing yet, or this build never asks
	Current                // no newer version is out
	Available              // a newer version is out
	Stale                  // for a month nothing could be learned
	Off                    // the person switched it off
)

var stateNames = [...]string{"unknown", "current", "available", "stale", "off"}

// String is the state's name.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return stateNames[Unknown]
}

// Status is what a menu shows.
type Status struct {
	State State
	// Version is the newest, "v1.2.3", for Current and Available.
	Version string
	// Since is when something was last learned, for Stale; before that, when it was first tried.
	Since time.Time
}

// Options make an [Updates].
type Options struct {
	Source Source
	// Version is the one that runs, "v1.2.3", perhaps with more after it as git describes it. Any other never asks.
	Version string
	// State is the folder of Handrail's own files; it must be there.
	State string
	// Transport carries the request; nil: the system's proxy settings and certificates.
	Transport http.RoundTripper
	// Log gets what went wrong; nil: nobody.
	Log *slog.Logger
}

// Updates keeps what is known. Its methods may be called from any goroutine.
type Updates struct {
	o      Options
	client *http.Client
	wake   chan struct{}

	mu     sync.Mutex
	status Status
}

// kept is what stands in the state folder between two runs.
type kept struct {
	Off bool `json:"off,omitempty"`
	// Tried is when it was last asked, Since when something was last learned or else first tried.
	Tried time.Time `json:"tried,omitzero"`
	Since time.Time `json:"since,omitzero"`
	// Feed is the text of the newest feed, whose signature is checked each time it is read.
	Feed string `json:"feed,omitempty"`
}

// New reads what is kept. It asks for nothing.
func New(o Options) *Updates {
	o.Version, _, _ = strings.Cut(o.Version, "-")
	if !releaseVersion.MatchString(o.Version) {
		o.Version = ""
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.DisableKeepAlives = true
		o.Transport = t
	}
	u := &Updates{o: o, wake: make(chan struct{}, 1), client: &http.Client{Transport: o.Transport, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("it leads elsewhere") }}}
	k, err := u.read()
	if err != nil {
		u.o.Log.Warn("reading what is known of updates", "error", err)
	}
	u.judge(k, time.Now())
	return u
}

// asks says whether this build ever asks.
func (u *Updates) asks() bool { return u.o.Source.url != "" && u.o.Version != "" }

// Status gives what is known now.
func (u *Updates) Status() Status {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.status
}

// Run asks once a day until ctx ends. changed is called after the status changed, without a lock.
func (u *Updates) Run(ctx context.Context, changed func()) {
	if !u.asks() {
		return
	}
	wait := time.NewTimer(first)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wait.C:
		case <-u.wake:
		}
		before := u.Status()
		if err := u.step(ctx); err != nil && ctx.Err() == nil {
			u.o.Log.Warn("looking for a newer version", "error", err)
		}
		if u.Status() != before {
			changed()
		}
		wait.Reset(look)
	}
}

// Switch turns the asking on or off, for good.
func (u *Updates) Switch(on bool) error {
	err := u.change(func(k *kept) error { k.Off = !on; return nil })
	select {
	case u.wake <- struct{}{}:
	default: // it will look anyway
	}
	return err
}

// step asks if it is time to.
func (u *Updates) step(ctx context.Context) error {
	due := false
	// That it was tried is kept before it is: a program that ends each time it asks must not ask each time it starts.
	err := u.change(func(k *kept) error {
		now := time.Now()
		if k.Tried.After(now) { // the clock was put back
			k.Tried = time.Time{}
		}
		if k.Since.IsZero() || k.Since.After(now) {
			k.Since = now
		}
		if due = !k.Off && now.Sub(k.Tried) >= every; due {
			k.Tried = now
		}
		return nil
	})
	if err != nil || !due {
		return err
	}
	text, err := u.fetch(ctx)
	if err != nil {
		return err
	}
	return u.change(func(k *kept) error { return u.learn(k, text, time.Now()) })
}

// fetch gets the feed's text. The request says nothing of who asks.
func (u *Updates) fetch(ctx context.Context) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.o.Source.url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "Handrail")
	request.Header.Set("Accept-Encoding", "identity")
	answer, err := u.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answered %d", answer.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, largest+1))
	if err != nil {
		return nil, err
	}
	if len(text) > largest {
		return nil, fmt.Errorf("the feed is larger than %d bytes", largest)
	}
	return text, nil
}

// learn takes a feed that isn't older than what is kept.
func (u *Updates) learn(k *kept, text []byte, now time.Time) error {
	f, err := u.o.Source.read(text)
	if err != nil {
		return fmt.Errorf("checking the feed: %w", err)
	}
	if !f.Expires.After(now) {
		return fmt.Errorf("the feed expired on %s", f.Expires.Format(time.DateOnly))
	}
	if old, err := u.o.Source.read([]byte(k.Feed)); err == nil {
		if f.Serial < old.Serial || f.Serial == old.Serial && k.Feed != string(text) || semver.Compare(f.Version, old.Version) < 0 {
			return fmt.Errorf("the feed is an older one: number %d with %s after %d with %s", f.Serial, f.Version, old.Serial, old.Version)
		}
	}
	k.Feed, k.Since = string(text), now
	return nil
}

// judge says what follows from what is kept.
func (u *Updates) judge(k kept, now time.Time) {
	s := Status{}
	f, err := u.o.Source.read([]byte(k.Feed))
	switch {
	case !u.asks():
	case k.Off:
		s.State = Off
	case err == nil && semver.Compare(f.Version, u.o.Version) > 0: // stays true after the feed expired
		s = Status{State: Available, Version: f.Version}
	case err == nil && now.Before(f.Expires) && now.Sub(k.Since) < patient:
		s = Status{State: Current, Version: f.Version}
	case !k.Since.IsZero() && now.Sub(k.Since) >= patient:
		s = Status{State: Stale, Since: k.Since}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.status = s
}

func (u *Updates) file() string { return filepath.Join(u.o.State, "update.json") }

func (u *Updates) read() (kept, error) {
	var k kept
	text, err := os.ReadFile(u.file())
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err != nil {
		return kept{}, err
	}
	return k, nil
}

// change changes what is kept, and judges anew also when it can't.
func (u *Updates) change(how func(*kept) error) error {
	unlock, err := statefile.Lock(u.file())
	if err != nil {
		return err
	}
	defer unlock()
	k, err := u.read()
	if err != nil {
		u.o.Log.Warn("reading what is known of updates: starting anew", "error", err)
	}
	before, err := json.Marshal(k)
	if err != nil {
		return err
	}
	failed := how(&k)
	after, err := json.Marshal(k)
	if err == nil && !bytes.Equal(before, after) {
		err = statefile.Replace(u.file(), after)
	}
	u.judge(k, time.Now())
	return errors.Join(failed, err)
}
