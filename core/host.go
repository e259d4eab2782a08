// Package core is the host: it assembles the parts that let an assistant work on this computer, and needs no display.
//
//	a client calls a tool        server, client
//	  → what would it do?        tool, command
//	  → is it granted?           grant
//	  → else the person is asked approval
//	  → it runs                  job and sandbox, or edit
//	  → and is recorded          audit
//
// [New] makes a [Host] from [Options]; main serves it over HTTP, a socket or stdio, and the app shows its [Status].
package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"handrail/core/approval"
	"handrail/core/assistant"
	"handrail/core/audit"
	"handrail/core/client"
	"handrail/core/command"
	"handrail/core/edit"
	"handrail/core/grant"
	"handrail/core/hint"
	"handrail/core/job"
	"handrail/core/pairing"
	"handrail/core/search"
	"handrail/core/server"
	"handrail/core/setting"
	"handrail/core/tool"
	"handrail/sandbox"
)

// Options say what a Host works with.
type Options struct {
	State     string // our own files; made if missing
	Work      string // sessions' temporary files and output; made if missing. Not inside State: sessions may read their own
	Workspace string // made if missing
	Home      string
	// Program is the folder or bundle that holds our executables, Executable the one that `launch` is started from.
	Program, Executable string
	// Bridge says how an assistant starts Handrail, or why none should from where it stands; nil: no assistant can be set up.
	Bridge func() (assistant.Command, error)
	// Asker asks the person. Nil: no one can be asked, unless Nonce is set.
	Asker approval.Asker
	// Nonce says that an edit grant is given for a phrase in the chat: only where there is no screen.
	Nonce bool
	// Surface names how the person is asked, for Status.
	Surface string
	// Key makes the activity log's chain; nil makes one against accidents only.
	Key []byte
	// SwitchKey gives the keychain's key for the switches; nil is none, and nothing can be turned on.
	SwitchKey grant.Keychain
	// Level is what a client on the socket or on stdio may do at most; Settings may say less.
	Level client.Level
	// Settings are what the person set for all clients; nil: all is as usual.
	Settings *setting.Store
	// Ports are our TCP ports, which no command may reach.
	Ports []int
	// PairAddr is the loopback address at which assistants pair; "": none can.
	PairAddr string
	Log      *slog.Logger
	// Shell is the person's login shell, which is asked once for its PATH; "" asks none.
	Shell string

	path func() []string // PATH of commands, once it is known
}

// Host is the assembled core. The zero value is not usable; use New.
type Host struct {
	opts      Options
	log       *slog.Logger
	gate      *tool.Gate
	jobs      *job.Engine
	audit     *audit.Log
	grants    *grant.Store
	queue     *approval.Queue
	nonces    *approval.Nonces
	sessions  *client.Sessions
	tokens    *client.Tokens
	server    *server.Server
	pairing   *pairing.Pairing
	undo      *edit.Undo
	kept      *edit.Snapshots
	again     func() error // as StartedAgain has it
	unwatch   func()       // ends reading what the system's log tells
	searching *searching
	// interrupted doesn't change after the start.
	interrupted []audit.Record

	// life ends with the host; asking are the questions that no client asks.
	life   context.Context
	ends   context.CancelFunc
	asking sync.WaitGroup

	pause    pause
	undoable undoable
	answers  answers

	mu     sync.Mutex
	policy policyAsked
	// switching is what is known of the switches.
	switching switching
	setting   settingAsked
	rooms     map[string]*room
	sandbox   string // why nothing can be run, or empty
	broken    []string
	checked   chan struct{}
	watch     map[int]func()
	next      int
	address   string
	paired    string // where paired assistants connect; "" until that is bound
}

// Tokens opens the store of client tokens in a state folder.
func Tokens(state string) *client.Tokens {
	return client.OpenTokens(filepath.Join(state, "clients.json"))
}

// LogFiles names the activity log and its anchor in a state folder.
func LogFiles(state string) (log, anchor string) {
	return filepath.Join(state, "logs", "agent_activity.jsonl"), filepath.Join(state, "agent_activity.anchor")
}

// Socket names the socket of a state folder. App and bridge must find the same, so links are resolved.
func Socket(state string) string {
	if real, err := filepath.EvalSymlinks(state); err == nil {
		state = real
	}
	return server.SocketPath(state)
}

// New assembles a host and opens its activity log. It serves nothing yet. A second host on the same state folder is
// refused.
func New(o Options) (*Host, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	for _, dir := range []*string{&o.State, &o.Work, &o.Workspace} {
		mode := os.FileMode(0o700)
		if dir == &o.Workspace {
			mode = 0o755
		}
		real, err := folder(*dir, mode)
		if err != nil {
			return nil, err
		}
		*dir = real
	}
	home, err := filepath.EvalSymlinks(o.Home)
	if err != nil {
		return nil, fmt.Errorf("finding the home folder: %w", err)
	}
	o.Home = home
	if grant.Within(o.State, o.Work) || grant.Within(o.Work, o.State) {
		return nil, fmt.Errorf("the state folder %s and the work folder %s must not hold one another", o.State, o.Work)
	}
	if grant.Within(o.Workspace, o.Work) || grant.Within(o.Work, o.Workspace) {
		return nil, fmt.Errorf("the workspace %s and the work folder %s must not hold one another", o.Workspace, o.Work)
	}
	limits := grant.Home{Home: o.Home, State: o.State, Work: o.Work, Program: o.Program}
	if err := limits.Grantable(o.Workspace); err != nil {
		return nil, fmt.Errorf("using %s as the workspace: %w", o.Workspace, err)
	}
	limits.Workspace = o.Workspace
	id, err := grant.Identify(o.Workspace)
	if err != nil {
		return nil, fmt.Errorf("opening the workspace: %w", err)
	}

	h := &Host{opts: o, log: o.Log, rooms: make(map[string]*room), watch: make(map[int]func()), checked: make(chan struct{}),
		grants: new(grant.Store), nonces: new(approval.Nonces)}
	h.life, h.ends = context.WithCancel(context.Background())
	logFile, anchor := LogFiles(o.State)
	if h.audit, err = audit.Open(logFile, anchor, o.Key, h.recorded); err != nil {
		return nil, err
	}
	kept := h.undoBytes()
	if h.undo, err = edit.OpenUndo(filepath.Join(o.State, "undo"), kept); err != nil {
		h.audit.Close()
		return nil, err
	}
	if h.kept, err = edit.OpenSnapshots(edit.SnapshotOptions{Dir: filepath.Join(o.State, "snapshots"), Limit: 2 * kept, Undo: h.undo, Granted: h.reachable}); err != nil {
		return nil, errors.Join(err, h.undo.Close(), h.audit.Close())
	}
	h.queue = approval.NewQueue(o.Asker, h.changed)
	h.jobs = &job.Engine{Changed: h.changed}
	h.sessions = client.NewSessions(h.endSession)
	h.gate = &tool.Gate{Workspace: o.Workspace, WorkspaceID: id, Home: limits, Grants: h.grants, Queue: h.queue, Nonces: h.nonces,
		NonceSurface: o.Nonce, Audit: h.audit, Jobs: h.jobs, Undo: h.undo, Snapshots: h.kept, Session: h.room, Search: searcher{h}, Paused: h.Paused, Log: o.Log,
		Policy: command.OpenPolicy(o.State, o.Home, o.Key), Own: own(o), Rules: approval.OpenRules(o.State, o.Key), PolicyWaits: h.AskPolicy, Answered: h.answers.add,
		Switches: grant.OpenSwitches(o.State, o.SwitchKey, true), Offline: h.offline, Classic: h.classic}
	h.tokens = Tokens(o.State)
	h.searching = &searching{opts: o, changed: h.changed}
	h.interrupted = h.audit.Unfinished()
	h.interrupted = h.interrupted[:min(len(h.interrupted), mostInterrupted)]
	h.pairing, err = pairing.New(pairing.Options{Tokens: h.tokens, Ask: h.askPairing, Changed: h.changed, Log: o.Log, Tunnel: h.tunnel,
		Forget: func(clientID string) error { return Forget(o.Work, h.gate.Rules, h.gate.Switches, clientID) }})
	if err != nil {
		return nil, errors.Join(err, h.kept.Close(), h.undo.Close(), h.audit.Close())
	}
	h.server, err = server.New(server.Options{Sessions: h.sessions, Tokens: h.tokens, Log: o.Log, OpenPairing: h.OpenPairing, Show: h.show,
		Level: func(client.Identity) client.Level { return h.newLevel() },
		Tools: func(level client.Level) *mcp.Server {
			s := server.NewServer(level, tool.Instructions(level, o.Nonce))
			tool.Register(s, level, h.gate)
			return s
		}})
	if err != nil {
		return nil, errors.Join(err, h.kept.Close(), h.undo.Close(), h.audit.Close())
	}
	if err := errors.Join(h.clearWork(), markWork(o.Work)); err != nil {
		h.log.Warn("clearing what earlier sessions left", "error", err)
	}
	if err := h.tellInterrupted(); err != nil {
		return nil, errors.Join(err, h.kept.Close(), h.undo.Close(), h.audit.Close())
	}
	if err := h.audit.Append(audit.Record{Kind: audit.Note, Text: audit.Started, Detail: "workspace " + o.Workspace}); err != nil {
		return nil, errors.Join(err, h.kept.Close(), h.undo.Close(), h.audit.Close())
	}
	if _, err := h.searching.open(); err != nil {
		h.log.Error("the search index can't be opened", "error", err)
	}
	h.opts.path = sync.OnceValue(o.askPath)
	if n := sandbox.EndLeft(o.State); n > 0 { // only one run holds the activity log, so they are nobody's
		h.note(fmt.Sprintf("%d processes that commands of an earlier run had left were ended", n))
	}
	watching, unwatch := context.WithCancel(context.Background())
	h.unwatch = unwatch
	go sandbox.WatchDenials(watching)
	go h.canary()
	h.AskPolicy()
	h.watchSwitches(h.life)
	return h, nil
}

// mostInterrupted bounds Status.Interrupted.
const mostInterrupted = 50

// tellInterrupted records what was cut short when Handrail ended without notice the last time.
func (h *Host) tellInterrupted() error {
	if len(h.interrupted) == 0 {
		return nil
	}
	var what []string
	for _, r := range h.interrupted {
		what = append(what, strings.TrimSpace(cmp.Or(r.Job, "a call")+" of "+r.Tool+": "+r.Text))
	}
	return h.audit.Append(audit.Record{Kind: audit.Note, Text: "Handrail had ended without notice; what ran then was cut short", Outcome: "interrupted", Detail: strings.Join(what, "\n")})
}

// own names our executables, which stand in one folder, by their names and their files.
func own(o Options) command.Own {
	w := command.Own{Names: []string{"handrail", "handrail-ui"}}
	for _, name := range append([]string{filepath.Base(o.Executable)}, w.Names...) {
		if id, err := grant.Identify(filepath.Join(filepath.Dir(o.Executable), name)); err == nil {
			w.IDs = append(w.IDs, command.FileID{Device: id.Device, Inode: id.Inode})
		}
	}
	return w
}

// folder makes a folder if it is missing and gives its path with links resolved.
func folder(path string, mode os.FileMode) (string, error) {
	if path == "" {
		return "", errors.New("a folder's path is empty")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(path, mode); err != nil {
		return "", fmt.Errorf("making %s: %w", path, err)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("opening %s: %w", path, err)
	}
	return real, nil
}

// canary runs `true` under the real policy, so that the person learns at the start that nothing can be run.
func (h *Host) canary() {
	defer close(h.checked)
	h.undoable.load(h.kept.Changes())
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	why := ""
	r, err := newRoom(h.opts, "canary", "")
	if err == nil {
		defer r.remove()
		err = sandbox.Check(ctx, r.policy)
	}
	if err != nil {
		why = err.Error()
		h.log.Error("commands can't be run", "error", err)
	}
	h.mu.Lock()
	h.sandbox = why
	h.mu.Unlock()
	h.changed()
}

// TryTools tries the tools that are installed, such as git and python3, under the real policy, until ctx is over. What fails is
// in Status and in the log: it doesn't work here yet, and nothing weaker is offered for it.
func (h *Host) TryTools(ctx context.Context) {
	<-h.checked
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	r, err := newRoom(h.opts, "canary", "")
	if err != nil {
		h.log.Error("the tools can't be tried", "error", err)
		return
	}
	defer r.remove()
	var broken []string
	for _, t := range sandbox.Canaries(ctx, r.policy) {
		if t.Err != nil && ctx.Err() == nil && !slices.Contains(broken, t.Tool) {
			h.log.Warn("a tool doesn't work in the sandbox here yet", "tool", t.Tool, "error", t.Err)
			broken = append(broken, t.Tool)
		}
	}
	h.mu.Lock()
	h.broken = broken
	h.mu.Unlock()
	h.changed()
}

// Checked closes when it is known whether commands can be run.
func (h *Host) Checked() <-chan struct{} { return h.checked }

// endSession takes back all that a session had.
func (h *Host) endSession(s *client.Session) {
	h.jobs.EndSession(s.ID, job.Ended)
	h.grants.Revoke(s.ID, "")
	h.nonces.End(s.ID)
	h.mu.Lock()
	r := h.rooms[s.ID]
	delete(h.rooms, s.ID)
	h.mu.Unlock()
	if r != nil {
		r.remove()
	}
	h.changed()
}

// Listen binds the HTTP endpoint on a loopback address. serve answers on it until ctx ends.
func (h *Host) Listen(addr string) (serve func(ctx context.Context) error, err error) {
	e, err := h.server.Listen(addr)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	h.address = e.URL()
	h.mu.Unlock()
	h.changed()
	return e.Serve, nil
}

// ListenSocket binds the state folder's socket, for `handrail stdio`. serve answers on it until ctx ends.
func (h *Host) ListenSocket() (serve func(ctx context.Context) error, err error) {
	s, err := h.server.ListenSocket(Socket(h.opts.State))
	if err != nil {
		return nil, err
	}
	return s.Serve, nil
}

// StartedAgain has open called each time that the person starts the app while it runs. It is to be called before the socket is served.
func (h *Host) StartedAgain(open func() error) { h.again = open }

func (h *Host) show() error {
	if h.again == nil {
		return errors.New("there is no window here")
	}
	return h.again()
}

// ServeStdio serves one client on in and out until in ends.
func (h *Host) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	return h.server.ServeStdio(ctx, in, out, client.Caller(os.Getppid()))
}

// Close ends all sessions and jobs and closes the activity log. The host can't be used afterwards.
func (h *Host) Close() error {
	<-h.checked
	h.mu.Lock()
	h.ends()
	h.mu.Unlock()
	h.pairing.Close()
	h.unwatch()
	h.pause.end()
	h.sessions.EndAll()
	h.jobs.Close(job.Stopped)
	h.asking.Wait()
	h.gate.Close()
	h.mu.Lock()
	for id, r := range h.rooms {
		r.remove()
		delete(h.rooms, id)
	}
	h.mu.Unlock()
	h.note("stopped")
	return errors.Join(h.searching.close(), h.kept.Close(), h.undo.Close(), h.audit.Close())
}

// Status is what the app shows: a snapshot.
type Status struct {
	Address   string // the URL that assistants connect to; empty when there is no HTTP
	Workspace string
	Surface   string
	Paused    bool
	// PausedUntil is when Paused ends by itself; zero if it doesn't.
	PausedUntil time.Time
	// Sandbox says why no command can be run; empty when all is well.
	Sandbox string
	// Broken are installed tools that don't work in the sandbox here yet.
	Broken []string
	// Interrupted are the calls and jobs that were under way when Handrail ended without notice the last time (a crash, a power
	// cut): their intents, or the results of calls that had left a job running; oldest first.
	Interrupted []audit.Record
	Sessions    []*client.Session
	// Pairing is until when a new assistant may ask to connect; zero when none may.
	Pairing time.Time
	Clients []Client
	Granted []Granted
	Running []Running
	Waiting []approval.Request
	Recent  []audit.Record // the last results, newest first
	// Search is the search index; nil when the person has chosen no folder.
	Search *search.Status
	// RunsLater are files that were made or changed and that something else runs later, outside the sandbox: the last ones,
	// newest first.
	RunsLater []Later
	// LastChange is the newest change that can be undone and that wasn't; nil when there is none.
	LastChange *Change
}

// Later is a file that something else runs later.
type Later struct {
	Path   string
	Client string // as it calls itself
	Tool   string
	Time   time.Time
}

// Running is a job that runs. Client is what its client calls itself.
type Running struct {
	ID, Session, Client, Text string
	Since                     time.Time
}

// Client is a client that is connected. Reach is what one of its sessions may reach.
type Client struct {
	ID, Name string
	Level    client.Level
	Sessions int
	Tools    []string
	Reach    []grant.Reached
}

// Granted is a folder that a client was granted, in one of its sessions at least. Right is the most that it may do there.
type Granted struct {
	ClientID, Client string
	Folder           string
	Right            grant.Right
}

// recent is how many activities Status holds.
const recent = 10

// Status gives a snapshot.
func (h *Host) Status() Status {
	h.mu.Lock()
	s := Status{Address: h.address, Workspace: h.opts.Workspace, Surface: h.opts.Surface, Sandbox: h.sandbox, Broken: h.broken, Interrupted: h.interrupted}
	h.mu.Unlock()
	s.Paused, s.PausedUntil = h.pause.now()
	s.Sessions, s.Waiting, s.Pairing = h.sessions.Live(), h.queue.Waiting(), h.pairing.Until()
	s.Clients, s.Granted = h.clients(s.Sessions)
	s.LastChange = h.undoable.last()
	names := make(map[string]string, len(s.Sessions))
	for _, x := range s.Sessions {
		names[x.ID] = x.Client.Label()
	}
	for _, j := range h.jobs.List("") {
		if j.Running() {
			s.Running = append(s.Running, Running{j.ID, j.Spec.Session, names[j.Spec.Session], j.Spec.Text, j.Started})
		}
	}
	if found, ok := h.searching.status(); ok {
		s.Search = &found
	}
	s.Recent = h.audit.Recent(recent, audit.Result)
	slices.Reverse(s.Recent)
	s.RunsLater = later(h.audit.Recent(recentLater, audit.Result, audit.Note))
	return s
}

// recentLater is how many records are looked through for Status.RunsLater.
const recentLater = 200

// later collects the files that run later from records, the oldest first.
func later(records []audit.Record) []Later {
	var list []Later
	seen := make(map[string]bool)
	for _, r := range slices.Backward(records) {
		for _, path := range r.RunsLater {
			if !seen[path] && len(list) < recent {
				seen[path] = true
				list = append(list, Later{Path: path, Client: r.Client, Tool: r.Tool, Time: r.Time})
			}
		}
	}
	return list
}

// Subscribe calls f, on any goroutine, when Status may have changed, until cancel is called. f must return at once.
func (h *Host) Subscribe(f func()) (cancel func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := h.next
	h.next++
	h.watch[id] = f
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.watch, id)
	}
}

func (h *Host) changed() {
	h.mu.Lock()
	watch := make([]func(), 0, len(h.watch))
	for _, f := range h.watch {
		watch = append(watch, f)
	}
	h.mu.Unlock()
	for _, f := range watch {
		f()
	}
}

var errNoSession = hint.New("no_session", "the session has ended").Then("connect again")
