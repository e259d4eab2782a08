package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"handrail/core"
	"handrail/core/client"
	"handrail/sandbox"
)

// built is the program as it is shipped, made once.
var built string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "handrail-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	built = filepath.Join(dir, "handrail")
	make := func(args ...string) bool {
		build := exec.Command("go", append([]string{"build", "-trimpath", "-ldflags", "-s -w"}, args...)...)
		if runtime.GOOS != "darwin" {
			build.Env = append(os.Environ(), "CGO_ENABLED=0")
		}
		out, err := build.CombinedOutput()
		if err != nil {
			fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		}
		return err == nil
	}
	// As `make programs` does.
	if runtime.GOOS == "linux" && !make("-o", "build/launcher", "./sandbox/launch") {
		return 1
	}
	if !make("-tags", "launcher", "-o", built, ".") {
		return 1
	}
	return m.Run()
}

// computer is a scratch home folder in which the program runs, with no display and no bus.
type computer struct {
	home, state string
}

func newComputer(t testing.TB) computer {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := computer{home: filepath.Join(dir, "home"), state: filepath.Join(dir, "state")}
	if err := os.Mkdir(c.home, 0o755); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c computer) command(args ...string) *exec.Cmd {
	cmd := exec.Command(built, args...)
	cmd.Env = []string{"HOME=" + c.home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}
	return cmd
}

func (c computer) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, err := c.command(args...).CombinedOutput()
	return string(out), err
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// One malformed line is answered and doesn't end the server; nothing but answers is on standard output.
func TestStdioServer(t *testing.T) {
	c := newComputer(t)
	cmd := c.command("serve", "--stdio", "--state", c.state, "--surface", "none")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	io.WriteString(in, initialize+"this is no JSON\n"+`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"bash","arguments":{"command":"printf '<%s>' \"$((6*7))\""}}}`+"\n")
	answers := map[string]json.RawMessage{}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for len(answers) < 3 && lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatalf("standard output holds %q", lines.Text())
		}
		answers[string(m.ID)] = append(m.Result, m.Error...)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("at the end of input: %v\n%s", err, said.String())
	}
	if !strings.Contains(string(answers["null"]), "-32700") {
		t.Errorf("the malformed line got %s", answers["null"])
	}
	if got := string(answers["2"]); !strings.Contains(got, `"<42>`) {
		t.Errorf("after it: %s", got)
	}
}

// The level look plays as it is shown to people.
func TestDemoLook(t *testing.T) {
	if out, err := newComputer(t).run(t, "demo", "--look"); err != nil || !strings.Contains(out, "nothing was changed") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestCommands(t *testing.T) {
	c := newComputer(t)
	for _, x := range []struct {
		name string
		args []string
		fail bool
		want string
	}{
		{"version", []string{"--version"}, false, "dev"},
		{"help", []string{"--help"}, false, "asks you first"},
		{"version in words", []string{"version"}, false, "handrail dev (" + runtime.GOOS + "/" + runtime.GOARCH},
		{"help in words", []string{"help"}, false, "Look for what keeps Handrail from working here."},
		{"help for a command", []string{"help", "doctor"}, false, "--explain"},
		{"help for nothing", []string{"help", "explode"}, true, "explode"},
		{"no display", []string{"--state", c.state}, true, "handrail serve"},
		{"unknown command", []string{"explode"}, true, "explode"},
		{"doctor", []string{"doctor"}, false, "✓ sandbox"},
		{"doctor: limits", []string{"doctor"}, false, "The profile classic is no boundary."},
		{"doctor: an explanation", []string{"doctor", "--explain", "write /usr/bin/x"}, false, "they agree with the policy"},
		{"doctor: no question", []string{"doctor", "--explain", "x"}, true, "ask like this"},
		{"doctor: the disk as the workspace", []string{"doctor", "--workspace", "/"}, true, "whole disk"},
		{"audit of nothing", []string{"audit", "verify", "--state", c.state}, true, "no activity log"},
		{"a level for stdio", []string{"connect", "claude", "--level", "look", "--state", c.state}, true, "--http"},
		{"security audit", []string{"security", "audit", "--state", c.state}, false, "in the sandbox: full"},
		{"doctor: the policy", []string{"doctor", "--state", c.state}, false, "policy: commands of exec in the sandbox: full"},
		{"other address", []string{"serve", "--state", c.state, "--addr", "0.0.0.0:7437"}, true, "loopback"},
		{"no port", []string{"serve", "--state", c.state, "--addr", "127.0.0.1"}, true, "--addr"},
		{"unknown surface", []string{"serve", "--surface", "chat"}, true, "surface"},
		{"unknown level", []string{"serve", "--level", "trusted"}, true, "level"},
		{"home as the workspace", []string{"serve", "--stdio", "--state", c.state, "--workspace", c.home}, true, "home folder"},
		{"what goes into a configuration", []string{"connect", "another", "--state", c.state}, false, `"stdio"`},
		{"of one that isn't here", []string{"connect", "gemini", "--state", c.state}, false, `"stdio"`},
		{"in its own shape", []string{"connect", "codex", "--print"}, false, "[mcp_servers.handrail]"},
		{"no assistant here", []string{"connect"}, false, "Not here: "},
		{"no assistant to take it from", []string{"disconnect", "codex"}, true, "isn't on this computer"},
		{"disconnect nobody", []string{"disconnect", "nobody"}, true, "claude-desktop"},
		{"a token for nobody", []string{"connect", "--http"}, true, "which assistant"},
		{"chatgpt", []string{"connect", "chatgpt"}, false, "no tunnel"},
		{"token", []string{"connect", "cursor", "--http", "--state", c.state}, false, "Bearer hr_"},
		{"the list of clients", []string{"connect", "--state", c.state}, false, "cursor: has a token since "},
		{"revoke nobody in particular", []string{"connect", "--revoke", "--state", c.state}, true, "which assistant"},
		{"pair without an app", []string{"connect", "new", "--pair", "--state", c.state}, true, "isn't running"},
		{"pair and revoke", []string{"connect", "new", "--pair", "--revoke", "--state", c.state}, true, "can't be used together"},
		{"no port to pair at", []string{"serve", "--state", c.state, "--pair-addr", "127.0.0.1"}, true, "--pair-addr"},
		{"second token of a name", []string{"connect", "cursor", "--http", "--state", c.state}, true, "cursor"},
		{"switches", []string{"switch", "--state", c.state}, false, "http:cursor\n  outside    off "},
		{"turn on without a keychain", []string{"switch", "cursor", "docker", "on", "--state", c.state}, true, "no keychain"},
		{"turn off", []string{"switch", "cursor", "docker", "off", "--state", c.state}, false, "docker is off for http:cursor"},
		{"turn a tool off", []string{"switch", "http:cursor", "exec", "off", "--state", c.state}, false, "exec is off for http:cursor"},
		{"turn off what there isn't", []string{"switch", "cursor", "everything", "off", "--state", c.state}, true, "no switch"},
		{"neither on nor off", []string{"switch", "cursor", "docker", "--state", c.state}, true, "on or off"},
		{"turn on for nobody", []string{"switch", "nobody", "docker", "on", "--state", c.state}, true, "no client"},
		{"revoke", []string{"connect", "cursor", "--revoke", "--state", c.state}, false, "no longer"},
		{"rules without a keychain", []string{"rules", "--state", c.state}, true, "no keychain"},
		{"no such rule", []string{"rules", "remove", "0a0b0c0d0e0f", "--state", c.state}, true, "no keychain"},
		{"clear the rules", []string{"rules", "clear", "--state", c.state}, false, "no lasting rules"},
		{"a tool that is off stays off when its client is gone", []string{"switch", "--state", c.state}, false, "exec       off"},
		{"revoke nobody", []string{"connect", "nobody", "--revoke", "--state", c.state}, true, "nobody"},
		{"no folder is searched", []string{"search", "--state", c.state}, false, "No folder is searched"},
		{"search a folder", []string{"search", "add", c.home, "--state", c.state}, false, "only what it may read"},
		{"search no folder", []string{"search", "add", c.home + "/none", "--state", c.state}, true, "none"},
		{"searched folders", []string{"search", "list", "--state", c.state}, false, c.home},
		{"search it no more", []string{"search", "remove", c.home, "--state", c.state}, false, ""},
		{"take out what isn't there", []string{"search", "remove", c.home, "--state", c.state}, true, "not in the list"},
		{"dialog", []string{"dialog"}, true, ""},
		{"launch by hand", []string{"launch"}, true, ""},
	} {
		out, err := c.run(t, x.args...)
		if (err != nil) != x.fail || !strings.Contains(out, x.want) {
			t.Errorf("%s: %v\n%s", x.name, err, out)
		}
	}
}

// An assistant that is here is set up, and left as it was, by its id, its name, or the first word of that.
func TestConnect(t *testing.T) {
	c := newComputer(t)
	claude := "claude"
	if runtime.GOOS == "darwin" { // the other Claude may be in this Mac's Applications
		claude = "claude-code"
	}
	at := func(name string) string { return filepath.Join(c.home, name) }
	const before = "// mine\n{\n  \"context_servers\": {},\n}\n"
	for _, dir := range []string{".config/zed", ".cursor", ".claude"} {
		if err := os.MkdirAll(at(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{".config/zed/settings.json": before, ".cursor/mcp.json": `{"mcpServers": {"handrail": {"command": "/opt/other", "env": {"KEY": "secret"}}}}`} {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []struct {
		args []string
		fail bool
		want string
	}{
		{[]string{"connect"}, false, "zed          Zed          not connected"},
		{[]string{"connect", "Zed"}, false, "Zed starts Handrail now."},
		{[]string{"connect", "zed"}, false, "already"},
		{[]string{"connect"}, false, "zed          Zed          connected"},
		{[]string{"connect", "zed", "--state", c.state}, false, "starts Handrail now."},
		{[]string{"connect"}, false, "connected to another Handrail"},
		{[]string{"connect", claude}, false, "Claude Code starts Handrail now."},
		{[]string{"connect", "cursor"}, true, "handrail connect cursor --replace"},
		{[]string{"disconnect", "cursor"}, true, "/opt/other"},
		{[]string{"connect", "cursor", "--replace"}, false, ".before-handrail"},
		{[]string{"disconnect", "zed"}, false, "as they were before Handrail"},
		{[]string{"disconnect", "zed"}, false, "nothing was changed"},
		{[]string{"disconnect", "claude-code"}, false, "no longer starts Handrail"},
	} {
		out, err := c.run(t, x.args...)
		if (err != nil) != x.fail || !strings.Contains(out, x.want) || strings.Contains(out, "secret") {
			t.Errorf("%v: %v\n%s", x.args, err, out)
		}
	}
	if text, err := os.ReadFile(at(".config/zed/settings.json")); err != nil || string(text) != before {
		t.Errorf("Zed's settings: %v\n%s", err, text)
	}
	if _, err := os.Lstat(at(".claude.json")); !os.IsNotExist(err) {
		t.Errorf("a file that Handrail made: %v", err)
	}
	if err := os.MkdirAll(at(".config/Claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := c.run(t, "connect", "claude"); runtime.GOOS != "darwin" && (err == nil || !strings.Contains(out, "which one?")) {
		t.Errorf("two of that name: %v\n%s", err, out)
	}
}

// What Connect writes is what starts Handrail: the command of an assistant's file, run as it stands there, answers.
func TestConnectedCommand(t *testing.T) {
	c := newComputer(t)
	c.serving(t, "--surface", "none")
	if err := os.Mkdir(filepath.Join(c.home, ".gemini"), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := c.run(t, "connect", "gemini", "--state", c.state); err != nil {
		t.Fatal(out)
	}
	text, err := os.ReadFile(filepath.Join(c.home, ".gemini", "settings.json"))
	if err != nil {
		t.Fatal(err)
	}
	var settings struct {
		Servers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal(text, &settings); err != nil {
		t.Fatal(err)
	}
	ours := settings.Servers["handrail"]
	cmd := exec.Command(ours.Command, ours.Args...)
	cmd.Env = c.command().Env
	s, err := mcp.NewClient(&mcp.Implementation{Name: "tester"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if tools, err := s.ListTools(t.Context(), nil); err != nil || len(tools.Tools) == 0 {
		t.Errorf("%v, %v", tools, err)
	}
}

// SECURITY.md says what the sandbox doesn't stop, in the words of doctor.
func TestLimitsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, system := range []string{"linux", "darwin"} {
		limits := sandbox.Limits(system)
		if len(limits) < 8 {
			t.Errorf("%s has only %d limits", system, len(limits))
		}
		for _, limit := range limits {
			if !strings.Contains(string(text), "- "+limit+"\n") {
				t.Errorf("SECURITY.md lacks: %s", limit)
			}
		}
	}
}

// serving starts `handrail serve` on a free port and gives its URL once it is ready.
func (c computer) serving(t testing.TB, args ...string) (url string, cmd *exec.Cmd) {
	t.Helper()
	cmd = c.command(append([]string{"serve", "--state", c.state, "--addr", freeAddr(t)}, args...)...)
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Signal(os.Interrupt); cmd.Wait() })
	r := bufio.NewReader(errs)
	var said strings.Builder
	for url == "" {
		line, err := r.ReadString('\n')
		said.WriteString(line)
		if err != nil {
			t.Fatalf("the server did not start: %s", said.String())
		}
		for word := range strings.FieldsSeq(line) {
			if strings.HasPrefix(word, "http://") {
				url = word
			}
		}
	}
	go io.Copy(io.Discard, r)
	return url, cmd
}

func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "127.0.0.1:" + strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// bearer sends a token with each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// http is a client of HTTP with a token of its own.
func (c computer) http(t testing.TB) *http.Client {
	t.Helper()
	out, err := c.command("connect", "tester", "--http", "--state", c.state).Output()
	if err != nil {
		t.Fatal(err)
	}
	_, token, _ := strings.Cut(string(out), "Bearer ")
	token, _, _ = strings.Cut(token, "\n")
	return &http.Client{Transport: bearer(token)}
}

func (c computer) client(t testing.TB, url string) *mcp.ClientSession {
	t.Helper()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "tester"}, nil).
		Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: c.http(t)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestHTTPAndBridge(t *testing.T) {
	c := newComputer(t)
	url, _ := c.serving(t, "--surface", "none")
	over := map[string]*mcp.ClientSession{"http": c.client(t, url)}
	if out, err := c.run(t, "connect", "another", "--http", "--state", c.state); err != nil || !strings.Contains(out, url+"\n") {
		t.Errorf("connect doesn't name %s: %s", url, out)
	}
	bridge, err := mcp.NewClient(&mcp.Implementation{Name: "tester"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: c.command("stdio", "--state", c.state)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer bridge.Close()
	over["stdio"] = bridge
	for name, s := range over {
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "bash", Arguments: map[string]any{"command": "echo $((6*7))"}})
		if err != nil || r.IsError || r.Content[0].(*mcp.TextContent).Text != "42\n" {
			t.Errorf("%s: %+v %v", name, r, err)
		}
		r, err = s.CallTool(t.Context(), &mcp.CallToolParams{Name: "write_file", Arguments: map[string]any{"path": "a/b.txt", "content": "x"}})
		if err != nil || !r.IsError {
			t.Errorf("%s: with no one to ask, a file was written: %+v %v", name, r, err)
		}
	}
	if _, err := os.Stat(filepath.Join(c.home, "Handrail", "a")); err == nil {
		t.Error("a folder was made without permission")
	}
	for _, header := range []string{"", "Bearer hr_wrong", "Bearer ", "Basic x"} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", header)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusUnauthorized {
			t.Errorf("with %q: %s", header, res.Status)
		}
	}
}

// A second program on the same port is told which, and one on the same state folder is told why.
func TestTaken(t *testing.T) {
	c := newComputer(t)
	url, _ := c.serving(t, "--surface", "none")
	_, port, _ := strings.Cut(strings.TrimPrefix(url, "http://"), ":")
	port, _, _ = strings.Cut(port, "/")
	if out, err := c.run(t, "serve", "--state", c.state, "--addr", freeAddr(t)); err == nil || !strings.Contains(out, "another Handrail") {
		t.Errorf("the same state folder: %v\n%s", err, out)
	}
	other := newComputer(t)
	if out, err := other.run(t, "serve", "--state", other.state, "--addr", "127.0.0.1:"+port); err == nil || !strings.Contains(out, port) {
		t.Errorf("the same port: %v\n%s", err, out)
	}
}

// A token that is taken back takes what its client downloaded along. While no keychain answers it says that lasting rules are still
// there, if there are any.
func TestRevokeWithoutKeychain(t *testing.T) {
	c := newComputer(t)
	revoke := func() (string, error) {
		t.Helper()
		if out, err := c.run(t, "connect", "cursor", "--http", "--state", c.state); err != nil {
			t.Fatal(out)
		}
		return c.run(t, "connect", "cursor", "--revoke", "--state", c.state)
	}
	id := sha256.Sum256([]byte(client.TokenID("cursor")))
	caches := filepath.Join(c.state+"-work", fmt.Sprintf("caches-%x", id[:16]))
	if err := os.MkdirAll(filepath.Join(caches, "npm"), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := revoke(); err != nil {
		t.Errorf("without rules: %v %s", err, out)
	}
	if _, err := os.Stat(caches); !os.IsNotExist(err) {
		t.Errorf("what its package managers downloaded: %v", err)
	}
	if err := os.WriteFile(filepath.Join(c.state, "exec-rules.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := revoke(); err == nil || !strings.Contains(out, "no longer connect") || !strings.Contains(out, "handrail rules clear") {
		t.Errorf("with rules: %v %s", err, out)
	}
}

// The server ends at once on a signal, with the log whole; killed, it leaves no process behind, and the next one tells what had run.
func TestEnds(t *testing.T) {
	for _, sig := range []os.Signal{os.Interrupt, os.Kill} {
		c := newComputer(t)
		url, cmd := c.serving(t, "--surface", "none")
		s := c.client(t, url)
		marker := "handrail-marker-" + strconv.Itoa(os.Getpid())
		bg := func(args map[string]any) {
			t.Helper()
			r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "bash_bg", Arguments: args})
			if err != nil || r.IsError {
				t.Fatalf("%v %+v", err, r)
			}
		}
		// One in a session of its own, without a parent.
		bg(map[string]any{"action": "start", "command": "(perl -MPOSIX -e 'setsid; exec {\"/bin/sleep\"} @ARGV' " + marker + " 601 &); exec -a " + marker + " sleep 600"})
		bg(map[string]any{"action": "start", "command": "sleep 600"})
		bg(map[string]any{"action": "kill", "job_id": "job-2"})
		waitFor(t, "the jobs to run", func() bool { return running(t, marker) == 2 })
		waitFor(t, "the end of a job to be recorded", func() bool { return strings.Contains(c.log(t), "job-2 has ended") })
		cmd.Process.Signal(sig)
		cmd.Wait()
		waitFor(t, "the jobs to end with the server", func() bool { return running(t, marker) == 0 })
		const told = "what ran then was cut short"
		for range 2 { // it is told once
			_, again := c.serving(t, "--surface", "none")
			again.Process.Signal(os.Interrupt)
			again.Wait()
		}
		want := 0
		if sig == os.Kill {
			want = 1
		}
		log := c.log(t)
		if got := strings.Count(log, told); got != want || strings.Count(log, `"detail":"job-1 of bash_bg: start (perl`) != want {
			t.Errorf("after %v it was told %d times:\n%s", sig, got, log)
		}
		if ended := strings.Contains(log, "job-1 has ended"); ended == (sig == os.Kill) {
			t.Errorf("after %v the end of the job stands in the log: %v", sig, ended)
		}
		out, err := c.run(t, "audit", "verify", "--state", c.state)
		if err != nil {
			t.Errorf("after %v: %s", sig, out)
		}
	}
}

// log is the activity log.
func (c computer) log(t *testing.T) string {
	t.Helper()
	file, _ := core.LogFiles(c.state)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for tick := time.NewTicker(20 * time.Millisecond); !done(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited too long for %s", what)
		}
	}
}

// running counts the processes that have the word for their name.
func running(t *testing.T, word string) int {
	t.Helper()
	out, err := exec.Command("ps", "-A", "-o", "args").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count("\n"+string(out), "\n"+word)
}
