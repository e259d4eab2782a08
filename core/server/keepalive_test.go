package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// recorder is a ResponseWriter that, as net/http's, isn't safe for use at once: under -race that shows.
type recorder struct {
	header http.Header
	status int
	sent   http.Header
	body   bytes.Buffer
	shut   bool
}

func (r *recorder) Header() http.Header { return r.header }
func (r *recorder) WriteHeader(status int) {
	r.status, r.sent = status, r.header.Clone()
}
func (r *recorder) Write(p []byte) (int, error) {
	if r.shut {
		panic("written after the end")
	}
	if r.status == 0 {
		r.WriteHeader(200)
	}
	return r.body.Write(p)
}
func (r *recorder) Flush() {}

const comment = ": keepalive\n\n"

func TestKeepAlive(t *testing.T) {
	const every = 10 * time.Second
	event := func(w http.ResponseWriter, data string) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\n", data)
		http.NewResponseController(w).Flush()
	}
	asJSON := func(w http.ResponseWriter, status int, body string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
	for _, c := range []struct {
		name   string
		handle func(w http.ResponseWriter)
		status int
		kind   string
		body   string
	}{
		{"quick stream", func(w http.ResponseWriter) { event(w, "1") }, 200, "text/event-stream", "data: 1\n\n"},
		{"quick JSON", func(w http.ResponseWriter) { asJSON(w, 400, `{"a":1}`) }, 400, "application/json", `{"a":1}`},
		{"quick text", func(w http.ResponseWriter) { http.Error(w, "no", 404) }, 404, "text/plain; charset=utf-8", "no\n"},
		{"nothing", func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/event-stream") }, 0, "", ""},
		{"nothing, late", func(http.ResponseWriter) { time.Sleep(25 * time.Second) }, 200, "text/event-stream", comment + comment},
		{"late stream", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			time.Sleep(35 * time.Second)
			event(w, "1")
			time.Sleep(15 * time.Second)
			event(w, "2")
		}, 200, "text/event-stream", comment + comment + comment + "data: 1\n\n" + comment + "data: 2\n\n"},
		{"never silent for long", func(w http.ResponseWriter) {
			for range 4 {
				time.Sleep(9 * time.Second)
				event(w, "p")
			}
		}, 200, "text/event-stream", strings.Repeat("data: p\n\n", 4)},
		{"late JSON", func(w http.ResponseWriter) {
			time.Sleep(11 * time.Second)
			asJSON(w, 400, "{\"jsonrpc\":\"2.0\",\n \"id\":1}\n")
			time.Sleep(30 * time.Second)
		}, 200, "text/event-stream", comment + "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1}\n\n"},
		{"late JSON in parts", func(w http.ResponseWriter) {
			time.Sleep(11 * time.Second)
			asJSON(w, 400, `{"jsonrpc":"2.0",`)
			http.NewResponseController(w).Flush()
			io.WriteString(w, `"id":1}`)
		}, 200, "text/event-stream", comment + "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1}\n\n"},
		{"late text", func(w http.ResponseWriter) {
			time.Sleep(11 * time.Second)
			http.Error(w, "session is closing", 404)
		}, 200, "text/event-stream", comment + "event: message\ndata: " + `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"session is closing"}}` + "\n\n"},
		{"JSON begun in time stays JSON", func(w http.ResponseWriter) {
			asJSON(w, 200, `{"a":`)
			time.Sleep(60 * time.Second)
			io.WriteString(w, "1}")
		}, 200, "application/json", `{"a":1}`},
		{"other headers", func(w http.ResponseWriter) {
			w.Header().Set("Mcp-Session-Id", "s")
			event(w, "1")
		}, 200, "text/event-stream", "data: 1\n\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &recorder{header: http.Header{"X-Before": {"kept"}}}
				k := newKeepAlive(r, jsontext.Value("7"), every)
				c.handle(k)
				k.stop()
				r.shut = true
				time.Sleep(time.Minute) // nothing comes after the end
				if r.status != c.status || r.body.String() != c.body || r.sent.Get("Content-Type") != c.kind {
					t.Errorf("%d %s %q, want %d %s %q", r.status, r.sent.Get("Content-Type"), r.body.String(), c.status, c.kind, c.body)
				}
				if r.header.Get("X-Before") != "kept" {
					t.Error("a header that was set before is lost")
				}
			})
		})
	}
}

// The timer and the handler at once, thousands of times: whole lines, in order, nothing lost.
func TestKeepAliveRace(t *testing.T) {
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			r := &recorder{header: http.Header{}}
			k := newKeepAlive(r, jsontext.Value("1"), 50*time.Microsecond)
			asJSON := i%2 == 0
			if asJSON {
				for k.Header(); ; {
					k.mu.Lock()
					begun := k.begun
					k.mu.Unlock()
					if begun {
						break
					}
				}
				k.Header().Set("Content-Type", "application/json")
				k.WriteHeader(400)
				io.WriteString(k, `{"n":99}`)
			} else {
				k.Header().Set("Content-Type", "text/event-stream")
				for n := range 100 {
					fmt.Fprintf(k, "data: {\"n\":%d}\n\n", n)
					k.FlushError()
				}
			}
			k.stop()
			r.shut = true
			n := 0
			for part := range strings.SplitSeq(strings.TrimSuffix(r.body.String(), "\n\n"), "\n\n") {
				if part == ": keepalive" {
					continue
				}
				data := part[strings.LastIndex(part, "data: ")+len("data: "):]
				var got struct{ N int }
				if err := json.Unmarshal([]byte(data), &got); err != nil {
					t.Errorf("%q: %v", part, err)
					return
				}
				if want := n; !asJSON && got.N != want {
					t.Errorf("event %d is %d", want, got.N)
				}
				n++
			}
			if want := map[bool]int{true: 1, false: 100}[asJSON]; n != want {
				t.Errorf("%d events, want %d", n, want)
			}
		})
	}
	all.Wait()
}

// Over HTTP: a call that is silent for long keeps its connection, in both eras, and its answer comes whole.
func TestSilentCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		token := f.token("a")
		_, web, _, stop := f.serveInMemory()
		defer stop()
		w := web(token)
		headers := legacyHeaders(w.initialize("x"))
		for _, modern := range []bool{true, false} {
			c := f.call("k")
			go func() {
				time.Sleep(3*keepAliveEvery + time.Second)
				close(c.release)
			}()
			var body string
			if modern {
				_, body = w.post(modernCall(1, "wait", `{"key":"k"}`, "x"), modernHeaders("tools/call", "wait")...)
			} else {
				_, body = w.post(callBody(1, "wait", `{"key":"k"}`), headers...)
			}
			if n := strings.Count(body, comment); n != 3 || answerText(t, body) != "released " {
				t.Errorf("modern %v: %q", modern, body)
			}
		}
	})
}
