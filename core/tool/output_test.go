package tool

import (
	"strings"
	"testing"
	"unicode/utf8"

	"handrail/core/job"
	"handrail/sandbox"
)

func TestPlainText(t *testing.T) {
	for _, c := range []struct {
		name, raw, want string
		invalid         bool
	}{
		{"plain", "a\nb", "a\nb", false},
		{"colours", "\x1b[31mred\x1b[0m", "red", false},
		{"title", "\x1b]0;title\x07text", "text", false},
		{"link", "\x1b]8;;https://x\x1b\\text\x1b]8;;\x1b\\", "text", false},
		{"clipboard", "\x1b]52;c;aGk=\x07x", "x", false},
		{"cursor", "\x1b[2J\x1b[1;1Hx\x1b(B", "x", false},
		{"eight-bit", "\u009b31mred", "red", false},
		{"unfinished", "x\x1b[", "x", false},
		{"progress", "10%\r20%\r30%\n", "30%\n", false},
		{"CRLF", "a\r\nb\r\n", "a\nb\n", false},
		{"backspace", "ab\bc\n\bd", "ac\nd", false},
		{"bell", "a\x07b", "ab", false},
		{"bytes", "a\xffb", "a\uFFFDb", true},
		{"Thai", "สวัสดี", "สวัสดี", false},
	} {
		got := plainText([]byte(c.raw))
		if got.text != c.want || got.invalid != c.invalid {
			t.Errorf("%s: %q, %v", c.name, got.text, got.invalid)
		}
	}
}

func FuzzPlainText(f *testing.F) {
	for _, s := range []string{"\x1b[31mred", "a\rb", "\x1b]52;c;x", "\xff\xfe", "ab\b\b\bc"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := plainText(raw).text
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\r\x07\x00") {
			t.Errorf("%q became %q", raw, got)
		}
	})
}

func TestShorten(t *testing.T) {
	text := func(head, tail string, missing int64) job.Text {
		return job.Text{Head: []byte(head), Tail: []byte(tail), Missing: missing, Total: int64(len(head)+len(tail)) + missing}
	}
	for _, c := range []struct {
		name string
		text job.Text
		cut  bool
	}{
		{"short", text("abc", "", 0), false},
		{"exact", text(strings.Repeat("x", maxOutput), "", 0), false},
		{"one more", text(strings.Repeat("x", maxOutput+1), "", 0), true},
		{"Thai letters count once", text(strings.Repeat("ก", maxOutput), "", 0), false},
		{"missing", text("begin", "end", 5), true},
	} {
		s := shorten(c.text, maxOutput, 0)
		if s.cut != c.cut || utf8.RuneCountInString(s.text) > maxOutput+5 {
			t.Errorf("%s: cut %v, %d characters", c.name, s.cut, utf8.RuneCountInString(s.text))
		}
		if !strings.HasPrefix(s.text, string(c.text.Head[:3])) || c.text.Missing > 0 && !strings.HasSuffix(s.text, "end") {
			t.Errorf("%s: the head or the tail is lost", c.name)
		}
	}
}

func TestExplainLine(t *testing.T) {
	w := newWorld(t, true)
	w.put("w/proj/a.txt", nil)
	w.put("w/other/b.txt", nil)
	w.put("w/proj/.git/config", nil)
	w.put("h/docs/x.txt", nil)
	proj := place{real: w.path("w/proj")}
	id := idOf(t, proj.real)
	p := sandbox.Guarded(sandbox.Machine{Home: w.home, State: w.dir + "/state", Workspace: w.gate.Workspace, Temp: w.dir + "/tmp", Path: []string{"/usr/bin"}}).
		AllowWrite(sandbox.Place{Path: proj.real, Device: id.Device, Inode: id.Inode})
	for _, c := range []struct {
		name, line string
		want       string // part of the hint; empty: no hint, since there is no evidence
	}{
		{"bash redirect", "/bin/bash: line 1: other/n.txt: Read-only file system", "denied changing $W/other/n.txt"},
		{"bash redirect, blanks", "/bin/bash: line 1: other/my file.txt: Read-only file system", "denied changing $W/other/my file.txt"},
		{"dash redirect, blanks", "sh: 1: cannot create other/ไม่ มี.txt: Permission denied", "denied changing $W/other/ไม่ มี.txt"},
		{"dash redirect", "/bin/sh: 1: cannot create other/n.txt: Permission denied", "denied changing $W/other/n.txt"},
		{"touch", "touch: cannot touch 'other/n.txt': Operation not permitted", "denied changing $W/other/n.txt"},
		{"curly quotes", "mkdir: cannot create directory \u2018other/d\u2019: Permission denied", "denied changing $W/other/d"},
		{"rm", "rm: cannot remove '$H/docs': Read-only file system", "$H/docs"},
		{"python", "PermissionError: [Errno 13] Permission denied: '$H/docs/x.txt'", "denied reading $H/docs/x.txt"},
		{"node", "Error: EROFS: read-only file system, open '$W/other/n.txt'", "denied changing $W/other/n.txt"},
		{"go", "open $H/docs/x.txt: permission denied", "denied reading $H/docs/x.txt"},
		{"cat secret", "cat: $H/.ssh/id_rsa: Permission denied", "no permission opens it"},
		{"hidden", "cat: $H/docs/x.txt: No such file or directory", "can't be seen from inside the sandbox"},
		{"protected lock", "error: could not lock config file proj/.git/config: Permission denied", "edit and write_file ask"},
		{"protected redirect", "/bin/bash: line 1: proj/.git/config: Operation not permitted", "protected"},
		{"names what opens it", "/bin/bash: line 1: other/n.txt: Read-only file system", "request_access"},
		{"space in the name", "touch: cannot touch 'other/my file': Permission denied", "$W/other/my file"},

		{"controlling an app", "36:42: execution error: System Events got an error: A privilege violation occurred. (-10004)", "lets no command control other apps"},
		{"an app that isn't seen", "execution error: Application isn\u2019t running. (-600)", "lets no command control other apps"},
		{"opening an app", "_LSOpenURLsWithCompletionHandler() failed with error -10822 for the file /x.", "lets no command open apps"},
		{"sudo in the sandbox", "sudo: The \"no new privileges\" flag is set, which prevents sudo from running as root.", "another user's rights"},
		{"no name", "curl: (6) Could not resolve host: example.org", "level network"},
		{"no way", "connect: Network is unreachable", "level network"},
		{"a sandbox in it", "sandbox-exec: sandbox_apply: Operation not permitted", "can't be started in the sandbox"},

		{"a tool as a program", "/bin/bash: line 1: apply_patch: command not found", "call it as a tool"},
		{"a tool as a program, in dash", "/bin/sh: 1: applypatch: not found", "call it as a tool"},

		{"a program that isn't there", "/bin/bash: line 1: patch_apply: command not found", ""},
		{"a tool's name in other words", "bash: line 1: exec: apply: not found", ""},
		{"a script's own error", "execution error: The variable x is not defined. (-2753)", ""},
		{"granted: its own mode", "touch: cannot touch 'proj/a.txt': Permission denied", ""},
		{"readable: its own mode", "cat: other/b.txt: Permission denied", ""},
		{"ssh", "git@example.com: Permission denied (publickey).", ""},
		{"sudo", "sudo: a password is required: Permission denied", ""},
		{"missing", "cat: other/none.txt: No such file or directory", ""},
		{"in a string", "echo: all is well", ""},
		{"URL", "curl: (9) https://x/y: Permission denied", ""},
		{"the root folder", "chroot: cannot change root directory to '/': Operation not permitted", ""},
		{"bare words", "Permission denied", ""},
	} {
		line := strings.NewReplacer("$W", w.gate.Workspace, "$H", w.home).Replace(c.line)
		got := w.plain(explainLine(line, w.gate.Workspace, p))
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Each tool that has no program's name is told from a program that isn't there.
func TestExplainTools(t *testing.T) {
	p := sandbox.Guarded(sandbox.Machine{})
	for _, tool := range All() {
		if tool.Name == "bash" || tool.Name == "git" {
			continue
		}
		if h := explainLine("/bin/bash: line 1: "+tool.Name+": command not found", "/", p); !strings.Contains(h, "tool") {
			t.Errorf("%s: %q", tool.Name, h)
		}
	}
}

func TestExplainNetwork(t *testing.T) {
	p := sandbox.Guarded(sandbox.Machine{})
	const line = "curl: (6) Could not resolve host: no-such.example.org"
	if explainLine(line, "/", p) == "" {
		t.Error("no hint without the network")
	}
	for _, p := range []sandbox.Policy{p.AllowNetwork(), sandbox.Classic(sandbox.Machine{})} {
		if h := explainLine(line, "/", p); h != "" {
			t.Errorf("with the network, where the name may be wrong: %q", h)
		}
	}
}

// A quiet command's exit code is evidence too, where it is known what it means and there is no network.
func TestUnreached(t *testing.T) {
	guarded := sandbox.Guarded(sandbox.Machine{})
	for _, c := range []struct {
		script string
		code   int
		policy sandbox.Policy
		want   bool
	}{
		{"curl -s https://example.com", 6, guarded, true},
		{"x=$(curl -fsS https://example.com) || exit", 7, guarded, true},
		{"wget -q https://example.com/a.tgz && tar xf a.tgz", 4, guarded, true},
		{"curl -s https://example.com", 22, guarded, false},
		{"wget -q https://example.com", 8, guarded, false},
		{"echo curl; exit 6", 6, guarded, false},
		{"grep x curl", 6, guarded, false},
		{"curl -s https://example.com", 6, guarded.AllowNetwork(), false},
		{"curl -s https://example.com", 6, sandbox.Classic(sandbox.Machine{}), false},
	} {
		if got := unreached(c.code, job.Spec{Tool: "bash", Text: c.script, Dir: "/", Policy: c.policy}); got != c.want {
			t.Errorf("%s, exit code %d, %s: %v", c.script, c.code, c.policy.Profile(), got)
		}
	}
}

func TestTraceback(t *testing.T) {
	const one, chained = "Traceback (most recent call last):\n  File \"<stdin>\", line 1\nKeyError: 1\n", "\nDuring handling of the above exception, another exception occurred:\n\n"
	for _, c := range []struct {
		name, text string
		want       int
	}{
		{"none", "warning: a\n", 0},
		{"alone", one, len(one)},
		{"after other text", "warning: a\n" + one, len(one)},
		{"two that have nothing to do with one another", one + one, len(one)},
		{"a chain", "x\n" + one + chained + one, 2*len(one) + len(chained)},
		{"no UTF-8", "\xff\n" + one, len(one)},
	} {
		if got := traceback(job.Text{Head: []byte(c.text)}); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// A record of the system's log becomes a hint only where the policy says the same.
func TestExplainDenials(t *testing.T) {
	m := sandbox.Machine{System: "darwin", Home: "/Users/anna", State: "/Users/anna/Library/Application Support/Handrail", Workspace: "/Users/anna/Handrail", Temp: "/private/tmp/h"}
	guarded := sandbox.Guarded(m).AllowWrite(sandbox.Place{Path: "/Users/anna/Handrail/site", Device: 1, Inode: 1})
	read := sandbox.Denial{Process: "cat", Operation: "file-read-data", Path: "/Users/anna/Music/a"}
	write := sandbox.Denial{Process: "git", Operation: "file-write-create", Path: "/Users/anna/Handrail/site/.vscode"}
	net := sandbox.Denial{Process: "curl", Operation: "network-outbound", Path: "192.0.2.1:443"}
	for _, c := range []struct {
		name   string
		policy sandbox.Policy
		all    []sandbox.Denial
		want   string // a part of the hint; "" for none
	}{
		{"none", guarded, nil, ""},
		{"reading", guarded, []sandbox.Denial{read}, "denied reading /Users/anna/Music/a to cat"},
		{"changing a protected name", guarded, []sandbox.Denial{write}, "denied changing /Users/anna/Handrail/site/.vscode to git (protected: .vscode)"},
		{"a change counts most", guarded, []sandbox.Denial{write, net, read}, ".vscode"},
		{"the network before reading", guarded, []sandbox.Denial{read, net, read}, "denied the network to curl"},
		{"the last of a kind", guarded, []sandbox.Denial{{Process: "a", Operation: "file-read-data", Path: "/Users/anna/b"}, read}, "Music"},
		{"what the policy allows", guarded, []sandbox.Denial{{Process: "a", Operation: "file-write-create", Path: "/Users/anna/Handrail/site/x"}, {Process: "a", Operation: "file-read-data", Path: "/usr/bin/x"}}, ""},
		{"the network, which is allowed", guarded.AllowNetwork(), []sandbox.Denial{net}, ""},
		{"a socket with a path", guarded, []sandbox.Denial{{Process: "a", Operation: "network-outbound", Path: "/private/var/run/mDNSResponder"}}, ""},
		{"a service", guarded, []sandbox.Denial{{Process: "a", Operation: "mach-lookup", Path: "com.apple.x"}}, ""},
		{"no path", guarded, []sandbox.Denial{{Process: "a", Operation: "file-read-data"}}, ""},
		{"words that would break the line", guarded, []sandbox.Denial{{Process: "a", Operation: "file-read-data", Path: "/Users/anna/x\u202e]"}, {Process: "a\nb", Operation: "file-read-data", Path: "/Users/anna/x"}}, ""},
	} {
		got := explainDenials(c.all, c.policy)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Relative paths in errors are those of the folder that the script went to.
func TestWorkedIn(t *testing.T) {
	p := sandbox.Guarded(sandbox.Machine{Home: "/h"})
	for _, c := range []struct{ tool, text, want string }{
		{"bash", "touch x", "/w"},
		{"bash", "cd proj && touch x", "/w/proj"},
		{"bash", "cd proj && cd ../other; touch ../z", "/w/other"},
		{"exec", "cd ~ && ls", "/h"},
		{"bash", "(cd proj; touch x); touch y", ""},
		{"bash", "cd \"$1\" && touch x", ""},
		{"bash", "pushd proj; touch x", ""},
		{"bash", "bash -c 'cd proj && touch x'", ""},
		{"python_exec", "open('x','w')", "/w"},
		{"python_exec", "import os; os.chdir('proj')", ""},
		{"git", "git status", "/w"},
	} {
		if got := workedIn(job.Spec{Tool: c.tool, Text: c.text, Dir: "/w", Policy: p}); got != c.want {
			t.Errorf("%s: %s: %q, want %q", c.tool, c.text, got, c.want)
		}
	}
	if h := explainLine("touch: cannot touch 'x': Read-only file system", "", p); h != "" {
		t.Errorf("of a folder that isn't known: %s", h)
	}
}
