package command

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// desk is the computer on which the scripts of these tests are read.
func desk() Context {
	return here(computer("/home/me/proj/ /home/me/proj/a.txt=x /home/me/proj/src/x.go=x /home/me/docs/ /home/me/bin/ls* /home/me/proj/ls* /tmp/evil/git* /tmp/malicious/rg* /usr/local/bin/git*"))
}

func look(script string) Verdict { return ReadOnly(Analyse(script, desk()), LookRules()) }

// Every rule's own examples.
func TestReadOnlyExamples(t *testing.T) {
	n := 0
	for name, r := range readOnlyRules {
		if len(r.can) == 0 || len(r.cannot) == 0 {
			t.Errorf("%s has no examples", name)
		}
		for _, s := range r.can {
			n++
			if v := look(s); !v.Allowed {
				t.Errorf("%s: refused: %s (%s)", s, v.Reason, v.Instead)
			}
		}
		for _, s := range r.cannot {
			n++
			if v := look(s); v.Allowed || v.Reason == "" {
				t.Errorf("%s: allowed as %q", s, v.Stages)
			}
		}
	}
	if len(readOnlyRules) != 22 {
		t.Errorf("%d programs", len(readOnlyRules))
	}
	fmt.Printf("read-only examples: %d rows\n", n)
}

type readOnlyCase struct {
	reads         bool
	reason, text  string
	script, title string
}

func readOnlyCases(t testing.TB) (cases []readOnlyCase) {
	data, err := os.ReadFile("testdata/readonly.txt")
	if err != nil {
		t.Fatal(err)
	}
	title := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if text, ok := strings.CutPrefix(line, "# "); ok {
			title = text
			continue
		}
		if line == "" {
			continue
		}
		word, rest, _ := strings.Cut(line, "[")
		reason, text, ok := strings.Cut(rest, "]")
		c := readOnlyCase{reads: strings.TrimSpace(word) == "reads", reason: reason, text: strings.TrimLeft(text, " "), title: title}
		if !ok || c.text == "" || !c.reads && strings.TrimSpace(word) != "no" || c.reads != (reason == "") {
			t.Fatalf("a bad line: %s", line)
		}
		c.script = strings.NewReplacer("⏎", "\n", "␍", "\r", "⍽", "\u00a0").Replace(c.text)
		cases = append(cases, c)
	}
	if len(cases) == 0 {
		t.Fatal("no cases")
	}
	return cases
}

// The cases with their reasons. A refusal says what to do instead, unless nothing would help.
func TestReadOnlyCases(t *testing.T) {
	count := map[bool]int{}
	for _, c := range readOnlyCases(t) {
		count[c.reads]++
		v := look(c.script)
		switch {
		case v.Allowed != c.reads:
			t.Errorf("%s: %s: allowed %v: %s; %q", c.title, c.text, v.Allowed, v.Reason, v.Stages)
		case !strings.Contains(v.Reason, c.reason):
			t.Errorf("%s: %s: the reason is %q", c.title, c.text, v.Reason)
		case v.Allowed && len(v.Stages) == 0, !v.Allowed && (v.Stages != nil || v.Paths != nil):
			t.Errorf("%s: %+v", c.text, v)
		}
	}
	fmt.Printf("read-only cases: %d rows (%d read, %d are refused)\n", count[true]+count[false], count[true], count[false])
}

// noting notes what is asked about.
type noting struct {
	Files
	asked *[]string
}

func (n noting) Stat(path string) (File, error) {
	*n.asked = append(*n.asked, path)
	return n.Files.Stat(path)
}

func (n noting) Names(folder string) ([]string, error) {
	*n.asked = append(*n.asked, folder)
	return n.Files.Names(folder)
}

// No pattern has a name looked up on another computer, not even by us.
func TestReadOnlyAsksNoOtherComputer(t *testing.T) {
	for _, script := range []string{"ls /n?t/host/x", "ls /[n]et/host", "ls /n*/host/*", "cat /NE?/host/*/x", "ls /tmp/../n?t/host/x", "ls ../../../n?t/host", "ls /net/h*", "ls /[a-n]*/host/x"} {
		var asked []string
		c := desk()
		c.Files = noting{computer("/home/me/proj/ /net/ /net/host/ /net/host/x=x /NET/ /NET/host/"), &asked}
		if v := ReadOnly(Analyse(script, c), LookRules()); v.Allowed {
			t.Errorf("%s: allowed as %q", script, v.Stages)
		}
		for _, path := range asked {
			if remote(path) {
				t.Errorf("%s: asked about %s", script, path)
			}
		}
	}
}

// The words that run are those that bash itself would pass.
func TestReadOnlyWordsAsBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range ReadOnlyPrograms() {
		// Each notes its words, apart from one another, and reads what comes so that no pipe breaks.
		stub := "#!" + bash + "\nprintf '%s\\0' " + name + " \"$@\" $'\\n' >> \"$NOTES\"/$PPID-$$\nwhile read -r x; do :; done\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(stub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for _, c := range readOnlyCases(t) {
		v := look(c.script)
		// Where they stand decides what patterns become, and absolute names would run the real programs.
		if !v.Allowed || strings.ContainsAny(c.script, "*") && Analyse(c.script, desk()).Doubts.Has(Glob) || strings.HasPrefix(c.script, "/") {
			continue
		}
		n++
		notes := t.TempDir()
		cmd := exec.Command(bash, "--noprofile", "--norc", "-c", "echo() { command echo \"$@\"; }; enable -n echo pwd; unset -f echo; "+c.script)
		cmd.Dir = notes
		cmd.Env = []string{"PATH=" + dir, "HOME=/home/me", "NOTES=" + notes}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", c.text, err, out)
			continue
		}
		var got, want []string
		files, _ := filepath.Glob(filepath.Join(notes, "*"))
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(bytes.TrimSuffix(data, []byte("\n\x00"))))
		}
		for _, s := range v.Stages {
			words := slices.DeleteFunc(slices.Clone(s.Argv), func(w string) bool { return slices.Contains(added, w) })
			words[0] = filepath.Base(words[0])
			want = append(want, strings.Join(words, "\x00")+"\x00")
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: bash passes %q, and %q would run", c.text, got, want)
		}
	}
	if n < 50 {
		t.Errorf("only %d scripts were compared", n)
	}
	fmt.Printf("read-only words as bash passes them: %d scripts\n", n)
}

// added are words that ReadOnly adds itself.
var added = []string{"--no-config", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--no-show-signature"}

// What names a file is among the paths, which the caller checks.
func TestReadOnlyPaths(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{`cat ~/.ssh/id_rsa`, "/home/me/.ssh/id_rsa"},
		{`head -c99 ~/.aws/credentials`, "/home/me/.aws/credentials"},
		{`grep -r . ~/.config`, "/home/me/.config"},
		{`grep -f ~/.netrc a.txt`, "/home/me/.netrc /home/me/proj/a.txt"},
		{`grep --file=/etc/shadow a.txt`, "/etc/shadow /home/me/proj/a.txt"},
		{`grep -e x .env`, "/home/me/proj/.env"},
		{`grep .env`, ""},
		{`rg x -- -y`, "/home/me/proj/-y"},
		{`rg --files ~/.gnupg`, "/home/me/.gnupg"},
		{`cat a.txt | sort - ../b`, "/home/me/proj/a.txt /home/me/b"},
		{`find . /etc -name x -newer ~/.ssh`, "/home/me/proj /etc /home/me/.ssh"},
		{`find -f ~/.ssh -- -name x`, "/home/me/.ssh"},
		{`find . -samefile .env`, "/home/me/proj /home/me/proj/.env"},
		{`date -r ~/.ssh/id_rsa`, "/home/me/.ssh/id_rsa"},
		{`ls -I ~/.ssh`, "/home/me/.ssh"},
		{`du -sh "/home/me/Library/Keychains"`, "/home/me/Library/Keychains"},
		{`mdfind -onlyin ~/.ssh key`, "/home/me/.ssh"},
		{`cat ./*`, "/home/me/proj/a.txt /home/me/proj/ls /home/me/proj/src"},
		{`cat ./sr?/x.go`, "/home/me/proj/src/x.go"},
		{`git show HEAD:.env`, "/home/me/proj/HEAD:.env /home/me/proj/.env"},
		{`git show HEAD:./a/.env`, "/home/me/proj/HEAD:./a/.env /home/me/proj/a/.env"},
		{`git show ':0:.env'`, "/home/me/proj/:0:.env /home/me/proj/0:.env /home/me/proj/.env"},
		{`git show :.env`, "/home/me/proj/:.env /home/me/proj/.env"},
		{`git show 'HEAD^{/fix: all}:.env'`, "/home/me/proj/HEAD^{/fix: all}:.env /home/me/proj/ all}:.env /home/me/proj/.env"},
		{`git diff HEAD -- .env`, "/home/me/proj/HEAD /home/me/proj/.env"},
		{`git log -- ':(icase).ENV'`, "/home/me/proj/:(icase).ENV /home/me/proj/.ENV"},
		{`git grep x HEAD:conf -- ':/.env'`, "/home/me/proj/HEAD:conf /home/me/proj/conf /home/me/proj/:/.env /home/me/proj/.env"},
		{`git log -L1,5:.env`, "/home/me/proj/.env"},
		{`git grep -f .env`, "/home/me/proj/.env"},
	} {
		v := look(c.script)
		var got []string
		for _, p := range v.Paths {
			got = append(got, p.Path)
		}
		if !v.Allowed || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v %s\n got %q\nwant %q", c.script, v.Allowed, v.Reason, strings.Join(got, " "), c.want)
		}
	}
}

// What is added to make a program read only, and that a number names a commit, not a file without its name.
func TestReadOnlyArgv(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{`rg x`, "rg --no-config x"},
		{`git log -p`, "git log --no-ext-diff --no-textconv --ignore-submodules=all --no-show-signature -p"},
		{`git --no-pager diff`, "git --no-pager diff --no-ext-diff --no-textconv --ignore-submodules=all"},
		{`git status -s`, "git status --ignore-submodules=all -s"},
		{`git show 1234abcd`, "git show --no-ext-diff --no-textconv --ignore-submodules=all --no-show-signature 1234abcd^{commit}"},
		{`git diff abcd...1234 -- beef`, "git diff --no-ext-diff --no-textconv --ignore-submodules=all abcd^{commit}...1234^{commit} -- beef"},
		{`git diff abcd..`, "git diff --no-ext-diff --no-textconv --ignore-submodules=all abcd^{commit}.."},
		{`git grep beef 1234`, "git grep --no-textconv beef 1234^{commit}"},
		{`git grep -e beef -A 1234 cafe`, "git grep --no-textconv -e beef -A 1234 cafe^{commit}"},
		{`git diff --no-index abcd beef`, "git diff --no-ext-diff --no-textconv --ignore-submodules=all --no-index abcd beef"},
	} {
		v := look(c.script)
		got := ""
		if v.Allowed {
			got = strings.Join(append([]string{filepath.Base(v.Stages[0].Argv[0])}, v.Stages[0].Argv[1:]...), " ")
		}
		if got != c.want {
			t.Errorf("%s: %s\n got %q\nwant %q", c.script, v.Reason, got, c.want)
		}
	}
}

// No program is found outside the folders of the rules, whatever PATH says and whatever lies in the workspace.
func TestReadOnlyProgramsOfTheSystem(t *testing.T) {
	ctx := desk()
	ctx.Path = []string{"/home/me/proj", "/home/me/bin", "/tmp/evil"}
	for script, want := range map[string]string{"ls": "/bin/ls", "git status": "/bin/git", "rg x": "/opt/homebrew/bin/rg"} {
		if v := ReadOnly(Analyse(script, ctx), LookRules()); !v.Allowed || v.Stages[0].Argv[0] != want {
			t.Errorf("%s: %+v", script, v)
		}
	}
	if v := ReadOnly(Analyse("ls", ctx), Rules{}); v.Allowed {
		t.Error("no folders, and yet a program")
	}
	// A link in a system folder that leads to where the person can change something.
	ctx.Files = newTree("/usr/bin/ls->/home/me/evil/ls /home/me/evil/ls* /opt/homebrew/bin/rg->/home/me/evil/rg /home/me/evil/rg* /home/me/proj/")
	for _, script := range []string{"ls", "rg x"} {
		if v := ReadOnly(Analyse(script, ctx), LookRules()); v.Allowed {
			t.Errorf("%s: %q", script, v.Stages)
		}
	}
	if v := ReadOnly(Plan{}, LookRules()); v.Allowed {
		t.Error("the zero plan is allowed")
	}
	if v := ReadOnly(Analyse("ls", Context{}), LookRules()); v.Allowed {
		t.Error("the zero context is allowed")
	}
}

// Deny patterns word a refusal and decide nothing: without them the same is allowed.
func TestDenyPatternsDecideNothing(t *testing.T) {
	hit := 0
	for _, c := range readOnlyCases(t) {
		p := Analyse(c.script, desk())
		with, without := ReadOnly(p, LookRules()), readOnly(p, LookRules())
		if with.Allowed != without.Allowed {
			t.Errorf("%s: allowed %v with deny patterns, %v without", c.text, with.Allowed, without.Allowed)
		}
		if _, ok := DenyPattern(c.script); ok {
			if hit++; c.reads && c.script != "grep 'sudo rm -rf /' a.txt" {
				t.Errorf("%s: a deny pattern knows it", c.text)
			}
			if without.Reason == with.Reason && !c.reads {
				t.Errorf("%s: the pattern says nothing better than %q", c.text, with.Reason)
			}
		}
	}
	if hit < 20 {
		t.Errorf("only %d cases meet a deny pattern", hit)
	}
	// They don't cross the end of a command.
	for _, s := range []string{"rm -r x; grep -f y z", "rm -r x & cp -f a b", "rm -r x | tee -f y"} {
		if m, ok := DenyPattern(s); ok {
			t.Errorf("%s: %s", s, m)
		}
	}
}

// mustNot are words of programs that write, run something or read names from a file, whatever else stands there. Values
// of options in front of them are left out of account, so seeds don't have such words as values.
func mustNot(argv []string) string {
	name := argv[0][strings.LastIndexByte(argv[0], '/')+1:]
	longs := map[string][]string{
		"sort": {"--output", "--compress-program", "--temporary-directory", "--files0-from", "--random-source"},
		"rg":   {"--pre", "--search-zip", "--hostname-bin", "--ignore-file"},
		"grep": {"--exclude-from", "--decompress"}, "wc": {"--files0-from"}, "du": {"--files0-from", "--exclude-from"},
		"tail": {"--follow", "--retry", "--pid"}, "date": {"--set", "--file"}, "df": {"--sync"}, "hostname": {"--file", "--boot"},
		"git": {"--output", "--ext-diff", "--textconv", "--open-files-in-pager", "--exec", "--exec-path", "--git-dir", "--work-tree", "--show-signature", "--recurse-submodules"},
	}
	for _, w := range argv[1:] {
		if w == "--" && name != "find" {
			return ""
		}
		option, _, _ := strings.Cut(w, "=")
		for _, l := range longs[name] {
			if option == l {
				return w
			}
		}
	}
	return ""
}

// What is allowed is one pipeline of the 22 programs by their paths in the system's folders, with no word of those that
// write or run, and each word is what an expansion by another reader gives.
func FuzzReadOnly(f *testing.F) {
	for _, c := range readOnlyCases(f) {
		f.Add(c.script)
	}
	for _, r := range readOnlyRules {
		for _, s := range slices.Concat(r.can, r.cannot) {
			f.Add(s)
		}
	}
	f.Fuzz(func(t *testing.T, script string) {
		p := Analyse(script, desk())
		v := ReadOnly(p, LookRules())
		if without := readOnly(p, LookRules()); without.Allowed != v.Allowed {
			t.Fatalf("deny patterns decide: %q", script)
		}
		if !v.Allowed {
			if v.Reason == "" || v.Stages != nil {
				t.Fatalf("%q: %+v", script, v)
			}
			return
		}
		file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
		if err != nil {
			t.Fatalf("%q can't be parsed and is allowed: %v", script, err)
		}
		if len(file.Stmts) != 1 {
			t.Fatalf("%q has %d commands", script, len(file.Stmts))
		}
		calls := pipeline(t, script, file.Stmts[0])
		if len(calls) != len(v.Stages) {
			t.Fatalf("%q: %d calls, %d stages", script, len(calls), len(v.Stages))
		}
		for i, s := range v.Stages {
			folder, name := filepath.Split(s.Argv[0])
			if _, ok := readOnlyRules[name]; !ok || !slices.Contains(append(LookRules().Ripgrep, SystemFolders...), strings.TrimSuffix(folder, "/")) {
				t.Fatalf("%q would run %q", script, s.Argv)
			}
			if bad := mustNot(s.Argv); bad != "" {
				t.Fatalf("%q would run %q with %s", script, s.Argv, bad)
			}
			if name == "find" && slices.ContainsFunc(s.Argv, func(w string) bool {
				return strings.HasPrefix(w, "-exec") || strings.HasPrefix(w, "-ok") || strings.HasPrefix(w, "-fprint") || w == "-fls" || w == "-delete" || strings.HasPrefix(w, "-files0")
			}) && !valueOfTest(s.Argv) {
				t.Fatalf("%q would run %q", script, s.Argv)
			}
			if p.Doubts.Has(Glob | Home) {
				continue
			}
			words, err := expand.Fields(&expand.Config{Env: expand.FuncEnviron(func(string) string { return "" })}, calls[i].Args...)
			if err != nil {
				t.Fatalf("%q: %v", script, err)
			}
			same := slices.DeleteFunc(slices.Clone(s.Argv[1:]), func(w string) bool { return slices.Contains(added, w) })
			words = slices.DeleteFunc(words[1:], func(w string) bool { return slices.Contains(added, w) })
			for k := range same {
				same[k] = strings.ReplaceAll(same[k], "^{commit}", "")
			}
			for k := range words {
				words[k] = strings.ReplaceAll(words[k], "^{commit}", "")
			}
			if !slices.Equal(words, same) {
				t.Fatalf("%q would run %q, and reads as %q", script, same, words)
			}
		}
	})
}

// valueOfTest says that such a word stands where a test's value does.
func valueOfTest(argv []string) bool {
	for i, w := range argv {
		if strings.HasPrefix(w, "-exec") || strings.HasPrefix(w, "-ok") || strings.HasPrefix(w, "-fprint") || w == "-fls" || w == "-delete" || strings.HasPrefix(w, "-files0") {
			if i == 0 || findTests[argv[i-1]] != '1' && findTests[argv[i-1]] != 'p' && argv[i-1] != "-f" && !strings.HasPrefix(argv[i-1], "-newer") {
				return false
			}
		}
	}
	return true
}

// pipeline gives the calls of one pipeline, and fails on anything else.
func pipeline(t *testing.T, script string, s *syntax.Stmt) []*syntax.CallExpr {
	if s.Background || s.Negated || s.Coprocess {
		t.Fatalf("%q: background, ! or coproc", script)
	}
	for _, r := range s.Redirs {
		text := ""
		if r.Word != nil {
			text = r.Word.Lit()
		}
		n := ""
		if r.N != nil {
			n = r.N.Value
		}
		if !(r.Op == syntax.RdrOut && n == "2" || r.Op == syntax.DplOut && n == "2" && text == "1" || r.Op == syntax.RdrIn && (n == "" || n == "0")) {
			t.Fatalf("%q redirects", script)
		}
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		if len(c.Assigns) > 0 || len(c.Args) == 0 {
			t.Fatalf("%q assigns", script)
		}
		return []*syntax.CallExpr{c}
	case *syntax.BinaryCmd:
		if c.Op != syntax.Pipe {
			t.Fatalf("%q chains", script)
		}
		return append(pipeline(t, script, c.X), pipeline(t, script, c.Y)...)
	}
	t.Fatalf("%q is no plain command: %T", script, s.Cmd)
	return nil
}
