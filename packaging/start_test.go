//go:build package && (darwin || linux)

package packaging

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The app is started as the person does, shows its icon, and an assistant that starts `handrail stdio` gets its tools.
func TestStart(t *testing.T) {
	if *programs == "" {
		t.Fatal("-programs says where Handrail's own programs are")
	}
	program := filepath.Join(*programs, "handrail")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	env, shown := desktop(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	env = append(env, "HOME="+dir, "PATH=/usr/bin:/bin")
	state := filepath.Join(dir, "state")
	app := exec.CommandContext(ctx, program, "--state", state, "--addr", "")
	var said strings.Builder
	app.Env, app.Stderr = env, &said
	started := time.Now()
	if err := app.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- app.Wait() }()
	if shown != nil {
		select {
		case <-shown:
			t.Logf("the icon was there after %v (goal 1 s)", time.Since(started).Round(time.Millisecond))
		case err := <-ended:
			t.Fatalf("the app ended: %v\n%s", err, said.String())
		case <-ctx.Done():
			t.Fatal("no icon")
		}
	}
	var s *mcp.ClientSession
	for {
		stdio := exec.CommandContext(ctx, program, "stdio", "--state", state)
		stdio.Env = env
		if s, err = mcp.NewClient(&mcp.Implementation{Name: "package test", Version: "1"}, nil).Connect(ctx, &mcp.CommandTransport{Command: stdio}, nil); err == nil {
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("the app ended: %v\n%s", err, said.String())
		case <-ctx.Done():
			t.Fatal(err)
		case <-time.After(100 * time.Millisecond): // it isn't listening yet
		}
	}
	list, err := s.ListTools(ctx, nil)
	if err != nil || len(list.Tools) < 10 {
		t.Errorf("tools: %+v, %v", list, err)
	}
	s.Close()
	// Started again, it says so and shows a window.
	again := exec.CommandContext(ctx, program, "--state", state)
	again.Env = env
	if out, err := again.CombinedOutput(); err != nil || !strings.Contains(string(out), "its window opens") {
		t.Errorf("started again: %v\n%s", err, out)
	}
	if err := app.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the app ended badly: %v\n%s", err, said.String())
	}
}
