package server

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// keepAliveEvery is how long the answer to a call may be silent. Clients give up a silent connection after 30 s or more.
const keepAliveEvery = 10 * time.Second

// keepAlive is the answer to one call, which the handler may leave silent for long. After every such time it sends an SSE
// comment (HTML standard, server-sent events: lines with a leading colon are ignored), beginning the stream with status
// 200 itself if the handler hasn't begun to answer. If the handler then answers with something that isn't a stream (the
// SDK sends some errors as plain JSON), that becomes an event of the stream.
//
// It also undoes the SDK's HTML escapes: what the SDK writes at once is whole messages.
//
// The handler has a header map of its own, so that it may be used while the timer fires. stop must be called before the
// request's handler returns.
type keepAlive struct {
	w     http.ResponseWriter
	every time.Duration
	id    jsontext.Value // the call's, for an error that has none
	own   http.Header

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
	begun   bool         // the header is out
	stream  bool         // what is out is an event stream
	other   bool         // the handler answers with something else, after we began a stream
	body    bytes.Buffer // that answer
}

func newKeepAlive(w http.ResponseWriter, id jsontext.Value, every time.Duration) *keepAlive {
	k := &keepAlive{w: w, id: id, every: every, own: w.Header().Clone()}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.timer = time.AfterFunc(every, k.speak)
	return k
}

// Header is the handler's.
func (k *keepAlive) Header() http.Header { return k.own }

func (k *keepAlive) WriteHeader(status int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.begin(status)
}

// begin sends the handler's header, unless one is out. k.mu is held.
func (k *keepAlive) begin(status int) {
	isStream := strings.HasPrefix(k.own.Get("Content-Type"), "text/event-stream")
	if k.begun {
		k.other = k.other || k.stream && !isStream
		return
	}
	k.begun, k.stream = true, isStream
	header := k.w.Header()
	clear(header)
	for name, values := range k.own {
		header[name] = values
	}
	k.w.WriteHeader(status)
}

func (k *keepAlive) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.begin(http.StatusOK)
	if k.other {
		return k.body.Write(p)
	}
	k.rest()
	if _, err := k.w.Write(unescape(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// FlushError is for [http.ResponseController].
func (k *keepAlive) FlushError() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.begin(http.StatusOK)
	if k.other {
		return nil
	}
	return http.NewResponseController(k.w).Flush()
}

// rest begins the silence anew. k.mu is held.
func (k *keepAlive) rest() {
	if !k.stopped {
		k.timer.Reset(k.every)
	}
}

func (k *keepAlive) speak() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stopped || k.other || k.begun && !k.stream {
		return
	}
	if !k.begun {
		k.begun, k.stream = true, true
		header := k.w.Header()
		header.Set("Content-Type", "text/event-stream")
		header.Set("Cache-Control", "no-cache, no-transform")
		k.w.WriteHeader(http.StatusOK)
	}
	if _, err := k.w.Write([]byte(": keepalive\n\n")); err != nil {
		return // the client is gone; its request ends by itself
	}
	if http.NewResponseController(k.w).Flush() == nil {
		k.rest()
	}
}

// stop ends the keep-alive. Nothing is written after it.
func (k *keepAlive) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stopped = true
	k.timer.Stop()
	if !k.begun { // nothing was written: net/http will send this
		header := k.w.Header()
		clear(header)
		for name, values := range k.own {
			header[name] = values
		}
		return
	}
	if !k.other {
		return
	}
	text := jsontext.Value(bytes.TrimSpace(k.body.Bytes()))
	if !text.IsValid() || text.Compact() != nil {
		text = errorAnswer(k.id, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: strings.ToValidUTF8(string(text), "\uFFFD")})
	}
	k.w.Write(append(append([]byte("event: message\ndata: "), text...), "\n\n"...))
	http.NewResponseController(k.w).Flush()
}
