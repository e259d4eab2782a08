package edit

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"handrail/core/hint"
)

// FuzzPatch applies any text to a small tree: it never panics, it is done soon, and what is refused changes nothing. What is
// done is what the dry run said, and one undo puts all of it back.
func FuzzPatch(f *testing.F) {
	n := 0
	for _, c := range lines[patchCase](f, "testdata/patches.jsonl") {
		for _, content := range c.Files {
			f.Add(c.Patch, content)
			n++
		}
	}
	if n < 100 {
		f.Fatalf("only %d seeds", n)
	}
	f.Fuzz(func(t *testing.T, text, content string) {
		if len(text) > 64<<10 || len(content) > 64<<10 || strings.HasPrefix(content, "-> ") {
			return
		}
		root, dir := scratch(t, map[string]string{"f": content, "a": content, "d/g": "x\ny\n", "l": "-> f"})
		before := tree(t, dir)
		undo := openUndo(t, filepath.Join(t.TempDir(), "undo"), 8<<20)
		begin := time.Now()
		dry, err := wholePatch(root, text, Options{DryRun: true})
		if !maps.Equal(before, tree(t, dir)) {
			t.Fatal("a dry run changed files")
		}
		r, err2 := wholePatch(root, text, Options{Undo: undo, Digest: dry.Digest})
		if (err == nil) != (err2 == nil) {
			t.Fatalf("the dry run said %v, and then %v", err, err2)
		}
		if err != nil {
			if hint.Code(err) == "failed" || !maps.Equal(before, tree(t, dir)) || len(undo.List()) > 0 {
				t.Fatalf("refused (%v), and yet files changed", err)
			}
			return
		}
		if r.UndoID != "" {
			if _, err := undo.restoreGroup(r.UndoID, undo.group(r.UndoID), false, nil); err != nil {
				t.Fatal(err)
			}
		}
		if after := tree(t, dir); !maps.Equal(before, after) {
			t.Fatalf("undone, and yet %q became %q", before, after)
		}
		if took := time.Since(begin); took > 20*time.Second {
			t.Fatalf("it took %v", took)
		}
	})
}

// FuzzPatchText reads any text as a patch and applies it to a text: it never panics, and what it doesn't say it changed is the
// same, byte for byte.
func FuzzPatchText(f *testing.F) {
	for _, c := range lines[patchCase](f, "testdata/patches.jsonl") {
		for _, content := range c.Files {
			f.Add(c.Patch, []byte(content))
		}
	}
	f.Fuzz(func(t *testing.T, text string, content []byte) {
		begin := time.Now()
		defer func() {
			if took := time.Since(begin); took > 10*time.Second {
				t.Fatalf("it took %v", took)
			}
		}()
		p, err := ParsePatch(text)
		if err != nil {
			if code := hint.Code(err); code != "bad_patch" && code != "invalid_text" {
				t.Fatal(err)
			}
			return
		}
		for _, f := range p.Files {
			if f.Path == "" {
				t.Fatal("a file without a path")
			}
			r, after, regions, err := f.patched(content, Options{})
			if err != nil {
				continue
			}
			before, _, _, err := decode(content)
			if err != nil {
				t.Fatal("a file was changed that can't be read")
			}
			a, b := 0, 0
			for _, g := range append(regions, region{len(before), len(before), len(after), len(after)}) {
				if g.a0 < a || g.b0 < b || g.a1 < g.a0 || g.b1 < g.b0 || string(before[a:g.a0]) != string(after[b:g.b0]) {
					t.Fatalf("%q became %q, by %v", before, after, regions)
				}
				a, b = g.a1, g.b1
			}
			// The end of the last line stays, or is missing, as it was, where no diff says otherwise.
			// An empty last line without an end is no line.
			said := slices.ContainsFunc(f.chunks, func(c chunk) bool { return c.ended != nil || slices.Contains(c.fresh(), "") })
			if len(before) > 0 && len(after) > 0 && !said && endsLine(before) != endsLine(after) {
				t.Fatalf("%q became %q", before, after)
			}
			if r.Added-r.Removed != newBody(after, "").height(0, len(after))-newBody(before, "").height(0, len(before)) {
				t.Fatalf("%q became %q: +%d -%d", before, after, r.Added, r.Removed)
			}
		}
	})
}
