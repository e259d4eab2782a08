package tool

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"handrail/core/client"
	"handrail/core/edit"
	"handrail/sandbox"
)

// ListFilesInput is what list_files takes.
type ListFilesInput struct {
	Path   *string `json:"path,omitempty" jsonschema:"the folder; default: the workspace"`
	Offset *whole  `json:"offset,omitempty" jsonschema:"entries to leave out at the beginning"`
	Limit  *whole  `json:"limit,omitempty" jsonschema:"most entries to give, default 1000"`
}

// ListFilesOutput is the content of a folder.
type ListFilesOutput struct {
	Path    string      `json:"path"`
	Entries []FileEntry `json:"entries"`
	Total   int         `json:"total" jsonschema:"entries in the folder"`
	Closed  int         `json:"closed,omitempty" jsonschema:"entries left out since they are closed to assistants"`
}

// FileEntry is one entry of a folder.
type FileEntry struct {
	Name     string `json:"name"`
	Kind     string `json:"kind" jsonschema:"file, folder, link or other"`
	Size     int64  `json:"size,omitempty"`
	Modified string `json:"modified,omitempty"`
	Target   string `json:"target,omitempty" jsonschema:"where a link points"`
}

var listFilesTool = define[ListFilesInput, ListFilesOutput](Tool{
	Name: "list_files", Title: "List a folder", ReadOnly: true, Idempotent: true,
	Levels:      []client.Level{client.Look, client.Ask, client.Trusted},
	Description: "List the files in a folder, without those in its subfolders.",
}, func(ctx context.Context, g *Gate, c *Call, in ListFilesInput) (plan, error) {
	path := value(in.Path, ".")
	p := plan{text: path}
	at, err := g.locate(path, g.Workspace, true)
	p.done = at.close
	if err != nil {
		return p, err
	}
	p.effects = []effect{{kind: read, place: at}}
	p.run = func(context.Context) (answer, error) {
		list, total, err := edit.List(at.dir, at.name, int(value(in.Offset, 0)), int(value(in.Limit, 0)), true)
		if err != nil {
			return answer{}, err
		}
		r, err := g.room(c.Session)
		if err != nil {
			return answer{}, err
		}
		out := ListFilesOutput{Path: at.real, Total: total, Entries: []FileEntry{}}
		decide := r.Policy.Decider()
		var b strings.Builder
		for _, l := range list {
			closed := !decide(sandbox.Read, filepath.Join(at.real, l.Name)).Allowed
			if to := l.Target; to != "" {
				if !filepath.IsAbs(to) {
					to = filepath.Join(at.real, to)
				}
				closed = closed || decide(sandbox.Read, filepath.Clean(to)).Closed
			}
			if closed {
				out.Closed++
				continue
			}
			out.Entries = append(out.Entries, FileEntry{l.Name, l.Kind, l.Size, l.Modified.UTC().Format(time.RFC3339), l.Target})
			switch l.Kind {
			case "folder":
				fmt.Fprintf(&b, "%s/\n", l.Name)
			case "link":
				fmt.Fprintf(&b, "%s -> %s\n", l.Name, l.Target)
			default:
				fmt.Fprintf(&b, "%s\t%d\n", l.Name, l.Size)
			}
		}
		switch {
		case total == 0:
			b.WriteString("[the folder is empty]")
		case out.Closed > 0 || len(list) < total:
			fmt.Fprintf(&b, "[%d of %d entries", len(out.Entries), total)
			if out.Closed > 0 {
				fmt.Fprintf(&b, "; %d closed to assistants", out.Closed)
			}
			if next := int(max(value(in.Offset, 0), 0)) + len(list); next < total && len(list) > 0 {
				fmt.Fprintf(&b, "; go on with offset %d", next)
			}
			b.WriteString("]")
		}
		return answer{strings.TrimSuffix(b.String(), "\n"), out}, nil
	}
	return p, nil
})
