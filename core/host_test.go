package core

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"handrail/core/approval"
	"handrail/core/audit"
	"handrail/core/client"
	"handrail/sandbox"
)

// TestMain is also the launcher that the sandbox starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "launch" {
		os.Exit(sandbox.Launch(os.Args[2:]))
	}
	if len(os.Args) == 3 && os.Args[1] == "extract" {
		os.Exit(extract(os.Args[2]))
	}
	os.Exit(m.Run())
}

// allow is a person who says yes to everything.
type allow struct{}

func (allow) Ask(_ context.Context, r approval.Request) approval.Decision {
	return approval.Allow(r, "dialog")
}

func options(t *testing.T) Options {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	return Options{State: filepath.Join(dir, "state"), Work: filepath.Join(dir, "rooms"), Workspace: filepath.Join(home, "work"), Home: home,
		Executable: exe, Asker: allow{}, Level: client.Ask}
}

func newHost(t *testing.T, o Options) *Host {
	t.Helper()
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// joined is a client on a pipe to the host, as on stdio, and the progress messages that it hears.
func joined(t *testing.T, h *Host) (*mcp.ClientSession, <-chan string) {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	var served sync.WaitGroup
	served.Go(func() { h.ServeStdio(ctx, inR, outW); outW.Close() })
	heard := make(chan string, 100)
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			select {
			case heard <- r.Params.Message:
			default:
			}
		}}).Connect(t.Context(), &mcp.IOTransport{Reader: outR, Writer: inW}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { inW.Close(); cancel(); served.Wait() })
	return c, heard
}

func call(t *testing.T, c *mcp.ClientSession, tool string, args map[string]any) (string, bool) {
	t.Helper()
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	return r.Content[0].(*mcp.TextContent).Text, r.IsError
}

func TestWorks(t *testing.T) {
	o := options(t)
	h := newHost(t, o)
	<-h.Checked()
	if s := h.Status(); s.Sandbox != "" {
		t.Fatalf("nothing can be run: %s", s.Sandbox)
	}
	c, _ := joined(t, h)
	if text, failed := call(t, c, "write_file", map[string]any{"path": "proj/a.txt", "content": "hello\n"}); failed {
		t.Fatal(text)
	}
	text, failed := call(t, c, "bash", map[string]any{"command": "cat proj/a.txt; echo more >> proj/a.txt; cat proj/a.txt | wc -l; ls $TMPDIR"})
	if failed || !strings.HasPrefix(text, "hello\n2\n") {
		t.Fatal(text)
	}
	s := h.Status()
	if len(s.Sessions) != 1 || s.Sessions[0].Client.Name != "test" || len(s.Recent) != 2 || s.Recent[0].Tool != "bash" {
		t.Errorf("%+v", s)
	}
	h.Close()
	log, anchor := LogFiles(o.State)
	if rep, err := audit.Verify(log, anchor, nil); err != nil || len(rep.Findings) > 0 || rep.Records < 6 {
		t.Errorf("%+v %v", rep, err)
	}
	left, err := os.ReadDir(o.Work)
	left = slices.DeleteFunc(left, func(e os.DirEntry) bool { return cachesName.MatchString(e.Name()) || e.Name() == workTag }) // those stay
	if err != nil || len(left) > 0 {
		t.Errorf("rooms are left: %v %v", left, err)
	}
}

func TestPause(t *testing.T) {
	h := newHost(t, options(t))
	c, _ := joined(t, h)
	if text, failed := call(t, c, "bash_bg", map[string]any{"action": "start", "command": "sleep 600"}); failed {
		t.Fatal(text)
	}
	if n := len(h.Status().Running); n != 1 {
		t.Fatalf("%d jobs run", n)
	}
	h.Pause(0)
	if n := len(h.Status().Running); n != 0 {
		t.Errorf("%d jobs run while paused", n)
	}
	for tool, args := range map[string]map[string]any{"bash": {"command": "true"}, "read_file": {"path": "x"}, "list_files": {}, "write_file": {"path": "a/b", "content": "x"}} {
		if text, failed := call(t, c, tool, args); !failed || !strings.HasPrefix(text, "[paused]") {
			t.Errorf("%s while paused: %s", tool, text)
		}
	}
	h.Resume()
	if text, failed := call(t, c, "bash", map[string]any{"command": "echo $((1+1))"}); failed || text != "2\n" {
		t.Errorf("after Resume: %q", text)
	}
}

func TestRevokeAll(t *testing.T) {
	o := options(t)
	h := newHost(t, o)
	c, heard := joined(t, h)
	if text, failed := call(t, c, "request_access", map[string]any{"folder": "proj"}); failed {
		t.Fatal(text)
	}
	before := h.Status().Sessions[0]
	done := make(chan string, 1)
	go func() {
		p := &mcp.CallToolParams{Name: "bash", Arguments: map[string]any{"command": "echo begun; sleep 600", "timeout": 600}}
		p.SetProgressToken("p")
		r, err := c.CallTool(context.Background(), p)
		if err != nil {
			done <- err.Error()
			return
		}
		done <- r.Content[0].(*mcp.TextContent).Text
	}()
	for begun := false; !begun; {
		select {
		case message := <-heard:
			begun = strings.Contains(message, "begun")
		case text := <-done:
			t.Fatalf("the command ended: %s", text)
		case <-time.After(30 * time.Second):
			t.Fatal("the command's output was not heard as progress")
		}
	}
	h.RevokeAll()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("the command outlived its session")
	}
	if before.Context().Err() == nil {
		t.Error("the session lives")
	}
	if n := len(h.Status().Running); n != 0 {
		t.Errorf("%d jobs run", n)
	}
	// The client can go on, in a new session without grants.
	text, _ := call(t, c, "bash", map[string]any{"command": "echo x > proj/x"})
	if !strings.Contains(text, "the sandbox denied") {
		t.Errorf("a grant outlived its session: %s", text)
	}
}

// What was under way when the last run ended without notice is told once.
func TestInterrupted(t *testing.T) {
	o := options(t)
	log, anchor := LogFiles(o.State)
	before, err := audit.Open(log, anchor, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []audit.Record{
		{Kind: audit.Intent, Call: "a", Tool: "bash_bg", Text: "start make"}, {Kind: audit.Result, Call: "a", Tool: "bash_bg", Text: "start make", Job: "job-1"},
		{Kind: audit.Intent, Call: "b", Tool: "edit"}, {Kind: audit.Intent, Call: "c", Tool: "bash"}, {Kind: audit.Result, Call: "c", Tool: "bash"},
	} {
		if err := before.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	before.Close()
	h := newHost(t, o)
	if got := h.Status().Interrupted; len(got) != 2 || got[0].Job != "job-1" || got[1].Tool != "edit" {
		t.Errorf("%+v", got)
	}
	const want = "job-1 of bash_bg: start make\na call of edit:"
	notes := h.audit.Recent(2, audit.Note)
	if len(notes) != 2 || notes[0].Outcome != "interrupted" || notes[0].Detail != want || notes[1].Text != audit.Started {
		t.Errorf("%+v", notes)
	}
	h.Close()
	if got := newHost(t, o).Status().Interrupted; len(got) != 0 {
		t.Errorf("told again: %+v", got)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(o *Options)
	}{
		{"home as the workspace", func(o *Options) { o.Workspace = o.Home }},
		{"the disk as the workspace", func(o *Options) { o.Workspace = "/" }},
		{"a dot folder as the workspace", func(o *Options) { o.Workspace = filepath.Join(o.Home, ".config") }},
		{"state in the workspace", func(o *Options) { o.State = filepath.Join(o.Workspace, "state") }},
		{"workspace in the state", func(o *Options) { o.Workspace = filepath.Join(o.State, "w") }},
		{"rooms in the state", func(o *Options) { o.Work = filepath.Join(o.State, "rooms") }},
		{"program in the workspace", func(o *Options) { o.Program = filepath.Join(o.Workspace, "bin") }},
		{"no home", func(o *Options) { o.Home = filepath.Join(o.Home, "missing") }},
		{"a link to home", func(o *Options) {
			link := filepath.Join(filepath.Dir(o.Home), "link")
			os.Symlink(o.Home, link)
			o.Workspace = link
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := options(t)
			c.change(&o)
			if h, err := New(o); err == nil {
				h.Close()
				t.Error("accepted")
			}
		})
	}
}

func TestOneHost(t *testing.T) {
	o := options(t)
	h := newHost(t, o)
	if second, err := New(o); err == nil {
		second.Close()
		t.Error("two hosts share a state folder")
	}
	h.Close()
	newHost(t, o)
}

func TestSubscribe(t *testing.T) {
	h := newHost(t, options(t))
	changed := make(chan struct{}, 100)
	cancel := h.Subscribe(func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	h.Pause(0)
	select {
	case <-changed:
	case <-time.After(patience):
		t.Error("Pause told nobody")
	}
	cancel()
	cancel()
	h.Resume()
}

// Fifty edits of one file at once: each is there once, or was refused.
func TestParallelEdits(t *testing.T) {
	o := options(t)
	h := newHost(t, o)
	c, _ := joined(t, h)
	var lines strings.Builder
	for i := range 50 {
		lines.WriteString("line " + string(rune('A'+i%26)) + strings.Repeat("x", i) + "\n")
	}
	if text, failed := call(t, c, "write_file", map[string]any{"path": "p/f.txt", "content": lines.String()}); failed {
		t.Fatal(text)
	}
	var wg sync.WaitGroup
	failures := make(chan string, 50)
	for i := range 50 {
		wg.Go(func() {
			old := "line " + string(rune('A'+i%26)) + strings.Repeat("x", i) + "\n"
			r, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: "edit", Arguments: map[string]any{"path": "p/f.txt", "old_string": old, "new_string": strings.ToLower(old)}})
			if err != nil {
				failures <- err.Error()
			} else if r.IsError {
				failures <- r.Content[0].(*mcp.TextContent).Text
			}
		})
	}
	wg.Wait()
	close(failures)
	refused := 0
	for f := range failures {
		refused++
		if !strings.HasPrefix(f, "[stale]") && !strings.HasPrefix(f, "[ambiguous]") {
			t.Errorf("an edit failed: %s", f)
		}
	}
	data, err := os.ReadFile(filepath.Join(o.Workspace, "p", "f.txt"))
	if err != nil {
		t.Fatal(err)
	}
	lower := 0
	for line := range strings.Lines(string(data)) {
		if line == strings.ToLower(line) {
			lower++
		}
	}
	if lower != 50-refused {
		t.Errorf("%d edits are there, %d were refused", lower, refused)
	}
}

// The work folder may be one that the person had before: only what sessions left there is removed.
func TestStartRemovesOnlyRooms(t *testing.T) {
	o := options(t)
	theirs := []string{"note.txt", "photos/a.txt", "CANARY/a", "ABCDEFGHIJKLMNOPQRSTUVWXY/a", "ABCDEFGHIJKLMNOPQRSTUVWXYZ.txt"}
	old := "caches-0123456789abcdef0123456789abcdef"
	left := []string{"ABCDEFGHIJKLMNOPQRSTUVWXYZ/tmp/a", "canary/out/a", old + "/npm/a"}
	theirs = append(theirs, "caches-1123456789abcdef0123456789abcdef/npm/a", "caches-photos/a")
	for _, name := range append(theirs, left...) {
		path := filepath.Join(o.Work, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := time.Now().Add(-cachesKept - time.Hour)
	for _, name := range []string{old, "caches-photos"} {
		if err := os.Chtimes(filepath.Join(o.Work, name), before, before); err != nil {
			t.Fatal(err)
		}
	}
	h := newHost(t, o)
	<-h.Checked()
	for _, name := range theirs {
		if _, err := os.Stat(filepath.Join(o.Work, name)); err != nil {
			t.Errorf("not a room of ours: %v", err)
		}
	}
	for _, name := range left {
		if _, err := os.Stat(filepath.Join(o.Work, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
}

// What package managers download stays with the client, and is no other client's.
func TestCaches(t *testing.T) {
	h := newHost(t, options(t))
	caches := func(id string) string {
		s := h.sessions.Connect(client.Identity{ID: id}, client.Ask)
		defer h.sessions.End(s.ID)
		r, err := h.room(s)
		if err != nil {
			t.Fatal(err)
		}
		m := r.Policy.Machine()
		if d := r.Policy.Decide(sandbox.Write, filepath.Join(m.Caches, "npm/x")); !d.Allowed {
			t.Errorf("%s may not write its caches: %v", id, d)
		}
		entries, err := os.ReadDir(h.opts.Work)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			dir := filepath.Join(h.opts.Work, e.Name())
			if dir != m.Caches && e.Name() != s.ID && r.Policy.Decide(sandbox.Read, filepath.Join(dir, "x")).Allowed {
				t.Errorf("%s may read %s", id, dir)
			}
		}
		return m.Caches
	}
	first, other := caches("http:one"), caches("http:../one")
	if err := os.WriteFile(filepath.Join(first, "kept"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if again := caches("http:one"); again != first || other == first {
		t.Errorf("caches %s, then %s; another client's %s", first, again, other)
	}
	if _, err := os.Stat(filepath.Join(first, "kept")); err != nil {
		t.Error(err)
	}
	if err := Forget(h.opts.Work, h.gate.Rules, h.gate.Switches, "http:one"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(first); !os.IsNotExist(err) {
		t.Errorf("the caches of a client that has gone: %v", err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("another client's: %v", err)
	}
}

// The work folder is marked as Handrail's, unless somebody else has something there.
func TestWorkMarked(t *testing.T) {
	for name, owns := range map[string]bool{"": true, "canary": true, "letters": false} {
		o := options(t)
		if err := os.MkdirAll(filepath.Join(o.Work, name), 0o700); err != nil {
			t.Fatal(err)
		}
		h := newHost(t, o)
		if got := OwnsWork(h.opts.Work); got != owns {
			t.Errorf("with %q in it: %v", name, got)
		}
	}
}

// Sessions' folders come and go in the work folder: it is no workspace, and holds none.
func TestWorkspaceApartFromWork(t *testing.T) {
	for _, at := range []string{".", "below", ".."} {
		o := options(t)
		o.Work = filepath.Join(o.Home, "things", "rooms")
		o.Workspace = filepath.Join(o.Work, at)
		if h, err := New(o); err == nil {
			h.Close()
			t.Errorf("the workspace %s was taken beside the work folder %s", o.Workspace, o.Work)
		}
	}
}

// What a secret's link leads to is closed too, in the workspace as elsewhere; a link to a device closes none.
func TestLinkedSecrets(t *testing.T) {
	o := options(t)
	dots := filepath.Join(o.Workspace, "dots")
	for _, dir := range []string{o.Work, filepath.Join(dots, "ssh")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{".ssh": filepath.Join(dots, "ssh"), ".npmrc": filepath.Join(dots, "npmrc"), ".bash_history": os.DevNull, ".claude": o.Home} {
		if err := os.WriteFile(filepath.Join(dots, "npmrc"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join(o.Home, name)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := newRoom(o, "room", "")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"dots/ssh": false, "dots/ssh/id_ed25519": false, "dots/npmrc": false, "dots": true, "dots/other": true} {
		if got := r.policy.Decide(sandbox.Read, filepath.Join(o.Workspace, path)).Allowed; got != want {
			t.Errorf("reading %s: %v", path, got)
		}
	}
	if !r.policy.Decide(sandbox.Write, os.DevNull).Allowed {
		t.Errorf("%s is closed", os.DevNull)
	}
	at := sandbox.Place{Path: dots, Device: 1, Inode: 1}
	if d := r.policy.AllowWrite(at).Decide(sandbox.Delete, filepath.Join(dots, "ssh")); d.Allowed {
		t.Error("a secret may be moved away")
	}
}

// A tool that is installed and fails in the sandbox is named; one that works isn't.
func TestTryTools(t *testing.T) {
	o := options(t)
	bin := filepath.Join(o.Home, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, code := range map[string]string{"git": "0", "ruby": "3"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\nexit "+code+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h := newHost(t, o)
	<-h.Checked() // it reads the options
	h.opts.path = func() []string { return []string{bin} }
	h.TryTools(t.Context())
	if got := h.Status().Broken; !slices.Equal(got, []string{"ruby"}) {
		t.Errorf("broken: %q", got)
	}
}
