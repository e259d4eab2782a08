package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"handrail/core/client"
)

// Both eras over one stream, and what the tool sees.
func TestStdio(t *testing.T) {
	f := newFixture(t)
	c, hangUp, ended := f.serveStdio(t.Context())
	c.say(modernBody(1, "server/discover", "modern", ""))
	if line := c.hear(); !strings.Contains(line, `"2026-07-28"`) || !strings.Contains(line, `"name":"handrail"`) {
		t.Errorf("discover: %s", line)
	}
	c.say(modernCall(2, "whoami", "{}", "modern"))
	id, who := whoami(t, c.hear())
	if who != "stdio:/opt/test|modern|3|ask" {
		t.Errorf("whoami: %s", who)
	}
	c.say(modernCall(3, "whoami", "{}", "modern"))
	if again, _ := whoami(t, c.hear()); again != id {
		t.Error("the session changed")
	}
	f.sessions.EndAll() // revoked: the connection stays, the session doesn't
	c.say(modernCall(4, "whoami", "{}", "modern"))
	if again, _ := whoami(t, c.hear()); again == id {
		t.Error("a session that was ended is used again")
	}
	hangUp()
	if err := within(t, "the end", ended); err != nil {
		t.Errorf("ServeStdio: %v", err)
	}
	if n := len(f.sessions.Live()); n != 0 {
		t.Errorf("%d sessions live on", n)
	}

	c, hangUp, ended = f.serveStdio(t.Context())
	c.initialize()
	c.say(callBody(1, "whoami", "{}"))
	if _, who := whoami(t, c.hear()); who != "stdio:/opt/test|teller|1.2|ask" {
		t.Errorf("whoami: %s", who)
	}
	hangUp()
	if err := within(t, "the end", ended); err != nil {
		t.Errorf("ServeStdio: %v", err)
	}
}

// Whatever comes that isn't a message is answered, and the rest goes on.
func TestStdioMalformed(t *testing.T) {
	f := newFixture(t)
	c, _, _ := f.serveStdio(t.Context())
	c.initialize()
	check := func(name, line string, code int64, id string) {
		t.Helper()
		want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,`, id, code)
		if got := c.hear(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		c.say(`{"jsonrpc":"2.0","id":"still there","method":"ping"}`)
		if got := c.hear(); got != `{"jsonrpc":"2.0","id":"still there","result":{}}` {
			t.Errorf("%s: then %s", name, got)
		}
	}
	for _, m := range messages {
		if m.code == 0 || strings.TrimSpace(m.text) == "" {
			continue
		}
		c.say(m.text)
		id := m.id
		if id == "" {
			id = "null"
		}
		check(m.name, m.text, m.code, id)
	}
	const long = 17 << 20
	go io.WriteString(c.in, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"`+strings.Repeat("x", long)+`"}}`+"\n")
	check("a line too long", "", -32600, "null")
	deep := strings.Repeat(`{"a":`, 2000) + "1" + strings.Repeat("}", 2000)
	c.say(`{"jsonrpc":"2.0","id":8,"method":"ping","params":` + deep + `}`)
	check("too deep", "", -32600, "8")
	c.say("", "  \t ", "\r")
	c.say(`{"jsonrpc":"2.0","id":5,"result":{}}`) // an answer to nothing
	c.say(`{"jsonrpc":"2.0","id":9,"method":"no/such/method"}`)
	check("unknown method", "", -32601, "9")
	c.say("{\"jsonrpc\":\"2.0\",\"id\":10,\"method\":\"ping\"}\r")
	if got := c.hear(); got != `{"jsonrpc":"2.0","id":10,"result":{}}` {
		t.Errorf("a line with CRLF: %s", got)
	}
}

func TestStdioSameID(t *testing.T) {
	f := newFixture(t)
	c, _, _ := f.serveStdio(t.Context())
	c.initialize()
	call := f.call("k")
	c.say(callBody(1, "wait", `{"key":"k"}`))
	within(t, "the call", call.started)
	c.say(callBody(1, "echo", `{}`))
	if got := c.hear(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`) {
		t.Errorf("an id in use: %s", got)
	}
	close(call.release)
	if got := c.hear(); answerText(t, got) != "released " {
		t.Errorf("the first call: %s", got)
	}
}

// A client that sends 10,000 calls without waiting for answers has maxCalls of them made; each of the others is refused by its id,
// and once some are answered more are taken.
func TestStdioFlood(t *testing.T) {
	f := newFixture(t)
	c, _, _ := f.serveStdio(t.Context())
	c.initialize()
	var calls []*call
	for i := range maxCalls {
		calls = append(calls, f.call(fmt.Sprint(i)))
		c.say(callBody(i+1, "wait", fmt.Sprintf(`{"key":"%d"}`, i)))
	}
	for i := maxCalls; i < 10_000; i++ {
		c.say(callBody(i+1, "echo", `{}`))
		if got, want := c.hear(), fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32000,"message":"the call was not made: 1000 calls`, i+1); !strings.HasPrefix(got, want) {
			t.Fatalf("call %d: %s", i, got)
		}
	}
	for _, call := range calls {
		within(t, "the call", call.started)
	}
	close(calls[7].release)
	if got := c.hear(); answerText(t, got) != "released " {
		t.Errorf("a call that was made: %s", got)
	}
	c.say(callBody(99_999, "echo", `{"text":"again"}`))
	if got := c.hear(); answerText(t, got) != "again" {
		t.Errorf("after an answer: %s", got)
	}
}

func TestStdioCancelled(t *testing.T) {
	f := newFixture(t)
	c, _, _ := f.serveStdio(t.Context())
	c.initialize()
	call := f.call("k")
	c.say(callBody(1, "wait", `{"key":"k"}`))
	within(t, "the call", call.started)
	c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	if err := within(t, "the call's end", call.ended); err == nil {
		t.Error("the call wasn't cancelled")
	}
	c.say(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	if got := c.hear(); got != `{"jsonrpc":"2.0","id":2,"result":{}}` {
		t.Errorf("a cancelled call was answered: %s", got)
	}
}

// The end of the input: what is nearly done is answered, what isn't is cancelled, and a question can be withdrawn at once.
func TestStdioEnd(t *testing.T) {
	t.Run("answers what was asked", func(t *testing.T) {
		f := newFixture(t)
		text := initializeBody("x") + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
			callBody(1, "echo", `{"text":"one"}`) + "\n" + callBody(2, "echo", `{"text":"two"}`) // no newline at the end
		var out strings.Builder
		if err := f.server.ServeStdio(t.Context(), strings.NewReader(text), &out, client.Identity{ID: "stdio:x"}); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); strings.Count(got, "\n") != 3 || !strings.Contains(got, `"one"`) || !strings.Contains(got, `"two"`) {
			t.Errorf("the output is %s", got)
		}
	})
	t.Run("cancels what runs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t)
			c, hangUp, ended := f.serveStdio(t.Context())
			c.initialize()
			call := f.call("k")
			c.say(callBody(1, "wait", `{"key":"k"}`))
			<-call.started
			begun := time.Now()
			hangUp()
			<-call.gone
			if took := time.Since(begun); took != 0 {
				t.Errorf("gone after %v", took)
			}
			if err := <-call.ended; err == nil {
				t.Error("the call wasn't cancelled")
			}
			if err := <-ended; err != nil || time.Since(begun) > 2*linger {
				t.Errorf("ServeStdio: %v after %v", err, time.Since(begun))
			}
		})
	})
	t.Run("stops with its context", func(t *testing.T) {
		f := newFixture(t)
		ctx, stop := context.WithCancel(t.Context())
		c, _, ended := f.serveStdio(ctx)
		c.initialize()
		call := f.call("k")
		c.say(callBody(1, "wait", `{"key":"k"}`))
		within(t, "the call", call.started)
		stop()
		if err := within(t, "the call's end", call.ended); !errors.Is(err, errStopping) {
			t.Errorf("the call ended with %v", err)
		}
		if got := c.hear(); !strings.Contains(got, `"isError":true`) {
			t.Errorf("its answer: %s", got)
		}
		if err := within(t, "the end", ended); err != nil {
			t.Errorf("ServeStdio: %v", err)
		}
	})
	t.Run("the client reads no more", func(t *testing.T) {
		f := newFixture(t)
		inR, inW := io.Pipe()
		defer inW.Close()
		ended := make(chan error, 1)
		go func() { ended <- f.server.ServeStdio(t.Context(), inR, brokenWriter{}, client.Identity{ID: "stdio:x"}) }()
		io.WriteString(inW, initializeBody("x")+"\n")
		if err := within(t, "the end", ended); err == nil {
			t.Error("no error")
		}
		inR.Close()
	})
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestReadLine(t *testing.T) {
	const limit = 10
	for _, c := range []struct {
		text string
		want []string // "!" is a line that was too long
	}{
		{"", nil},
		{"\n", []string{""}},
		{"a\nb\n", []string{"a", "b"}},
		{"a\nb", []string{"a", "b"}},
		{"0123456789\n", []string{"0123456789"}},
		{"0123456789a\nb\n", []string{"!", "b"}},
		{"0123456789", []string{"0123456789"}},
		{"0123456789a", []string{"!"}},
		{strings.Repeat("x", 1000) + "\nb", []string{"!", "b"}},
		{strings.Repeat("x", 1000), []string{"!"}},
	} {
		r := bufio.NewReaderSize(strings.NewReader(c.text), 16) // the smallest there is
		var got []string
		for {
			line, err := readLine(r, limit)
			if errors.Is(err, errLongLine) {
				got = append(got, "!")
				continue
			}
			if err == nil || len(line) > 0 {
				got = append(got, string(line))
			}
			if err != nil {
				if err != io.EOF {
					t.Errorf("%.20q: %v", c.text, err)
				}
				break
			}
		}
		if strings.Join(got, "|") != strings.Join(c.want, "|") || len(got) != len(c.want) {
			t.Errorf("%.20q: %q, want %q", c.text, got, c.want)
		}
	}
}
