//go:build conformance

// Command conformance lets the official MCP conformance runner at Handrail's endpoint. It is only for tests: the build tag
// keeps it out of every ordinary build.
//
//	conformance fixtures      serves the tools, prompts and resources that the runner asks for, over the endpoint's own
//	                          HTTP stack, and a proxy to it
//	conformance proxy URL     only the proxy, to an endpoint that runs; the token is read from the first line of stdin
//	conformance pairing       serves the same for one client that pairs, without a proxy; the person, a script here, allows it
//
// The runner can send no bearer token, and the endpoint has no switch to do without; so the proxy adds it. It prints its
// own address, and serves until stdin ends or it is interrupted. run.sh does all of it.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"handrail/core/approval"
	"handrail/core/client"
	"handrail/core/pairing"
	"handrail/core/server"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	stdin := bufio.NewReader(os.Stdin)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	switch {
	case len(args) == 1 && args[0] == "fixtures":
		endpoint, token, err := fixtures()
		if err != nil {
			return err
		}
		go untilEnd(stdin, cancel)
		served := make(chan error, 1)
		go func() { served <- endpoint.Serve(ctx) }()
		return errors.Join(proxy(ctx, endpoint.URL(), token), <-served)
	case len(args) == 2 && args[0] == "proxy":
		token, err := stdin.ReadString('\n')
		if err != nil {
			return fmt.Errorf("reading the token: %w", err)
		}
		go untilEnd(stdin, cancel)
		return proxy(ctx, args[1], strings.TrimSpace(token))
	case len(args) == 1 && args[0] == "pairing":
		endpoint, err := paired()
		if err != nil {
			return err
		}
		go untilEnd(stdin, cancel)
		fmt.Println(endpoint.URL())
		return endpoint.Serve(ctx)
	}
	return errors.New("usage: conformance fixtures | conformance proxy URL | conformance pairing")
}

func untilEnd(r io.Reader, end func()) {
	io.Copy(io.Discard, r)
	end()
}

// paired gives an endpoint with the runner's tools, at which one client may pair.
func paired() (*server.Endpoint, error) {
	s, tokens, err := fixtureEndpoint()
	if err != nil {
		return nil, err
	}
	p, err := pairing.New(pairing.Options{Tokens: tokens, Log: log,
		Ask: func(_ context.Context, r approval.Request) approval.Decision {
			log.Info("asked", "claimed", r.Pairing.Claimed, "redirect", r.Pairing.Redirect)
			return approval.Allow(r, "conformance")
		},
		Forget: func(string) error { return nil }})
	if err == nil {
		err = p.Open("", client.Ask)
	}
	if err != nil {
		return nil, err
	}
	return s.ListenFor("127.0.0.1:0", p)
}

var log = slog.New(slog.NewTextHandler(os.Stderr, nil))

// fixtureEndpoint gives an endpoint whose tools are the runner's, and its store of tokens.
func fixtureEndpoint() (*server.Server, *client.Tokens, error) {
	dir, err := os.MkdirTemp("", "handrail-conformance-")
	if err != nil {
		return nil, nil, err
	}
	tokens := client.OpenTokens(filepath.Join(dir, "tokens.json"))
	s, err := server.New(server.Options{
		Tools:    func(client.Level) *mcp.Server { return fixtureServer() },
		Sessions: client.NewSessions(nil),
		Tokens:   tokens,
		Log:      log,
	})
	return s, tokens, err
}

// fixtures gives an endpoint whose tools are the runner's, and a token for it.
func fixtures() (*server.Endpoint, string, error) {
	s, tokens, err := fixtureEndpoint()
	if err != nil {
		return nil, "", err
	}
	token, err := tokens.New("conformance", client.Ask)
	if err != nil {
		return nil, "", err
	}
	endpoint, err := s.Listen("127.0.0.1:0")
	return endpoint, token, err
}

// proxy serves a reverse proxy that adds the token. Where the runner names the proxy's own host, in Host and Origin, the
// endpoint's is put; any other is passed on as it is, for the endpoint to refuse.
func proxy(ctx context.Context, endpoint, token string) error {
	target, err := url.Parse(endpoint)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	own := listener.Addr().String()
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
			r.Out.Host = r.In.Host
			if r.In.Host == own {
				r.Out.Host = target.Host
			}
			if r.In.Header.Get("Origin") == "http://"+own {
				r.Out.Header.Set("Origin", "http://"+target.Host)
			}
			r.Out.Header.Set("Authorization", "Bearer "+token)
		},
		FlushInterval: -1,
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Read whole first: net/http can't yet pass on an answer while it still reads the request (go.dev/issue/15527).
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		forward.ServeHTTP(w, r)
	})}
	stop := context.AfterFunc(ctx, func() { srv.Close() })
	defer stop()
	fmt.Printf("http://%s%s\n", own, target.Path)
	if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
