package server

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const answer = `{"jsonrpc":"2.0","id":1,"result":{}}`

// reader gives the context of a request that reads streams, and ends it; finished says whether the client was there.
func reader() (ctx context.Context, end func(finished bool)) {
	request, cancel := context.WithCancel(context.Background())
	x := &exchange{request: request}
	return context.WithValue(request, exchangeKey{}, x), func(finished bool) {
		x.finished.Store(finished)
		cancel()
	}
}

func (p *replay) read(ctx context.Context, session, stream string, after int) (string, error) {
	var all []string
	for event, err := range p.After(ctx, session, stream, after) {
		if err != nil {
			return "", err
		}
		all = append(all, string(event))
	}
	return strings.Join(all, ","), nil
}

func TestReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopping, stop := context.WithCancel(context.Background())
		defer stop()
		p := newReplay(stopping)
		ctx, end := reader()
		p.Open(ctx, "s", "a")
		k := exchangeOf(ctx).kept
		p.Append(ctx, "s", "a", nil) // the first event is empty
		p.Append(ctx, "s", "a", []byte("one"))
		end(true) // the server closed the stream; there is no answer yet
		synctest.Wait()
		p.Append(ctx, "s", "a", []byte(answer))
		for after, want := range []string{"one," + answer, answer, ""} {
			other, leave := reader()
			if got, err := p.read(other, "s", "a", after); err != nil || got != want {
				t.Errorf("after %d: %q, %v", after, got, err)
			}
			leave(false)
			synctest.Wait()
		}
		for _, none := range [][2]string{{"s", "b"}, {"t", "a"}, {"", ""}} {
			if _, err := p.read(context.Background(), none[0], none[1], 0); err == nil {
				t.Errorf("read %q", none)
			}
		}
		if _, err := p.read(context.Background(), "s", "a", 3); err == nil {
			t.Error("read after an event that was never sent")
		}
		if k.over.Err() != nil {
			t.Error("the call was cancelled")
		}
		time.Sleep(keptFor + time.Second)
		synctest.Wait()
		if _, err := p.read(context.Background(), "s", "a", 0); err == nil || k.over.Err() == nil {
			t.Error("it is kept for ever")
		}
		if err := p.Append(ctx, "s", "a", []byte("x")); err == nil {
			t.Error("an event of a stream that isn't kept was")
		}
	})
}

// As long as someone reads, nothing is dropped; the time runs anew when the last one goes.
func TestReplayReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopping, stop := context.WithCancel(context.Background())
		defer stop()
		p := newReplay(stopping)
		ctx, end := reader()
		p.Open(ctx, "s", "a")
		k := exchangeOf(ctx).kept
		end(false)
		time.Sleep(keptFor - time.Second)
		ctx, end = reader()
		if _, err := p.read(ctx, "s", "a", -1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * keptFor)
		if k.over.Err() != nil {
			t.Fatal("the call ended while someone read")
		}
		end(false)
		time.Sleep(keptFor - time.Second)
		if k.over.Err() != nil {
			t.Fatal("the call ended too early")
		}
		time.Sleep(2 * time.Second)
		if k.over.Err() == nil {
			t.Fatal("the call goes on")
		}
	})
}

func TestReplayBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopping, stop := context.WithCancel(context.Background())
		defer stop()
		p := newReplay(stopping)
		big := []byte(`{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", maxKept/4) + `"}`)
		for i := range 6 {
			ctx, end := reader()
			p.Open(ctx, "s", fmt.Sprint(i))
			p.Append(ctx, "s", fmt.Sprint(i), big)
			end(false)
			time.Sleep(time.Second)
		}
		if p.bytes > maxKept {
			t.Errorf("%d bytes are kept", p.bytes)
		}
		if _, err := p.read(context.Background(), "s", "0", -1); err == nil {
			t.Error("the oldest is kept")
		}
		if got, err := p.read(context.Background(), "s", "5", -1); err != nil || len(got) != len(big) {
			t.Errorf("the newest: %d bytes, %v", len(got), err)
		}
		ctx, _ := reader()
		p.Open(ctx, "s", "")
		for i := range 3 * maxNotices {
			p.Append(ctx, "s", "", fmt.Appendf(nil, "%d", i))
		}
		if _, err := p.read(context.Background(), "s", "", 0); err == nil {
			t.Error("all notices are kept")
		}
		if got, err := p.read(context.Background(), "s", "", 3*maxNotices-2); err != nil || got != fmt.Sprint(3*maxNotices-1) {
			t.Errorf("the last notice: %q, %v", got, err)
		}
		p.SessionClosed(context.Background(), "s")
		if p.bytes != 0 || len(p.sessions) != 0 {
			t.Errorf("after the session: %d bytes, %d sessions", p.bytes, len(p.sessions))
		}
	})
}
