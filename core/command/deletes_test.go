package command

import (
	"fmt"
	"strings"
	"testing"
)

// workTree is what scripts of these tests find.
func workTree() tree {
	return computer(`/home/me/proj/ /home/me/proj/f=x /home/me/proj/g=x /home/me/proj/none= /home/me/proj/d/ /home/me/proj/d/f=x /home/me/proj/d/h=x /home/me/proj/away->/home/me/other/in /home/me/other/in/
		/home/me/other/k=x /home/me/proj/dangling->/nowhere /home/me/proj/link->f /home/me/proj/node_modules/.bin/rimraf*w /home/me/bin/`)
}

// Each script and what is said of it, with its targets' paths.
var deletesTable = []struct {
	script  string
	want    Answer
	targets string // paths below the working folder, texts where there is no path
}{
	// What deletes.
	{`rm f`, Does, "f"}, {`rm -rf d g`, Does, "d g"}, {`rm -- -f`, Does, "-f"}, {`/bin/rm f`, Does, "f"}, {`grm f`, Does, "f"}, {`rm *.o`, Does, "*.o"}, {`rm "$x"`, Does, `"$x"`},
	{`rmdir d`, Does, "d"}, {`rmdir -p d/e`, Does, "d/e"}, {`unlink f`, Does, "f"}, {`shred -u f`, Does, "f"}, {`shred f`, Does, "f"}, {`truncate -s 0 f`, Does, "f"},
	{`find d -delete`, Does, "d"}, {`find d -name '*.o' -delete`, Does, "d"}, {`find . -exec rm {} \;`, Does, "(what is found)"}, {`find . -execdir rm -f {} +`, Does, "(what is found)"},
	{`find . -name x | xargs rm`, Does, "(what is read)"}, {`find . -print0 | xargs -0 -n1 rm -f --`, Does, "(what is read)"}, {`ls | xargs -I{} rm d/{}`, Does, "d/{}"}, {`ls | xargs sh -c 'rm "$@"' _`, Does, `"$@"`},
	{`> f`, Does, "f"}, {`: > f`, Does, "f"}, {`echo x > f`, Does, "f"}, {`echo x >| f`, Does, "f"}, {`cat g &> f`, Does, "f"}, {`ls 2> f`, Does, "f"}, {`exec 3> f`, Does, "f"}, {`{ ls; } > f`, Does, "f"},
	{`cat g | tee f`, Does, "f"}, {`tee f < g`, Does, "f"}, {`mv g f`, Does, "f"}, {`mv g d/f`, Does, "d/f"}, {`mv f d`, Does, "d/f"}, {`mv f /tmp/`, Does, "f"}, {`mv f ~/.Trash/`, Does, "f"},
	{`cp g f`, Does, "f"}, {`cp -t d f`, Does, "d/f"}, {`install g f`, Does, "f"}, {`ln -sf g f`, Does, "f"}, {`dd if=g of=f`, Does, "f"}, {`sort -o f g`, Does, "f"}, {`uniq g f`, Does, "f"},
	{`rsync -a --delete d/ e/`, Does, "e"}, {`tar cf f d`, Does, "f"}, {`tar -c --file=f d`, Does, "f"}, {`tar czf a.tgz --remove-files d`, Does, "d"}, {`curl -o f https://example.com`, Does, "f"},
	{`git clean -fdx`, Does, "."}, {`git -C d clean -fd`, Does, "d"}, {`git checkout -- f`, Does, "f"}, {`git checkout .`, Does, "."}, {`git restore f`, Does, "f"}, {`git reset --hard`, Does, "."},
	{`git rm f`, Does, "f"}, {`git stash drop`, Does, "drop"}, {`git branch -D x`, Does, "x"}, {`git checkout -B x`, Does, "x"}, {`git checkout -qB x main`, Does, "x"}, {`git switch -C x`, Does, "x"}, {`git switch --force-create=x main`, Does, "x"}, {`git switch --force-c x`, Does, "x"}, {`git push --force origin main`, Does, "origin main"}, {`git push origin :old`, Does, ":old"},
	{`git worktree remove d`, Does, "d"}, {`python3 -c 'import os; os.remove("f")'`, Does, "what python3 -c names"}, {`python3 -c "import shutil; shutil.rmtree('d')"`, Does, "what python3 -c names"},
	{`perl -e 'unlink "f"'`, Does, "what perl -e names"}, {`node -e 'require("fs").rmSync("f")'`, Does, "what node -e names"}, {`ruby -e 'File.delete("f")'`, Does, "what ruby -e names"},
	{`awk 'BEGIN{system("rm f")}'`, Does, "what awk names"}, {`npx rimraf d`, Does, "d"}, {`busybox rm f`, Does, "f"}, {`diskutil eraseDisk JHFS+ x disk2`, Does, "JHFS+ x disk2"}, {`mkfs.ext4 /dev/sdb`, Does, "/dev/sdb"},
	// Where it stands.
	{`cd d && rm f`, Does, "d/f"}, {`(cd d; > f)`, Does, "d/f"}, {`cd d; cd ..; > f`, Does, "f"}, {`> away/../k`, Does, "/home/me/other/k"}, {`cd away; > ../k`, Does, "/home/me/other/k"},
	{"r\\\nm f", Does, "f"}, {`r\m f`, Does, "f"}, {`'rm' f`, Does, "f"}, {`"r"'m' f`, Does, "f"}, {`$'\x72m' f`, Does, "f"}, {`rm a"b c"`, Does, "ab c"}, {`rm ~/x`, Does, "/home/me/x"},
	{"sh <<EOF\nrm f\nEOF", Does, "f"}, {"cat <<'X' | bash\nrm f\nX", Does, "f"}, {`echo 'rm f' | sh`, Does, "f"}, {`bash <<< 'rm f'`, Does, "f"}, {`printf 'rm f\n' | bash -s`, Does, "f"},

	// What doesn't.
	{``, Doesnt, ""}, {`ls -la`, Doesnt, ""}, {`echo "rm -rf /"`, Doesnt, ""}, {`echo rm f`, Doesnt, ""}, {`grep rm f`, Doesnt, ""}, {`grep -r 'rm -rf' . | wc -l`, Doesnt, ""}, {`git commit -m "rm old files"`, Doesnt, ""},
	{`git log --grep 'git clean'`, Doesnt, ""}, {`printf '%s\n' '> f'`, Doesnt, ""}, {`# rm f`, Doesnt, ""}, {`ls # rm f`, Doesnt, ""}, {"cat <<'E'\nrm -rf /\nE", Doesnt, ""}, {"cat <<E\nrm f\nE", Doesnt, ""},
	{`echo x > new`, Doesnt, ""}, {`echo x >> f`, Doesnt, ""}, {`echo x > none`, Doesnt, ""}, {`ls > /dev/null 2>&1`, Doesnt, ""}, {`ls 2>/dev/null`, Doesnt, ""}, {`cat f | tee -a g`, Doesnt, ""}, {`tee new < g`, Doesnt, ""},
	{`mv f new`, Doesnt, ""}, {`mv -n g f`, Doesnt, ""}, {`cp f new`, Doesnt, ""}, {`cp -n g f`, Doesnt, ""}, {`cp f d/new`, Doesnt, ""}, {`ln -s f new`, Doesnt, ""}, {`touch f new`, Doesnt, ""}, {`mkdir -p e/f`, Doesnt, ""},
	{`find . -name '*rm*'`, Doesnt, ""}, {`find . -type f -exec grep -l rm {} +`, Doesnt, ""}, {`find . -name x | xargs grep rm`, Doesnt, ""}, {`sed 's/rm/mv/' f`, Doesnt, ""}, {`sed -i 's/a/b/' f`, Doesnt, ""},
	{`sed -n '1,5p' f`, Doesnt, ""}, {`awk '{print $1}' f`, Doesnt, ""}, {`awk '/rm/ {n++} END {print n}' f`, Doesnt, ""}, {`git status && git diff`, Doesnt, ""}, {`git add -A`, Doesnt, ""}, {`git checkout -b x`, Doesnt, ""}, {`git switch -c x`, Doesnt, ""},
	{`git clean -n`, Doesnt, ""}, {`git rm --cached f`, Doesnt, ""}, {`git restore --staged f`, Doesnt, ""}, {`git stash list`, Doesnt, ""}, {`tar tf a.tar`, Doesnt, ""}, {`tar czf new.tgz d`, Doesnt, ""},
	{`rsync -n --delete a b`, Doesnt, ""}, {`gzip -c f`, Doesnt, ""}, {`sort f | uniq -c`, Doesnt, ""}, {`python3 -c 'print("rm")'`, Doesnt, ""}, {`perl -e 'print "rm f"'`, Doesnt, ""}, {`sleep 5; date`, Doesnt, ""},
	{`set -euo pipefail; ls`, Doesnt, ""}, {`for i in 1 2; do echo $i; done`, Doesnt, ""}, {`if [ -f f ]; then cat f; fi`, Doesnt, ""}, {`rm --help`, Doesnt, ""}, {`command -v rm`, Doesnt, ""}, {`type rm`, Doesnt, ""},
	{`which rm`, Doesnt, ""}, {`alias`, Doesnt, ""}, {`trap - EXIT`, Doesnt, ""}, {`cd d; echo x > new`, Doesnt, ""}, {`x=rm; echo $x`, Doesnt, ""}, {`nice -n 5 ls`, Doesnt, ""}, {`env A=1 ls`, Doesnt, ""},
	{`xargs echo < f`, Doesnt, ""}, {`bash -n -c 'rm f'`, Doesnt, ""}, {`timeout 5 cat f`, Doesnt, ""}, {`[ f = rm ] || true`, Doesnt, ""}, {`man rm`, CantTell, ""},

	// What can't be told.
	{`$x f`, CantTell, ""}, {`"$@"`, CantTell, ""}, {`eval "$x"`, CantTell, ""}, {`. ./env.sh`, CantTell, ""}, {`source x`, CantTell, ""}, {`./build.sh`, CantTell, ""}, {`make clean`, CantTell, ""}, {`npm run build`, CantTell, ""},
	{`bash build.sh`, CantTell, ""}, {`python3 x.py`, CantTell, ""}, {`python3 -c 'exec(open("x").read())'`, CantTell, ""}, {`cat x | sh`, CantTell, ""}, {`curl -s https://example.com | bash`, CantTell, ""},
	{`echo x > "$y"`, CantTell, `"$y"`}, {`cp f "$y"`, CantTell, `"$y"`}, {`mv g* d`, CantTell, "d d"}, {`tar xf a.tar`, CantTell, ""}, {`unzip a.zip`, CantTell, ""}, {`unzip -dt a.zip`, CantTell, ""}, {`git pull`, CantTell, ""},
	{`git stash`, CantTell, ""}, {`git checkout main`, CantTell, ""}, {`gzip f`, CantTell, ""}, {`rsync -a a b`, CantTell, ""}, {`PATH=.:$PATH ls`, CantTell, ""}, {`if`, CantTell, ""}, {"ls\r", CantTell, ""},
	{`alias ls='cat x'; ls`, CantTell, ""}, {`shopt -s extglob; ls`, CantTell, ""}, {`docker run x`, CantTell, ""}, {`./ls`, CantTell, ""}, {`unknown-tool f`, CantTell, ""}, {`sed -i d f`, CantTell, "f"}, {`sed -n -i 's/a/b/' f`, CantTell, "f"},
	{`sed 'w g' f`, CantTell, ""}, {`ls | xargs -I{} mv {} all`, CantTell, "all all"}, {`find . -name x -exec mv {} all \;`, CantTell, "all all"}, {`tar -C/t -xf a.tar`, CantTell, ""}, {`tar -ft.tar -x`, CantTell, ""}, {`tar -cx`, CantTell, ""},
	{`git bundle create f --all`, CantTell, ""}, {`ln -sfn g away`, CantTell, "away"}, {`mv -T g away`, CantTell, "away"}, {`ln -sf g dangling`, CantTell, "dangling"}, {`file -C -m x`, CantTell, ""}, {`ss -aD f`, CantTell, ""},
	// Ways in which a script does what it doesn't seem to.
	{`declare 'a[$(rm f)]=1'`, CantTell, ""}, {`command let 'a[$(rm f)]=1'`, CantTell, ""}, {`builtin typeset 'a[$(rm f)]=1'`, CantTell, ""}, {`jobs -x rm f`, CantTell, ""}, {`bash -n +n -c 'rm f'`, CantTell, ""},
	{`read 'a[$(rm f)]' < g`, CantTell, ""}, {`printf -v 'a[$(rm f)]' x`, CantTell, ""}, {`[[ 'a[$(rm f)]' -eq 0 ]]`, CantTell, ""}, {`test -v 'a[$(rm f)]'`, CantTell, ""}, {`hash -p /bin/rm cat; cat f`, CantTell, ""},
	{`echo rm | xargs -I echo sh -c 'echo f'`, CantTell, ""}, {`enable -n echo; echo f`, CantTell, ""}, {`compgen -C 'rm f'`, CantTell, ""}, {`exec 3<>f`, Doesnt, ""}, {`sh -c '"$0" f' rm`, CantTell, ""},
	{`cd() { :; }; cd d; > h`, CantTell, "h"}, {`eval 'cd d'; > h`, CantTell, "h"}, {`trap '> h' EXIT; cd d`, CantTell, "h"}, {`env -C d sh -c '> h'`, CantTell, "h"}, {`find . -execdir sh -c '> h' \;`, CantTell, "h"},
	{`f() { cd d; }; f; > h`, CantTell, "h"}, {`for i in 1 2; do > h; cd d; done`, CantTell, "h"}, {`mv f new; > new`, CantTell, "new"}, {`for i in 1 2; do > new; ln f new; done`, CantTell, "new"}, {`ln f new | > new`, CantTell, "new"},
	{`cd -P away/..; > k`, CantTell, "k"}, {`ruby -e 'puts IO.write "f", ""'`, CantTell, ""}, {`perl -e 'print "${\ rename(q(f),q(g))}"'`, CantTell, ""}, {`python3 -c 'import json'`, CantTell, ""},
}

func TestDeletes(t *testing.T) {
	files := workTree()
	for _, c := range deletesTable {
		got, targets := Deletes(Analyse(c.script, here(files)))
		var names []string
		for _, t := range targets {
			switch {
			case t.Path == "" && t.Text == "":
				names = append(names, "what "+t.Why+" names")
			case t.Path == "":
				names = append(names, t.Text)
			case t.Path == "/home/me/proj":
				names = append(names, ".")
			default:
				names = append(names, strings.TrimPrefix(t.Path, "/home/me/proj/"))
			}
		}
		if got != c.want || strings.Join(names, " ") != c.targets {
			t.Errorf("%q: %v %q, want %v %q", c.script, got, names, c.want, c.targets)
		}
	}
	fmt.Printf("deletes cases: %d scripts\n", len(deletesTable))
}

// plainly is how many of the deletions are seen wherever they stand; the others depend on what is there.
const plainly = 11

// deletions are the kinds of delete, and wrapped how each can be written inside something else; %s is the delete.
var (
	deletions = []string{`rm f`, `rm -rf d`, `rmdir d`, `unlink f`, `shred -u f`, `find d -delete`, `find . -name f -exec rm {} +`, `git clean -fdx`, `git checkout -- f`, `git restore f`, `git reset --hard`,
		`truncate -s 0 f`, `dd if=g of=f`, `cp g f`, `mv g f`, `ln -f g f`, `install g f`, `tee f`, `sort -o f g`, `rsync -a --delete d/ e/`}
	wrapped = []string{`%s`, `sudo %s`, `sudo -u me -- %s`, `doas %s`, `env %s`, `env -i A=1 %s`, `env -u X %s`, `nice %s`, `nice -n 5 %s`, `nohup %s`, `timeout 5 %s`, `timeout -k 1 5s %s`, `stdbuf -oL %s`, `setsid %s`, `time %s`,
		`command %s`, `exec %s`, `caffeinate -i %s`, `ionice -c 3 %s`, `busybox %s`, `( %s )`, `{ %s; }`, `! %s`, `ls && %s`, `ls || %s`, `ls; %s`, "ls\n%s", `ls | %s`, `%s | cat`, `%s &`, `if ls; then %s; fi`,
		`if %s; then :; fi`, `for i in 1; do %s; done`, `while %s; do break; done`, `case x in *) %s;; esac`, `f() { %s; }; f`, `f() { %s; }`, `function f { %s; }; f`, `x=$(%s)`, "x=`%s`", `echo "$(%s)"`, `echo ${x:-$(%s)}`,
		`cat <(%s)`, `echo x > >(%s)`, "cat <<E\n$(%s)\nE", `[[ -n $(%s) ]]`, `echo $(( 1 + $(%s) ))`, `coproc %s`, `select x in 1; do %s; done`, `a=($(%s))`, `a[$(%s)]=1`, `export x=$(%s)`, `local x=$(%s)`, `X=1 %s`, `%s 2>/dev/null`,
		`until %s; do :; done`, `for ((i=$(%s);;)); do :; done`, `nice timeout 5 env A=1 %s`}
	quoting = []string{`sh -c '%s'`, `bash -c "%s"`, `bash -ec '%s'`, `eval '%s'`, `eval "%s"`, `trap '%s' EXIT`, `trap "%s" INT EXIT`, `su -c '%s'`, `echo '%s' | sh`, "bash <<'E'\n%s\nE", `bash <<< '%s'`, `env -S '%s'`, `alias x='%s'`,
		`xargs sh -c '%s'`, `find . -exec sh -c '%s' \;`, `sudo sh -c '%s'`, `watch '%s'`, `sh -c "sh -c '%s'"`, `ssh host '%s'`, `flock x -c '%s'`, `script -c '%s' x`, `bash -c 'f() { %s; }; f'`}
)

// Every kind of delete in every wrapper is seen; in those that carry text, it is at least not denied.
func TestDeletesWrapped(t *testing.T) {
	files := workTree()
	n := 0
	for k, d := range deletions {
		for i, w := range append(wrapped, quoting...) {
			n++
			script := strings.ReplaceAll(w, "%s", d)
			got, _ := Deletes(Analyse(script, here(files)))
			if got == Doesnt || got != Does && i < len(wrapped) && k < plainly {
				t.Errorf("%q: %v", script, got)
			}
		}
	}
	fmt.Printf("deletes cases: %d wrapped\n", n)
}

func TestSummary(t *testing.T) {
	for _, c := range []struct {
		script, want string
	}{
		{`rm a b a`, "a, b"}, {`rm a b c d e f`, "a, b, c, d, e and more"}, {`python3 -c 'os.remove(x)'`, "what python3 -c names"}, {`find . -exec rm {} +`, "(what is found)"}, {`ls`, ""},
	} {
		_, targets := Deletes(Analyse(c.script, here(workTree())))
		if got := Summary(targets); got != c.want {
			t.Errorf("%q: %q, want %q", c.script, got, c.want)
		}
	}
}

// Where a target lies, as far as it can be told.
func TestTargetUnder(t *testing.T) {
	for _, c := range []struct{ script, path, under string }{
		{`rm d/f`, "/home/me/proj/d/f", ""}, {`rm d/*.o`, "/home/me/proj/d/*.o", "/home/me/proj/d"}, {`rm *`, "/home/me/proj/*", "/home/me/proj"}, {`rm d/$x`, "", "/home/me/proj/d"}, {`rm $x`, "", ""}, {`rm ../$x`, "", ""},
		{`find d -exec rm {} +`, "", "/home/me/proj/d"}, {`find d e -exec rm {} +`, "", ""}, {`cd d; rm $x`, "", ""}, {`rm "$x/y"`, "", ""}, {`find d -exec sh -c 'rm "$1"' _ {} \;`, "", ""},
	} {
		_, targets := Deletes(Analyse(c.script, here(workTree())))
		if len(targets) != 1 || targets[0].Path != c.path || targets[0].Under != c.under {
			t.Errorf("%q: %+v", c.script, targets)
		}
	}
}
