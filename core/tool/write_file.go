package tool

import (
	"context"
	"fmt"
	"path/filepath"

	"handrail/core/client"
	"handrail/core/edit"
	"handrail/core/hint"
)

// WriteFileInput is what write_file takes.
type WriteFileInput struct {
	Path      string  `json:"path" jsonschema:"the file to write; folders that are missing are made"`
	Content   string  `json:"content" jsonschema:"all of its text"`
	Overwrite *bool   `json:"overwrite,omitempty" jsonschema:"replace a file that exists"`
	BaseHash  *string `json:"base_hash,omitempty" jsonschema:"with overwrite: sha256 from read_file; refuse if the file has changed since"`
	Literal   *bool   `json:"allow_placeholder,omitempty" jsonschema:"write text such as '... existing code ...' as it is"`
	Phrase    *string `json:"grant_phrase,omitempty" jsonschema:"only the phrase from a permission_required answer, after the person said yes"`
}

var writeFileTool = define[WriteFileInput, EditOutput](Tool{
	Name: "write_file", Title: "Write a file", Destructive: true, Idempotent: true,
	Levels: []client.Level{client.Ask, client.Trusted},
	Description: "Make a text file, or with overwrite=true replace one. The person is asked the first time in each folder. To change a part of a file use edit. " +
		"A file outside the workspace is never replaced itself: a working copy beside it is (name.edited.ext), which the result names.",
}, func(ctx context.Context, g *Gate, c *Call, in WriteFileInput) (plan, error) {
	p := plan{text: in.Path}
	at, err := g.locate(in.Path, g.Workspace, false)
	p.done = at.close
	if err != nil {
		return p, err
	}
	if at.isDir() || filepath.Base(in.Path) == "." {
		return p, hint.New("not_regular", fmt.Sprintf("%q is a folder", in.Path)).Then("give the path of a file in it")
	}
	// Said before the person is asked for something that would fail anyway.
	if at.info != nil && !value(in.Overwrite, false) {
		return p, hint.New("exists", fmt.Sprintf("%q exists", in.Path)).Then("pass overwrite=true to replace all of it, or use edit to change a part")
	}
	o := edit.Options{NoLinks: true, Overwrite: value(in.Overwrite, false), BaseHash: value(in.BaseHash, ""), AllowPlaceholder: value(in.Literal, false), Undo: g.Undo,
		By: c.by(short(in.Path))}
	p.effects, p.run = g.change(at, value(in.Phrase, ""), o, func(outside bool, o edit.Options) (edit.Result, error) {
		if outside {
			return edit.WriteCopy(at.dir, at.name, in.Content, o)
		}
		return edit.Write(at.dir, at.name, in.Content, o)
	}, c)
	return p, nil
})
