package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"handrail/core/client"
	"handrail/core/hint"
)

// Whatever the method: what a web page can send is refused before the token is looked at, a request without a token before
// anything else is, and no answer lets a page read it.
func TestWhoIsLetIn(t *testing.T) {
	f := newFixture(t)
	e := f.serveHTTP()
	token := f.token("a")
	w := f.web(e, "")
	port := portOf(e)
	own := "127.0.0.1:" + port
	body := modernBody(1, "tools/list", "x", "")
	const good, none = "good", ""
	for _, c := range []struct {
		name, host, origin, token string
		want                      int // for POST; 0 = let in
	}{
		{"all is well", own, "", good, 0},
		{"localhost", "localhost:" + port, "", good, 0},
		{"ipv6", "[::1]:" + port, "", good, 0},
		{"own origin", own, "http://" + own, good, 0},

		{"no token", own, "", none, 401},
		{"wrong token", own, "", "Bearer hr_wrong", 401},
		{"empty token", own, "", "Bearer ", 401},
		{"another scheme", own, "", "Basic " + token, 401},
		{"no scheme", own, "", token, 401},
		{"more after the token", own, "", "Bearer " + token + " x", 401},

		{"upper case", "LOCALHOST:" + port, "", good, 403},
		{"rebound name", "evil.example.com", "", good, 403},
		{"rebound name with our port", "evil.example.com:" + port, "", good, 403},
		{"our name inside another", "localhost.evil.example.com:" + port, "", good, 403},
		{"another port", "127.0.0.1:1", "", good, 403},
		{"no port", "localhost", "", good, 403},
		{"another loopback address", "127.0.0.2:" + port, "", good, 403},
		{"a number", "2130706433:" + port, "", good, 403},
		{"final dot", "localhost.:" + port, "", good, 403},
		{"all addresses", "0.0.0.0:" + port, "", good, 403},

		{"page", own, "https://evil.example.com", good, 403},
		{"page on this machine", own, "http://localhost:3000", good, 403},
		{"no page", own, "null", good, 403},
		{"https", own, "https://" + own, good, 403},
		{"other loopback name", own, "http://localhost:" + port, good, 403},
		{"extension", own, "chrome-extension://abc", good, 403},
		{"our origin inside another", own, "http://" + own + ".evil.example.com", good, 403},
		{"page without token", own, "https://evil.example.com", none, 403},
		{"rebound with its own origin", "evil.example.com:" + port, "http://evil.example.com:" + port, good, 403},
	} {
		for _, method := range []string{"POST", "GET", "DELETE", "OPTIONS", "HEAD", "PUT", "PATCH", "TRACE", "MCP"} {
			authorization := c.token
			if c.token == good {
				authorization = "Bearer " + token
			}
			headers := append(modernHeaders("tools/list", ""), "Host", c.host, "Origin", c.origin, "Authorization", authorization)
			resp, text := w.do(w.request(t.Context(), method, body, headers...))
			want := c.want
			if want == 0 {
				want = 405
				if method == "POST" {
					want = 200
				}
			}
			if resp.StatusCode != want {
				t.Errorf("%s, %s: %d, want %d: %s", c.name, method, resp.StatusCode, want, text)
			}
			if want == 200 != strings.Contains(text, "whoami") {
				t.Errorf("%s, %s: the answer is %q", c.name, method, text)
			}
			for name := range resp.Header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s, %s: has the header %s", c.name, method, name)
				}
			}
			if got := resp.Header.Get("WWW-Authenticate"); (want == 401 && got != "Bearer") || (want != 401 && got != "") {
				t.Errorf("%s, %s: WWW-Authenticate: %q", c.name, method, got)
			}
		}
	}
	if strings.Contains(f.log.String(), token) {
		t.Error("the log holds the token")
	}
}

// What a well-behaved HTTP library can't send.
func TestRawRequests(t *testing.T) {
	f := newFixture(t)
	e := f.serveHTTP()
	token := f.token("a")
	own := "127.0.0.1:" + portOf(e)
	list := modernBody(1, "tools/list", "x", "")
	rest := fmt.Sprintf("Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: %s\r\nMcp-Method: tools/list\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		modernEra, len(list), list)
	bearer := "Authorization: Bearer " + token + "\r\n"
	host := "Host: " + own + "\r\n"
	for _, c := range []struct {
		name, text string
		want       string // the status
	}{
		{"good", "POST /mcp HTTP/1.1\r\n" + host + bearer + rest, "200"},
		{"no host", "POST /mcp HTTP/1.0\r\n" + bearer + rest, "403"},
		{"no host, 1.1", "POST /mcp HTTP/1.1\r\n" + bearer + rest, "400"},
		{"two hosts", "POST /mcp HTTP/1.1\r\n" + host + "Host: evil.example.com\r\n" + bearer + rest, "400"},
		{"host in the address", "POST http://evil.example.com/mcp HTTP/1.1\r\n" + host + bearer + rest, "403"},
		{"two origins", "POST /mcp HTTP/1.1\r\n" + host + "Origin: http://" + own + "\r\nOrigin: https://evil.example.com\r\n" + bearer + rest, "403"},
		{"empty origin", "POST /mcp HTTP/1.1\r\n" + host + "Origin:\r\n" + bearer + rest, "403"},
		{"two tokens", "POST /mcp HTTP/1.1\r\n" + host + bearer + "Authorization: Bearer x\r\n" + rest, "401"},
		{"token in the address", "POST /mcp?access_token=" + token + " HTTP/1.1\r\n" + host + rest, "401"},
		{"token in a cookie", "POST /mcp HTTP/1.1\r\n" + host + "Cookie: token=" + token + "\r\n" + rest, "401"},
		{"options of all", "OPTIONS * HTTP/1.1\r\nHost: evil.example.com\r\nConnection: close\r\n\r\n", "403"},
		{"options of all, our host", "OPTIONS * HTTP/1.1\r\n" + host + "Connection: close\r\n\r\n", "404"},
		{"connect", "CONNECT evil.example.com:443 HTTP/1.1\r\nHost: evil.example.com:443\r\nConnection: close\r\n\r\n", "403"},
		{"oauth", "GET /.well-known/oauth-protected-resource HTTP/1.1\r\n" + host + "Connection: close\r\n\r\n", "404"},
		{"oauth of the path", "GET /.well-known/oauth-protected-resource/mcp HTTP/1.1\r\n" + host + "Connection: close\r\n\r\n", "404"},
		{"oauth server", "GET /.well-known/oauth-authorization-server HTTP/1.1\r\n" + host + "Connection: close\r\n\r\n", "404"},
		{"root", "POST / HTTP/1.1\r\n" + host + bearer + rest, "404"},
		{"path below", "POST /mcp/ HTTP/1.1\r\n" + host + bearer + rest, "404"},
		{"path with dots", "POST /x/../mcp HTTP/1.1\r\n" + host + bearer + rest, "404"},
		{"huge header", "POST /mcp HTTP/1.1\r\n" + host + bearer + "X: " + strings.Repeat("x", 2*maxHeader) + "\r\n" + rest, "431"},
	} {
		conn, err := net.Dial("tcp", own)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(deadline))
		go io.WriteString(conn, c.text) // a refused one needn't be read whole
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil || !strings.Contains(line, " "+c.want+" ") {
			t.Errorf("%s: %q, %v; want %s", c.name, line, err, c.want)
		}
		conn.Close()
	}
}

// Both addresses of the loopback are served.
func TestBothAddresses(t *testing.T) {
	f := newFixture(t)
	e := f.serveHTTP()
	for _, host := range []string{"127.0.0.1", "::1"} {
		conn, err := net.Dial("tcp", net.JoinHostPort(host, portOf(e)))
		if err != nil {
			t.Errorf("%s isn't served: %v", host, err)
			continue
		}
		conn.Close()
	}
}

func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		addr string
		port int
		ok   bool
	}{
		{"127.0.0.1:7437", 7437, true},
		{"[::1]:7437", 7437, true},
		{"localhost:0", 0, true},
		{":7437", 0, false},
		{"0.0.0.0:7437", 0, false},
		{"[::]:7437", 0, false},
		{"192.168.1.2:7437", 0, false},
		{"127.0.0.2:7437", 0, false},
		{"example.com:7437", 0, false},
		{"127.0.0.1", 0, false},
		{"127.0.0.1:", 0, false},
		{"127.0.0.1:70000", 0, false},
		{"127.0.0.1:-1", 0, false},
		{"127.0.0.1:http", 0, false},
		{"", 0, false},
	} {
		port, err := loopback(c.addr)
		if port != c.port || (err == nil) != c.ok {
			t.Errorf("loopback(%q) = %d, %v", c.addr, port, err)
		}
	}
	f := newFixture(t)
	if _, err := f.server.Listen("0.0.0.0:0"); hint.Code(err) != "bad_address" {
		t.Errorf("listening to the network: %v", err)
	}
}

// A port that is in use on either address is an error that names both.
func TestPortInUse(t *testing.T) {
	f := newFixture(t)
	for _, host := range []string{"127.0.0.1", "::1"} {
		l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		port := l.Addr().(*net.TCPAddr).Port
		_, err = f.server.Listen(fmt.Sprintf("127.0.0.1:%d", port))
		if hint.Code(err) != "port_in_use" || !strings.Contains(err.Error(), fmt.Sprintf("port %d on %s", port, host)) ||
			!strings.Contains(err.Error(), "--addr") {
			t.Errorf("%s in use: %v", host, err)
		}
	}
}

func TestBodies(t *testing.T) {
	f := newFixture(t)
	w := f.web(f.serveHTTP(), f.token("a"))
	big := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` + strings.Repeat("x", maxBody) + `"}}}`
	for _, c := range []struct {
		name, body string
		status     int
		want       string
	}{
		{"not json", `{`, 400, `"code":-32700`},
		{"empty", ``, 400, `"code":-32700`},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, 400, `"id":null,"error":{"code":-32600`},
		{"no version", `{"id":7,"method":"ping"}`, 400, `"id":7,"error":{"code":-32600`},
		{"too long", big, 413, "4 MiB"},
	} {
		resp, text := w.post(c.body)
		if resp.StatusCode != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d %.200s", c.name, resp.StatusCode, text)
		}
	}
	for _, c := range []struct {
		header, value string
		status        int
	}{
		{"Accept", "application/json", 400}, // so whoever gets a keep-alive can read it
		{"Accept", "", 400},
		{"Content-Type", "text/plain", 415},
		{"Content-Encoding", "gzip", 400}, // the body isn't unpacked: it is no message
	} {
		body := initializeBody("x")
		if c.header == "Content-Encoding" {
			body = "\x1f\x8b\x08\x00"
		}
		if resp, text := w.post(body, c.header, c.value); resp.StatusCode != c.status {
			t.Errorf("%s %q: %d %s", c.header, c.value, resp.StatusCode, text)
		}
	}
	// Without a length, in chunks.
	req := w.request(t.Context(), "POST", "")
	req.Body, req.ContentLength = io.NopCloser(strings.NewReader(big)), -1
	if resp, text := w.do(req); resp.StatusCode != 413 {
		t.Errorf("chunked: %d %.200s", resp.StatusCode, text)
	}
	// And the longest that is let in.
	session := w.initialize("x")
	fits := big[:len(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"`)]
	fits += strings.Repeat("y", maxBody-len(fits)-len(`"}}}`)) + `"}}}`
	if resp, text := w.post(fits, legacyHeaders(session)...); resp.StatusCode != 200 || len(text) < maxBody-200 {
		t.Errorf("4 MiB: %d, %d bytes", resp.StatusCode, len(text))
	}
}

// A client that sends its header or body drop by drop is cut off.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		token := f.token("a")
		_, _, raw, stop := f.serveInMemory()
		defer stop()
		until := func(text string) (time.Duration, string) {
			conn := raw()
			defer time.Sleep(2 * time.Second) // the writer ends
			defer conn.Close()
			begun := time.Now()
			go func() {
				for _, b := range []byte(text) {
					if _, err := conn.Write([]byte{b}); err != nil {
						return
					}
				}
				for {
					time.Sleep(time.Second)
					if _, err := conn.Write([]byte("x")); err != nil {
						return
					}
				}
			}()
			line, _ := bufio.NewReader(conn).ReadString('\n')
			return time.Since(begun), strings.TrimSpace(line)
		}
		if took, line := until("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:7437\r\nX-Slow: "); took > headerTime+time.Second || line != "" {
			t.Errorf("a slow header: %q after %v", line, took)
		}
		head := "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:7437\r\nContent-Length: 4000\r\n"
		if took, line := until(head + "Authorization: Bearer " + token + "\r\n\r\n"); took > bodyTime+time.Second || line != "HTTP/1.1 408 Request Timeout" {
			t.Errorf("a slow body: %q after %v", line, took)
		}
		if took, line := until(head + "\r\n"); took > bodyTime+time.Second || line != "HTTP/1.1 401 Unauthorized" {
			t.Errorf("a slow body without a token: %q after %v", line, took)
		}
	})
}

// An id that somebody else was given opens nothing.
func TestSessionOfAnother(t *testing.T) {
	f := newFixture(t)
	e := f.serveHTTP()
	one, other := f.web(e, f.token("one")), f.web(e, f.token("other"))
	session := one.initialize("x")
	headers := legacyHeaders(session)
	c := f.call("k")
	started := make(chan string, 1)
	go func() {
		_, text := one.post(callBody(1, "wait", `{"key":"k"}`), headers...)
		started <- text
	}()
	within(t, "the call", c.started)
	for _, method := range []string{"POST", "GET", "DELETE"} {
		for what, body := range map[string]string{"call": callBody(2, "whoami", "{}"), "cancel": `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`} {
			resp, text := other.do(other.request(t.Context(), method, body, headers...))
			if resp.StatusCode != 403 && resp.StatusCode != 404 {
				t.Errorf("other's %s (%s) with one's session: %d %s", method, what, resp.StatusCode, text)
			}
		}
	}
	if resp, text := other.do(other.request(t.Context(), "GET", "", append(headers, "Last-Event-ID", "abc_0")...)); resp.StatusCode != 403 && resp.StatusCode != 404 {
		t.Errorf("other resumes one's stream: %d %s", resp.StatusCode, text)
	}
	close(c.release)
	if text := within(t, "one's answer", started); answerText(t, text) != "released " {
		t.Errorf("one's call: %s", text)
	}
	for name, id := range map[string]string{"unknown": "nobody", "cut": session[:10], "with more": session + "x"} {
		for _, method := range []string{"POST", "GET", "DELETE"} {
			resp, text := one.do(one.request(t.Context(), method, callBody(3, "echo", "{}"), legacyHeaders(id)...))
			if resp.StatusCode != 404 {
				t.Errorf("%s session, %s: %d %s", name, method, resp.StatusCode, text)
			}
		}
	}
	resp, text := one.post(callBody(4, "echo", "{}"), "MCP-Protocol-Version", legacyEra)
	if resp.StatusCode == 200 && !strings.Contains(text, `"error"`) {
		t.Errorf("a call without a session: %d %s", resp.StatusCode, text)
	}
}

// whoami gives the session's id and the rest of what the tool sees.
func whoami(t *testing.T, body string) (session, who string) {
	t.Helper()
	session, who, ok := strings.Cut(answerText(t, body), "|")
	if !ok {
		t.Fatalf("whoami: %s", body)
	}
	return session, who
}

// Which requests share a session: what DESIGN calls "a session belongs to one client credential".
func TestSessions(t *testing.T) {
	f := newFixture(t)
	e := f.serveHTTP()
	one, other := f.web(e, f.token("one")), f.web(e, f.token("other"))
	modern := func(w *web, name string) (session, who string) {
		t.Helper()
		resp, text := w.post(modernCall(1, "whoami", "{}", name), modernHeaders("tools/call", "whoami")...)
		if resp.StatusCode != 200 {
			t.Fatalf("%d %s", resp.StatusCode, text)
		}
		return whoami(t, text)
	}
	legacy := func(w *web, id string) (session, who string) {
		t.Helper()
		_, text := w.post(callBody(1, "whoami", "{}"), legacyHeaders(id)...)
		return whoami(t, text)
	}
	a1, who := modern(one, "claude")
	if who != "http:one|claude|3|ask" {
		t.Errorf("modern: %s", who)
	}
	a2, _ := modern(one, "claude")
	a3, _ := modern(one, "other")
	b1, _ := modern(other, "claude")
	if a1 != a2 {
		t.Error("two modern requests of one client have two sessions")
	}
	first, second := one.initialize("claude"), one.initialize("claude")
	l1, who := legacy(one, first)
	if who != "http:one|claude|1.2|ask" {
		t.Errorf("legacy: %s", who)
	}
	l1again, _ := legacy(one, first)
	l2, _ := legacy(one, second)
	if l1 != l1again {
		t.Error("two requests of one session have two sessions")
	}
	seen := map[string]string{}
	for name, id := range map[string]string{"one": a1, "one, other name": a3, "other": b1, "one, legacy": l1, "one, second legacy": l2} {
		if other, twice := seen[id]; twice {
			t.Errorf("%s and %s share a session", name, other)
		}
		seen[id] = name
	}

	// DELETE ends the session.
	if resp, text := one.do(one.request(t.Context(), "DELETE", "", legacyHeaders(first)...)); resp.StatusCode != 204 {
		t.Errorf("DELETE: %d %s", resp.StatusCode, text)
	}
	for _, s := range f.sessions.Live() {
		if s.ID == l1 {
			t.Error("the session lives on after DELETE")
		}
	}
	if resp, _ := one.post(callBody(1, "whoami", "{}"), legacyHeaders(first)...); resp.StatusCode != 404 {
		t.Errorf("after DELETE: %d", resp.StatusCode)
	}

	// Revoking the token ends its sessions and lets nobody in.
	if err := f.tokens.Revoke("other"); err != nil {
		t.Fatal(err)
	}
	for _, s := range f.sessions.Live() {
		if s.Client.ID == "http:other" {
			t.Error("other's session lives on")
		}
	}
	if resp, _ := other.post(modernCall(1, "whoami", "{}", "claude"), modernHeaders("tools/call", "whoami")...); resp.StatusCode != 401 {
		t.Errorf("a revoked token: %d", resp.StatusCode)
	}

	// Everything ended from outside: the next call begins anew.
	f.sessions.EndAll()
	l3, _ := legacy(one, second)
	a4, _ := modern(one, "claude")
	if l3 == l2 || a4 == a1 {
		t.Error("a session that was ended is used again")
	}
}

// A token that is revoked takes all with it: calls, streams, and sessions that another token of the same name can't have.
func TestRevoke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		token := f.token("a")
		e, web, _, stop := f.serveInMemory()
		defer stop()
		w := web(token)
		headers := legacyHeaders(w.initialize("x"))
		c := f.call("k")
		var all sync.WaitGroup
		all.Go(func() { w.post(callBody(1, "wait", `{"key":"k"}`), headers...) })
		all.Go(func() { w.do(w.request(t.Context(), "GET", "", headers...)) })
		<-c.started
		synctest.Wait()
		if err := f.tokens.Revoke("a"); err != nil {
			t.Fatal(err)
		}
		all.Wait()
		if err := <-c.ended; err == nil {
			t.Error("the call wasn't cancelled")
		}
		synctest.Wait()
		e.mu.Lock()
		if n := len(e.sessions); n != 0 {
			t.Errorf("%d sessions are left", n)
		}
		e.mu.Unlock()
		again := web(f.token("a"))
		if resp, _ := again.post(callBody(2, "echo", "{}"), headers...); resp.StatusCode != 404 {
			t.Errorf("the old session with a new token: %d", resp.StatusCode)
		}
	})
}

// DELETE ends the calls that run, at once.
func TestDeleteEndsCalls(t *testing.T) {
	f := newFixture(t)
	w := f.web(f.serveHTTP(), f.token("a"))
	headers := legacyHeaders(w.initialize("x"))
	c := f.call("k")
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		w.post(callBody(1, "wait", `{"key":"k"}`), headers...)
	}()
	within(t, "the call", c.started)
	if resp, _ := w.do(w.request(t.Context(), "DELETE", "", headers...)); resp.StatusCode != 204 {
		t.Errorf("DELETE: %d", resp.StatusCode)
	}
	if err := within(t, "the call's end", c.ended); err == nil {
		t.Error("the call wasn't cancelled")
	}
	within(t, "the answer", answered)
}

// A client that makes session after session keeps the newest, no more.
func TestManySessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		token := f.token("a")
		e, web, _, stop := f.serveInMemory()
		defer stop()
		w := web(token)
		first := w.initialize("x")
		var last string
		for range client.MaxSessions {
			time.Sleep(time.Second)
			last = w.initialize("x")
		}
		synctest.Wait()
		e.mu.Lock()
		n := len(e.sessions)
		e.mu.Unlock()
		if n != client.MaxSessions || len(f.sessions.Live()) != client.MaxSessions {
			t.Errorf("%d sessions, %d of them live", n, len(f.sessions.Live()))
		}
		if resp, _ := w.post(callBody(1, "echo", "{}"), legacyHeaders(first)...); resp.StatusCode != 404 {
			t.Errorf("the first: %d", resp.StatusCode)
		}
		if resp, _ := w.post(callBody(1, "echo", "{}"), legacyHeaders(last)...); resp.StatusCode != 200 {
			t.Errorf("the last: %d", resp.StatusCode)
		}
	})
}

// Modern: a client that is gone has cancelled.
func TestGoneModern(t *testing.T) {
	f := newFixture(t)
	w := f.web(f.serveHTTP(), f.token("a"))
	c := f.call("k")
	ctx, hangUp := context.WithCancel(t.Context())
	go func() {
		<-c.started
		hangUp()
	}()
	if _, err := w.http.Do(w.request(ctx, "POST", modernCall(1, "wait", `{"key":"k"}`, "x"), modernHeaders("tools/call", "wait")...)); err == nil {
		t.Error("an answer came")
	}
	if err := within(t, "the call's end", c.ended); err == nil {
		t.Error("the call wasn't cancelled")
	}
}

// Before: it goes on, and the client can come back for the answer for a minute. Its question can be withdrawn at once.
func TestGoneLegacy(t *testing.T) {
	for _, c := range []struct {
		name     string
		away     time.Duration // until the client comes back
		released time.Duration // until the call is done, from the moment the client went
		want     string        // what it gets then
	}{
		{"back before the end", 30 * time.Second, 45 * time.Second, "released late"},
		{"back after the end", 50 * time.Second, 10 * time.Second, "released late"},
		{"stays away, comes back late", 59*time.Second + 900*time.Millisecond, 59 * time.Second, "released late"},
		{"too late for a call that runs", 61 * time.Second, 0, ""},
		{"too late for an answer", 61 * time.Second, 10 * time.Second, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				token := f.token("a")
				_, web, _, stop := f.serveInMemory()
				defer stop()
				w := web(token)
				headers := legacyHeaders(w.initialize("x"))
				call := f.call("k")
				ctx, hangUp := context.WithCancel(t.Context())
				resp, err := w.http.Do(w.request(ctx, "POST", callBody(1, "wait", `{"key":"k","text":"late"}`), headers...))
				if err != nil {
					t.Fatal(err)
				}
				event := eventID(t, resp.Body)
				<-call.started
				hangUp()
				resp.Body.Close()
				<-call.gone
				synctest.Wait()
				if len(call.ended) != 0 {
					t.Fatal("the call ended with its client")
				}
				if c.released > 0 {
					go func() {
						time.Sleep(c.released)
						close(call.release)
					}()
				}
				time.Sleep(c.away)
				resp, text := w.do(w.request(t.Context(), "GET", "", append(headers, "Last-Event-ID", event)...))
				if c.want == "" {
					if resp.StatusCode != 400 {
						t.Errorf("too late: %d %s", resp.StatusCode, text)
					}
					if err := <-call.ended; (err == nil) != (c.released > 0) {
						t.Errorf("the call ended with %v", err)
					}
					return
				}
				if resp.StatusCode != 200 || answerText(t, text) != c.want {
					t.Errorf("back: %d %q", resp.StatusCode, text)
				}
				if err := <-call.ended; err != nil {
					t.Errorf("the call ended with %v", err)
				}
			})
		})
	}
}

// eventID reads the id of the first event of a stream, up to its end.
func eventID(t *testing.T, r io.Reader) string {
	t.Helper()
	var id string
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if value, ok := strings.CutPrefix(line, "id: "); ok {
			id = strings.TrimSpace(value)
		}
		if line == "\n" {
			return id
		}
	}
}

// An answer that was read to its end isn't kept.
func TestAnsweredIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		token := f.token("a")
		e, web, _, stop := f.serveInMemory()
		defer stop()
		w := web(token)
		session := w.initialize("x")
		_, text := w.post(callBody(1, "echo", `{"text":"hi"}`), legacyHeaders(session)...)
		synctest.Wait()
		e.replay.mu.Lock()
		n, bytes := len(e.replay.sessions[session]), e.replay.bytes
		e.replay.mu.Unlock()
		if n != 1 || bytes != 0 { // the session's own stream
			t.Errorf("%d streams with %d bytes are kept", n, bytes)
		}
		event := eventID(t, strings.NewReader(text))
		if resp, _ := w.do(w.request(t.Context(), "GET", "", append(legacyHeaders(session), "Last-Event-ID", event)...)); resp.StatusCode != 400 {
			t.Errorf("the answer can be had again: %d", resp.StatusCode)
		}
	})
}

func TestCancelled(t *testing.T) {
	f := newFixture(t)
	w := f.web(f.serveHTTP(), f.token("a"))
	headers := legacyHeaders(w.initialize("x"))
	c := f.call("k")
	answered := make(chan string, 1)
	go func() {
		_, text := w.post(callBody(7, "wait", `{"key":"k"}`), headers...)
		answered <- text
	}()
	within(t, "the call", c.started)
	for _, other := range []string{`8`, `"7"`, `null`, `{}`} { // not ours
		w.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+other+`}}`, headers...)
	}
	if resp, _ := w.post(callBody(9, "echo", `{}`), headers...); resp.StatusCode != 200 || len(c.ended) != 0 {
		t.Fatalf("another's cancellation ended the call (%d)", resp.StatusCode)
	}
	resp, text := w.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, headers...)
	if resp.StatusCode != 202 {
		t.Errorf("notifications/cancelled: %d %s", resp.StatusCode, text)
	}
	if err := within(t, "the call's end", c.ended); err == nil {
		t.Error("the call wasn't cancelled")
	}
	within(t, "the answer", answered)
}

// Stopping cancels what runs, sends the answers, ends streams that stand open, and leaves nothing behind.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		token := f.token("a")
		e, web, _, stop := f.serveInMemory()
		w := web(token)
		headers := legacyHeaders(w.initialize("x"))
		var all sync.WaitGroup
		var calls []*call
		for i := range 4 {
			c := f.call(fmt.Sprint(i))
			calls = append(calls, c)
			arguments := fmt.Sprintf(`{"key":"%d"}`, i)
			all.Go(func() {
				var text string
				var resp *http.Response
				if i%2 == 0 {
					resp, text = w.post(callBody(i+1, "wait", arguments), headers...)
				} else {
					resp, text = w.post(modernCall(i+1, "wait", arguments, "x"), modernHeaders("tools/call", "wait")...)
				}
				if resp.StatusCode != 200 || !strings.HasPrefix(answerText(t, text), "failed:") {
					t.Errorf("the answer of a call that was stopped: %d %s", resp.StatusCode, text)
				}
			})
			<-c.started
		}
		all.Go(func() { w.do(w.request(t.Context(), "GET", "", headers...)) })
		all.Go(func() {
			w.post(modernBody(9, "subscriptions/listen", "x", `"notifications":{"toolsListChanged":true}`), modernHeaders("subscriptions/listen", "")...)
		})
		synctest.Wait()
		begun := time.Now()
		stop()
		if took := time.Since(begun); took >= stopWithin {
			t.Errorf("stopping took %v", took)
		}
		for _, c := range calls {
			if err := <-c.ended; err == nil {
				t.Error("a call wasn't cancelled")
			}
		}
		all.Wait()
		synctest.Wait()
		e.mu.Lock()
		defer e.mu.Unlock()
		if len(e.sessions) != 0 {
			t.Errorf("%d sessions are left", len(e.sessions))
		}
	})
}

// Fifty clients at once, of both eras, each with its own token.
func TestManyClients(t *testing.T) {
	f := newFixture(t)
	e := f.serveHTTP()
	var tokens []string
	for i := range 50 {
		tokens = append(tokens, f.token(fmt.Sprintf("c%d", i)))
	}
	var all sync.WaitGroup
	for i, token := range tokens {
		all.Go(func() {
			version := legacyEra
			if i%2 == 0 {
				version = modernEra
			}
			c, err := connect(t.Context(), e.URL(), token, fmt.Sprintf("client%d", i), version)
			if err != nil {
				t.Errorf("client %d: %v", i, err)
				return
			}
			defer c.Close()
			var session string
			for j := range 5 {
				result, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "whoami"})
				if err != nil || result.IsError {
					t.Errorf("client %d: %v %v", i, err, result)
					return
				}
				id, who, _ := strings.Cut(result.Content[0].(*mcp.TextContent).Text, "|")
				if j > 0 && id != session {
					t.Errorf("client %d: its session changed", i)
				}
				session = id
				if !strings.HasPrefix(who, fmt.Sprintf("http:c%d|client%d|", i, i)) {
					t.Errorf("client %d is %s", i, who)
				}
			}
		})
	}
	all.Wait()
}

// connect is a client of the SDK's.
func connect(ctx context.Context, url, token, name, version string) (*mcp.ClientSession, error) {
	c := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, nil)
	transport := &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: withToken(token)}}
	return c.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
}

type withToken string

func (t withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(t))
	return http.DefaultTransport.RoundTrip(r)
}

// What a client without a level sees and may do: nothing. And one whose level is taken away while it is connected.
func TestNoLevel(t *testing.T) {
	f := newFixture(t)
	c, _, _ := f.serveStdio(t.Context())
	c.initialize()
	c.say(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if line := c.hear(); !strings.Contains(line, `"whoami"`) {
		t.Fatalf("tools/list: %s", line)
	}
	f.setLevel(client.None)
	c.say(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	if line := c.hear(); !strings.Contains(line, `"tools":[]`) {
		t.Errorf("tools/list: %s", line)
	}
	c.say(callBody(3, "echo", `{"text":"hi"}`))
	if line := c.hear(); answerText(t, line) != "failed: [not_allowed] this client may do nothing in Handrail; the person can change that in Handrail's menu" {
		t.Errorf("tools/call: %s", line)
	}
	f.setLevel(client.Look)
	c.say(callBody(4, "whoami", `{}`))
	if _, who := whoami(t, c.hear()); who != "stdio:/opt/test|teller|1.2|look" {
		t.Errorf("whoami: %s", who)
	}
}

// Text isn't HTML-escaped on the wire, on any way in.
func TestNotEscaped(t *testing.T) {
	f := newFixture(t)
	const text = `<b> & "x" > \u2028 \u003c \ ไทย`
	argument, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		t.Fatal(err)
	}
	check := func(name, body string) {
		t.Helper()
		if got := answerText(t, body); got != text {
			t.Errorf("%s: %q became %q", name, text, got)
		}
		if !strings.Contains(body, "<b> & ") {
			t.Errorf("%s: escaped on the wire: %s", name, body)
		}
	}
	w := f.web(f.serveHTTP(), f.token("a"))
	_, body := w.post(callBody(1, "echo", string(argument)), legacyHeaders(w.initialize("x"))...)
	check("legacy HTTP", body)
	_, body = w.post(modernCall(1, "echo", string(argument), "x"), modernHeaders("tools/call", "echo")...)
	check("modern HTTP", body)
	c, _, _ := f.serveStdio(t.Context())
	c.initialize()
	c.say(callBody(1, "echo", string(argument)))
	check("stdio", c.hear())
}
