package command

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What an approved script is reduced to does the same as the script does in bash: the same programs get the same words, in the
// same order. The programs only write down what they were given.
func TestRunIsWhatBashRuns(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal("no bash")
	}
	dir := t.TempDir()
	for _, name := range []string{"show", "git", "a b"} {
		script := "#!" + bash + "\n{ printf '%s\\0' \"${0##*/}\" \"$#\" \"$@\"; cat /dev/null; } >> \"$SHOWN\"\n[ \"$1\" != fail ]\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	home := filepath.Join(dir, "home")
	for _, d := range []string{home, filepath.Join(dir, "w")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	context := Context{Shell: Bash, Dir: filepath.Join(dir, "w"), Home: home, Path: []string{dir, "/usr/bin", "/bin"}, Files: System()}
	run := func(argv ...string) string {
		shown := filepath.Join(dir, "shown")
		os.Remove(shown)
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = context.Dir, []string{"PATH=" + strings.Join(context.Path, ":"), "HOME=" + home, "SHOWN=" + shown}
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		text, _ := os.ReadFile(shown)
		return fmt.Sprintf("%q %v", text, err)
	}
	words := []string{`a`, `'a b'`, `"a b"`, `a\ b`, `''`, `""`, `a''b`, `"a'b"`, `'a"b'`, `\'`, `\"`, `\\`, `"\$x"`, `"\a"`, `'\a'`, `"a\
b"`, `$'a\tb'`, `$'\x41\u00e9'`, `$'a\0b'`, `'$x'`, `\$x`, `'*'`, `\*`, `"*"`, `'{a,b}'`, `\{a,b\}`, `~`, `~/x`, `'~'`, `\~`, `a~`, `-n`, `--x='y z'`, `=x`, `x=y`, `'#a'`, `a#b`, `\#a`, `!x`, `'a;b'`,
		`a\;b`, `'a|b'`, `'$(id)'`, `\$\(id\)`, "'`id`'", `ไทย`, "'\n'", "'\t'", `"é"`, `%s`, `[a`, `a]`, `{`, `}`, `{a`, `a^b`, `a:b`, `@x`, `a,b`, `+x`}
	var scripts []string
	for _, w := range words {
		scripts = append(scripts, "show "+w+" && git x "+w+" y")
	}
	scripts = append(scripts, strings.Split(`show 1; git 2|show 1 && git 2|show fail && git 2|show fail @@ git 2|show fail; git 2|! show fail && git 2|show a # git b|sh'ow' 1|"show" 1|\show 1|'a b' 1|timeout 9 show 1|nice show 1|env show 1|env show 'a b' @@ git|command show 1|exec show 1|cd / && show 1|true && show 1|test -e / && show 1|[ -e / ] && show 1|[ -e /none ] @@ show 1|sh -c 'show 1 && git "a b"'|sh -c 'show fail @@ git 1'|bash -c "show 'a b'; git \$'c\td'"|show 1;;|pwd && show|: && show|false @@ show|show $(echo 1)|show *|show >/dev/null|X=1 show|show & git|(show)|f() { git; }; f`, "|")...)
	reduced, exact := 0, 0
	for _, s := range scripts {
		s = strings.ReplaceAll(s, "@", "|")
		p := Analyse(s, context)
		r := p.Run()
		if r.Exact {
			exact++
			if r.Script != s || r.Argv != nil {
				t.Errorf("%q: as exact text it is %q", s, r.Script)
			}
			continue
		}
		reduced++
		argv := r.Argv
		if argv == nil {
			argv = []string{bash, "-c", r.Script}
		}
		want := run(bash, "-c", s)
		if got := run(argv...); got != want {
			t.Errorf("%q runs as %q:\n got %s\nwant %s", s, r.String(), got, want)
		}
		if r.Argv == nil {
			continue
		}
		if got := run(bash, "-c", r.String()); got != want {
			t.Errorf("%q is shown as %q, which is another script", s, r.String())
		}
	}
	fmt.Printf("reduced scripts cases: %d, and %d that stay as they are\n", reduced, exact)
	if reduced < 80 {
		t.Errorf("only %d scripts were reduced", reduced)
	}
}

func BenchmarkAllowlist(b *testing.B) {
	d := testTools()
	for name, pattern := range map[string]string{"paths": "/opt/tools-%d/bin/*", "names": "tool-%d-*", "stars": "/**/x%d"} {
		b.Run(name, func(b *testing.B) {
			var entries []Entry
			for i := range 5000 {
				entries = append(entries, Entry{Pattern: fmt.Sprintf(pattern, i), ArgPattern: "status|log .*", Action: AllowIt})
			}
			entries = append(entries, Entry{Pattern: "/t/git", ArgPattern: "status", Action: AllowIt})
			list, err := CompileAllowlist(entries, "")
			if err != nil {
				b.Fatal(err)
			}
			p := Analyse("git status", d.context())
			for b.Loop() {
				if !list.Decide(p, SafeBins{}).Allowed {
					b.Fatal("refused")
				}
			}
		})
	}
	b.Run("one program", func(b *testing.B) { // every entry is for the program that runs
		var entries []Entry
		for i := range 5000 {
			entries = append(entries, Entry{Pattern: "/t/git", ArgPattern: fmt.Sprintf("show [0-9]+ %d", i), Action: AllowIt})
		}
		list, err := CompileAllowlist(append(entries, Entry{Pattern: "/t/git", ArgPattern: "status", Action: AllowIt}), "")
		if err != nil {
			b.Fatal(err)
		}
		p := Analyse("git status", d.context())
		for b.Loop() {
			if !list.Decide(p, SafeBins{}).Allowed {
				b.Fatal("refused")
			}
		}
	})
}
