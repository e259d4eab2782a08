package tool

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"handrail/core/client"
	"handrail/core/command"
	"handrail/core/edit"
	"handrail/core/grant"
	"handrail/core/hint"
	"handrail/sandbox"
)

// ApplyPatchInput is what apply_patch takes.
type ApplyPatchInput struct {
	Input  string  `json:"input" jsonschema:"the patch"`
	Phrase *string `json:"grant_phrase,omitempty" jsonschema:"see edit"`
}

// ApplyPatchOutput says what a patch did.
type ApplyPatchOutput struct {
	Files     []PatchedFile `json:"files"`
	Notes     []string      `json:"notes,omitempty"`
	RunsLater []string      `json:"runs_later,omitempty" jsonschema:"something else runs these later; tell the person what they would run"`
}

// PatchedFile says what a patch did to one file.
type PatchedFile struct {
	Path        string `json:"path"`
	How         string `json:"how" jsonschema:"added, modified, renamed (from), deleted or unchanged"`
	From        string `json:"from,omitempty"`
	Added       int    `json:"lines_added"`
	Removed     int    `json:"lines_removed"`
	SHA256      string `json:"sha256,omitempty"`
	SyntaxError string `json:"syntax_error,omitempty"`
}

var applyPatchTool = define[ApplyPatchInput, ApplyPatchOutput](Tool{
	Name: "apply_patch", Title: "Change several files", Destructive: true,
	Levels: []client.Level{client.Ask, client.Trusted},
	Description: "Add, update, rename and delete files in the workspace, all or nothing, by a patch from '*** Begin Patch' to '*** End Patch' or the output of git diff. " +
		"Headers: '*** Add File: ', '*** Update File: ' (then '*** Move to: ' to rename), '*** Delete File: '. Hunks: @@, then lines with ' ', '-' or '+' in front; " +
		"old lines must stand in one place alone. The person is asked once for all folders that need it.",
}, func(ctx context.Context, g *Gate, c *Call, in ApplyPatchInput) (plan, error) {
	var p plan
	patch, err := edit.ParsePatch(in.Input)
	if err != nil {
		return p, err
	}
	t := touched{}
	p.done = t.close
	var names []string
	for _, f := range patch.Files {
		names = append(names, f.Paths()...)
		if err := t.locate(g, c, f); err != nil {
			p.text = patchText(names)
			return p, err
		}
	}
	p.text = patchText(names)
	for _, f := range patch.Files {
		for _, path := range f.Paths() {
			removes := path == f.Path && (f.Action == edit.DeleteFile || f.To != "")
			p.effects = append(p.effects, effect{kind: write, place: t[path], removes: removes, phrase: value(in.Phrase, "")})
		}
	}
	o := edit.Options{NoLinks: true, Undo: g.Undo, By: c.by(short(p.text))}
	p.diff = func() (string, int, error) {
		dry := o
		dry.DryRun, dry.Undo = true, nil
		r, err := edit.ApplyPatch(patch, t.at, dry)
		if err != nil {
			return "", 0, err
		}
		o.Digest = r.Digest
		return g.patchDiff(r), len(r.Files), nil
	}
	asked := make(map[*place]bool)
	for _, at := range t {
		_, asked[at] = sandbox.ProtectedAt(at.real)
	}
	p.run = func(ctx context.Context) (answer, error) {
		r, err := edit.ApplyPatch(patch, t.at, o)
		if err != nil {
			t.unmake(g)
			return answer{}, err
		}
		for _, f := range patch.Files {
			if at := t[cmp.Or(f.To, f.Path)]; f.Action != edit.DeleteFile && !asked[at] {
				if err := at.stays(); err != nil {
					return answer{}, err
				}
			}
		}
		return g.patched(ctx, c, t, r), nil
	}
	return p, nil
})

// noPatch refuses a script that is a patch, or only hands one to apply_patch as if it were a program: a shell would run
// the name that *** stands for, or find no such program.
func noPatch(script string) error {
	if _, _, ok := command.PatchIn(script); !ok && !strings.HasPrefix(strings.TrimSpace(script), "*** Begin Patch") {
		return nil
	}
	return hint.New("not_a_command", "the script is a patch").Because("apply_patch is a tool here, not a program; nothing was run").
		Then("call the tool apply_patch with the patch as input; paths in it begin at the workspace")
}

// touched are the places of a patch, by its paths as they are written.
type touched map[string]*place

func (t touched) close() {
	for _, p := range t {
		p.close()
	}
}

// at gives where a path leads. It is asked only for paths that were located.
func (t touched) at(path string) (edit.At, error) {
	p := t[path]
	return edit.At{Root: p.dir, Name: p.name}, nil
}

// locate finds the places of a file. What is removed is the name itself, not what a link leads to.
func (t touched) locate(g *Gate, c *Call, f edit.FilePatch) error {
	for _, path := range f.Paths() {
		if t[path] != nil {
			return hint.New("bad_patch", fmt.Sprintf("multiple operations target %q", path)).Then("put all changes of a file under one header")
		}
		named := g.mention(path)
		var at *place
		var err error
		if removes := path == f.Path && (f.Action == edit.DeleteFile || f.To != ""); removes {
			at, err = g.locateEntry(named, g.Workspace)
		} else {
			at, err = g.locate(named, g.Workspace, false)
		}
		if err != nil {
			return err
		}
		t[path] = at
		switch {
		case at.unit.Outside && !g.covers(c.Session, grant.Edit, at):
			return hint.New("denied", fmt.Sprintf("%q is outside the workspace", path)).
				Because("a patch changes files in the workspace, " + g.Workspace + ", and in folders that have joined it").
				Then("use edit, which makes a working copy beside the file; or request_access with level edit for its folder")
		case at.isDir() || at.real == g.Workspace:
			return hint.New("not_regular", fmt.Sprintf("%q is a folder", path)).Then("give the path of a file in it")
		case f.To != "" && path == f.Path && at.info != nil && at.info.Mode()&fs.ModeSymlink != 0:
			return hint.New("is_link", fmt.Sprintf("%q is a link", path)).Because("a link can't be renamed by a patch").Then("rename the file that it leads to")
		}
	}
	return nil
}

// mention drops the @ that some models put before a path to mention a file, unless a name there begins with it.
func (g *Gate) mention(path string) string {
	rest, ok := strings.CutPrefix(path, "@")
	if !ok || rest == "" {
		return path
	}
	first, _, _ := strings.Cut(path, "/")
	if _, err := os.Lstat(filepath.Join(g.Workspace, first)); err == nil {
		return path
	}
	return rest
}

// unmake takes away the folders that were made for a patch that then failed.
func (t touched) unmake(g *Gate) {
	root, err := os.OpenRoot(g.Workspace)
	if err != nil {
		return
	}
	defer root.Close()
	for _, p := range t {
		if p.made && identity(root) == g.WorkspaceID {
			_ = root.Remove(filepath.Base(p.unit.Folder)) // fails where something is in it
		}
	}
}

// patchText is a patch in one line.
func patchText(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return fmt.Sprintf("%d files: %s", len(names), strings.Join(first(names, mostNamed), ", ")+more(len(names)-mostNamed))
}

// hows tells what a patch does to a file, by a letter and a word.
var patchHows = []struct{ letter, word string }{{"A", "added"}, {"M", "modified"}, {"R", "renamed"}, {"D", "deleted"}, {"=", "unchanged"}}

func patchHow(f edit.PatchedFile) int {
	switch {
	case f.Unchanged:
		return 4
	case f.From != "":
		return 2
	case f.Action == edit.AddFile:
		return 0
	case f.Action == edit.DeleteFile:
		return 3
	}
	return 1
}

// patchLine names a file and what happens to it.
func (g *Gate) patchLine(f edit.PatchedFile) string {
	line := patchHows[patchHow(f)].letter + " "
	if f.From != "" {
		line += g.near(f.From) + " -> "
	}
	line += g.near(f.Path)
	if f.Link {
		line += " (a link)"
	}
	if f.Executable != nil && *f.Executable {
		line += " (becomes executable)"
	} else if f.Executable != nil {
		line += " (no longer executable)"
	}
	return line
}

// patchDiff is what the question shows.
func (g *Gate) patchDiff(r edit.PatchResult) string {
	var b strings.Builder
	for i, f := range r.Files {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s\n%s", g.patchLine(f), f.Whole)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// patched tells what a patch did.
func (g *Gate) patched(ctx context.Context, c *Call, t touched, r edit.PatchResult) answer {
	var out ApplyPatchOutput
	files := slices.Clone(r.Files)
	slices.SortStableFunc(files, func(a, b edit.PatchedFile) int { return patchHow(a) - patchHow(b) })
	var b, tail strings.Builder
	if slices.ContainsFunc(files, func(f edit.PatchedFile) bool { return !f.Unchanged }) {
		b.WriteString("Success. Updated the following files:")
	}
	checked := 0
	for _, f := range files {
		x := PatchedFile{Path: f.Path, How: patchHows[patchHow(f)].word, From: f.From, Added: f.Added, Removed: f.Removed, SHA256: f.Hash}
		if f.Unchanged {
			fmt.Fprintf(&tail, "\nNo changes made to %s.", g.near(f.Path))
		} else {
			b.WriteString("\n" + g.patchLine(f))
			g.written(f.Path)
		}
		for _, n := range f.Notes {
			out.Notes = append(out.Notes, g.near(f.Path)+": "+n)
		}
		if f.Action != edit.DeleteFile && !f.Unchanged {
			if g.editRunsLater(f.Path, f.Result) {
				out.RunsLater = append(out.RunsLater, f.Path)
			}
			if strings.HasSuffix(f.Path, ".py") && checked < mostNamed {
				checked++
				switch problem, ok := g.python(ctx, c, f.Text); {
				case problem != "":
					x.SyntaxError = problem
					fmt.Fprintf(&tail, "\n⚠ %s: %s", g.near(f.Path), problem)
				case ok:
					fmt.Fprintf(&tail, "\n✓ Python syntax of %s", g.near(f.Path))
				}
			}
		}
		out.Files = append(out.Files, x)
	}
	for _, p := range t {
		out.Notes = append(out.Notes, p.notes...)
	}
	slices.Sort(out.Notes)
	for _, n := range first(out.Notes, mostChanged) {
		tail.WriteString("\n" + n)
	}
	c.undoable(r.UndoID)
	c.runsLater = out.RunsLater
	tail.WriteString(g.runsLater(out.RunsLater))
	return answer{strings.TrimPrefix(b.String()+tail.String(), "\n"), out}
}
