package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"handrail/core/client"
	"handrail/core/hint"
)

const (
	// startTime is how long an app that was started may take until it answers.
	startTime = 20 * time.Second
	// startPause is how long the socket is left alone between two tries.
	startPause = 50 * time.Millisecond
	// farewell is how long the last answers may take after the client has closed its side.
	farewell = linger + 2*time.Second
)

// Bridge is the body of `handrail stdio`: it joins a client that started it as a command to the running app. Lines go
// both ways as they come. When nobody answers on the socket, start is called once (nil: it isn't), which must start the
// app as nobody's child and may return before it answers.
//
// It ends without an error when the client closes its side; then the answers to what still ran have been passed on. When
// the app can't be reached, or goes away, the client's open requests are answered with a JSON-RPC error that says so, and
// the error is returned for the log. in can't be interrupted: after an error a goroutine may still wait in Read.
func Bridge(ctx context.Context, path string, start func() error, in io.Reader, out io.Writer) error {
	b := &bridge{in: bufio.NewReaderSize(in, 64<<10), out: out, ended: make(chan struct{})}
	conn, r, err := reach(ctx, path, start)
	if err != nil {
		if ctx.Err() == nil {
			b.refuseFirst(err)
		}
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	go b.up(conn)
	return b.down(ctx, r)
}

type bridge struct {
	in    *bufio.Reader
	out   io.Writer
	ended chan struct{} // closed when the client has closed its side

	mu      sync.Mutex
	pending []message // requests without an answer
	gone    error     // set when the app has gone
}

// reach connects to the app, starting it when nobody answers, and exchanges hellos.
func reach(ctx context.Context, path string, start func() error) (*net.UnixConn, *bufio.Reader, error) {
	conn, err := dial(ctx, path)
	if absent(err) && start != nil {
		startErr := start()
		patience, cancel := context.WithTimeout(ctx, startTime)
		defer cancel()
		if startErr != nil { // somebody else may be starting it
			patience, cancel = context.WithTimeout(ctx, time.Second)
			defer cancel()
		}
		for conn, err = dial(ctx, path); absent(err); conn, err = dial(ctx, path) {
			select {
			case <-time.After(startPause):
				continue
			case <-patience.Done():
			}
			why := "it was started and doesn't answer"
			if startErr != nil {
				why = startErr.Error()
			}
			return nil, nil, hint.New("not_running", "Handrail isn't running").Because(why).
				Then("start Handrail (`handrail`, or without a screen `handrail serve`), then try again").Wrap(errors.Join(startErr, err))
		}
	}
	if absent(err) {
		return nil, nil, hint.New("not_running", "Handrail isn't running").Then("start Handrail, then try again").Wrap(err)
	}
	if err != nil {
		return nil, nil, cannotConnect(err)
	}
	uid, _, err := peer(conn)
	if err == nil {
		err = samePerson(uid, os.Getuid())
	}
	r := bufio.NewReaderSize(conn, 64<<10)
	if err == nil {
		_, err = greet(conn, r, ownHello())
	}
	if err != nil {
		conn.Close()
		if h, ok := errors.AsType[*hint.Hint](err); ok {
			return nil, nil, h
		}
		return nil, nil, cannotConnect(err)
	}
	return conn, r, nil
}

// URLOf asks the app that listens on the socket at path where it listens for HTTP, "" if it doesn't. It starts nothing.
func URLOf(path string) (string, error) {
	server, err := ask(path, ownHello())
	return server.URL, err
}

// Runs reports whether anything listens on the socket at path, whether it answers or not.
func Runs(path string) bool {
	_, err := ask(path, ownHello())
	return !absent(err)
}

// Pair has the app that listens on the socket at path let a new assistant ask to connect: Options.OpenPairing with that name and level.
// It gives the address that the assistant is to be given.
func Pair(path, name string, level client.Level) (url string, err error) {
	own := ownHello()
	own.Pair = &pairWish{Name: name, Level: level.String()}
	server, err := ask(path, own)
	if absent(err) {
		return "", hint.New("not_running", "Handrail isn't running").Then("start `handrail`, or without a screen `handrail serve`, then try again").Wrap(err)
	}
	if err == nil && server.Pairing == "" {
		err = hint.New("version_mismatch", "the running Handrail can't pair assistants yet").Then("quit Handrail and start it again")
	}
	return server.Pairing, err
}

// Show has the app that listens on the socket at path show a window of its own: Options.Show. It answers nothing, and allows nothing.
func Show(path string) error {
	own := ownHello()
	own.Show = true
	server, err := ask(path, own)
	if err == nil && !server.Shown {
		err = hint.New("version_mismatch", "the running Handrail can't be shown yet").Then("quit Handrail and start it again")
	}
	return err
}

// ask exchanges hellos with the app, and nothing more.
func ask(path string, own hello) (server hello, err error) {
	conn, err := dial(context.Background(), path)
	if err != nil {
		return hello{}, err
	}
	defer conn.Close()
	uid, _, err := peer(conn)
	if err == nil {
		err = samePerson(uid, os.Getuid())
	}
	if err != nil {
		return hello{}, err
	}
	return greet(conn, bufio.NewReader(conn), own)
}

func cannotConnect(err error) error {
	return hint.New("cannot_connect", "Handrail can't be reached").Because(cause(err)).Wrap(err)
}

func dial(ctx context.Context, path string) (*net.UnixConn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	return conn.(*net.UnixConn), nil
}

// absent tells whether a failed connect means that nobody listens.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}

// up passes the client's lines on, noting the requests in them.
func (b *bridge) up(conn *net.UnixConn) {
	for {
		line, err := readLine(b.in, maxLine)
		if errors.Is(err, errLongLine) {
			b.write(errorAnswer(nil, invalid(fmt.Sprintf("the message is longer than %d MiB", maxLine>>20))))
			continue
		}
		if len(bytes.TrimSpace(line)) > 0 {
			if !b.note(glance(line)) {
				continue
			}
			conn.Write(append(line, '\n')) // if it fails, down notices too
		}
		if err != nil {
			close(b.ended)
			conn.CloseWrite()
			conn.SetReadDeadline(time.Now().Add(farewell))
			return
		}
	}
}

// note remembers a request until it is answered. When the app has gone it answers it, and is false.
func (b *bridge) note(m message) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !m.isCall() {
		return b.gone == nil
	}
	if b.gone != nil {
		b.refuse(m)
		return false
	}
	b.pending = append(b.pending, m)
	return true
}

// settle forgets a request that was answered.
func (b *bridge) settle(m message) {
	if m.id == nil || m.method != "" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, p := range b.pending {
		if bytes.Equal(p.id, m.id) {
			b.pending = append(b.pending[:i], b.pending[i+1:]...)
			return
		}
	}
}

// down passes the app's lines on until there are no more.
func (b *bridge) down(ctx context.Context, r *bufio.Reader) error {
	for {
		line, err := readLine(r, maxAnswer)
		if len(line) > 0 {
			b.settle(glance(line))
			if writeErr := b.write(line); writeErr != nil {
				return fmt.Errorf("writing to the client: %w", writeErr)
			}
		}
		if err == nil {
			continue
		}
		select {
		case <-b.ended:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
		gone := hint.New("app_gone", "Handrail has quit").Then("start Handrail and connect again").Wrap(err)
		b.mu.Lock()
		defer b.mu.Unlock()
		b.gone = gone
		for _, m := range b.pending {
			b.refuse(m)
		}
		b.pending = nil
		return gone
	}
}

// maxAnswer is the longest line that is passed on to the client, in bytes. Handrail's own answers are far shorter.
const maxAnswer = 64 << 20

// refuse answers a request with why the app can't. b.mu is held, which also keeps the lines apart.
func (b *bridge) refuse(m message) {
	b.out.Write(append(errorAnswer(m.id, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: b.gone.Error()}), '\n'))
}

func (b *bridge) write(line []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err := b.out.Write(append(line, '\n'))
	return err
}

// refuseFirst answers the first request, which a client sends at once, so that it can show why.
func (b *bridge) refuseFirst(why error) {
	b.gone = why
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		if line, _ := readLine(b.in, maxLine); len(line) > 0 {
			b.note(glance(line))
		}
	}()
	select {
	case <-answered:
	case <-time.After(time.Second):
	}
}
