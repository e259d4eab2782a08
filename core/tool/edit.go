package tool

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"handrail/core/client"
	"handrail/core/edit"
	"handrail/core/grant"
	"handrail/core/hint"
	"handrail/sandbox"
)

// EditInput is what edit takes.
type EditInput struct {
	Path string `json:"path" jsonschema:"the file to change"`
	HunkInput
	Edits    []HunkInput `json:"edits,omitempty" jsonschema:"several changes of this file, all or nothing; each counts lines after the ones before it, so go from the bottom up"`
	BaseHash *string     `json:"base_hash,omitempty" jsonschema:"sha256 from read_file: refuse if the file has changed since"`
	DryRun   *bool       `json:"dry_run,omitempty" jsonschema:"only say what would change"`
	Literal  *bool       `json:"allow_placeholder,omitempty" jsonschema:"write text such as '... existing code ...' as it is"`
	Phrase   *string     `json:"grant_phrase,omitempty" jsonschema:"only the phrase from a permission_required answer, after the person said yes"`
}

// HunkInput is one change: by string or by line.
type HunkInput struct {
	OldString            *string `json:"old_string,omitempty" jsonschema:"text to replace, exactly as it stands in the file; must occur once unless replace_all or near_line is given"`
	NewString            *string `json:"new_string,omitempty" jsonschema:"the new text; empty deletes"`
	ReplaceAll           *bool   `json:"replace_all,omitempty" jsonschema:"replace every occurrence"`
	NearLine             *whole  `json:"near_line,omitempty" jsonschema:"of several occurrences, take the one nearest this line"`
	ExpectedReplacements *whole  `json:"expected_replacements,omitempty" jsonschema:"replace every occurrence, if there are exactly so many"`
	LineStart            *whole  `json:"line_start,omitempty" jsonschema:"instead of old_string: first line to replace, from 1; without line_end new_string is inserted after this line (0: before the first)"`
	LineEnd              *whole  `json:"line_end,omitempty" jsonschema:"last line to replace"`
}

// EditOutput says what was changed.
type EditOutput struct {
	Path        string   `json:"path" jsonschema:"the file that was changed"`
	CopyOf      string   `json:"copy_of,omitempty" jsonschema:"path is a working copy of this file, which was not changed"`
	Created     bool     `json:"created,omitempty"`
	DryRun      bool     `json:"dry_run,omitempty"`
	Replaced    int      `json:"replaced" jsonschema:"places that were changed"`
	Added       int      `json:"lines_added"`
	Removed     int      `json:"lines_removed"`
	Lines       [][2]int `json:"lines,omitempty" jsonschema:"changed lines in the new text, as [first, last]"`
	Diff        string   `json:"diff,omitempty"`
	DiffCut     bool     `json:"diff_cut,omitempty"`
	SHA256      string   `json:"sha256" jsonschema:"of the new content; pass it as base_hash"`
	Encoding    string   `json:"encoding,omitempty"`
	LineEnds    string   `json:"line_ends,omitempty"`
	Notes       []string `json:"notes,omitempty"`
	SyntaxError string   `json:"syntax_error,omitempty" jsonschema:"for .py files: what Python says; the edit stays"`
	RunsLater   bool     `json:"runs_later,omitempty" jsonschema:"something else runs this file later, outside the sandbox; tell the person what they would run"`
}

var editTool = define[EditInput, EditOutput](Tool{
	Name: "edit", Title: "Edit a file", Destructive: true,
	Levels: []client.Level{client.Ask, client.Trusted},
	Description: "Change a file that exists, at a point: replace old_string by new_string, or lines line_start to line_end, or insert after line_start; or several of these in edits, " +
		"all or nothing. The person is asked the first time in each folder. A file outside the workspace is never changed itself: the edit goes to a working copy beside it " +
		"(name.edited.ext), which the result names. Use write_file for new files.",
}, func(ctx context.Context, g *Gate, c *Call, in EditInput) (plan, error) {
	p := plan{text: in.Path}
	hunks, err := in.hunks()
	if err != nil {
		return p, err
	}
	at, err := g.locate(in.Path, g.Workspace, false)
	p.done = at.close
	if err != nil {
		return p, err
	}
	if at.isDir() {
		return p, hint.New("not_regular", fmt.Sprintf("%q is a folder", in.Path)).Then("give the path of a file in it")
	}
	o := edit.Options{NoLinks: true, BaseHash: value(in.BaseHash, ""), DryRun: value(in.DryRun, false), AllowPlaceholder: value(in.Literal, false), Undo: g.Undo,
		By: c.by(short(in.Path))}
	p.effects, p.run = g.change(at, value(in.Phrase, ""), o, func(outside bool, o edit.Options) (edit.Result, error) {
		if outside {
			return edit.EditCopy(at.dir, at.name, hunks, o)
		}
		return edit.Edit(at.dir, at.name, hunks, o)
	}, c)
	return p, nil
})

// hunks are the changes that were asked for: one in the fields themselves, or those in edits.
func (in EditInput) hunks() ([]edit.Hunk, error) {
	if in.Edits == nil {
		return []edit.Hunk{in.HunkInput.hunk()}, nil
	}
	if in.HunkInput != (HunkInput{}) {
		return nil, hint.New("bad_hunk", "edits was given together with a change of its own").Then("put every change into edits")
	}
	hunks := make([]edit.Hunk, len(in.Edits))
	for i, h := range in.Edits {
		hunks[i] = h.hunk()
	}
	return hunks, nil
}

func (h HunkInput) hunk() edit.Hunk {
	return edit.Hunk{OldString: h.OldString, NewString: h.NewString, ReplaceAll: value(h.ReplaceAll, false), NearLine: (*int)(h.NearLine),
		ExpectedReplacements: (*int)(h.ExpectedReplacements), LineStart: (*int)(h.LineStart), LineEnd: (*int)(h.LineEnd)}
}

// change is what edit and write_file share: their effects, and running them with the answer that tells what changed.
func (g *Gate) change(at *place, phrase string, o edit.Options, do func(outside bool, o edit.Options) (edit.Result, error), c *Call) ([]effect, func(context.Context) (answer, error)) {
	joined := !at.unit.Outside || g.covers(c.Session, grant.Edit, at)
	dry := o
	dry.DryRun, dry.Undo = true, nil
	e := effect{kind: write, place: at, phrase: phrase, try: func() error { _, err := do(!joined, dry); return err }}
	e.show = func() (string, error) {
		dry.Whole = true
		r, err := do(!joined, dry)
		if err != nil {
			return "", err
		}
		// What is written must be what was shown: the file may not have changed, or come, since.
		if o.BaseHash = r.OldHash; r.Created {
			o.Overwrite = false
		}
		how := "M "
		if r.Created {
			how = "A "
		}
		return fitting(how + g.near(at.real) + "\n" + strings.TrimSuffix(r.Whole, "\n"))
	}
	if !joined {
		e.kind = copies
	}
	effects := []effect{e}
	if o.DryRun {
		effects = []effect{{kind: read, place: at}}
	}
	_, asked := sandbox.ProtectedAt(at.real)
	return effects, func(ctx context.Context) (answer, error) {
		r, err := do(!joined, o)
		if err != nil {
			return answer{}, err
		}
		if joined && !asked && !r.DryRun {
			if err := at.stays(); err != nil {
				return answer{}, err
			}
		}
		return g.changed(ctx, c, at, r), nil
	}
}

// changed tells what an edit did.
func (g *Gate) changed(ctx context.Context, c *Call, at *place, r edit.Result) answer {
	folder := strings.TrimSuffix(at.real, at.name)
	out := EditOutput{Path: filepath.Join(folder, r.Name), Created: r.Created, DryRun: r.DryRun, Replaced: r.Replaced, Added: r.Added, Removed: r.Removed,
		Diff: r.Diff, DiffCut: r.DiffCut, SHA256: r.Hash, Encoding: string(r.Encoding), LineEnds: string(r.LineEnds), Notes: append(at.notes, r.Notes...)}
	for _, l := range r.Lines {
		out.Lines = append(out.Lines, [2]int{l.From, l.To})
	}
	var b strings.Builder
	switch {
	case r.Unchanged:
		fmt.Fprintf(&b, "%s has this content already; nothing was written", out.Path)
	case r.DryRun:
		fmt.Fprintf(&b, "dry run, nothing was written: %s would be changed", out.Path)
	case r.CopyOf != "":
		out.CopyOf = filepath.Join(folder, r.CopyOf)
		fmt.Fprintf(&b, "edited the working copy %s; the original %s is as it was", out.Path, out.CopyOf)
	case r.Created:
		fmt.Fprintf(&b, "made %s", out.Path)
	default:
		fmt.Fprintf(&b, "edited %s", out.Path)
	}
	if !r.Unchanged && !(r.Created && r.CopyOf == "") {
		fmt.Fprintf(&b, " (+%d −%d lines)", r.Added, r.Removed)
	}
	b.WriteString("\n" + r.Diff)
	for _, n := range out.Notes {
		fmt.Fprintf(&b, "\n%s", n)
	}
	if !r.DryRun && !r.Unchanged {
		g.written(out.Path)
		c.undoable(r.UndoID)
	}
	if !r.DryRun && !r.Unchanged && g.editRunsLater(out.Path, r) {
		out.RunsLater, c.runsLater = true, []string{out.Path}
		text := g.runsLater(c.runsLater)
		if strings.HasSuffix(b.String(), "\n") {
			text = strings.TrimPrefix(text, "\n")
		}
		b.WriteString(text)
	}
	if !r.DryRun && strings.HasSuffix(out.Path, ".py") {
		switch problem, checked := g.python(ctx, c, r.Text); {
		case problem != "":
			out.SyntaxError = problem
			fmt.Fprintf(&b, "\n⚠ %s", problem)
		case checked:
			b.WriteString("\n✓ Python syntax")
		}
	}
	return answer{strings.TrimSuffix(b.String(), "\n"), out}
}
