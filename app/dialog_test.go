//go:build linux || darwin

package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"handrail/core/approval"
)

// The test binary plays a dialog when this variable says which one.
const fakeDialog = "HANDRAIL_TEST_DIALOG"

// fakeSaid names a file with what an earlier fake said.
const fakeSaid = fakeDialog + "_SAID"

func TestMain(m *testing.M) {
	if os.Args[0] == "handrail-ui" { // a copy of it, started as the dialog
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	if how := os.Getenv(fakeWindow); how != "" {
		runFakeWindow(how)
	}
	if name := os.Getenv(fakeDialog); name != "" {
		for _, f := range append(fakes, alerts...) {
			if f.name == name {
				f.play()
				os.Exit(0)
			}
		}
		fmt.Fprintf(os.Stderr, "no fake dialog %q", name)
		os.Exit(99)
	}
	if language := os.Getenv("HANDRAIL_TEST_TERMINAL"); language != "" {
		askOnTerminal(language)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func print(text string) { fmt.Fprint(os.Stdout, text) }

// converse reads the request and says that it is shown.
func converse() *Conversation {
	c, err := Converse(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprint(os.Stderr, err)
		os.Exit(98)
	}
	if err := c.Shown(); err != nil {
		os.Exit(97)
	}
	return c
}

// forever waits for its own end, or for the parent's.
func forever(c *Conversation) { <-c.Gone }

type fake struct {
	name   string
	play   func()
	want   approval.Verdict
	detail string
}

// alerts are fakes only in what presses their buttons: the native panel itself, where there is one.
var alerts []fake

var fakes = []fake{
	{"allows", func() {
		c := converse()
		if said := os.Getenv(fakeSaid); said != "" {
			os.WriteFile(said, []byte(fmt.Sprintf(`{"nonce":%q,"decision":"allow"}`+"\n", c.Request.Nonce)), 0o600)
		}
		c.Answer(Allowed)
	}, approval.Allowed, ""},
	{"replays", func() { // what a dialog said to an earlier question
		said, err := os.ReadFile(os.Getenv(fakeSaid))
		if err != nil {
			said = []byte(fmt.Sprintf(`{"nonce":%q,"decision":"allow"}`+"\n", newNonce()))
		}
		converse()
		print(string(said))
	}, approval.NoAnswer, "isn't one to this"},
	{"refuses", func() { converse().Answer(Refused) }, approval.Refused, "said no"},
	{"times out itself", func() { converse().Answer(TimedOut) }, approval.NoAnswer, "nobody answered"},
	{"ends at once", func() {}, approval.CouldNotShow, "ended"},
	{"fails at once", func() { fmt.Fprint(os.Stderr, "noise\nhandrail-ui: no display\n"); os.Exit(3) }, approval.CouldNotShow, "no display"},
	{"panics", func() { converse(); panic("at the disco") }, approval.NoAnswer, "disco"},
	{"never shows", func() { c, _ := Converse(os.Stdin, io.Discard); forever(c) }, approval.CouldNotShow, "said nothing"},
	{"never answers", func() { forever(converse()) }, approval.NoAnswer, "said nothing"},
	{"answers unseen", func() { c, _ := Converse(os.Stdin, os.Stdout); c.Answer(Allowed) }, approval.CouldNotShow, "is shown"},
	{"says it isn't shown", func() { print(`{"shown":false}` + "\n"); converse().Answer(Allowed) }, approval.CouldNotShow, "is shown"},
	{"everything in one line", func() {
		c, _ := Converse(os.Stdin, io.Discard)
		print(fmt.Sprintf(`{"shown":true,"nonce":%q,"decision":"allow"}`+"\n", c.Request.Nonce))
	}, approval.CouldNotShow, "is shown"},
	{"junk", func() { print("yes, go ahead\n") }, approval.CouldNotShow, "understood"},
	{"junk after shown", func() { converse(); print("allow\n") }, approval.NoAnswer, "understood"},
	{"two answers in a line", func() {
		c := converse()
		line := fmt.Sprintf(`{"nonce":%q,"decision":"allow"}`, c.Request.Nonce)
		print(line + line + "\n")
	}, approval.NoAnswer, "understood"},
	{"unknown field", func() {
		c := converse()
		print(fmt.Sprintf(`{"nonce":%q,"decision":"allow","always":true}`+"\n", c.Request.Nonce))
	}, approval.NoAnswer, "understood"},
	{"no nonce", func() { converse(); print(`{"decision":"allow"}` + "\n") }, approval.NoAnswer, "isn't one to this"},
	{"another nonce", func() { c := converse(); c.Request.Nonce = newNonce(); c.Answer(Allowed) }, approval.NoAnswer, "isn't one to this"},
	{"empty nonce", func() { c := converse(); c.Request.Nonce = ""; c.Answer(Allowed) }, approval.NoAnswer, "isn't one to this"},
	{"always", func() { converse().Answer(Always) }, approval.NoAnswer, "unknown answer"}, // not offered
	{"quiet", func() { converse().Answer(Quiet) }, approval.NoAnswer, "unknown answer"},
	{"unknown answer", func() { converse().Answer("Allow") }, approval.NoAnswer, "unknown answer"},
	{"no answer", func() { converse().Answer("") }, approval.NoAnswer, "unknown answer"},
	{"allows twice", func() { c := converse(); c.Answer(Allowed); c.Answer(Allowed) }, approval.NoAnswer, "too much"},
	{"allows, then refuses", func() { c := converse(); c.Answer(Allowed); c.Answer(Refused) }, approval.NoAnswer, "too much"},
	{"allows and fails", func() { converse().Answer(Allowed); os.Exit(1) }, approval.NoAnswer, "failed"},
	{"refuses and fails", func() { converse().Answer(Refused); os.Exit(1) }, approval.Refused, "said no"},
	{"refuses and stays", func() { c := converse(); c.Answer(Refused); forever(c) }, approval.Refused, "said no"},
	{"allows and is killed", func() { converse().Answer(Allowed); syscall.Kill(os.Getpid(), syscall.SIGKILL) }, approval.NoAnswer, "failed"},
	{"is killed", func() { converse(); syscall.Kill(os.Getpid(), syscall.SIGKILL) }, approval.NoAnswer, "ended"},
	{"is told to terminate", func() { converse(); syscall.Kill(os.Getpid(), syscall.SIGTERM); select {} }, approval.NoAnswer, "ended"},
	{"allows and stays", func() { c := converse(); c.Answer(Allowed); forever(c) }, approval.NoAnswer, "didn't end"},
	{"a line without end", func() {
		converse()
		for {
			if _, err := os.Stdout.WriteString(strings.Repeat("a", 4096)); err != nil {
				return
			}
		}
	}, approval.NoAnswer, "understood"},
	{"lines without end", func() {
		for {
			if _, err := os.Stdout.WriteString("{\"shown\":true}\n"); err != nil {
				return
			}
		}
	}, approval.NoAnswer, "isn't one to this"},
}

func testDialog(t *testing.T, name string) *Dialog {
	d := NewDialog(NewWords("en"))
	d.shownWithin, d.visibleFor, d.endsWithin = time.Minute, time.Minute, time.Minute
	switch name { // those that wait for a deadline get a short one
	case "never shows":
		d.shownWithin = 300 * time.Millisecond
	case "never answers":
		d.visibleFor = 300 * time.Millisecond
	case "allows and stays":
		d.endsWithin = 300 * time.Millisecond
	}
	d.start = func() (*dialogProcess, error) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = []string{fakeDialog + "=" + name}
		return run(cmd, func(int) error { return nil })
	}
	return d
}

func TestDialog(t *testing.T) {
	r := request(approval.EditFolder, nil)
	for _, f := range fakes {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			got := testDialog(t, f.name).Ask(t.Context(), r)
			if got.Verdict != f.want || !strings.Contains(got.Detail, f.detail) {
				t.Errorf("%v (%s), want %v (%s)", got.Verdict, got.Detail, f.want, f.detail)
			}
			if allows := got.Covers(r) == nil; allows != (f.want == approval.Allowed) {
				t.Errorf("covers the request: %v", allows)
			}
		})
	}
}

func TestDialogWithdrawn(t *testing.T) {
	for _, name := range []string{"never shows", "never answers"} {
		d := testDialog(t, name)
		d.shownWithin, d.visibleFor = time.Minute, time.Minute
		ctx, cancel := context.WithCancel(t.Context())
		var p *dialogProcess
		start := d.start
		d.start = func() (_ *dialogProcess, err error) {
			p, err = start()
			cancel()
			return p, err
		}
		if got := d.Ask(ctx, request(approval.EditFolder, nil)); got.Verdict != approval.Withdrawn {
			t.Errorf("%s: %v (%s)", name, got.Verdict, got.Detail)
		}
		if p.cmd.ProcessState == nil {
			t.Errorf("%s: the dialog still runs", name)
		}
	}
}

func TestDialogNotStarted(t *testing.T) {
	r := request(approval.EditFolder, nil)
	for name, d := range map[string]*Dialog{
		"nil":            nil,
		"the zero value": {},
		"no words":       {manner: func() Manner { return Manner{} }, start: testDialog(t, "allows").start},
		"can't start": {manner: func() Manner { return Manner{Words: NewWords("en")} }, start: func() (*dialogProcess, error) {
			return run(exec.Command("/nonexistent"), func(int) error { return nil })
		}},
		"another process": {manner: func() Manner { return Manner{Words: NewWords("en")} }, start: func() (*dialogProcess, error) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = []string{fakeDialog + "=allows"}
			return run(cmd, func(int) error { return fmt.Errorf("it runs another file") })
		}},
	} {
		if got := d.Ask(t.Context(), r); got.Verdict != approval.CouldNotShow || got.Covers(r) == nil {
			t.Errorf("%s: %v (%s)", name, got.Verdict, got.Detail)
		}
	}
	if got := NewDialog(NewWords("en")).Ask(t.Context(), approval.Request{}); got.Verdict != approval.CouldNotShow {
		t.Errorf("the zero request: %v", got.Verdict)
	}
}

// A lasting rule and silence are answers only where they were offered.
func TestOffers(t *testing.T) {
	rule := request(approval.Exec, func(r *approval.Request) {
		r.Command = &approval.Command{Text: "wc a", Runs: "/usr/bin/wc a", Rule: &approval.Rule{Program: "/usr/bin/wc"}}
	})
	for _, c := range []struct {
		name, fake    string
		ctx           context.Context
		r             approval.Request
		want          approval.Verdict
		always, quiet bool
	}{
		{"the rule", "always", t.Context(), rule, approval.Allowed, true, false},
		{"once, though a rule is offered", "allows", t.Context(), rule, approval.Allowed, false, false},
		{"no rule is offered", "always", t.Context(), request(approval.EditFolder, nil), approval.NoAnswer, false, false},
		{"silence isn't offered", "quiet", t.Context(), rule, approval.NoAnswer, false, false},
		{"silence", "quiet", approval.Insisting(t.Context()), rule, approval.Refused, false, true},
		{"no rule to a client that insists", "always", approval.Insisting(t.Context()), rule, approval.NoAnswer, false, false},
	} {
		got := testDialog(t, c.fake).Ask(c.ctx, c.r)
		if got.Verdict != c.want || got.Always != c.always || got.Quiet != c.quiet || (got.Covers(c.r) == nil) != (c.want == approval.Allowed) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestConverse(t *testing.T) {
	q, err := NewQuestion(request(approval.EditFolder, nil), NewWords("en"))
	if err != nil {
		t.Fatal(err)
	}
	good := DialogRequest{Version: dialogVersion, Nonce: newNonce(), Language: "en", Question: q}
	line := func(change func(*DialogRequest)) string {
		r := good
		change(&r)
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(text) + "\n"
	}
	if _, err := Converse(strings.NewReader(line(func(*DialogRequest) {})), io.Discard); err != nil {
		t.Error(err)
	}
	for name, in := range map[string]string{
		"nothing":        "",
		"half a request": line(func(*DialogRequest) {})[:100],
		"no object":      "[]\n",
		"another thing":  `{"version":1,"nonce":"a","allow":true}` + "\n",
		"version":        line(func(r *DialogRequest) { r.Version = 2 }),
		"no nonce":       line(func(r *DialogRequest) { r.Nonce = "" }),
		"no question":    line(func(r *DialogRequest) { r.Question = Question{} }),
		"no facts":       line(func(r *DialogRequest) { r.Question.Facts = nil }),
		"no refusal":     line(func(r *DialogRequest) { r.Question.Refuse = "" }),
		"too long":       line(func(r *DialogRequest) { r.Question.Reason = strings.Repeat("a", maxRequest) }),
	} {
		if _, err := Converse(strings.NewReader(in), io.Discard); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// The environment that a dialog gets has nothing in it but what is named.
func TestEnvironment(t *testing.T) {
	t.Setenv("LD_PRELOAD", "/tmp/evil.so")
	t.Setenv("LANG", "th_TH.UTF-8")
	got := environment([]string{"LANG", "HANDRAIL_TEST_UNSET"})
	if len(got) != 1 || got[0] != "LANG=th_TH.UTF-8" {
		t.Errorf("%q", got)
	}
	if got := environment(nil); got == nil || len(got) != 0 {
		t.Errorf("%q would give a child everything", got)
	}
}

func TestOwnFile(t *testing.T) {
	folder := t.TempDir()
	for _, c := range []struct {
		mode os.FileMode
		want bool
	}{{0o755, true}, {0o700, true}, {0o500, true}, {0o757, false}, {0o777, false}, {0o702, false}} {
		path := filepath.Join(folder, "file")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := ownFile(info); (err == nil) != c.want {
			t.Errorf("mode %v: %v", c.mode, err)
		}
		if os.Geteuid() == 0 { // only root can give a file away
			if err := os.Chown(path, 12345, 12345); err != nil {
				t.Fatal(err)
			}
			if info, err = os.Lstat(path); err != nil {
				t.Fatal(err)
			}
			if ownFile(info) == nil {
				t.Errorf("mode %v: another user's file is ours", c.mode)
			}
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
