package tool

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"handrail/core/client"
	"handrail/core/credential"
	"handrail/core/hint"
	"handrail/core/search"
)

// Searcher is what rag_search looks in.
type Searcher interface {
	// Find looks in the index of the folders that the person chose; a status without folders says that there are none.
	Find(context.Context, search.Query) ([]search.Hit, search.Status, error)
	// Read looks in files that something else found in a folder without an index: see search.Read.
	Read(ctx context.Context, q search.Query, in search.Place, files []string) ([]search.Hit, error)
	// Chosen gives those folders, and Choose adds some, by absolute paths without links.
	Chosen() ([]string, error)
	Choose(folders []string) error
}

// RagSearchInput is what rag_search takes.
type RagSearchInput struct {
	Query  string    `json:"query" jsonschema:"what to look for, in any language: words, or the person's whole question; \"in quotes\" stands together"`
	Folder *string   `json:"folder,omitempty" jsonschema:"only files in this folder"`
	Types  *[]string `json:"types,omitempty" jsonschema:"only files whose names end like this, such as pdf or md"`
	After  *string   `json:"after,omitempty" jsonschema:"only files changed on this day or later, such as 2026-01-31"`
	Before *string   `json:"before,omitempty" jsonschema:"only files changed before this day"`
	Limit  *whole    `json:"limit,omitempty" jsonschema:"most files to give, 1 to 50; default 10"`
}

// RagSearchOutput is what was found.
type RagSearchOutput struct {
	Hits      []SearchHit `json:"hits"`
	Folders   []string    `json:"folders" jsonschema:"the folders that are searched, of those this client may read"`
	Closed    []string    `json:"closed,omitempty" jsonschema:"the others: request_access with level look opens one"`
	Spotlight []string    `json:"spotlight,omitempty" jsonschema:"folders without an index, in which macOS's own index was asked"`
	Reading   bool        `json:"reading,omitempty" jsonschema:"files are still being read, so something may be missing"`
	LeftOut   int         `json:"left_out,omitempty" jsonschema:"files left out since what looks like a credential stands at or near the passage"`
}

// SearchHit is a file and its best passage.
type SearchHit struct {
	Path     string  `json:"path"`
	Line     int     `json:"line,omitempty" jsonschema:"of the text's first line"`
	Page     int     `json:"page,omitempty" jsonschema:"of a document"`
	Text     string  `json:"text"`
	Score    float64 `json:"score" jsonschema:"higher is better"`
	Modified string  `json:"modified"`
	FoundBy  string  `json:"found_by,omitempty" jsonschema:"spotlight: macOS's own index named the file; its score compares with those of other such hits alone"`
}

var ragSearchTool = define[RagSearchInput, RagSearchOutput](Tool{
	Name: "rag_search", Title: "Search the person's files", ReadOnly: true, Idempotent: true,
	Levels: []client.Level{client.Look, client.Ask, client.Trusted},
	Description: "Find files by what is in them: texts, source, PDF, Word, Excel, PowerPoint, EPUB, RTF. It gives the best passage of each. Use it first when the person asks about their files; " +
		"use bash after it, if it found nothing or to count and list, since passages prove no completeness. It covers the folders that the person chose, as far as you may read them; if they chose none, the first search asks them.",
}, func(ctx context.Context, g *Gate, c *Call, in RagSearchInput) (plan, error) {
	p := plan{text: in.Query}
	if len(search.Words(in.Query)) == 0 {
		return p, hint.New("bad_arguments", "the query holds no word to look for").Then("write the words that the file would hold")
	}
	q := search.Query{Text: in.Query, Limit: int(value(in.Limit, 10))}
	if q.Limit < 1 || q.Limit > 50 {
		return p, hint.New("bad_arguments", fmt.Sprintf("limit is %d", q.Limit)).Because("it must be 1 to 50")
	}
	for _, t := range value(in.Types, nil) {
		q.Kinds = append(q.Kinds, strings.ToLower(strings.TrimLeft(t, "*.")))
	}
	for name, day := range map[string]struct {
		text *string
		to   *time.Time
	}{"after": {in.After, &q.After}, "before": {in.Before, &q.Before}} {
		if day.text == nil {
			continue
		}
		var err error
		if *day.to, err = time.ParseInLocation(time.DateOnly, *day.text, time.Local); err != nil {
			return p, hint.New("bad_arguments", fmt.Sprintf("%s is %q", name, *day.text)).Because("it must be a day, such as 2026-01-31")
		}
	}
	if in.Folder != nil {
		at, err := g.locate(*in.Folder, g.Workspace, true)
		p.done = at.close
		if err != nil {
			return p, err
		}
		if at.info == nil {
			return p, hint.New("not_found", fmt.Sprintf("%q isn't there", *in.Folder)).Then("name a folder that is, or leave folder out")
		}
		p.effects = []effect{{kind: read, place: at}}
		q.Folder = at.real
	}
	if g.offers(c.Session) {
		p.effects = append(p.effects, effect{kind: choose})
	}
	p.run = func(ctx context.Context) (answer, error) { return g.search(ctx, c, q) }
	return p, nil
})

func (g *Gate) search(ctx context.Context, c *Call, q search.Query) (answer, error) {
	r, err := g.room(c.Session) // with what was granted just now
	if err != nil {
		return answer{}, err
	}
	q.Readable = r.readable()
	hits, status, err := g.Search.Find(ctx, q)
	if errors.Is(err, context.DeadlineExceeded) {
		return answer{}, hint.New("too_slow", "the search was stopped").Because("it took too long").Then("look for fewer or rarer words, or name a folder")
	}
	if err != nil {
		return answer{}, err
	}
	more, spotlight := g.spotlight(ctx, c, r, q, status)
	if len(status.Folders) == 0 && len(spotlight) == 0 {
		asked, _ := g.askedToSearch(c.Session)
		return answer{}, noIndex(asked)
	}
	out := RagSearchOutput{Hits: []SearchHit{}, Folders: []string{}, Spotlight: spotlight, Reading: status.Busy || status.Waiting > 0}
	for _, f := range status.Folders {
		// A folder is named if something in it may be read: itself, or what was granted inside it.
		if q.Readable(f.Path) || q.Readable(filepath.Join(f.Path, "x")) {
			out.Folders = append(out.Folders, f.Path)
		} else {
			out.Closed = append(out.Closed, f.Path)
		}
	}
	var b strings.Builder
	show := func(h search.Hit, by string) {
		if _, secret := credential.Find([]byte(h.Around)); secret {
			out.LeftOut++
			return
		}
		out.Hits = append(out.Hits, SearchHit{h.Path, h.Line, h.Page, h.Text, h.Score, h.Modified.UTC().Format(time.RFC3339), by})
		b.WriteString(h.Path)
		if h.Line > 0 {
			fmt.Fprintf(&b, ":%d", h.Line)
		}
		if h.Page > 0 {
			fmt.Fprintf(&b, " (page %d)", h.Page)
		}
		if by != "" {
			b.WriteString(" (found by Spotlight)")
		}
		b.WriteString("\n")
		if h.Text != "" {
			b.WriteString("    " + strings.ReplaceAll(h.Text, "\n", "\n    ") + "\n")
		}
	}
	for _, h := range hits {
		show(h, "")
	}
	for _, h := range more {
		if len(out.Hits) < q.Limit && !slices.ContainsFunc(hits, func(o search.Hit) bool { return o.Path == h.Path }) {
			show(h, "spotlight")
		}
	}
	if len(out.Hits) == 0 {
		b.WriteString("[nothing was found]\n")
	}
	if out.LeftOut > 0 {
		fmt.Fprintf(&b, "[left out: %d, since what looks like a credential stands there]\n", out.LeftOut)
	}
	if out.Reading {
		b.WriteString("[files are still being read, so something may be missing: search again in a few seconds]\n")
	}
	if len(out.Spotlight) > 0 {
		fmt.Fprintf(&b, "[without an index, so that Spotlight was asked: %s]\n", strings.Join(out.Spotlight, ", "))
	}
	if len(out.Closed) > 0 {
		fmt.Fprintf(&b, "[not looked at, since you may not read it: %s; request_access with level look asks for it]\n", strings.Join(out.Closed, ", "))
	}
	return answer{strings.TrimSuffix(b.String(), "\n"), out}, nil
}
