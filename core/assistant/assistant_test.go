package assistant

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"handrail/core/hint"
)

var update = flag.Bool("update", false, "write the goldens")

var testCommand = Command{Path: "/Applications/ราว จับ & Handrail 2.app/Contents/MacOS/handrail", Args: []string{"stdio"}}

// standIn is a computer with a home folder of its own.
func standIn(t testing.TB, system string) Computer {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return Computer{Home: filepath.Join(dir, "home"), System: system, Applications: []string{filepath.Join(dir, "Applications")}}
}

// with writes the file of an assistant, and gives its path.
func (c Computer) with(t testing.TB, id, text string) string {
	t.Helper()
	k, err := find(id)
	if err != nil {
		t.Fatal(err)
	}
	file, _ := c.file(k)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	return file
}

// now checks what a file holds, and its mode.
func now(t testing.TB, file, want string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil || string(text) != want {
		t.Errorf("%s holds, %v:\n%s\nand not:\n%s", file, err, text, want)
	}
	if st, err := os.Stat(file); err == nil && st.Mode().Perm() != 0o640 {
		t.Errorf("%s has mode %v", file, st.Mode())
	}
}

func gone(t testing.TB, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if _, err := os.Lstat(p); !os.IsNotExist(err) {
			t.Errorf("%s is there: %v", p, err)
		}
	}
}

func (c Computer) state(t testing.TB, id string, command Command) State {
	t.Helper()
	a, err := c.Find(id, command)
	if err != nil {
		t.Fatal(err)
	}
	return a.State
}

// Each assistant's file as it writes it, with Handrail in it, and again without: byte for byte.
func TestEach(t *testing.T) {
	for _, k := range known {
		golden := filepath.Join("testdata", k.id+".txtar")
		a, err := txtar.ParseFile(golden)
		if err != nil {
			t.Errorf("%s: %v", k.id, err)
			continue
		}
		before := string(a.Files[0].Data)
		for _, system := range []string{"darwin", "linux"} {
			t.Run(k.id+" "+system, func(t *testing.T) {
				c := standIn(t, system)
				if s := c.state(t, k.id, testCommand); s != NotFound {
					t.Errorf("before it was installed: %v", s)
				}
				file := c.with(t, k.id, before)
				if s := c.state(t, k.id, testCommand); s != Apart {
					t.Errorf("before: %v", s)
				}
				ch, err := c.Connect(k.id, testCommand, false)
				if err != nil || ch.Nothing || ch.Assistant.State != Connected || ch.Backup != file+backupEnding {
					t.Fatalf("%+v, %v", ch, err)
				}
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if *update && system == "darwin" {
					a.Files = append(a.Files[:1], txtar.File{Name: "after", Data: text})
					if err := os.WriteFile(golden, txtar.Format(a), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				after := string(a.Files[1].Data)
				now(t, file, after)
				if copied, err := os.ReadFile(ch.Backup); err != nil || string(copied) != before {
					t.Errorf("kept: %q, %v", copied, err)
				}
				if st, err := os.Stat(ch.Backup); err != nil || st.Mode().Perm() != 0o600 {
					t.Errorf("kept with %v, %v", st.Mode(), err)
				}
				if s := c.state(t, k.id, testCommand); s != Connected {
					t.Errorf("connected: %v", s)
				}
				if again, err := c.Connect(k.id, testCommand, false); err != nil || !again.Nothing {
					t.Errorf("again: %+v, %v", again, err)
				}
				now(t, file, after)

				moved := Command{Path: "/Applications/Handrail.app/Contents/MacOS/handrail", Args: []string{"stdio", "--state", "/x y"}}
				if s := c.state(t, k.id, moved); s != Different {
					t.Errorf("for an app that was moved: %v", s)
				}
				if _, err := c.Connect(k.id, moved, false); err != nil || c.state(t, k.id, moved) != Connected {
					t.Errorf("connected anew: %v", err)
				}
				ch, err = c.Disconnect(k.id)
				if err != nil || !ch.Restored || ch.Backup != "" || ch.Assistant.State != Apart {
					t.Errorf("disconnected: %+v, %v", ch, err)
				}
				now(t, file, before)
				gone(t, file+backupEnding)
				if ch, err := c.Disconnect(k.id); err != nil || !ch.Nothing {
					t.Errorf("disconnected again: %+v, %v", ch, err)
				}

				// Something else changes in between: that stays.
				if _, err := c.Connect(k.id, testCommand, false); err != nil {
					t.Fatal(err)
				}
				changed := strings.NewReplacer("marker", "value of another length").Replace
				c.with(t, k.id, changed(after))
				if ch, err := c.Disconnect(k.id); err != nil || ch.Restored {
					t.Errorf("%+v, %v", ch, err)
				}
				now(t, file, changed(before))
				left, err := os.ReadDir(filepath.Dir(file))
				if err != nil || slices.ContainsFunc(left, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), ".handrail") }) {
					t.Errorf("left behind: %v %v", left, err)
				}
			})
		}
	}
}

// Where there is an assistant but no file, one is made, and taken away again; its folder never is.
func TestNoFile(t *testing.T) {
	for _, k := range known {
		for _, system := range []string{"darwin", "linux"} {
			c := standIn(t, system)
			file := c.with(t, k.id, "")
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			if filepath.Dir(file) == c.Home { // the home folder shows nothing
				if s := c.state(t, k.id, testCommand); s != NotFound {
					t.Errorf("%s: %v", k.id, s)
				}
				if err := os.Mkdir(filepath.Join(c.Home, ".claude"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(file+backupEnding, []byte("of old"), 0o600); err != nil {
				t.Fatal(err)
			}
			ch, err := c.Connect(k.id, testCommand, false)
			if err != nil || ch.Backup != "" || c.state(t, k.id, testCommand) != Connected {
				t.Errorf("%s: %+v, %v", k.id, ch, err)
			}
			if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", k.id, st, err)
			}
			if ch, err := c.Disconnect(k.id); err != nil || !ch.Restored {
				t.Errorf("%s: %+v, %v", k.id, ch, err)
			}
			gone(t, file, file+backupEnding)
		}
	}
}

// Nothing is made for what isn't installed, nor for what was never opened.
func TestNotInstalled(t *testing.T) {
	for _, system := range []string{"darwin", "linux"} {
		c := standIn(t, system)
		if err := os.Mkdir(c.Home, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, k := range known {
			for _, do := range []func() (Change, error){func() (Change, error) { return c.Connect(k.id, testCommand, true) }, func() (Change, error) { return c.Disconnect(k.id) }} {
				if _, err := do(); hint.Code(err) != "not_installed" {
					t.Errorf("%s: %v", k.id, err)
				}
			}
		}
		if left, err := os.ReadDir(c.Home); err != nil || len(left) > 0 {
			t.Errorf("%v, %v", left, err)
		}
	}
	c := standIn(t, "darwin")
	for _, dir := range []string{c.Home, filepath.Join(c.Applications[0], "Zed.app")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if s := c.state(t, "zed", testCommand); s != Apart {
		t.Errorf("installed: %v", s)
	}
	if _, err := c.Connect("zed", testCommand, false); hint.Code(err) != "open_once" {
		t.Errorf("never opened: %v", err)
	}
	if left, err := os.ReadDir(c.Home); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	if _, err := c.Connect("nobody", testCommand, false); hint.Code(err) != "unknown_assistant" {
		t.Error(err)
	}
	if all := (Computer{}).List(testCommand); len(all) != len(known) || slices.ContainsFunc(all, func(a Assistant) bool { return a.State != NotFound }) {
		t.Errorf("without a home folder: %v", all)
	}
}

// Entries under our name: which are ours, and what happens to the others.
func TestUnderOurName(t *testing.T) {
	for _, x := range []struct {
		entry string
		want  State
	}{
		{`{"command": "` + testCommand.Path + `", "args": ["stdio"]}`, Connected},
		{`{"args": ["stdio"], "command": "` + testCommand.Path + `", "disabled": false, "autoApprove": ["bash"], "env": {"A": "b"}}`, Connected},
		{`{"command": "` + testCommand.Path + `", "args": ["stdio"], "disabled": true}`, Different},
		{`{"command": "` + testCommand.Path + `", "args": ["stdio"], "enabled": false}`, Different},
		{`{"command": "/usr/local/bin/handrail", "args": ["stdio"]}`, Different},
		{`{"command": "handrail", "args": ["stdio", "--state", "x"]}`, Different},
		{`{"command": "/x/handrail", "args": ["serve", "--stdio", "--level", "look"]}`, Different},
		{`{"command": "/x/handrail", "args": ["doctor"]}`, Taken},
		{`{"command": "/x/handrail"}`, Taken},
		{`{"command": "npx", "args": ["-y", "handrail", "stdio"]}`, Taken},
		{`{"url": "http://127.0.0.1:7437/mcp", "headers": {"Authorization": "Bearer secret"}}`, Taken},
		{`{"command": ["handrail"], "args": "stdio"}`, Taken},
		{`{}`, Taken}, {`null`, Taken}, {`"x"`, Taken}, {`[]`, Taken},
	} {
		c := standIn(t, "linux")
		before := `{"mcpServers": {"handrail": ` + x.entry + `, "b": {}}}`
		file := c.with(t, "claude-desktop", before)
		if s := c.state(t, "claude-desktop", testCommand); s != x.want {
			t.Errorf("%s: %v", x.entry, s)
		}
		_, err := c.Connect("claude-desktop", testCommand, false)
		if x.want == Taken {
			if hint.Code(err) != "not_ours" || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v", x.entry, err)
			}
			if _, err := c.Disconnect("claude-desktop"); hint.Code(err) != "not_ours" {
				t.Errorf("%s: disconnected: %v", x.entry, err)
			}
			now(t, file, before)
			gone(t, file+backupEnding)
			_, err = c.Connect("claude-desktop", testCommand, true)
		}
		if err != nil || c.state(t, "claude-desktop", testCommand) != Connected {
			t.Errorf("%s: %v", x.entry, err)
		}
		if _, err := c.Disconnect("claude-desktop"); err != nil {
			t.Errorf("%s: %v", x.entry, err)
		}
		if x.want != Taken {
			now(t, file, `{"mcpServers": { "b": {}}}`)
		}
	}
}

// A link to the real file stays one, wherever it leads.
func TestLinks(t *testing.T) {
	c := standIn(t, "linux")
	file := c.with(t, "zed", "{ // mine\n}\n")
	dotfiles := filepath.Join(filepath.Dir(c.Home), "dotfiles")
	if err := os.Mkdir(dotfiles, 0o700); err != nil {
		t.Fatal(err)
	}
	real := filepath.Join(dotfiles, "zed.json")
	if err := os.Rename(file, real); err != nil {
		t.Fatal(err)
	}
	between := filepath.Join(c.Home, "between")
	for from, to := range map[string]string{file: between, between: "../dotfiles/zed.json"} {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Connect("zed", testCommand, false); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(real); err != nil || !strings.Contains(string(text), "stdio") {
		t.Errorf("%s %v", text, err)
	}
	gone(t, real+backupEnding)
	if _, err := c.Disconnect("zed"); err != nil {
		t.Fatal(err)
	}
	now(t, real, "{ // mine\n}\n")
	for from, to := range map[string]string{file: between, between: "../dotfiles/zed.json"} {
		if got, err := os.Readlink(from); err != nil || got != to {
			t.Errorf("%s leads to %s, %v", from, got, err)
		}
	}
}

// What another program writes in between is never lost.
func TestInBetween(t *testing.T) {
	c := standIn(t, "linux")
	file := c.with(t, "claude-code", `{"a": 1}`)
	times := 0
	c.testOnlyBetween = func() {
		if times++; times < tries {
			c.with(t, "claude-code", `{"a": 1`+strings.Repeat("0", times)+`}`)
		}
	}
	ch, err := c.Connect("claude-code", testCommand, false)
	if err != nil || times != tries {
		t.Fatalf("%+v after %d times, %v", ch, times, err)
	}
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), `"a": 10000}`) || !strings.Contains(string(text), "stdio") {
		t.Errorf("%s %v", text, err)
	}
	if kept, err := os.ReadFile(ch.Backup); err != nil || string(kept) != `{"a": 10000}` {
		t.Errorf("%s %v", kept, err)
	}
	c.testOnlyBetween = func() {
		times++
		c.with(t, "claude-code", `{"mcpServers": {"handrail": {"command": "/handrail", "args": ["stdio", "`+strings.Repeat("0", times)+`"]}}}`)
	}
	c.with(t, "claude-code", `{}`)
	for _, do := range []func() (Change, error){func() (Change, error) { return c.Connect("claude-code", testCommand, false) }, func() (Change, error) { return c.Disconnect("claude-code") }} {
		if _, err := do(); hint.Code(err) != "config_busy" {
			t.Error(err)
		}
		now(t, file, `{"mcpServers": {"handrail": {"command": "/handrail", "args": ["stdio", "`+strings.Repeat("0", times)+`"]}}}`)
	}
	c = standIn(t, "linux")
	file = c.with(t, "cursor", "{}")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	c.testOnlyBetween = func() {
		if _, err := os.Stat(file); err != nil {
			c.with(t, "cursor", `{"new": 1}`)
		}
	}
	if _, err := c.Connect("cursor", testCommand, false); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), `"new": 1`) || !strings.Contains(string(text), "stdio") {
		t.Errorf("%s %v", text, err)
	}
}

// A file that can't be read as it should is left alone, and nothing of it is told.
func TestHostileText(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 100_000)
	for id, texts := range map[string][]string{
		"claude-desktop": {"x", "[]", `{"mcpServers": []}`, `{"mcpServers": 3}`, `{"secret": "secret}`, `{"mcpServers": {}, "mcpServers": {}}`, `{"mcpServers": {"handrail": {}, "handr\u0061il": {}}}`,
			`{"secret": 1,}`, "{} // secret", `{"a": secret}`, "\x00{}", "{\"\xff\": 1}", "\xff\xfe{\x00}\x00", deep, strings.Repeat("[", 4<<20), `{"a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + "}", "{}{}"},
		"codex":  {"x", "mcp_servers = 1", "a = 1\na = 2", "[mcp_servers]\n[mcp_servers]", "secret = 'secret", "a = " + strings.Repeat("[", 1<<20), strings.Repeat("[a.", 1<<20), "a = \"\x00\"", "\xff\xfe"},
		"goose":  {"x", "- a", "extensions: []", "extensions: x", "a: 1\na: 2", "a: secret: b", "---\na: 1\n---\nb: 1\n", "a: &a [*a]", "a: &a [x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n", strings.Repeat("[", 1<<20), "a: \x00", "\xff\xfe"},
		"vscode": {"x", `{"servers": "secret"}`, "/*", "{\"a\": 1 \"secret\"}", `{"servers": {,}}`},
	} {
		for _, text := range texts {
			c := standIn(t, "linux")
			file := c.with(t, id, text)
			a, err := c.Find(id, testCommand)
			if err != nil || a.State != Broken || a.Problem == nil {
				t.Errorf("%s: %.40q: %v, %v", id, text, a.State, err)
			}
			_, err = c.Connect(id, testCommand, true)
			_, err2 := c.Disconnect(id)
			for _, err := range []error{err, err2} {
				if hint.Code(err) != "config_unreadable" || strings.Contains(err.Error(), "secret") || len(err.Error()) > 1000 {
					t.Errorf("%s: %.40q: %v", id, text, err)
				}
			}
			if left, err := os.ReadFile(file); err != nil || string(left) != text {
				t.Errorf("%s: %.40q was changed: %v", id, text, err)
			}
			gone(t, file+backupEnding)
		}
	}
}

// What an assistant couldn't start, or not as it is shown, isn't written.
func TestBadProgram(t *testing.T) {
	for _, path := range []string{"", "handrail", "./handrail", "/Applications/a\nb.app/Contents/MacOS/handrail", "/a\xff/handrail", "/a\x7f/handrail"} {
		c := standIn(t, "linux")
		file := c.with(t, "zed", "{}")
		if _, err := c.Connect("zed", Command{Path: path, Args: []string{"stdio"}}, true); hint.Code(err) != "bad_program" {
			t.Errorf("%q: %v", path, err)
		}
		now(t, file, "{}")
	}
}

// What a person is told to put into a file is what Connect would.
func TestText(t *testing.T) {
	for _, k := range known {
		text, err := Text(k.id, testCommand)
		c := standIn(t, "linux")
		c.with(t, k.id, text)
		if s := c.state(t, k.id, testCommand); err != nil || s != Connected {
			t.Errorf("%s: %v, %v: %s", k.id, err, s, text)
		}
	}
	other, err := Text("another", testCommand)
	if err != nil || !strings.Contains(other, `"mcpServers"`) {
		t.Errorf("%s %v", other, err)
	}
	if _, err := Text("zed", Command{Path: "x"}); hint.Code(err) != "bad_program" {
		t.Error(err)
	}
}

// Variables move settings, if they are absolute paths.
func TestMoved(t *testing.T) {
	c := standIn(t, "linux")
	moved := filepath.Join(c.Home, "moved")
	for id, want := range map[string]string{"zed": "zed/settings.json", "codex": "config.toml", "claude-code": ".claude.json", "cursor": ""} {
		k, err := find(id)
		if err != nil {
			t.Fatal(err)
		}
		c.Env = func(string) string { return "relative" }
		usual, _ := c.file(k)
		c.Env = nil
		if bare, _ := c.file(k); bare != usual || !strings.HasPrefix(usual, c.Home) {
			t.Errorf("%s: %s, %s", id, bare, usual)
		}
		c.Env = func(string) string { return moved + "/" }
		if want == "" {
			want = usual
		} else {
			want = filepath.Join(moved, want)
		}
		if got, _ := c.file(k); got != want {
			t.Errorf("%s: %s, not %s", id, got, want)
		}
		if files := c.Files(); !slices.Contains(files, want) || !slices.Contains(files, want+backupEnding) {
			t.Errorf("%s isn't listed: %v", want, files)
		}
	}
}

// Connect then Disconnect is the identity on any file that it changes, and Connect changes nothing else.
func FuzzIdentity(f *testing.F) {
	for i, k := range known {
		f.Add(byte(i), []byte(nil))
		if a, err := txtar.ParseFile(filepath.Join("testdata", k.id+".txtar")); err == nil {
			for _, file := range a.Files {
				f.Add(byte(i), file.Data)
				f.Add(byte(i), append(bytes.Clone(byteOrderMark), bytes.ReplaceAll(file.Data, []byte("\n"), []byte("\r\n"))...))
			}
		}
	}
	f.Fuzz(func(t *testing.T, which byte, text []byte) {
		k := known[int(which)%len(known)]
		c := standIn(t, "linux")
		file := c.with(t, k.id, string(text))
		a, err := c.Find(k.id, testCommand)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Connect(k.id, testCommand, false)
		if err != nil || a.State != Apart {
			if err != nil {
				now(t, file, string(text))
				gone(t, file+backupEnding)
			}
			return
		}
		after, err := os.ReadFile(file)
		if err != nil || !inserted(text, after) {
			t.Fatalf("%q became %q, %v", text, after, err)
		}
		if ch, err := c.Disconnect(k.id); err != nil || !ch.Restored {
			t.Fatalf("%q: %+v, %v", text, ch, err)
		}
		now(t, file, string(text))
		gone(t, file+backupEnding)
	})
}
