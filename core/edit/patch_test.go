package edit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"handrail/core/hint"
)

// patch applies a patch; its first and its last line are put around it unless it is a unified diff.
func patch(root *os.Root, text string, o Options) (PatchResult, error) {
	if !isUnified(text) {
		text = beginPatch + "\n" + text + endPatch + "\n"
	}
	return wholePatch(root, text, o)
}

func wholePatch(root *os.Root, text string, o Options) (PatchResult, error) {
	p, err := ParsePatch(text)
	if err != nil {
		return PatchResult{}, err
	}
	return ApplyPatch(p, func(name string) (At, error) { return At{root, name}, nil }, o)
}

// Wherever the writing fails, all files are as they were, and nothing is left.
func TestPatchAllOrNone(t *testing.T) {
	files := map[string]string{"a": "1\n", "b": "2\n", "c": "3\n", "m": "4\n", "l": "-> a"}
	const text = "*** Update File: b\n-2\n+TWO\n*** Add File: x/y/new\n+n\n*** Delete File: c\n*** Update File: a\n-1\n+ONE\n*** Update File: m\n*** Move to: x/moved\n-4\n+FOUR\n*** Delete File: l\n"
	want := map[string]string{"a": "ONE\n", "b": "TWO\n", "x/y/new": "n\n", "x/moved": "FOUR\n"}
	tried := 0
	for _, noExchange := range []bool{false, true} {
		for _, step := range []string{"create", "write", "sync", "compare", "replace"} {
			for fail := 0; ; fail++ {
				root, dir := scratch(t, files)
				undo := openUndo(t, filepath.Join(t.TempDir(), "undo"), 1<<20)
				n, failed := 0, false
				o := Options{Undo: undo, testOnlyNoExchange: noExchange, testOnlyStep: func(s string) error {
					if s == step {
						if n++; n == fail {
							failed = true
							return syscall.ENOSPC
						}
					}
					return nil
				}}
				r, err := patch(root, text, o)
				if fail > 0 && !failed {
					break
				}
				tried++
				if fail == 0 {
					if err != nil {
						t.Fatal(err)
					}
					wantTree(t, dir, want)
					if len(undo.List()) != 7 || r.UndoID == "" || len(undo.changes()) != 1 {
						t.Errorf("kept %+v", undo.List())
					}
					continue
				}
				wantError(t, err, "no_space", nil)
				wantTree(t, dir, files)
				if _, err := os.Stat(filepath.Join(dir, "x")); err == nil || len(undo.List()) != 0 {
					t.Errorf("failure %d at %s left a folder, or %d undo entries", fail, step, len(undo.List()))
				}
			}
		}
	}
	if tried < 50 {
		t.Errorf("only %d failures were tried", tried)
	}
}

// Between the reading and the writing another program changes any one of the files: all stay, and its change is kept.
func TestPatchStale(t *testing.T) {
	files := map[string]string{"a": "1\n", "b": "2\n", "c": "3\n", "m": "4\n"}
	const text = "*** Update File: b\n-2\n+TWO\n*** Delete File: c\n*** Update File: a\n-1\n+ONE\n*** Update File: m\n*** Move to: moved\n-4\n+FOUR\n*** Add File: new\n+n\n"
	for _, name := range []string{"a", "b", "c", "m", "moved", "new"} {
		for at := 1; at <= 6; at++ {
			root, dir := scratch(t, files)
			n := 0
			_, err := patch(root, text, Options{testOnlyStep: func(s string) error {
				if s == "compare" {
					if n++; n == at {
						return os.WriteFile(filepath.Join(dir, name), []byte("other\n"), 0o644)
					}
				}
				return nil
			}})
			want := map[string]string{}
			for n, c := range files {
				want[n] = c
			}
			want[name] = "other\n"
			got := tree(t, dir)
			if err == nil { // its own turn was over before
				if got[name] != "other\n" && name != "c" && name != "m" {
					t.Errorf("%s at %d: the change was lost: %q", name, at, got)
				}
				continue
			}
			if code := hint.Code(err); code != "stale" && code != "exists" && code != "rollback_failed" {
				t.Errorf("%s at %d: %v", name, at, err)
			}
			if hint.Code(err) != "rollback_failed" {
				wantTree(t, dir, want)
			}
		}
	}
}

// If putting back fails too, the old file is kept and named.
func TestRollbackFails(t *testing.T) {
	root, dir := scratch(t, map[string]string{"d/a": "1\n", "d/b": "2\n"})
	n := 0
	o := Options{testOnlyStep: func(s string) error {
		if s == "replace" {
			if n++; n == 2 {
				if err := os.Remove(filepath.Join(dir, "d", "a")); err != nil {
					return err
				}
				return syscall.EIO
			}
		}
		return nil
	}}
	_, err := patch(root, "*** Update File: d/a\n-1\n+x\n*** Update File: d/b\n-2\n+y\n", o)
	wantError(t, err, "rollback_failed", []string{"a.kept-", "d/a"})
	kept := ""
	for name, content := range tree(t, dir) {
		if content == "1\n" {
			kept = filepath.Base(name)
		}
	}
	if kept == "" || !strings.Contains(err.Error(), kept) {
		t.Errorf("%v, but there is %v", err, tree(t, dir))
	}
}

// One undo puts back all of a patch, another one takes that back.
func TestPatchUndo(t *testing.T) {
	files := map[string]string{"a": "1\n", "b": "2\n", "c": "3\n", "m": "4\n", "l": "-> a", "run.sh": "x\n"}
	root, dir := scratch(t, files)
	undo := openUndo(t, filepath.Join(t.TempDir(), "undo"), 1<<20)
	snapshots, err := OpenSnapshots(SnapshotOptions{Dir: filepath.Join(t.TempDir(), "s"), Undo: undo})
	if err != nil {
		t.Fatal(err)
	}
	defer snapshots.Close()
	const own = "*** Update File: b\n-2\n+TWO\n*** Add File: x/new\n+n\n*** Delete File: c\n*** Update File: m\n*** Move to: moved\n-4\n+FOUR\n*** Delete File: l\n"
	if _, err := patch(root, own, Options{Undo: undo, By: By{Tool: "apply_patch"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := patch(root, "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n", Options{Undo: undo}); err != nil {
		t.Fatal(err)
	}
	after := tree(t, dir)
	list := snapshots.Changes()
	if len(list) != 2 || list[1].Count != 5 || list[0].Count != 1 {
		t.Fatalf("changes %+v", list)
	}
	if !slices.ContainsFunc(list[1].Files, func(f ChangedFile) bool { return f.Name == "moved" && f.How == Renamed && f.From == "m" }) {
		t.Errorf("the rename is told as %+v", list[1].Files)
	}
	mode := func() string {
		st, err := os.Stat(filepath.Join(dir, "run.sh"))
		if err != nil {
			t.Fatal(err)
		}
		return st.Mode().String()
	}
	if mode() != "-rwxr-xr-x" {
		t.Errorf("mode %s", mode())
	}
	var back []string
	for i := range 2 {
		u, err := snapshots.Undo(list[i].ID, false)
		if err != nil {
			t.Fatal(err)
		}
		back = append(back, u.ID)
	}
	wantTree(t, dir, files)
	if mode() != "-rw-r--r--" {
		t.Errorf("mode %s", mode())
	}
	for _, id := range back {
		if _, err := snapshots.Undo(id, false); err != nil {
			t.Fatal(err)
		}
	}
	wantTree(t, dir, after)
	if mode() != "-rwxr-xr-x" {
		t.Errorf("mode %s", mode())
	}

	// A file that was changed since stops it, unless the others are asked for.
	put(t, filepath.Join(dir, "b"), "other\n", false)
	u, err := snapshots.Undo(list[1].ID, false)
	wantError(t, err, "stale", []string{`b`})
	if len(u.Left) != 1 {
		t.Errorf("left %+v", u.Left)
	}
	after["b"] = "other\n"
	wantTree(t, dir, after)
	if _, err := snapshots.Undo(list[1].ID, true); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a": "1\n", "b": "other\n", "c": "3\n", "m": "4\n", "l": "-> a", "run.sh": "x\n"}
	wantTree(t, dir, want)
}

// What is kept of a patch goes as a whole.
func TestPatchUndoDropped(t *testing.T) {
	root, dir := scratch(t, map[string]string{"a": strings.Repeat("1", 3000) + "\n", "b": strings.Repeat("2", 3000) + "\n", "c": "3\n"})
	undo := openUndo(t, filepath.Join(t.TempDir(), "undo"), 14000)
	text := func(x string) string {
		return fmt.Sprintf("*** Delete File: a\n*** Delete File: b\n*** Add File: %s\n+x\n", x)
	}
	if _, err := patch(root, text("n"), Options{Undo: undo}); err != nil {
		t.Fatal(err)
	}
	if len(undo.List()) != 3 {
		t.Fatalf("kept %+v", undo.List())
	}
	if _, err := Edit(root, "c", str("3", strings.Repeat("4", 8000)), Options{Undo: undo}); err != nil {
		t.Fatal(err)
	}
	if _, err := Edit(root, "c", str(strings.Repeat("4", 8000), "5"), Options{Undo: undo}); err != nil {
		t.Fatal(err)
	}
	for _, e := range undo.List() {
		if e.Group != "" {
			t.Errorf("%s is still there", e.ID)
		}
	}
	put(t, filepath.Join(dir, "a"), strings.Repeat("1", 15000), false)
	_, err := patch(root, "*** Delete File: a\n", Options{Undo: undo})
	wantError(t, err, "no_undo", nil)
}

// What a patch leaves alone: other bytes, encodings, modes, hard links. What it refuses is as it was.
func TestPatchKeeps(t *testing.T) {
	le := func(s string) string { return string(encode([]byte(s), []byte{0xFF, 0xFE}, UTF16LE)) }
	for _, c := range []struct {
		name, before, text, after, code string
	}{
		{"UTF-16", le("สวัสดี\r\nb\r\n"), "*** Update File: f\n-b\n+ชา\n", le("สวัสดี\r\nชา\r\n"), ""},
		{"Latin-1 elsewhere", "caf\xe9\nb\n", "*** Update File: f\n-b\n+c\n", "caf\xe9\nc\n", ""},
		{"Latin-1 around", "caf\xe9\nb\ncaf\xe9\n", "*** Update File: f\n-b\n+ชา\n", "", "unsupported_encoding"},
		{"Latin-1 can't be matched", "caf\xe9\n", "*** Update File: f\n-caf\uFFFD\n+c\n", "", "not_found"},
		{"line separators are no line ends", "a\u2028b\fc\nd\n", "*** Update File: f\n-d\n+e\n", "a\u2028b\fc\ne\n", ""},
		{"an empty line after a CR", "a\rb\n\nc\n", "*** Update File: f\n-b\n+B\n", "a\rB\r\r\nc\n", ""},
	} {
		root, dir := scratch(t, nil)
		path := filepath.Join(dir, "f")
		if err := os.WriteFile(path, []byte(c.before), 0o640); err != nil {
			t.Fatal(err)
		}
		_, err := patch(root, c.text, Options{})
		if c.code != "" {
			wantError(t, err, c.code, nil)
			c.after = c.before
		} else if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		wantTree(t, dir, map[string]string{"f": c.after})
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o640 {
			t.Errorf("%s: mode %v, %v", c.name, st.Mode(), err)
		}
	}
}

func TestPatchSpecialFiles(t *testing.T) {
	root, dir := scratch(t, map[string]string{"f": "x\n", "h": "x\n", "ro": "x\n", "sub/f": "x\n", "locked/f": "x\n", "zero": "-> /dev/zero", "out": "-> /etc/passwd"})
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{os.Link(in("h"), in("h2")), syscall.Mkfifo(in("pipe"), 0o600), os.Chmod(in("ro"), 0o444), os.Chmod(in("locked"), 0o555)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod(in("locked"), 0o755) })
	before := tree(t, dir)
	for _, c := range []struct{ text, code string }{
		{"*** Update File: h\n-x\n+y\n", "hard_link"},
		{"*** Update File: h\n*** Move to: g\n-x\n+y\n", "hard_link"},
		{"*** Update File: pipe\n-x\n+y\n", "not_regular"},
		{"*** Delete File: pipe\n", "not_regular"},
		{"*** Add File: pipe\n+x\n", "not_regular"},
		{"*** Update File: zero\n-x\n+y\n", "is_link_outside"},
		{"*** Update File: out\n-x\n+y\n", "is_link_outside"},
		{"*** Add File: out\n+x\n", "is_link_outside"},
		{"*** Update File: ro\n-x\n+y\n", "read_only"},
		{"*** Delete File: ro\n", "read_only"},
		{"*** Delete File: sub\n", "not_regular"},
		{"*** Update File: sub\n-x\n+y\n", "not_regular"},
		{"*** Add File: sub\n+x\n", "not_regular"},
		{"*** Add File: f/g\n+x\n", "not_found"},
	} {
		_, err := patch(root, "*** Update File: f\n-x\n+y\n"+strings.Replace(c.text, "File: f\n", "File: sub/f\n", 1), Options{})
		wantError(t, err, c.code, nil)
		wantTree(t, dir, before)
	}
	if os.Geteuid() != 0 {
		for _, text := range []string{"*** Add File: locked/new\n+x\n", "*** Delete File: locked/f\n", "*** Update File: locked/f\n-x\n+y\n"} {
			_, err := patch(root, "*** Update File: f\n-x\n+y\n"+text, Options{})
			wantError(t, err, "denied", nil)
			wantTree(t, dir, before)
		}
	}
	// One of two names goes, the other stays.
	r, err := patch(root, "*** Delete File: h\n", Options{})
	if err != nil || len(r.Files[0].Notes) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	delete(before, "h")
	wantTree(t, dir, before)
}

// What a dry run said binds: with its digest nothing else is done.
func TestPatchDigest(t *testing.T) {
	root, dir := scratch(t, map[string]string{"f": "1\nx\n", "g": "1\n"})
	const text = "*** Update File: f\n-x\n+y\n*** Delete File: g\n"
	dry, err := patch(root, text, Options{DryRun: true})
	if err != nil || dry.Digest == "" || !dry.DryRun || !strings.Contains(dry.Files[0].Whole, "-x\n+y\n") || dry.Files[1].Whole != "-1\n" {
		t.Fatalf("%+v, %v", dry, err)
	}
	for _, name := range []string{"f", "g"} {
		put(t, filepath.Join(dir, name), "2\nx\n", false)
		_, err = patch(root, text, Options{Digest: dry.Digest})
		wantError(t, err, "stale", nil)
		wantTree(t, dir, map[string]string{"f": map[string]string{"f": "2\nx\n", "g": "1\nx\n"}[name], "g": map[string]string{"f": "1\n", "g": "2\nx\n"}[name]})
		put(t, filepath.Join(dir, "f"), "1\nx\n", false)
		put(t, filepath.Join(dir, "g"), "1\n", false)
	}
	if _, err = patch(root, text, Options{Digest: dry.Digest}); err != nil {
		t.Fatal(err)
	}
	wantTree(t, dir, map[string]string{"f": "1\ny\n"})
}

// Patches at the same time that touch the same files in other orders don't wait for each other for ever, and each counts.
func TestPatchesTogether(t *testing.T) {
	root, dir := scratch(t, map[string]string{"a": "0\n", "b": "0\n"})
	var group sync.WaitGroup
	var mu sync.Mutex
	applied := 0
	for i := range 40 {
		group.Go(func() {
			one, two := "a", "b"
			if i%2 == 0 {
				one, two = two, one
			}
			text := fmt.Sprintf("*** Update File: %s\n@@\n+%d\n*** Update File: %s\n@@\n+%d\n", one, i+1, two, i+1)
			if _, err := patch(root, text, Options{}); err == nil {
				mu.Lock()
				applied++
				mu.Unlock()
			} else if hint.Code(err) != "stale" {
				t.Error(err)
			}
		})
	}
	group.Wait()
	got := tree(t, dir)
	if got["a"] != got["b"] || strings.Count(got["a"], "\n") != applied+1 || applied == 0 {
		t.Errorf("%d applied, %q", applied, got)
	}
}

// Matching takes time that grows with the text.
func TestPatchBounded(t *testing.T) {
	same := strings.Repeat("a\n", 200_000)
	root, _ := scratch(t, map[string]string{"f": same})
	var many strings.Builder
	many.WriteString("*** Update File: f\n")
	for range 20_000 {
		many.WriteString(" a\n")
	}
	many.WriteString("-b\n+c\n")
	begin := time.Now()
	_, err := patch(root, many.String(), Options{})
	wantError(t, err, "not_found", nil)
	many.Reset()
	many.WriteString("*** Update File: f\n")
	for range MaxHunks {
		many.WriteString("@@\n-b\n+c\n")
	}
	_, err = patch(root, many.String(), Options{})
	wantError(t, err, "not_found", nil)
	many.WriteString("@@\n-b\n+c\n")
	_, err = patch(root, many.String(), Options{})
	wantError(t, err, "bad_patch", []string{"hunks"})
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}
