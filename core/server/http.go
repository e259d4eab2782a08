package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/net/netutil"

	"handrail/core/client"
	"handrail/core/hint"
)

const (
	// DefaultAddr is where HTTP listens when nothing else is said; ::1 is bound too.
	DefaultAddr = "127.0.0.1:7437"
	// DefaultPairAddr is where assistants pair when nothing else is said.
	DefaultPairAddr = "127.0.0.1:7438"
	// Path is the one path that is served.
	Path = "/mcp"

	maxBody    = 4 << 20 // bytes; more is 413
	maxHeader  = 32 << 10
	maxConns   = 256 // an address
	headerTime = 10 * time.Second
	bodyTime   = 30 * time.Second
	idleTime   = 2 * time.Minute

	// modernEra is the first protocol version in which each request stands alone.
	modernEra = "2026-07-28"
)

// Endpoint is HTTP on both loopback addresses.
type Endpoint struct {
	server    *Server
	listeners []net.Listener
	port      int
	hosts     hosts
	way       Way
	modern    http.Handler
	legacy    http.Handler
	replay    *replay

	stopping context.Context // over when the endpoint stops: all calls end with it
	stop     context.CancelCauseFunc

	mu       sync.Mutex
	sessions map[string]*mcpSession // by Mcp-Session-Id
}

// mcpSession is a session of the protocol before 2026-07-28. It is only a way to talk: what a client may do hangs on its
// client.Session, which may end and begin anew while this one lives.
type mcpSession struct {
	session  *mcp.ServerSession
	clientID string
	used     time.Time
}

// Serve serves HTTP on the port of addr ("127.0.0.1:7437") until ctx is over, which is no error.
func (s *Server) Serve(ctx context.Context, addr string) error {
	e, err := s.Listen(addr)
	if err != nil {
		return err
	}
	return e.Serve(ctx)
}

// Way is a way in for HTTP clients, with a port of its own: whose token a request bears, and what else is served there.
type Way interface {
	// Verify says whose token it is, if it is good for a request.
	Verify(r *http.Request, token string) (client.Identity, client.Level, bool)
	// Challenge is the WWW-Authenticate header that answers a request without a good token.
	Challenge(r *http.Request) string
	// Tunnel is the host name of the person's own HTTPS tunnel, whose requests come in this way too; "" for none.
	Tunnel() string
	// ServeHTTP answers what isn't for Path, of requests whose Host and Origin are this endpoint's.
	http.Handler
}

// carried is the way in for clients with a token that the person carried to them. Nothing else is served there, also no
// /.well-known/…: some clients drop their token if they find OAuth's documents.
type carried struct{ server *Server }

func (c carried) Verify(_ *http.Request, token string) (client.Identity, client.Level, bool) {
	return c.server.opts.Tokens.Verify(token)
}

func (c carried) Challenge(*http.Request) string { return "Bearer" }

func (carried) Tunnel() string { return "" }

func (c carried) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.server.refuse(w, r, http.StatusNotFound, hint.New("not_found", "there is nothing here").Then("use "+Path))
}

// Listen binds the port of addr on 127.0.0.1 and ::1: both, or it is an error that names the one that failed. (On a machine
// without ::1 nobody else can bind it either, and 127.0.0.1 is enough.) Serve must follow.
func (s *Server) Listen(addr string) (*Endpoint, error) { return s.ListenFor(addr, carried{s}) }

// ListenFor is Listen for another way in.
func (s *Server) ListenFor(addr string, way Way) (*Endpoint, error) {
	if s.opts.Tokens == nil {
		return nil, errors.New("serving HTTP: Options.Tokens is needed")
	}
	port, err := loopback(addr)
	if err != nil {
		return nil, hint.New("bad_address", err.Error()).Wrap(err)
	}
	listeners, port, err := bind(port)
	if err != nil {
		return nil, err
	}
	return s.endpoint(listeners, port, way), nil
}

func (s *Server) endpoint(listeners []net.Listener, port int, way Way) *Endpoint {
	e := &Endpoint{server: s, listeners: listeners, port: port, way: way, hosts: hostsOf(port), sessions: make(map[string]*mcpSession)}
	e.stopping, e.stop = context.WithCancelCause(context.Background())
	e.replay = newReplay(e.stopping)
	e.modern = e.handler(&mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	e.legacy = e.handler(&mcp.StreamableHTTPOptions{EventStore: e.replay, SessionTimeout: client.MaxAge})
	s.mu.Lock()
	s.endpoints = append(s.endpoints, e)
	s.mu.Unlock()
	return e
}

// URL is what a client is given.
func (e *Endpoint) URL() string { return fmt.Sprintf("http://127.0.0.1:%d%s", e.port, Path) }

func bind(port int) ([]net.Listener, int, error) {
	for tries := 0; ; tries++ {
		v4, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return nil, 0, bindError("127.0.0.1", port, err)
		}
		chosen := v4.Addr().(*net.TCPAddr).Port
		v6, err := net.Listen("tcp6", net.JoinHostPort("::1", strconv.Itoa(chosen)))
		switch {
		case err == nil:
			return []net.Listener{v4, v6}, chosen, nil
		case errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.EAFNOSUPPORT):
			return []net.Listener{v4}, chosen, nil // there is no ::1
		}
		v4.Close()
		if port != 0 || tries == 10 {
			return nil, 0, bindError("::1", chosen, err)
		}
	}
}

func bindError(host string, port int, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return hint.New("port_in_use", fmt.Sprintf("port %d on %s is in use", port, host)).
			Because("another Handrail, or another program, listens there").
			Then("quit it, or choose another port with --addr 127.0.0.1:PORT").Wrap(err)
	}
	return hint.New("cannot_listen", fmt.Sprintf("cannot listen on %s, port %d", host, port)).
		Because(cause(err)).Then("choose another port with --addr 127.0.0.1:PORT").Wrap(err)
}

// cause is the system's reason in an error of package net or os, without the addresses around it.
func cause(err error) string {
	if sys, ok := errors.AsType[*os.SyscallError](err); ok {
		return sys.Err.Error()
	}
	return err.Error()
}

// Serve serves until ctx is over, which is no error. Then running calls are cancelled, their answers sent, and all is
// closed, within some seconds.
func (e *Endpoint) Serve(ctx context.Context) error {
	srv := &http.Server{
		Handler:                      e,
		ReadHeaderTimeout:            headerTime,
		IdleTimeout:                  idleTime,
		MaxHeaderBytes:               maxHeader,
		ErrorLog:                     slog.NewLogLogger(e.server.opts.Log.Handler(), slog.LevelDebug),
		DisableGeneralOptionsHandler: true, // it would answer "OPTIONS *" past our checks
		// No WriteTimeout: answers are streams that may take long.
	}
	served := make(chan error, len(e.listeners))
	for _, l := range e.listeners {
		go func() { served <- srv.Serve(netutil.LimitListener(l, maxConns)) }()
	}
	var err error
	waiting := len(e.listeners)
	select {
	case <-ctx.Done():
	case err = <-served:
		waiting--
	}
	e.stop(errStopping)
	e.server.mu.Lock()
	e.server.endpoints = slices.DeleteFunc(e.server.endpoints, func(other *Endpoint) bool { return other == e })
	e.server.mu.Unlock()
	patience, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	if srv.Shutdown(patience) != nil {
		srv.Close()
	}
	for range waiting {
		<-served
	}
	e.closeSessions(patience)
	if err != nil {
		return fmt.Errorf("serving HTTP: %w", err)
	}
	return nil
}

// exchange is one HTTP request, and the origin of the MCP request in it.
type exchange struct {
	endpoint *Endpoint
	who      client.Identity
	level    client.Level
	modern   bool
	request  context.Context // net/http's: over when the client has gone, or the request is done
	finished atomic.Bool     // the handler is through, and the client was there to the end
	kept     *kept           // for a call before 2026-07-28; set before its handler begins
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

func (x *exchange) gone() <-chan struct{} { return x.request.Done() }

func (x *exchange) over() context.Context {
	if x.kept != nil {
		return x.kept.over
	}
	return x.endpoint.stopping
}

func (x *exchange) session(info *mcp.Implementation, in *mcp.ServerSession) (*client.Session, func(), error) {
	who := named(x.who, info)
	key := who.ID + "\x00\x00" + who.Name // an MCP session's id is never empty, so it can't look like this
	if !x.modern {
		if err := x.endpoint.track(in, who.ID); err != nil {
			return nil, nil, err
		}
		key = sessionKey(who.ID, in.ID())
	}
	session, done := x.endpoint.server.opts.Sessions.Use(key, who, x.level)
	return session, done, nil
}

func sessionKey(clientID, mcpSession string) string { return clientID + "\x00" + mcpSession }

// track keeps account of the protocol's sessions: whose they are, and not too many of them for one client. It refuses one
// that belongs to another client.
func (e *Endpoint) track(session *mcp.ServerSession, clientID string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	id := session.ID()
	if id == "" {
		return errors.New("a session without an id")
	}
	if s := e.sessions[id]; s != nil {
		if s.clientID != clientID {
			return errors.New("this session belongs to another client")
		}
		s.used = time.Now()
		return nil
	}
	if e.stopping.Err() != nil {
		return errStopping
	}
	var n int
	var oldest *mcpSession
	for _, s := range e.sessions {
		if s.clientID != clientID {
			continue
		}
		if n++; oldest == nil || s.used.Before(oldest.used) {
			oldest = s
		}
	}
	if n >= client.MaxSessions {
		go oldest.session.Close() // waits for its calls
	}
	e.sessions[id] = &mcpSession{session: session, clientID: clientID, used: time.Now()}
	go func() {
		session.Wait()
		e.mu.Lock()
		delete(e.sessions, id)
		e.mu.Unlock()
		e.server.opts.Sessions.EndKey(sessionKey(clientID, id))
	}()
	return nil
}

// owns tells whether a client has the session with an id. It may be one that has no request yet that was tracked.
func (e *Endpoint) owns(clientID, id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.sessions[id]
	return s != nil && s.clientID == clientID
}

// drop ends the sessions of a client, and its streams with them.
func (e *Endpoint) drop(clientID string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.sessions {
		if s.clientID == clientID {
			go s.session.Close() // waits for its calls, which end
		}
	}
}

func (e *Endpoint) closeSessions(patience context.Context) {
	e.mu.Lock()
	var all sync.WaitGroup
	for _, s := range e.sessions {
		all.Go(func() { s.session.Close() })
	}
	e.mu.Unlock()
	closed := make(chan struct{})
	go func() { all.Wait(); close(closed) }()
	select {
	case <-closed:
	case <-patience.Done():
	}
}

// handler is the SDK's, behind the token that ServeHTTP has verified.
func (e *Endpoint) handler(opts *mcp.StreamableHTTPOptions) http.Handler {
	opts.MaxRequestBodyBytes = maxBody
	opts.DisableLocalhostProtection = true // hosts.check is stricter, and knows the tunnel
	sdk := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		if x := exchangeOf(r.Context()); x != nil {
			return e.server.level(x.level)
		}
		return nil
	}, opts)
	withoutToken := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Authorization") // the SDK hands the header on to the tools
		sdk.ServeHTTP(w, r)
	})
	// This is the SDK's one way to hand on what is known of the request. It also makes the SDK bind a session to the
	// client that began it.
	return auth.RequireBearerToken(func(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
		x := exchangeOf(ctx)
		if x == nil {
			return nil, auth.ErrInvalidToken
		}
		return extra(x, x.who.ID), nil
	}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(withoutToken)
}

// ServeHTTP answers one request. The order matters: what a web page could send is refused first, whatever it asks for;
// nothing of a body is read before the token is known.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("X-Accel-Buffering", "no")
	if r.ContentLength != 0 { // also for a body that nobody reads: net/http does, before it sends the answer
		http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime))
	}
	if err := e.hosts.check(r, e.way.Tunnel()); err != nil {
		e.refuse(w, r, http.StatusForbidden, hint.New("forbidden", err.Error()))
		return
	}
	if r.URL.Path != Path {
		e.way.ServeHTTP(w, r)
		return
	}
	who, level, ok := e.way.Verify(r, bearer(r))
	if !ok {
		if err := e.server.opts.Tokens.Err(); err != nil {
			e.server.opts.Log.Error("no client is let in", "why", err)
		}
		w.Header().Set("WWW-Authenticate", e.way.Challenge(r))
		e.refuse(w, r, http.StatusUnauthorized, hint.New("unauthorized", "Handrail doesn't know this client's token").
			Then("connect the client again in Handrail"))
		return
	}
	if e.stopping.Err() != nil {
		e.refuse(w, r, http.StatusServiceUnavailable, hint.New("stopping", "Handrail is stopping"))
		return
	}
	x := &exchange{endpoint: e, who: who, level: level, request: r.Context(),
		modern: r.Header.Get("MCP-Protocol-Version") >= modernEra}
	ctx := context.WithValue(r.Context(), exchangeKey{}, x)
	handler := e.legacy
	if x.modern {
		handler = e.modern
	}
	switch r.Method {
	case http.MethodPost:
		e.post(w, r.WithContext(ctx), x, handler)
	case http.MethodGet:
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(e.stopping, cancel)()
		if r.Header.Get("Last-Event-ID") != "" { // a call is waited for
			alive := newKeepAlive(w, nil, keepAliveEvery)
			defer alive.stop()
			w = alive
		}
		handler.ServeHTTP(w, r.WithContext(ctx))
	case http.MethodDelete:
		if id := r.Header.Get("Mcp-Session-Id"); !x.modern && e.owns(who.ID, id) {
			e.server.opts.Sessions.EndKey(sessionKey(who.ID, id)) // first, so that its calls end
		}
		handler.ServeHTTP(w, r.WithContext(ctx))
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		e.refuse(w, r, http.StatusMethodNotAllowed, hint.New("bad_method", r.Method+" is not served here").Then("use POST"))
	}
	x.finished.Store(x.request.Err() == nil)
}

// post reads a message whole, checks that it is one, and hands it to the SDK.
func (e *Endpoint) post(w http.ResponseWriter, r *http.Request, x *exchange, handler http.Handler) {
	body, status, err := readBody(w, r)
	if err != nil {
		e.refuse(w, r, status, hint.New("bad_request", err.Error()))
		return
	}
	m, bad := readMessage(body)
	if bad != nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		w.Write(errorAnswer(m.id, bad))
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	if m.isCall() {
		alive := newKeepAlive(w, m.id, keepAliveEvery)
		defer alive.stop()
		w = alive
	}
	handler.ServeHTTP(w, r)
}

func readBody(w http.ResponseWriter, r *http.Request) (body []byte, status int, err error) {
	if r.ContentLength > maxBody {
		return nil, http.StatusRequestEntityTooLarge, fmt.Errorf("the message is longer than %d MiB", maxBody>>20)
	}
	body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		// A deadline that passes later would look like a client that has gone.
		http.NewResponseController(w).SetReadDeadline(time.Time{})
		return body, 0, nil
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, http.StatusRequestEntityTooLarge, fmt.Errorf("the message is longer than %d MiB", maxBody>>20)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, http.StatusRequestTimeout, errors.New("the message came too slowly")
	}
	return nil, http.StatusBadRequest, errors.New("the message broke off")
}

func (e *Endpoint) refuse(w http.ResponseWriter, r *http.Request, status int, why *hint.Hint) {
	e.server.refuse(w, r, status, why)
}

// refuse answers with an HTTP error. Like every answer it has no CORS header.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, status int, why *hint.Hint) {
	s.opts.Log.Info("refused", "status", status, "method", r.Method, "why", why.What)
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, why.Error(), status)
}

var _ mcp.EventStore = (*replay)(nil)
