package command

import (
	"io"
	"io/fs"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

func TestNarration(t *testing.T) {
	for _, c := range []struct {
		script string
		want   bool
	}{
		{`echo hello`, true}, {`echo "Step 1: build"`, true}, {`echo 'a | b > c'`, true}, {`echo -n hi`, true}, {"echo a\necho b", true},
		{`echo done; echo more`, true}, {`  echo hi  # note`, true}, {`echo "สวัสดี"`, true},
		{``, false}, {`echo`, false}, {`echo $HOME`, false}, {`echo "$(id)"`, false}, {"echo `id`", false}, {`echo hi > f`, false}, {`echo hi | cat`, false},
		{`echo hi && ls`, false}, {`echo hi &`, false}, {`echo *.go`, false}, {`echo {a,b}`, false}, {`echo ~`, false}, {`echo $'a'`, false},
		{`X=1 echo hi`, false}, {`! echo hi`, false}, {`/bin/echo hi`, false}, {`printf hi`, false}, {`echo hi; ls`, false}, {`(echo hi)`, false},
		{`echo "unclosed`, false}, {`echo <(ls)`, false}, {`echo $((1+1))`, false}, {`echo ` + strings.Repeat("x", MaxScript), false},
	} {
		if got := Narration(c.script); got != c.want {
			t.Errorf("%.60q: %v", c.script, got)
		}
	}
}

// What is called narration must expand to itself whatever the variables, the home folder and the files are.
func FuzzNarration(f *testing.F) {
	for _, s := range []string{"echo hi", `echo "a$b"`, "echo 'x' > y", "echo a;rm b", "echo \\\nhi", "echo 0$", "echo ~ *", "echo $((1))"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, script string) {
		if !Narration(script) {
			return
		}
		file, err := parse(newParser(), script)
		if err != nil {
			t.Fatal(err)
		}
		touched := func(what string) error { t.Errorf("%q has a %s", script, what); return nil }
		cfg := &expand.Config{
			Env:       expand.FuncEnviron(func(name string) string { touched("variable " + name); return "" }),
			CmdSubst:  func(io.Writer, *syntax.CmdSubst) error { return touched("command substitution") },
			ProcSubst: func(*syntax.ProcSubst) (string, error) { return "", touched("process substitution") },
			ReadDir2:  func(string) ([]fs.DirEntry, error) { return nil, touched("glob") },
		}
		for _, s := range file.Stmts {
			// IFS and PWD are read whatever the words are.
			if _, err := expand.Fields(withAmbient(cfg), s.Cmd.(*syntax.CallExpr).Args...); err != nil {
				t.Errorf("%q: %v", script, err)
			}
		}
	})
}

type ambient struct{ expand.Environ }

func (e ambient) Get(name string) expand.Variable {
	if name == "IFS" || name == "PWD" { // read before any expansion
		return expand.Variable{}
	}
	return e.Environ.Get(name)
}

func withAmbient(cfg *expand.Config) *expand.Config {
	c := *cfg
	c.Env = ambient{cfg.Env}
	return &c
}
