package tool

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"handrail/core/grant"
	"handrail/core/job"
	"handrail/core/search"
	"handrail/sandbox"
)

// What Spotlight may take for one search: time in each folder, folders, and files that are looked at.
const (
	spotlightTime    = 5 * time.Second
	spotlightFolders = 4
	spotlightFiles   = 500
)

// spotlight looks by macOS's own index in the folders that the session may read and that have no index yet, or none that was read to
// its end. It gives the folders that it looked in, and hits made by reading the files that it named: what the system's index knows of others
// stays there. Once the person has said no to searching, it isn't asked in place of the folders that they refused.
func (g *Gate) spotlight(ctx context.Context, c *Call, r Room, q search.Query, status search.Status) (hits []search.Hit, looked []string) {
	program := cmp.Or(g.testOnlySpotlight, mdfind)
	words := search.Words(q.Text)
	if _, refused := g.askedToSearch(c.Session); program == "" || len(words) == 0 || refused && len(status.Folders) == 0 {
		return nil, nil
	}
	for _, h := range g.searchable(c.Session, r) {
		in := h.Folder
		if q.Folder != "" {
			switch {
			case grant.Within(h.Folder, q.Folder):
				in = q.Folder
			case !grant.Within(q.Folder, h.Folder):
				continue
			}
		}
		indexed := slices.ContainsFunc(status.Folders, func(f search.FolderStatus) bool { return f.Err == "" && grant.Within(f.Path, in) })
		if indexed && !status.Busy || len(looked) == spotlightFolders {
			continue
		}
		var more []search.Hit
		files, err := g.named(ctx, c, r, program, in, words)
		if err == nil {
			more, err = g.Search.Read(ctx, q, search.Place{Path: h.Folder, Device: h.ID.Device, Inode: h.ID.Inode}, files)
		}
		if err != nil {
			g.Log.Warn("Spotlight doesn't fill in", "folder", in, "error", err)
			continue
		}
		looked, hits = append(looked, in), append(hits, more...)
	}
	slices.SortStableFunc(hits, func(a, b search.Hit) int { return cmp.Compare(b.Score, a.Score) })
	return hits, looked
}

// named gives the files in a folder that the system's index names for all of the words, or, if there are none, for any. It runs under the
// readonly profile, as at the level look: what it is asked is made of words and of a folder that the session may read.
func (g *Gate) named(ctx context.Context, c *Call, r Room, program, folder string, words []string) (files []string, err error) {
	for _, join := range []string{" && ", " || "} {
		j, err := g.Jobs.Start(job.Spec{Session: c.Session.ID, Tool: c.Tool.Name, Text: "asking Spotlight", Argv: []string{program, "-0", "-onlyin", folder, spotlightQuery(words, join)},
			Dir: folder, Env: r.Env, Policy: r.Policy.Reading().CloseSensitive().AllowSpotlight(), Timeout: cmp.Or(g.testOnlySlow, spotlightTime)})
		if err != nil {
			return nil, err
		}
		select {
		case <-j.Done():
		case <-ctx.Done():
			j.Stop(job.Cancelled)
			<-j.Done()
		}
		end := j.Result()
		if end.Err != nil || end.ExitCode != 0 || end.Stopped != "" {
			return nil, cmp.Or(end.Err, fmt.Errorf("%s ended with status %d %s: %.200q", filepath.Base(program), end.ExitCode, end.Stopped, j.Output.Stream(job.Stderr).Head))
		}
		out := j.Output.Stream(job.Stdout).Head
		for len(files) < spotlightFiles {
			name, rest, whole := bytes.Cut(out, []byte{0})
			if !whole { // what is cut off is no name
				break
			}
			if path := string(name); grant.Within(folder, path) && filepath.Clean(path) == path {
				files = append(files, path)
			}
			out = rest
		}
		if len(files) > 0 || len(words) == 1 {
			break
		}
	}
	return files, nil
}

// spotlightQuery asks for words at the beginning of words of a file's text or anywhere in its name, whatever case and accents they have
// (Apple's File Metadata Query Expression Syntax). Words hold no character that means something there.
func spotlightQuery(words []string, join string) string {
	var parts []string
	for _, w := range words {
		if strings.ContainsAny(w, `"\*?`) {
			continue
		}
		parts = append(parts, `(kMDItemTextContent == "`+w+`*"cd || kMDItemFSName == "*`+w+`*"cd)`)
	}
	return strings.Join(parts, join)
}

// readable reports what a session may be shown of.
func (r Room) readable() func(path string) bool {
	decide := r.Policy.CloseSensitive().Decider()
	return func(path string) bool {
		_, sensitive := sandbox.Sensitive(path)
		return !sensitive && decide(sandbox.Read, path).Allowed
	}
}
