package sandboxtest

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"handrail/sandbox"
)

// chaosCommand makes the test program do many random changes in the granted folder.
const chaosCommand = "sandboxtest-chaos"

// chaosNames are what Git and others look for, and what is like it.
var chaosNames = []string{".git", "config", "config.lock", "hooks", "HEAD", "HEAD.lock", "objects", "refs", "modules", "commondir", ".hg", "hgrc", "pre-commit", "x.sample", "a", "b", "c.git",
	".vscode", ".claude", "commands", "settings.json", ".bashrc", ".GIT", "Config", "worktrees", "heads"}

// chaos does n random changes.
func chaos(args []string) int {
	seed, _ := strconv.ParseUint(args[0], 10, 64)
	n, _ := strconv.Atoi(args[1])
	r := rand.New(rand.NewPCG(seed, 1))
	root := os.Getenv("G")
	name := func() string { return chaosNames[r.IntN(len(chaosNames))] }
	path := func() string {
		p := root
		for range 1 + r.IntN(4) {
			p += "/" + name()
		}
		if r.IntN(20) == 0 {
			p = root + "/" + []string{"r/.git", "bare", "x"}[r.IntN(3)] + "/" + name()
		}
		return p
	}
	text := func() string {
		return []string{"[core]\n\tfsmonitor = evil\n", "[core]\n\tbare = true\n", "ref: refs/heads/main\n", "gitdir: ../a\n"}[r.IntN(4)]
	}
	var open []int
	done := 0
	for range n {
		var err error
		switch r.IntN(12) {
		case 0, 1, 2:
			err = unix.Mkdir(path(), 0o755)
		case 3, 4:
			var fd int
			if fd, err = unix.Open(path(), unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o644); err == nil {
				unix.Write(fd, []byte(text()))
				if r.IntN(2) == 0 { // some stay open, and are written to later
					open = append(open, fd)
				} else {
					unix.Close(fd)
				}
			}
		case 5, 6:
			err = unix.Rename(path(), path())
		case 7:
			err = unix.Renameat2(unix.AT_FDCWD, path(), unix.AT_FDCWD, path(), unix.RENAME_EXCHANGE)
		case 8:
			if r.IntN(2) == 0 {
				err = unix.Link(path(), path())
			} else {
				err = unix.Symlink([]string{"a", "../a", root + "/a", ".git", "b"}[r.IntN(5)], path())
			}
		case 9:
			if r.IntN(2) == 0 {
				err = unix.Unlink(path())
			} else {
				err = unix.Rmdir(path())
			}
		case 10: // as git does it
			dir := filepath.Dir(path())
			if err = os.WriteFile(dir+"/config.lock", []byte(text()), 0o644); err == nil {
				err = unix.Rename(dir+"/config.lock", dir+"/config")
			}
		case 11:
			if len(open) > 0 {
				_, err = unix.Pwrite(open[r.IntN(len(open))], []byte(text()), 0)
			}
		}
		if err == nil {
			done++
		}
	}
	fmt.Println(done)
	return 0
}

// Chaos lets commands change a granted folder at random, and looks whether anything came of it that another program would run.
func Chaos(t *testing.T) {
	for seed := range 20 {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			b := NewBench(t)
			g := b.Machine.Workspace + "/granted"
			mine := map[string]string{
				"r/.git/HEAD": "ref: refs/heads/main\n", "r/.git/config": "[core]\n\tfsmonitor = mine\n", "r/.git/hooks/pre-commit": "mine\n", "r/.git/modules/a/config": "[core]\n\tpager = mine\n",
				"bare/HEAD": "ref: refs/heads/main\n", "bare/config": "[core]\n\tbare = true\n\tpager = mine\n", "bare/hooks/update": "mine\n",
				"x/.vscode/settings.json": "mine\n", "x/.claude/settings.json": "mine\n", "x/.bashrc": "mine\n", "key.pem": "secret key\n",
			}
			for name, text := range mine {
				b.File(filepath.Join(g, name), text)
			}
			for _, dir := range []string{"r/.git/objects", "r/.git/refs", "bare/objects", "bare/refs", "a", "b"} {
				b.Dir(filepath.Join(g, dir))
			}
			out, exit := b.Run(b.Guarded(), nil, b.program(), chaosCommand, strconv.Itoa(seed), "4000")
			if done, err := strconv.Atoi(strings.TrimSpace(out)); err != nil || exit.Code != 0 || done < 100 {
				t.Fatalf("%+v: %s", exit, out)
			}
			err := filepath.WalkDir(g, func(path string, entry fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				rel, err := filepath.Rel(g, path)
				if err != nil {
					return err
				}
				if _, ok := mine[rel]; ok {
					return nil
				}
				lower := strings.ToLower(entry.Name())
				if entry.IsDir() && looksLikeGit(path) && rel != "r/.git" && rel != "bare" {
					if why := harmful(path); why != "" {
						t.Errorf("%s became a repository: %s", rel, why)
					}
				}
				name, yes := sandbox.Protected(path)
				if first, _, _ := strings.Cut(strings.ToLower(name), "/"); strings.HasSuffix(first, ".git") && first != ".git" || lower == "head" {
					return nil // it counts once it looks like a repository: above
				}
				if dir := strings.ToLower(filepath.Base(filepath.Dir(path))); dir == "modules" || dir == "worktrees" {
					return nil // what is in it is looked at by itself
				}
				if !yes || !strings.HasSuffix(path, "/"+name) {
					return nil
				}
				switch {
				case entry.IsDir() && (lower == ".git" || lower == ".claude" || lower == ".hg" || lower == "hooks"):
				case entry.IsDir() && lower == ".vscode" && rel == "x/.vscode":
				case entry.Type().IsRegular() && lower == "config":
					if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), "evil") {
						t.Errorf("%s: %q, %v", rel, text, err)
					}
				default:
					t.Errorf("%s was made: %s", rel, entry.Type())
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range mine {
				if strings.HasSuffix(name, "HEAD") {
					continue // its branch may change
				}
				if text, err := os.ReadFile(filepath.Join(g, name)); err != nil || string(text) != want {
					t.Errorf("%s: %q, %v, want %q", name, text, err, want)
				}
			}
		})
	}
}

func looksLikeGit(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// harmful says what Git would run for a repository, "" for nothing.
func harmful(dir string) string {
	if text, err := os.ReadFile(filepath.Join(dir, "config")); err == nil && strings.Contains(string(text), "evil") {
		return fmt.Sprintf("its config is %q", text)
	}
	if info, err := os.Lstat(filepath.Join(dir, "config")); err == nil && !info.Mode().IsRegular() {
		return "its config is no file"
	}
	if info, err := os.Lstat(filepath.Join(dir, "hooks")); err == nil && !info.IsDir() {
		return "its hooks are no folder"
	}
	hooks, _ := os.ReadDir(filepath.Join(dir, "hooks"))
	for _, hook := range hooks {
		if !strings.HasSuffix(hook.Name(), ".sample") {
			return "it has the hook " + hook.Name()
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "commondir")); err == nil {
		return "it points elsewhere"
	}
	return ""
}
