package approval

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"handrail/core/client"
	"handrail/core/grant"
)

var rulesKey = []byte("the keychain's")

// ruled is a question that offers a rule, each call with memory of its own.
func ruled() Request {
	return Request{Kind: Exec, Who: client.Identity{ID: "stdio:/opt/claude", Name: "Claude", Version: "1", Program: "/opt/claude", PID: 7, Signed: "Example"}, Session: "s", Tool: "exec",
		Folder: "/home/me/Handrail", Home: "/home/me", FolderID: grant.ID{Device: 1, Inode: 2}, Reason: "to count",
		Command: &Command{Text: "sh ./count.sh", Runs: "/usr/bin/sh ./count.sh", Why: []string{"it isn't on the list"}, Rule: &Rule{Program: "/usr/bin/sh", Script: "/home/me/Handrail/count.sh"},
			Files: []File{{Path: "/usr/bin/sh", Real: "/usr/bin/dash", ID: grant.ID{Device: 1, Inode: 3}}, {Path: "/home/me/Handrail/count.sh", Real: "/home/me/Handrail/count.sh", ID: grant.ID{Device: 1, Inode: 4}, Script: true, SHA256: "0a"}}}}
}

// A rule covers the very same question in another session, and none that differs in anything that the person was shown.
func TestRulesCover(t *testing.T) {
	dir := t.TempDir()
	s := OpenRules(dir, rulesKey)
	id, err := s.Keep(ruled())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Rules{s, OpenRules(dir, rulesKey)} {
		same := ruled()
		same.Session, same.Reason, same.Who.PID, same.Who.Version, same.Command.Why = "another", "", 8, "2", []string{"else"}
		if got, ok := s.Covers(same); !ok || got != id {
			t.Errorf("the same command in another session is asked for: %q %v", got, ok)
		}
	}
	free := map[string]bool{"Session": true, "Reason": true, "Who.PID": true, "Who.Version": true, "Command.Why": true}
	r := ruled()
	n := eachField(t, reflect.ValueOf(&r).Elem(), "", func(name string) {
		if _, ok := s.Covers(r); ok != free[name] {
			t.Errorf("%s differs: covered %v", name, ok)
		}
	})
	if n < 40 {
		t.Errorf("only %d fields were changed", n)
	}
	if err := s.Remove(id); err != nil {
		t.Error(err)
	}
	if _, ok := s.Covers(ruled()); ok {
		t.Error("a rule that was taken back covers")
	}
	if err := s.Remove(id); !errors.Is(err, ErrNoRule) {
		t.Errorf("taken back twice: %v", err)
	}
}

// Nothing but the person's choice of what was offered makes a rule, and a file that isn't ours holds none.
func TestRulesFailClosed(t *testing.T) {
	keep := func(t *testing.T, key []byte) (*Rules, string) {
		t.Helper()
		dir := t.TempDir()
		if _, err := OpenRules(dir, key).Keep(ruled()); err != nil {
			t.Fatal(err)
		}
		return OpenRules(dir, rulesKey), filepath.Join(dir, "exec-rules.json")
	}
	edit := func(old, new string) func(*testing.T, string) {
		return func(t *testing.T, file string) {
			text, err := os.ReadFile(file)
			if err != nil || !strings.Contains(string(text), old) {
				t.Fatalf("%q isn't in the file: %v", old, err)
			}
			if err := os.WriteFile(file, []byte(strings.Replace(string(text), old, new, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, tamper := range map[string]func(*testing.T, string){
		"another command":    edit(`/usr/bin/sh ./count.sh`, `/usr/bin/sh ./other.sh`),
		"another client":     edit(`stdio:/opt/claude`, `stdio:/opt/evil`),
		"a field more":       edit(`"version":1`, `"version":1,"also":true`),
		"another version":    edit(`"version":1`, `"version":2`),
		"no MAC":             edit(`"mac":"`, `"mac":"0`),
		"cut off":            edit(`"mac"`, ``),
		"more behind":        edit(`"version":1`, `"version":1}{"version":1`),
		"empty":              func(t *testing.T, file string) { os.WriteFile(file, nil, 0o600) },
		"others may read it": func(t *testing.T, file string) { os.Chmod(file, 0o644) },
		"a link": func(t *testing.T, file string) {
			os.Rename(file, file+".real")
			os.Symlink(file+".real", file)
		},
		"a folder": func(t *testing.T, file string) { os.Remove(file); os.Mkdir(file, 0o700) },
	} {
		s, file := keep(t, rulesKey)
		if _, ok := s.Covers(ruled()); !ok {
			t.Fatalf("%s: not kept", name)
		}
		tamper(t, file)
		for _, s := range []*Rules{s, OpenRules(filepath.Dir(file), rulesKey)} {
			if _, ok := s.Covers(ruled()); ok || s.Offers() {
				t.Errorf("%s: it covers %v, and offers %v", name, ok, s.Offers())
			}
			if _, err := s.Keep(ruled()); err == nil {
				t.Errorf("%s: a rule was added to it", name)
			}
			if list, err := s.List(); err == nil || len(list) > 0 {
				t.Errorf("%s: lists %v, %v", name, list, err)
			}
		}
	}
	t.Run("another key", func(t *testing.T) {
		s, file := keep(t, []byte("another"))
		if _, ok := s.Covers(ruled()); ok || s.Offers() {
			t.Error("a record of another key covers")
		}
		if err := s.RemoveAll(); err != nil || !s.Offers() {
			t.Errorf("it can't be cleared: %v", err)
		}
		if _, err := os.Stat(file); err == nil {
			t.Error("it is still there")
		}
	})
	t.Run("no key", func(t *testing.T) {
		for _, s := range []*Rules{nil, {}, OpenRules(t.TempDir(), nil)} {
			if _, ok := s.Covers(ruled()); ok || s.Offers() {
				t.Error("it covers")
			}
			if _, err := s.Keep(ruled()); !errors.Is(err, ErrNoKey) {
				t.Errorf("kept: %v", err)
			}
		}
	})
	t.Run("not offered", func(t *testing.T) {
		s := OpenRules(t.TempDir(), rulesKey)
		for _, change := range []func(*Request){
			func(r *Request) { r.Kind = Delete }, func(r *Request) { r.Command = nil }, func(r *Request) { r.Command.Rule = nil },
			func(r *Request) { r.Command.Runs = "cat \xff" }, func(r *Request) { r.Command.Files[0].Path += "\xff" }, func(r *Request) { r.Command.Files[1].Real += "\xff" },
			func(r *Request) { r.Who.Name = "\xff" }, func(r *Request) { r.Who.Program = "/\xff" }, func(r *Request) { r.Home = "/\xff" },
		} {
			r := ruled()
			change(&r)
			if _, err := s.Keep(r); err == nil {
				t.Errorf("kept %+v", r)
			}
		}
	})
}

// A client that has gone leaves no rule behind, and takes no other's along.
func TestRulesForget(t *testing.T) {
	s := OpenRules(t.TempDir(), rulesKey)
	mine, other := ruled(), ruled()
	other.Who.ID = "http:other"
	for _, r := range []Request{mine, other} {
		if _, err := s.Keep(r); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := s.Forget(mine.Who.ID); err != nil {
			t.Error(err)
		}
	}
	_, left := s.Covers(mine)
	if _, kept := s.Covers(other); left || !kept {
		t.Errorf("the client's own rule is left: %v; another's is kept: %v", left, kept)
	}
	if err := OpenRules(t.TempDir(), nil).Forget("http:x"); !errors.Is(err, ErrNoKey) {
		t.Errorf("without a key: %v", err)
	}
}

// The file is the user's alone; rules made and taken back by two processes at a time don't undo one another.
func TestRulesTogether(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range 4 {
		s := OpenRules(dir, rulesKey)
		all.Go(func() {
			for k := range 5 {
				r := ruled()
				r.Folder += string(rune('a'+i)) + string(rune('a'+k))
				id, err := s.Keep(r)
				if err != nil {
					t.Error(err)
				}
				if k > 0 {
					continue
				}
				if err := s.Remove(id); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	list, err := OpenRules(dir, rulesKey).List()
	if err != nil || len(list) != 16 {
		t.Errorf("%d rules, %v", len(list), err)
	}
	info, err := os.Stat(filepath.Join(dir, "exec-rules.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}
