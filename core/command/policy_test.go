package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestReadPolicy(t *testing.T) {
	cases := []struct{ text, want string }{ // want: part of the error; "" for none
		{`{"version": 1}`, ""},
		{`{"$schema": "x", "version": 1, "mode": "ask", "askFallback": "deny", "sandbox": {"mode": "full"}}`, ""},
		{`{"version": 1, "security": "deny", "ask": "off"}`, ""},
		{`{"version": 1, "security": "allowlist", "ask": "always"}`, ""},
		{`{"version": 1, "sandbox": {"security": "full", "ask": "always"}}`, ""},
		{`{"version": 1, "safeBins": []}`, ""},
		{`{"version": 1, "safeBins": ["x"], "safeBinTrustedDirs": ["/opt/x"], "safeBinProfiles": {"x": {"options": "-n=N", "most": 1}}}`, ""},
		{`{"version": 1, "allowlist": [{"pattern": "/usr/bin/git", "args": "status", "action": "allow", "note": "mine", "examples": [{"argv": ["/usr/bin/git", "status"], "match": true}, {"argv": ["/usr/bin/git", "push"], "match": false}]}]}`, ""},
		{``, "no JSON"},
		{`{`, "no JSON"},
		{`[]`, "wrong type"},
		{`{}`, "version is 0"},
		{`{"version": 2}`, "version is 2"},
		{`{"version": "1"}`, `"version" has the wrong type`},
		{`{"version": 1, "version": 1}`, "duplicate"},
		{`{"version": 1, "Mode": "deny"}`, `no field "Mode"`},
		{`{"version": 1, "allowList": []}`, `no field "allowList"`},
		{`{"version": 1, "allowlist": [{"pattern": "x", "commandText": "y"}]}`, `no field "allowlist.0.commandText"`},
		{`{"version": 1, "mode": "auto"}`, `mode is "auto"`},
		{`{"version": 1, "mode": "full"}`, `mode is "full"`},
		{`{"version": 1, "security": "full"}`, `security is "full"`},
		{`{"version": 1, "ask": "never"}`, `ask is "never"`},
		{`{"version": 1, "mode": "ask", "ask": "off"}`, "excludes"},
		{`{"version": 1, "sandbox": {"mode": "auto"}}`, `mode is "auto"`},
		{`{"version": 1, "sandbox": {"mode": "ask", "security": "deny"}}`, "excludes"},
		{`{"version": 1, "askFallback": "full"}`, "askFallback"},
		{`{"version": 1, "askFallback": "allowlist"}`, "askFallback"},
		{`{"version": 1, "allowlist": [{"pattern": ""}]}`, "empty"},
		{`{"version": 1, "allowlist": [{"pattern": "bin/git"}]}`, "absolute"},
		{`{"version": 1, "allowlist": [{"pattern": "git", "args": "("}]}`, "regexp"},
		{`{"version": 1, "allowlist": [{"pattern": "git", "action": "permit"}]}`, "action"},
		{`{"version": 1, "allowlist": [{"pattern": "git", "examples": [{"argv": ["npm"], "match": true}]}]}`, "doesn't match its example"},
		{`{"version": 1, "allowlist": [{"pattern": "git", "examples": [{"argv": ["git", "push"], "match": false}]}]}`, "matches its example"},
		{`{"version": 1, "allowlist": [{"pattern": "git", "examples": [{"argv": [], "match": true}]}]}`, "an example is empty"},
		{`{"version": 1, "safeBins": ["jq"]}`, "jq"},
		{`{"version": 1, "safeBins": ["python3"]}`, "python3"},
		{`{"version": 1, "safeBinProfiles": {"awk": {}}}`, "awk"},
		{`{"version": 1, "safeBinProfiles": {"head": {"most": 9}}}`, "head"},
		{`{"version": 1, "safeBinProfiles": {"x": {"least": 2, "most": 1}}}`, "least"},
		{`{"version": 1, "safeBinTrustedDirs": ["bin"]}`, "absolute"},
		{`{"version": 1, "safeBinTrustedDirs": ["/opt/../tmp"]}`, "shortest"},
		{strings.Repeat(" ", MaxPolicy) + `{"version": 1}`, "more than"},
	}
	for _, c := range cases {
		p, err := ReadPolicy([]byte(c.text), "/home/me")
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%.120s: %v, want %q", c.text, err, c.want)
		case err != nil && p.Judge(Analyse("true", testTools().context()), p.Sandbox).Outcome != RefuseScript:
			t.Errorf("%.120s: an error gives a policy that lets something run", c.text)
		}
	}
	fmt.Printf("policy documents cases: %d\n", len(cases))
}

// The stricter of two modes, and what it makes of scripts that are on the list, that aren't, and that carry code.
func TestModes(t *testing.T) {
	mode := func(s string) Mode {
		for _, m := range modes {
			if m.name == s {
				return m.mode
			}
		}
		security, ask, _ := strings.Cut(s, "/")
		a, err := ParseAsk(ask)
		if i := slices.Index(securities, security); err == nil && i >= 0 {
			return newMode(Security(i), a)
		}
		t.Fatalf("no mode %q", s)
		return Mode{}
	}
	const run, ask, refuse = RunScript, AskPerson, RefuseScript
	cases := []struct {
		a, b        string
		on, off     Outcome // on the list, not on it
		strict, ban Outcome // not on the list and with code in it, with strictInlineEval; refused by an entry
	}{
		{"full", "full", run, run, ask, refuse},
		{"full", "full/on-miss", run, run, ask, refuse},
		{"full", "full/always", ask, ask, ask, refuse},
		{"full", "allowlist", run, refuse, refuse, refuse},
		{"full", "ask", run, ask, ask, refuse},
		{"full", "deny", refuse, refuse, refuse, refuse},
		{"allowlist", "ask", run, refuse, refuse, refuse},
		{"ask", "allowlist", run, refuse, refuse, refuse},
		{"allowlist", "allowlist/always", ask, refuse, refuse, refuse},
		{"ask", "allowlist/always", ask, ask, ask, refuse},
		{"deny", "full/always", refuse, refuse, refuse, refuse},
		{"full/always", "ask", ask, ask, ask, refuse},
	}
	for _, c := range cases {
		p, err := ReadPolicy([]byte(`{"version": 1, "strictInlineEval": true, "allowlist": [{"pattern": "/t/git"}, {"pattern": "/t/npm", "action": "deny"}]}`), "")
		if err != nil {
			t.Fatal(err)
		}
		m := mode(c.a).Stricter(mode(c.b))
		if m != mode(c.b).Stricter(mode(c.a)) {
			t.Errorf("%s and %s: the order counts", c.a, c.b)
		}
		for script, want := range map[string]Outcome{"git status": c.on, "make all": c.off, "python3 -c 1": c.strict, "git status && npm test": c.ban} {
			j := p.Judge(Analyse(script, testTools().context()), m)
			if j.Outcome != want || (len(j.Why) == 0) != (want == run) {
				t.Errorf("%s and %s: %s: %v %q, want %v", c.a, c.b, script, j.Outcome, j.Why, want)
			}
			if want == run && (m.Security == ListOnly) != j.Decision.Allowed {
				t.Errorf("%s and %s: %s: allowed by the list: %v", c.a, c.b, script, j.Decision.Allowed)
			}
		}
	}
	if (Policy{}).Judge(Analyse("true", testTools().context()), Mode{}).Outcome != RefuseScript {
		t.Error("the zero policy lets something run")
	}
	fmt.Printf("modes cases: %d\n", 4*len(cases))
}

// store is a state folder with a policy file.
type store struct {
	t   *testing.T
	dir string
}

var testKey = []byte("a key from the keychain")

func (s store) write(text string) {
	s.t.Helper()
	if err := os.WriteFile(PolicyFile(s.dir), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// is gives how a policy treats three scripts: r runs, a is asked for, - is refused.
func is(p Policy) string {
	var b strings.Builder
	for _, script := range []string{"git status", "make all", "npm test"} {
		b.WriteByte("-ar"[p.Judge(Analyse(script, testTools().context()), p.Sandbox).Outcome])
	}
	return b.String()
}

const (
	asksGit = `{"version": 1, "sandbox": {"mode": "ask"}, "allowlist": [{"pattern": "/t/git"}]}`
	asksAll = `{"version": 1, "sandbox": {"mode": "ask"}}`
	listGit = `{"version": 1, "sandbox": {"mode": "allowlist"}, "allowlist": [{"pattern": "/t/git"}]}`
	wide    = `{"version": 1, "sandbox": {"mode": "full"}}`
	more    = `{"version": 1, "sandbox": {"mode": "ask"}, "allowlist": [{"pattern": "/t/git"}, {"pattern": "/t/make"}]}`
	denyNPM = `{"version": 1, "allowlist": [{"pattern": "npm", "action": "deny"}]}`
	denyAll = `{"version": 1, "sandbox": {"mode": "deny"}}`
)

// A narrowing counts at once, a widening never without a click, also over a restart.
func TestPolicyStore(t *testing.T) {
	type step struct {
		do   string // a document, "remove", "restart", "agree" or a way to tamper
		want string
		// waits says that something waits for a click.
		waits bool
	}
	for name, steps := range map[string][]step{
		"no file":             {{"restart", "rrr", false}},
		"narrow":              {{asksGit, "raa", false}, {asksAll, "aaa", false}, {denyAll, "---", false}},
		"widen back":          {{asksGit, "raa", false}, {wide, "raa", true}, {"restart", "raa", true}},
		"take the file away":  {{asksGit, "raa", false}, {"remove", "raa", true}, {"restart", "raa", true}},
		"one entry more":      {{asksGit, "raa", false}, {more, "raa", true}},
		"list without asking": {{asksGit, "raa", false}, {listGit, "r--", false}, {asksGit, "r--", true}},
		"a refusal taken out": {{denyNPM, "rr-", false}, {wide, "rr-", true}, {"restart", "rr-", true}},
		"agree":               {{asksGit, "raa", false}, {more, "raa", true}, {"agree", "rra", false}, {"restart", "rra", false}, {asksGit, "raa", false}},
		"agree to full":       {{denyAll, "---", false}, {wide, "---", true}, {"agree", "rrr", false}},
		"agree to no file":    {{asksGit, "raa", false}, {"remove", "raa", true}, {"agree", "rrr", false}, {"restart", "rrr", false}},
		"malformed":           {{asksGit, "raa", false}, {`{"version": 1, "sandbx": {}}`, "aaa", false}, {"restart", "aaa", false}, {asksGit, "raa", false}},
		"malformed at first":  {{`{`, "aaa", false}, {"remove", "rrr", false}},
		"a forged record":     {{asksGit, "raa", false}, {"forge", "raa", false}, {"restart", "raa", false}},
		"a record of another": {{asksGit, "raa", false}, {"other key", "raa", false}, {"restart", "raa", false}},
		"writable by others":  {{asksGit, "raa", false}, {"chmod", "aaa", false}},
		"a link":              {{asksGit, "raa", false}, {"link", "aaa", false}},
	} {
		t.Run(name, func(t *testing.T) {
			s := store{t, t.TempDir()}
			p := OpenPolicy(s.dir, "/home/me", testKey)
			for i, x := range steps {
				kept := filepath.Join(s.dir, "exec-policy.agreed")
				switch x.do {
				case "restart":
					p = OpenPolicy(s.dir, "/home/me", testKey)
				case "remove":
					os.Remove(PolicyFile(s.dir))
				case "agree":
					_, status := p.Now()
					if err := p.Agree(append(slices.Clone(status.Waiting), "more")); !errors.Is(err, ErrOther) {
						t.Errorf("step %d: agreed to something else: %v", i, err)
					}
					if err := p.Agree(status.Waiting); err != nil {
						t.Errorf("step %d: %v", i, err)
					}
				case "forge": // as wide as can be, with the MAC of the old one
					var k map[string]any
					text, err := os.ReadFile(kept)
					if err == nil {
						err = json.Unmarshal(text, &k)
					}
					if err != nil {
						t.Fatal(err)
					}
					k["policy"].(map[string]any)["Sandbox"] = map[string]any{"Security": 2, "Ask": 2}
					text, _ = json.Marshal(k)
					os.WriteFile(kept, text, 0o600)
				case "other key":
					other := OpenPolicy(s.dir, "/home/me", []byte("another key"))
					if err := other.keep(DefaultPolicy()); err != nil {
						t.Fatal(err)
					}
				case "chmod":
					os.Chmod(PolicyFile(s.dir), 0o666)
				case "link":
					os.Rename(PolicyFile(s.dir), PolicyFile(s.dir)+".real")
					os.Symlink(PolicyFile(s.dir)+".real", PolicyFile(s.dir))
				default:
					s.write(x.do)
				}
				now, status := p.Now()
				if got := is(now); got != x.want || (len(status.Waiting) > 0) != x.waits {
					t.Errorf("step %d (%.60s): %s, waiting %q, problem %q; want %s, %v", i, x.do, got, status.Waiting, status.Problem, x.want, x.waits)
				}
			}
		})
	}
}

// Without a keychain nothing can be agreed to: what the program comes with is the widest.
func TestPolicyWithoutKey(t *testing.T) {
	s := store{t, t.TempDir()}
	p := OpenPolicy(s.dir, "", nil)
	s.write(asksGit)
	if now, status := p.Now(); is(now) != "raa" || !status.NoKey {
		t.Errorf("%s %+v", is(now), status)
	}
	s.write(wide)
	now, status := p.Now()
	if is(now) != "raa" || len(status.Waiting) == 0 {
		t.Errorf("a widening counts: %s %+v", is(now), status)
	}
	if err := p.Agree(status.Waiting); !errors.Is(err, ErrNoKey) {
		t.Errorf("agreed: %v", err)
	}
	if now, status := (*PolicyStore)(nil).Now(); is(now) != "---" || status.Problem == "" {
		t.Error("no store lets something run")
	}
	if entries, _ := os.ReadDir(s.dir); len(entries) != 1 {
		t.Errorf("a record was kept without a key: %v", entries)
	}
}

// Our own programs are found in every spelling that a script's text shows.
func TestOwnPrograms(t *testing.T) {
	d := testTools()
	d["/t/handrail"] = File{Real: "/opt/Handrail/handrail", ID: FileID{9, 9}, Regular: true, Exec: true}
	d["/t/friendly"] = File{Real: "/opt/Handrail/handrail", ID: FileID{9, 9}, Regular: true, Exec: true}
	d["/w/copy"] = File{Real: "/w/copy", ID: FileID{9, 10}, Regular: true, Exec: true}
	own := Own{Names: []string{"handrail", "handrail-ui"}, IDs: []FileID{{9, 9}}}
	yes := []string{"handrail doctor", "/t/handrail", "Handrail", "HANDRAIL x", "friendly", "/t/friendly x", "./handrail", "../x/handrail-ui", "hand'r'ail", `hand\rail`, `"handrail"`, "$'handrail' x",
		"timeout 5 handrail", "nice -n 5 env X=1 handrail", "env -S 'handrail x'", "sudo handrail", "sh -c 'handrail x'", `bash -lc "cd / && friendly"`, "sh -c \"sh -c 'handrail'\"", "eval handrail x",
		"echo $(handrail x)", "echo `handrail`", "cat <(handrail)", "true && handrail", "true | handrail", "handrail &", "(handrail)", "{ handrail; }", "if handrail; then :; fi", "while handrail; do :; done",
		"f() { handrail; }; f", "find . -exec handrail {} \\;", "ls | xargs handrail", "xargs -I {} friendly {}", `"$HOME/bin/handrail"`, "$X/handrail y", "X=1 handrail", "exec handrail", "command handrail", "! handrail",
		"nohup handrail serve &", "trap handrail EXIT", "time handrail", "coproc handrail", "handrail > x", "case a in a) handrail;; esac", "cd /t && ./handrail", "tar --use-compress-program=handrail -xf x"}
	no := []string{"ls handrail", "cat /t/handrail", "echo handrail", "git clone x/handrail", "cd handrail && make", "./copy", "handrails", "grep handrail x", "rm handrail.txt", "echo 'handrail x'", "# handrail"}
	for _, s := range yes {
		if name, ok := own.Starts(Analyse(s, d.context())); !ok || name == "" {
			t.Errorf("%q: not found", s)
		}
	}
	for _, s := range no {
		if name, ok := own.Starts(Analyse(s, d.context())); ok {
			t.Errorf("%q: %q is taken for ours", s, name)
		}
	}
	fmt.Printf("own programs cases: %d\n", len(yes)+len(no))
}

func TestPreflight(t *testing.T) {
	d := testTools()
	cases := []struct {
		script, code string
		line         int
	}{
		{"python3 x.py", "a = $DM_JSON", 1},
		{"python3 x.py", "import os\n\nprint(${HOME})", 3},
		{"python3 -u x.py y", "'''\n$A_B\n'''\n$A_B", 4},
		{"cd /w && python3 ./x.py", "$AB", 1},
		{"cat y | python3 x.py", "$AB", 1},
		{"timeout 5 sh -c 'python3 x.py'", "$AB", 1},
		{"python3 x.py", "# $DM_JSON", 0},
		{"python3 x.py", "x = '$DM_JSON'", 0},
		{"python3 x.py", `x = "a\"$DM_JSON"`, 0},
		{"python3 x.py", "x = '''\n$DM_JSON'''", 0},
		{"python3 x.py", "x = 'open\n$DM_JSON", 0},
		{"python3 x.py", "$lower", 0},
		{"python3 x.py", "", 0},
		{"python3 -c '$AB'", "", 0},
		{"python3 /elsewhere/x.py", "$AB", 0},
		{"python3 ../x.py", "$AB", 0},
		{"node x.py", "$AB", 0},
		{"sh x.py", "$AB", 0},
	}
	for _, c := range cases {
		f, ok := Preflight(Analyse(c.script, d.context()), func(folder, path string, most int) ([]byte, error) {
			if folder != "/w" || path != "/w/x.py" {
				return nil, os.ErrNotExist
			}
			return []byte(c.code), nil
		})
		if ok != (c.line > 0) || f.Line != c.line {
			t.Errorf("%q %q: %+v, want line %d", c.script, c.code, f, c.line)
		}
	}
	fmt.Printf("preflight cases: %d\n", len(cases))
}
