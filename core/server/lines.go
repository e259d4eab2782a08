package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"handrail/core/client"
)

// maxLine is the longest message on stdio and the socket, in bytes.
const maxLine = 16 << 20

// maxCalls is how many calls of one client on a stream may be without an answer, and how many answers may wait to be read. Package
// tool makes far fewer at once; this bounds memory against a client that sends without reading.
const maxCalls = 1000

// linger is how long calls that still run when a client has closed its side may take to answer: enough for what is
// nearly done, so that `printf … | handrail serve --stdio` prints its answers.
const linger = time.Second

// ServeStdio serves one client, one JSON-RPC message a line (MCP, transports: stdio), until in ends or ctx is over; both
// are no error. Calls that still run are then cancelled. A line that isn't a message is answered with a JSON-RPC error and
// the rest goes on. Nothing but messages is written to out.
//
// It returns within some seconds of ctx's end, even when in can't be interrupted: then a goroutine still waits in Read.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer, who client.Identity) error {
	return s.serveLines(ctx, newLines(bufio.NewReaderSize(in, 64<<10), out, nil), who)
}

// serveLines serves one client on a stream.
func (s *Server) serveLines(ctx context.Context, l *lines, who client.Identity) error {
	if s.opts.Level == nil {
		return errors.New("serving a client: Options.Level is needed")
	}
	endCalls, cancel := context.WithCancelCause(context.Background())
	defer cancel(errStopping)
	c := &connection{server: s, who: who, lines: l, ends: endCalls}
	defer c.end()
	l.extra = &mcp.RequestExtra{TokenInfo: extra(c, who.ID)}
	session, err := s.level(s.opts.Level(who)).Connect(context.WithoutCancel(ctx), l, nil)
	if err != nil {
		return fmt.Errorf("serving a client: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		cancel(errStopping)
		l.finish()
		select {
		case err = <-ended:
		case <-time.After(stopWithin):
			err = errors.New("calls still run that don't heed that they were cancelled")
		}
	}
	l.Close()
	if err != nil {
		return fmt.Errorf("serving a client: %w", err)
	}
	return nil
}

// stopWithin bounds a graceful stop.
const stopWithin = 5 * time.Second

// connection is the origin of the requests on one stream. Its session begins with the first request that needs one. When
// the session was ended from outside (revoked, or another level), the next request begins another.
type connection struct {
	server *Server
	who    client.Identity
	lines  *lines
	ends   context.Context

	mu    sync.Mutex
	s     *client.Session
	ended bool
}

func (c *connection) gone() <-chan struct{} { return c.lines.gone }
func (c *connection) over() context.Context { return c.ends }

func (c *connection) session(info *mcp.Implementation, _ *mcp.ServerSession) (*client.Session, func(), error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return nil, nil, errStopping
	}
	who := named(c.who, info)
	level := c.server.opts.Level(who)
	if c.s != nil && (c.s.Context().Err() != nil || c.s.Level != level) {
		c.server.opts.Sessions.End(c.s.ID)
		c.s = nil
	}
	if c.s == nil {
		c.s = c.server.opts.Sessions.Connect(who, level)
	}
	return c.s, func() {}, nil
}

func (c *connection) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.s != nil {
		c.server.opts.Sessions.End(c.s.ID)
	}
}

// lines is a stream of newline-delimited JSON-RPC messages as an [mcp.Transport] and its [mcp.Connection]. The SDK's own
// gives up at the first line that it can't read; this one answers it.
type lines struct {
	in    *bufio.Reader
	out   io.Writer
	close func() error // may be nil
	extra *mcp.RequestExtra

	incoming  chan jsonrpc.Message
	gone      chan struct{} // closed at the end of in, or when the stream broke
	finishing chan struct{} // closed by finish
	closed    chan struct{} // closed by Close

	goneOnce, finishOnce, closeOnce sync.Once

	write sync.Mutex // held while a line is written

	mu      sync.Mutex
	running map[jsonrpc.ID]bool // calls without an answer; true when the client has cancelled it
	writing int                 // answers that are being written
	idle    chan struct{}       // closed when every call has been answered, if someone waits
	readErr error
}

func newLines(in *bufio.Reader, out io.Writer, close func() error) *lines {
	return &lines{
		in: in, out: out, close: close,
		incoming:  make(chan jsonrpc.Message),
		gone:      make(chan struct{}),
		finishing: make(chan struct{}),
		closed:    make(chan struct{}),
		running:   make(map[jsonrpc.ID]bool),
	}
}

// Connect begins to read. It is called once.
func (l *lines) Connect(context.Context) (mcp.Connection, error) {
	go l.readAll()
	return l, nil
}

// SessionID is empty: the stream is the session.
func (l *lines) SessionID() string { return "" }

// readAll reads until the stream ends. It runs apart from Read, because a blocked read of stdin can't be ended.
func (l *lines) readAll() {
	defer l.leave()
	for {
		line, err := readLine(l.in, maxLine)
		switch {
		case errors.Is(err, errLongLine):
			err = l.writeLine(errorAnswer(nil, invalid(fmt.Sprintf("the message is longer than %d MiB", maxLine>>20))))
		case len(bytes.TrimSpace(line)) > 0:
			if bad := l.take(line); bad != nil {
				err = errors.Join(err, l.writeLine(bad))
			}
		}
		select {
		case <-l.closed:
			return
		default:
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				l.mu.Lock()
				l.readErr = err
				l.mu.Unlock()
			}
			return
		}
	}
}

// take hands a line to Read. What it gives back is the answer to a line that isn't a message.
func (l *lines) take(line []byte) []byte {
	m, bad := readMessage(line)
	if bad != nil {
		return errorAnswer(m.id, bad)
	}
	msg, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		return errorAnswer(m.id, invalid("not a JSON-RPC message: "+err.Error()))
	}
	if req, ok := msg.(*jsonrpc.Request); ok {
		req.Extra = l.extra
		switch l.note(req) {
		case tooMany:
			return errorAnswer(m.id, &jsonrpc.Error{Code: codeBusy, Message: fmt.Sprintf("the call was not made: %d calls have no answer yet; wait for some", maxCalls)})
		case inUse:
			// Without its id: that would answer the other call. (The SDK would say nothing.)
			return errorAnswer(nil, invalid(fmt.Sprintf("the id %s is in use by a call that still runs", m.id)))
		}
	}
	select {
	case l.incoming <- msg:
	case <-l.closed:
	}
	return nil
}

// noted is what becomes of a request.
type noted uint8

const (
	taken   noted = iota
	inUse         // a call whose id a running one has
	tooMany       // a call beyond maxCalls
)

// codeBusy is the JSON-RPC code of a call that is one too many; of the range that is left to servers.
const codeBusy = -32000

// note keeps account of the calls that run. What is not a call is always taken.
func (l *lines) note(req *jsonrpc.Request) noted {
	l.mu.Lock()
	defer l.mu.Unlock()
	if req.IsCall() {
		if _, runs := l.running[req.ID]; runs {
			return inUse
		}
		if len(l.running) >= maxCalls || l.writing >= maxCalls {
			return tooMany
		}
		l.running[req.ID] = false
		return taken
	}
	if req.Method != "notifications/cancelled" {
		return taken
	}
	var params struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(req.Params, &params) != nil {
		return taken // the SDK says what is wrong
	}
	if id, err := jsonrpc.MakeID(params.RequestID); err == nil {
		if _, runs := l.running[id]; runs {
			l.running[id] = true
		}
	}
	return taken
}

// Read gives the next message; io.EOF once the stream has ended (or finish was called) and the calls that still ran have
// answered or lingered.
func (l *lines) Read(context.Context) (jsonrpc.Message, error) {
	select {
	case msg := <-l.incoming:
		return msg, nil
	case <-l.gone:
	case <-l.finishing:
	case <-l.closed:
		return nil, io.EOF
	}
	l.mu.Lock()
	idle := make(chan struct{})
	if l.quiet() {
		close(idle)
	} else {
		l.idle = idle
	}
	err := l.readErr
	l.mu.Unlock()
	patience := time.NewTimer(linger)
	defer patience.Stop()
	select {
	case <-idle:
	case <-patience.C:
	case <-l.closed:
	}
	if err != nil {
		return nil, err
	}
	return nil, io.EOF
}

// Write sends one message. An answer to a call that the client has cancelled is dropped, as MCP asks.
func (l *lines) Write(_ context.Context, msg jsonrpc.Message) error {
	select {
	case <-l.closed:
		return mcp.ErrConnectionClosed
	default:
	}
	if response, ok := msg.(*jsonrpc.Response); ok {
		defer l.written()
		if l.settle(response.ID) {
			return nil
		}
	}
	text, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return fmt.Errorf("writing a message: %w", err)
	}
	return l.writeLine(unescape(text))
}

// settle begins to answer a call, and says whether the client has cancelled it. written must follow.
func (l *lines) settle(id jsonrpc.ID) (cancelled bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	cancelled = l.running[id]
	delete(l.running, id)
	l.writing++
	return cancelled
}

func (l *lines) written() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writing--
	if l.quiet() && l.idle != nil {
		close(l.idle)
		l.idle = nil
	}
}

// quiet tells whether every call has been answered. l.mu is held.
func (l *lines) quiet() bool { return len(l.running) == 0 && l.writing == 0 }

func (l *lines) writeLine(text []byte) error {
	l.write.Lock()
	defer l.write.Unlock()
	_, err := l.out.Write(append(text, '\n'))
	if err != nil {
		l.leave()
	}
	return err
}

func (l *lines) leave()  { l.goneOnce.Do(func() { close(l.gone) }) }
func (l *lines) finish() { l.finishOnce.Do(func() { close(l.finishing) }) }

// Close ends the stream. A read that is blocked ends only if closing the stream ends it.
func (l *lines) Close() (err error) {
	l.closeOnce.Do(func() {
		close(l.closed)
		l.leave()
		if l.close != nil {
			err = l.close()
		}
	})
	return err
}

var errLongLine = errors.New("the line is too long")

// readLine reads up to the next newline, which it leaves out. A line of more than limit bytes is skipped whole, and is
// errLongLine. The last line may end without a newline; it comes with io.EOF.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(bytes.TrimSuffix(part, []byte("\n"))) > limit {
			long = true
			line = nil
		}
		if !long {
			line = append(line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err != nil && long && errors.Is(err, io.EOF):
			return nil, errLongLine // the next read gives io.EOF
		case err != nil:
			return line, err
		case long:
			return nil, errLongLine
		}
		return bytes.TrimSuffix(line, []byte("\n")), nil
	}
}
