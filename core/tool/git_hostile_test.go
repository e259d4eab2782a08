package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"handrail/core/client"
	"handrail/core/git"
)

// A trap is a program that a repository names, and how git, left to itself, starts it.
type trap struct {
	name string
	// springs is a command of git's, in the repository, that starts it. With tty it has a terminal; with clean the work tree
	// is as the commit has it.
	springs    string
	tty, clean bool
	// filter says that the program must hand on its input, or git makes nothing of it.
	filter bool
}

var traps = []trap{
	{name: "hook", springs: "commit --allow-empty -m x"},
	{name: "fsmonitor", springs: "status"},
	{name: "ext-diff", springs: "diff -- plain"},
	{name: "included", springs: "difftool -y -t included -- plain"},
	{name: "worktree-filter", springs: "add w.wt", filter: true},
	{name: "diff-driver", springs: "diff -- f.txt"},
	{name: "textconv", springs: "diff --no-ext-diff -- c.conv", filter: true},
	{name: "clean", springs: "add f.txt", filter: true},
	{name: "process", springs: "hash-object p.bin"},
	{name: "smudge", springs: "checkout -f HEAD -- .", filter: true},
	{name: "merge-driver", springs: "merge other", clean: true},
	{name: "alias", springs: "lg"},
	{name: "pager", springs: "-p log", tty: true},
	{name: "editor", springs: "commit --allow-empty", clean: true},
	{name: "sequence-editor", springs: "rebase -i HEAD~1", clean: true},
	{name: "gpg", springs: "commit --allow-empty -m x"},
	{name: "ssh", springs: "fetch ssh"},
	{name: "credential", springs: "credential fill"},
	{name: "askpass", springs: "credential fill"},
	{name: "submodule-fsmonitor", springs: "status"},
	{name: "submodule-update", springs: "submodule update --force"},
	{name: "ext-url", springs: "-c protocol.ext.allow=always fetch ext"},
	{name: "upload-pack", springs: "fetch origin"},
	{name: "receive-pack", springs: "-c remote.origin.mirror=false push origin HEAD:refs/heads/x"},
	{name: "alternates", springs: "fetch second"},
	{name: "hub-hook", springs: "push second HEAD:refs/heads/x"},
	{name: "hub-alternates", springs: "push second HEAD:refs/heads/x"},
}

// hostile is a scratch computer with a repository, w/proj, that sets every trap.
type hostile struct {
	*world
	evil, proj string
}

func newHostile(t *testing.T) *hostile {
	w := newWorld(t, true)
	h := &hostile{world: w, evil: w.path("w/evil"), proj: w.path("w/proj")}
	w.put("h/.gitconfig", []byte("[user]\n\tname = Ann\n\temail = ann@example.com\n"))
	for _, tr := range traps {
		then := "exit 1"
		if tr.filter {
			then = `if [ $# -gt 0 ]; then cat "$1"; else cat; fi`
		}
		w.put("w/evil/"+tr.name, fmt.Appendf(nil, "#!/bin/sh\necho > %s/.git/sprung/%s\necho > \"$TMPDIR/sprung-%s\"\necho SPRUNG-%s >&2\n%s\n", h.proj, tr.name, tr.name, tr.name, then))
	}
	for _, hook := range []string{"pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "pre-merge-commit", "post-merge", "post-checkout", "pre-rebase", "post-rewrite", "pre-push",
		"reference-transaction", "post-index-change", "pre-auto-gc"} {
		w.put("w/hooks/"+hook, []byte("#!/bin/sh\n"+h.evil+"/hook; exit 0\n"))
	}
	for _, hook := range []string{"pre-receive", "update", "post-receive", "post-update", "reference-transaction"} {
		w.put("w/hubhooks/"+hook, []byte("#!/bin/sh\n"+h.evil+"/hub-hook; exit 0\n"))
	}
	for _, dir := range []string{"w/evil", "w/hooks", "w/hubhooks"} {
		programs, err := filepath.Glob(filepath.Join(w.path(dir), "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range programs {
			if err := os.Chmod(p, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	must := func(dir string, args string) {
		t.Helper()
		if err := w.git(w.path(dir), strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
	}
	// The history is made before the traps are set.
	must("w/lib", "init")
	w.put("w/lib/l.txt", []byte("lib\n"))
	must("w/lib", "add .")
	must("w/lib", "commit -m lib")
	must("w", "init --bare alternate.git")
	must("w", "init --bare hub.git")
	must("w/proj", "init")
	for name, text := range map[string]string{"plain": "one\n", "f.txt": "one\n", "p.bin": "one\n", "c.conv": "one\n", "m.drv": "one\n", "w.wt": "one\n", "-x": "one\n"} {
		w.put("w/proj/"+name, []byte(text))
	}
	must("w/proj", "add -- .")
	must("w/proj", "commit -m first")
	must("w/proj", "branch side")
	must("w/proj", "checkout -b other")
	w.put("w/proj/m.drv", []byte("other\n"))
	must("w/proj", "commit -a -m other")
	must("w/proj", "checkout main")
	w.put("w/proj/m.drv", []byte("main\n"))
	w.put("w/proj/.gitattributes", []byte("*.txt diff=cmd filter=pair\n*.bin filter=proc\n*.conv diff=conv\n*.drv merge=drv\n*.wt filter=wt\n"))
	must("w/proj", "add .")
	must("w/proj", "commit -m second")
	must("w/proj", "-c protocol.file.allow=always submodule add ../lib lib")
	must("w/proj", "commit -m third")
	must("w/proj", "push ../hub.git main")
	must("w/proj", "push ../alternate.git main")
	must("w/proj", "branch stale")

	evil := func(name string) string { return filepath.Join(h.evil, name) }
	config := fmt.Sprintf(`
[core]
	hooksPath = %[2]s
	fsmonitor = %[1]s/fsmonitor
	pager = %[1]s/pager
	editor = %[1]s/editor
	sshCommand = %[1]s/ssh
	askPass = %[1]s/askpass
	alternateRefsCommand = %[1]s/alternates
[sequence]
	editor = %[1]s/sequence-editor
[diff]
	external = %[1]s/ext-diff
[diff "cmd"]
	command = %[1]s/diff-driver
[diff "conv"]
	textconv = %[1]s/textconv
[filter "pair"]
	clean = %[1]s/clean
	smudge = %[1]s/smudge
[filter "proc"]
	process = %[1]s/process
[merge "drv"]
	driver = %[1]s/merge-driver
[alias]
	lg = !%[1]s/alias
	status = !%[1]s/alias
[commit]
	gpgSign = true
[tag]
	gpgSign = true
[push]
	gpgSign = if-asked
[gpg]
	program = %[1]s/gpg
[log]
	showSignature = true
[gc]
	auto = 1
[credential]
	helper = %[1]s/credential
[credential "https://example.com"]
	helper = %[1]s/credential
[submodule]
	recurse = true
[submodule "lib"]
	update = !%[1]s/submodule-update
	ignore = none
[remote "ssh"]
	url = ssh://example.com/a
[remote "ext"]
	url = ext::%[1]s/ext-url
[remote "origin"]
	url = ../hub.git
	fetch = +refs/heads/*:refs/remotes/origin/*
	uploadpack = %[1]s/upload-pack
	receivepack = %[1]s/receive-pack
	push = +refs/heads/*:refs/heads/*
	mirror = true
[remote "second"]
	url = ../hub.git
	fetch = +refs/heads/*:refs/remotes/second/*
[extensions]
	worktreeConfig = true
`, h.evil, w.path("w/hooks"))
	h.append("w/proj/.git/config", config)
	h.append("w/proj/.git/config.worktree", "[filter \"wt\"]\n\tclean = "+evil("worktree-filter")+"\n")
	h.append("w/proj/.git/objects/info/alternates", w.path("w/alternate.git/objects")+"\n")
	h.append("w/included.config", "[difftool \"included\"]\n\tcmd = "+evil("included")+"\n[diff]\n\texternal = "+evil("ext-diff")+"\n")
	h.append("w/proj/.git/modules/lib/config", "[core]\n\tfsmonitor = "+evil("submodule-fsmonitor")+"\n[diff]\n\texternal = "+evil("ext-diff")+"\n")
	h.append("w/hub.git/config", "[core]\n\thooksPath = "+w.path("w/hubhooks")+"\n\talternateRefsCommand = "+evil("hub-alternates")+"\n")
	h.append("w/hub.git/objects/info/alternates", w.path("w/alternate.git/objects")+"\n")
	if err := os.Mkdir(filepath.Join(h.proj, ".git/sprung"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"plain", "f.txt", "p.bin", "c.conv", "w.wt"} {
		w.put("w/proj/"+name, []byte("one\ntwo\n"))
	}
	return h
}

func (h *hostile) append(name, text string) {
	f, err := os.OpenFile(h.path(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		h.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		h.t.Fatal(err)
	}
}

// include makes the repository read a file of settings that lies outside it.
func (h *hostile) include() {
	h.append("w/proj/.git/config", "[include]\n\tpath = "+h.path("w/included.config")+"\n[includeIf \"gitdir:**\"]\n\tpath = "+h.path("w/included.config")+"\n")
}

// marks lists what traps left, which is files named for them.
func (h *hostile) marks() (list []string) {
	for _, pattern := range []string{filepath.Join(h.proj, ".git/sprung/*"), filepath.Join(h.dir, "rooms/*/tmp/sprung-*"), filepath.Join(h.dir, "sprung-*")} {
		marks, err := filepath.Glob(pattern)
		if err != nil {
			h.t.Fatal(err)
		}
		list = append(list, marks...)
	}
	return list
}

func (h *hostile) forget() {
	for _, m := range h.marks() {
		if err := os.Remove(m); err != nil {
			h.t.Fatal(err)
		}
	}
}

// sprung lists the traps that left a mark.
func (h *hostile) sprung() []string {
	found := map[string]bool{}
	for _, m := range h.marks() {
		found[strings.TrimPrefix(filepath.Base(m), "sprung-")] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// Each trap is one: git, left to itself, runs into it. Without this the test of denials would prove nothing.
func TestTrapsSpring(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	h.include()
	opened := watchPrograms(t, h.evil)
	for _, tr := range traps {
		if tr.clean {
			if err := h.git(h.proj, strings.Fields("-c core.fsmonitor=false -c submodule.recurse=false -c filter.pair.smudge= -c filter.pair.clean= -c filter.proc.process= reset --hard")); err != nil {
				t.Fatal(err)
			}
		}
		// Git reads files anew that are as young as its index, so whether it runs their filters would depend on how fast this is:
		// all are younger. The filter that fails would end the command.
		if long := time.Now().Add(-time.Hour); os.Chtimes(filepath.Join(h.proj, ".git/index"), long, long) != nil {
			t.Fatal("the index can't be made older")
		}
		args := strings.Fields(tr.springs)
		if tr.name != "process" {
			args = append([]string{"-c", "filter.proc.process="}, args...)
		}
		h.forget()
		opened()
		cmd := exec.Command("/usr/bin/git", args...)
		cmd.Dir = h.proj
		cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + h.home, "TMPDIR=" + h.dir, "GIT_CONFIG_NOSYSTEM=1", "TERM=vt100"}
		var out []byte
		if tr.tty {
			terminal, err := pty.Start(cmd)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			b.ReadFrom(terminal) // ends with an error, as terminals do
			cmd.Wait()
			terminal.Close()
			out = b.Bytes()
		} else {
			cmd.Stdin = strings.NewReader("protocol=https\nhost=example.com\n\n")
			out, _ = cmd.CombinedOutput()
		}
		if !slices.Contains(h.sprung(), tr.name) {
			t.Errorf("git %s left no mark of %s, but of %q:\n%s", tr.springs, tr.name, h.sprung(), out)
		}
		if got := opened(); got != nil && !slices.Contains(got, tr.name) {
			t.Errorf("git %s was not seen to open %s, but %q", tr.springs, tr.name, got)
		}
	}
	// In the sandbox too, a program that only may read is seen.
	h.level = client.Ask
	h.forget()
	opened()
	got := h.play(`{"bash": {"command": "evil/hook"}}`)
	if seen := opened(); seen != nil && !slices.Contains(seen, "hook") || !strings.Contains(got, "SPRUNG-hook") {
		t.Errorf("in the sandbox: %q\n%s", seen, got)
	}
}

// No action runs a program that the repository names, whatever it is given; and each does what it is for, or says why not.
func TestHostileRepository(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	h.level = client.Ask
	opened := watchPrograms(t, h.evil)
	type call struct {
		// args is the call without the repository; want the code of the answer, "" for success, or a part of the answer.
		args, want string
	}
	local := []call{
		{`"action":"status"`, ""},
		{`"action":"diff"`, ""}, {`"action":"diff","format":"stat"`, ""}, {`"action":"diff","ref":"main..other"`, ""},
		{`"action":"log","format":"patch"`, ""}, {`"action":"show","ref":"main"`, ""}, {`"action":"show","ref":"main:f.txt"`, ""},
		{`"action":"branch"`, ""}, {`"action":"branch","mode":"create","name":"new"`, ""}, {`"action":"branch","mode":"delete","name":"stale"`, ""},
		{`"action":"stash","paths":["plain"]`, ""}, {`"action":"stash","mode":"list"`, ""}, {`"action":"stash","mode":"show"`, ""}, {`"action":"stash","mode":"apply"`, ""},
		{`"action":"restore","paths":["plain"],"discard":true`, ""}, {`"action":"stash","mode":"pop"`, ""},
		{`"action":"add","paths":["plain","-x"]`, ""},
		{`"action":"add","paths":["f.txt"]`, "goes through a filter"}, {`"action":"add","paths":["p.bin"]`, "goes through a filter"}, {`"action":"add","paths":["w.wt"]`, "goes through a filter"},
		{`"action":"commit","message":"fourth"`, ""}, {`"action":"commit","mode":"amend","message":"fourth again"`, ""},
		{`"action":"tag","mode":"create","name":"v1","message":"one"`, ""}, {`"action":"tag"`, ""},
		{`"action":"restore","paths":["f.txt","p.bin","c.conv","w.wt"],"discard":true`, ""},
		{`"action":"checkout","paths":["f.txt"],"ref":"HEAD~1","discard":true`, ""},
		{`"action":"restore","paths":["f.txt"],"staged":true`, ""}, {`"action":"restore","paths":["f.txt"]`, ""},
		{`"action":"merge","ref":"other"`, "CONFLICT"}, {`"action":"status"`, "! m.drv"}, {`"action":"merge","mode":"abort"`, ""},
		{`"action":"switch","mode":"create","name":"work"`, ""}, {`"action":"merge","ref":"other"`, "CONFLICT"},
		{`"action":"restore","paths":["m.drv"],"ref":"main","discard":true`, ""}, {`"action":"add","paths":["m.drv"]`, ""}, {`"action":"merge","mode":"continue"`, ""},
		{`"action":"switch","name":"other"`, ""},
		{`"action":"rebase","ref":"main"`, "CONFLICT"}, {`"action":"rebase","mode":"abort"`, ""},
		{`"action":"rebase","ref":"main"`, "CONFLICT"}, {`"action":"restore","paths":["m.drv"],"ref":"other","discard":true`, ""}, {`"action":"add","paths":["m.drv"]`, ""},
		{`"action":"rebase","mode":"continue"`, ""}, {`"action":"rebase","ref":"main"`, ""},
		{`"action":"checkout","ref":"main"`, ""}, {`"action":"switch","name":"side"`, ""}, {`"action":"merge","ref":"main","message":"m"`, ""},
		{`"action":"switch","name":"main"`, ""},
		{`"action":"init","repo":"fresh"`, ""}, {`"action":"clone","url":"hub.git","repo":"cloned"`, "action restore and its path"}, {`"action":"restore","repo":"cloned","paths":[".gitmodules"]`, ""}, {`"action":"clone","url":"lib","repo":"cloned-too"`, ""},
		{`"action":"clone","url":"ext::sh -c evil","repo":"no"`, "bad_address"}, {`"action":"clone","url":"--upload-pack=evil","repo":"no"`, "bad_address"},
	}
	network := []call{
		{`"action":"remote"`, ""}, {`"action":"remote","mode":"add","name":"third","url":"../hub.git"`, ""},
		{`"action":"remote","mode":"set_url","name":"third","url":"../alternate.git"`, ""},
		{`"action":"branch","mode":"upstream","name":"work","remote":"origin","ref":"main"`, ""},
		{`"action":"fetch"`, ""}, {`"action":"fetch","remote":"second"`, ""}, {`"action":"fetch","remote":"ext"`, "bad_address"}, {`"action":"fetch","remote":"ssh"`, "no_ssh"},
		{`"action":"pull","remote":"origin","name":"main"`, ""}, {`"action":"pull","mode":"merge","remote":"second","name":"main"`, ""}, {`"action":"pull","mode":"rebase","remote":"third","name":"main"`, ""},
		{`"action":"push"`, ""}, {`"action":"push","name":"work","remote":"second"`, ""}, {`"action":"push","remote":"ext"`, "bad_address"},
	}
	unsafe := []call{
		{`"action":"status"`, ""}, {`"action":"diff","ref":"HEAD~1"`, ""}, {`"action":"commit","mode":"amend","message":"again"`, "pushed"},
		{`"action":"fetch"`, "unsafe_settings"}, {`"action":"pull"`, "unsafe_settings"}, {`"action":"push"`, "unsafe_settings"},
		{`"action":"remote","mode":"add","name":"fourth","url":"../hub.git"`, ""},
	}
	done := map[string]bool{}
	play := func(calls []call) {
		t.Helper()
		for _, c := range calls {
			var in GitInput
			if err := json.Unmarshal([]byte("{"+c.args+"}"), &in); err != nil {
				t.Fatal(c.args, err)
			}
			a := in.args()
			cmd, err := a.Command()
			if err != nil {
				t.Fatal(c.args, err)
			}
			for range 3 {
				h.person.will("allow")
			}
			args := c.args
			if in.Repo == nil {
				args += `,"repo":"proj"`
			}
			got := h.play(`{"git": {` + args + `}}`)
			h.person.next = nil
			failed := strings.HasPrefix(got, "error ") || strings.Contains(got, "[exit code ")
			switch {
			case c.want == "" && failed, c.want != "" && !strings.Contains(got, c.want):
				t.Errorf("%s: want %q, got %s", c.args, c.want, got)
			case c.want == "":
				done[cmd.String()] = true
			}
			if strings.Contains(got, "SPRUNG") || len(h.sprung()) > 0 {
				t.Fatalf("%s: sprung: %q\n%s", c.args, h.sprung(), got)
			}
			if names := opened(); len(names) > 0 {
				t.Fatalf("%s: opened %q\n%s", c.args, names, got)
			}
		}
	}
	play(local)
	play(network)
	h.include()
	play(unsafe)
	for _, cmd := range git.Commands {
		if !done[cmd.String()] {
			t.Errorf("%s was not seen to succeed", cmd)
		}
	}
}
