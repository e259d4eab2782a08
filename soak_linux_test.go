package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"handrail/core"
	"handrail/core/approval"
	"handrail/core/client"
	"handrail/sandbox"
)

var soak = flag.Duration("soak", 3*time.Second, "how long the soak test makes calls")

// agrees is a person who allows everything.
type agrees struct{}

func (agrees) Ask(_ context.Context, r approval.Request) approval.Decision {
	return approval.Allow(r, "test")
}

// host is the core in this process, so that its goroutines can be counted.
func (c computer) host(t testing.TB) *core.Host {
	t.Helper()
	h, err := core.New(core.Options{State: c.state, Work: filepath.Join(filepath.Dir(c.state), "work"), Workspace: filepath.Join(c.home, "Handrail"), Home: c.home,
		Program: filepath.Dir(built), Executable: built, Asker: agrees{}, Level: client.Ask})
	if err != nil {
		t.Fatal(err)
	}
	<-h.Checked()
	if why := h.Status().Sandbox; why != "" {
		t.Fatal(why)
	}
	return h
}

// connect is a client of a host, over pipes. What it gives ends the session and waits until the host has let go of it.
func connect(t testing.TB, h *core.Host) (*mcp.ClientSession, func()) {
	t.Helper()
	fromClient, toHost := io.Pipe()
	fromHost, toClient := io.Pipe()
	served := make(chan struct{})
	go func() {
		defer close(served)
		h.ServeStdio(context.Background(), fromClient, toClient)
		toClient.Close()
	}()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "soak"}, nil).Connect(context.Background(), &mcp.IOTransport{Reader: fromHost, Writer: toHost}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s, func() { s.Close(); toHost.Close(); <-served }
}

// call makes one call and gives its text.
func call(s *mcp.ClientSession, tool string, args map[string]any) (string, error) {
	r, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, c := range r.Content {
		b.WriteString(c.(*mcp.TextContent).Text)
	}
	if r.IsError {
		return "", fmt.Errorf("%s: %s", tool, b.String())
	}
	return b.String(), nil
}

// held is what this process has open and running.
type held struct{ goroutines, descriptors, children int }

func holding(t testing.TB) held {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	h := held{goroutines: runtime.NumGoroutine(), descriptors: len(open)}
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(tasks) == 0 {
		t.Fatal("can't list child processes", err)
	}
	for _, path := range tasks {
		text, _ := os.ReadFile(path) // a thread may have ended
		h.children += len(strings.Fields(string(text)))
	}
	return h
}

// TestSoak makes calls of all kinds from clients that come and go, and then holds no process, descriptor or goroutine more
// than it began with.
func TestSoak(t *testing.T) {
	c := newComputer(t)
	h := c.host(t)
	defer h.Close()
	work := filepath.Join(c.home, "Handrail", "proj")
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	round := func(r *rand.Rand, n int) error {
		s, end := connect(t, h)
		defer end()
		file := fmt.Sprintf("proj/%d.txt", n)
		for range 6 {
			var err error
			var text string
			switch r.IntN(8) {
			case 0:
				text, err = call(s, "bash", map[string]any{"command": "echo $((" + strconv.Itoa(n) + " + 1))"})
				if err == nil && !strings.HasPrefix(text, strconv.Itoa(n+1)+"\n") { // files that others change meanwhile may be named after it
					err = fmt.Errorf("bash gave %q", text)
				}
			case 1:
				_, err = call(s, "bash", map[string]any{"command": "seq 30000; seq 10 >&2; exit 3"})
			case 2:
				_, err = call(s, "bash", map[string]any{"command": "setsid sleep 1000 & sleep 1000 & disown -a; cd /usr", "session": true})
			case 3:
				_, err = call(s, "bash", map[string]any{"command": "sleep 1000", "timeout": 1})
			case 4:
				_, err = call(s, "bash_bg", map[string]any{"action": "start", "command": "while :; do echo x; sleep 0.1; done"})
				if err == nil {
					_, err = call(s, "bash_bg", map[string]any{"action": "list"})
				}
				if err != nil && strings.Contains(err.Error(), "limit_reached") {
					err = nil
				}
			case 5:
				_, err = call(s, "write_file", map[string]any{"path": file, "content": strings.Repeat("line\n", 1000), "overwrite": true})
				if err == nil {
					_, err = call(s, "bash", map[string]any{"command": "wc -l " + file + "; rm " + file})
				}
			case 6:
				_, err = call(s, "list_files", map[string]any{})
			case 7:
				ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
				_, _ = s.CallTool(ctx, &mcp.CallToolParams{Name: "bash", Arguments: map[string]any{"command": "sleep 1000"}})
				cancel()
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := round(rand.New(rand.NewPCG(0, 0)), 0); err != nil { // what is made once is made
		t.Fatal(err)
	}
	settle(t)
	before := holding(t)
	until := time.Now().Add(*soak)
	var all sync.WaitGroup
	var rounds sync.Map
	for i := range 4 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for n := i + 1; n <= 4 || time.Now().Before(until); n += 4 {
				if err := round(r, n); err != nil {
					t.Error(err)
					return
				}
				rounds.Store(n, true)
			}
		})
	}
	all.Wait()
	n := 0
	rounds.Range(func(any, any) bool { n++; return true })
	after := settle(t)
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline) && (after.goroutines > before.goroutines || after.descriptors > before.descriptors || after.children > before.children); {
		after = settle(t)
	}
	fmt.Printf("soak cases: %d sessions of 6 calls; held %+v before, %+v after\n", n, before, after)
	if after.goroutines > before.goroutines || after.descriptors > before.descriptors || after.children > before.children {
		stacks := make([]byte, 1<<20)
		t.Errorf("held %+v before and %+v after\n%s", before, after, stacks[:runtime.Stack(stacks, true)])
	}
	left, _ := os.ReadDir(filepath.Join(filepath.Dir(c.state), "work"))
	left = slices.DeleteFunc(left, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), "caches-") || e.Name() == "CACHEDIR.TAG" }) // the client's, and the folder's mark
	if len(left) > 0 {
		t.Errorf("%d sessions' folders are left", len(left))
	}
}

// settle waits until what this process holds stays the same for a while.
func settle(t testing.TB) held {
	t.Helper()
	last := holding(t)
	for same := 0; same < 5; {
		time.Sleep(50 * time.Millisecond) // what is measured is that nothing changes meanwhile
		now := holding(t)
		if same++; now != last {
			same = 0
		}
		last = now
	}
	return last
}

// Calls and clients of the test and the benchmark below.
const (
	manyClients = 20
	manyCalls   = 200
)

// TestManyCalls makes 200 calls from 20 clients at once. None is lost and none gets another's answer.
func TestManyCalls(t *testing.T) {
	c := newComputer(t)
	h := c.host(t)
	defer h.Close()
	var all sync.WaitGroup
	for i := range manyClients {
		all.Go(func() {
			s, end := connect(t, h)
			defer end()
			var calls sync.WaitGroup
			for k := range manyCalls / manyClients {
				calls.Go(func() {
					want := fmt.Sprintf("%d of %d\n", k, i)
					if text, err := call(s, "bash", map[string]any{"command": "true; printf '%d of %d\\n' " + fmt.Sprintf("%d %d", k, i), "timeout": 600}); err != nil || text != want {
						t.Errorf("%q, %v; want %q", text, err, want)
					}
				})
			}
			calls.Wait()
		})
	}
	all.Wait()
}

// BenchmarkManyCalls is 200 `bash true` calls from 20 clients at once, beside the same number of bare sandboxed starts, 20 at a
// time.
func BenchmarkManyCalls(b *testing.B) {
	c := newComputer(b)
	h := c.host(b)
	defer h.Close()
	m := sandbox.Machine{Home: c.home, State: c.state, Workspace: filepath.Join(c.home, "Handrail"), Temp: filepath.Join(b.TempDir(), "tmp"), Executable: built, Path: filepath.SplitList(os.Getenv("PATH"))}
	if err := os.Mkdir(m.Temp, 0o700); err != nil {
		b.Fatal(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	var sessions []*mcp.ClientSession
	for range manyClients {
		s, end := connect(b, h)
		defer end()
		sessions = append(sessions, s)
	}
	parallel := func(do func(client int) error) {
		var all sync.WaitGroup
		for i := range manyClients {
			all.Go(func() {
				for range manyCalls / manyClients {
					if err := do(i); err != nil {
						b.Error(err)
					}
				}
			})
		}
		all.Wait()
	}
	bare := func(int) error {
		p, err := sandbox.Start(sandbox.Guarded(m), sandbox.Command{Argv: []string{"/bin/bash", "-c", "true"}, Dir: m.Workspace, Env: []string{"PATH=/usr/bin:/bin"}, Stdin: null, Stdout: null, Stderr: null})
		if err != nil {
			return err
		}
		_, err = p.Wait()
		return err
	}
	through := func(i int) error {
		_, err := call(sessions[i], "bash", map[string]any{"command": "true"})
		return err
	}
	parallel(bare)
	parallel(through)
	var floor, calls time.Duration
	for b.Loop() {
		floor += timed(func() { parallel(bare) })
		calls += timed(func() { parallel(through) })
	}
	b.ReportMetric(manyCalls*float64(b.N)/floor.Seconds(), "floor-per-s")
	b.ReportMetric(manyCalls*float64(b.N)/calls.Seconds(), "calls-per-s")
	b.ReportMetric(floor.Seconds()/calls.Seconds(), "of-floor")
}

// BenchmarkBesideOutput is `bash true` through the HTTP endpoint while a job prints 1 GB after 1 GB, beside the same calls while
// nothing else runs, and while the same programs print as much into nothing outside Handrail: what the processor alone makes of it.
func BenchmarkBesideOutput(b *testing.B) {
	const prints = "while :; do head -c 1000000000 /dev/zero | tr '\\0' x; done"
	c := newComputer(b)
	url, _ := c.serving(b, "--surface", "none")
	s := c.client(b, url)
	measure := func(name string) time.Duration {
		var took []time.Duration
		for range manyCalls {
			took = append(took, timed(func() {
				if _, err := call(s, "bash", map[string]any{"command": "true"}); err != nil {
					b.Fatal(err)
				}
			}))
		}
		return p50(b, name, took)
	}
	if _, err := call(s, "bash", map[string]any{"command": "true"}); err != nil { // what is made once is made
		b.Fatal(err)
	}
	for b.Loop() { // which would forget metrics
	}
	alone := measure("alone")
	outside := exec.Command("/bin/sh", "-c", prints)
	outside.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := outside.Start(); err != nil {
		b.Fatal(err)
	}
	beside := measure("beside-others")
	syscall.Kill(-outside.Process.Pid, syscall.SIGKILL)
	outside.Wait()
	started, err := call(s, "bash_bg", map[string]any{"action": "start", "command": prints})
	if err != nil {
		b.Fatal(err)
	}
	with := measure("beside-job")
	id, _, _ := strings.Cut(started, ":")
	if text, err := call(s, "bash_bg", map[string]any{"action": "kill", "job_id": id}); err != nil || !strings.Contains(text, "xxx") {
		b.Fatal(text, err)
	}
	b.ReportMetric(with.Seconds()/alone.Seconds(), "times-alone")
	b.ReportMetric(with.Seconds()/beside.Seconds(), "times-beside-others")
	b.ReportMetric(0, "ns/op")
}

// TestLargeOutput: a job that prints 1 GB costs the server at most 20 MB, and its end is there to be read. In a short test it
// prints as much as makes its file start anew several times.
func TestLargeOutput(t *testing.T) {
	size := 1_000_000_000
	if *soak < time.Minute {
		size /= 5
	}
	c := newComputer(t)
	url, cmd := c.serving(t, "--surface", "none")
	s := c.client(t, url)
	start := func(command string) {
		t.Helper()
		if _, err := call(s, "bash_bg", map[string]any{"action": "start", "command": command}); err != nil {
			t.Fatal(err)
		}
	}
	status := func(id string) string {
		t.Helper()
		text, err := call(s, "bash_bg", map[string]any{"action": "status", "job_id": id, "wait": 30})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	start("seq 100000")
	for !strings.Contains(status("job-1"), "exited") {
	}
	before := peak(t, cmd.Process.Pid)
	start("head -c " + strconv.Itoa(size) + " /dev/zero | tr '\\0' x; echo; echo the end")
	text := ""
	for deadline := time.Now().Add(10 * time.Minute); !strings.Contains(text, "exited"); {
		if text = status("job-2"); time.Now().After(deadline) {
			t.Fatal(text)
		}
	}
	after := peak(t, cmd.Process.Pid)
	t.Logf("%d kB at the most before, %d kB after", before, after)
	if after > before+20<<10 {
		t.Errorf("it took %d kB more", after-before)
	}
	if !strings.Contains(text, "the end") {
		t.Errorf("the end is not there: %.200q", text)
	}
}

// peak is the most memory that a process has had, in kB (proc(5), /proc/pid/status: VmHWM).
func peak(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmHWM:" {
			kb, err := strconv.Atoi(f[1])
			if err != nil {
				t.Fatal(err)
			}
			return kb
		}
	}
	t.Fatal("no VmHWM")
	return 0
}
