package tool

import (
	"os"
	"strings"
	"testing"

	"handrail/core/approval"
)

// The question about a file that other programs act on shows what would stand in it, and exactly that is written.
func TestProtectedIsShown(t *testing.T) {
	const tasks = "w/proj/.vscode/tasks.json"
	edits := `{"edit": {"path": "proj/.vscode/tasks.json", "old_string": "two", "new_string": "evil"}}`
	for _, c := range []struct {
		name, call, diff string
		meanwhile        func(w *world)
		fails            string
	}{
		{"edit", edits, "M proj/.vscode/tasks.json\n@@ -1,3 +1,3 @@\n one\n-two\n+evil\n three", nil, ""},
		{"several edits", `{"edit": {"path": "proj/.vscode/tasks.json", "edits": [{"old_string": "three", "new_string": "3"}, {"old_string": "one", "new_string": "1"}]}}`, "-one\n+1\n two\n-three\n+3", nil, ""},
		{"write_file over it", `{"write_file": {"path": "proj/.vscode/tasks.json", "content": "all\nnew\n", "overwrite": true}}`, "-one\n-two\n-three\n+all\n+new", nil, ""},
		{"write_file of a new one", `{"write_file": {"path": "proj/.mcp.json", "content": "{\"a\": 1}\n"}}`, "A proj/.mcp.json\n@@ -0,0 +1,1 @@\n+{\"a\": 1}", nil, ""},
		{"changed while it was shown", edits, "+evil", func(w *world) { w.put(tasks, []byte("one\ntwo\nother\n")) }, "[stale]"},
		{"changed, and overwritten", `{"write_file": {"path": "proj/.vscode/tasks.json", "content": "all\n", "overwrite": true}}`, "+all", func(w *world) { w.put(tasks, []byte("mine\n")) }, "[stale]"},
		{"made while it was shown", `{"write_file": {"path": "proj/.mcp.json", "content": "{}", "overwrite": true}}`, "+{}", func(w *world) { w.put("w/proj/.mcp.json", []byte("mine\n")) }, "error "},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, p := waitingWorld(t)
			w.gate.testOnlyAnswerBy = ages
			w.put(tasks, []byte("one\ntwo\nthree\n"))
			done := make(chan string, 1)
			go func() {
				text, _ := w.raw(c.call)
				done <- text
			}()
			r := p.sees(t)
			if r.Kind != approval.Protected || !strings.Contains(r.Diff, c.diff) {
				t.Errorf("%s shows %q, want %q", r.Kind, r.Diff, c.diff)
			}
			if c.meanwhile != nil {
				c.meanwhile(w)
			}
			p.says(t, allow)
			text := within(t, done, "the call isn't answered")
			if c.fails == "" && strings.HasPrefix(text, "error ") || c.fails != "" && !strings.Contains(text, c.fails) {
				t.Errorf("%s, want %q", text, c.fails)
			}
			if now, err := os.ReadFile(w.path(tasks)); c.fails != "" && err == nil && (strings.Contains(string(now), "evil") || strings.Contains(string(now), "all")) {
				t.Errorf("it was written: %q", now)
			}
		})
	}
	t.Run("too long to show", func(t *testing.T) {
		w, p := waitingWorld(t)
		w.gate.testOnlyAnswerBy = ages
		if text, failed := w.raw(`{"write_file": {"path": "proj/.mcp.json", "content": "` + strings.Repeat(`a line\n`, approval.MaxDiff/7) + `"}}`); !failed || !strings.Contains(text, "[too_large]") {
			t.Errorf("%s", text)
		}
		if len(p.shown) > 0 {
			t.Error("asked")
		}
	})
}
