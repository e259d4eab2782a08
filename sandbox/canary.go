package sandbox

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Canary is a tool that was tried under a policy.
type Canary struct {
	Tool string
	Err  error // why it doesn't work here; nil when it does
}

// canaries are small uses of tools that need much of what a profile could forget.
var canaries = []struct {
	tool string
	args []string
}{
	{"sh", []string{"-c", "echo $(echo ok) | cat"}},
	{"git", []string{"version", "--build-options"}},
	{"python3", []string{"-c", "import json, os, pwd, multiprocessing, subprocess, tempfile, threading; multiprocessing.Lock(); tempfile.TemporaryFile(); subprocess.run(['true'], check=True)"}},
	{"python3", []string{"-c", "import ssl; ssl.create_default_context()"}},
	{"node", []string{"-e", "require('os').cpus().length || process.exit(3); require('child_process').execSync('true'); require('crypto').randomBytes(8)"}},
	{"go", []string{"version"}},
	{"ruby", []string{"-e", "require 'tempfile'; Tempfile.new"}},
}

// Canaries tries the tools that are found on the machine's PATH, one after another. A tool that fails is to be reported as one
// that doesn't work here yet; nothing weaker is offered for it. The context bounds the whole.
func Canaries(ctx context.Context, p Policy) []Canary {
	var out []Canary
	for _, c := range canaries {
		program := p.machine.find(c.tool)
		if program == "" {
			continue
		}
		if ctx.Err() != nil {
			return append(out, Canary{c.tool, context.Cause(ctx)})
		}
		out = append(out, Canary{c.tool, try(ctx, p, append([]string{program}, c.args...))})
	}
	return out
}

// find gives the absolute path of a tool on PATH, "" if there is none.
func (m Machine) find(tool string) string {
	for _, dir := range m.searchPath() {
		path := filepath.Join(dir, tool)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// try runs a program to its end. The error holds the end of what it said.
func try(ctx context.Context, p Policy, argv []string) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	proc, err := Start(p, Command{Argv: argv, Dir: p.machine.Workspace, Env: p.Environment(), Stdout: w, Stderr: w})
	w.Close()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { proc.Kill() })
	said, _ := io.ReadAll(io.LimitReader(r, 64<<10))
	io.Copy(io.Discard, r)
	exit, err := proc.Wait()
	switch {
	case !stop() && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	case exit.Code != 0:
		lines := strings.Split(strings.TrimSpace(string(said)), "\n")
		return fmt.Errorf("it ended with status %d: %s", exit.Code, lines[len(lines)-1])
	}
	return nil
}
