package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const aPatch = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n"

// scriptsWithPatch are scripts and the folder that is gone to; "no" where the script isn't taken.
var scriptsWithPatch = []struct{ name, script, dir string }{
	{"plain", "apply_patch <<'PATCH'\n" + aPatch + "PATCH\n", ""},
	{"the other name", "applypatch <<'PATCH'\n" + aPatch + "PATCH", ""},
	{"double quotes", "apply_patch <<\"EOF\"\n" + aPatch + "EOF\n", ""},
	{"no quotes", "apply_patch <<EOF\n" + aPatch + "EOF\n\n", ""},
	{"blanks", "\n  apply_patch  << 'EOF' \n" + aPatch + "EOF\n \n", ""},
	{"text that a shell would change, quoted", "apply_patch <<'EOF'\n+$HOME `id` \\n\nEOF\n", ""},
	{"an empty patch", "apply_patch <<'EOF'\nEOF\n", ""},
	{"with a folder", "cd foo && apply_patch <<'PATCH'\n" + aPatch + "PATCH\n", "foo"},
	{"with a quoted folder", "cd 'foo bar' && apply_patch <<'PATCH'\n" + aPatch + "PATCH\n", "foo bar"},
	{"with a double-quoted folder", "cd \"foo bar/b\" && apply_patch <<'PATCH'\n" + aPatch + "PATCH\n", "foo bar/b"},
	{"a folder up", "cd ../w/foo && apply_patch <<'PATCH'\n" + aPatch + "PATCH\n", "../w/foo"},
	{"with a move", "cd alt && apply_patch <<'PATCH'\n*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n-x\n+y\n*** End Patch\nPATCH\n", "alt"},
	{"the end stands in the text", "apply_patch <<'EOF'\n EOF\nEOFX\nxEOF\nEOF", ""},

	{"semicolon", "cd foo; apply_patch <<'PATCH'\n" + aPatch + "PATCH\n", "no"},
	{"or", "cd bar || apply_patch <<'PATCH'\n" + aPatch + "PATCH\n", "no"},
	{"pipe", "cd bar | apply_patch <<'PATCH'\n" + aPatch + "PATCH\n", "no"},
	{"two folders", "cd foo && cd bar && apply_patch <<'PATCH'\n" + aPatch + "PATCH\n", "no"},
	{"two arguments", "cd foo bar && apply_patch <<'PATCH'\n" + aPatch + "PATCH\n", "no"},
	{"no folder", "cd && apply_patch <<'PATCH'\n" + aPatch + "PATCH\n", "no"},
	{"an option", "cd -P && apply_patch <<'PATCH'\n" + aPatch + "PATCH\n", "no"},
	{"back", "cd - && apply_patch <<'PATCH'\n" + aPatch + "PATCH\n", "no"},
	{"a quoted option", "cd '-' && apply_patch <<'PATCH'\n" + aPatch + "PATCH\n", "no"},
	{"home", "cd ~/x && apply_patch <<'PATCH'\n" + aPatch + "PATCH\n", "no"},
	{"an expansion", "cd \"$X\" && apply_patch <<'PATCH'\n" + aPatch + "PATCH\n", "no"},
	{"a pattern", "cd fo* && apply_patch <<'PATCH'\n" + aPatch + "PATCH\n", "no"},
	{"another command before", "echo x && apply_patch <<'PATCH'\n" + aPatch + "PATCH\n", "no"},
	{"another command after", "cd bar && apply_patch <<'PATCH' && echo done\n" + aPatch + "PATCH\n", "no"},
	{"another command behind", "apply_patch <<'PATCH'\n" + aPatch + "PATCH\necho done\n", "no"},
	{"in the background", "apply_patch <<'PATCH' &\n" + aPatch + "PATCH\n", "no"},
	{"with an argument", "apply_patch x <<'PATCH'\n" + aPatch + "PATCH\n", "no"},
	{"with a redirect", "apply_patch <<'PATCH' >out\n" + aPatch + "PATCH\n", "no"},
	{"an assignment", "X=1 apply_patch <<'PATCH'\n" + aPatch + "PATCH\n", "no"},
	{"not ended", "apply_patch <<'PATCH'\n" + aPatch, "no"},
	{"ended with a blank", "apply_patch <<'PATCH'\n" + aPatch + "PATCH \n", "no"},
	{"tabs are taken away", "apply_patch <<-'PATCH'\n" + aPatch + "PATCH\n", "no"},
	{"a here-string", "apply_patch <<< 'PATCH'\n" + aPatch + "PATCH\n", "no"},
	{"text that a shell would change", "apply_patch <<EOF\n+$HOME\nEOF\n", "no"},
	{"the patch itself", aPatch, "no"},
	{"as an argument", "apply_patch '" + aPatch + "'", "no"},
	{"a path to it", "./apply_patch <<'PATCH'\n" + aPatch + "PATCH\n", "no"},
	{"nothing", "", "no"},
	{"carriage returns", "apply_patch <<'PATCH'\r\n" + aPatch + "PATCH\r\n", "no"},
}

func TestPatchIn(t *testing.T) {
	taken := 0
	for _, c := range scriptsWithPatch {
		patch, dir, ok := PatchIn(c.script)
		if ok != (c.dir != "no") || ok && dir != c.dir {
			t.Errorf("%s: %q, %q, %v", c.name, patch, dir, ok)
		}
		if !ok {
			continue
		}
		taken++
		gotPatch, gotDir := asBashDoes(t, c.script)
		if patch != gotPatch || filepath.Join("/w", dir) != gotDir {
			t.Errorf("%s: we read %q in %q, bash %q in %q", c.name, patch, dir, gotPatch, gotDir)
		}
	}
	fmt.Printf("patches in scripts: %d cases, of which %d are taken\n", len(scriptsWithPatch), taken)
	if len(scriptsWithPatch) < 40 || taken < 10 {
		t.Errorf("only %d cases", len(scriptsWithPatch))
	}
}

// asBashDoes gives what a program apply_patch would read, and in which folder, in a tree whose workspace is called /w.
func asBashDoes(t *testing.T, script string) (patch, dir string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"foo", "foo bar/b", "alt"} {
		if err := os.MkdirAll(filepath.Join(top, "w", d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("bash", "--norc", "-c", "apply_patch() { cat >\"$OUT\"; pwd >\"$OUT.dir\"; }; applypatch() { apply_patch; }\n"+script)
	cmd.Dir, cmd.Env = filepath.Join(top, "w"), []string{"PATH=/usr/bin:/bin", "HOME=" + top, "OUT=" + filepath.Join(top, "out")}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(top, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	return read("out"), strings.TrimPrefix(strings.TrimSuffix(read("out.dir"), "\n"), top)
}

// FuzzPatchIn holds what is taken against the reader of scripts: one command, or two joined by &&.
func FuzzPatchIn(f *testing.F) {
	for _, c := range scriptsWithPatch {
		f.Add(c.script)
	}
	f.Fuzz(func(t *testing.T, script string) {
		patch, dir, ok := PatchIn(script)
		if !ok || len(script) > MaxScript || strings.ContainsAny(script, "\x00\r") {
			return
		}
		p := Analyse(script, Context{Shell: Bash, Dir: "/w", Home: "/h"})
		want := 1
		if dir != "" {
			want = 2
		}
		if len(p.Segments) != want || !strings.Contains(script, patch) {
			t.Fatalf("%q is taken, and yet has %d commands", script, len(p.Segments))
		}
	})
}
