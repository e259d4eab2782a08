package sandboxtest

import (
	"bufio"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"handrail/sandbox"
)

// netRoutes are what the probe tries on the network. Path is an address.
var netRoutes = []route{
	{"connect", func(a Attempt) error { return dials("tcp", a.Path) }},
	{"connect to a socket with a path", func(a Attempt) error { return dials("unix", a.Path) }},
	{"listen", func(a Attempt) error {
		l, err := net.Listen("tcp4", a.Path)
		if err == nil {
			l.Close()
		}
		return err
	}},
	{"talk to itself", func(Attempt) error {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer l.Close()
		return dials("tcp", l.Addr().String())
	}},
	{"listen on a path", func(a Attempt) error {
		l, err := net.Listen("unix", a.Path)
		if err != nil {
			return err
		}
		defer l.Close()
		return dials("unix", a.Path)
	}},
	{"take datagrams", func(a Attempt) error {
		conn, err := net.ListenPacket("udp4", a.Path)
		if err == nil {
			conn.Close()
		}
		return err
	}},
	{"send far away", func(a Attempt) error {
		conn, err := net.Dial("udp", a.Path)
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = conn.Write([]byte("x"))
		return err
	}},
	// Whether anyone answers doesn't matter, only whether the packet may leave.
	{"connect far away", func(a Attempt) error {
		err := dials("tcp", a.Path)
		if err == nil || strings.Contains(err.Error(), "timeout") || strings.Contains(err.Error(), "refused") {
			return nil
		}
		return err
	}},
}

// Network tests what each permission opens, with real programs that listen on this computer.
func Network(t *testing.T) {
	b := NewBench(t)
	listen := func(network, address string) net.Listener {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l
	}
	service, ours := listen("tcp", "127.0.0.1:0").Addr().String(), listen("tcp", "127.0.0.1:0").Addr().(*net.TCPAddr)
	wide := strconv.Itoa(listen("tcp", "0.0.0.0:0").Addr().(*net.TCPAddr).Port)
	b.Machine.Ports = []int{1, ours.Port}
	b.Machine.SSHAgent, b.Machine.Docker = b.Root+"/agent", b.Root+"/docker"
	for _, path := range []string{b.Machine.SSHAgent, b.Machine.Docker, b.Root + "/other", b.Machine.Workspace + "/host.sock", b.Machine.State + "/socket"} {
		listen("unix", path)
	}
	const far = "192.0.2.1:9" // for documentation: nobody has it
	type row struct {
		name  string
		route string
		to    string
		// with none, network, loopback, both, ssh agent, docker, readonly, classic: "+" is open
		want string
	}
	mac := runtime.GOOS == "darwin"
	// Linux: it has a loopback of its own where it doesn't share the computer's, and no datagrams with the loopback permission alone.
	own, chosen, given := "+-++++++", "+--+++++", "++-+++++"
	if mac {
		own, chosen, given = "--++---+", "--++---+", "--++---+"
	}
	rows := []row{
		{"a program on this computer", "connect", service, "--++---+"},
		{"the same by another name", "connect", "[::ffff:127.0.0.1]:" + service[strings.LastIndexByte(service, ':')+1:], "--++---+"},
		{"a program that listens to all", "connect", "0.0.0.0:" + wide, "--++---+"},
		{"our own port", "connect", ours.String(), "--------"},
		{"itself", "talk to itself", "", own},
		{"far away", "connect far away", far, "-+-+---+"},
		{"a datagram far away", "send far away", far, "-+-+---+"},
		{"datagrams at a port of its choice", "take datagrams", "127.0.0.1:" + wide, chosen}, // which is free for datagrams
		{"datagrams at another", "take datagrams", "127.0.0.1:0", given},
		{"the SSH agent", "connect to a socket with a path", b.Machine.SSHAgent, "----+--+"},
		{"Docker", "connect to a socket with a path", b.Machine.Docker, "-----+-+"},
		{"another socket", "connect to a socket with a path", b.Root + "/other", "-------+"},
		{"a socket in the workspace", "connect to a socket with a path", b.Machine.Workspace + "/host.sock", "-------+"},
		{"our own socket", "connect to a socket with a path", b.Machine.State + "/socket", "--------"},
		{"a socket of its own", "listen on a path", b.Machine.Temp + "/own", "++++++-+"},
	}
	base := b.Guarded()
	for column, c := range []struct {
		name   string
		policy sandbox.Policy
	}{
		{"none", base}, {"network", base.AllowNetwork()}, {"loopback", base.AllowLoopback()}, {"both", base.AllowLoopback().AllowNetwork()},
		{"ssh agent", base.AllowSSHAgent()}, {"docker", base.AllowDocker()}, {"readonly", sandbox.ReadOnly(b.Machine).AllowNetwork()}, {"classic", sandbox.Classic(b.Machine)},
	} {
		t.Run(c.name, func(t *testing.T) {
			var attempts []Attempt
			for _, r := range rows {
				attempts = append(attempts, Attempt{Route: r.route, Path: r.to})
			}
			bench := *b
			bench.T = t
			for i, result := range bench.Probe(c.policy, attempts) {
				if want := rows[i].want[column] == '+'; (result == "") != want {
					t.Errorf("%s: %q, want open %v", rows[i].name, result, want)
				}
			}
		})
	}

	t.Run("a server of the command", func(t *testing.T) {
		bench := *b
		bench.T = t
		script := `exec python3 -c '
import socket
s = socket.socket(); s.bind(("0.0.0.0", 0)); s.listen(); print(s.getsockname()[1], flush=True); c, _ = s.accept(); c.sendall(b"hello")'`
		for _, c := range []struct {
			policy sandbox.Policy
			want   bool
		}{{base, false}, {base.AllowLoopback(), true}, {base.AllowLoopback().AllowNetwork(), true}} {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			proc, err := sandbox.Start(c.policy, sandbox.Command{Argv: []string{"/bin/sh", "-c", script}, Dir: b.Machine.Workspace, Env: bench.env(), Stdout: w, Stderr: w})
			w.Close()
			if err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(r).ReadString('\n')
			port := strings.TrimSpace(line)
			if err != nil && (c.want || !mac) {
				t.Errorf("it doesn't listen: %q, %v", line, err)
			}
			for _, host := range append(addresses(t), "127.0.0.1") {
				conn, err := net.Dial("tcp", net.JoinHostPort(host, port))
				if got, want := err == nil, c.want && host == "127.0.0.1"; got != want {
					t.Errorf("%v: reaching it at %s: %v, want %v", c.policy, host, err, want)
				}
				if err == nil {
					if text, err := io.ReadAll(conn); err != nil || string(text) != "hello" {
						t.Errorf("it said %q, %v", text, err)
					}
					conn.Close()
				}
			}
			proc.Kill()
			proc.Wait()
		}
	})
}

// addresses lists this computer's addresses in other networks.
func addresses(t *testing.T) []string {
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, a := range all {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && !ip.IP.IsLoopback() {
			out = append(out, ip.IP.String())
		}
	}
	return out
}

// dialTime bounds one connection.
const dialTime = 3 * time.Second

func dials(network, address string) error {
	conn, err := net.DialTimeout(network, address, dialTime)
	if err == nil {
		conn.Close()
	}
	return err
}
