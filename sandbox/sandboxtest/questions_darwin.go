package sandboxtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Questions asks macOS what Apple doesn't document, and logs the answers. Where a profile of ours relies on one, a different
// answer fails; most profiles are written to mean the same either way.
func Questions(t *testing.T) {
	b := NewBench(t)
	dir := filepath.Join(b.Root, "questions")
	b.Dir(dir)
	const basis = "(version 1)\n(allow default)\n"
	// ask runs a script under a profile and gives what it said and its exit code. DIR stands for the folder.
	ask := func(profile, script string) (string, int) {
		t.Helper()
		profile = strings.ReplaceAll(profile, "DIR", dir)
		cmd := exec.Command("/usr/bin/sandbox-exec", "-p", profile, "/bin/sh", "-c", script)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out)), cmd.ProcessState.ExitCode()
	}
	fresh := func(names ...string) {
		t.Helper()
		for _, name := range names {
			b.File(filepath.Join(dir, name), "x\n")
		}
	}
	found := func(question string, answer any) { t.Logf("%-70s %v", question, answer) }

	fresh("a")
	_, code := ask(basis+`(deny file-write-unlink (subpath "DIR"))(allow file-write* (subpath "DIR"))`, "rm a")
	found("does the last rule win over one that names the operation?", code == 0)
	fresh("a")
	_, code = ask(basis+`(deny file-read-data (subpath "DIR"))(allow file-read* (literal "DIR/a"))`, "cat a")
	found("the same for reading?", code == 0)

	fresh("a.b", "axb")
	for _, c := range []struct{ name, form string }{{`#"[.]"`, `#"/a[.]b$"`}, {`"[.]"`, `"/a[.]b$"`}, {`#"\."`, `#"/a\.b$"`}, {`"\\."`, `"/a\\.b$"`}, {`#"\\."`, `#"/a\\.b$"`}} {
		_, dot := ask(basis+"(deny file-read-data (regex "+c.form+"))", "cat a.b")
		_, other := ask(basis+"(deny file-read-data (regex "+c.form+"))", "cat axb")
		found("does "+c.name+" match a dot, and only that?", fmt.Sprint(dot != 0, other == 0))
		if strings.Contains(c.form, "[.]") && (dot == 0 || other != 0) {
			t.Errorf("%s doesn't mean a dot", c.name)
		}
	}

	fresh("a", "p.lock")
	only := `(version 1)(deny default)(allow process*)(allow sysctl*)(allow mach*)(allow file-read*)(allow file-write* (subpath "DIR"))`
	_, code = ask(only, "ln a link")
	found("does file-write* include hard links?", code == 0)
	_, code = ask(only, "cp -c a clone")
	found("does file-write* include clones?", code == 0)

	fresh("a")
	_, code = ask(basis+`(deny file-write-unlink (literal "DIR/a"))`, "mv a b")
	found("does renaming need file-write-unlink on the old name?", code != 0)
	if code == 0 {
		t.Error("a pinned folder can be moved")
	}
	fresh("a")
	_, code = ask(basis+`(deny file-write-create (literal "DIR/c"))`, "mv a c")
	found("does renaming need file-write-create on the new name?", code != 0)
	if code == 0 {
		t.Error("a protected name can be made by renaming")
	}
	fresh("a", "d")
	_, code = ask(basis+`(deny file-write-unlink (literal "DIR/d"))`, "mv a d")
	found("does replacing need file-write-unlink on the new name?", code != 0)

	_, code = ask(basis+`(deny file-write* (regex #"/[.]git(/.*)?$"))`, "mkdir .GIT")
	found("does a lower-case rule let .GIT be made?", code == 0)
	_, code = ask(basis+`(deny file-write-create (literal "DIR/`+"\u00e9"+`"))`, "touch e$(printf '\\314\\201')")
	found("does a composed name stop a decomposed one?", code != 0)

	fresh("secret")
	for _, form := range []string{strings.TrimPrefix(dir, "/private"), dir, "/System/Volumes/Data" + dir} {
		_, code := ask(basis+`(deny file-read-data (literal "`+form+`/secret"))`, "cat secret")
		found("does a rule for "+form[:min(len(form), 25)]+"… match?", code != 0)
		if form == dir && code == 0 {
			t.Error("a rule for the real path doesn't match")
		}
	}
	fresh("a")
	_, code = ask(basis+`(deny file-read-data (literal "DIR/a"))`, "ln a other && cat other")
	found("does a second name read a denied file?", code == 0)

	out, code := ask("(version 1)(no such form)", "true")
	found("exit code of a profile with an error", code)
	if code != 65 {
		t.Errorf("it is %d: %s", code, out)
	}
	out, code = ask(basis, "/usr/bin/sandbox-exec -p '(version 1)(allow default)' /usr/bin/true")
	found("exit code of a sandbox in a sandbox", code)
	if code != 71 {
		t.Errorf("it is %d: %s", code, out)
	}
	for _, n := range []int{250, 1000, 1024, 1025, 1026, 2000} {
		_, code := ask(basis+`(deny file-read-data (regex #"`+strings.Repeat("a", n)+`"))`, "true")
		found(fmt.Sprintf("is a string of %d bytes read?", n), code == 0)
		if n == 250 && code != 0 {
			t.Error("a short string isn't read")
		}
	}
	if _, err := os.Stat("/usr/bin/log"); err == nil {
		cmd := exec.Command("/usr/bin/log", "show", "--last", "2m", "--style", "ndjson", "--predicate", `sender == "Sandbox" AND eventMessage CONTAINS "secret"`)
		text, err := cmd.Output()
		found("records of the denials above in the log", fmt.Sprint(strings.Count(string(text), "\n"), " ", err))
	}
}
