package sandbox

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// With the loopback permission a command listens for the person's programs, but takes none of their ports, whatever the address
// and the socket's options, nor ours, nor a service's.
func TestPorts(t *testing.T) {
	b := newBench(t)
	shares := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		if e := c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) }); e != nil {
			return e
		}
		return err
	}}
	outside := func(network, address string) (port int) {
		t.Helper()
		l, err := shares.Listen(context.Background(), network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l.Addr().(*net.TCPAddr).Port
	}
	free := func() int {
		t.Helper()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return l.Addr().(*net.TCPAddr).Port
	}
	// unasked is a free port that the system gives to nobody who doesn't ask for it (ip(7), ip_local_port_range).
	unasked := func() int {
		t.Helper()
		for range 1000 {
			port := 20_000 + rand.IntN(10_000)
			if l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port)); err == nil {
				l.Close()
				return port
			}
		}
		t.Fatal("no port is free")
		return 0
	}
	b.m.Ports = []int{free(), free()}
	four, six, all, own := outside("tcp4", "127.0.0.1:0"), outside("tcp6", "[::1]:0"), outside("tcp4", "0.0.0.0:0"), unasked()

	type row struct {
		host string
		port int
		want string // an errno's name, or "ok"
	}
	rows := []row{{"127.0.0.1", own, "ok"}, {"::1", own, "ok"}, {"127.0.0.1", own, "EADDRINUSE"}} // its own other socket isn't another program's
	for _, taken := range []int{four, six, all} {
		for _, host := range []string{"127.0.0.1", "127.0.0.2", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1"} {
			rows = append(rows, row{host, taken, "EADDRINUSE"})
		}
	}
	for _, host := range []string{"127.0.0.1", "0.0.0.0", "::1", "::"} {
		rows = append(rows, row{host, b.m.Ports[0], "EACCES"}, row{host, b.m.Ports[1], "EACCES"}, row{host, 1, "EACCES"}, row{host, 443, "EACCES"}, row{host, 1023, "EACCES"})
	}
	var script strings.Builder
	script.WriteString("python3 -c '\nimport socket, errno\nkept = []\n")
	for _, r := range rows {
		fmt.Fprintf(&script, "kept.append(socket.socket(socket.AF_INET6 if \":\" in %q else socket.AF_INET))\n"+
			"kept[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); kept[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)\n"+
			"try: kept[-1].bind((%q, %d)); kept[-1].listen(); print(\"ok\")\nexcept OSError as e: print(errno.errorcode[e.errno])\n", r.host, r.host, r.port)
	}
	script.WriteString("'\necho end")
	for _, p := range []Policy{Guarded(b.m).AllowLoopback(), Guarded(b.m).AllowLoopback().AllowNetwork()} {
		out, exit := b.sh(p, script.String())
		got := strings.Split(out, "\n")
		if exit.Code != 0 || len(got) != len(rows)+1 {
			t.Fatalf("%+v: %s", exit, out)
		}
		for i, r := range rows {
			if got[i] != r.want {
				t.Errorf("listening on %s: %q, want %q", net.JoinHostPort(r.host, strconv.Itoa(r.port)), got[i], r.want)
			}
		}
	}
}
