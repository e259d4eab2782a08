package main

import (
	"strings"
	"testing"
	"unicode"

	"handrail/app"
	"handrail/core/approval"
	"handrail/core/client"
	"handrail/core/command"
	"handrail/core/grant"
	"handrail/core/tool"
)

// Whatever the core says about why the person is asked is said in Thai too: whoever adds a reason adds a message for it.
func TestReasonsInThai(t *testing.T) {
	policy, err := command.ReadPolicy([]byte(`{"version": 1, "sandbox": {"mode": "ask"}, "strictInlineEval": true, "safeBins": [], "allowlist": [{"pattern": "env", "action": "ask"}, {"pattern": "head", "action": "ask"}]}`), "/home/me")
	if err != nil {
		t.Fatal(err)
	}
	const dir = "/"
	in := command.Context{Shell: command.Bash, Dir: dir, Home: "/home/me", Path: []string{"/usr/bin", "/bin"}, Files: command.System()}
	words, seen := app.NewWords("th"), 0
	for _, script := range []string{"wc a", "nosuchprogram a", "wc a > b", "A=1 wc a", "wc *", "wc $x", "wc $(ls)", "wc <(ls)", "echo $((1+1))", "echo {a,b}", "echo @(a)", "ls ~you", "ls ~", "echo $'a'", `echo $"a"`, "PATH=/x wc a",
		"cat <<E\nx\nE", "cat <<< x", "wc < a", "ls 2>/dev/null", "ls 3>&1", "ls &", "coproc ls", "(ls)", "{ ls; }", "for i in 1; do ls; done", "if true; then ls; fi", "[[ a == b ]]", "! ls", "time ls", "ls |& wc", "f() { ls; }; f",
		"alias x=ls", "trap ls EXIT", "eval ls", "eval $x", "source ./a", ". ./a", "set -o posix", "cd /tmp; ls", "cd /tmp; ./a", "ls 'a", "ls\r\n", strings.Repeat("ls;", 20_000), strings.Repeat("(", 3000) + "ls", "$x a", "python3 -c 1", "python3 a.py",
		"python3 -m x", "sed s/a/b/ a", "xargs wc", "find . -exec ls {} \\;", "sudo ls", "ssh host ls", "npx tsc", "npm exec tsc", "make", "make -f x", "git -c a.b=c status", "env ls", "env LD_PRELOAD=x ls", "head -1", "nice wc a", "timeout 5 wc a",
		"sh -c 'wc a'", "sh -c 'sh -c ls'", "sh -x", "sh a", "bash -l a", "zsh -c ls", "exit", "shift", "kill 1", "./nosuch", "docker run x", "exec -a x ls", "", "  ", "#", "chroot / ls", "busybox ls", "node -r ./x a.js", "perl -e 1", "awk 1", "awk -f x", "tar -I x -cf a b", "let x=1", "wc a\xa0b", "command -p ls"} {
		plan := command.Analyse(script, in)
		why := policy.Judge(plan, policy.Sandbox).Why
		_, open := command.Bind(plan)
		if len(why)+len(open) == 0 {
			continue
		}
		r := approval.Request{Kind: approval.Exec, Who: client.Identity{ID: "stdio:x"}, Session: "s", Tool: "exec", Folder: dir,
			Command: &approval.Command{Text: "x", Runs: "x", Why: why, Open: open}}
		q, err := app.NewQuestion(r, words)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range q.Facts {
			if !strings.HasPrefix(f.Value, "• ") {
				continue
			}
			for line := range strings.SplitSeq(f.Value, "\n") {
				seen++
				if !strings.ContainsFunc(line, func(r rune) bool { return unicode.Is(unicode.Thai, r) }) {
					t.Errorf("%.40q: %q", script, line)
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d reasons", seen)
	}
}

// What a switch, or a tool that was off, opens is said in Thai too.
func TestSwitchesInThai(t *testing.T) {
	wishes := []grant.Wish{{Client: "http:a", Tool: "exec"}}
	for _, s := range grant.AllSwitches() {
		wishes = append(wishes, grant.Wish{Client: "http:a", Switch: s})
	}
	for _, w := range wishes {
		r, ok := tool.SwitchRequest(w)
		if !ok {
			t.Fatalf("%s opens nothing", w.Name())
		}
		for _, language := range []string{"en", "th"} {
			q, err := app.NewQuestion(r, app.NewWords(language))
			if err != nil {
				t.Fatal(err)
			}
			thai := strings.ContainsFunc(q.Facts[0].Value, func(r rune) bool { return unicode.Is(unicode.Thai, r) })
			if thai != (language == "th") || language == "en" && !strings.Contains(q.Facts[0].Value, r.Switch.Opens) {
				t.Errorf("%s, %s: %q", w.Name(), language, q.Facts[0].Value)
			}
		}
	}
}
