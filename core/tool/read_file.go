package tool

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"handrail/core/client"
	"handrail/core/edit"
)

// ReadFileInput is what read_file takes.
type ReadFileInput struct {
	Path   string `json:"path" jsonschema:"the file to read"`
	Offset *whole `json:"offset,omitempty" jsonschema:"first line, from 1; -10 is the tenth from the end; default 1"`
	Limit  *whole `json:"limit,omitempty" jsonschema:"most lines to read, default 2000"`
}

// ReadFileOutput is a part of a file.
type ReadFileOutput struct {
	Path     string   `json:"path"`
	Text     string   `json:"text"`
	First    int      `json:"first_line" jsonschema:"0 where there is no line"`
	Last     int      `json:"last_line"`
	Lines    int      `json:"lines" jsonschema:"lines of the whole file; -1 if it is too large to count"`
	Next     int      `json:"next,omitempty" jsonschema:"offset to go on from"`
	SHA256   string   `json:"sha256,omitempty" jsonschema:"of the whole file, for base_hash"`
	Size     int64    `json:"size" jsonschema:"bytes"`
	Modified string   `json:"modified"`
	Encoding string   `json:"encoding,omitempty"`
	LineEnds string   `json:"line_ends,omitempty"`
	Notes    []string `json:"notes,omitempty"`
}

var readFileTool = define[ReadFileInput, ReadFileOutput](Tool{
	Name: "read_file", Title: "Read a file", ReadOnly: true, Idempotent: true,
	Levels:      []client.Level{client.Look, client.Ask, client.Trusted},
	Description: "Read lines of a text file. The workspace, granted folders and installed software are open; elsewhere the person is asked. Keys and passwords are closed.",
}, func(ctx context.Context, g *Gate, c *Call, in ReadFileInput) (plan, error) {
	p := plan{text: in.Path}
	at, err := g.locate(in.Path, g.Workspace, false)
	p.done = at.close
	if err != nil {
		return p, err
	}
	p.effects = []effect{{kind: read, place: at}}
	p.run = func(context.Context) (answer, error) {
		r, err := edit.Read(at.dir, at.name, edit.ReadOptions{Offset: int(value(in.Offset, 0)), Limit: int(value(in.Limit, 0)), NoLinks: true})
		if err != nil {
			return answer{}, err
		}
		out := ReadFileOutput{Path: filepath.Join(strings.TrimSuffix(at.real, at.name), r.Name), Text: r.Text, First: r.First, Last: r.Last, Lines: r.Lines, Next: r.Next,
			SHA256: r.Hash, Size: r.Size, Modified: r.Modified.UTC().Format(time.RFC3339), Encoding: string(r.Encoding), LineEnds: string(r.LineEnds), Notes: append(at.notes, r.Notes...)}
		text := r.Text
		var notes []string
		if r.First > 1 || r.Next > 0 {
			notes = append(notes, fmt.Sprintf("lines %d to %d of %s", r.First, r.Last, of(r.Lines)))
		}
		if r.Next > 0 {
			notes = append(notes, fmt.Sprintf("go on with offset %d", r.Next))
		}
		if r.LongLines {
			notes = append(notes, "long lines were cut")
		}
		if notes = append(notes, out.Notes...); len(notes) > 0 {
			text = "[" + strings.Join(notes, "; ") + "]\n" + text
		}
		return answer{text, out}, nil
	}
	return p, nil
})

func of(lines int) string {
	if lines < 0 {
		return "very many"
	}
	return fmt.Sprint(lines)
}
