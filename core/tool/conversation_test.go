package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/tools/txtar"

	"handrail/core/approval"
	"handrail/core/audit"
	"handrail/core/broker"
	"handrail/core/client"
	"handrail/core/command"
	"handrail/core/edit"
	"handrail/core/grant"
	"handrail/core/job"
	"handrail/core/search"
	"handrail/sandbox"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestMain is also the launcher that the sandbox starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "launch" {
		os.Exit(sandbox.Launch(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// TestConversations plays each testdata/*.txtar: files of the workspace (w/…) and of the home folder (h/…), then "calls",
// one JSON object a line, against which "answers" and "log" are compared. A call is {"tool": {arguments}}, or one of
//
//	{"person": "allow"}      what the person answers next: allow, refuse, nobody (no answer), broken (could not show);
//	                         "allow, while put w/a x": something happens before they do, as with "do"
//	{"session": "b"}         the calls that follow come from another session
//	{"level": "look"}        … of this access level
//	{"do": "move w/a w/b"}   something happens to the files meanwhile; see (*world).do
//
// $PHRASE in a call is the last phrase that an answer gave.
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no conversations", err)
	}
	var calls atomic.Int64
	t.Cleanup(func() { fmt.Printf("conversations cases: %d calls in %d conversations\n", calls.Load(), len(files)) })
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(t, !strings.Contains(string(ar.Comment), "no screen"))
			if strings.Contains(string(ar.Comment), "On a Mac") {
				w.gate.Broker.System = "darwin"
			}
			if strings.Contains(string(ar.Comment), "With Spotlight") {
				w.gate.testOnlySpotlight = w.path("w/bin/mdfind")
			}
			for _, f := range ar.Files {
				w.put(f.Name, f.Data)
			}
			answers := new(strings.Builder)
			for line := range strings.Lines(string(section(ar, "calls"))) {
				if line = strings.TrimSpace(line); line == "" {
					continue
				}
				calls.Add(1)
				fmt.Fprintf(answers, "> %s\n", line)
				answers.WriteString(w.play(line))
			}
			w.close()
			compare(t, file, ar, map[string]string{"answers": answers.String(), "log": w.log()})
		})
	}
}

func section(ar *txtar.Archive, name string) []byte {
	for _, f := range ar.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

func compare(t *testing.T, file string, ar *txtar.Archive, got map[string]string) {
	t.Helper()
	for _, name := range []string{"answers", "log"} {
		if *update {
			set(ar, name, got[name])
			continue
		}
		if want := string(section(ar, name)); want != got[name] {
			t.Errorf("%s differs:\n--- got\n%s--- want\n%s", name, got[name], want)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func set(ar *txtar.Archive, name, data string) {
	for i := range ar.Files {
		if ar.Files[i].Name == name {
			ar.Files[i].Data = []byte(data)
			return
		}
	}
	ar.Files = append(ar.Files, txtar.File{Name: name, Data: []byte(data)})
}

// ages are more than any machine takes for what a test waits for, and less than the time that all of them have: what comes to
// nothing fails its own test.
const ages = 4 * time.Minute

// testKey stands for the keychain's.
var testKey = bytes.Repeat([]byte{7}, 32)

// world is a scratch computer: a home folder with a workspace in it, a gate, a person, and clients.
type world struct {
	index    atomic.Pointer[search.Index] // nil until the person chose a folder
	t        *testing.T
	gate     *Gate
	dir      string
	home     string
	person   *person
	sessions *client.Sessions
	clients  map[string]*mcp.ClientSession
	now      string
	level    client.Level
	logFile  string
	phrase   string // the last one that an answer gave
	pictures map[string]string
	queued   chan struct{} // the questions that wait have changed
	rawText  bool          // answers are given as they are
	errands  []string      // what was started outside the sandbox
	protocol string        // of MCP; "" is the newest
	noted    func(context.Context, *mcp.LoggingMessageRequest)
}

func newWorld(t *testing.T, screen bool) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, home: filepath.Join(dir, "home"), person: &person{}, clients: map[string]*mcp.ClientSession{}, now: "a", level: client.Ask}
	workspace, state := filepath.Join(w.home, "work"), filepath.Join(dir, "state")
	for _, d := range []string{workspace, state, filepath.Join(dir, "rooms")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.logFile = filepath.Join(state, "logs", "log.jsonl")
	log, err := audit.Open(w.logFile, filepath.Join(state, "anchor"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	undo, err := edit.OpenUndo(filepath.Join(state, "undo"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	snapshots, err := edit.OpenSnapshots(edit.SnapshotOptions{Dir: filepath.Join(state, "snapshots"), Undo: undo, Patience: ages})
	if err != nil {
		t.Fatal(err)
	}
	id, err := grant.Identify(workspace)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w.person.do = w.do
	rooms := map[string]Room{}
	var mu sync.Mutex
	w.sessions = client.NewSessions(nil)
	w.gate = &Gate{Workspace: workspace, WorkspaceID: id, Home: grant.Home{Home: w.home, State: state, Workspace: workspace}, Grants: new(grant.Store),
		Queue: approval.NewQueue(w.person, nil), Nonces: new(approval.Nonces), NonceSurface: !screen, Audit: log, Jobs: &job.Engine{Grace: ages}, testOnlyAnswerBy: ages, testOnlySlow: ages, Undo: undo, Snapshots: snapshots,
		Policy: command.OpenPolicy(state, w.home, testKey), Own: command.Own{Names: []string{"handrail", "handrail-ui"}}, Rules: approval.OpenRules(state, testKey),
		Broker: broker.Broker{System: "linux", Run: w.errand, Apps: []string{w.apps()}}, Paused: func() bool { return false }, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Session: func(s *client.Session) (Room, error) {
			mu.Lock()
			defer mu.Unlock()
			if r, ok := rooms[s.ID]; ok {
				return r, nil
			}
			base := filepath.Join(dir, "rooms", fmt.Sprint(len(rooms)+1))
			r := Room{Temp: filepath.Join(base, "tmp"), Work: filepath.Join(base, "out")}
			for _, d := range []string{r.Temp, r.Work} {
				if err := os.MkdirAll(d, 0o700); err != nil {
					return Room{}, err
				}
			}
			workID, err := grant.Identify(r.Work)
			if err != nil {
				return Room{}, err
			}
			r.Policy = sandbox.Guarded(sandbox.Machine{Home: w.home, State: state, Workspace: workspace, Temp: r.Temp, Executable: exe,
				Path: []string{"/usr/bin", "/bin"}})
			if s.Level == client.Look {
				r.Policy = sandbox.ReadOnly(r.Policy.Machine()).CloseSensitive()
			}
			r.Policy = r.Policy.AllowRead(sandbox.Place{Path: r.Work, Device: workID.Device, Inode: workID.Inode})
			r.Env = []string{"HOME=" + w.home, "PATH=/usr/bin:/bin", "TMPDIR=" + r.Temp, "LANG=C.UTF-8"}
			rooms[s.ID] = r
			return r, nil
		}}
	w.gate.Search = w
	t.Cleanup(func() { snapshots.Close(); log.Close(); undo.Close() })
	return w
}

func (w *world) path(name string) string {
	switch {
	case name == "w" || strings.HasPrefix(name, "w/"):
		return filepath.Join(w.gate.Workspace, strings.TrimPrefix(name, "w"))
	case name == "h" || strings.HasPrefix(name, "h/"):
		return filepath.Join(w.home, strings.TrimPrefix(name, "h"))
	}
	w.t.Fatalf("%q is neither in the workspace (w/) nor in the home folder (h/)", name)
	return ""
}

func (w *world) put(name string, data []byte) {
	if !strings.HasPrefix(name, "w/") && !strings.HasPrefix(name, "h/") {
		return
	}
	path := w.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// connect gives the client of the session that now calls, over an in-memory transport.
func (w *world) connect() *mcp.ClientSession {
	key := w.now + w.level.String()
	if c := w.clients[key]; c != nil {
		return c
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "handrail"}, nil)
	Register(s, w.level, w.gate)
	session := w.sessions.Connect(client.Identity{ID: "stdio:" + key, Name: "Claude " + w.now}, w.level)
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			return next(client.WithSession(ctx, session), method, req)
		}
	})
	ct, st := mcp.NewInMemoryTransports()
	if _, err := s.Connect(w.t.Context(), st, nil); err != nil {
		w.t.Fatal(err)
	}
	//lint:ignore SA1019 the protocols that have sessions have nothing else
	options := &mcp.ClientOptions{LoggingMessageHandler: w.noted}
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, options).Connect(w.t.Context(), ct, &mcp.ClientSessionOptions{ProtocolVersion: w.protocol})
	if err != nil {
		w.t.Fatal(err)
	}
	w.clients[key] = c
	return c
}

func (w *world) play(line string) string {
	line = strings.ReplaceAll(line, "$PHRASE", w.phrase)
	var call map[string]json.RawMessage
	if err := json.Unmarshal([]byte(line), &call); err != nil || len(call) != 1 {
		w.t.Fatalf("bad call %s: %v", line, err)
	}
	for name, args := range call {
		var word string
		json.Unmarshal(args, &word)
		switch name {
		case "person":
			w.person.will(word)
			return ""
		case "session":
			w.now = word
			return ""
		case "level":
			level, err := client.ParseLevel(word)
			if err != nil {
				w.t.Fatal(err)
			}
			w.level = level
			return ""
		case "do":
			return w.do(strings.Fields(word))
		}
		ctx, cancel := context.WithTimeout(w.t.Context(), ages+time.Minute)
		defer cancel()
		res, err := w.connect().CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
		if err != nil {
			return "protocol error: " + w.plain(err.Error()) + "\n"
		}
		var text strings.Builder
		for _, c := range res.Content {
			text.WriteString(c.(*mcp.TextContent).Text)
		}
		if m := phrase.FindStringSubmatch(text.String()); m != nil {
			w.phrase = m[1]
		}
		if w.rawText {
			if res.IsError {
				return "error " + text.String()
			}
			return text.String()
		}
		out := w.plain(strings.TrimSuffix(inOrder(text.String(), res.StructuredContent), "\n")) + "\n"
		if res.IsError {
			out = "error " + out
		}
		return strings.ReplaceAll(out, "\r", "␍") // txtar has no carriage returns
	}
	return ""
}

// inOrder puts the lines of a command's errors behind those of its output, where both stand in an answer: the two streams race.
func inOrder(text string, data any) string {
	m, _ := data.(map[string]any)
	out, _ := m["stdout"].(string)
	errs, _ := m["stderr"].(string)
	if out == "" || errs == "" || m["truncated"] == true {
		return text
	}
	want := strings.TrimSuffix(out, "\n") + "\n" + strings.TrimSuffix(errs, "\n") + "\n"
	got := strings.SplitAfter(text, "\n")
	n := min(strings.Count(want, "\n"), len(got))
	if !slices.Equal(slices.Sorted(slices.Values(got[:n])), slices.Sorted(strings.Lines(want))) {
		return "neither stream as it is:\n" + text
	}
	return want + strings.Join(got[n:], "")
}

// apps is a folder of apps.
func (w *world) apps() string {
	dir := filepath.Join(w.dir, "Applications")
	if err := os.MkdirAll(filepath.Join(dir, "Safari.app"), 0o755); err != nil {
		w.t.Fatal(err)
	}
	return dir
}

// errand stands for the system's programs: it notes what would be started. A document must be readable, and no command of a
// session may be able to change it.
func (w *world) errand(_ context.Context, p broker.Program) (string, error) {
	args := fmt.Sprintf("%q", p.Args)
	if n := len(p.Args); n > 0 && filepath.IsAbs(p.Args[n-1]) && !strings.HasSuffix(p.Args[n-1], ".app") {
		text, err := os.ReadFile(p.Args[n-1])
		if err != nil {
			return "", err
		}
		info, err := os.Stat(p.Args[n-1])
		if err != nil {
			return "", err
		}
		args += fmt.Sprintf(" holding %q, %v", text, info.Mode())
	}
	w.errands = append(w.errands, opened.ReplaceAllString(fmt.Sprintf("%s %s %q", p.Path, args, p.Stdin), "opened-N"))
	if p.Reads {
		return "what the person copied", nil
	}
	return "", nil
}

var opened = regexp.MustCompile(`opened-\d+`)

// do changes the files behind the gate's back, or shows them.
func (w *world) do(words []string) string {
	var err error
	switch words[0] {
	case "cat":
		data, err := os.ReadFile(w.path(words[1]))
		if err != nil {
			return "no file\n"
		}
		return strings.ReplaceAll(string(data), "\r", "␍") + "\n"
	case "remember": // what stands in a folder, to the last byte, mode and time
		if w.pictures == nil {
			w.pictures = map[string]string{}
		}
		w.pictures[words[1]] = w.picture(words[1])
	case "same": // is it again as it was?
		if now := w.picture(words[1]); now != w.pictures[words[1]] {
			return "not as it was:\n" + now + "but it was\n" + w.pictures[words[1]]
		}
		return "as it was\n"
	case "changes":
		var b strings.Builder
		for i, c := range w.gate.Snapshots.Changes() {
			fmt.Fprintf(&b, "%d %s %s: %d in %s", i+1, c.By[0].Tool, c.By[0].Text, c.Count, c.Folder)
			for _, f := range c.Files {
				fmt.Fprintf(&b, " %s %s", f.How, f.Name)
			}
			b.WriteString("\n")
		}
		return w.plain(b.String())
	case "undo", "undo-rest": // the change of that number in the list
		var n int
		fmt.Sscan(words[1], &n)
		u, err := w.gate.Snapshots.Undo(w.gate.Snapshots.Changes()[n-1].ID, words[0] == "undo-rest")
		var b strings.Builder
		if err != nil {
			fmt.Fprintf(&b, "%v\n", err)
		}
		for _, f := range u.Files {
			fmt.Fprintf(&b, "%s %s\n", f.How, f.Name)
		}
		for _, l := range u.Left {
			fmt.Fprintf(&b, "left %s: %s\n", l.Path, l.Why)
		}
		return w.plain(b.String())
	case "started": // outside the sandbox, since this was last asked
		var b strings.Builder
		for _, e := range w.errands {
			b.WriteString(w.plain(e) + "\n")
		}
		w.errands = nil
		return b.String()
	case "asked": // what the last question was about
		if len(w.person.asked) == 0 {
			return "nothing\n"
		}
		r := w.person.asked[len(w.person.asked)-1]
		w.person.asked = nil
		if r.Kind == approval.Delete {
			return w.plain(fmt.Sprintf("%s in %s: %q, %d files (more: %v), by %s\n", r.Kind, r.Folder, r.Deletes, r.Files, r.More, r.Script))
		}
		if q := r.Command; q != nil {
			var b strings.Builder
			fmt.Fprintf(&b, "%s in %s\nruns: %s\ngiven: %s\nshell %q env %q deletes %q open %q why %q reason %q\n", r.Kind, r.Folder, q.Runs, q.Text, q.Shell, q.Env, q.Deletes, q.Open, q.Why, r.Reason)
			for _, f := range q.Files {
				fmt.Fprintf(&b, "file %s script %v", f.Path, f.Script)
				if strings.HasPrefix(f.Path, w.dir) { // who may change the system's own depends on who runs the test
					fmt.Fprintf(&b, " hashed %v", f.SHA256 != "")
				}
				b.WriteString("\n")
			}
			return w.plain(b.String())
		}
		return w.plain(fmt.Sprintf("%s %s %s %s\n", r.Kind, r.Host, r.Address, r.Folder))
	case "impatient": // what ignores SIGTERM is killed soon
		w.gate.Jobs.Grace = time.Millisecond
	case "patient":
		w.gate.Jobs.Grace = ages
	case "end": // a job of any session ends
		for _, j := range w.gate.Jobs.List("") {
			if j.ID == words[1] {
				within(w.t, j.Done(), j.ID+" doesn't end")
			}
		}
	case "policy": // the person writes their policy file
		text, rerr := os.ReadFile(w.path("h/policy/" + words[1] + ".json"))
		if rerr != nil {
			w.t.Fatal(rerr)
		}
		err = os.WriteFile(command.PolicyFile(filepath.Join(w.dir, "state")), text, 0o600)
	case "rm":
		err = os.RemoveAll(w.path(words[1]))
	case "search": // the person chooses folders for the search index, and they are read
		var folders []string
		for _, f := range words[1:] {
			folders = append(folders, w.path(f))
		}
		err = w.search(folders)
	case "put":
		err = os.WriteFile(w.path(words[1]), []byte(strings.Join(words[2:], " ")+"\n"), 0o644)
	case "mkdir":
		err = os.MkdirAll(w.path(words[1]), 0o755)
	case "move":
		err = os.Rename(w.path(words[1]), w.path(words[2]))
	case "link":
		err = os.Symlink(w.path(words[1]), w.path(words[2]))
	case "git":
		err = w.git(w.path(words[1]), words[2:])
	case "program":
		err = os.Chmod(w.path(words[1]), 0o755)
	default:
		w.t.Fatalf("can't do %q", words)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return ""
}

// search makes an index over folders and has them read.
func (w *world) search(folders []string) error {
	read := make(chan struct{}, 1)
	var index *search.Index
	index, err := search.Open(search.Options{File: filepath.Join(w.t.TempDir(), "index.db"), Closed: func(p string) bool { return strings.HasPrefix(filepath.Base(p), "id_") },
		Changed: func() {
			select {
			case read <- struct{}{}:
			default:
			}
		}})
	if err != nil {
		return err
	}
	if err := index.SetFolders(folders); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		index.Run(ctx)
	}()
	w.t.Cleanup(func() {
		stop()
		<-ended
		index.Close()
	})
	for s := index.Status(); s.Files == 0 || s.Busy; s = index.Status() {
		within(w.t, read, "the index isn't read to its end")
	}
	w.index.Store(index)
	return nil
}

func (w *world) Read(ctx context.Context, q search.Query, in search.Place, files []string) ([]search.Hit, error) {
	return search.Read(ctx, search.Options{Closed: func(string) bool { return false }}, q, in, files)
}

// Find, Read, Chosen and Choose make the world what rag_search looks in.
func (w *world) Find(ctx context.Context, q search.Query) ([]search.Hit, search.Status, error) {
	index := w.index.Load()
	if index == nil {
		return nil, search.Status{}, nil
	}
	hits, err := index.Find(ctx, q)
	return hits, index.Status(), err
}

func (w *world) Chosen() ([]string, error) {
	if index := w.index.Load(); index != nil {
		return index.Folders(), nil
	}
	return nil, nil
}

func (w *world) Choose(folders []string) error { return w.search(folders) }

// picture is everything that an undo puts back.
func (w *world) picture(name string) string {
	var b strings.Builder
	top := w.path(name)
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(top, path)
		fmt.Fprintf(&b, "%s %v %d", rel, info.Mode(), info.ModTime().UnixNano())
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %x", data)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			b.WriteString(" -> " + target)
		}
		b.WriteString("\n")
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return b.String()
}

func (w *world) close() {
	for _, c := range w.clients {
		c.Close()
	}
	w.sessions.EndAll()
	w.gate.Jobs.Close(job.Stopped)
	w.gate.Close()
}

// log is the activity log in short: kind, tool, outcome, what allowed it, and what it was about.
func (w *world) log() string {
	data, err := os.ReadFile(w.logFile)
	if err != nil {
		w.t.Fatal(err)
	}
	var all, ended strings.Builder
	for line := range bytes.Lines(data) {
		var r audit.Record
		if err := json.Unmarshal(line, &r); err != nil {
			w.t.Fatal(err)
		}
		b := &all
		if r.Kind == audit.Note && r.Job != "" { // in any order: jobs end when they will
			b = &ended
		}
		fmt.Fprint(b, w.plain(strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s %v %q %s", r.Kind, r.Tool, r.Outcome, r.Text, r.Paths, r.By, r.Detail)), " ")))
		if len(r.RunsLater) > 0 {
			fmt.Fprintf(b, " runs later: %v", w.plain(fmt.Sprint(r.RunsLater)))
		}
		fmt.Fprintln(b)
	}
	return all.String() + strings.Join(slices.Sorted(strings.Lines(ended.String())), "")
}

var variable = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "SHA256"},
	{regexp.MustCompile(`grant_phrase "[0-9a-f]{8}"`), `grant_phrase "PHRASE"`},
	{regexp.MustCompile(`question [A-Z2-7]{26}`), "question ID"},
	{regexp.MustCompile(`\bpid \d+`), "pid N"},
	{regexp.MustCompile(`\bapproval-[a-z2-7]{10}\b`), "approval-ID"},
	{regexp.MustCompile(`(?m)^(\S+ (?:running|completed|failed|approval-pending) +)(?:[\d.]+(?:h|m|s|ms|µs|ns))+\b`), "${1}N s"},
	{regexp.MustCompile(`after \d+ s`), "after N s"},
	{regexp.MustCompile(`for \d+ s`), "for N s"},
	{regexp.MustCompile(`rooms/\d+`), "rooms/N"},
	{regexp.MustCompile(`job-\d+\.log`), "job-N.log"},
	{regexp.MustCompile(`x{1000,}`), "xxx…"},
	{regexp.MustCompile(`\b([0-9a-f]{40}|[0-9a-f]{12}|[0-9a-f]{7})\b`), "COMMIT"},
	{regexp.MustCompile(`\b20\d\d-\d\d-\d\d(T\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d))?\b`), "DATE"},
	{regexp.MustCompile(`\b[A-Z][a-z]{2} [A-Z][a-z]{2} \d+ \d\d:\d\d:\d\d 20\d\d [+-]\d{4}`), "DATE"},
	// What a system says when its sandbox refuses.
	{regexp.MustCompile(`Read-only file system|Operation not permitted`), "DENIED"},
}

var phrase = regexp.MustCompile(`grant_phrase "([0-9a-f]{8})"`)

// plain takes out what differs from run to run.
func (w *world) plain(s string) string {
	s = strings.ReplaceAll(s, w.gate.Workspace, "$W")
	s = strings.ReplaceAll(s, w.home, "$H")
	s = strings.ReplaceAll(s, w.dir, "$D")
	for _, v := range variable {
		s = v.pattern.ReplaceAllString(s, v.with)
	}
	return s
}

// person answers questions as told, and says no when nothing was said.
type person struct {
	mu    sync.Mutex
	next  []string
	do    func(words []string) string
	asked []approval.Request
}

func (p *person) will(word string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = append(p.next, word)
}

func (p *person) Ask(_ context.Context, r approval.Request) approval.Decision {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r)
	word := "refuse"
	if len(p.next) > 0 {
		word, p.next = p.next[0], p.next[1:]
	}
	word, while, ok := strings.Cut(word, ", while ")
	if ok {
		p.do(strings.Fields(while))
	}
	switch word {
	case "allow":
		return approval.Allow(r, "dialog")
	case "nobody":
		return approval.Refuse(approval.NoAnswer, "dialog", "")
	case "broken":
		return approval.Refuse(approval.CouldNotShow, "", "the dialog ended by itself")
	}
	return approval.Refuse(approval.Refused, "dialog", "")
}
