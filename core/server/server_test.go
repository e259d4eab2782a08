package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"handrail/core/client"
)

const (
	legacyEra = "2025-11-25"
	deadline  = time.Minute // no test waits longer for one thing
)

// fixture is an endpoint with a few tools that do nothing but let a test see and steer them.
type fixture struct {
	t        *testing.T
	server   *Server
	sessions *client.Sessions
	tokens   *client.Tokens
	log      bytes.Buffer

	mu    sync.Mutex
	level client.Level // of connections
	calls map[string]*call
}

// call is one call of the tool "wait", seen from the test.
type call struct {
	started chan struct{}
	gone    chan struct{} // closed when the client was gone while it ran
	ended   chan error    // what ended it: nil for release, else the context's cause
	release chan struct{}
	session *client.Session
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{t: t, level: client.Ask, calls: make(map[string]*call)}
	f.sessions = client.NewSessions(nil)
	f.tokens = client.OpenTokens(filepath.Join(t.TempDir(), "tokens.json"))
	var mu sync.Mutex
	server, err := New(Options{
		Tools: f.tools, Sessions: f.sessions, Tokens: f.tokens,
		Level: func(client.Identity) client.Level {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.level
		},
		Log: slog.New(slog.NewTextHandler(&lockedWriter{&mu, &f.log}, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	f.server = server
	t.Cleanup(f.sessions.EndAll)
	return f
}

type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func (f *fixture) setLevel(level client.Level) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.level = level
}

func (f *fixture) token(name string) string {
	f.t.Helper()
	token, err := f.tokens.New(name, client.Ask)
	if err != nil {
		f.t.Fatal(err)
	}
	return token
}

// call prepares a call of "wait" with a key of its own.
func (f *fixture) call(key string) *call {
	c := &call{started: make(chan struct{}), gone: make(chan struct{}), ended: make(chan error, 1), release: make(chan struct{})}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[key] = c
	return c
}

type args struct {
	Key  string `json:"key,omitempty"`
	Text string `json:"text,omitempty"`
}

func (f *fixture) tools(level client.Level) *mcp.Server {
	s := NewServer(level, "test")
	if level == client.None {
		return s
	}
	text := func(s string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
	}
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(ctx context.Context, _ *mcp.CallToolRequest, in args) (*mcp.CallToolResult, any, error) {
		return text(in.Text), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "whoami"}, func(ctx context.Context, req *mcp.CallToolRequest, _ args) (*mcp.CallToolResult, any, error) {
		session := client.FromContext(ctx)
		if session == nil {
			return nil, nil, fmt.Errorf("no session")
		}
		if req.Extra != nil && req.Extra.Header.Get("Authorization") != "" {
			return nil, nil, fmt.Errorf("the tool sees the token")
		}
		w := session.Client
		return text(fmt.Sprintf("%s|%s|%s|%s|%s", session.ID, w.ID, w.Name, w.Version, session.Level)), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "wait"}, func(ctx context.Context, _ *mcp.CallToolRequest, in args) (*mcp.CallToolResult, any, error) {
		f.mu.Lock()
		c := f.calls[in.Key]
		f.mu.Unlock()
		if c == nil {
			return nil, nil, fmt.Errorf("no such call")
		}
		c.session = client.FromContext(ctx)
		close(c.started)
		gone := client.Gone(ctx)
		for {
			select {
			case <-gone:
				close(c.gone)
				gone = nil
			case <-ctx.Done():
				c.ended <- context.Cause(ctx)
				return nil, nil, ctx.Err()
			case <-c.release:
				c.ended <- nil
				return text("released " + in.Text), nil, nil
			}
		}
	})
	return s
}

// within waits for a channel, and fails the test after the deadline.
func within[T any](t *testing.T, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(deadline):
		t.Fatalf("waited too long for: %s", what)
		panic("unreachable")
	}
}

// serveHTTP serves on real loopback addresses until the test ends.
func (f *fixture) serveHTTP() *Endpoint {
	f.t.Helper()
	e, err := f.server.Listen("127.0.0.1:0")
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- e.Serve(ctx) }()
	f.t.Cleanup(func() {
		stop()
		if err := within(f.t, "the endpoint to stop", served); err != nil {
			f.t.Errorf("Serve: %v", err)
		}
	})
	return e
}

// web is a raw HTTP client of one endpoint.
type web struct {
	t     *testing.T
	http  *http.Client
	url   string
	token string
}

func (f *fixture) web(e *Endpoint, token string) *web {
	transport := &http.Transport{}
	f.t.Cleanup(transport.CloseIdleConnections)
	return &web{t: f.t, http: &http.Client{Transport: transport}, url: e.URL(), token: token}
}

// request makes a request with the headers of a correct client. A header of "" removes it.
func (w *web) request(ctx context.Context, method, body string, headers ...string) *http.Request {
	w.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, w.url, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if w.token != "" {
		req.Header.Set("Authorization", "Bearer "+w.token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		switch name, value := headers[i], headers[i+1]; {
		case name == "Host":
			req.Host = value
		case value == "":
			req.Header.Del(name)
		default:
			req.Header.Set(name, value)
		}
	}
	return req
}

// do sends a request and reads the answer whole.
func (w *web) do(req *http.Request) (*http.Response, string) {
	w.t.Helper()
	resp, err := w.http.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp, string(text)
}

func (w *web) post(body string, headers ...string) (*http.Response, string) {
	w.t.Helper()
	return w.do(w.request(context.Background(), "POST", body, headers...))
}

// initialize begins a session of the older protocol.
func (w *web) initialize(name string) (session string) {
	w.t.Helper()
	resp, text := w.post(initializeBody(name))
	if resp.StatusCode != 200 || !strings.Contains(text, `"protocolVersion":"2025-11-25"`) {
		w.t.Fatalf("initialize: %d %s", resp.StatusCode, text)
	}
	session = resp.Header.Get("Mcp-Session-Id")
	resp, text = w.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Mcp-Session-Id", session, "MCP-Protocol-Version", legacyEra)
	if resp.StatusCode != 202 || text != "" {
		w.t.Fatalf("initialized: %d %s", resp.StatusCode, text)
	}
	return session
}

func initializeBody(name string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":%q,"version":"1.2"}}}`, name)
}

// callBody is a tools/call of the older protocol.
func callBody(id int, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments)
}

// legacyHeaders go with a request of a session.
func legacyHeaders(session string) []string {
	return []string{"Mcp-Session-Id", session, "MCP-Protocol-Version", legacyEra}
}

// modernBody is a request that stands alone. params is an object's inside, or "".
func modernBody(id int, method, name, params string) string {
	if params != "" {
		params += ","
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":%q,"version":"3"}}}}`, id, method, params, name)
}

func modernCall(id int, tool, arguments, name string) string {
	return modernBody(id, "tools/call", name, fmt.Sprintf(`"name":%q,"arguments":%s`, tool, arguments))
}

func modernHeaders(method, tool string) []string {
	h := []string{"MCP-Protocol-Version", modernEra, "Mcp-Method", method}
	if tool != "" {
		h = append(h, "Mcp-Name", tool)
	}
	return h
}

// answerText is the text of a tool's result, from an SSE or JSON answer.
func answerText(t *testing.T, body string) string {
	t.Helper()
	var text string
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(line, "data: "); ok && strings.TrimSpace(data) != "" {
			text = data
		}
	}
	if text == "" {
		text = body
	}
	var answer struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
		Error *struct {
			Code    int
			Message string
		}
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatalf("not an answer: %q: %v", body, err)
	}
	switch {
	case answer.Error != nil:
		return fmt.Sprintf("error %d: %s", answer.Error.Code, answer.Error.Message)
	case len(answer.Result.Content) != 1:
		t.Fatalf("no text in %q", body)
	case answer.Result.IsError:
		return "failed: " + answer.Result.Content[0].Text
	}
	return answer.Result.Content[0].Text
}

// pipes is a listener whose connections stay in memory, so that time can be the test's own.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7437} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// serveInMemory is serveHTTP for use in a synctest bubble. stop ends it.
func (f *fixture) serveInMemory() (e *Endpoint, w func(token string) *web, raw func() net.Conn, stop func()) {
	p := newPipes()
	e = f.server.endpoint([]net.Listener{p}, 7437, carried{f.server})
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- e.Serve(ctx) }()
	var transports []*http.Transport
	w = func(token string) *web {
		transport := &http.Transport{DialContext: p.dial}
		transports = append(transports, transport)
		return &web{t: f.t, http: &http.Client{Transport: transport}, url: e.URL(), token: token}
	}
	raw = func() net.Conn {
		c, err := p.dial(context.Background(), "", "")
		if err != nil {
			f.t.Fatal(err)
		}
		return c
	}
	stop = func() {
		cancel()
		if err := <-served; err != nil {
			f.t.Errorf("Serve: %v", err)
		}
		for _, transport := range transports {
			transport.CloseIdleConnections()
		}
		f.sessions.EndAll()
	}
	return e, w, raw, stop
}

// talk is one client on a stream of lines.
type talk struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
}

func (c *talk) say(lines ...string) {
	c.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(c.in, line+"\n"); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *talk) hear() string {
	c.t.Helper()
	type heard struct {
		line string
		err  error
	}
	ch := make(chan heard, 1)
	go func() {
		line, err := c.out.ReadString('\n')
		ch <- heard{line, err}
	}()
	h := within(c.t, "a line", ch)
	if h.err != nil {
		c.t.Fatalf("reading a line: %v (%q)", h.err, h.line)
	}
	return strings.TrimSuffix(h.line, "\n")
}

// serveStdio serves one client on pipes until close is called; ended gives what ServeStdio returned.
func (f *fixture) serveStdio(ctx context.Context) (c *talk, hangUp func(), ended chan error) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ended = make(chan error, 1)
	go func() {
		err := f.server.ServeStdio(ctx, inR, outW, client.Identity{ID: "stdio:/opt/test", Program: "/opt/test", PID: 42})
		inR.Close()
		outW.Close()
		ended <- err
	}()
	f.t.Cleanup(func() { inW.Close(); outR.Close() })
	return &talk{f.t, inW, bufio.NewReader(outR)}, func() { inW.Close() }, ended
}

func (c *talk) initialize() {
	c.t.Helper()
	c.say(initializeBody("teller"))
	if line := c.hear(); !strings.Contains(line, `"serverInfo":{"name":"handrail","title":"Handrail"`) {
		c.t.Fatalf("initialize: %s", line)
	}
	c.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func portOf(e *Endpoint) string { return strconv.Itoa(e.port) }
