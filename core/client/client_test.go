package client

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestLevels(t *testing.T) {
	for level := None; level <= Trusted; level++ {
		got, err := ParseLevel(level.String())
		if err != nil || got != level {
			t.Errorf("ParseLevel(%q) = %v, %v", level, got, err)
		}
	}
	for _, bad := range []string{"", "Ask", "all", "trusted ", "4"} {
		if got, err := ParseLevel(bad); err == nil || got != None {
			t.Errorf("ParseLevel(%q) = %v, %v: want none and an error", bad, got, err)
		}
	}
	if s := Level(200).String(); s != "none" {
		t.Errorf("an unknown level reads %q", s)
	}
}

func TestZeroSession(t *testing.T) {
	for _, s := range []*Session{nil, {}} {
		if s.Context().Err() == nil {
			t.Error("a zero session is alive")
		}
	}
	if (&Session{}).Level != None {
		t.Error("a zero session may do something")
	}
	if FromContext(t.Context()) != nil || Gone(t.Context()) != nil {
		t.Error("a plain context has a session or a client that can go")
	}
}

func TestContext(t *testing.T) {
	s, gone := &Session{ID: "x"}, make(chan struct{})
	ctx := WithGone(WithSession(t.Context(), s), gone)
	if FromContext(ctx) != s || Gone(ctx) == nil {
		t.Error("the context lost its session or channel")
	}
	close(gone)
	<-Gone(ctx)
}

func TestUse(t *testing.T) {
	one, two := Identity{ID: "http:one"}, Identity{ID: "http:two"}
	for _, c := range []struct {
		name string
		then func(s *Sessions) // after a first use of "k" by one at Ask, called and done
		who  Identity
		at   Level
		key  string
		same bool
	}{
		{"again", nil, one, Ask, "k", true},
		{"another key", nil, one, Ask, "l", false},
		{"another credential", nil, two, Ask, "k", false},
		{"a lower level", nil, one, Look, "k", false},
		{"a higher level", nil, one, Trusted, "k", false},
		{"before it is idle", func(*Sessions) { time.Sleep(MaxIdle - time.Second) }, one, Ask, "k", true},
		{"idle", func(*Sessions) { time.Sleep(MaxIdle + time.Second) }, one, Ask, "k", false},
		{"kept in use, too old", func(s *Sessions) {
			for range int(MaxAge/(20*time.Minute)) + 1 {
				time.Sleep(20 * time.Minute)
				_, done := s.Use("k", one, Ask)
				done()
			}
		}, one, Ask, "k", false},
		{"ended by key", func(s *Sessions) { s.EndKey("k") }, one, Ask, "k", false},
		{"another one ended by key", func(s *Sessions) { s.EndKey("l") }, one, Ask, "k", true},
		{"ended by client", func(s *Sessions) { s.EndClient("http:one") }, one, Ask, "k", false},
		{"another client's ended", func(s *Sessions) { s.EndClient("http:two") }, one, Ask, "k", true},
		{"all ended", func(s *Sessions) { s.EndAll() }, one, Ask, "k", false},
		{"too many others", func(s *Sessions) {
			for i := range MaxSessions {
				time.Sleep(time.Millisecond)
				_, done := s.Use(fmt.Sprint(i), one, Ask)
				done()
			}
		}, one, Ask, "k", false},
		{"too many of another client", func(s *Sessions) {
			for i := range MaxSessions {
				_, done := s.Use(fmt.Sprint(i), two, Ask)
				done()
			}
		}, one, Ask, "k", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sessions := NewSessions(nil)
				defer sessions.EndAll()
				first, done := sessions.Use("k", one, Ask)
				done()
				if c.then != nil {
					c.then(sessions)
				}
				second, done := sessions.Use(c.key, c.who, c.at)
				defer done()
				if (first == second) != c.same {
					t.Errorf("same session: %v, want %v", first == second, c.same)
				}
				if second.Context().Err() != nil || second.Level != c.at || second.Client.ID != c.who.ID {
					t.Errorf("the session in use is %+v", second)
				}
				if c.key == "k" && !c.same && first.Context().Err() == nil {
					t.Error("the session that was replaced is alive")
				}
			})
		})
	}
}

// A session isn't idle while a call runs, however long that takes.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sessions := NewSessions(nil)
		s, done := sessions.Use("k", Identity{ID: "a"}, Ask)
		time.Sleep(3 * MaxIdle)
		for i := range 2 * MaxSessions {
			_, d := sessions.Use(fmt.Sprint(i), Identity{ID: "a"}, Ask)
			d()
		}
		synctest.Wait()
		if s.Context().Err() != nil {
			t.Fatal("it ended while it was in use")
		}
		done()
		done() // twice is once
		time.Sleep(MaxIdle + time.Minute)
		synctest.Wait()
		if s.Context().Err() == nil {
			t.Error("it lives on after its last call")
		}
		if n := len(sessions.Live()); n != 0 {
			t.Errorf("%d sessions live", n)
		}
	})
}

func TestConnectLivesUntilEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan *Session, 1)
		sessions := NewSessions(func(s *Session) { ended <- s })
		s := sessions.Connect(Identity{ID: "stdio:x"}, Look)
		time.Sleep(10 * MaxAge)
		if s.Context().Err() != nil || !slices.Contains(sessions.Live(), s) {
			t.Fatal("a connected client's session ended by itself")
		}
		sessions.End("nobody")
		sessions.End(s.ID)
		sessions.End(s.ID)
		if got := <-ended; got != s || s.Context().Err() == nil {
			t.Error("it didn't end")
		}
		synctest.Wait()
		if len(ended) != 0 {
			t.Error("it ended twice")
		}
	})
}

func TestSessionIDs(t *testing.T) {
	sessions := NewSessions(nil)
	defer sessions.EndAll()
	a := sessions.Connect(Identity{ID: "x"}, Look)
	b := sessions.Connect(Identity{ID: "x"}, Look)
	if a.ID == b.ID || len(a.ID) < 26 {
		t.Errorf("session ids %q and %q", a.ID, b.ID)
	}
}

func TestUseInParallel(t *testing.T) {
	sessions := NewSessions(func(*Session) {})
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			for range 100 {
				s, done := sessions.Use(fmt.Sprint(i%7), Identity{ID: "c"}, Ask)
				if i == 0 {
					sessions.End(s.ID)
				}
				done()
			}
		})
	}
	all.Wait()
	sessions.EndAll()
	if n := len(sessions.Live()); n != 0 {
		t.Errorf("%d sessions live", n)
	}
}

func TestLabel(t *testing.T) {
	for _, c := range []struct {
		who  Identity
		want string
	}{
		{Identity{}, "unknown program"},
		{Identity{Program: "/usr/bin/x"}, "/usr/bin/x"},
		{Identity{Name: "claude", Program: "/usr/bin/x"}, "claude"},
	} {
		if got := c.who.Label(); got != c.want {
			t.Errorf("%+v is shown as %q, want %q", c.who, got, c.want)
		}
	}
}
