package tool

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"handrail/core/client"
	"handrail/core/job"
)

// bomb is the one refused script that isn't run: until it is stopped it takes the computer's processes away from everyone.
const bomb = ":(){ :|:& };:"

// harms are what someone past the first layer would try, beside the scripts that it refuses. $W is the workspace, $H the home
// folder, $T a folder of the computer that nothing opens, $P a port that listens.
var harms = []string{
	"echo x > $W/made", "echo x >> $W/a.txt", "echo x > $TMPDIR/made", "echo x > $H/made", "echo x > $T/made", "touch $W/a.txt", "chmod 777 $W/a.txt", "mv $W/a.txt $W/b.txt", "ln -s a.txt $W/link",
	"ln $W/a.txt $W/hard", "mkdir $W/folder", "mkfifo $W/pipe", "rm -f $W/a.txt", "cp $W/a.txt $W/copy", "sort -o $W/out $W/a.txt", "find $W -exec touch $W/made ';'", "find $W -name a.txt -delete", "find $W -fprint $W/made",
	"sed -i s/one/two/ $W/a.txt", "truncate -s 0 $W/a.txt", "dd if=/dev/zero of=$W/a.txt count=1", "tee $W/made < $W/a.txt", "git -C $W init", "git -C $W/repo commit -m x --allow-empty", "git -C $W/repo branch made", "git -C $W/repo config a.b c",
	"git -C $W/repo -c core.fsmonitor='touch '$W/made status", "git -C $W/repo gc", "git -C $W/repo log --output=$W/made", "python3 -c 'open(\"'$W'/made\",\"w\")'", "perl -e 'open(F,\">'$W'/made\")'",
	"cat $H/.ssh/id_rsa", "cat $H/.aws/credentials", "cat $W/.env", "cat $W/sub/.Env.local", "grep -rh MARKER $W", "grep -rh MARKER $H", "cat $W/innocent.txt", "cat $W/./sub/../.env", "cat $H/letters/private.txt", "cp $H/.ssh/id_rsa /dev/stdout", "dd if=$W/.env",
	"python3 -c 'print(open(\"'$W'/.env\").read())'", "head -c 99 < $W/.env", "cat $STATE/key", "cat /proc/1/environ",
	"echo x > /dev/tcp/127.0.0.1/$P", "exec 3<>/dev/tcp/127.0.0.1/$P", "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", '$P'))'", "echo x > /dev/udp/127.0.0.1/$P", "git -C $W/repo ls-remote git://127.0.0.1:$P/x",
}

// The second layer: what the first refuses is run past it, by a shell under the policy of the level look, and none of the harm
// is done. Nothing is changed, no connection is made, nothing that is closed is read.
func TestKernelLayer(t *testing.T) {
	data, err := os.ReadFile("../command/testdata/readonly.txt")
	if err != nil {
		t.Fatal(err)
	}
	var scripts []string
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "no ") {
			_, script, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "]")
			scripts = append(scripts, strings.NewReplacer("⏎", "\n", "␍", "\r", "⍽", "\u00a0").Replace(strings.TrimLeft(script, " ")))
		}
	}
	if len(scripts) < 250 || !slices.Contains(scripts, bomb) {
		t.Fatalf("%d refused scripts", len(scripts))
	}
	scripts = slices.DeleteFunc(scripts, func(s string) bool { return s == bomb })

	w := newWorld(t, true)
	defer w.close()
	for name, text := range map[string]string{"w/a.txt": "one\n", "w/.env": "MARKER\n", "w/sub/.Env.local": "MARKER\n", "h/.ssh/id_rsa": "MARKER\n", "h/.aws/credentials": "MARKER\n", "h/letters/private.txt": "MARKER\n"} {
		w.put(name, []byte(text))
	}
	if err := os.Symlink(".env", w.path("w/innocent.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "state", "key"), []byte("MARKER\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{{"init", "-q"}, {"commit", "-q", "--allow-empty", "-m", "one"}} {
		if err := w.git(w.path("w/repo"), words); err != nil {
			t.Fatal(err)
		}
	}
	elsewhere := t.TempDir()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var connections atomic.Int32
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			c.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	for _, h := range harms {
		scripts = append(scripts, strings.NewReplacer("$TMPDIR", "$TMPDIR", "$W", w.gate.Workspace, "$H", w.home, "$T", elsewhere, "$P", port, "$STATE", filepath.Join(w.dir, "state")).Replace(h))
	}

	s := w.sessions.Connect(client.Identity{ID: "stdio:x", Name: "x"}, client.Look)
	r, err := w.gate.room(s)
	if err != nil {
		t.Fatal(err)
	}
	sh, err := shell()
	if err != nil {
		t.Fatal(err)
	}
	before := w.picture("h") + picture(t, r.Temp) + picture(t, elsewhere)
	outside := made()
	// Many in one sandbox, one after the other; what goes on for ever is stopped.
	run := func(scripts ...string) string {
		script := strings.Join(scripts, "; ")
		j, err := w.gate.Jobs.Start(job.Spec{Session: s.ID, Tool: "bash", Text: script, Argv: append([]string{sh, "-c", `for s in "$@"; do "$0" -c "$s" < /dev/null; done`, sh}, scripts...), Dir: w.gate.Workspace, Env: append(slices.Clone(r.Env), "PWD="+w.gate.Workspace),
			Policy: r.Policy, Timeout: scriptTime(scripts)})
		if err != nil {
			t.Errorf("%q: %v", script, err)
			return ""
		}
		select {
		case <-j.Done():
		case <-time.After(ages):
			t.Errorf("%q: it goes on", script)
			return ""
		}
		if len(scripts) > 1 && j.Result().Stopped == job.TimedOut {
			t.Errorf("one of these goes on for ever: %q", scripts)
		}
		text := j.Output.All()
		return string(text.Head) + string(text.Tail)
	}
	if got := run("cat a.txt && git -C repo log --format=%s"); got != "one\none\n" { // what is open is read
		t.Fatalf("%q", got)
	}
	var wg sync.WaitGroup
	next := make(chan []string)
	for range 4 {
		wg.Go(func() {
			for batch := range next {
				if out := run(batch...); strings.Contains(out, "MARKER\n") {
					t.Errorf("one of %q read what is closed: %.200s", batch, out)
				}
			}
		})
	}
	var batch []string
	for _, script := range scripts {
		if endless(script) {
			next <- []string{script}
			continue
		}
		if batch = append(batch, script); len(batch) == 20 {
			next <- batch
			batch = nil
		}
	}
	next <- batch
	close(next)
	wg.Wait()
	if after := w.picture("h") + picture(t, r.Temp) + picture(t, elsewhere); after != before {
		t.Errorf("something was changed:\n%s\nit was\n%s", after, before)
	}
	if n := connections.Load(); n > 0 {
		t.Errorf("%d connections were made", n)
	}
	for _, path := range made() {
		if !slices.Contains(outside, path) {
			t.Errorf("%s was made", path)
		}
	}
	fmt.Printf("kernel layer: %d scripts run past the first layer\n", len(scripts))
}

// endless says that a script may go on until it is stopped.
func endless(script string) bool {
	for _, mark := range []string{"tail -", "tail +", "/dev/random", "while ", "-live", "&", "yes"} {
		if strings.Contains(script, mark) {
			return true
		}
	}
	return false
}

// scriptTime is how long scripts may take, a busy machine included.
func scriptTime(scripts []string) time.Duration {
	if len(scripts) == 1 && endless(scripts[0]) {
		return 2 * time.Second
	}
	return 2 * time.Minute
}

// made lists which of the files that the scripts would make outside are there.
func made() (there []string) {
	for _, path := range []string{"/tmp/x", "/tmp/p", "/tmp/x.so", "/tmp/evil", "/tmp/malicious", "/home/me"} {
		if _, err := os.Lstat(path); err == nil {
			there = append(there, path)
		}
	}
	return there
}

// picture lists what is in a folder.
func picture(t *testing.T, folder string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.Walk(folder, func(path string, info os.FileInfo, err error) error {
		if err == nil {
			fmt.Fprintf(&b, "%s %v %d %v\n", path, info.Mode(), info.Size(), info.ModTime())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
