package tool

import (
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"handrail/core/client"
	"handrail/core/command"
	"handrail/core/grant"
	"handrail/core/job"
	"handrail/sandbox"
)

var every = flag.Bool("every", false, "run every kind of delete in every way, which takes minutes")

// Kinds of delete, the ways to write one inside something else, and the ways to quote its words. They are run for real.
var (
	realDeletes = []string{`rm f`, `rm -rf d`, `rm -- f`, `rm [f]`, `rmdir empty`, `unlink f`, `shred -u f`, `shred f`, `truncate -s 0 f`, `truncate --size=0 f`, `find d -delete`, `find . -name f -exec rm {} +`, `find d -type f -execdir rm {} \;`,
		`find . -name f | xargs rm`, `echo f | xargs -I X rm X`, `echo f | xargs -n1 unlink`, `> f`, `: > f`, `cat g > f`, `cat g >| f`, `cat g &> f`, `ls nothing 2> f`, `exec 3> f`, `cat g | tee f`, `tee f < g`, `mv g f`, `mv f g d`, `cp g f`,
		`cp -t d f`, `cp --remove-destination g f`, `ln -f g f`, `ln -sf g f`, `ln -sfn g away`, `install g f`, `dd if=g of=f`, `sort -o f g`, `uniq g f`, `sed -i d f`, `sed -n -i s/x/y/ f`, `sed -n 'w f' g`, `awk '{print "x" > "f"}' g`, `awk 'BEGIN{system("rm f")}'`,
		`tar cf f g`, `tar -cf new.tar --remove-files f`, `tar -xf a.tar`, `tar -C. -xf a.tar`, `gzip f`, `split -b 1 g d/`, `git clean -fdxq`, `git checkout -q -- t`, `git restore t`, `git reset -q --hard`, `git rm -qf t`, `git stash -q`,
		`find . -name '?' -type f -exec mv {} all \;`, `ls f g | xargs -I{} mv {} all`, `perl -e 'unlink "f"'`, `perl -pi -e '$_=""' f`, `python3 -c 'import os; os.remove("f")'`, `python3 -c 'open("f","w")'`, `cp dangling2 f; mv g f`,
		`declare 'a[$(rm f)]=1'`, `command let 'a[$(rm f)]=1'`, `jobs -x rm f`, `printf -v 'a[$(rm f)]' x`, `read 'a[$(rm f)]' < g`, `echo rm | xargs -I echo sh -c 'echo f'`, `bash -n +n -c 'rm f'`, `hash -p /bin/rm cat; cat f`,
		`cd d; > h`, `cd d && > h`, `eval 'cd d'; > h`, `trap '> h' EXIT; cd d`, `env -C d sh -c '> h'`, `(cd d; > h)`, `cd away; > ../k`, `> away/../k`, `f() { cd d; }; f; > h`, `for i in 1 2; do > h; cd d; done 2> err`,
		`for i in 1 2; do > new; ln f new; done 2> err`, `mv f new; > new`, `for x in f g; do rm $x; done`, `for x in f g; do mv $x all; done`, `x=rm; $x f`, `x='rm f'; eval "$x"`, `./s`, `. ./s`, `sh s`, `sh < s`, `cat s | sh`, `make -s`,
		`sh <<E` + "\nrm f\nE", `comm f g > g`, `cat f > f`, `printf '' > f`, `cp /dev/null f`, `cat /dev/null | tee f d/h`, `alias ls='rm f'; ls`, `shopt -s expand_aliases; alias ls=rm` + "\nls f", `PATH=$PWD/bin:$PATH tool`, `bin/tool`, `rm -rf "$PWD/d"`,
		`rm -rf ../$(basename "$PWD")/d`, `xargs rm < list`, `while read x; do rm "$x"; done < list`, `env rm f`, `cp -r d2/. d`, `cp -r d2/ d3`, `rsync -a --delete d2/ d/`, `ed -s f <<< $'1,$d\nw'`, `echo 'rm f' | tee s2 | sh`}
	realWrappers = []string{`%s`, `env %s`, `env -i PATH=/usr/bin:/bin %s`, `nice %s`, `nohup %s`, `timeout 5 %s`, `stdbuf -oL %s`, `setsid -w %s`, `time %s`, `command %s`, `exec %s`, `( %s )`, `{ %s
}`, `! %s`, `true && %s`, `false || %s`, `true; %s`, "ls\n%s", `ls | { %s
}`, `%s | cat`, `{ %s
} & wait`, `if true; then %s
fi`, `if ! %s
then :; fi`, `for i in 1; do %s
done`, `while :; do %s
break; done`, `case x in *) %s
esac`, `f() { %s
}; f`, `function f { %s
}; f`, `x=$(%s
)`, `echo "$(%s
)"`, `echo ${x:-$(%s
)}`, `cat <(%s
)`, "cat <<EOT\n$(%s\n)\nEOT", `[[ -n $(%s
) ]]`, `echo $(( 1 + $(%s
) ))`, `coproc { %s
}; wait`, `a=($(%s
))`, `export x=$(%s
)`, `X=1 %s`, `%s 2>/dev/null`, `trap : EXIT; %s`, `set -eu; %s`, `echo f > new1; %s`, `cd .; %s`, `cd d; cd ..; %s`, `mkdir n; %s`, `touch f; %s`, `nice timeout 5 env A=1 %s`}
	realTexts = []string{`sh -c %q`, `bash -c %q`, `bash -ec %q x`, `eval %q`, `trap %q EXIT`, `echo %q | bash`, `bash <<< %q`, `env -S %q`, `env bash -c %q`, `find . -maxdepth 0 -exec bash -c %q \;`, `xargs -I{} bash -c %q <<< x`, `bash -c 'eval "$1"' _ %q`,
		`x=%q; eval "$x"`, `x=%q; bash -c "$x"`, `bash -c "bash -c \"\$1\"" _ %q`, `nice bash -c %q`, `f() { eval "$1"; }; f %q`, `printf '%%s\n' %q > s3; . ./s3`}
)

// scratch fills a folder with what the scripts work on. Each file's content is its own.
func scratch(t *testing.T, dir string, template map[string]string) {
	t.Helper()
	for name, text := range template {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch target, link := strings.CutPrefix(text, "-> "); {
		case link:
			err = os.Symlink(target, path)
		case text == "folder":
			err = os.MkdirAll(path, 0o755)
		default:
			err = os.WriteFile(path, []byte(text), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

var scratchFiles = map[string]string{"f": "text of f\n", "g": "text of g\n", "d/f": "text of d/f\n", "d/h": "text of d/h\n", "d2/f": "text of d2/f\n", "d3/f": "text of d3/f\n", "empty": "folder", "away": "-> other/in", "other/in": "folder", "other/k": "text of k\n",
	"dangling": "-> nowhere", "s": "rm f\n", "list": "f\n", "Makefile": "all:\n\trm f\n", "bin/tool": "#!/bin/sh\nrm f\n"}

// kept is what a folder holds that could be lost: the contents of its files, wherever they stand, and how many folders and
// links there are.
func kept(t *testing.T, dir string) (contents map[string]bool, folders, links int) {
	t.Helper()
	contents = map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir():
			folders++
		case d.Type()&fs.ModeSymlink != 0:
			links++
		default:
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for text := range lines(data) {
				contents[text] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return contents, folders, links
}

func lines(data []byte) map[string]bool {
	all := map[string]bool{}
	for l := range strings.Lines(string(data)) {
		all[strings.TrimSuffix(l, "\n")] = true
	}
	return all
}

// lost says what a script took away; "" for nothing.
func lost(t *testing.T, dir string, before map[string]bool, folders, links int) string {
	t.Helper()
	after, nowFolders, nowLinks := kept(t, dir)
	for text := range before {
		if !after[text] {
			return fmt.Sprintf("%q", text)
		}
	}
	if nowFolders < folders {
		return "a folder"
	}
	if nowLinks < links {
		return "a link"
	}
	return ""
}

// TestDeletesForReal runs scripts that delete, in the sandbox and in folders of their own, and compares what was lost with
// what reading them said before: it is never "doesn't" where something was lost.
func TestDeletesForReal(t *testing.T) {
	w := newWorld(t, true)
	var scripts []string
	for i, d := range realDeletes {
		for k := range len(realWrappers) + len(realTexts) {
			if *every || k == 0 || (i+k)%40 == 0 { // else each kind in a few ways, and each way around some kinds
				scripts = append(scripts, inside(k, d))
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 2)) // the same ones each time
	for range 60 {
		s := oddly(r, realDeletes[r.IntN(len(realDeletes))])
		for range 1 + r.IntN(3) {
			s = inside(r.IntN(len(realWrappers)+len(realTexts)), s)
		}
		scripts = append(scripts, s)
	}
	root, template := filepath.Join(w.gate.Workspace, "scripts"), filepath.Join(w.dir, "template")
	scratch(t, template, scratchFiles)
	set := exec.Command("bash", "-ec", `tar cf a.tar f d; git init -q --template= .; echo 'text of t' > t; git -c user.name=x -c user.email=x add t; git -c user.name=x -c user.email=x commit -qm x; echo 'changed text of t' >> t`)
	set.Dir, set.Env = template, []string{"PATH=/usr/bin:/bin", "HOME=" + w.home}
	if out, err := set.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	at := func(i int) string { return filepath.Join(root, fmt.Sprintf("%05d", i)) }
	for i, s := range scripts {
		if err := os.CopyFS(at(i), os.DirFS(template)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(i)+".sh", []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	place, err := sandbox.PlaceAt(root)
	if err != nil {
		t.Fatal(err)
	}
	room, err := w.gate.room(w.sessions.Connect(client.Identity{ID: "stdio:a"}, client.Ask))
	if err != nil {
		t.Fatal(err)
	}

	before, folders, links := kept(t, template)
	answers := make([]command.Answer, len(scripts))
	for i, s := range scripts {
		answers[i], _ = command.Deletes(command.Analyse(s, command.Context{Shell: command.Bash, Dir: at(i), Home: w.home, Path: []string{"/usr/bin", "/bin"}, Files: command.System()}))
	}
	j, err := w.gate.Jobs.Start(job.Spec{Session: "s", Tool: "bash", Argv: []string{"/bin/bash", "-c",
		`for s in *.sh; do (cd "${s%.sh}" && PWD=$PWD exec timeout -s KILL 2 bash ../"$s") < /dev/null > /dev/null 2>&1; done; exit 0`},
		Dir: root, Env: append(room.Env, "PWD="+root), Policy: room.Policy.AllowRead(place).AllowWrite(place), Work: room.Work})
	if err != nil {
		t.Fatal(err)
	}
	within(t, j.Done(), "the job doesn't end")
	if res := j.Result(); res.ExitCode != 0 || res.Stopped != "" {
		t.Fatalf("%+v: %s", res, j.Output.All().Tail)
	}

	deleted, seen := 0, 0
	for i, s := range scripts {
		what := lost(t, at(i), before, folders, links)
		if what == "" {
			continue
		}
		deleted++
		switch answers[i] {
		case command.Doesnt:
			t.Errorf("%q took %s away", s, what)
		case command.Does:
			seen++
		}
	}
	fmt.Printf("deletes for real cases: %d scripts, %d deleted something, %d of these were seen to\n", len(scripts), deleted, seen)
	if deleted < len(scripts)*6/10 || seen < deleted/2 {
		t.Errorf("%d of %d scripts deleted something, and %d of these were seen to: the scripts no longer do what they are for", deleted, len(scripts), seen)
	}
}

// inside writes a script in the k-th of the ways.
func inside(k int, script string) string {
	if k < len(realWrappers) {
		return strings.ReplaceAll(realWrappers[k], "%s", script)
	}
	return strings.ReplaceAll(strings.ReplaceAll(realTexts[k-len(realWrappers)], "%q", command.Quote(script)), "%%", "%")
}

// oddly quotes the words of a command in some of the ways in which it stays the same.
func oddly(r *rand.Rand, script string) string {
	if strings.ContainsAny(script, "'\"\\$<>|;&(){}\n#*?[]=!~") {
		return script
	}
	words := strings.Fields(script)
	for i, w := range words {
		k := r.IntN(len(w) + 1)
		switch r.IntN(7) {
		case 0:
			w = "'" + w + "'"
		case 1:
			w = `"` + w + `"`
		case 2:
			w = w[:k] + "''" + w[k:]
		case 3:
			w = "'" + w[:k] + `'"` + w[k:] + `"`
		case 4:
			w = "$'" + w + "'"
		case 5:
			if k < len(w) {
				w = w[:k] + `\` + w[k:]
			}
		}
		words[i] = w
	}
	return strings.Join(words, "  ")
}

// What wasn't counted, since there was too much of it, is asked about: stopping early is no reason not to ask.
func TestDeletesBeyondCount(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	h := grant.Grant{Right: grant.Edit, Folder: dir, ID: idOf(t, dir)}
	n := newCounter()
	if n.pattern(h, dir, []string{"z*"}) {
		t.Error("nothing is called z*, and all was looked at")
	}
	n.entries = countFiles
	if !n.pattern(h, dir, []string{"z*"}) || !n.more {
		t.Error("not asked about what was not looked at")
	}
}
