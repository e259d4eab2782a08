package sandboxtest

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"handrail/sandbox"
)

// A Case is a script with its right outcome. $W is the workspace, $G the granted folder in it, $OUT a folder outside of
// everything. Whatever the script does, nothing may change outside $G, the session's own folder and the caches.
type Case struct {
	Name string
	// On is the systems it is for; empty: all.
	On     string
	Policy func(*Bench) sandbox.Policy // nil: guarded with an edit grant on $G
	// Setup is run before, outside the sandbox, by the same shell.
	Setup  string
	Script string
	// Fails says that the script must fail. A denial inside a longer script is written with `!`.
	Fails bool
	Want  string // what the output must hold
	// Kept lists files below $G that must be as they were, or absent as they were.
	Kept []string
}

// repository makes a repository with one commit in the folder of that name.
func repository(name string) string {
	return "git init -q -b main " + name + " && cd " + name + " && echo one > one && git add one && git commit -qm one && cd ..\n"
}

func readonly(b *Bench) sandbox.Policy {
	return sandbox.ReadOnly(b.Machine).AllowWrite(b.Place(b.Machine.Workspace + "/granted"))
}

func classic(b *Bench) sandbox.Policy { return sandbox.Classic(b.Machine) }

// cases are the scripts. What a line must prevent is in its name.
var cases = []Case{
	// Writing.
	{Name: "write in a granted folder", Script: `echo hi > $G/a && test "$(cat $G/a)" = hi && ls -l $G/a`, Want: "-rw-r--r--"},
	{Name: "write outside", Script: `echo x > $OUT/a`, Fails: true},
	{Name: "write in the workspace without a grant", Script: `echo x > $W/a`, Fails: true},
	{Name: "read the system", Script: `ls -l /bin > /dev/null && cat /etc/hosts > /dev/null`},
	{Name: "write through a link", Script: `ln -s $OUT/t $G/l && ! echo x > $G/l && test ! -e $OUT/t`},
	{Name: "write through a folder that is a link", Script: `ln -s $OUT $G/l && ! touch $G/l/t && test ! -e $OUT/t`},
	{Name: "rename a plain folder", Script: `mkdir -p $G/d/e && echo x > $G/d/e/f && mv $G/d $G/e && cat $G/e/e/f`, Want: "x"},
	{Name: "remove files and folders", Script: `mkdir -p $G/d/e && echo x > $G/d/e/f && rm $G/d/e/f && rm -r $G/d && test ! -e $G/d`},
	{Name: "empty a file", Setup: `echo x > $G/f; echo x > $G/g; echo x > $G/h`, Script: `: > $G/f && truncate -s0 $G/g && cp /dev/null $G/h && test ! -s $G/f && test ! -s $G/g && test ! -s $G/h`},
	{Name: "save as editors do", Setup: `echo a > $G/f`, Script: `sed -i s/a/b/ $G/f && cat $G/f && mv $G/f $G/g && test ! -e $G/f`, Want: "b"},
	{Name: "save without deleting", Policy: classic, Setup: `echo a > $G/f`, Script: `sed -i s/a/b/ $G/f`, Fails: true, Kept: []string{"f"}},
	{Name: "move out", Setup: `echo x > $G/f`, Script: `mv $G/f $OUT/f`, Fails: true, Kept: []string{"f"}},
	{Name: "move in from outside", Setup: `echo x > $OUT/f`, Script: `mv $OUT/f $G/f`, Fails: true},
	{Name: "hard link to what has no grant", Setup: `echo x > $W/f`, Script: `ln $W/f $G/hl`, Fails: true, Kept: []string{"hl"}},
	{Name: "hard link to what isn't readable", Setup: `echo x > $OUT/f`, Script: `ln $OUT/f $G/hl`, Fails: true, Kept: []string{"hl"}},
	{Name: "hard link inside", On: "linux", Setup: `echo x > $G/f`, Script: `ln $G/f $G/hl && test $G/f -ef $G/hl`},
	{Name: "pipe", Script: `mkfifo $G/p && { echo through > $G/p & } && cat $G/p`, Want: "through"},
	{Name: "device", Script: `mknod $G/n c 1 3`, Fails: true, Kept: []string{"n"}},
	{Name: "the working folder decides nothing", Script: `cd / && ! echo x > $OUT/a && echo x > $G/a && cd $G && echo y > b && cd .. && ! echo x > c`},
	{Name: "mode and times outside", Setup: `echo x > $OUT/t; echo x > $W/t`, Script: `for f in $OUT/t $W/t; do ! chmod 600 $f || exit 1; ! touch -d 2001-01-01 $f || exit 1; done`},
	{Name: "mode and times inside", Setup: `echo x > $G/t`, Script: `chmod 600 $G/t && touch -d 2001-01-01 $G/t && ls -l --full-time $G/t`, On: "linux", Want: "2001-01-01"},
	{Name: "odd names", Script: `cd $G && for n in 'a b' 'a"b' 'a(b)' 'a\b' "a'b" 'a
b' ก -x; do echo x > "./$n" && mv "./$n" "./$n.2" && rm "./$n.2" || exit 1; done`},
	{Name: "readonly writes nowhere", Policy: readonly, Script: `! echo x > $G/a && ! echo x > $TMPDIR/a && ! echo x > /tmp/a && ! mkdir $G/d && echo x > /dev/null`},
	{Name: "temporary files", Script: `echo x > $TMPDIR/a && mv $TMPDIR/a $TMPDIR/b && rm $TMPDIR/b && f=$(mktemp) && echo y > $f && cat $f`, Want: "y"},
	{Name: "across folders", Script: `echo x > $TMPDIR/a && mv $TMPDIR/a $G/a && mv $G/a $TMPDIR/b && cat $TMPDIR/b`, Want: "x"},
	{Name: "file mode mask", Script: `cd $G && umask 077 && echo x > a && mkdir d && umask 022 && echo x > b && (umask 0; echo x > c) && echo x > e && for f in a b c d e; do ls -ld $f | cut -c1-10; done | tr '\n' ' '`,
		Want: "-rw------- -rw-r--r-- -rw-rw-rw- drwx------ -rw-r--r--"},
	{Name: "a pipe that waits holds up nothing", Script: `mkfifo $G/p; (echo late > $G/p) & sleep 0.2; echo x > $G/f && mv $G/f $G/g && cat $G/g $G/p`, Want: "late"},
	{Name: "many at once", Script: `cd $G; for i in 1 2 3 4 5 6 7 8; do (for j in $(seq 50); do echo x > $i.$j && mv $i.$j $i-$j && rm $i-$j || echo failed; done) & done; wait; ls`, Want: "key.pem"},
	{Name: "descriptor paths", On: "linux", Script: `echo out > /dev/stdout && echo err > /dev/stderr && echo x > $G/f && exec 3>>$G/f && echo y > /dev/fd/3 && cat $G/f`, Want: "y"},
	{Name: "run as the owner", Setup: `echo x > $G/f`, Script: `! chmod 4755 $G/f && ! chmod u+s $G/f && cp /bin/ls $TMPDIR/ls && ! chmod u+s $TMPDIR/ls`},
	{Name: "what is writable is said", On: "linux", Script: `test -w $G && ! test -w $W && ! test -w $OUT && mkdir $G/.claude && ! test -w $G/.claude/commands && test -w $G/.claude`},
	{Name: "our own program", Policy: func(b *Bench) sandbox.Policy {
		b.Machine.Executable = b.Machine.Workspace + "/granted/handrail"
		return b.Guarded()
	}, Setup: `cp "$HANDRAIL" $G/handrail`, Script: `cd $G && ! cp /bin/ls handrail && ! rm -f handrail && ! mv handrail h && ! ln handrail h && ! chmod 600 handrail && cd .. && ! mv granted g`, Kept: []string{"handrail"}},

	// What is protected inside a granted folder.
	{Name: "hook", Setup: "cd $G; " + repository("r"), Script: `! echo x > $G/r/.git/hooks/pre-commit`, Kept: []string{"r/.git/hooks/pre-commit"}},
	{Name: "hook by other ways", Setup: "cd $G; " + repository("r") + "echo x > x; mkdir d", Script: `cd $G; h=r/.git/hooks
		! cp x $h/pre-commit && ! mv x $h/pre-commit && ! ln -s ../../../x $h/pre-commit && ! ln x $h/pre-commit && ! mv d $h/d && ! mkdir $h/d && ! mv $h h && ! rm -rf $h && ! mkfifo $h/p`,
		Kept: []string{"r/.git/hooks/pre-commit", "r/.git/hooks/d", "x", "d"}},
	{Name: "config of a repository", Setup: "cd $G; " + repository("r"), Script: `cd $G/r; for s in "core.fsmonitor x" "alias.x !y" "user.name z" "remote.o.url https://example.org"; do ! git config $s || exit 1; done
		! echo x >> .git/config && ! mv .git/config x && ! rm .git/config && ! truncate -s0 .git/config && ! cp /dev/null .git/config && ! ln .git/config x && ! chmod 777 .git/config`, Kept: []string{"r/.git/config"}},
	{Name: "commit", Setup: "cd $G; " + repository("r"), Script: `cd $G/r && echo two > two && git add . && git commit -qm two && git log --oneline | wc -l && git status --short && git gc -q && git fsck`, Want: "2"},
	{Name: "branches", Setup: "cd $G; " + repository("r") + "git clone -q r c; git -C r branch feature; git -C c fetch -q", Script: `cd $G/c && git checkout -q feature && git rev-parse --abbrev-ref feature@{u} && git checkout -q -b other main && git merge -q feature && git branch -D feature && git stash list && git tag x && git reset -q --hard`, Want: "origin/feature"},
	{Name: "new repository", Script: `cd $G && git init -q r && cd r && echo x > x && git add x && git commit -qm x && git remote add o https://example.org/x.git && git config user.email a@b && cat .git/config`, On: "linux", Want: "example.org"},
	{Name: "new repository with harmful settings", On: "linux", Script: `cd $G && git init -q r && cd r; for s in "core.fsmonitor ./x" "core.hooksPath x" "alias.x !y" "core.sshCommand x" "include.path x" "filter.x.clean y" "diff.external x" "credential.helper x" "remote.o.url ext::x"; do ! git config $s || exit 1; done
		! echo x > .git/config && ! echo x > .git/hooks/pre-commit && ! mkdir .git/hooks/x && cat .git/config`, Want: "bare = false"},
	{Name: "clone", Setup: "cd $W; " + repository("origin"), On: "linux", Script: `cd $G && git clone -q $W/origin c && cd c && git log --oneline && git remote -v && ls .git/hooks`, Want: "origin"},
	{Name: "remove one's own repository", Setup: "cd $W; " + repository("origin"), On: "linux", Script: `cd $G && git clone -q $W/origin c && rm -rf c && test ! -e c`},
	{Name: "bare repository", On: "linux", Script: `cd $G && git init -q --bare b && git init -q w && cd w && echo x > x && git add x && git commit -qm x && git push -q ../b HEAD:refs/heads/main && ! git -C ../b config core.fsmonitor x && ! echo x > ../b/hooks/update && rm -rf ../b`},
	{Name: "bare repository in disguise", On: "linux", Script: `cd $G && mkdir b b/objects b/refs && printf '[core]\n\tbare = true\n\tfsmonitor = x\n' > b/config && ! echo "ref: refs/heads/main" > b/HEAD && rm b/config && echo "ref: refs/heads/main" > b/HEAD && ! cp /dev/null b/config && ! mkdir -p b/hooks/x`},
	{Name: "bare repository in another order", On: "linux", Script: `cd $G && mkdir b b/objects b/hooks && echo "ref: refs/heads/main" > b/HEAD && echo x > b/hooks/update && ! mkdir b/refs && mkdir r && ! mv r b/refs && ! ln -s ../r b/refs`, Kept: []string{"b/refs"}},
	{Name: "the person's bare repository", Setup: "cd $G; git init -q --bare b; echo x > b/hooks/update", On: "linux", Script: `cd $G/b && ! echo x >> config && ! echo x > hooks/update && ! rm hooks/update && ! mv HEAD H && ! mv objects o && ! rm -r refs && ! mv hooks h && ! ln config ../c`, Kept: []string{"b/config", "b/hooks/update", "b/HEAD", "c"}},
	{Name: "pointer to another Git folder", Setup: "mkdir -p $G/p", Script: `cd $G && mkdir evil && echo "[core]" > evil/config && ! echo "gitdir: ../evil" > p/.git && ! ln -s ../evil p/.git && ! cp -r evil p/.git && ! mv evil p/.git`, Kept: []string{"p/.git/config"}},
	{Name: "a .git that is a file", Setup: "cd $G; " + repository("main") + "git -C main worktree add -q ../wt", Script: `cd $G/wt && ! echo x > .git && ! rm .git && ! mv .git x && git status --short && echo x > x && git add x && git commit -qm x && git log --oneline && ! echo x > ../main/.git/hooks/pre-commit && ! echo x > ../main/.git/worktrees/wt/commondir && ! git config user.name x`, Want: "x", Kept: []string{"wt/.git", "main/.git/config", "main/.git/worktrees/wt/commondir"}},
	{Name: "settings move inside a Git folder", Setup: "cd $G; " + repository("r") + "cp -r r/.git m; mkdir r/.git/modules; mv m r/.git/modules/m", On: "linux", Script: `cd $G/r/.git && ! mv modules/m refs/m && ! mv modules/m x && ! mv modules x && ! mv modules/m ../../m && mkdir ../n && ! mv ../n modules/n && mkdir -p refs/heads/a && mv refs/heads/a refs/heads/b`, Kept: []string{"r/.git/modules/m/config"}},
	{Name: "another name for the Git folder", Setup: "cd $G; " + repository("r"), Script: `cd $G/r && ! mv .git g && mkdir g && ! mv g .git && ! mv -T g .git`, Kept: []string{"r/.git/config"}},
	{Name: "editors' and assistants' settings", Setup: `mkdir -p $G/.vscode $G/.claude; echo "{}" > $G/.vscode/settings.json`, Script: `cd $G && ! echo x > .vscode/settings.json && ! echo x > .vscode/x && ! rm -r .vscode && ! mv .vscode v && ! mkdir .idea && ! mkdir .claude/commands && ! mkdir .claude/agents && ! echo x > .claude/settings.json && ! echo x > .mcp.json && ! echo x > .envrc && ! echo x > .bashrc && ! echo x > sub/.zshrc && echo x > .claude/other && echo x > vscode`, Kept: []string{".vscode/settings.json", ".vscode/x", ".idea", ".claude/commands", ".mcp.json", ".envrc", ".bashrc"}},
	{Name: "settings that don't exist yet", Script: `cd $G && ! mkdir -p .codex && ! mkdir -p a/b/.codex && ! mkdir .cursor && mkdir c && ! mv c .codex && ! ln -s c .codex && ! echo x > .codex`, Kept: []string{".codex", "a/b/.codex", ".cursor"}},
	{Name: "by moving the folder above", Setup: `mkdir -p $G/a/.vscode; echo x > $G/a/.vscode/s`, Script: `cd $G && mv a c && ! echo y > c/.vscode/s && mv c a && ! mv a/.vscode a/v && mkdir d && ! mv d a/.idea`, Kept: []string{"a/.vscode/s", "a/.idea"}},
	{Name: "by exchanging names", On: "linux", Setup: `mkdir -p $G/.vscode $G/x; echo x > $G/.vscode/s`, Script: `cd $G && python3 -c 'import ctypes,os,sys; l=ctypes.CDLL(None,use_errno=True); r=l.renameat2(-100,b"x",-100,b".vscode",2); sys.exit(0 if r==0 else 3)'`, Fails: true, Kept: []string{".vscode/s"}},
	{Name: "in other letters", Script: `cd $G && ! mkdir .VSCODE && ! echo x > .BashRC && ! mkdir -p .GIT/hooks/x && ! echo x > .Mcp.JSON`, Kept: []string{".VSCODE", ".BashRC", ".Mcp.JSON"}},
	{Name: "through a link with a protected name", On: "linux", Setup: `cd $G; mkdir decoy deep deep/two; echo x > decoy/s; ln -s decoy .codex; ln -s ../decoy deep/.vscode; echo r > real; ln -s real .bashrc`, Script: `cd $G && ! echo y > .codex/s && ! echo y > deep/.vscode/s && ! echo y > decoy/s && ! echo y > real && ! rm .codex && ! rm .bashrc && ! ln -sf other .codex && ! mv .codex c`, Kept: []string{"decoy/s", "real"}},
	{Name: "start-up files kept in a granted folder", On: "linux", Setup: `mkdir -p $G/dot/files; echo x > $G/dot/files/bashrc; ln -sf $G/dot/files/bashrc $HOME/.bashrc; echo x > $G/dot/files/other`, Script: `cd $G/dot/files && ! echo y > bashrc && ! rm bashrc && ! sed -i s/x/y/ bashrc && echo y > other`, Kept: []string{"dot/files/bashrc"}},
	{Name: "hooks that are links to scripts", On: "linux", Setup: "cd $G; " + repository("r") + "mkdir r/scripts; echo x > r/scripts/check; ln -s ../../scripts/check r/.git/hooks/pre-commit", Script: `cd $G/r && ! echo y > scripts/check && echo y > scripts/other`, Kept: []string{"r/scripts/check"}},
	// Git says that it couldn't, and shows the file as changed.
	{Name: "a tracked protected file", Setup: "cd $G; " + repository("r") + "cd r; mkdir -p .claude/skills; echo a > .claude/skills/s; git add .; git commit -qm a; git checkout -q -b b; echo b > .claude/skills/s; git commit -qam b; git checkout -q main", Script: `cd $G/r && git checkout b`, Want: "not permitted", Kept: []string{"r/.claude/skills/s"}},
	{Name: "a secret in a granted folder", Script: `cd $G && ! cat key.pem && ! mv key.pem k && ! cp key.pem k && ! ln key.pem k && ! rm -f key.pem && ! echo x > key.pem && ! mv $G $W/g2`, Kept: []string{"key.pem"}},

	// Reading.
	{Name: "secrets", Script: `! cat $HOME/.ssh/id_ed25519 && ! ls $HOME/.ssh/id_ed25519 && ! cat $HOME/.local/share/Handrail/tokens && ! ls $HOME/.local/share/Handrail && ! cat $W/private/diary.txt && ! cat /etc/shadow && ! cat /etc/sudoers`},
	{Name: "the home folder", Script: `! cat $HOME/Documents/letter.txt && ! ls $HOME/Documents && ! cat $HOME/.bashrc && ! cat $OUT/x`},
	{Name: "a secret through a link", Script: `ln -s $HOME/.ssh/id_ed25519 $G/l && ! cat $G/l && ln -s $HOME/.local/share/Handrail $G/s && ! ls $G/s/`},
	{Name: "the real path of a folder", Script: `cd $G && test "$(pwd -P)" = "$G" && test "$(realpath .)" = "$G"`},
	{Name: "shells without start-up files", Setup: `echo "echo started" > $HOME/.bashrc; cp $HOME/.bashrc $HOME/.profile`, Script: `bash -c 'echo one' && bash -lc 'echo two' && ! bash -ic 'echo three' 2>/dev/null | grep started`, Want: "two"},
	{Name: "other processes", On: "linux", Script: `ls /proc | grep -c '^[0-9]' && ! cat /proc/1/environ && ! readlink /proc/1/fd/3 && ! ls /proc/1/root/ && ! cat /proc/1/maps && ! kill -0 1 && ! kill -9 1`},
	{Name: "tools run", Script: `awk 'BEGIN{print 1+1}' && python3 -c 'print(2)' && git --version`},
	{Name: "Python's locks and pools", Script: `python3 -c '
from multiprocessing import Lock, Pool, Manager
Lock(); print(Pool(2).map(abs,[-1,-2])); print(Manager().list([3]))
import pwd, os; print(pwd.getpwuid(os.getuid()).pw_uid == os.getuid())'`, Want: "True"},
	{Name: "no new privileges", On: "linux", Script: `grep -E 'NoNewPrivs:.1|Seccomp:.2|CapEff:.0+$|CapBnd:.0+$' /proc/self/status | wc -l`, Want: "4"},
	{Name: "only its own descriptors", On: "linux", Script: `ls /proc/self/fd | wc -l`, Want: "4"}, // the fourth is ls's
	{Name: "the system's own files", On: "linux", Script: `! sh -c 'echo x > /proc/sys/kernel/core_pattern' && ! sh -c 'echo 100000 > /proc/sys/kernel/pid_max' && ! sh -c 'echo b > /proc/sysrq-trigger' && ! mkdir /sys/fs/cgroup/x && ! sh -c 'echo x > /sys/kernel/uevent_helper' && ! touch /etc/x /usr/x /x /root/x && ! cat /dev/mem && ! cat /dev/sda /dev/vda /dev/nvme0n1 && test -z "$(ls -A /run)"`},

	// The network.
	{Name: "no network", On: "linux", Script: `! bash -c 'echo > /dev/tcp/192.0.2.1/80' && ! bash -c 'echo > /dev/tcp/127.0.0.1/22' && ! getent hosts example.org && ! bash -c 'echo x > /dev/udp/192.0.2.1/53'`},
	{Name: "its own loopback", On: "linux", Script: `python3 -c '
import socket
s=socket.socket(); s.bind(("127.0.0.1",0)); s.listen(1); c=socket.create_connection(s.getsockname()); print("connected")'`, Want: "connected"},
	{Name: "no bus", On: "linux", Script: `! test -e /run/dbus/system_bus_socket && ! test -e /run/user && ! test -e /tmp/.X11-unix`},

	// macOS: what other programs would do for a command.
	{Name: "clipboard", On: "darwin", Script: `! echo x | pbcopy && test -z "$(pbpaste)"`},
	{Name: "keychain", On: "darwin", Script: `! security list-keychains | grep -q keychain && ! security find-generic-password -s none && ! ls $HOME/Library/Keychains`},
	{Name: "opening an app", On: "darwin", Script: `printf '#!/bin/sh\ntouch %s/opened\n' "$OUT" > $TMPDIR/x.command; chmod +x $TMPDIR/x.command; ! open -g $TMPDIR/x.command && ! open -a Terminal $TMPDIR/x.command && ! open -g -a Calculator; test ! -e $OUT/opened`},
	{Name: "scripting apps", On: "darwin", Script: `! osascript -e 'tell application "System Events" to keystroke "x"' && ! osascript -e 'tell application "Finder" to make new folder at desktop' && ! automator -i x && ! shortcuts list`},
	{Name: "launchd", On: "darwin", Script: `! launchctl submit -l handrail.test -- /usr/bin/touch $OUT/launched && ! launchctl bootstrap gui/$(id -u) $TMPDIR/x.plist; test ! -e $OUT/launched`},
	{Name: "another user's rights", On: "darwin", Script: `! /bin/ps -ax && ! sudo -n true && ! crontab -l && ! at -l now`},
	{Name: "a sandbox in the sandbox", On: "darwin", Script: `sandbox-exec -p '(version 1)(allow default)' /usr/bin/true`, Fails: true, Want: "sandbox_apply"},
	{Name: "the screen", On: "darwin", Script: `! screencapture -x $TMPDIR/x.png || test ! -s $TMPDIR/x.png`},
	{Name: "search and preferences", On: "darwin", Script: `! mdfind -count x && ! defaults write handrail.test x y`},
	{Name: "processes outside", On: "darwin", Script: `! kill -0 1 && ! kill -0 $PPID`},
	{Name: "clones and links of a secret", On: "darwin", Script: `cd $G && ! cp -c key.pem k && ! ln key.pem k && ! cp -c $HOME/.ssh/id_ed25519 k`},
	{Name: "another name of the home folder", On: "darwin", Script: `! cat /System/Volumes/Data$HOME/.ssh/id_ed25519 && ! ls /System/Volumes/Data$HOME/Documents && ! touch /System/Volumes/Data$OUT/x`},
	{Name: "names that compose otherwise", On: "darwin", Script: `cd $G && ! mkdir .VSCODE && ! printf x > "$(printf '.ba\305\277hrc')" && ! printf x > "$(printf '.gitcon\357\254\201g')"`},
	{Name: "terminals of others", On: "darwin", Script: `for t in /dev/ttys*; do ! echo x > $t || exit 1; done 2>/dev/null`},
	{Name: "no network on a Mac", On: "darwin", Script: `! curl -sS --max-time 3 https://192.0.2.1 && ! bash -c 'echo > /dev/tcp/127.0.0.1/22' && ! dscacheutil -q host -a name example.org | grep -q address && ! python3 -c 'import socket; socket.socket().bind(("127.0.0.1", 0))'`},
}

// Cases runs the scripts.
func Cases(t *testing.T) {
	ran := 0
	for _, c := range cases {
		if c.On != "" && c.On != runtime.GOOS {
			continue
		}
		ran++
		if *lines && !c.attack() {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			b := NewBench(t)
			if c.Setup != "" {
				cmd := exec.Command("/bin/sh", "-e", "-c", c.Setup)
				cmd.Env = append(b.env(), "PATH="+os.Getenv("PATH"), "HANDRAIL="+b.Machine.Executable)
				cmd.Dir = b.Machine.Workspace
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("setting up: %v\n%s", err, out)
				}
			}
			p := b.Guarded()
			if c.Policy != nil {
				p = c.Policy(b)
			}
			granted := filepath.Join(b.Machine.Workspace, "granted")
			open := []string{b.Machine.Temp, b.Machine.Caches}
			if p.Profile() == "guarded" {
				open = append(open, granted)
			}
			outside := func() map[string]string {
				m, err := tree(b.Root)
				if err != nil {
					t.Fatal(err)
				}
				maps.DeleteFunc(m, func(path, _ string) bool {
					return slices.ContainsFunc(open, func(o string) bool { return path == o || strings.HasPrefix(path, o+"/") }) || p.Profile() == "classic"
				})
				return m
			}
			kept := map[string]string{}
			for _, rel := range c.Kept {
				kept[rel] = state(filepath.Join(granted, rel))
			}
			before := outside()
			out, exit := b.Run(p, nil, "/bin/sh", "-c", c.Script)
			if c.attack() {
				defer func() { tried("script", c.Name, !t.Failed(), denialIn(out, exit)) }()
			}
			if failed := exit.Code != 0; failed != c.Fails || !strings.Contains(out, c.Want) {
				t.Errorf("it ended with %+v, want failing %v and %q:\n%s", exit, c.Fails, c.Want, out)
			}
			after := outside()
			for path, what := range after {
				if before[path] != what {
					t.Errorf("%s was %q and is %q", path, before[path], what)
				}
			}
			for path := range before {
				if _, ok := after[path]; !ok {
					t.Errorf("%s is gone", path)
				}
			}
			for rel, was := range kept {
				if now := state(filepath.Join(granted, rel)); now != was {
					t.Errorf("%s was %s and is %s", rel, was, now)
				}
			}
		})
	}
	if ran < 40 {
		t.Errorf("only %d cases ran", ran)
	}
	t.Logf("%d cases", ran)
}
