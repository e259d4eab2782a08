package command

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// plainDelete reports whether a script, as the parser sees it, holds the command "rm f" as plain words, and nothing that
// could take it away again: a function of that name.
func plainDelete(script string) bool {
	file, err := parse(newParser(), script)
	if err != nil {
		return false
	}
	found, shadowed := false, false
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl:
			shadowed = true
		case *syntax.CallExpr:
			found = found || len(n.Args) == 2 && n.Args[0].Lit() == "rm" && n.Args[1].Lit() == "f"
		}
		return true
	})
	return found && !shadowed
}

// Whatever surrounds it, a delete that is written out is never said not to be there; and reading is bounded.
func FuzzDeletes(f *testing.F) {
	for _, w := range wrapped {
		before, after, _ := strings.Cut(w, "%s")
		f.Add(before, strings.ReplaceAll(after, "%s", "rm f"))
	}
	for _, c := range deletesTable {
		f.Add(c.script+"\n", "\n"+c.script)
		f.Add(c.script, "")
	}
	for _, s := range hostile(20) {
		f.Add(s, s)
	}
	files := workTree()
	f.Fuzz(func(t *testing.T, before, after string) {
		script := before + "rm f" + after
		p := Analyse(script, here(files))
		answer, targets := Deletes(p)
		if answer == Doesnt && plainDelete(script) {
			t.Errorf("%q: %v %v", script, answer, targets)
		}
		n := 0
		for s := range p.All() {
			n++
			if len(s.Argv) > 0 && len(s.Layers) == 0 {
				t.Errorf("%q: %q has no layers", script, s.Text)
			}
		}
		if n > 16*len(script) {
			t.Errorf("%d segments of %d bytes", n, len(script))
		}
		_ = Summary(targets)
		p.Argv()
		ReadOnly(p, LookRules())
		StrictInline(p)
		Bind(p)
	})
}

// hostile are scripts that are hard to read, n times as long.
func hostile(n int) map[string]string {
	r := strings.Repeat
	return map[string]string{
		"words": "echo" + r(" a", n), "commands": r("ls\n", n), "pipes": "ls" + r(" | cat", n), "and": "ls" + r(" && ls", n), "quotes": "echo " + r(`'a'"b"`, n), "braces": "echo " + r("{", n), "dollars": "echo " + r("$x", n),
		"substitutions": "echo" + r(" $(ls)", n), "functions": r("f() { ls; }\n", n), "calls": "f() { ls; }\n" + r("f\n", n), "here-documents": r("cat <<E\nx\nE\n", n), "globs": "echo " + r("*?[a]", n), "arithmetic": "echo $((1" + r("+1", n) + "))",
		"assignments": r("x=1 ", n), "options": "rm -" + r("r", n) + " f", "operands": "rm" + r(" f", n), "finds": "find ." + r(` -exec ls {} \;`, n), "redirects": "ls" + r(" >a", n), "evals": r("eval 'ls'\n", n), "envs": "env" + r(" A=1", n) + " ls",
		"open": r("$(", n), "groups": r("{ ", n), "cds": r("cd d; cd ..; ", n), "dots": "rm " + r("../", n) + "x", "escapes": "echo " + r(`\a`, n), "cases": r("case x in a|b) ls;; esac\n", n), "moves": "mv" + r(" f", n) + " d", "adds": "ls " + r("a+=(b) ", n),
	}
}

// No script takes more than in proportion to its length: what is allocated stands for the work.
func TestLinear(t *testing.T) {
	files := workTree()
	const n, times = 300, 8
	short, long := hostile(n), hostile(n*times)
	for name := range short {
		linear(t, files, name, short[name], long[name], times)
	}
}

// linear compares the work for a script with that for one so many times as long.
func linear(t *testing.T, files Files, name, short, long string, times float64) {
	t.Helper()
	work := func(script string) (objects, size float64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		Deletes(Analyse(script, here(files)))
		runtime.ReadMemStats(&after)
		return float64(after.Mallocs - before.Mallocs), float64(after.TotalAlloc - before.TotalAlloc)
	}
	objects, size := work(short)
	more, larger := work(long)
	if more > 1.5*times*objects+1000 || larger > 2*times*size+100_000 {
		t.Errorf("%s: %.0f objects, %.0f bytes for %d bytes of script; %.0f, %.0f for %d", name, objects, size, len(short), more, larger, len(long))
	}
}

// Nor does a script in which anything at all is repeated.
func FuzzLinear(f *testing.F) {
	for _, c := range deletesTable {
		f.Add("", c.script+"\n", "")
	}
	for name, s := range hostile(1) {
		f.Add(name+"() {\n", s, "\n}")
	}
	files := workTree()
	f.Fuzz(func(t *testing.T, before, repeated, after string) {
		const n, times = 100, 8
		if len(before)+len(after) > 200 || len(repeated) > MaxScript/n/times/2 {
			return
		}
		script := func(n int) string { return before + strings.Repeat(repeated, n) + after }
		linear(t, files, fmt.Sprintf("%q %q %q", before, repeated, after), script(n), script(n*times), times)
	})
}

// What is too much is not told.
func TestTooMuch(t *testing.T) {
	for name, script := range map[string]string{
		"too long": "ls #" + strings.Repeat("x", MaxScript), "too many commands": strings.Repeat("ls;", 20_000), "too deep": strings.Repeat("(", 5_000) + "ls" + strings.Repeat(")", 5_000),
		"substitutions": strings.Repeat("$(", 5_000) + "ls" + strings.Repeat(")", 5_000), "shells": nested(12),
		"scripts inside": strings.Repeat("eval ls\n", maxInner+1), "another shell": "ls",
	} {
		c := here(workTree())
		if name == "another shell" {
			c.Shell = OtherShell
		}
		if got, _ := Deletes(Analyse(script, c)); got != CantTell {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Less is told.
func TestNotTooMuch(t *testing.T) {
	script := strings.Repeat("eval ls\n", maxInner) + strings.Repeat("ls\n", maxMarks-maxInner)
	if got, _ := Deletes(Analyse(script, here(workTree()))); got != Doesnt {
		t.Errorf("%v", got)
	}
	if p := Analyse(longScript(MaxScript), here(workTree())); p.Doubts.Has(TooLong) || len(p.Segments) < MaxScript/100 {
		t.Errorf("a script as people write it: %v, %d segments", p.Doubts, len(p.Segments))
	}
}

// longScript is a script as people write it, of that many bytes at most.
func longScript(size int) string {
	const line = "for f in a b; do grep -n 'x y' \"$f\" | sort -u > out.txt && git add out.txt; done # comment\n"
	return strings.Repeat(line, size/len(line))
}

// nested is a script in n shells.
func nested(n int) string {
	s := "ls"
	for range n {
		s = "sh -c " + Quote(s)
	}
	return s
}

// As many commands as are read, in as long a script, each of which carries another.
func BenchmarkCarriers(b *testing.B) {
	files := workTree()
	for _, line := range []string{"eval ls", "eval $x", "sh -c ls", "trap ls 0", "xargs sh -c ls", "find -exec ls +", "env -S ls", "alias a=ls", "nice ls", "rm -rf f"} {
		b.Run(line, func(b *testing.B) {
			script := strings.Repeat(line+strings.Repeat(" ", max(0, MaxScript/maxMarks-len(line)-1))+"\n", min(maxMarks, MaxScript/(len(line)+1)))
			b.SetBytes(int64(len(script)))
			for b.Loop() {
				Deletes(Analyse(script, here(files)))
			}
		})
	}
}

func BenchmarkAnalyse(b *testing.B) {
	files := workTree()
	for _, size := range []int{1 << 10, 128 << 10} {
		script := longScript(size)
		b.Run(fmt.Sprintf("%dkB", size>>10), func(b *testing.B) {
			b.SetBytes(int64(len(script)))
			for b.Loop() {
				Analyse(script, here(files))
			}
		})
		b.Run(fmt.Sprintf("%dkB,deletes", size>>10), func(b *testing.B) {
			b.SetBytes(int64(len(script)))
			for b.Loop() {
				Deletes(Analyse(script, here(files)))
			}
		})
	}
	for name, script := range hostile(4000) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(script)))
			for b.Loop() {
				Deletes(Analyse(script, here(files)))
			}
		})
	}
}
