package app

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"handrail/core/approval"
	"handrail/core/audit"
	"handrail/core/hint"
)

// A window is a process of its own, handrail-ui, and this is all that is said between it and us: lines of JSON on one end of a pair
// of sockets that it inherits as descriptor 3, so that no other process can speak for it.
//
//	resident  {"hello":{"version":1,"window":"activity","language":"th"}}
//	window    {"id":1,"page":{"most":500}}
//	resident  {"id":1,"page":{"records":[…],"next":4711}}
//	resident  {"changed":true}          something has changed; said once until the window asks for a page, or the settings
//	resident  {"front":true}            the person opened it again
//	window    {"id":2,"fronted":true}   and it has come to the front: one that ends without having said so is opened anew
//
// A window shows and narrows. It allows nothing: what it asks to be undone, and what it would set wider, is asked in a dialog, by the core. The connection ends
// with the window's process, and the process with the connection. What isn't of this form ends both.

const windowVersion = 1

// WindowHello is the first thing that a window is told.
type WindowHello struct {
	Version  int    `json:"version"`
	Window   string `json:"window"`
	Language string `json:"language"`
	Home     string `json:"home"`
}

// WindowAsk is what a window asks: one of the fields besides ID is set.
type WindowAsk struct {
	ID   int      `json:"id"`
	Page *PageAsk `json:"page,omitempty"`
	// Answer is a call whose answer is wanted; Look a change of which is wanted what undoing it would do; Undo one that the person
	// is to be asked about; Show a file that the file manager is to show.
	Answer string `json:"answer,omitempty"`
	Look   string `json:"look,omitempty"`
	Undo   string `json:"undo,omitempty"`
	Show   string `json:"show,omitempty"`
	// Settings asks for the settings; Set changes one, or has the person asked.
	Settings bool           `json:"settings,omitempty"`
	Set      *SettingChange `json:"set,omitempty"`
	// Connect is what the connect window asks.
	Connect *ConnectAsk `json:"connect,omitempty"`
	// Fronted says that it has come to the front, as it was told.
	Fronted bool `json:"fronted,omitempty"`
}

// PageAsk asks for records of the activity log, as audit.Log.Page has it.
type PageAsk struct {
	Before int64 `json:"before,omitempty"`
	Most   int   `json:"most"`
}

// WindowSays is what a window is told: the answer to what it asked, or without an ID something that happened.
type WindowSays struct {
	ID     int               `json:"id,omitempty"`
	Hello  *WindowHello      `json:"hello,omitempty"`
	Page   *Page             `json:"page,omitempty"`
	Answer *string           `json:"answer,omitempty"`
	Look   *approval.Request `json:"look,omitempty"`
	Done   bool              `json:"done,omitempty"`
	// Asks says that the person is asked in a dialog about what was to be set.
	Settings *Settings `json:"settings,omitempty"`
	Asks     bool      `json:"asks,omitempty"`
	// Error says what went wrong, Code is that of its hint.
	Error string `json:"error,omitempty"`
	Code  string `json:"code,omitempty"`
	// Connect is how assistants stand, Token one that was just made.
	Connect *Connections `json:"connect,omitempty"`
	Token   *NewToken    `json:"token,omitempty"`
	Changed bool         `json:"changed,omitempty"`
	Front   bool         `json:"front,omitempty"`
}

// Page are records, the newest first, and where the next older ones are; 0 for none.
type Page struct {
	Records []audit.Record `json:"records"`
	Next    int64          `json:"next"`
}

// Bounds of one message, and of what a page holds.
const (
	maxAsk      = 16 << 10
	maxSays     = 4 << 20
	mostRecords = 2000
	pageBytes   = 1 << 20
)

// WindowHost is the core as windows see it. Its methods may be called on any goroutine.
type WindowHost interface {
	Subscribe(changed func()) (cancel func())
	// Records is audit.Log.Page.
	Records(before int64, most, size int) (records []audit.Record, next int64, err error)
	// Answer is what a call was answered, as long as that is held.
	Answer(call string) (text string, ok bool)
	// LookUndo is the question that AskUndo would ask now.
	LookUndo(change string) (approval.Request, error)
	AskUndo(change string) error
	// Settings is what can be set. ChangeSetting sets it at once where that allows nothing more, and else has the person asked in a
	// dialog; asks says so.
	Settings() Settings
	ChangeSetting(c SettingChange) (asks bool, err error)
	Connector
}

// Windows opens windows, at most one of a kind. Make one with NewWindows.
type Windows struct {
	host  WindowHost
	words func() Words
	home  string
	start func(name string) (*windowProcess, error)

	mu     sync.Mutex
	open   map[string]*window
	closed bool
	served sync.WaitGroup
}

// NewWindows gives the windows of a host, each in the language of words when it opens. home is the person's home folder.
func NewWindows(host WindowHost, words func() Words, home string) *Windows {
	return &Windows{host: host, words: words, home: home, start: startWindow, open: make(map[string]*window)}
}

// windowNames are the windows that there are.
var windowNames = map[string]bool{"activity": true, "settings": true, "connect": true, "welcome": true}

// Open opens a window, or brings it to the front if it is open.
func (w *Windows) Open(name string) error {
	if !windowNames[name] {
		return fmt.Errorf("opening the window %q: there is none", name)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return errors.New("opening a window: Handrail is about to quit")
	}
	if x := w.open[name]; x != nil {
		x.unseen.Add(1)
		go x.say(WindowSays{Front: true})
		return nil
	}
	return w.begin(name)
}

// begin starts a window's process and serves it. w.mu is held.
func (w *Windows) begin(name string) error {
	p, err := w.start(name)
	if err != nil {
		return fmt.Errorf("opening the window %s: %w", name, err)
	}
	x := &window{windowProcess: p, host: w.host, told: true}
	x.life, x.over = context.WithCancel(context.Background())
	w.open[name] = x
	w.served.Go(func() {
		x.serve(WindowHello{Version: windowVersion, Window: name, Language: w.words().Language(), Home: w.home})
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.open, name)
		if x.unseen.Load() > 0 && !w.closed { // it was being closed when the person opened it again
			_ = w.begin(name)
		}
	})
	return nil
}

// Close ends all windows and waits until they are gone. None opens any more.
func (w *Windows) Close() {
	w.mu.Lock()
	w.closed = true
	for _, x := range w.open {
		x.conn.Close()
	}
	w.mu.Unlock()
	w.served.Wait()
}

// windowProcess is a window's process, and our end of the connection to it.
type windowProcess struct {
	conn   net.Conn
	cmd    *exec.Cmd
	stderr head
}

// runWindow starts cmd with a connection as its descriptor 3, and calls check before anything is told to it.
func runWindow(cmd *exec.Cmd, check func(pid int) error) (*windowProcess, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	p := &windowProcess{cmd: cmd}
	cmd.ExtraFiles, cmd.Stderr, cmd.WaitDelay = []*os.File{theirs}, &p.stderr, time.Second
	err = cmd.Start()
	theirs.Close()
	if err == nil {
		if err = check(cmd.Process.Pid); err != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			err = fmt.Errorf("the process that started isn't ours: %w", err)
		}
	}
	if err == nil {
		p.conn, err = net.FileConn(ours)
		if err != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	ours.Close()
	if err != nil {
		return nil, err
	}
	return p, nil
}

// window is an open window, as the resident serves it.
type window struct {
	*windowProcess
	host WindowHost
	// unseen counts how often it was told to come to the front and hasn't yet.
	unseen atomic.Int32
	// life ends with it; asked are the questions that it had asked.
	life  context.Context
	over  context.CancelFunc
	asked sync.WaitGroup
	// kept, while it waits for a token, gets whether it has put that where it belongs.
	kept atomic.Pointer[chan bool]

	mu   sync.Mutex // guards writing, and told
	told bool       // it knows that the log has grown, or hasn't looked at it yet
}

// serve answers until the window is gone, and ends its process.
func (x *window) serve(hello WindowHello) {
	defer func() {
		x.over()
		x.conn.Close()
		ended := time.AfterFunc(10*time.Second, func() { _ = x.cmd.Process.Kill() })
		_ = x.cmd.Wait()
		ended.Stop()
		x.asked.Wait()
	}()
	x.say(WindowSays{Hello: &hello})
	defer x.host.Subscribe(func() { go x.changed() })()
	lines := bufio.NewScanner(x.conn)
	lines.Buffer(make([]byte, 0, 4<<10), maxAsk)
	for lines.Scan() {
		var a WindowAsk
		if decodeLine(lines.Bytes(), &a) != nil || a.ID <= 0 {
			_ = x.cmd.Process.Kill() // it isn't one of ours, or out of its mind
			return
		}
		says := x.answer(a)
		says.ID = a.ID
		if !x.say(says) {
			return
		}
	}
}

// changed tells the window once that the log has grown.
func (x *window) changed() {
	x.mu.Lock()
	told := x.told
	x.told = true
	x.mu.Unlock()
	if !told {
		x.say(WindowSays{Changed: true})
	}
}

// say sends a message, and reports whether it went out. A window that doesn't read is closed.
func (x *window) say(s WindowSays) bool {
	text, err := json.Marshal(s)
	if err != nil || len(text) >= maxSays {
		text, _ = json.Marshal(WindowSays{ID: s.ID, Error: "it is too much to show"})
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	_ = x.conn.SetWriteDeadline(time.Now().Add(30 * time.Second))
	if _, err := x.conn.Write(append(text, '\n')); err != nil {
		x.conn.Close()
		return false
	}
	return true
}

func (x *window) answer(a WindowAsk) (s WindowSays) {
	var err error
	switch {
	case a.Page != nil:
		x.mu.Lock()
		x.told = false
		x.mu.Unlock()
		p := new(Page)
		if p.Records, p.Next, err = x.host.Records(a.Page.Before, min(a.Page.Most, mostRecords), pageBytes); err == nil {
			s.Page = p
		}
	case a.Answer != "":
		if text, ok := x.host.Answer(a.Answer); ok {
			s.Answer = &text
		}
	case a.Look != "":
		var r approval.Request
		if r, err = x.host.LookUndo(a.Look); err == nil {
			s.Look = &r
		}
	case a.Undo != "":
		err = x.host.AskUndo(a.Undo)
	case a.Settings:
		x.mu.Lock()
		x.told = false
		x.mu.Unlock()
		all := x.host.Settings()
		s.Settings = &all
	case a.Set != nil:
		s.Asks, err = x.host.ChangeSetting(*a.Set)
	case a.Show != "":
		err = revealFile(a.Show)
	case a.Connect != nil:
		s.Connect, err = x.connect(*a.Connect)
	case a.Fronted:
		x.unseen.Add(-1)
	}
	if err != nil {
		s.Error = err.Error()
		if h := (*hint.Hint)(nil); errors.As(err, &h) {
			s.Error, s.Code = h.What, h.Code
			if h.Why != "" {
				s.Error += ": " + h.Why
			}
		}
	}
	s.Done = err == nil
	return s
}

func decodeLine(line []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return errors.New("more than one message in a line")
	}
	return nil
}

// WindowTalk is a window's end of the connection.
type WindowTalk struct {
	Hello WindowHello

	conn   io.ReadWriteCloser
	pushed func(WindowSays)
	gone   chan struct{}

	mu      sync.Mutex
	waiting map[int]chan WindowSays
	last    int
}

// JoinWindow reads the hello, and then everything: pushed is called, one at a time, with what happens. It is an error when there
// is no hello, or one of another version.
func JoinWindow(conn io.ReadWriteCloser, pushed func(WindowSays)) (*WindowTalk, error) {
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, 0, 64<<10), maxSays)
	var s WindowSays
	if !lines.Scan() {
		return nil, fmt.Errorf("reading the hello: %w", cmp.Or(lines.Err(), io.ErrUnexpectedEOF))
	}
	if err := decodeLine(lines.Bytes(), &s); err != nil {
		return nil, fmt.Errorf("reading the hello: %w", err)
	}
	if s.Hello == nil || s.Hello.Version != windowVersion || !windowNames[s.Hello.Window] {
		return nil, errors.New("reading the hello: it is none that this window knows")
	}
	t := &WindowTalk{Hello: *s.Hello, conn: conn, pushed: pushed, gone: make(chan struct{}), waiting: make(map[int]chan WindowSays)}
	go func() {
		defer close(t.gone)
		for lines.Scan() {
			var s WindowSays
			if decodeLine(lines.Bytes(), &s) != nil {
				return
			}
			t.mu.Lock()
			c := t.waiting[s.ID]
			delete(t.waiting, s.ID)
			t.mu.Unlock()
			switch {
			case c != nil:
				c <- s
			case s.ID == 0:
				t.pushed(s)
			}
		}
	}()
	return t, nil
}

// Gone closes when the resident is gone, or speaks otherwise than it should.
func (t *WindowTalk) Gone() <-chan struct{} { return t.gone }

// Ask asks and waits for the answer. An error is also what the resident says that went wrong.
func (t *WindowTalk) Ask(a WindowAsk) (WindowSays, error) {
	c := make(chan WindowSays, 1)
	t.mu.Lock()
	t.last++
	a.ID = t.last
	t.waiting[a.ID] = c
	text, err := json.Marshal(a)
	if err == nil {
		_, err = t.conn.Write(append(text, '\n'))
	}
	t.mu.Unlock()
	if err != nil {
		return WindowSays{}, fmt.Errorf("asking Handrail: %w", err)
	}
	select {
	case s := <-c:
		if s.Error != "" {
			return s, errors.New(s.Error)
		}
		return s, nil
	case <-t.gone:
		return WindowSays{}, errors.New("asking Handrail: it is gone")
	}
}
