package command

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tools is a disk of programs that the user can't change, in /t (on the PATH) and in the system's folders.
type tools map[string]File

func testTools() tools {
	d := tools{}
	for i, p := range strings.Fields(`/t/git /t/npm /t/npx /t/pnpm /t/bunx /t/node /t/sudo /t/doas /t/setsid /t/make /t/python3 /t/rm /t/run.sh /usr/bin/head /usr/bin/wc /usr/bin/sort /usr/bin/tail /usr/bin/tr
		/usr/bin/cut /usr/bin/uniq /usr/bin/grep /usr/bin/sh /usr/bin/bash /usr/bin/env /usr/bin/nice /usr/bin/timeout /usr/bin/nohup /usr/bin/stdbuf /usr/bin/find /usr/bin/xargs /usr/bin/ls /usr/bin/cat
		/usr/bin/awk /usr/bin/sed /usr/bin/time /usr/bin/zsh /usr/bin/fish /usr/bin/whoami /usr/bin/echo /usr/bin/true /usr/bin/test /usr/bin/pwd /usr/bin/osascript /evil/head /evil/git /usr/bin/python3 /usr/bin/jq
		/usr/bin/date /usr/bin/basename /usr/bin/stat /usr/bin/rg`) {
		d[p] = File{Real: p, ID: FileID{1, uint64(i + 1)}, Regular: true, Exec: true, Size: 10}
	}
	return d
}

func (d tools) Stat(p string) (File, error) {
	if f, ok := d[p]; ok {
		return f, nil
	}
	return File{}, os.ErrNotExist
}
func (d tools) Writable(p string) bool {
	return strings.HasPrefix(p, "/evil") || strings.HasPrefix(p, "/w")
}
func (d tools) Names(string) ([]string, error) { return nil, os.ErrNotExist }
func (d tools) context() Context {
	return Context{Shell: Bash, Dir: "/w", Home: "/home/me", Path: []string{"/t", "/usr/bin"}, Files: d}
}

// lines gives the rows of a table in testdata, without comments.
func lines(t *testing.T, name string, fields int) [][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") && i < 8 {
			continue
		}
		row := strings.Split(line, "|")
		if len(row) != fields {
			t.Fatalf("%s:%d: %d fields: %s", name, i+1, len(row), line)
		}
		for i := range row {
			row[i] = strings.NewReplacer("¦", "|", `\n`, "\n").Replace(strings.Trim(row[i], " "))
		}
		rows = append(rows, row)
	}
	fmt.Printf("%s cases: %d\n", name, len(rows))
	return rows
}

func TestAllowlistDecides(t *testing.T) {
	d := testTools()
	for _, row := range lines(t, "allowlist.txt", 3) {
		var entries []Entry
		bins := SafeBins{}
		for _, w := range strings.Fields(row[1]) {
			e := Entry{Action: AllowIt}
			switch {
			case w == "+bins":
				bins.Names = DefaultSafeBins
				continue
			case strings.HasPrefix(w, "="):
				entries[len(entries)-1].ArgPattern = w[1:]
				continue
			case strings.HasPrefix(w, "-"):
				e.Action, w = RefuseIt, w[1:]
			case strings.HasPrefix(w, "?") && strings.HasPrefix(w, "?/"):
				e.Action, w = AskFirst, w[1:]
			}
			if dir, base := path.Split(w); dir == "/t/" && d["/t/"+base].Real == "" && d["/usr/bin/"+base].Real != "" {
				w = "/usr/bin/" + base
			}
			e.Pattern = w
			entries = append(entries, e)
		}
		// Regular expressions stand in words of their own: one with a blank in it is written with ".".
		list, err := CompileAllowlist(entries, "/home/me")
		if err != nil {
			t.Errorf("%q: %v", row, err)
			continue
		}
		got := list.Decide(Analyse(row[0], d.context()), bins)
		answer := "no"
		switch {
		case got.Refused:
			answer = "refused"
		case got.Allowed:
			answer = "yes"
		}
		if answer != row[2] {
			t.Errorf("%q with %q: %s (%s), want %s", row[0], row[1], answer, got.Why, row[2])
		}
		if got.Allowed && got.Argv == nil && got.Script == "" || !got.Allowed && (got.Argv != nil || got.Script != "") {
			t.Errorf("%q: allowed %v, but runs %q %q", row[0], got.Allowed, got.Argv, got.Script)
		}
		for _, argv := range got.Argv {
			if !strings.HasPrefix(argv[0], "/") {
				t.Errorf("%q runs %q: its program would be looked up again", row[0], argv)
			}
		}
	}
}

// An entry for a path is matched with the real path, and with the path that was found only where the user can't put another
// program.
func TestAllowlistLinks(t *testing.T) {
	d := testTools()
	d["/usr/bin/date"] = File{Real: "/usr/lib/cargo/bin/coreutils/date", ID: FileID{1, 900}, Regular: true, Exec: true}
	d["/w/bin/date"] = File{Real: "/usr/lib/cargo/bin/coreutils/date", ID: FileID{1, 900}, Regular: true, Exec: true}
	for _, c := range []struct {
		path, pattern string
		want          bool
	}{
		{"/usr/bin", "/usr/bin/date", true},
		{"/usr/bin", "/usr/lib/cargo/**", true},
		{"/usr/bin", "date", true},
		{"/w/bin", "/w/bin/date", false},
		{"/w/bin", "/usr/lib/cargo/bin/coreutils/date", true},
	} {
		ctx := d.context()
		ctx.Path = []string{c.path}
		list, err := CompileAllowlist([]Entry{{Pattern: c.pattern, Action: AllowIt}}, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := list.Decide(Analyse("date", ctx), SafeBins{}); got.Allowed != c.want {
			t.Errorf("%+v: %v %s", c, got.Allowed, got.Why)
		}
	}
}

func TestSafeBins(t *testing.T) {
	d := testTools()
	d["/opt/tools/myprog"] = File{Real: "/opt/tools/myprog", ID: FileID{1, 800}, Regular: true, Exec: true}
	for _, row := range lines(t, "safebins.txt", 2) {
		ctx := d.context()
		ctx.Path = append(ctx.Path, "/opt/tools", "/evil")
		bins := SafeBins{Names: append(slices.Clone(DefaultSafeBins), "grep", "sort", "jq", "awk", "sed", "python3", "echo", "myprog", "cat"),
			Profiles: map[string]SafeProfile{"echo": {Most: 1}, "myprog": {Most: 1}, "jq": {Most: 1}, "sed": {Most: 1}, "awk": {Most: 1}}}
		script := row[0]
		if rest, ok := strings.CutPrefix(script, "+dir "); ok {
			script, bins.Folders = rest, []string{"/opt/tools"}
		}
		var none Allowlist
		got := (&none).Decide(Analyse(script, ctx), bins)
		if want := row[1] == "yes"; got.Allowed != want {
			t.Errorf("%q: %v (%s), want %v", row[0], got.Allowed, got.Why, want)
		}
	}
}

func TestInlineCode(t *testing.T) {
	d := testTools()
	for _, name := range strings.Fields(`python python3.13 pypy3 PYTHON3 python3.exe nodejs bun deno ruby perl php R Rscript julia elixir groovy scala clojure raku ghc erl gdb expect lua gawk make gmake gsed tsx ts-node tclsh uv npx vim pwsh powershell r2 xargs`) {
		d["/t/"+name] = File{Real: "/t/" + name, ID: FileID{2, uint64(len(name))}, Regular: true, Exec: true}
	}
	for _, row := range lines(t, "inline.txt", 2) {
		got := StrictInline(Analyse(row[0], d.context()))
		if want := row[1] == "yes"; (len(got) > 0) != want {
			t.Errorf("%q: %v, want %v", row[0], got, want)
		}
	}
}

func TestEnvironmentNames(t *testing.T) {
	for _, row := range lines(t, "environment.txt", 3) {
		name, value, _ := strings.Cut(row[0], "=")
		for i, outside := range []bool{false, true} {
			blocked, invalid := CheckEnvironment(map[string]string{name: value, "SAFE": "1"}, outside)
			got := "ok"
			switch {
			case len(blocked) > 0:
				got = "blocked"
			case len(invalid) > 0:
				got = "invalid"
			}
			if got != row[1+i] {
				t.Errorf("%q outside %v: %s, want %s", row[0], outside, got, row[1+i])
			}
			if slices.Contains(blocked, "SAFE") || slices.Contains(invalid, "SAFE") {
				t.Errorf("%q: SAFE is refused", row[0])
			}
		}
	}
}
