package sandboxtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"handrail/sandbox"
)

// Layouts tests the sandbox on computers whose folders are called or lie otherwise.
func Layouts(t *testing.T) {
	for _, name := range []string{`my "odd" (x)`, `a[b]c{d}*?`, `back\slash`, "with space ", "$HOME`id`", "ก ไก่", "-rf", `") (allow default) ("`, "a;b|c&d", strings.Repeat("n", 200)} {
		t.Run(name[:min(len(name), 20)], func(t *testing.T) {
			b := NewBench(t)
			b.Machine.Workspace = filepath.Join(b.Machine.Home, name)
			b.Dir(b.Machine.Workspace + "/granted")
			b.File(b.Machine.Workspace+"/granted/r/.git/config", "mine\n")
			out, exit := b.Sh(b.Guarded(), `cd "$G" && echo x > a && mkdir d && mv a d/b && cat d/b && ! echo x > "$W/a" && ! echo x > r/.git/config && ! echo x > "$OUT/a" && ! cat "$HOME/.ssh/id_ed25519"`)
			if exit.Code != 0 || !strings.HasPrefix(out, "x\n") {
				t.Errorf("%+v\n%s", exit, out)
			}
		})
	}

	t.Run("a name that can't be passed on", func(t *testing.T) {
		b := NewBench(t)
		for _, name := range []string{"new\nline", "bell\a", "\xff"} {
			b.Machine.Workspace = filepath.Join(b.Machine.Home, name)
			if err := os.MkdirAll(b.Machine.Workspace+"/granted", 0o755); err != nil {
				if runtime.GOOS == "darwin" {
					continue // its file systems have no such name
				}
				t.Fatal(err)
			}
			if proc, err := sandbox.Start(b.Guarded(), sandbox.Command{Argv: []string{"/bin/sh", "-c", ":"}, Dir: "/"}); err == nil {
				proc.Wait()
				t.Errorf("a workspace called %q was accepted", name)
			}
		}
	})

	t.Run("our own files inside the workspace", func(t *testing.T) {
		b := NewBench(t)
		b.Machine.State = b.Machine.Workspace + "/granted/.handrail"
		b.File(b.Machine.State+"/policy.json", "{}\n")
		out, exit := b.Sh(b.Guarded(), `cd $G && ! cat .handrail/policy.json && ! echo x > .handrail/policy.json && ! echo x > .handrail/new && ! rm -rf .handrail && ! mv .handrail h && ! mv ../granted ../g && ! ln -s x .handrail/l && echo x > other`)
		if exit.Code != 0 {
			t.Errorf("%+v\n%s", exit, out)
		}
		if text, err := os.ReadFile(b.Machine.State + "/policy.json"); err != nil || string(text) != "{}\n" {
			t.Errorf("%q, %v", text, err)
		}
	})

	t.Run("a folder of a repository", func(t *testing.T) {
		b := NewBench(t)
		repo := filepath.Join(b.Machine.Home, "repo")
		b.Dir(repo + "/sub")
		cmd := exec.Command("git", "init", "-q", repo)
		cmd.Env = append(b.env(), "PATH="+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		b.Machine.Workspace = repo + "/sub"
		p := sandbox.Guarded(b.Machine).AllowWrite(b.Place(repo + "/sub"))
		out, exit := b.Sh(p, `! git init -q . && ! mkdir .git && ! mkdir .codex && ! echo "gitdir: x" > .git && echo x > ok`)
		if exit.Code != 0 {
			t.Errorf("%+v\n%s", exit, out)
		}
		for _, name := range []string{".git", ".codex"} {
			if _, err := os.Lstat(repo + "/sub/" + name); err == nil {
				t.Errorf("%s was made", name)
			}
		}
		top := exec.Command("git", "-C", repo+"/sub", "rev-parse", "--show-toplevel")
		top.Env = cmd.Env
		if out, err := top.Output(); err != nil || strings.TrimSpace(string(out)) != repo {
			t.Errorf("its repository is %q now, %v", out, err)
		}
	})

	t.Run("grants inside grants", func(t *testing.T) {
		b := NewBench(t)
		b.Dir(b.Machine.Workspace + "/granted/in/side")
		p := b.Guarded().AllowWrite(b.Place(b.Machine.Workspace+"/granted/in/side"), b.Place(b.Machine.Workspace+"/granted")).AllowRead(b.Place(b.Machine.Workspace), b.Place(b.Machine.Home+"/Pictures"), b.Place(b.Machine.Home+"/Pictures"))
		out, exit := b.Sh(p, `cd $G/in/side && echo x > a && mv a ../b && mv ../b ../../c && cat ../../c && ! echo x > $W/a`)
		if exit.Code != 0 {
			t.Errorf("%+v\n%s", exit, out)
		}
	})

	t.Run("the whole workspace", func(t *testing.T) {
		b := NewBench(t)
		p := sandbox.Guarded(b.Machine).AllowWrite(b.Place(b.Machine.Workspace))
		out, exit := b.Sh(p, `cd $W && echo x > a && mkdir d && mv a d && rm -r d && ! cat private/diary.txt && ! echo x > private/new && ! rm -rf private && ! mv private p && ! rmdir $W && ! mv $W $W.2 && ! echo x > ../a`)
		if exit.Code != 0 {
			t.Errorf("%+v\n%s", exit, out)
		}
	})

	t.Run("one file", func(t *testing.T) {
		b := NewBench(t)
		b.File(b.Machine.Workspace+"/todo.txt", "one\n")
		p := sandbox.Guarded(b.Machine).AllowWrite(b.file("todo.txt"), b.file("new.txt"))
		out, exit := b.Sh(p, `cd $W && echo two >> todo.txt && cat todo.txt && echo x > new.txt && rm new.txt && ! echo x > other.txt && ! mv todo.txt done.txt && ! echo x > todo.txt~ && ! mkdir new.txt.d && ! ln todo.txt l`)
		if exit.Code != 0 || !strings.Contains(out, "two") {
			t.Errorf("%+v\n%s", exit, out)
		}
	})
}
