package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"handrail/core/approval"
)

// meddler allows everything, after it did something while the question was on the screen.
type meddler struct {
	during func()
	asked  []approval.Request
}

func (m *meddler) Ask(_ context.Context, r approval.Request) approval.Decision {
	m.asked = append(m.asked, r)
	if m.during != nil {
		m.during()
	}
	return approval.Allow(r, "dialog")
}

func applyPatch(w *world, body string) string {
	input, err := json.Marshal("*** Begin Patch\n" + body + "*** End Patch\n")
	if err != nil {
		w.t.Fatal(err)
	}
	return w.play(fmt.Sprintf(`{"apply_patch": {"input": %s}}`, input))
}

// The question shows all of the change and names all folders, in one.
func TestPatchQuestion(t *testing.T) {
	w := newWorld(t, true)
	m := &meddler{}
	w.gate.Queue = approval.NewQueue(m, nil)
	w.put("w/a/one.txt", []byte("alpha\nbeta\n"))
	w.put("w/b/two.txt", []byte("1\n2\n"))
	w.put("w/top.txt", []byte("x"))
	out := applyPatch(w, "*** Update File: a/one.txt\n-beta\n+BETA\n*** Update File: b/two.txt\n*** Move to: new/odd, name.txt\n-2\n+\t two \n*** Delete File: top.txt\n*** Add File: new/n.sh\n+#!/bin/sh\n")
	if !strings.HasPrefix(out, "Success") || len(m.asked) != 1 {
		t.Fatalf("%s\n%+v", out, m.asked)
	}
	r := m.asked[0]
	const want = "M a/one.txt\n@@ -1,2 +1,2 @@\n alpha\n-beta\n+BETA\n\nR b/two.txt -> \"new/odd, name.txt\"\n@@ -1,2 +1,2 @@\n 1\n-2\n+\t two \n\n" +
		"D top.txt\n-x\n\\ No newline at end of file\n\nA new/n.sh\n@@ -0,0 +1,1 @@\n+#!/bin/sh"
	if r.Kind != approval.Patch || r.Diff != want || r.Changes != 4 || r.Path != "" {
		t.Errorf("asked %+v", r)
	}
	if got := w.plain(strings.Join(r.Folders(), " ")); got != "$W/a $W/b $W/new $W/top.txt" || !r.Also[1].Makes || !r.Also[2].File || r.Also[0].FolderID != idOf(t, w.path("w/b")) {
		t.Errorf("folders %s, %+v", got, r.Also)
	}
	if out = applyPatch(w, "*** Update File: a/one.txt\n-BETA\n+beta\n*** Add File: new/m\n+m\n"); !strings.HasPrefix(out, "Success") || len(m.asked) != 1 {
		t.Errorf("what was granted was asked again, or failed: %s", out)
	}
}

// The answer is for what was shown. If that changed while it was shown, nothing is written.
func TestPatchBindsWhatWasShown(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(w *world) error
		want string
	}{
		{"a file changes elsewhere", func(w *world) error { return os.WriteFile(w.path("w/a/one.txt"), []byte("new\nbeta\n"), 0o644) }, "[stale]"},
		{"a file changes so that the hunk fails", func(w *world) error { return os.WriteFile(w.path("w/a/one.txt"), []byte("x\n"), 0o644) }, "[not_found]"},
		{"the file that goes changes", func(w *world) error { return os.WriteFile(w.path("w/b/two.txt"), []byte("other\n"), 0o644) }, "[stale]"},
		{"the file to be made appears", func(w *world) error { return os.WriteFile(w.path("w/b/new.txt"), []byte("other\n"), 0o644) }, "[exists]"},
		{"a file becomes a link", func(w *world) error {
			if err := os.Remove(w.path("w/a/one.txt")); err != nil {
				return err
			}
			return os.Symlink(w.path("w/b/two.txt"), w.path("w/a/one.txt"))
		}, "[is_link]"},
		{"the folder is swapped", func(w *world) error {
			if err := os.Rename(w.path("w/a"), w.path("w/a2")); err != nil {
				return err
			}
			return os.Rename(w.path("w/other"), w.path("w/a"))
		}, "[denied]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, true)
			w.put("w/a/one.txt", []byte("alpha\nbeta\n"))
			w.put("w/b/two.txt", []byte("gone\n"))
			w.put("w/other/one.txt", []byte("alpha\nbeta\n"))
			var after string
			m := &meddler{during: func() {
				if err := c.do(w); err != nil {
					t.Fatal(err)
				}
				after = w.picture("w")
			}}
			w.gate.Queue = approval.NewQueue(m, nil)
			out := applyPatch(w, "*** Update File: a/one.txt\n-beta\n+BETA\n*** Delete File: b/two.txt\n*** Add File: b/new.txt\n+n\n*** Add File: c/d/deep.txt\n+n\n")
			if !strings.HasPrefix(out, "error "+c.want) {
				t.Errorf("answer %s", out)
			}
			if now := w.picture("w"); stripTimes(now) != stripTimes(after) {
				t.Errorf("nothing was to be written, and yet\n%s\nbecame\n%s", after, now)
			}
			if len(m.asked) != 1 {
				t.Errorf("asked %d times", len(m.asked))
			}
		})
	}
}

// stripTimes takes the times of folders out of a picture: a folder that is made and removed again leaves that trace.
func stripTimes(picture string) string {
	var b strings.Builder
	for line := range strings.Lines(picture) {
		if f := strings.Fields(line); len(f) > 1 && strings.HasPrefix(f[1], "d") {
			line = strings.Join(f[:2], " ") + "\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// What can't be shown whole isn't asked for, and what is granted already needs no showing.
func TestPatchTooLargeToAsk(t *testing.T) {
	w := newWorld(t, true)
	m := &meddler{}
	w.gate.Queue = approval.NewQueue(m, nil)
	w.put("w/a/one.txt", []byte("x\n"))
	large := "*** Add File: a/large.txt\n" + strings.Repeat("+0123456789\n", approval.MaxDiff/11)
	if out := applyPatch(w, large); !strings.HasPrefix(out, "error [too_large]") || len(m.asked) != 0 {
		t.Errorf("%s, asked %d times", out, len(m.asked))
	}
	if out := w.play(`{"request_access": {"folder": "a"}}`); len(m.asked) != 1 {
		t.Fatal(out)
	}
	if out := applyPatch(w, large); !strings.HasPrefix(out, "Success") {
		t.Error(out)
	}
}

// A script that is a patch, or only hands one to apply_patch, isn't run: *** stands for the names in the folder, and a shell
// would run the first.
func TestPatchAsScript(t *testing.T) {
	const patch = "*** Begin Patch\n*** Add File: n.txt\n+x\n*** End Patch\n"
	for _, c := range []struct {
		script string
		isOne  bool
	}{
		{patch, true}, {"\n " + patch, true}, {"apply_patch <<'EOF'\n" + patch + "EOF\n", true}, {"cd a && applypatch <<\"EOF\"\n" + patch + "EOF", true},
		{"", false}, {"ls", false}, {"cat <<'EOF'\n" + patch + "EOF\n", false}, {"echo '" + patch + "'", false}, {"cd a; apply_patch <<'EOF'\n" + patch + "EOF\n", false},
	} {
		if err := noPatch(c.script); (err != nil) != c.isOne {
			t.Errorf("%q: %v", c.script, err)
		}
	}
	w := newWorld(t, true)
	w.put("w/date", nil)
	for _, call := range []string{`{"bash": {"command": %q}}`, `{"bash_bg": {"action": "start", "command": %q}}`} {
		if text, failed := w.raw(fmt.Sprintf(call, patch)); !failed || !strings.Contains(text, "[not_a_command]") || !strings.Contains(text, "tool apply_patch") {
			t.Errorf("%s: %s", call, text)
		}
	}
}
