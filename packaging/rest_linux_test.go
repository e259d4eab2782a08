//go:build package

package packaging

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var rest = flag.Duration("rest", 10*time.Minute, "how long the app is watched at rest")

// An app that nobody uses takes no processor time to speak of, also with an assistant that is connected and has worked: it polls nothing.
func TestAtRest(t *testing.T) {
	if *programs == "" {
		t.Fatal("-programs says where Handrail's own programs are")
	}
	program := filepath.Join(*programs, "handrail")
	ctx, cancel := context.WithTimeout(t.Context(), *rest+5*time.Minute)
	defer cancel()
	env, shown := desktop(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	env = append(env, "HOME="+dir, "PATH=/usr/bin:/bin")
	state := filepath.Join(dir, "state")
	write(t, filepath.Join(state, "welcomed"), "", 0o600) // a window takes time of its own, in a process of its own
	if err := os.Chmod(state, 0o700); err != nil {
		t.Fatal(err)
	}
	app := exec.CommandContext(ctx, program, "--state", state, "--addr", "")
	var said bytes.Buffer
	app.Env, app.Stderr = env, &said
	if err := app.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- app.Wait() }()
	select {
	case <-shown:
	case err := <-ended:
		t.Fatalf("the app ended: %v\n%s", err, said.String())
	}
	stdio := exec.CommandContext(ctx, program, "stdio", "--state", state)
	stdio.Env = env
	s, err := mcp.NewClient(&mcp.Implementation{Name: "rest"}, nil).Connect(ctx, &mcp.CommandTransport{Command: stdio}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 20 {
		if r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "bash", Arguments: map[string]any{"command": "ls -la /"}}); err != nil || r.IsError {
			t.Fatalf("%+v, %v", r, err)
		}
	}

	pid := app.Process.Pid
	for used, until := processorTime(t, pid), time.Now().Add(3*time.Minute); ; { // what it does at its start is to be over
		if !lasts(ctx, 10*time.Second) || time.Now().After(until) {
			t.Fatal("it doesn't come to rest")
		}
		now := processorTime(t, pid)
		if now-used <= 10*time.Millisecond {
			break
		}
		used = now
	}
	before := processorTime(t, pid)
	if !lasts(ctx, *rest) {
		t.Fatal(ctx.Err())
	}
	used, most := processorTime(t, pid)-before, max(*rest/5000, 20*time.Millisecond) // 120 ms in 10 minutes: Go collects its garbage every 2 minutes, whatever was done
	t.Logf("in %v at rest: %v of the processor's time (at most %v; goal 50 ms in 10 minutes), %d MB (goal 60)", *rest, used, most, memory(t, pid)>>20)
	if used > most {
		t.Errorf("at rest it took %v, more than %v", used, most)
	}
	if m := memory(t, pid); m > 60<<20 {
		t.Errorf("it holds %d MB", m>>20)
	}
	if err := app.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the app ended badly: %v\n%s", err, said.String())
	}
}

// lasts waits for a time, and says false if ctx ends before.
func lasts(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// processorTime is what a process has used, in steps of 10 ms (proc_pid_stat(5), utime and stime).
func processorTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	var ticks int
	for _, field := range f[11:13] {
		n, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// memory is what a process holds, in bytes (proc_pid_statm(5), resident).
func memory(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "statm"))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}
