package tool

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"handrail/core/approval"
	"handrail/core/command"
	"handrail/core/grant"
	"handrail/core/job"
)

// outsideWorld is a world in which the person has turned on, for client a, that it may ask to work outside the sandbox.
func outsideWorld(t *testing.T) (*world, *slow) {
	w, p := waitingWorld(t)
	state := w.gate.Home.State
	w.gate.Switches = grant.OpenSwitches(state, func(bool) ([]byte, error) { return []byte("key"), nil }, true)
	if err := w.gate.Switches.Set("stdio:aask", "outside", true); err != nil {
		t.Fatal(err)
	}
	if text, failed := w.raw(`{"exec": {"command": "true", "host": "gateway"}}`); !failed || !strings.Contains(text, "[not_switched_on]") {
		t.Fatalf("wished for, and not agreed to: %s", text)
	}
	if err := w.gate.Switches.Agree(grant.Wish{Client: "stdio:aask", Switch: grant.Outside}); err != nil {
		t.Fatal(err)
	}
	w.put("w/proj/a.txt", []byte("one\n"))
	return w, p
}

// With the switch each call asks, shows what runs, and runs as the person, once.
func TestOutsideAsksEachTime(t *testing.T) {
	w, p := outsideWorld(t)
	for i, how := range []string{`"host": "gateway"`, `"elevated": true`, `"host": "gateway"`} {
		file := filepath.Join(w.home, fmt.Sprint("made", i))
		id := w.pending(t, fmt.Sprintf(`{"command": "cp a.txt %s; printenv A HANDRAIL_TOOL", "workdir": "proj", %s, "env": {"A": "1"}}`, file, how))
		r := p.sees(t)
		c := r.Command
		if r.Kind != approval.Outside || !r.Kind.Once() || c.Rule != nil || !strings.HasSuffix(strings.Fields(c.Runs)[0], "/cp") || fmt.Sprint(c.Env) != "[A=1]" || !slices.Contains(c.Inherits, "PATH") || len(c.Files) != 2 {
			t.Errorf("asked %+v %+v", r, c)
		}
		if _, err := os.Stat(file); err == nil {
			t.Error("it ran before the answer")
		}
		p.says(t, allow)
		if text := w.poll(t, id); !strings.Contains(text, "code 0") || !strings.Contains(text, "1\nexec\n") {
			t.Errorf("%s", text)
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != "one\n" {
			t.Errorf("it didn't run as the person: %v", err)
		}
		w.gate.testOnlyAnswerBy = time.Millisecond
	}
}

// Nothing but the person's switch and their click on this very command lets it run outside the sandbox.
func TestOutsideAttacks(t *testing.T) {
	made := func(w *world) string { return filepath.Join(w.home, "made") }
	// open lets another session change a folder.
	open := func(w *world, folder string) {
		id, err := grant.Identify(folder)
		if err != nil {
			panic(err)
		}
		w.gate.Grants.Add("another", grant.Grant{Folder: folder, ID: id, Right: grant.Edit})
	}
	proj := func(w *world) string { return filepath.Join(w.gate.Workspace, "proj") }
	for _, c := range []struct {
		name string
		args func(w *world) string
		// do is done while the question waits; nil: there must be none.
		do     func(t *testing.T, w *world)
		answer func(approval.Request) approval.Decision
		code   string
	}{
		{"another client of the same name", func(w *world) string { w.now = "b"; return `"command": "touch ` + made(w) + `"` }, nil, nil, "not_switched_on"},
		{"an argument that says it is switched on", func(w *world) string { return `"command": "touch ` + made(w) + `", "outside": true` }, nil, nil, "bad_arguments"},
		{"PATH", func(w *world) string { return `"command": "touch ` + made(w) + `", "env": {"PATH": "/tmp"}` }, nil, nil, "bad_environment"},
		{"the loader", func(w *world) string { return `"command": "touch ` + made(w) + `", "env": {"LD_PRELOAD": "/tmp/x.so"}` }, nil, nil, "bad_environment"},
		{"where settings are", func(w *world) string { return `"command": "touch ` + made(w) + `", "env": {"HOME": "/tmp"}` }, nil, nil, "bad_environment"},
		{"our own program", func(*world) string { return `"command": "handrail switch a docker on"` }, nil, nil, "denied"},
		{"our own program in a wrapper", func(*world) string { return `"command": "nice env /opt/x/handrail switch"` }, nil, nil, "denied"},
		{"our own program by a variable", func(*world) string { return `"command": "x=handrail; $x switch"` }, nil, nil, "denied"},
		{"our own program by eval", func(*world) string { return `"command": "eval \"hand\"rail switch"` }, nil, nil, "denied"},
		{"our own program by a function", func(*world) string { return `"command": "f() { \"$1\" switch; }; f handrail"` }, nil, nil, "denied"},
		{"the policy denies", func(w *world) string {
			if err := os.WriteFile(command.PolicyFile(w.gate.Home.State), []byte(`{"version": 1, "mode": "deny"}`), 0o600); err != nil {
				panic(err)
			}
			return `"command": "touch ` + made(w) + `"`
		}, nil, nil, "denied"},
		{"refused", func(w *world) string { return `"command": "touch ` + made(w) + `"` }, func(*testing.T, *world) {}, refuse, "refused"},
		{"always", func(w *world) string { return `"command": "touch ` + made(w) + `"` }, func(*testing.T, *world) {}, always, "no_answer"},
		{"an answer to the same inside", func(w *world) string { return `"command": "touch ` + made(w) + `"` }, func(*testing.T, *world) {}, func(r approval.Request) approval.Decision {
			r.Kind = approval.Exec
			return approval.Allow(r, "dialog")
		}, "refused"},
		{"switched off while it waits", func(w *world) string { return `"command": "touch ` + made(w) + `"` }, func(t *testing.T, w *world) {
			if err := w.gate.Switches.Set("stdio:aask", "outside", false); err != nil {
				t.Fatal(err)
			}
		}, allow, "not_switched_on"},
		{"a script that is changed while it waits", func(w *world) string {
			w.program("run.sh", "#!/bin/sh\ntrue\n")
			return `"command": "./run.sh", "workdir": "proj"`
		}, func(_ *testing.T, w *world) { w.program("run.sh", "#!/bin/sh\ntouch "+made(w)+"\n") }, allow, "changed"},
		{"a script that an assistant may change", func(w *world) string {
			w.program("run.sh", "#!/bin/sh\ntouch "+made(w)+"\n")
			open(w, proj(w))
			return `"command": "sh run.sh", "workdir": "proj"`
		}, nil, nil, "denied"},
		{"a script that a link leads to which an assistant may change", func(w *world) string {
			script, way := filepath.Join(w.home, "script"), filepath.Join(w.home, "way")
			for _, err := range []error{os.WriteFile(script, []byte("touch "+made(w)+"\n"), 0o755), os.Symlink(script, filepath.Join(proj(w), "link")), os.Symlink(filepath.Join(proj(w), "link"), way)} {
				if err != nil {
					panic(err)
				}
			}
			open(w, proj(w))
			return `"command": "sh ` + way + `"`
		}, nil, nil, "denied"},
		{"a script that an assistant may change while it waits", func(w *world) string {
			w.program("run.sh", "#!/bin/sh\ntouch "+made(w)+"\n")
			return `"command": "./run.sh", "workdir": "proj"`
		}, func(_ *testing.T, w *world) { open(w, proj(w)) }, allow, "denied"},
		{"another folder in its place", func(*world) string { return `"command": "touch ../../h/made", "workdir": "proj"` }, func(t *testing.T, w *world) {
			for _, err := range []error{os.Rename(proj(w), proj(w)+"-old"), os.Mkdir(proj(w), 0o755)} {
				if err != nil {
					t.Fatal(err)
				}
			}
		}, allow, "changed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, p := outsideWorld(t)
			args := `{` + c.args(w) + `, "host": "gateway"}`
			text := ""
			if c.do == nil {
				text, _ = w.raw(`{"exec": ` + args + `}`)
				if len(p.shown) > 0 {
					t.Error("it was asked for")
				}
			} else {
				id := w.pending(t, args)
				p.sees(t)
				c.do(t, w)
				p.says(t, c.answer)
				text = w.poll(t, id)
			}
			if !strings.Contains(text, "["+c.code+"]") {
				t.Errorf("%s, want %s", text, c.code)
			}
			if _, err := os.Stat(made(w)); err == nil {
				t.Error("it ran")
			}
			if n := len(w.gate.Jobs.List("")); n != 0 {
				t.Errorf("%d jobs ran", n)
			}
		})
	}
}

// A command outside the sandbox ends when the switch goes off, as when the person pauses: nothing of it is left.
func TestOutsideEnds(t *testing.T) {
	for name, end := range map[string]func(w *world) error{
		"switched off": func(w *world) error {
			err := w.gate.Switches.Set("stdio:aask", "outside", false)
			w.gate.StopSwitchedOff(func(string) string { return "stdio:aask" })
			return err
		},
		"paused": func(w *world) error { go w.gate.Jobs.Close(job.Stopped); return nil },
	} {
		w, p := outsideWorld(t)
		id := w.pending(t, `{"command": "sleep 1000", "host": "gateway", "background": true}`)
		p.sees(t)
		p.says(t, allow)
		w.gate.mu.Lock()
		asked := w.gate.asked[id]
		w.gate.mu.Unlock()
		within(t, asked.settled, "the question isn't settled")
		if asked.job == nil {
			t.Fatal(asked.err)
		}
		if err := end(w); err != nil {
			t.Fatal(err)
		}
		within(t, asked.job.Done(), name+": it goes on")
		if got := asked.job.Result(); got.Stopped != job.Stopped {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
