package edit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"handrail/core/hint"
)

// A preview changes nothing, and what it says is what the undo then does: for commands, edits, and undos of both.
func TestPreview(t *testing.T) {
	k := keeping(t, map[string]string{"a": "one\ntwo\n", "b": "b\n", "d/x": "x\n"}, nil)
	root, err := os.OpenRoot(k.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	k.command(func() {}) // what stands there is kept
	command := k.command(k.sh("put a one; rm d; put new n; append b more")).Changes[0]
	preview := func(id, want, diff string) Preview {
		t.Helper()
		before := picture(t, k.dir)
		p, err := k.Preview(id)
		if err != nil {
			t.Fatal(err)
		}
		wantPicture(t, k.dir, before)
		if got := brief(p.Undoes); got != want || p.UndoesCount != len(p.Undoes) {
			t.Errorf("%s, want %s", got, want)
		}
		if !strings.Contains(p.Diff, diff) || p.DiffMore {
			t.Errorf("diff %q, want %q in it", p.Diff, diff)
		}
		return p
	}
	undo := func(id, want string) string {
		t.Helper()
		u, err := k.Undo(id, true)
		if err != nil {
			t.Fatal(err)
		}
		if got := brief(Outermost(u.Files)); got != want {
			t.Errorf("undone %s, the preview said %s", got, want)
		}
		return u.ID
	}
	const forth = "changed a; changed b; created d; deleted new"
	const back = "changed a; changed b; deleted d; created new"
	if p := preview(command, forth, "/a\n@@ -1,1 +1,2 @@\n one\n+two\n"); len(p.Left) != 0 || p.By[0].Text != "command" {
		t.Errorf("left %v, by %v", p.Left, p.By)
	}
	again := undo(command, forth)
	preview(again, back, "\n one\n-two\n")
	if _, err := k.Preview(command); hint.Code(err) != "nothing_to_undo" {
		t.Errorf("what is undone: %v", err)
	}
	undo(again, back)

	// What was changed since is named, and the rest told.
	k.sh("append a mine")()
	p := preview(command, "changed b; created d; deleted new", "b\n@@")
	if len(p.Left) != 1 || p.Left[0].Path != filepath.Join(k.dir, "a") || p.Left[0].Why != "it was changed since" {
		t.Errorf("left %v", p.Left)
	}

	r, err := Edit(root, "b", str("more", "less"), Options{Undo: k.undo})
	if err != nil {
		t.Fatal(err)
	}
	p = preview(r.UndoID, "changed b", "b\n@@ -1,2 +1,2 @@\n b\n-less\n+more\n")
	back2 := undo(r.UndoID, "changed b")
	preview(back2, "changed b", "-more\n+less\n")
	k.sh("put b mine")()
	if p, err := k.Preview(r.UndoID); err != nil || len(p.Undoes) != 0 || len(p.Left) != 1 {
		t.Errorf("changed since: %v, %v", p, err)
	}
	for _, id := range []string{"", "none", "../x"} {
		if _, err := k.Preview(id); hint.Code(err) != "not_found" {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// What is no text, or too much of it, is said to be left out.
func TestPreviewBounds(t *testing.T) {
	k := keeping(t, map[string]string{"large": "", "binary": "\x00"}, nil)
	k.command(func() {})
	for _, c := range []string{"put large " + strings.Repeat("x", maxPreview), "put binary text"} {
		p, err := k.Preview(k.command(k.sh(c)).Changes[0])
		if err != nil || !p.DiffMore || p.Diff != "" || len(p.Undoes) != 1 {
			t.Errorf("%.20s: %v, %+v", c, err, p)
		}
	}
}
