package tool

import (
	"fmt"
	"strings"
	"testing"

	"handrail/core/command"
	"handrail/sandbox"
)

// What lines of which programs are left out.
func TestNameFilter(t *testing.T) {
	p := sandbox.ReadOnly(sandbox.Machine{System: "linux", Home: "/h", State: "/h/state", Workspace: "/h/w", Temp: "/tmp/t"}).CloseSensitive()
	filter := func(argv ...string) *nameFilter {
		v := command.Verdict{Stages: []command.Stage{{Argv: argv}}, Paths: []command.Operand{{Path: "/h/w/in"}, {Path: "/h/.config"}}}
		return newNameFilter(v, "/h/w", p.Decider())
	}
	n := 0
	for _, c := range []struct {
		argv string
		keep []string
		out  []string
	}{
		{"find", []string{"./a.txt", "./.env.example", "./environment", "./ssh/config", "/usr/share/doc/secrets.json"},
			[]string{"./.env", "/h/w/a/.ENV.local", "/h/.ssh/id_rsa", "./x/.aws/credentials", "/h/state/key", "  123 4 -rw-r--r-- 1 ann ann 9 Jan 2 2026 ./b c/.env", "./.ssh", "keys/My Login Data", "./a.txt|./.env|9", "\"./.env\""}},
		{"ls", []string{"a.txt", "total 12", "-rw-r--r-- 1 ann ann 7 Nov 30 18:00 notes.txt", "in:", "l -> a.txt", "gh-notes"},
			[]string{".env", "-rw-r--r-- 1 ann ann 7 Nov 30 18:00 .env", "a.txt  .env  b", "a.txt, .env, b", ".ssh/", ".env*", "'.env'", "l -> .env", "l -> ../.ssh/id", "gh", "-rw------- 1 ann ann 7 Nov 30 18:00 Login Data"}},
		{"du", []string{"4\ta", "4\t."}, []string{"4\t./.ssh", "8\t/h/.gnupg"}},
		{"grep", []string{"a.txt:copy .env to b", "12:see id_rsa", "a.txt-3-.env", "config: see .ssh/config first"},
			[]string{".env:1:A=1", "./.env:A=1", "x/.ssh/config-12-Host", ".env-3-A", ".env=3=f()", ".env", "Binary file x/keys.kdbx matches", "/h/w/.env:B"}},
		{"rg", []string{"src/main.go:3:open(\".env\")"}, []string{".env:A=1", ".env"}},
		{"git ls-files", []string{"a.txt", "100644 e69de29bb2d1d6434b8b29ae775ad8c2e48c5391 0\ta.txt"}, []string{".env", "100644 e69de29bb2d1d6434b8b29ae775ad8c2e48c5391 0\tconf/.env", "\".env\""}},
		{"git status", []string{" M a.txt", "## main"}, []string{" M .env", "R  a.txt -> .env", "?? .ssh/"}},
		{"git log", []string{"    add .env.example and ignore .env", "9fceb02 Ignore .env", " a.txt | 2 +-"}, []string{" .env | 2 +-", ".env", "1\t1\t.env", "M\t.env", ":100644 100644 e69de29 d95f3ad M\tconf/.env"}},
		{"git grep", []string{"HEAD:a.txt:1:.env is ignored"}, []string{"HEAD:.env:1:A", ".env:A", "HEAD~1:conf/.env:A"}},
		{"cat", []string{".env", "see .ssh"}, nil},
	} {
		argv := strings.Fields(c.argv)
		for _, line := range c.keep {
			n++
			if got := filter(argv...).text([]byte(line+"\n"), false); got != line+"\n" {
				t.Errorf("%s: %q is left out", c.argv, line)
			}
		}
		for _, line := range c.out {
			n++
			if got := filter(argv...).text([]byte(line+"\n"), false); got != "" {
				t.Errorf("%s: %q stays", c.argv, line)
			}
		}
	}
	fmt.Printf("names in output: %d lines\n", n)
	for _, c := range []struct{ argv, in, want string }{
		{"find", "./a\x00./.env\x00./b\x00", "./a\n./b\n"},
		{"grep", ".env\x00A=1\na.txt\x00x\n", "a.txt\nx\n"},
		{"ls", "\x1b[0m\x1b[01;34ma\x1b[0m\n\x1b[32m.env\x1b[0m\n", "a\n"},
		{"git show", "commit 9fceb02d\n\ndiff --git a/.env b/.env\n+A=1\ndiff --git a/x b/x\n+y\n", "commit 9fceb02d\n\ndiff --git a/x b/x\n+y\n"},
		{"git log", "| diff --git a/c/.env b/c/.env\n| +A=1\n* commit 9fceb02d0ae5\n| text\n", "* commit 9fceb02d0ae5\n| text\n"},
		{"git diff", "diff --cc conf/.env\n- A\ndiff --git .ssh/a .ssh/a\n+b\n", ""},
	} {
		if got := filter(strings.Fields(c.argv)...).text([]byte(c.in), false); got != c.want {
			t.Errorf("%s: %q becomes %q, want %q", c.argv, c.in, got, c.want)
		}
	}
	if got := filter("cat").text([]byte(".env\n"), false); filter("cat") != nil || got != ".env\n" {
		t.Errorf("%q", got)
	}
}
