package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"handrail/sandbox"
)

// p50 reports the median of the durations, and against a floor how many times as long it is.
func p50(b *testing.B, name string, d []time.Duration) time.Duration {
	slices.Sort(d)
	median := d[len(d)/2]
	b.ReportMetric(float64(median.Microseconds())/1000, name+"-p50-ms")
	return median
}

func timed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// BenchmarkBash is `bash true` through the HTTP endpoint beside the same sandbox run bare, in turns.
func BenchmarkBash(b *testing.B) {
	c := newComputer(b)
	url, _ := c.serving(b, "--surface", "none")
	s := c.client(b, url)
	m := sandbox.Machine{Home: c.home, State: c.state, Workspace: filepath.Join(c.home, "Handrail"), Temp: filepath.Join(b.TempDir(), "tmp"), Executable: built, // on Linux the launcher, which the endpoint has inside
		Path: filepath.SplitList(os.Getenv("PATH"))}
	if err := os.Mkdir(m.Temp, 0o700); err != nil {
		b.Fatal(err)
	}
	if launcher, err := filepath.Abs("build/launcher"); err == nil && runtime.GOOS == "linux" {
		m.Executable = launcher
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	call := func() {
		r, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: "bash", Arguments: map[string]any{"command": "true"}})
		if err != nil || r.IsError {
			b.Fatal(r, err)
		}
	}
	bare := func() {
		p, err := sandbox.Start(sandbox.Guarded(m), sandbox.Command{Argv: []string{"/bin/bash", "-c", "true"}, Dir: m.Workspace, Env: []string{"PATH=/usr/bin:/bin"}, Stdin: null, Stdout: null, Stderr: null})
		if err != nil {
			b.Fatal(err)
		}
		if exit, err := p.Wait(); err != nil || exit.Code != 0 {
			b.Fatal(exit, err)
		}
	}
	call()
	bare()
	var through, floor []time.Duration
	for b.Loop() {
		floor = append(floor, timed(bare))
		through = append(through, timed(call))
	}
	f := p50(b, "floor", floor)
	b.ReportMetric(float64(p50(b, "endpoint", through))/float64(f), "times-floor")
}

// BenchmarkLaunch is `true` through the launcher as it is shipped, and through `handrail launch`, beside bare bubblewrap with
// the fewest mounts, in turns.
func BenchmarkLaunch(b *testing.B) {
	if runtime.GOOS != "linux" {
		b.Skip("bubblewrap is Linux's")
	}
	launcher, err := filepath.Abs("build/launcher")
	if err != nil {
		b.Fatal(err)
	}
	c := newComputer(b)
	m := sandbox.Machine{Home: c.home, State: c.state, Workspace: filepath.Join(c.home, "work"), Temp: filepath.Join(b.TempDir(), "tmp"), Path: []string{"/usr/local/bin", "/usr/bin", "/bin"}}
	for _, dir := range []string{m.Workspace, m.State, m.Temp} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			b.Fatal(err)
		}
	}
	through := func(program string) func() {
		m := m
		m.Executable = program
		place, err := sandbox.PlaceAt(m.Workspace)
		if err != nil {
			b.Fatal(err)
		}
		p := sandbox.Guarded(m).AllowWrite(place)
		return func() {
			process, err := sandbox.Start(p, sandbox.Command{Argv: []string{"/usr/bin/true"}, Dir: m.Workspace})
			if err != nil {
				b.Fatal(err)
			}
			if exit, err := process.Wait(); err != nil || exit.Code != 0 {
				b.Fatal(exit, err)
			}
		}
	}
	ways := []struct {
		name string
		do   func()
	}{
		{"bwrap", func() {
			cmd := exec.Command("/usr/bin/bwrap", "--unshare-all", "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev",
				"--new-session", "--die-with-parent", "--as-pid-1", "/usr/bin/true")
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}},
		{"launcher", through(launcher)},
		{"handrail-launch", through(built)},
	}
	took := make([][]time.Duration, len(ways))
	for b.Loop() {
		for i, way := range ways {
			took[i] = append(took[i], timed(way.do))
		}
	}
	floor := p50(b, ways[0].name, took[0])
	for i, way := range ways[1:] {
		b.ReportMetric(float64((p50(b, way.name, took[i+1])-floor).Microseconds())/1000, way.name+"-over-ms")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkToolsList is tools/list over HTTP beside an HTTP request that is refused at the door. The requests are written out:
// the SDK's client keeps the list.
func BenchmarkToolsList(b *testing.B) {
	c := newComputer(b)
	url, _ := c.serving(b, "--surface", "none")
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"tester","version":"1"}}}}`
	post := func(by *http.Client, want int, part string) time.Duration {
		req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(list))
		if err != nil {
			b.Fatal(err)
		}
		for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"} {
			req.Header.Set(name, value)
		}
		return timed(func() {
			r, err := by.Do(req)
			if err != nil {
				b.Fatal(err)
			}
			defer r.Body.Close()
			if body, err := io.ReadAll(r.Body); err != nil || r.StatusCode != want || !bytes.Contains(body, []byte(part)) {
				b.Fatal(r.Status, err)
			}
		})
	}
	known := c.http(b)
	var through, floor []time.Duration
	for b.Loop() {
		floor = append(floor, post(http.DefaultClient, http.StatusUnauthorized, ""))
		through = append(through, post(known, http.StatusOK, `"request_access"`))
	}
	p50(b, "floor", floor)
	p50(b, "list", through)
}

// BenchmarkStart is `handrail serve` from its start until it says that it is ready, beside `handrail --version`.
func BenchmarkStart(b *testing.B) {
	var ready, floor []time.Duration
	for b.Loop() {
		c := newComputer(b)
		floor = append(floor, timed(func() { c.command("--version").Run() }))
		ready = append(ready, timed(func() {
			_, cmd := c.serving(b, "--surface", "none")
			b.StopTimer()
			cmd.Process.Signal(os.Interrupt)
		}))
		b.StartTimer()
	}
	p50(b, "floor", floor)
	p50(b, "ready", ready)
}

// BenchmarkRest is what the server takes while nobody asks anything: memory after a hundred calls, processor time over ten
// seconds. The floor is the memory of a program that only waits.
func BenchmarkRest(b *testing.B) {
	if runtime.GOOS != "linux" {
		b.Skip("reads /proc")
	}
	c := newComputer(b)
	url, cmd := c.serving(b, "--surface", "none")
	s := c.client(b, url)
	for range 100 {
		if _, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: "list_files"}); err != nil {
			b.Fatal(err)
		}
	}
	waiting := c.command("stdio", "--state", c.state)
	in, err := waiting.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := waiting.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { in.Close(); waiting.Wait() }()
	const rest = 10 * time.Second
	before := ticks(b, cmd.Process.Pid)
	time.Sleep(rest) // what is measured is ten seconds of rest
	for b.Loop() {   // which forgets the metrics so far
	}
	b.ReportMetric(float64(ticks(b, cmd.Process.Pid)-before)*10, "cpu-ms-in-10-s")
	b.ReportMetric(memory(b, cmd.Process.Pid), "MB")
	b.ReportMetric(memory(b, waiting.Process.Pid), "floor-MB")
}

// ticks is the processor time of a process in hundredths of a second (proc(5), /proc/pid/stat).
func ticks(b *testing.B, pid int) int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	f := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+2:]))
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return user + system
}

// memory is what a process alone takes, in MB (proc(5), /proc/pid/smaps_rollup: Pss).
func memory(b *testing.B, pid int) float64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "Pss:" {
			kb, _ := strconv.Atoi(f[1])
			return float64(kb) / 1024
		}
	}
	b.Fatal("no Pss")
	return 0
}
