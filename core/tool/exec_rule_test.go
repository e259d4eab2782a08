package tool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"handrail/core/approval"
	"handrail/core/audit"
	"handrail/core/command"
)

// ordinary is this computer as a user sees it who can't change the system's programs, whoever runs the test.
type ordinary struct {
	command.Files
	home string
}

func (o ordinary) Writable(path string) bool { return strings.HasPrefix(path, o.home) }

// ruleWorld is a world in which everything that isn't on the person's list is asked for.
func ruleWorld(t *testing.T) (*world, *slow) {
	w, p := waitingWorld(t)
	w.gate.testOnlyFiles = ordinary{command.System(), w.home}
	policy := command.PolicyFile(w.gate.Home.State)
	if err := os.WriteFile(policy, []byte(`{"version": 1, "sandbox": {"mode": "ask"}, "safeBins": []}`), 0o600); err != nil {
		t.Fatal(err)
	}
	w.put("w/proj/a.txt", []byte("one\ntwo\n"))
	w.program("count.sh", "#!/bin/sh\nwc -l a.txt\n")
	return w, p
}

// program writes a script into w/proj, in place of what is there.
func (w *world) program(name, text string) {
	w.put("w/proj/"+name, []byte(text))
	if err := os.Chmod(w.path("w/proj/"+name), 0o755); err != nil {
		w.t.Fatal(err)
	}
}

func always(r approval.Request) approval.Decision { return approval.AllowAlways(r, "dialog") }

// asks reports whether a call asks; if it doesn't, its output is given. A question that it asks is refused.
func (w *world) asks(t *testing.T, p *slow, args string) (asked *approval.Request, out string) {
	t.Helper()
	w.gate.testOnlyAnswerBy = ages
	defer func() { w.gate.testOnlyAnswerBy = time.Millisecond }()
	answered, done := make(chan approval.Request, 1), make(chan struct{})
	go func() {
		select {
		case r := <-p.shown:
			answered <- r
			p.answers <- func(approval.Request) approval.Decision { return approval.Refuse(approval.NoAnswer, "dialog", "") }
		case <-done:
		}
	}()
	out, _ = w.raw(`{"exec": ` + args + `}`)
	close(done)
	select {
	case r := <-answered:
		return &r, out
	default:
		return nil, out
	}
}

// chooses has the person answer a call's question, and waits until it has run.
func (w *world) chooses(t *testing.T, p *slow, args string, answer func(approval.Request) approval.Decision) approval.Request {
	t.Helper()
	id := w.pending(t, args)
	r := p.sees(t)
	p.says(t, answer)
	if text := w.poll(t, id); !strings.Contains(text, "code 0") {
		t.Fatalf("%s: %s", args, text)
	}
	w.gate.testOnlyAnswerBy = time.Millisecond
	return r
}

const (
	countsArgs = `{"command": "wc -l a.txt", "workdir": "proj"}`
	scriptArgs = `{"command": "sh ./count.sh", "workdir": "proj"}`
	selfArgs   = `{"command": "./count.sh", "workdir": "proj"}`
)

// What the person always allows runs without a question as long as nothing of it differs, and is in the log.
func TestAlwaysAllowed(t *testing.T) {
	for _, args := range []string{countsArgs, scriptArgs, selfArgs} {
		t.Run(args, func(t *testing.T) {
			w, p := ruleWorld(t)
			r := w.chooses(t, p, args, allow)
			if r.Command.Rule == nil || strings.Contains(args, "count.sh") != (r.Command.Rule.Script == w.path("w/proj/count.sh")) {
				t.Fatalf("offered %+v", r.Command.Rule)
			}
			if asked, _ := w.asks(t, p, args); asked == nil {
				t.Fatal("allowed once, it runs again")
			}
			w.chooses(t, p, args, always)
			if asked, out := w.asks(t, p, args); asked != nil || !strings.Contains(out, "2 a.txt") {
				t.Fatalf("it is asked for again: %s", out)
			}
			list, err := w.gate.Rules.List()
			if err != nil || len(list) != 1 {
				t.Fatalf("%v, %v", list, err)
			}
			by := ""
			for _, rec := range w.gate.Audit.Recent(100, audit.Intent) {
				by = rec.By
			}
			if by != "rule "+list[0].ID {
				t.Errorf("the log says that it ran by %q", by)
			}
			if err := w.gate.Rules.Remove(list[0].ID); err != nil {
				t.Fatal(err)
			}
			if asked, out := w.asks(t, p, args); asked == nil {
				t.Errorf("taken back, it still runs: %s", out)
			}
		})
	}
}

// Whatever differs from what the person was shown is asked for.
func TestAlwaysAllowedAttacks(t *testing.T) {
	for _, c := range []struct {
		name string
		args string // what is always allowed
		do   func(t *testing.T, w *world) (args string)
	}{
		{"other words", countsArgs, func(*testing.T, *world) string { return `{"command": "wc -c a.txt", "workdir": "proj"}` }},
		{"one word more", countsArgs, func(*testing.T, *world) string { return `{"command": "wc -l a.txt b.txt", "workdir": "proj"}` }},
		{"other blanks", countsArgs, func(*testing.T, *world) string { return `{"command": "wc  -l a.txt", "workdir": "proj"}` }},
		{"another folder", countsArgs, func(_ *testing.T, w *world) string {
			w.put("w/other/a.txt", nil)
			return `{"command": "wc -l a.txt", "workdir": "other"}`
		}},
		{"another folder of that name", countsArgs, func(t *testing.T, w *world) string {
			if err := os.Rename(w.path("w/proj"), w.path("w/was")); err != nil {
				t.Fatal(err)
			}
			w.put("w/proj/a.txt", nil)
			return countsArgs
		}},
		{"another client", countsArgs, func(_ *testing.T, w *world) string { w.now = "b"; return countsArgs }},
		{"a redirect", countsArgs, func(*testing.T, *world) string { return `{"command": "wc -l a.txt > b.txt", "workdir": "proj"}` }},
		{"something after it", countsArgs, func(*testing.T, *world) string { return `{"command": "wc -l a.txt; rm a.txt", "workdir": "proj"}` }},
		{"something around it", countsArgs, func(*testing.T, *world) string { return `{"command": "nice wc -l a.txt", "workdir": "proj"}` }},
		{"with variables", countsArgs, func(*testing.T, *world) string {
			return `{"command": "wc -l a.txt", "workdir": "proj", "env": {"POSIXLY_CORRECT": "1"}}`
		}},
		{"with another PATH", countsArgs, func(_ *testing.T, w *world) string {
			w.program("wc", "#!/bin/sh\nrm a.txt\n")
			return fmt.Sprintf(`{"command": "wc -l a.txt", "workdir": "proj", "env": {"PATH": %q}}`, w.path("w/proj"))
		}},
		{"in a terminal", countsArgs, func(*testing.T, *world) string { return `{"command": "wc -l a.txt", "workdir": "proj", "pty": true}` }},
		{"when each is to be asked for", countsArgs, func(*testing.T, *world) string {
			return `{"command": "wc -l a.txt", "workdir": "proj", "ask": "always"}`
		}},
		{"an entry says to ask", countsArgs, func(t *testing.T, w *world) string {
			os.WriteFile(command.PolicyFile(w.gate.Home.State), []byte(`{"version": 1, "sandbox": {"mode": "ask"}, "safeBins": [], "allowlist": [{"pattern": "wc", "action": "ask"}]}`), 0o600)
			return countsArgs
		}},
		{"a broken policy file", countsArgs, func(t *testing.T, w *world) string {
			os.WriteFile(command.PolicyFile(w.gate.Home.State), []byte(`{`), 0o600)
			return countsArgs
		}},
		{"the program can be changed now", countsArgs, func(_ *testing.T, w *world) string {
			w.gate.testOnlyFiles = ordinary{command.System(), "/"}
			return countsArgs
		}},
		{"the program is another file", countsArgs, func(_ *testing.T, w *world) string {
			w.gate.testOnlyFiles = replaced{ordinary{command.System(), w.home}, "wc"}
			return countsArgs
		}},
		{"the shell is another file", scriptArgs, func(_ *testing.T, w *world) string {
			w.gate.testOnlyFiles = replaced{ordinary{command.System(), w.home}, "sh"}
			return scriptArgs
		}},
		{"the script changed", scriptArgs, func(_ *testing.T, w *world) string {
			w.program("count.sh", "#!/bin/sh\nwc -c a.txt\n")
			return scriptArgs
		}},
		{"the script changed, and is no longer harmless", selfArgs, func(_ *testing.T, w *world) string {
			w.program("count.sh", "#!/bin/sh\nrm a.txt\n")
			return selfArgs
		}},
		{"the script was replaced", selfArgs, func(t *testing.T, w *world) string {
			if err := os.Rename(w.path("w/proj/count.sh"), w.path("w/proj/old.sh")); err != nil {
				t.Fatal(err)
			}
			w.program("count.sh", "#!/bin/sh\nwc -l a.txt\n")
			return selfArgs
		}},
		{"a link in place of the script", selfArgs, func(t *testing.T, w *world) string {
			if err := os.Rename(w.path("w/proj/count.sh"), w.path("w/proj/real.sh")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("real.sh", w.path("w/proj/count.sh")); err != nil {
				t.Fatal(err)
			}
			return selfArgs
		}},
		{"another script", scriptArgs, func(_ *testing.T, w *world) string {
			w.program("other.sh", "#!/bin/sh\nwc -l a.txt\n")
			return `{"command": "sh ./other.sh", "workdir": "proj"}`
		}},
		{"the file of rules was changed", countsArgs, func(t *testing.T, w *world) string {
			text, err := os.ReadFile(w.gate.Rules.File())
			if err != nil {
				t.Fatal(err)
			}
			os.WriteFile(w.gate.Rules.File(), []byte(strings.Replace(string(text), "wc -l", "wc -c", 1)), 0o600)
			return `{"command": "wc -c a.txt", "workdir": "proj"}`
		}},
		{"the file of rules is another's", countsArgs, func(t *testing.T, w *world) string {
			r := w.gate.Rules
			list, _ := r.List()
			os.Remove(r.File())
			if _, err := approval.OpenRules(filepath.Dir(r.File()), []byte("another key")).Keep(list[0].Request); err != nil {
				t.Fatal(err)
			}
			return countsArgs
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, p := ruleWorld(t)
			w.chooses(t, p, c.args, always)
			args := c.do(t, w)
			if asked, out := w.asks(t, p, args); asked == nil {
				t.Errorf("it isn't asked for: %s", out)
			}
		})
	}
}

// replaced has another file in place of a program.
type replaced struct {
	ordinary
	name string
}

func (r replaced) Stat(path string) (command.File, error) {
	f, err := r.ordinary.Stat(path)
	if filepath.Base(path) == r.name {
		f.ID.Inode++
	}
	return f, err
}

// A rule is offered only where it is safe, and made only by the person's choice of it.
func TestAlwaysNotOffered(t *testing.T) {
	w, p := ruleWorld(t)
	w.program("harmful.sh", "#!/bin/sh\nrm a.txt\n")
	w.program("run.py", "#!/usr/bin/python3\nprint(1)\n")
	for _, script := range []string{"git status", "python3 run.py", "python3 -c 1", "./run.py", "sh ./harmful.sh", "./harmful.sh", "rm a.txt", "wc -l a.txt | sort", "wc -l *.txt", "sh -c 'wc -l a.txt'", "make", "awk 1 a.txt",
		"xargs wc", "find . -exec wc {} \\\\;", "env wc a.txt", "wc -l a.txt > b"} {
		args := fmt.Sprintf(`{"command": "%s", "workdir": "proj"}`, strings.ReplaceAll(strings.ReplaceAll(script, `\\`, `\`), `\`, `\\`))
		id := w.pending(t, args)
		r := p.sees(t)
		if r.Command.Rule != nil {
			t.Errorf("%s: offered %+v", script, r.Command.Rule)
		}
		// An answer that chooses a rule all the same is none.
		p.says(t, always)
		if text := w.poll(t, id); !strings.HasPrefix(text, "error ") {
			t.Errorf("%s: it ran: %s", script, text)
		}
		w.gate.testOnlyAnswerBy = time.Millisecond
	}
	if list, err := w.gate.Rules.List(); err != nil || len(list) != 0 {
		t.Errorf("rules %v, %v", list, err)
	}
	t.Run("no keychain", func(t *testing.T) {
		w, p := ruleWorld(t)
		w.gate.Rules = approval.OpenRules(w.gate.Home.State, nil)
		if asked, out := w.asks(t, p, countsArgs); asked == nil || asked.Command.Rule != nil {
			t.Errorf("%+v, %s", asked, out)
		}
	})
	t.Run("what a model can write", func(t *testing.T) {
		w, p := ruleWorld(t)
		// No tool reaches the state folder, and no argument of exec makes a rule.
		if out, failed := w.raw(fmt.Sprintf(`{"write_file": {"path": %q, "content": "{}"}}`, w.gate.Rules.File())); !failed {
			t.Errorf("written: %s", out)
		}
		if out, failed := w.raw(`{"exec": {"command": "wc -l a.txt", "workdir": "proj", "ask": "never"}}`); !failed {
			t.Errorf("another ask: %s", out)
		}
		if out, _ := w.raw(fmt.Sprintf(`{"bash": {"command": "echo {} > %s"}}`, w.gate.Rules.File())); out == "" {
			t.Error("no answer")
		}
		if _, err := os.Stat(w.gate.Rules.File()); err == nil {
			t.Error("a command wrote the rules")
		}
		if asked, out := w.asks(t, p, countsArgs); asked == nil {
			t.Errorf("not asked: %s", out)
		}
	})
}

// A rule that can't be recorded isn't kept, not for a moment.
func TestRuleUnrecorded(t *testing.T) {
	w, p := ruleWorld(t)
	w.pending(t, countsArgs)
	r := p.sees(t)
	if _, err := r.RuleID(); err != nil {
		t.Fatal(err)
	}
	file := w.gate.Rules.File()
	if err := w.gate.Audit.Close(); err != nil {
		t.Fatal(err)
	}
	c := &Call{ID: "c", Session: w.sessions.Live()[0], Tool: execTool}
	if err := w.gate.keepRule(c, r, "dialog"); err == nil {
		t.Error("it goes on")
	}
	if _, err := os.Lstat(file); !os.IsNotExist(err) {
		t.Errorf("the rule was written: %v", err)
	}
	p.says(t, refuse)
}
