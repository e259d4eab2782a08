package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"handrail/core/approval"
	"handrail/core/assistant"
	"handrail/core/audit"
	"handrail/core/hint"
)

// fakeWindow, in the environment, makes the test binary a window that does what it says.
const fakeWindow = "HANDRAIL_TEST_WINDOW"

func runFakeWindow(how string) {
	file := os.NewFile(3, "resident")
	conn, err := net.FileConn(file)
	if err != nil {
		os.Exit(90)
	}
	pushed := make(chan WindowSays, 10)
	talk, err := JoinWindow(conn, func(s WindowSays) { pushed <- s })
	if err != nil {
		os.Exit(91)
	}
	say := func(text string) { fmt.Fprint(conn, text) }
	switch how {
	case "asks":
		s, err := talk.Ask(WindowAsk{Page: &PageAsk{Most: 2}})
		if err != nil || len(s.Page.Records) != 2 || s.Page.Records[0].Text != "3" || s.Page.Next != 1 {
			os.Exit(92)
		}
		if s, err = talk.Ask(WindowAsk{Answer: "call"}); err != nil || s.Answer == nil || *s.Answer != "answered call" {
			os.Exit(93)
		}
		if s, err = talk.Ask(WindowAsk{Answer: "other"}); err != nil || s.Answer != nil {
			os.Exit(94)
		}
		if _, err = talk.Ask(WindowAsk{Look: "gone"}); err == nil || err.Error() != "it is not there: it was dropped" {
			os.Exit(95)
		}
		if s, err = talk.Ask(WindowAsk{Look: "change"}); err != nil || s.Look == nil || s.Look.Undo.Change != undone.Undo.Change {
			os.Exit(96)
		}
		if _, err = talk.Ask(WindowAsk{Undo: "change"}); err != nil {
			os.Exit(97)
		}
		if _, err = talk.Ask(WindowAsk{Show: "relative"}); err == nil {
			os.Exit(98)
		}
		if s, err = talk.Ask(WindowAsk{Settings: true}); err != nil || s.Settings == nil || s.Settings.Rows[0].Value != "ask" {
			os.Exit(101)
		}
		if s, err = talk.Ask(WindowAsk{Set: &SettingChange{"network", "never"}}); err != nil || s.Asks {
			os.Exit(102)
		}
		if s, err = talk.Ask(WindowAsk{Set: &SettingChange{"network", "ask"}}); err != nil || !s.Asks {
			os.Exit(103)
		}
		if _, err = talk.Ask(WindowAsk{Set: &SettingChange{"outside", "on"}}); err == nil || err.Error() != "there is no such setting" {
			os.Exit(104)
		}
		if _, err = talk.Ask(WindowAsk{}); err != nil { // nothing is nothing
			os.Exit(99)
		}
		one, two := <-pushed, <-pushed
		if one.Changed == two.Changed || one.Front == two.Front {
			os.Exit(100)
		}
		if _, err = talk.Ask(WindowAsk{Fronted: true}); err != nil {
			os.Exit(101)
		}
		os.Exit(42)
	case "connects":
		for _, a := range []ConnectAsk{{}, {Do: "allow"}, {Do: ConnectOne, ID: "nobody"}} {
			if _, err := talk.Ask(WindowAsk{Connect: &a}); err == nil {
				os.Exit(110)
			}
		}
		s, err := talk.Ask(WindowAsk{Connect: &ConnectAsk{Do: ConnectOne, ID: "cursor"}})
		if err != nil || len(s.Connect.Assistants) != 1 || s.Connect.Assistants[0].Problem != nil || s.Connect.Place != "place_trash" {
			os.Exit(111)
		}
		for _, name := range []string{"refused", "lost", "kept", "unsaid"} {
			if _, err := talk.Ask(WindowAsk{Connect: &ConnectAsk{Do: MakeToken, Name: name}}); err != nil {
				os.Exit(112)
			}
			got := (<-pushed).Token
			do := TokenKept
			switch {
			case got == nil || got.Name != name || (got.Token == "") != (name == "refused") || (got.Error == "refused") != (name == "refused"):
				os.Exit(113)
			case name == "refused":
				continue
			case name == "unsaid":
				os.Exit(45)
			case name == "lost":
				do = TokenLost
			}
			if _, err := talk.Ask(WindowAsk{Connect: &ConnectAsk{Do: do}}); err != nil {
				os.Exit(114)
			}
		}
	case "closes":
		_, _ = talk.Ask(WindowAsk{Undo: "change"})
		for s := range pushed {
			if s.Front {
				os.Exit(44) // it was being closed
			}
		}
	case "no JSON":
		say("allow\n")
	case "an unknown field":
		say(`{"id":1,"allow":true}` + "\n")
	case "two in a line":
		say(`{"id":1} {"id":2}` + "\n")
	case "no ID":
		say(`{"page":{"most":1}}` + "\n")
	case "too long":
		say(`{"id":1,"answer":"` + strings.Repeat("x", maxAsk) + `"}` + "\n")
	case "waits":
	}
	<-talk.Gone()
	os.Exit(43)
}

// shelf is a core as windows see it.
type shelf struct {
	Connector
	mu      sync.Mutex
	changed func()
	undone  []string
	seen    chan struct{} // a page was asked for
}

func (s *shelf) Subscribe(f func()) func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = f
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed = func() {}
	}
}

func (s *shelf) Records(before int64, most, size int) ([]audit.Record, int64, error) {
	return []audit.Record{{Seq: 3, Text: "3"}, {Seq: 2, Text: "2"}}[:most], 1, nil
}

func (s *shelf) Answer(call string) (string, bool) { return "answered " + call, call == "call" }

func (s *shelf) LookUndo(change string) (approval.Request, error) {
	if change != "change" {
		return approval.Request{}, hint.New("not_found", "it is not there").Because("it was dropped").Wrap(errors.New("a path that no window needs"))
	}
	return undone, nil
}

func (s *shelf) Settings() Settings {
	return Settings{Rows: []Setting{{Name: "network", Value: "ask", Values: []string{"never", "ask"}}}}
}

func (s *shelf) ChangeSetting(c SettingChange) (bool, error) {
	if c.Name != "network" {
		return false, hint.New("none", "there is no such setting")
	}
	return c.Value == "ask", nil
}

func (s *shelf) AskUndo(change string) error {
	s.mu.Lock()
	s.undone = append(s.undone, change)
	s.mu.Unlock()
	close(s.seen)
	return nil
}

// fakeWindows are windows whose process is this test's binary.
func fakeWindows(s *shelf, how string) (w *Windows, started *[]*exec.Cmd) {
	w, started = NewWindows(s, NewWords("en").Fixed(), "/home/ann"), new([]*exec.Cmd)
	w.start = func(name string) (*windowProcess, error) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = []string{fakeWindow + "=" + how}
		*started = append(*started, cmd)
		return runWindow(cmd, func(int) error { return nil })
	}
	return w, started
}

func TestWindowAsks(t *testing.T) {
	s := &shelf{seen: make(chan struct{})}
	w, started := fakeWindows(s, "asks")
	defer w.Close()
	if err := w.Open("no such window"); err == nil {
		t.Error("a window that there isn't")
	}
	must(t, w.Open("activity"))
	select {
	case <-s.seen:
	case <-time.After(time.Minute):
		t.Fatal("it asks nothing")
	}
	s.mu.Lock()
	for range 10 { // said once
		s.changed()
	}
	s.mu.Unlock()
	must(t, w.Open("activity"))
	w.served.Wait()
	if code := (*started)[0].ProcessState.ExitCode(); code != 42 || len(*started) != 1 {
		t.Errorf("it ended with %d, %d were started", code, len(*started))
	}
	if len(s.undone) != 1 || s.undone[0] != "change" {
		t.Errorf("undone: %v", s.undone)
	}
}

// Whatever doesn't speak as a window does is ended, and was told nothing but the hello.
func TestWindowJunk(t *testing.T) {
	for _, how := range []string{"no JSON", "an unknown field", "two in a line", "no ID", "too long"} {
		t.Run(how, func(t *testing.T) {
			s := &shelf{seen: make(chan struct{})}
			w, started := fakeWindows(s, how)
			must(t, w.Open("activity"))
			w.served.Wait()
			if len(s.undone) != 0 || (*started)[0].ProcessState == nil {
				t.Errorf("undone %v, ended: %v", s.undone, (*started)[0].ProcessState)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if len(w.open) != 0 {
				t.Error("it counts as open")
			}
		})
	}
}

// connecting is a core as the connect window sees it.
type connecting struct {
	shelf
	done    []string
	revoked chan string
}

func (c *connecting) Assistants() ([]assistant.Assistant, error) {
	return []assistant.Assistant{{ID: "cursor", State: assistant.Broken, Problem: hint.New("config_unreadable", "a line of the file")}}, hint.New("place_trash", "it is in the trash")
}

func (c *connecting) ConnectAssistant(id string) (assistant.Change, error) {
	if id != "cursor" {
		return assistant.Change{}, hint.New("unknown_assistant", "there is none")
	}
	c.done = append(c.done, id)
	return assistant.Change{}, nil
}

func (c *connecting) Pairing() (string, time.Time) { return "", time.Time{} }

func (c *connecting) Tunnel() (host, wanted string) { return "mine.example.com", "" }

func (c *connecting) AskToken(_ context.Context, name string) (token, url string, err error) {
	if name == "refused" {
		return "", "", hint.New("refused", "the person said no")
	}
	return "hr_secret", "http://127.0.0.1:7437/mcp", nil
}

func (c *connecting) RevokeToken(name string) error {
	c.revoked <- name
	return nil
}

// all gives what is in a closed channel, in order.
func all(c <-chan string) (list []string) {
	for s := range c {
		list = append(list, s)
	}
	slices.Sort(list)
	return list
}

// What the connect window asks is done; a token that it doesn't say it has kept is taken back.
func TestWindowConnects(t *testing.T) {
	c := &connecting{revoked: make(chan string, 4)}
	w, started := fakeWindows(&c.shelf, "connects")
	w.host = c
	must(t, w.Open("connect"))
	w.served.Wait()
	if code := (*started)[0].ProcessState.ExitCode(); code != 45 {
		t.Errorf("it ended with %d", code)
	}
	close(c.revoked)
	if revoked := all(c.revoked); !slices.Equal(c.done, []string{"cursor"}) || !slices.Equal(revoked, []string{"lost", "unsaid"}) {
		t.Errorf("done %v, revoked %v", c.done, revoked)
	}
}

// A window that is being closed when the person opens it again comes back.
func TestWindowOpenedWhileItCloses(t *testing.T) {
	s := &shelf{seen: make(chan struct{})}
	w, started := fakeWindows(s, "closes")
	again, _ := fakeWindows(s, "waits")
	begun := make(chan struct{}, 2)
	start := w.start
	w.start = func(name string) (*windowProcess, error) {
		p, err := start(name)
		start = again.start
		begun <- struct{}{}
		return p, err
	}
	must(t, w.Open("activity"))
	<-begun
	<-s.seen
	must(t, w.Open("activity"))
	select {
	case <-begun:
	case <-time.After(time.Minute):
		t.Fatal("it doesn't come back")
	}
	w.Close()
	if code := (*started)[0].ProcessState.ExitCode(); code != 44 {
		t.Errorf("the first ended with %d", code)
	}
}

func TestWindowEndsWithUs(t *testing.T) {
	s := &shelf{seen: make(chan struct{})}
	w, started := fakeWindows(s, "waits")
	must(t, w.Open("activity"))
	w.Close()
	if code := (*started)[0].ProcessState.ExitCode(); code != 43 && code != 91 { // 91: before it had the hello
		t.Errorf("it ended with %d", code)
	}
	if err := w.Open("activity"); err == nil {
		t.Error("it opens after the end")
	}
}

func TestWindowDoesNotStart(t *testing.T) {
	w := NewWindows(&shelf{}, NewWords("en").Fixed(), "")
	w.start = func(string) (*windowProcess, error) {
		return runWindow(exec.Command(os.Args[0], "-test.run=^$"), func(int) error { return errors.New("another file") })
	}
	if err := w.Open("activity"); err == nil || !strings.Contains(err.Error(), "isn't ours") || len(w.open) != 0 {
		t.Errorf("%v, %d open", err, len(w.open))
	}
	w.Close()
}

func TestJoinWindow(t *testing.T) {
	for _, hello := range []string{"", "\n", "{}\n", `{"hello":{"version":2,"window":"activity"}}` + "\n", `{"hello":{"version":1,"window":"x"}}` + "\n", `{"hello":{"version":1,"window":"activity"},"x":1}` + "\n"} {
		ours, theirs := net.Pipe()
		go func() {
			fmt.Fprint(ours, hello)
			ours.Close()
		}()
		if _, err := JoinWindow(theirs, nil); err == nil {
			t.Errorf("%q is a hello", hello)
		}
	}
}
