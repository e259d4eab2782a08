package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"handrail/core/client"
	"handrail/core/hint"
)

// bridged runs Bridge with a client at its other side.
func bridged(t *testing.T, path string, start func() error) (c *talk, hangUp func(), ended chan error) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ended = make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		err := Bridge(ctx, path, start, inR, outW)
		outW.Close()
		ended <- err
	}()
	t.Cleanup(func() { cancel(); inW.Close(); outR.Close() })
	return &talk{t, inW, bufio.NewReader(outR)}, func() { inW.Close() }, ended
}

func TestBridge(t *testing.T) {
	f := newFixture(t)
	path := filepath.Join(shortDir(t), "state", "s")
	f.serveSocket(path)
	c, hangUp, ended := bridged(t, path, nil)
	c.initialize()
	c.say(callBody(1, "echo", `{"text":"`+strings.Repeat("long ", 100_000)+`"}`))
	if got := c.hear(); len(answerText(t, got)) != 500_000 {
		t.Errorf("%d bytes came back", len(got))
	}
	c.say("{") // the server answers it
	if got := c.hear(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,`) {
		t.Errorf("a malformed line: %s", got)
	}
	go io.WriteString(c.in, strings.Repeat("x", maxLine+1)+"\n")
	if got := c.hear(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`) {
		t.Errorf("a long line: %s", got)
	}
	c.say(callBody(2, "whoami", "{}"))
	if _, who := whoami(t, c.hear()); !strings.HasSuffix(who, "|teller|1.2|ask") {
		t.Errorf("whoami: %s", who)
	}
	hangUp()
	if err := within(t, "the bridge's end", ended); err != nil {
		t.Errorf("Bridge: %v", err)
	}
}

// What a client asked before it closed its side is still answered.
func TestBridgeEnd(t *testing.T) {
	f := newFixture(t)
	path := filepath.Join(shortDir(t), "state", "s")
	f.serveSocket(path)
	text := initializeBody("x") + "\n" + callBody(1, "echo", `{"text":"one"}`)
	var out strings.Builder
	if err := Bridge(t.Context(), path, nil, strings.NewReader(text), &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `"one"`) || strings.Count(out.String(), "\n") != 2 {
		t.Errorf("the output is %q", out.String())
	}
}

// The app goes away: open requests are answered, once, and the bridge ends with an error.
func TestBridgeAppGone(t *testing.T) {
	path := filepath.Join(shortDir(t), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	seen := make(chan struct{})
	crash := make(chan struct{})
	go func() { // an app that answers the first request, reads the rest, then crashes
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		r := bufio.NewReader(conn)
		if (&Server{}).welcome(conn, r) != nil {
			return
		}
		for i := range 4 {
			readLine(r, maxLine)
			if i == 0 {
				io.WriteString(conn, `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n")
				io.WriteString(conn, `{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n") // a request of its own with an id of the client's
				io.WriteString(conn, `{"jsonrpc":"2.0","id":`)                        // half a line
			}
		}
		close(seen)
		<-crash
	}()
	c, _, ended := bridged(t, path, nil)
	c.say(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if got := c.hear(); got != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		t.Errorf("%s", got)
	}
	c.hear()
	c.say(`{"jsonrpc":"2.0","id":2.0,"method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"method":"ping","params":{"id":9},"id":"three","jsonrpc":"2.0"}`)
	within(t, "the app to read", seen)
	close(crash)
	if got := c.hear(); got != `{"jsonrpc":"2.0","id":` {
		t.Errorf("the half line: %s", got)
	}
	for _, id := range []string{"2", `"three"`} {
		want := `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32603,"message":"[app_gone] Handrail has quit; start Handrail and connect again"}}`
		if got := c.hear(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if err := within(t, "the bridge's end", ended); hint.Code(err) != "app_gone" {
		t.Errorf("Bridge: %v", err)
	}
	if rest, err := io.ReadAll(c.out); err != nil || len(rest) != 0 {
		t.Errorf("then %q, %v", rest, err)
	}
}

// Nobody answers: the app is started, once.
func TestBridgeStarts(t *testing.T) {
	f := newFixture(t)
	path := filepath.Join(shortDir(t), "state", "s")
	started := make(chan struct{}, 2)
	c, hangUp, ended := bridged(t, path, func() error {
		started <- struct{}{}
		return nil
	})
	within(t, "the start", started)
	f.serveSocket(path)
	c.initialize()
	hangUp()
	if err := within(t, "the bridge's end", ended); err != nil || len(started) != 0 {
		t.Errorf("Bridge: %v, %d more starts", err, len(started))
	}
}

// It can't be reached: the client's first request says why, and so does the error.
func TestBridgeRefused(t *testing.T) {
	listen := func(t *testing.T, path string, serve func(net.Conn)) {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				serve(conn)
				conn.Close()
			}
		}()
	}
	for _, c := range []struct {
		name  string
		serve func(net.Conn) // nil: nobody listens
		start func() error
		code  string
		text  string
	}{
		{"not running", nil, nil, "not_running", "start Handrail"},
		{"can't be started", nil, func() error { return errors.New("no systemd here") }, "not_running", "no systemd here"},
		{"another program", func(conn net.Conn) { io.WriteString(conn, "SSH-2.0-x\n") }, nil, "cannot_connect", "not a hello"},
		{"hangs up", func(net.Conn) {}, nil, "cannot_connect", ""},
		{"another version", func(conn net.Conn) {
			readHello(bufio.NewReader(conn))
			sendHello(conn, hello{Product: Product, Version: "9.9", Protocol: 99})
		}, nil, "version_mismatch", "9.9"},
		{"no room", func(conn net.Conn) {
			readHello(bufio.NewReader(conn))
			sendHello(conn, hello{Product: Product, Version: Version, Protocol: socketProtocol, Error: "no room"})
		}, nil, "refused", "no room"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(shortDir(t), "s")
			if c.serve != nil {
				listen(t, path, c.serve)
			}
			client, _, ended := bridged(t, path, c.start)
			client.say(initializeBody("x"))
			if got := client.hear(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":0,"error":{"code":-32603,"message":"[`+c.code+`] `) || !strings.Contains(got, c.text) {
				t.Errorf("the client hears %s", got)
			}
			err := within(t, "the bridge's end", ended)
			if hint.Code(err) != c.code || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "\n") {
				t.Errorf("Bridge: %v", err)
			}
		})
	}
}

// After everything was used and stopped, no goroutine is left.
func TestNothingLeft(t *testing.T) {
	settle := func(most int) int {
		patience := time.After(deadline)
		for look := time.NewTicker(5 * time.Millisecond); ; {
			n := runtime.NumGoroutine()
			if n <= most {
				return n
			}
			select {
			case <-look.C:
			case <-patience:
				return n
			}
		}
	}
	round := func(t *testing.T) {
		f := newFixture(t)
		e, err := f.server.Listen("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(shortDir(t), "state", "s")
		socket, err := f.server.ListenSocket(path)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		var all sync.WaitGroup
		all.Go(func() { e.Serve(ctx) })
		all.Go(func() { socket.Serve(ctx) })
		token := f.token("a")
		for i := range 5 {
			w := f.web(e, token)
			headers := legacyHeaders(w.initialize("x"))
			w.post(callBody(1, "echo", "{}"), headers...)
			w.post(modernCall(1, "echo", "{}", "x"), modernHeaders("tools/call", "echo")...)
			call := f.call(fmt.Sprint(i))
			gone, hangUp := context.WithCancel(ctx)
			go w.http.Do(w.request(gone, "POST", callBody(2, "wait", fmt.Sprintf(`{"key":"%d"}`, i)), headers...))
			within(t, "the call", call.started)
			hangUp()
			within(t, "gone", call.gone)
			conn := dialRaw(t, path)
			if _, err := greet(conn, bufio.NewReader(conn), ownHello()); err != nil {
				t.Fatal(err)
			}
			io.WriteString(conn, initializeBody("x")+"\n")
			if i%2 == 0 {
				conn.Close()
			}
			var out strings.Builder
			if err := f.server.ServeStdio(ctx, strings.NewReader(initializeBody("x")), &out, client.Identity{ID: "stdio:x"}); err != nil {
				t.Error(err)
			}
			w.http.CloseIdleConnections()
		}
		stop()
		all.Wait()
		f.sessions.EndAll()
	}
	t.Run("first", round)
	before := runtime.NumGoroutine()
	for range 3 {
		t.Run("again", round)
	}
	if after := settle(before); after > before {
		stacks := make([]byte, 1<<20)
		t.Errorf("%d goroutines before, %d after:\n%s", before, after, stacks[:runtime.Stack(stacks, true)])
	}
}
