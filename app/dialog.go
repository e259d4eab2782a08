package app

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"handrail/core/approval"
)

// The dialog is a process of its own, and this is all that is said between it and us:
//
//	parent  {"version":1,"nonce":"…","language":"th","question":{…}}     one line on the dialog's standard input
//	dialog  {"shown":true}                                               one line on its standard output, once it is on the screen
//	dialog  {"nonce":"…","decision":"allow"}                             one line, and it exits with status 0
//
// The parent holds standard input open; at its end the dialog goes away. Nothing but these two lines, in this order, with
// this request's nonce and exit status 0 allows.

const dialogVersion = 1

// DialogRequest is what a dialog is told.
type DialogRequest struct {
	Version  int      `json:"version"`
	Nonce    string   `json:"nonce"`
	Language string   `json:"language"`
	Question Question `json:"question"`
	// Seconds is how long the question stays on the screen; 0 is approval.VisibleFor.
	Seconds int `json:"seconds,omitempty"`
	// Presence has the system check that it is the person before Allow counts. A dialog that can't have it checked shows nothing.
	Presence bool `json:"presence,omitempty"`
}

// VisibleFor is how long the question stays on the screen.
func (r DialogRequest) VisibleFor() time.Duration {
	if r.Seconds <= 0 {
		return approval.VisibleFor
	}
	return time.Duration(r.Seconds) * time.Second
}

// Manner is how the person wants to be asked. The zero Manner has no words and asks nothing.
type Manner struct {
	Words Words
	// VisibleFor is how long a question stays on the screen; 0 is approval.VisibleFor.
	VisibleFor time.Duration
	// Presence has the system check that it is the person before they can allow what can't be taken back. Where it can't
	// ([ChecksPresence]), it does nothing.
	Presence bool
}

// irrevocable says that a question is about what can't be taken back, or about not checking any more who answers such.
func irrevocable(r approval.Request) bool {
	switch r.Kind {
	case approval.Outside, approval.Delete, approval.GitPush:
		return true
	case approval.ChangeSetting:
		return r.Setting != nil && r.Setting.Name == presenceSetting
	}
	return false
}

// Answer is what the person did with a dialog. The zero value is nothing.
type Answer string

const (
	Allowed  Answer = "allow"
	Always   Answer = "always" // and from now on: only where the question offers it
	Refused  Answer = "refuse"
	Quiet    Answer = "quiet" // refuse, and don't ask for a time: only where the question offers it
	TimedOut Answer = "timeout"
)

type dialogLine struct {
	Shown    *bool   `json:"shown,omitempty"`
	Nonce    *string `json:"nonce,omitempty"`
	Decision *Answer `json:"decision,omitempty"`
}

// maxRequest bounds what a dialog reads; a path is at most 4 KB, its escapes eight times that.
const maxRequest = 1 << 20

// Conversation is the dialog's side of the protocol.
type Conversation struct {
	// Request is what to show.
	Request DialogRequest
	// Gone is closed when the parent is gone or has withdrawn the question.
	Gone <-chan struct{}

	out io.Writer
}

// Converse reads the request from the parent. It is an error when there is none, when it is of another version, or when
// it has nothing to show.
func Converse(in io.Reader, out io.Writer) (*Conversation, error) {
	line, err := bufio.NewReader(io.LimitReader(in, maxRequest)).ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("reading the request: %w", err)
	}
	var r DialogRequest
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return nil, fmt.Errorf("reading the request: %w", err)
	}
	if r.Version != dialogVersion {
		return nil, fmt.Errorf("reading the request: version %d, this dialog speaks %d", r.Version, dialogVersion)
	}
	if q := r.Question; r.Nonce == "" || len(q.Title) == 0 || len(q.Facts) == 0 || q.Allow == "" || q.Refuse == "" {
		return nil, errors.New("reading the request: it says nothing")
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, in)
	}()
	return &Conversation{Request: r, Gone: gone, out: out}, nil
}

// Shown tells the parent that the question is on the screen.
func (c *Conversation) Shown() error {
	shown := true
	return c.say(dialogLine{Shown: &shown})
}

// Answer tells the parent what the person did. The dialog must then exit with status 0.
func (c *Conversation) Answer(a Answer) error {
	return c.say(dialogLine{Nonce: &c.Request.Nonce, Decision: &a})
}

func (c *Conversation) say(l dialogLine) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	_, err = c.out.Write(append(text, '\n'))
	return err
}

// Dialog asks with a native dialog, each question in a process of its own, started from our own executable's folder and
// checked to be ours before it is told anything. The zero Dialog asks nobody; use [NewDialog].
type Dialog struct {
	manner func() Manner
	start  func() (*dialogProcess, error)
	// How long the dialog may take to appear, stays if it isn't 0, and may take to end after its answer.
	shownWithin, visibleFor, endsWithin time.Duration
}

var _ approval.Asker = (*Dialog)(nil)

// NewDialog gives the asker that shows dialogs in the language of words.
func NewDialog(words Words) *Dialog {
	return &Dialog{
		manner: func() Manner { return Manner{Words: words} }, start: startDialog,
		shownWithin: 15 * time.Second, endsWithin: 30 * time.Second,
	}
}

// WithPatience returns a copy that gives a dialog longer than 15 seconds to appear, for machines under heavy load. It
// changes nothing else: what doesn't appear is refused.
func (d Dialog) WithPatience(shownWithin time.Duration) *Dialog {
	d.shownWithin = shownWithin
	return &d
}

// In returns a copy that asks each question in the manner that holds then.
func (d Dialog) In(manner func() Manner) *Dialog {
	d.manner = manner
	return &d
}

// Ask shows r and waits for the answer. See [approval.Asker].
func (d *Dialog) Ask(ctx context.Context, r approval.Request) approval.Decision {
	if d == nil || d.start == nil || d.manner == nil {
		return approval.Refuse(approval.CouldNotShow, surfaceDialog, "there is no dialog")
	}
	m := d.manner()
	q, err := NewQuestion(r, m.Words)
	if err != nil {
		return approval.Refuse(approval.CouldNotShow, surfaceDialog, err.Error())
	}
	if approval.Insists(ctx) {
		q = q.withoutOffers()
		q.Quiet = m.Words.count("button_quiet", int64(approval.QuietFor/time.Minute), nil)
	}
	p, err := d.start()
	if err != nil {
		return approval.Refuse(approval.CouldNotShow, surfaceDialog, fmt.Sprintf("starting the dialog: %v", err))
	}
	defer p.end()
	verdict, answer, detail := d.converse(ctx, p, q, m, m.Presence && ChecksPresence && irrevocable(r))
	switch {
	case verdict == approval.Allowed && answer == Always:
		return approval.AllowAlways(r, surfaceDialog)
	case verdict == approval.Allowed:
		return approval.Allow(r, surfaceDialog)
	case verdict == approval.Refused && answer == Quiet:
		return approval.RefuseQuietly(surfaceDialog)
	}
	if said := p.complaint(); said != "" {
		detail += ": " + said
	}
	return approval.Refuse(verdict, surfaceDialog, detail)
}

const surfaceDialog = "dialog"

// converse asks, and gives how that ended and what exactly the person chose.
func (d *Dialog) converse(ctx context.Context, p *dialogProcess, q Question, m Manner, presence bool) (approval.Verdict, Answer, string) {
	nonce := newNonce()
	visible := cmp.Or(d.visibleFor, m.VisibleFor, approval.VisibleFor)
	p.tell(DialogRequest{Version: dialogVersion, Nonce: nonce, Language: m.Words.Language(), Question: q, Seconds: int(visible / time.Second), Presence: presence})

	l, err := p.hear(ctx, d.shownWithin)
	switch {
	case ctx.Err() != nil:
		return approval.Withdrawn, "", "withdrawn before it was shown"
	case err != nil:
		return approval.CouldNotShow, "", err.Error()
	case l.Shown == nil || !*l.Shown || l.Nonce != nil || l.Decision != nil:
		return approval.CouldNotShow, "", "the dialog didn't say that it is shown"
	}

	l, err = p.hear(ctx, visible)
	switch {
	case ctx.Err() != nil:
		return approval.Withdrawn, "", "withdrawn while it was shown"
	case err != nil:
		return approval.NoAnswer, "", err.Error()
	case l.Nonce == nil || *l.Nonce != nonce || l.Decision == nil || l.Shown != nil:
		return approval.NoAnswer, "", "the dialog's answer isn't one to this question"
	}
	decision := *l.Decision
	if decision == Refused || decision == Quiet && q.Quiet != "" { // a no needs no proof
		return approval.Refused, decision, "the person said no"
	}
	if err := p.ended(d.endsWithin); err != nil {
		return approval.NoAnswer, "", err.Error()
	}
	switch {
	case decision == Allowed, decision == Always && q.Always != "":
		return approval.Allowed, decision, ""
	case decision == TimedOut:
		return approval.NoAnswer, "", "nobody answered"
	}
	return approval.NoAnswer, "", "the dialog gave an unknown answer"
}

func newNonce() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// dialogProcess is a dialog that runs.
type dialogProcess struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  chan []byte // closed at the end of its output
	stderr head
	waited chan struct{} // closed once it has ended
	err    error         // how it ended, once waited is closed
}

var errTooMuch = errors.New("the dialog said too much")

// run starts cmd with nothing of ours but the environment in it, and calls check before anything is told to it.
func run(cmd *exec.Cmd, check func(pid int) error) (*dialogProcess, error) {
	p := &dialogProcess{cmd: cmd, lines: make(chan []byte, 3), waited: make(chan struct{})}
	cmd.Stderr = &p.stderr
	cmd.WaitDelay = time.Second
	var err error
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go p.read(stdout)
	if err := check(cmd.Process.Pid); err != nil {
		p.end()
		return nil, fmt.Errorf("the process that started isn't ours: %w", err)
	}
	return p, nil
}

// read passes on at most three lines of at most a kilobyte, one more than a dialog may say.
func (p *dialogProcess) read(stdout io.Reader) {
	scan := bufio.NewScanner(stdout)
	scan.Buffer(make([]byte, 0, 1024), 1024)
	for n := 0; n < 3 && scan.Scan(); n++ {
		p.lines <- bytes.Clone(scan.Bytes())
	}
	if scan.Err() != nil {
		p.lines <- []byte(errTooMuch.Error()) // no JSON, so no answer
	}
	close(p.lines)
	p.err = p.cmd.Wait()
	close(p.waited)
}

// tell writes the request without waiting for it to be read.
func (p *dialogProcess) tell(r DialogRequest) {
	text, err := json.Marshal(r)
	if err != nil {
		return // then the dialog doesn't show anything
	}
	go func() { _, _ = p.stdin.Write(append(text, '\n')) }()
}

// hear waits for the next line.
func (p *dialogProcess) hear(ctx context.Context, within time.Duration) (dialogLine, error) {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case text, more := <-p.lines:
		var l dialogLine
		if !more {
			return l, errors.New("the dialog ended without an answer")
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&l); err != nil || d.More() {
			return dialogLine{}, errors.New("the dialog said something that can't be understood")
		}
		return l, nil
	case <-timer.C:
		return dialogLine{}, fmt.Errorf("the dialog said nothing for %v", within)
	case <-ctx.Done():
		return dialogLine{}, context.Cause(ctx)
	}
}

// ended waits for the end of a dialog that has answered; it must say no more and exit with status 0.
func (p *dialogProcess) ended(within time.Duration) error {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case _, more := <-p.lines:
		if more {
			return errTooMuch
		}
	case <-timer.C:
		return errors.New("the dialog answered but didn't end")
	}
	select {
	case <-p.waited:
	case <-timer.C:
		return errors.New("the dialog answered but didn't end")
	}
	if p.err != nil {
		return fmt.Errorf("the dialog answered but failed: %w", p.err)
	}
	return nil
}

// end kills the dialog if it still runs, and waits until it is gone.
func (p *dialogProcess) end() {
	_ = p.stdin.Close()
	_ = p.cmd.Process.Kill()
	for range p.lines {
	}
	<-p.waited
}

// complaint is what the dialog wrote to standard error about itself, for the log, once it has ended. The toolkits it
// uses write there too.
func (p *dialogProcess) complaint() string {
	p.end()
	for line := range strings.Lines(p.stderr.String()) {
		for _, start := range []string{"handrail-ui: ", "handrail: ", "panic: "} {
			if strings.HasPrefix(line, start) {
				return strings.TrimSpace(line[:min(len(line), 300)])
			}
		}
	}
	return ""
}

// head keeps the first 16 kilobytes that are written to it.
type head struct{ bytes.Buffer }

func (h *head) Write(b []byte) (int, error) {
	h.Buffer.Write(b[:min(len(b), max(0, 16<<10-h.Len()))])
	return len(b), nil
}

// ownFile reports why a file or folder of ours could have been changed by others: it must belong to root or to us, and
// nobody else may write it. A group of the same number as its owner, of which nobody else is by custom, may.
func ownFile(info os.FileInfo) error {
	uid, gid, ok := ownerOf(info)
	if !ok {
		return errors.New("the system doesn't say whose it is")
	}
	mode := info.Mode().Perm()
	switch {
	case uid != 0 && uid != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d", info.Name(), uid)
	case mode&0o002 != 0, mode&0o020 != 0 && gid != uid:
		return fmt.Errorf("%s can be written by others (mode %v)", info.Name(), mode)
	}
	return nil
}

// environment gives the named variables of ours that are set: all that a dialog gets.
func environment(names []string) []string {
	list := []string{} // an empty one, for a nil one would mean all
	for _, name := range names {
		if value, ok := os.LookupEnv(name); ok {
			list = append(list, name+"="+value)
		}
	}
	return list
}
