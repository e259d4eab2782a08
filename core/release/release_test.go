package release

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const address = "https://example.com/handrail/update.txt"

var (
	private = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, 32))
	other   = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{8}, 32))
	epoch   = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // when synctest's clocks start
)

func source(t testing.TB) Source {
	t.Helper()
	s, err := ParseSource(address, base64.StdEncoding.EncodeToString(private.Public().(ed25519.PublicKey)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// feed is a signed one that expires some days after the epoch.
func feed(t testing.TB, key ed25519.PrivateKey, version string, serial int64, days int) string {
	t.Helper()
	text, err := Feed{version, serial, epoch.AddDate(0, 0, days)}.Sign(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// server answers requests, and notes them.
type server struct {
	asked  []*http.Request
	status int
	answer string
	where  string // for a redirect
	fails  error
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked = append(s.asked, r)
	if s.fails != nil {
		return nil, s.fails
	}
	return &http.Response{StatusCode: s.status, Header: http.Header{"Location": {s.where}}, Body: io.NopCloser(strings.NewReader(s.answer)), Request: r}, nil
}

// What may be learned from an answer, after what is known already.
func TestLearn(t *testing.T) {
	good := feed(t, private, "v1.3.0", 5, 90)
	body := good[strings.LastIndex(strings.TrimSpace(good), "\n")+1:]
	resigned := func(body string) string {
		return head + base64.StdEncoding.EncodeToString(ed25519.Sign(private, []byte(head+body))) + "\n" + body
	}
	for _, c := range []struct {
		name, known string
		server      server
		want        Status
		fails       string
	}{
		{"newer", "", server{status: 200, answer: good}, Status{State: Available, Version: "v1.3.0"}, ""},
		{"the same version", "", server{status: 200, answer: feed(t, private, "v1.2.0", 5, 90)}, Status{State: Current, Version: "v1.2.0"}, ""},
		{"older than runs", "", server{status: 200, answer: feed(t, private, "v1.1.9", 5, 90)}, Status{State: Current, Version: "v1.1.9"}, ""},
		{"ten is more than nine", "", server{status: 200, answer: feed(t, private, "v1.10.0", 5, 90)}, Status{State: Available, Version: "v1.10.0"}, ""},
		{"known already", good, server{status: 200, answer: good}, Status{State: Available, Version: "v1.3.0"}, ""},
		{"newer than known", good, server{status: 200, answer: feed(t, private, "v1.4.0", 6, 90)}, Status{State: Available, Version: "v1.4.0"}, ""},
		{"replayed", good, server{status: 200, answer: feed(t, private, "v1.2.5", 4, 90)}, Status{State: Available, Version: "v1.3.0"}, "older one"},
		{"downgraded", good, server{status: 200, answer: feed(t, private, "v1.2.5", 6, 90)}, Status{State: Available, Version: "v1.3.0"}, "older one"},
		{"the same number, other text", good, server{status: 200, answer: feed(t, private, "v1.3.0", 5, 91)}, Status{State: Available, Version: "v1.3.0"}, "older one"},
		{"expired", "", server{status: 200, answer: feed(t, private, "v1.3.0", 5, 0)}, Status{}, "expired"},
		{"another's key", "", server{status: 200, answer: feed(t, other, "v1.3.0", 5, 90)}, Status{}, "signature"},
		{"known by another's key", feed(t, other, "v9.0.0", 9, 90), server{status: 200, answer: good}, Status{State: Available, Version: "v1.3.0"}, ""},
		{"changed", "", server{status: 200, answer: strings.Replace(good, "v1.3.0", "v1.3.1", 1)}, Status{}, "signature"},
		{"more behind it", "", server{status: 200, answer: good + "{}"}, Status{}, "signature"},
		{"signed for something else", "", server{status: 200, answer: head + base64.StdEncoding.EncodeToString(ed25519.Sign(private, []byte(body))) + "\n" + body}, Status{}, "signature"},
		{"two in one", "", server{status: 200, answer: resigned(body + body)}, Status{}, "follows"},
		{"unknown field", "", server{status: 200, answer: resigned(`{"version":"v1.3.0","serial":5,"expires":"2000-03-01T00:00:00Z","run":"x"}`)}, Status{}, "unknown field"},
		{"no version", "", server{status: 200, answer: resigned(`{"version":"<b>","serial":5,"expires":"2000-03-01T00:00:00Z"}`)}, Status{}, "version"},
		{"no expiry", "", server{status: 200, answer: resigned(`{"version":"v1.3.0","serial":5}`)}, Status{}, "until"},
		{"no number", "", server{status: 200, answer: resigned(`{"version":"v1.3.0","expires":"2000-03-01T00:00:00Z"}`)}, Status{}, "number"},
		{"empty", "", server{status: 200}, Status{}, "isn't a feed"},
		{"a page", "", server{status: 200, answer: "<html>"}, Status{}, "isn't a feed"},
		{"too large", "", server{status: 200, answer: good + strings.Repeat(" ", largest)}, Status{}, "larger"},
		{"moved", "", server{status: 302, where: address + "2", answer: good}, Status{}, "elsewhere"},
		{"moved here", "", server{status: 301, where: address, answer: good}, Status{}, "elsewhere"},
		{"not found", "", server{status: 404, answer: good}, Status{}, "404"},
		{"no network", "", server{fails: io.ErrUnexpectedEOF}, Status{}, "unexpected EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				keep(t, dir, kept{Feed: c.known})
				u := New(Options{Source: source(t), Version: "v1.2.0", State: dir, Transport: &c.server})
				err := u.step(t.Context())
				if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
					t.Errorf("%v, want %q", err, c.fails)
				}
				if got := u.Status(); got != c.want {
					t.Errorf("%+v, want %+v", got, c.want)
				}
				if len(c.server.asked) != 1 {
					t.Errorf("%d requests", len(c.server.asked))
				}
				if again := New(u.o); again.Status() != u.Status() {
					t.Errorf("after a restart %+v", again.Status())
				}
			})
		})
	}
}

func keep(t *testing.T, dir string, k kept) {
	t.Helper()
	text, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "update.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// The request says nothing of who asks.
func TestRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{status: 200, answer: feed(t, private, "v1.3.0", 5, 90)}
		u := New(Options{Source: source(t), Version: "v1.2.0", State: t.TempDir(), Transport: s})
		if err := u.step(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := s.asked[0]
		var sent bytes.Buffer
		if err := r.Write(&sent); err != nil {
			t.Fatal(err)
		}
		want := "GET /handrail/update.txt HTTP/1.1\r\nHost: example.com\r\nUser-Agent: Handrail\r\nAccept-Encoding: identity\r\n\r\n"
		if r.URL.String() != address || sent.String() != want {
			t.Errorf("asked %s:\n%s", r.URL, sent.String())
		}
	})
}

// Once a day, whatever happens; never without a source, a version or when it is switched off.
func TestRun(t *testing.T) {
	good := feed(t, private, "v1.3.0", 5, 90)
	for _, c := range []struct {
		name    string
		source  Source
		version string
		known   kept
		server  server
		days    int
		asked   int
		want    State
		changes int
	}{
		{"four days", source(t), "v1.2.0", kept{}, server{status: 200, answer: good}, 4, 4, Available, 1},
		{"four days of failures", source(t), "v1.2.0", kept{}, server{status: 500}, 4, 4, Unknown, 0},
		{"started again within the day", source(t), "v1.2.0", kept{Tried: epoch.Add(-time.Hour), Since: epoch.Add(-time.Hour)}, server{status: 200, answer: good}, 1, 1, Available, 1},
		{"the clock was put back", source(t), "v1.2.0", kept{Tried: epoch.AddDate(1, 0, 0), Since: epoch.AddDate(1, 0, 0)}, server{status: 200, answer: good}, 1, 1, Available, 1},
		{"a build after a release", source(t), "v1.3.0-4-gabcdef0", kept{}, server{status: 200, answer: good}, 1, 1, Current, 1},
		{"development build", Source{}, "v1.2.0", kept{Feed: good}, server{status: 200, answer: good}, 4, 0, Unknown, 0},
		{"no version", source(t), "dev", kept{Feed: good}, server{status: 200, answer: good}, 4, 0, Unknown, 0},
		{"switched off", source(t), "v1.2.0", kept{Off: true, Feed: good}, server{status: 200, answer: good}, 4, 0, Off, 0},
		{"held back until the feed expires", source(t), "v1.3.0", kept{}, server{status: 200, answer: good}, 125, 125, Stale, 3},
		{"never an answer", source(t), "v1.2.0", kept{}, server{fails: io.EOF}, 31, 31, Stale, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				keep(t, dir, c.known)
				u := New(Options{Source: c.source, Version: c.version, State: dir, Transport: &c.server})
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(c.days)*24*time.Hour)
				defer cancel()
				changes := 0
				u.Run(ctx, func() { changes++ })
				if len(c.server.asked) != c.asked || u.Status().State != c.want || changes != c.changes {
					t.Errorf("asked %d times, %v, %d changes; want %d, %v, %d", len(c.server.asked), u.Status(), changes, c.asked, c.want, c.changes)
				}
			})
		})
	}
}

// The switch holds at once, over a restart, and is seen when another process turned it.
func TestSwitch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{status: 200, answer: feed(t, private, "v1.3.0", 5, 90)}
		o := Options{Source: source(t), Version: "v1.2.0", State: t.TempDir(), Transport: s}
		u, elsewhere := New(o), New(o)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { u.Run(ctx, func() {}); close(ended) }()
		if err := elsewhere.Switch(false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(48 * time.Hour)
		if len(s.asked) != 0 || u.Status().State != Off || New(o).Status().State != Off {
			t.Errorf("asked %d times, %v", len(s.asked), u.Status())
		}
		if err := u.Switch(true); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(s.asked) != 1 || u.Status().State != Available {
			t.Errorf("asked %d times, %v", len(s.asked), u.Status())
		}
		cancel()
		<-ended
	})
}

// What can't be kept isn't asked for: else each start would ask.
func TestNotKept(t *testing.T) {
	s := &server{status: 200, answer: feed(t, private, "v1.3.0", 5, 90)}
	u := New(Options{Source: source(t), Version: "v1.2.0", State: filepath.Join(t.TempDir(), "missing"), Transport: s})
	if err := u.step(t.Context()); err == nil || len(s.asked) != 0 || u.Status().State != Unknown {
		t.Errorf("%v, asked %d times, %v", err, len(s.asked), u.Status())
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "update.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	New(Options{Source: source(t), Version: "v1.2.0", State: dir, Transport: s, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if !strings.Contains(log.String(), "unexpected end") {
		t.Errorf("a broken file isn't said: %q", log.String())
	}
}

func TestParseSource(t *testing.T) {
	key := base64.StdEncoding.EncodeToString(private.Public().(ed25519.PublicKey))
	for _, c := range []struct {
		address, key string
		ok           bool
	}{
		{"", "", true}, {address, key, true}, {address, "", false}, {"", key, false}, {"http://example.com/u", key, false}, {"https:///u", key, false}, {"ftp://example.com", key, false},
		{"https://me:secret@example.com/u", key, false}, {address + "?id=1", key, false}, {address, key[:40], false}, {address, key + "\n", false}, {address, "AAAA", false},
	} {
		s, err := ParseSource(c.address, c.key)
		if (err == nil) != c.ok || (err != nil || c.address == "") && (s.url != "" || s.key != nil) {
			t.Errorf("%q %q: %+v, %v", c.address, c.key, s, err)
		}
	}
	if _, err := (Source{}).read([]byte(feed(t, private, "v1.3.0", 1, 1))); err == nil {
		t.Error("a feed was believed without a key")
	}
}

func TestStates(t *testing.T) {
	seen := map[string]bool{}
	for s := Unknown; s <= Off; s++ {
		if seen[s.String()] || s.String() == "" {
			t.Errorf("state %d is called %q", s, s)
		}
		seen[s.String()] = true
	}
}

// Nothing but a feed of ours is read, and reading ends.
func FuzzRead(f *testing.F) {
	s := source(f)
	good := feed(f, private, "v1.3.0", 5, 90)
	for _, seed := range []string{good, head, "", head + "AAAA\n{}", feed(f, other, "v1.3.0", 5, 90), good[:len(good)-3]} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, err := s.read(text); err == nil && string(text) != good {
			t.Errorf("read %+v of %q", got, text)
		}
	})
}
