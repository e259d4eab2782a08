package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"handrail/core/client"
	"handrail/core/hint"
)

// shortDir is a folder whose path leaves room for a socket's name.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "hr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// serveSocket serves until stop is called or the test ends.
func (f *fixture) serveSocket(path string) (stop func()) {
	f.t.Helper()
	socket, err := f.server.ListenSocket(path)
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- socket.Serve(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := within(f.t, "the socket to stop", served); err != nil {
			f.t.Errorf("Serve: %v", err)
		}
	})
	f.t.Cleanup(stop)
	return stop
}

// dialRaw connects without a hello.
func dialRaw(t *testing.T, path string) net.Conn {
	t.Helper()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(deadline))
	return conn
}

func TestSocket(t *testing.T) {
	f := newFixture(t)
	path := filepath.Join(shortDir(t), "state", "handrail.sock")
	stop := f.serveSocket(path)
	for name, want := range map[string]fs.FileMode{path: fs.ModeSocket | 0o600, filepath.Dir(path): fs.ModeDir | 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
	conn := dialRaw(t, path)
	r := bufio.NewReader(conn)
	if _, err := greet(conn, r, ownHello()); err != nil {
		t.Fatal(err)
	}
	conn.SetDeadline(time.Now().Add(deadline))
	c := &talk{t, conn, r}
	c.initialize()
	c.say(callBody(1, "whoami", "{}"))
	_, who := whoami(t, c.hear())
	own := client.Caller(os.Getpid())
	if want := own.ID + "|teller|1.2|ask"; who != want {
		t.Errorf("whoami: %s, want %s", who, want)
	}
	call := f.call("k")
	c.say(callBody(2, "wait", `{"key":"k"}`))
	within(t, "the call", call.started)
	conn.Close()
	within(t, "gone", call.gone)
	if err := within(t, "the call's end", call.ended); err == nil {
		t.Error("the call wasn't cancelled")
	}
	stop()
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket is left behind")
	}
	f.serveSocket(path) // and can be made again
}

// Nobody is served before the hellos, and each kind of stranger is told why.
func TestHello(t *testing.T) {
	f := newFixture(t)
	path := filepath.Join(shortDir(t), "s")
	if err := os.Chmod(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	f.serveSocket(path)
	for _, c := range []struct{ name, first, want string }{
		{"an MCP client", initializeBody("x"), "start that as the client's command"},
		{"an HTTP client", "POST /mcp HTTP/1.1", "not a hello"},
		{"an older bridge", `{"product":"handrail","version":"0.0.1","protocol":0}`, "the bridge is version 0.0.1, Handrail is version " + Version},
		{"a newer bridge", `{"product":"handrail","version":"9.0.0","protocol":2,"more":[1]}`, "the bridge is version 9.0.0"},
		{"another product", `{"product":"other","version":"1","protocol":1}`, "start that as the client's command"},
		{"nothing", "", "not a hello"},
		{"too long", strings.Repeat("x", maxHello+1), "too long"},
	} {
		conn := dialRaw(t, path)
		go io.WriteString(conn, c.first+"\n"+initializeBody("x")+"\n")
		text, err := io.ReadAll(conn)
		var answer hello
		if json.Unmarshal(text, &answer) != nil || !strings.Contains(answer.Error, c.want) || answer.Product != Product {
			t.Errorf("%s: %q, %v", c.name, text, err)
		}
		if strings.Contains(string(text), "serverInfo") {
			t.Errorf("%s: was served", c.name)
		}
	}
	if n := len(f.sessions.Live()); n != 0 {
		t.Errorf("%d sessions", n)
	}
}

// What a bridge says of a server's hello.
func TestCheckServer(t *testing.T) {
	for _, c := range []struct {
		name   string
		server hello
		code   string
	}{
		{"the same", ownHello(), ""},
		{"another version, same protocol", hello{Product: Product, Version: "9", Protocol: socketProtocol}, ""},
		{"older protocol", hello{Product: Product, Version: "0.1", Protocol: 0}, "version_mismatch"},
		{"newer protocol", hello{Product: Product, Version: "9", Protocol: 2, Error: "too old"}, "version_mismatch"},
		{"another product", hello{Product: "other", Protocol: socketProtocol}, "not_handrail"},
		{"nothing", hello{}, "not_handrail"},
		{"refused", hello{Product: Product, Protocol: socketProtocol, Error: "no room"}, "refused"},
	} {
		if got := hint.Code(checkServer(c.server)); got != c.code {
			t.Errorf("%s: %q, want %q", c.name, got, c.code)
		}
	}
}

func TestSamePerson(t *testing.T) {
	for _, c := range []struct {
		uid, own int
		ok       bool
	}{{501, 501, true}, {0, 0, true}, {0, 501, false}, {502, 501, false}, {501, 0, false}, {-1, 501, false}} {
		if err := samePerson(c.uid, c.own); (err == nil) != c.ok {
			t.Errorf("user %d at %d's socket: %v", c.uid, c.own, err)
		}
	}
	// And the system tells us who we are.
	path := filepath.Join(shortDir(t), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn := dialRaw(t, path)
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	for name, c := range map[string]net.Conn{"who connected": far, "who listens": conn} {
		if uid, pid, err := peer(c.(*net.UnixConn)); err != nil || uid != os.Getuid() || pid != os.Getpid() {
			t.Errorf("%s: user %d, process %d, %v", name, uid, pid, err)
		}
	}
}

// Where no socket can be made, why, and that nothing that was there is touched.
func TestListenSocketRefuses(t *testing.T) {
	f := newFixture(t)
	for _, c := range []struct {
		name    string
		prepare func(dir string) (path string)
		code    string // a hint's code, or
		text    string // a part of the error
		stays   bool   // what stood at the path is still there
	}{
		{"a long path", func(dir string) string { return filepath.Join(dir, strings.Repeat("x", 100)) }, "path_too_long", "", false},
		{"a folder others can enter", func(dir string) string {
			os.Chmod(dir, 0o755)
			return filepath.Join(dir, "s")
		}, "folder_not_private", "mode 0755", false},
		{"a folder others can write", func(dir string) string {
			os.Chmod(dir, 0o733)
			return filepath.Join(dir, "s")
		}, "folder_not_private", "", false},
		{"a link to a folder", func(dir string) string {
			os.Symlink(dir, filepath.Join(dir, "link"))
			return filepath.Join(dir, "link", "s")
		}, "folder_not_private", "not a folder", false},
		{"a file there", func(dir string) string {
			os.WriteFile(filepath.Join(dir, "s"), []byte("mine"), 0o600)
			return filepath.Join(dir, "s")
		}, "", "isn't a socket", true},
		{"a folder there", func(dir string) string {
			os.Mkdir(filepath.Join(dir, "s"), 0o700)
			return filepath.Join(dir, "s")
		}, "", "isn't a socket", true},
		{"a link there", func(dir string) string {
			os.Symlink("elsewhere", filepath.Join(dir, "s"))
			return filepath.Join(dir, "s")
		}, "", "isn't a socket", true},
		{"somebody answers, without our lock", func(dir string) string {
			l, err := net.Listen("unix", filepath.Join(dir, "s"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			return filepath.Join(dir, "s")
		}, "already_running", "", true},
		{"another Handrail", func(dir string) string {
			f.serveSocket(filepath.Join(dir, "s"))
			return filepath.Join(dir, "s")
		}, "already_running", "", true},
		{"a link in place of the lock", func(dir string) string {
			os.Symlink(filepath.Join(dir, "target"), filepath.Join(dir, "s.lock"))
			return filepath.Join(dir, "s")
		}, "", "locking the socket", false},
	} {
		dir := shortDir(t)
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		path := c.prepare(dir)
		socket, err := f.server.ListenSocket(path)
		if err == nil {
			socket.listener.Close()
			socket.unlock()
			t.Errorf("%s: a socket was made", c.name)
			continue
		}
		if c.code != "" && hint.Code(err) != c.code || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", c.name, err)
		}
		if _, err := os.Lstat(path); (err == nil) != c.stays {
			t.Errorf("%s: afterwards %v", c.name, err)
		}
	}
}

// A socket that a process left when it was killed is replaced.
func TestStaleSocket(t *testing.T) {
	f := newFixture(t)
	dir := shortDir(t)
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	f.serveSocket(path)
	conn := dialRaw(t, path)
	if _, err := greet(conn, bufio.NewReader(conn), ownHello()); err != nil {
		t.Error(err)
	}
}

// Ten start at once: one of them gets the socket.
func TestOneServer(t *testing.T) {
	f := newFixture(t)
	path := filepath.Join(shortDir(t), "state", "s")
	var all sync.WaitGroup
	got := make(chan *Socket, 10)
	for range 10 {
		all.Go(func() {
			socket, err := f.server.ListenSocket(path)
			if err == nil {
				got <- socket
			} else if hint.Code(err) != "already_running" {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(got) != 1 {
		t.Errorf("%d got the socket", len(got))
	}
	for range len(got) {
		s := <-got
		s.listener.Close()
		s.unlock()
	}
}

func TestSocketPath(t *testing.T) {
	if got := SocketPath("/home/me/.local/state/handrail"); got != "/home/me/.local/state/handrail/handrail.sock" {
		t.Errorf("a short one: %s", got)
	}
	long := "/home/" + strings.Repeat("long/", 30)
	a, b := SocketPath(long+"a"), SocketPath(long+"b")
	if a == b || a != SocketPath(long+"a") || len(a) > maxSocketPath || !strings.HasPrefix(a, fmt.Sprintf("/tmp/handrail-%d/", os.Getuid())) {
		t.Errorf("long ones: %s, %s", a, b)
	}
}

// More clients than there is room for: the surplus is turned away, and room is made by who leaves.
func TestSocketRoom(t *testing.T) {
	f := newFixture(t)
	path := filepath.Join(shortDir(t), "state", "s")
	f.serveSocket(path)
	var conns []net.Conn
	for range maxClients {
		conn := dialRaw(t, path)
		if _, err := greet(conn, bufio.NewReader(conn), ownHello()); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	surplus := dialRaw(t, path)
	if _, err := greet(surplus, bufio.NewReader(surplus), ownHello()); err == nil {
		t.Error("one client too many was taken")
	}
	conns[0].Close()
	until := time.Now().Add(deadline)
	for {
		conn := dialRaw(t, path)
		if _, err := greet(conn, bufio.NewReader(conn), ownHello()); err == nil {
			break
		}
		if time.Now().After(until) {
			t.Fatal("no room after one left")
		}
	}
}

// The app is shown where it has a window, and says where it has none. Nothing follows.
func TestShow(t *testing.T) {
	f := newFixture(t)
	path := filepath.Join(shortDir(t), "socket")
	if err := Show(path); err == nil {
		t.Error("what doesn't run was shown")
	}
	f.serveSocket(path)
	if err := Show(path); err == nil || !strings.Contains(err.Error(), "no window") {
		t.Errorf("without a window: %v", err)
	}
	shown := 0
	f.server.opts.Show = func() error {
		if shown++; shown > 1 {
			return errors.New("it can't be opened")
		}
		return nil
	}
	if err := Show(path); err != nil || shown != 1 {
		t.Errorf("%v, shown %d times", err, shown)
	}
	if err := Show(path); err == nil || !strings.Contains(err.Error(), "it can't be opened") {
		t.Errorf("%v", err)
	}
}

// A wish to pair is heard by a server that serves it, and nothing follows it.
func TestPairWish(t *testing.T) {
	f := newFixture(t)
	path := filepath.Join(shortDir(t), "socket")
	f.serveSocket(path)
	if url, err := Pair(path, "a", client.Ask); err == nil || url != "" {
		t.Errorf("where nobody can be paired: %q, %v", url, err)
	}
	var asked []string
	f.server.opts.OpenPairing = func(name string, level client.Level) (string, error) {
		if asked = append(asked, name+" "+level.String()); name == "bad" {
			return "", errors.New("no, not that one")
		}
		return "http://127.0.0.1:7438/mcp", nil
	}
	if url, err := Pair(path, "a", client.Look); err != nil || url != "http://127.0.0.1:7438/mcp" {
		t.Errorf("%q, %v", url, err)
	}
	if url, err := Pair(path, "bad", client.Ask); err == nil || url != "" || !strings.Contains(err.Error(), "no, not that one") {
		t.Errorf("refused: %q, %v", url, err)
	}
	conn := dialRaw(t, path)
	defer conn.Close()
	io.WriteString(conn, `{"product":"handrail","protocol":1,"pair":{"name":"x","level":"everything"}}`+"\n"+`{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
	conn.SetReadDeadline(time.Now().Add(deadline))
	said, _ := io.ReadAll(conn)
	if strings.Contains(string(said), "jsonrpc") || !strings.Contains(string(said), "unknown access level") || len(asked) != 2 {
		t.Errorf("a level that there isn't: %s; asked %q", said, asked)
	}
}
