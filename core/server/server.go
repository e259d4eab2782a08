// Package server is the endpoint: it lets assistants in over MCP and hands their calls to the tools.
//
// One [Server] serves all ways in. [Server.Serve] is Streamable HTTP on 127.0.0.1 and ::1, for clients that have a bearer
// token; [Server.ListenFor] is the same for clients that get theirs another way, on a port of its own. [Server.ServeSocket] is a Unix socket, for [Bridge], the body of `handrail stdio`, which clients start as a
// command. [Server.ServeStdio] serves one client on stdin and stdout. Each speaks both eras of MCP: 2026-07-28, in which
// every request stands alone, and 2025-11-25 and older, which begin with a handshake.
//
// Before a tool sees a call, the endpoint has decided whose it is. A tool finds the [client.Session] in its context
// (client.FromContext) and a channel that closes when the client has gone (client.Gone); the context ends when the client
// cancels, the session ends or the endpoint stops. What the tool may then do is not decided here.
//
//	client              HTTP: token, Host, Origin      socket: peer's user      stdio: whoever holds the pipe
//	  → message.go      is it one JSON-RPC message?
//	  → the SDK         the protocol
//	  → begin           whose call, which session
//	  → core/tool
package server

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"handrail/core/client"
	"handrail/core/hint"
)

// Product is what the endpoint calls itself.
const Product = "handrail"

// Version is Handrail's, as told to clients and bridges. A release sets it with -ldflags "-X handrail/core/server.Version=…".
var Version = "0.0.0-dev"

// Options say what a Server works with. All but Log are required; Tokens only for HTTP, Level only for socket and stdio.
type Options struct {
	// Tools gives the MCP server, with its tools, of an access level. It is called once a level, and the server is then
	// the endpoint's own. Make it with NewServer.
	Tools func(level client.Level) *mcp.Server
	// Sessions are where the sessions of all clients live.
	Sessions *client.Sessions
	// Tokens verifies the tokens of HTTP clients, and says what they may do.
	Tokens *client.Tokens
	// Level says what a client on the socket or on stdio may do. It is asked at every call: when the answer has changed,
	// the session ends and another one begins. (The list of tools stays as it was when the client connected.)
	Level func(client.Identity) client.Level
	// OpenPairing has a new assistant ask the person whether it may connect, as core/pairing says, and gives the address that it
	// is to be given. It is asked by who connects to the socket as the person. Nil: that isn't served.
	OpenPairing func(name string, level client.Level) (url string, err error)
	// Show opens a window, since the person has started the app again. nil: there is none.
	Show func() error
	// Log gets what was refused and why, without tokens and content. Nil is silent.
	Log *slog.Logger
}

// Server is the endpoint. The zero value is not usable; use New.
type Server struct {
	opts Options

	mu        sync.Mutex
	levels    map[client.Level]*mcp.Server
	endpoints []*Endpoint
}

// New gives an endpoint that serves nothing yet.
func New(opts Options) (*Server, error) {
	if opts.Tools == nil || opts.Sessions == nil {
		return nil, errors.New("making the endpoint: Tools and Sessions are needed")
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{opts: opts, levels: make(map[client.Level]*mcp.Server)}
	if opts.Tokens != nil {
		opts.Tokens.OnRevoke(s.revoked)
	}
	return s, nil
}

// revoked ends all that hangs on a token that has gone or whose level is another one.
func (s *Server) revoked(clientID string) {
	s.opts.Sessions.EndClient(clientID)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.endpoints {
		e.drop(clientID)
	}
}

// url is where the server listens for HTTP clients with a token, "" if it doesn't.
func (s *Server) url() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.endpoints {
		if _, ok := e.way.(carried); ok {
			return e.URL()
		}
	}
	return ""
}

// NewServer gives an MCP server for a level, still without tools, that says the right things about itself: no prompts or
// resources though their lists can be asked for, a list of tools that doesn't change and is the client's alone.
func NewServer(level client.Level, instructions string) *mcp.Server {
	capabilities := &mcp.ServerCapabilities{
		// The SDK answers these lists always, so they are declared.
		Prompts:   &mcp.PromptCapabilities{},
		Resources: &mcp.ResourceCapabilities{},
		//lint:ignore SA1019 a job's end is told so in the protocols that have sessions
		Logging: &mcp.LoggingCapabilities{},
	}
	if level > client.None {
		capabilities.Tools = &mcp.ToolCapabilities{}
	}
	return mcp.NewServer(&mcp.Implementation{Name: Product, Title: "Handrail", Version: Version}, &mcp.ServerOptions{
		Instructions: instructions,
		Capabilities: capabilities,
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
			// What a client sees depends on its level, which the person can change.
			c.CacheScope, c.TTLMs = "private", 60_000
		},
	})
}

// level gives the MCP server of an access level.
func (s *Server) level(level client.Level) *mcp.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.levels[level]; m != nil {
		return m
	}
	m := s.opts.Tools(level)
	m.AddReceivingMiddleware(s.begin)
	s.levels[level] = m
	return m
}

// origin is where a request came from: an HTTP exchange, or a connection on the socket or stdio.
type origin interface {
	// session finds or starts the session of a request. done is called when the request is over.
	session(who *mcp.Implementation, in *mcp.ServerSession) (s *client.Session, done func(), err error)
	// gone closes when nobody is there any more to read the answer.
	gone() <-chan struct{}
	// over ends when the request must end for a reason of the endpoint's own; it is asked when the request begins.
	over() context.Context
}

// The SDK carries what a transport knows of a request to its handler in RequestExtra; the origin travels in there.
const originKey = "handrail/origin"

func extra(from origin, clientID string) *auth.TokenInfo {
	return &auth.TokenInfo{UserID: clientID, Extra: map[string]any{originKey: from}}
}

func originOf(req mcp.Request) (origin, bool) {
	extra := req.GetExtra()
	if extra == nil || extra.TokenInfo == nil {
		return nil, false
	}
	from, ok := extra.TokenInfo.Extra[originKey].(origin)
	return from, ok
}

// begin is the outermost handler of every request: it puts the session and the gone channel into the context, and ends
// the context with whatever ends the call.
func (s *Server) begin(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		from, ok := originOf(req)
		if !ok {
			return nil, errors.New("a request came from nowhere") // not through this package: refuse
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer endWith(from.over(), cancel)()
		if sessionless(method) {
			return next(ctx, method, req)
		}
		in, ok := req.GetSession().(*mcp.ServerSession)
		if !ok {
			return nil, errors.New("a request came without its connection")
		}
		session, done, err := from.session(clientInfo(req), in)
		if err != nil {
			return nil, err
		}
		defer done()
		defer endWith(session.Context(), cancel)()
		ctx = client.WithGone(client.WithSession(ctx, session), from.gone())
		if session.Level == client.None {
			switch method {
			case "tools/list":
				return &mcp.ListToolsResult{Tools: []*mcp.Tool{}, Cacheable: mcp.Cacheable{CacheScope: "private"}}, nil
			case "tools/call":
				return refusal(hint.New("not_allowed", "this client may do nothing in Handrail").
					Then("the person can change that in Handrail's menu")), nil
			}
		}
		return next(ctx, method, req)
	}
}

// endWith calls cancel when ctx ends, until stop is called.
func endWith(ctx context.Context, cancel context.CancelCauseFunc) (stop func()) {
	unhook := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	return func() { unhook() }
}

// sessionless are the requests that are nobody's: nothing is started for them. subscriptions/listen stays open for as long
// as a client likes and must not keep a session in use.
func sessionless(method string) bool {
	switch method {
	case "ping", "logging/setLevel", "subscriptions/listen":
		return true
	}
	return strings.HasPrefix(method, "notifications/")
}

// clientInfo is what the client calls itself: in the handshake, or with each request.
func clientInfo(req mcp.Request) *mcp.Implementation {
	if params, ok := req.GetParams().(*mcp.InitializeParams); ok && params != nil {
		return params.ClientInfo
	}
	if r, ok := req.(interface{ ClientInfo() *mcp.Implementation }); ok {
		return r.ClientInfo()
	}
	return nil
}

// named is who, with the name it gives itself.
func named(who client.Identity, info *mcp.Implementation) client.Identity {
	if info != nil {
		who.Name, who.Version = cut(info.Name), cut(info.Version)
	}
	return who
}

// cut bounds what a client says of itself, in characters: it is kept, logged and shown.
func cut(s string) string {
	const limit = 100
	s = strings.ToValidUTF8(s, "\uFFFD")
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit])
}

func refusal(h *hint.Hint) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: h.Error()}}}
}

var errStopping = errors.New("the endpoint is stopping")
