package tool

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"handrail/core/approval"
	"handrail/core/audit"
	"handrail/core/broker"
	"handrail/core/client"
	"handrail/core/command"
	"handrail/core/edit"
	"handrail/core/grant"
	"handrail/core/hint"
	"handrail/core/job"
	"handrail/sandbox"
)

// Gate lets a call through or not, once for all tools. Its fields are set when the host is assembled and don't change.
type Gate struct {
	Workspace   string // absolute, links resolved
	WorkspaceID grant.ID
	Home        grant.Home
	Grants      *grant.Store
	Queue       *approval.Queue
	Nonces      *approval.Nonces
	// NonceSurface says that there is no screen and no terminal, so that an edit grant is given for a phrase.
	NonceSurface bool
	Audit        *audit.Log
	Jobs         *job.Engine
	// Broker does what no command in the sandbox can: open something, use the clipboard, notify.
	Broker broker.Broker
	// Undo keeps what edits replace, Snapshots what commands do.
	Undo      *edit.Undo
	Snapshots *edit.Snapshots
	// Session gives a session's policy without its grants, and its folders.
	Session func(*client.Session) (Room, error)
	// Search is what rag_search looks in.
	Search Searcher
	Paused func() bool
	Log    *slog.Logger
	// Policy is what the person has settled beforehand about commands of exec; nil refuses all of them. Own names our programs,
	// which it doesn't start.
	Policy *command.PolicyStore
	Own    command.Own
	// Rules are the lasting rules for commands that the person chose; nil offers none.
	Rules *approval.Rules
	// Switches are what the person turned on, and which tools they turned off, per client; nil is nothing.
	Switches *grant.Switches
	// Offline says that the person lets no client reach other computers, whatever it was granted. nil: they may be asked.
	Offline func() bool
	// Classic says that the person lets commands run under the profile classic, which is no boundary. nil: they run under guarded.
	Classic func() bool
	// PolicyWaits is called, on any goroutine, when a call finds that the policy file would allow more than the person agreed to.
	// It returns at once. nil: nobody is told.
	PolicyWaits func()
	// Answered is called, on any goroutine, with the text that a call was answered, by the call's ID in the activity log. nil:
	// nobody is told.
	Answered func(call, text string)

	testOnlyAnswerBy  time.Duration // instead of answerBy
	testOnlyFiles     command.Files // instead of this computer's, for who may write what
	testOnlySpotlight string        // instead of mdfind
	testOnlySlow      time.Duration // instead of what else a slow machine could miss: yieldDefault, idleFor, checkTime

	making sync.Mutex // held while a folder that the person allowed is made and granted

	mu      sync.Mutex
	watched map[string]*watched // by job
	waking  map[string]int      // how many ends of jobs a session is being told of
	folders map[string]string   // by session: where its last command ended
	asked   map[string]*askedCommand
	offered map[string]*offer // by session
	polled  map[*job.Job]*following
	calls   map[string]int // by session: how many are under way
	telling sync.WaitGroup
	closed  bool
}

// Close refuses calls from now on, and waits until those under way have ended and it is recorded what the last jobs changed. Sessions
// and jobs must have ended: a call waits for its own.
func (g *Gate) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.telling.Wait()
}

// Room is what a session has of its own.
type Room struct {
	Policy sandbox.Policy
	Temp   string   // its temporary files
	Work   string   // output that is too long for an answer; only the session may read it
	Env    []string // what its commands find in the environment
}

// Call is one call of one tool.
type Call struct {
	ID      string
	Session *client.Session
	Tool    Tool
	Began   time.Time
	gone    <-chan struct{}
	notify  func(progress float64, message string)
	// wake tells the client something after the call was answered; nil where the protocol has no way to.
	wake func(level, message string)
	// patience is how long it waits at most.
	patience time.Duration
	// same is equal for calls of one tool with the same arguments: such a call is the one that comes back for its answer.
	same [sha256.Size]byte
	// runsLater are files that the call made or changed and that something else runs later, for the record of its result.
	runsLater []string
	// changes name what can be put back of what it changed, for the same record.
	changes []string
	// leftRunning is the job that a call left running, for the same record.
	leftRunning string
	// classic says that it started a command without a boundary, for the same record.
	classic bool
}

func (g *Gate) newCall(ctx context.Context, t Tool, req *mcp.CallToolRequest) *Call {
	c := &Call{ID: rand.Text()[:12], Session: client.FromContext(ctx), Tool: t, Began: time.Now(), gone: client.Gone(ctx), patience: cmp.Or(g.testOnlyAnswerBy, answerBy)}
	args := jsontext.Value(bytes.Clone(req.Params.Arguments))
	_ = args.Canonicalize() // else they are no JSON, and the call fails
	c.same = sha256.Sum256(append([]byte(t.Name+"\x00"), args...))
	if token := req.Params.GetProgressToken(); token != nil && req.Session != nil {
		c.notify = func(progress float64, message string) {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: progress, Message: message})
		}
	}
	// From 2026-07-28 on nothing is sent but in answer to a request.
	if req.Session != nil && c.Session != nil && c.Session.Level > client.Look && req.ProtocolVersion() < "2026-07-28" {
		c.wake = func(level, message string) {
			if ctx := c.Session.Context(); ctx.Err() == nil { // a session that has ended is told nothing
				//lint:ignore SA1019 it is the only way in the protocols that have sessions
				_ = req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: mcp.LoggingLevel(level), Logger: "handrail", Data: message})
			}
		}
	}
	return c
}

// mostCalls is how many calls of one session are under way at once. Each may hold a command, a question, an answer.
const mostCalls = 100

// enter counts a call until leave is called, or refuses it.
func (g *Gate) enter(c *Call) (leave func(), err error) {
	who := ""
	if c.Session != nil {
		who = c.Session.ID
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, hint.New("closing", "the call was not made").Because("Handrail is ending").Then("ask the person to open it again")
	}
	if g.calls[who] >= mostCalls {
		return nil, hint.New("too_many_calls", "the call was not made").Because(fmt.Sprintf("%d calls of this session are under way", mostCalls)).
			Then("wait for answers before you send more")
	}
	if g.calls == nil {
		g.calls = make(map[string]int)
	}
	g.calls[who]++
	g.telling.Add(1)
	return func() {
		defer g.telling.Done()
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.calls[who]--; g.calls[who] == 0 {
			delete(g.calls, who)
		}
	}, nil
}

// by says in the list of what can be undone who made a change.
func (c *Call) by(text string) edit.By {
	return edit.By{Session: c.Session.ID, Client: c.Session.Client.Label(), Tool: c.Tool.Name, Text: text}
}

// undoable notes what was kept of what the call replaced; "" is nothing.
func (c *Call) undoable(id string) {
	if id != "" {
		c.changes = append(c.changes, id)
	}
}

// answerBy is when a call that waits answers, before clients cut it at 60 s.
const answerBy = 45 * time.Second

func (c *Call) left() time.Duration { return max(0, c.patience-time.Since(c.Began)) }

func (c *Call) progress(message string) {
	if c.notify != nil {
		c.notify(time.Since(c.Began).Seconds(), message)
	}
}

// class is what an effect means for the person's rights: a row of the table.
type class uint8

const (
	never     class = iota // secrets, our own state, what no grant opens
	readHere               // workspace, granted folders, system
	readElse               // elsewhere
	writeHere              // a granted folder
	writeElse              // another folder, by the edit tools
	protected              // a protected name
	running                // a command: what it may do is bounded by the sandbox
	joining                // a folder outside the workspace becomes part of it
	network                // other computers, or this one's own address
	reachable              // the same, granted
	pushing                // git push
	showing                // open an app or a document, set the clipboard, notify, set the volume
	pasting                // read the clipboard
	deleting               // delete in a granted folder, seen in the script
	choosing               // put folders into the search index
	beyond                 // a command outside the sandbox, where that is switched on for the client
	classes
)

var classNames = [classes]string{"never", "read here", "read elsewhere", "write here", "write elsewhere", "protected name", "run", "join", "network", "network that was granted", "push",
	"open an app or a document, set the clipboard, notify, set the volume", "read the clipboard", "delete in a granted folder", "put folders into the search index, while there are none",
	"run outside the sandbox, once that is switched on for the client"}

func (c class) String() string { return classNames[c] }

// permission is what the table gives. The zero value is no.
type permission uint8

const (
	no permission = iota
	yes
	asks     // once for a folder and session
	asksEach // each time
	asksOnce // in a session
)

// table says who may do what, and when the person is asked: DESIGN's table, for what the tools can do so far.
// What is not listed is no.
var table = map[class]map[client.Level]permission{
	readHere:  {client.Look: yes, client.Ask: yes, client.Trusted: yes},
	readElse:  {client.Look: asks, client.Ask: asks, client.Trusted: asks},
	writeHere: {client.Ask: yes, client.Trusted: yes},
	writeElse: {client.Ask: asks, client.Trusted: asks},
	protected: {client.Ask: asksEach, client.Trusted: asksEach},
	running:   {client.Ask: yes, client.Trusted: yes},
	joining:   {client.Ask: asks, client.Trusted: asks},
	network:   {client.Ask: asks, client.Trusted: yes},
	reachable: {client.Ask: yes, client.Trusted: yes},
	pushing:   {client.Ask: asksEach, client.Trusted: asksEach},
	showing:   {client.Ask: yes, client.Trusted: yes},
	pasting:   {client.Ask: asksEach, client.Trusted: asks},
	deleting:  {client.Ask: asks, client.Trusted: yes},
	beyond:    {client.Ask: asksEach, client.Trusted: asksEach},
	choosing:  {client.Look: asksOnce, client.Ask: asksOnce, client.Trusted: asksOnce},
}

// effect is one thing that a call would do.
type effect struct {
	kind   effectKind
	place  *place
	reason string // the model's, for the question
	phrase string // grant_phrase
	// try says, before the person is asked, why the call would fail anyway; it changes nothing. It may be nil, and it is
	// called only if the session may read the place.
	try func() error
	// removes says that a write takes the name away. diff is what is written, where the question shows it.
	removes bool
	diff    string
	// show gives diff where try is set and the question must show what is written. It may be nil.
	show func() (string, error)
	// way is what reach and push are about; place then says for which repository.
	way way
	// deletes is what remove is about; place is then the granted folder.
	deletes *deletion
}

// way is where git connects to.
type way struct {
	reach         grant.Reach
	host, address string // address without a password
	// The others are for a push: see approval.Request.
	remote, branch, commit string
	newBranch              bool
	commits                int
	subjects               []string
}

type effectKind uint8

const (
	read   effectKind = 1 + iota
	write             // in the workspace, or a folder that has joined it
	copies            // a working copy beside a file outside the workspace
	run
	join
	reach // connect, or use a saved sign-in
	push
	errand // something done outside the sandbox; what it opens is an effect of its own
	paste
	remove // delete in a granted folder, by a command
	choose // have folders searched
)

// pass judges a plan's effects, records the intent, runs it and records the result.
func (g *Gate) pass(ctx context.Context, c *Call, p plan) (answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := g.open(c); err != nil {
		return answer{}, g.refused(c, p, err)
	}
	defer context.AfterFunc(c.Session.Context(), func() { cancel(context.Cause(c.Session.Context())) })()

	by, err := g.judgeAll(ctx, c, p)
	if err != nil {
		return answer{}, g.refused(c, p, err)
	}
	if err := g.open(c); err != nil { // the person may have paused while they were asked
		return answer{}, g.refused(c, p, err)
	}
	if err := g.record(c, audit.Intent, p, strings.Join(append(by, p.by...), ", "), "", ""); err != nil {
		return answer{}, err
	}
	a, err := p.run(ctx)
	outcome, detail := "ok", ""
	if o, ok := a.data.(interface{ outcome() string }); ok {
		outcome = cmp.Or(o.outcome(), outcome)
	}
	if err != nil {
		outcome = hint.Code(err)
		if h := hint.Of(err); h.Cause != nil {
			detail = h.Cause.Error()
		}
	}
	if rerr := g.record(c, audit.Result, p, "", outcome, detail); rerr != nil && err == nil {
		err = hint.New("no_record", "it was done, but how it ended is not in the activity log").Because("the log can't be written").
			Then("do not do it again; ask the person to check the disk, then restart Handrail").Wrap(rerr)
	}
	return a, err
}

// judgeAll judges all effects of a plan before the first is done. by names what allowed them.
func (g *Gate) judgeAll(ctx context.Context, c *Call, p plan) (by []string, err error) {
	if p.diff != nil {
		return g.together(ctx, c, p)
	}
	for _, e := range p.effects {
		allowed, err := g.judge(ctx, c, e)
		if err != nil {
			return nil, err
		}
		if allowed != "" {
			by = append(by, allowed)
		}
	}
	return by, nil
}

// open says why no call of this session may act now.
func (g *Gate) open(c *Call) error {
	if c.Session == nil || c.Session.Context().Err() != nil {
		return hint.New("no_session", "the session has ended").Then("connect again")
	}
	if g.Paused() {
		return hint.New("paused", "the person has paused Handrail").Then("wait until they resume it; do not retry in a loop")
	}
	return nil
}

// refused records a call that will not run, and gives err back.
func (g *Gate) refused(c *Call, p plan, err error) error {
	if rerr := g.record(c, audit.Result, p, "", hint.Code(err), ""); rerr != nil {
		return rerr
	}
	return err
}

func (g *Gate) record(c *Call, kind audit.Kind, p plan, by, outcome, detail string) error {
	g.mu.Lock()
	r := audit.Record{Kind: kind, Call: c.ID, Tool: c.Tool.Name, Text: p.text, By: by, Outcome: outcome, Detail: detail, RunsLater: first(c.runsLater, mostChanged), Changes: first(c.changes, mostChanged), Job: c.leftRunning}
	if c.classic {
		r.Detail = strings.TrimPrefix(detail+"; without a boundary: the profile classic", "; ")
	}
	g.mu.Unlock()
	for _, e := range p.effects {
		if e.place != nil {
			r.Paths = append(r.Paths, e.place.real)
		}
	}
	return g.append(c, r)
}

func (g *Gate) append(c *Call, r audit.Record) error {
	if c.Session != nil {
		r.Session, r.Client, r.Program = c.Session.ID, c.Session.Client.Label(), c.Session.Client.Program
	}
	if err := g.Audit.Append(r); err != nil {
		return hint.New("no_record", "nothing was done").Because("the activity log can't be written, and nothing happens unrecorded").
			Then("ask the person to check the disk, then restart Handrail").Wrap(err)
	}
	return nil
}

// room gives what a session has, its policy widened by its grants. A grant on working copies opens the folder for
// reading only: the copies themselves are written by the edit tools, through the gate.
func (g *Gate) room(s *client.Session) (Room, error) {
	r, err := g.Session(s)
	if err != nil {
		return Room{}, err
	}
	for _, h := range g.Grants.List(s.ID) {
		at := sandbox.Place{Path: h.Folder, Device: h.ID.Device, Inode: h.ID.Inode, File: h.File}
		switch h.Right {
		case grant.Look, grant.Copies:
			if !h.Blind {
				r.Policy = r.Policy.AllowRead(at)
			}
		case grant.Edit:
			r.Policy = r.Policy.AllowRead(at).AllowWrite(at)
		}
	}
	if g.reaches(s, grant.Network, "") {
		r.Policy = r.Policy.AllowNetwork()
	}
	if g.reaches(s, grant.Loopback, "") {
		r.Policy = r.Policy.AllowLoopback()
	}
	return g.switched(s, r), nil
}

// commands is the room of a session for its commands. Under the profile classic what it was granted makes no difference; the tools
// that run no commands of the client's keep to guarded.
func (g *Gate) commands(s *client.Session) (Room, error) {
	r, err := g.room(s)
	if err == nil && g.classic(s) {
		r.Policy = sandbox.Classic(r.Policy.Machine())
	}
	return r, err
}

// classic says that a session's commands run without a boundary now. Where nobody reaches the network none do: classic reaches it.
func (g *Gate) classic(s *client.Session) bool {
	return g.Classic != nil && g.Classic() && !g.offline() && s.Level >= client.Ask
}

// reaches says whether a session may connect somewhere, by a grant or by the table. A sign-in needs a grant, which names the
// host that the person was shown.
func (g *Gate) reaches(s *client.Session, what grant.Reach, host string) bool {
	if what != grant.Loopback && g.offline() {
		return false
	}
	return g.Grants.Reaches(s.ID, what, host) || what != grant.SignIn && table[network][s.Level] == yes
}

func (g *Gate) offline() bool { return g.Offline != nil && g.Offline() }

// leaves says that an effect reaches another computer.
func (e effect) leaves() bool {
	return e.kind == push && e.way.host != "" || e.kind == reach && e.way.reach != grant.Loopback
}

// classify gives the row of the table that an effect falls under, and the rule that says so.
func (g *Gate) classify(s *client.Session, e effect) (class, string, error) {
	switch {
	case e.kind == run:
		return running, "", nil
	case e.kind == push:
		return pushing, "", nil
	case e.kind == reach && g.reaches(s, e.way.reach, e.way.grantedFor()):
		return reachable, "", nil
	case e.kind == reach:
		return network, "", nil
	case e.kind == errand, e.kind == paste && table[pasting][s.Level] == asks && g.Grants.Reaches(s.ID, grant.Clipboard, ""):
		return showing, "", nil
	case e.kind == paste:
		return pasting, "", nil
	case e.kind == choose:
		return choosing, "", nil
	case e.kind == remove && g.deleteGranted(s.ID, e.place):
		return writeHere, "", nil
	case e.kind == remove:
		return deleting, "", nil
	}
	r, err := g.room(s)
	if err != nil {
		return never, "", err
	}
	now, p := r.Policy, e.place
	op := sandbox.Write
	switch {
	case e.removes:
		op = sandbox.Delete
	case p.info == nil:
		op = sandbox.Create
	}
	unit := sandbox.Place{Path: p.unit.Folder, Device: p.unitID.Device, Inode: p.unitID.Inode, File: p.unit.File}
	switch e.kind {
	case read:
		d := now.Decide(sandbox.Read, p.real)
		if d.Allowed && !g.swapped(s, p) {
			return readHere, "", nil
		}
		if d := now.AllowRead(unit).Decide(sandbox.Read, p.real); !d.Allowed {
			return never, d.Rule, nil
		}
		return readElse, d.Rule, nil
	case write:
		if p.unit.Outside {
			if _, ok := g.Grants.Covers(s.ID, grant.Edit, p.real); !ok {
				return never, "it is outside the workspace", nil
			}
		}
		d := now.Decide(op, p.real)
		wider := now.AllowRead(unit).AllowWrite(unit).Decide(op, p.real)
		name, git := sandbox.ProtectedAt(p.real)
		switch {
		case git && wider.Allowed && now.Profile() != "classic":
			return protected, "protected: " + name, nil
		case d.Allowed && !g.swapped(s, p):
			return writeHere, "", nil
		case wider.Allowed:
			return writeElse, d.Rule, nil
		case wider.Opens == sandbox.OpensProtected:
			return protected, wider.Rule, nil
		}
		return never, wider.Rule, nil
	case copies:
		wider := now.AllowRead(unit).AllowWrite(unit).Decide(op, p.real)
		switch {
		case !wider.Allowed:
			return never, wider.Rule, nil
		case g.covers(s, grant.Copies, p):
			return writeHere, "", nil
		}
		return writeElse, wider.Rule, nil
	case join:
		if g.covers(s, grant.Edit, p) {
			return writeHere, "", nil
		}
		return joining, "", nil
	}
	return never, "", nil
}

// covers says whether the session holds a right on the very folder that the place has open.
func (g *Gate) covers(s *client.Session, right grant.Right, p *place) bool {
	h, ok := g.Grants.Covers(s.ID, right, p.real)
	return ok && (h.Folder != p.unit.Folder || h.ID == p.unitID)
}

// swapped says that the folder which the place has open is another than the one that a grant names by the same path: it
// stood there for a moment.
func (g *Gate) swapped(s *client.Session, p *place) bool {
	h, ok := g.Grants.Covers(s.ID, grant.Look, p.real)
	return ok && h.Folder == p.unit.Folder && h.ID != p.unitID
}

// judge decides on one effect and asks where the table says so. by names what allowed it, for the log.
func (g *Gate) judge(ctx context.Context, c *Call, e effect) (by string, err error) {
	if e.leaves() && g.offline() {
		return "", hint.New("denied", "other computers can't be reached").Because("the person has set that no assistant may").
			Then("do without, or ask them to change it in Handrail's Settings")
	}
	cl, rule, err := g.classify(c.Session, e)
	if err != nil {
		return "", err
	}
	may := table[cl][c.Session.Level]
	if e.kind == reach && e.way.reach == grant.SignIn && cl == network && may == yes {
		may = asks // whose sign-in is used where is the person's to say, whoever asks
	}
	switch may {
	case yes:
		if h, ok := g.grantBehind(c.Session, e); ok {
			return "grant on " + h.Folder, nil
		}
		return "", nil
	case asks, asksEach:
		return g.ask(ctx, c, e, cl)
	case asksOnce:
		return g.offerSearch(ctx, c)
	}
	return "", denied(e, cl, rule, c.Session.Level)
}

func (g *Gate) grantBehind(s *client.Session, e effect) (grant.Grant, bool) {
	if e.place == nil {
		return grant.Grant{}, false
	}
	return g.Grants.Covers(s.ID, grant.Look, e.place.real)
}

func denied(e effect, cl class, rule string, level client.Level) error {
	path := ""
	if e.place != nil {
		path = e.place.given
	}
	if cl != never || level == client.Look && e.kind != read {
		what := "this client may only look"
		if path != "" {
			what += fmt.Sprintf(", so %q stays as it is", path)
		}
		return hint.New("denied", what).Because(fmt.Sprintf("its access level is %s", level)).Then("ask the person to do this, or to give this client another level")
	}
	h := hint.New("denied", fmt.Sprintf("%q is closed to assistants", path))
	if rule != "" {
		h = h.Because(rule)
	}
	return h.Then("no permission opens it; ask the person to do this themselves")
}

// ask puts the question that goes with an effect, and turns an answer that allows into a grant.
func (g *Gate) ask(ctx context.Context, c *Call, e effect, cl class) (by string, err error) {
	r, right, err := g.question(c, e, cl)
	if err != nil {
		return "", err
	}
	if e.try != nil {
		reads, _, err := g.classify(c.Session, effect{kind: read, place: e.place})
		switch {
		case err != nil:
		case cl == protected && e.show != nil && (reads == readHere || e.place.info == nil):
			r.Diff, err = e.show()
		case reads == readHere:
			err = e.try()
		}
		if err != nil {
			return "", err
		}
	}
	if g.NonceSurface {
		if !r.Kind.ByPhrase() {
			h := hint.New("cannot_ask", "the person can't be asked").Because("there is no screen here, and this needs one").
				Then("ask them in the chat to do this themselves, or to put what you need into the workspace")
			if r.Kind == approval.Delete {
				h = h.Then("do what you can without deleting, and tell them what you would delete")
			}
			return "", h
		}
		if !g.Nonces.Redeem(c.Session.ID, r.Folder, e.phrase) {
			return "", permissionRequired(c.Tool, e.phrase != "", r, g.Nonces.Phrase(c.Session.ID, r.Folder))
		}
		return g.grant(c, e, r, right, approval.Allow(r, nonce))
	}
	key := strings.Join([]string{c.Session.ID, string(r.Kind), r.Folder}, "\x00")
	switch cl {
	case protected: // a call with other content is another question
		key += "\x00" + r.Path + "\x00" + string(c.same[:])
	case network, pushing: // another host, or another commit, is another question
		key += fmt.Sprintf("\x00%x", r.Digest())
	}
	d, err := g.put(ctx, c, key, r)
	if err != nil {
		return "", err
	}
	return g.grant(c, e, r, right, d)
}

// put puts a question to the person. key says which calls ask the same thing. The decision allows r; any other is an error.
func (g *Gate) put(ctx context.Context, c *Call, key string, r approval.Request) (approval.Decision, error) {
	if err := g.append(c, audit.Record{Kind: audit.Question, Call: c.ID, Tool: c.Tool.Name, Text: asked(r), Paths: r.Folders()}); err != nil {
		return approval.Decision{}, err
	}
	defer c.keepAlive("Waiting for the person to answer in Handrail")()
	a := g.Queue.Ask(ctx, c.gone, c.Session.Context(), key, r, c.left())
	if a.Pending != "" {
		return approval.Decision{}, notAnswered(" (question " + a.Pending + ")")
	}
	allowed := a.Decision.Covers(a.Request) == nil
	d := audit.Record{Kind: audit.Decision, Call: c.ID, Tool: c.Tool.Name, Text: asked(r), Paths: r.Folders(), By: a.Decision.Surface, Outcome: a.Decision.Verdict.String(), Detail: a.Decision.Detail}
	if err := g.append(c, d); err != nil {
		return approval.Decision{}, err
	}
	if !allowed {
		return approval.Decision{}, unanswered(a.Decision, r)
	}
	if !same(a.Request, r) {
		return approval.Decision{}, changedSince(r)
	}
	return a.Decision, nil
}

// notAnswered says that a question waits; which names it.
func notAnswered(which string) error {
	return hint.New("approval_pending", "the person has not answered yet").Because("Handrail is asking them on their screen" + which).
		Then("tell them that a question waits in Handrail, then make the same call again: it waits for the answer and is not asked twice")
}

// asked is a question in one line, for the log.
func asked(r approval.Request) string {
	return strings.Join(strings.Fields(strings.Join([]string{string(r.Kind), r.Address, r.Branch, r.Commit}, " ")), " ")
}

func changedSince(r approval.Request) error {
	return hint.New("changed", fmt.Sprintf("%q is no longer the folder that the person allowed", r.Folder)).Then("make the call again: they will be asked again")
}

// same says whether two requests ask for the same right on the same folder.
func same(a, b approval.Request) bool {
	return a.Kind == b.Kind && a.Session == b.Session && a.Folder == b.Folder && a.FolderID == b.FolderID && a.Makes == b.Makes && a.File == b.File &&
		(a.Kind != approval.Protected || a.Path == b.Path) && a.Host == b.Host && a.Address == b.Address && a.Branch == b.Branch && a.Commit == b.Commit &&
		a.Diff == b.Diff && slices.Equal(a.Also, b.Also)
}

// grant adds what the person allowed and judges the effect again: the answer counts only if the policy agrees.
func (g *Gate) grant(c *Call, e effect, r approval.Request, right grant.Right, d approval.Decision) (string, error) {
	by := d.Surface + " on " + r.Folder
	switch r.Kind {
	case approval.Protected:
		return by, nil // once, for this call
	case approval.GitPush:
		return d.Surface + " for " + r.Address, nil
	case approval.Clipboard:
		return d.Surface + " for the clipboard", nil // once, for this call
	case approval.ClipboardSession:
		g.Grants.AddReach(c.Session.ID, grant.Clipboard, "")
		return d.Surface + " for the clipboard", nil
	case approval.Network, approval.Loopback, approval.GitSignIn:
		g.Grants.AddReach(c.Session.ID, e.way.reach, e.way.grantedFor())
		return d.Surface + " for " + cmp.Or(r.Host, "all"), nil
	}
	if r.Makes {
		g.making.Lock()
		defer g.making.Unlock()
		made, err := e.place.makeUnit()
		if err != nil {
			return "", notThere(e.place.given, err)
		}
		if !made && !g.covers(c.Session, right, e.place) { // made by whom? What is in it was not in the question
			return "", changedSince(r)
		}
	}
	g.Grants.Add(c.Session.ID, grant.Grant{Right: right, Folder: e.place.unit.Folder, ID: e.place.unitID, File: e.place.unit.File,
		Blind: right == grant.Copies && d.Surface == nonce})
	cl, rule, err := g.classify(c.Session, e)
	if err != nil {
		return "", err
	}
	if table[cl][c.Session.Level] != yes {
		return "", denied(e, never, rule, c.Session.Level)
	}
	return by, nil
}

// question is the request that goes with an effect of a class that asks.
func (g *Gate) question(c *Call, e effect, cl class) (approval.Request, grant.Right, error) {
	if cl == pasting {
		r := approval.Request{Kind: approval.Clipboard, Who: c.Session.Client, Session: c.Session.ID, Tool: c.Tool.Name, Home: g.Home.Home}
		if table[cl][c.Session.Level] == asks {
			r.Kind = approval.ClipboardSession
		}
		return r, grant.None, nil
	}
	if cl == network && e.place == nil {
		return e.ask(approval.Request{Who: c.Session.Client, Session: c.Session.ID, Tool: c.Tool.Name, Home: g.Home.Home, Reason: cut(e.reason)}), grant.None, nil
	}
	p := e.place
	r := approval.Request{Who: c.Session.Client, Session: c.Session.ID, Tool: c.Tool.Name, Home: g.Home.Home,
		Folder: p.unit.Folder, FolderID: p.unitID, File: p.unit.File, Makes: p.unitID == grant.ID{}, Path: p.real, Reason: cut(e.reason)}
	right := grant.Edit
	switch cl {
	case readElse:
		r.Kind, right = approval.LookFolder, grant.Look
	case writeElse:
		r.Kind = approval.EditFolder
		if e.kind == copies {
			r.Kind, right = approval.EditCopies, grant.Copies
		}
	case joining:
		r.Kind = approval.JoinFolder
		if !p.unit.Outside {
			r.Kind = approval.EditFolder
		}
	case protected:
		r.Kind, r.Diff = approval.Protected, e.diff
	case deleting:
		r.Kind, right = approval.Delete, grant.Delete
	case network, pushing:
		return e.ask(r), grant.None, nil
	}
	if err := g.Home.Grantable(r.Folder); err != nil {
		return r, grant.None, err
	}
	if r.Makes && p.unit.Outside {
		return r, grant.None, hint.New("not_found", fmt.Sprintf("there is no folder %q", r.Folder))
	}
	if !r.File && !r.Makes {
		r.Files, r.Bytes, r.More = count(r.Folder)
	}
	if (right == grant.Edit || right == grant.Delete) && r.Kind != approval.Protected {
		where := edit.Place{Path: r.Folder, Device: r.FolderID.Device, Inode: r.FolderID.Inode, File: r.File}
		r.UndoLimited = g.Snapshots.Limited(where, r.Files, r.Bytes, r.More)
	}
	for _, own := range g.Snapshots.Elsewhere() {
		if grant.Within(r.Folder, own) {
			return r, grant.None, hint.New("not_grantable", "this folder can't be opened to assistants").Because("it holds Handrail's own files").
				Then("choose a folder inside it, such as one for the project at hand")
		}
	}
	if e.deletes != nil {
		r = e.deletes.ask(r)
	}
	return r, right, nil
}

// grantedFor is the host that a grant of this way names: a sign-in is for one, a connection for all.
func (w way) grantedFor() string {
	if w.reach == grant.SignIn {
		return w.host
	}
	return ""
}

// ask completes the request for a connection or a push.
func (e effect) ask(r approval.Request) approval.Request {
	w := e.way
	r.File, r.Path, r.FolderID = false, "", grant.ID{}
	if e.place != nil {
		r.Folder, r.Makes = e.place.real, e.place.info == nil
		if !r.Makes {
			r.FolderID, _ = grant.IdentityOf(e.place.info)
		}
	}
	r.Host, r.Address = w.host, w.address
	if e.kind == push {
		r.Kind, r.Remote, r.Branch, r.NewBranch, r.Commit, r.Commits, r.Subjects = approval.GitPush, w.remote, w.branch, w.newBranch, w.commit, w.commits, w.subjects
		return r
	}
	r.Kind = map[grant.Reach]approval.Kind{grant.Network: approval.Network, grant.Loopback: approval.Loopback, grant.SignIn: approval.GitSignIn}[w.reach]
	return r
}

// Limits of counting what a folder holds, for the question.
const (
	countFiles = 20_000
	countTime  = 300 * time.Millisecond
)

// count counts the files in a folder; more says that it stopped early.
func count(folder string) (files int, bytes int64, more bool) {
	deadline, late := time.Now().Add(countTime), false
	root, err := os.OpenRoot(folder)
	if err != nil {
		return 0, 0, true
	}
	defer root.Close()
	entries := 0
	err = fs.WalkDir(root.FS(), ".", func(_ string, d fs.DirEntry, err error) error {
		if entries++; entries%256 == 0 && time.Now().After(deadline) {
			late = true
			return fs.SkipAll
		}
		if err != nil || d.IsDir() {
			return nil
		}
		files++
		if info, err := d.Info(); err == nil {
			bytes += info.Size()
		}
		if files >= countFiles {
			return fs.SkipAll
		}
		return nil
	})
	return files, bytes, err != nil || files >= countFiles || late
}

// cut bounds the model's reason; whoever shows it escapes it.
func cut(reason string) string {
	if utf8.RuneCountInString(reason) <= approval.MaxReason {
		return reason
	}
	return string([]rune(reason)[:approval.MaxReason-1]) + "…"
}

// nonce is the surface that has no screen.
const nonce = "nonce"

// permissionRequired tells how the phrase is given: with the same call, or by request_access where the tool takes none.
func permissionRequired(t Tool, given bool, r approval.Request, phrase string) error {
	what := fmt.Sprintf("changing files in %q needs the person's permission", r.Folder)
	if r.Kind == approval.EditCopies {
		what = fmt.Sprintf("making files and working copies in %q needs the person's permission", r.Folder)
	}
	why, again := "it is the first change there in this session", "make the same call again with"
	if given {
		why = "the grant_phrase is not the one that was given"
	}
	if t.input.Properties["grant_phrase"] == nil {
		again = fmt.Sprintf("call request_access with folder %q and", r.Folder)
	}
	return hint.New("permission_required", what).Because(why).
		Then(fmt.Sprintf("ask the person directly; only when they have said yes in this turn, %s grant_phrase %q; never guess or assume their answer", again, phrase))
}

// unanswered is what the model reads when the person did not allow. A refusal is told apart from no answer.
func unanswered(d approval.Decision, r approval.Request) error {
	switch d.Verdict {
	case approval.NoAnswer:
		return hint.New("no_answer", "nobody answered the question in Handrail").Because("its time on the screen was over, or it was closed").
			Then("ask the person in the chat whether they are there, then make the call again")
	case approval.CouldNotShow:
		return hint.New("could_not_show", "the question could not be shown").Because(d.Detail).
			Then("nothing was allowed: make the call again, and if that is no use either, tell the person to run handrail doctor")
	case approval.HeldBack:
		return hint.New("held_back", "the question was not shown").Because(d.Detail).
			Then("stop asking; ask them in the chat what they want")
	case approval.Withdrawn:
		return hint.New("withdrawn", "the question was withdrawn").Because(d.Detail)
	}
	what := r.Folder
	switch {
	case r.Kind == approval.Protected:
		what = r.Path
	case r.Command != nil:
		what = short(r.Command.Text)
	case r.Address != "":
		what = r.Address
	case r.Kind == approval.Network:
		what = "the network"
	case r.Kind == approval.Loopback:
		what = "this computer's own ports"
	case what == "":
		what = "the clipboard"
	case r.Kind == approval.Patch:
		what = strings.Join(r.Folders(), ", ")
	}
	return hint.New("refused", fmt.Sprintf("the person said no (%s)", what)).Then("do not ask again or work around it; ask them in the chat what they want instead")
}

// keepAlive sends progress every few seconds until stop is called, so that clients and proxies don't give up.
func (c *Call) keepAlive(message string) (stop func()) {
	if c.notify == nil {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		c.progress(message)
		t := time.NewTicker(5 * time.Second)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				c.progress(message)
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}
