package edit

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// patchCase is a row of testdata/patches.jsonl: files before and, where want is there, after; else the patch is refused with
// code, and nothing changes. says stands in the error, notes in the notes of the first file, and summary are the files as a
// person is told of them. differs says why we do another thing than the tool that the row comes from.
type patchCase struct {
	ID      string            `json:"id"`
	Files   map[string]string `json:"files"`
	Patch   string            `json:"patch"`
	Want    map[string]string `json:"want"`
	Code    string            `json:"code"`
	Says    []string          `json:"says"`
	Notes   []string          `json:"notes"`
	Summary string            `json:"summary"`
	Differs string            `json:"differs"`
}

func TestPatchCases(t *testing.T) {
	list := lines[patchCase](t, "testdata/patches.jsonl")
	refused := 0
	for _, c := range list {
		t.Run(c.ID, func(t *testing.T) {
			root, dir := scratch(t, c.Files)
			undo := openUndo(t, filepath.Join(t.TempDir(), "undo"), 1<<20)
			before := state(t, dir)
			r, err := wholePatch(root, c.Patch, Options{Undo: undo})
			if c.Want == nil {
				refused++
				wantError(t, err, c.Code, c.Says)
				if after := state(t, dir); !maps.Equal(before, after) {
					t.Errorf("refused, and yet %v became %v", before, after)
				}
				if len(undo.List()) > 0 {
					t.Error("refused, and yet something was kept")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.Code != "" || len(c.Says) > 0 {
				t.Error("the row says nothing that can be tested")
			}
			wantTree(t, dir, c.Want)
			notes := strings.Join(r.Files[0].Notes, "; ")
			for _, n := range c.Notes {
				if !strings.Contains(notes, n) {
					t.Errorf("notes %q without %q", notes, n)
				}
			}
			if len(c.Notes) == 0 && notes != "" {
				t.Errorf("notes %q", notes)
			}
			if got := summary(r, dir); c.Summary != "" && got != c.Summary {
				t.Errorf("summary %q, want %q", got, c.Summary)
			}
			for _, f := range r.Files {
				if b, err := os.ReadFile(f.Path); err == nil && hashOf(b) != f.Hash && !f.Link {
					t.Errorf("%s has not the hash that was told", f.Path)
				}
			}
			if len(undo.List()) == 0 {
				if c.Summary != "= "+r.Files[0].Name {
					t.Error("nothing was kept")
				}
				return
			}
			if _, err := undo.restoreGroup(r.UndoID, undo.group(r.UndoID), false, nil); err != nil {
				t.Fatal(err)
			}
			wantTree(t, dir, c.Files)
		})
	}
	fmt.Printf("patch cases: %d, of which %d are refused\n", len(list), refused)
	if len(list) < 150 || refused < 70 {
		t.Errorf("only %d rows, %d of them refused", len(list), refused)
	}
}

// state gives all that a refused patch must leave as it is.
func state(t *testing.T, dir string) map[string]string {
	t.Helper()
	s := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		s[path] = st.Mode().String()
		if !d.IsDir() {
			s[path] += fmt.Sprint(st.Size(), st.ModTime().UnixNano())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(s, tree(t, dir))
	return s
}

func summary(r PatchResult, dir string) string {
	var list []string
	rel := func(path string) string { return strings.TrimPrefix(path, dir+"/") }
	for _, f := range r.Files {
		s := map[Action]string{AddFile: "A ", UpdateFile: "M ", DeleteFile: "D "}[f.Action] + rel(f.Path)
		switch {
		case f.Unchanged:
			s = "= " + rel(f.Path)
		case f.From != "":
			s = "R " + rel(f.From) + " → " + rel(f.Path)
		}
		if f.Executable != nil {
			s += map[bool]string{true: " +x", false: " -x"}[*f.Executable]
		}
		list = append(list, s)
	}
	slices.SortStableFunc(list, func(a, b string) int { return strings.Index("AMRD=", a[:1]) - strings.Index("AMRD=", b[:1]) })
	return strings.Join(list, ", ")
}
