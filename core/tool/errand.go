package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"handrail/core/broker"
	"handrail/core/command"
	"handrail/core/grant"
	"handrail/core/hint"
)

// errand makes the plan for a script that is exactly one app command, which is done outside the sandbox. ok is
// false for any other script. An error is a refusal; the plan then says what was refused.
func (g *Gate) errand(c *Call, script, dir string) (p plan, ok bool, err error) {
	p.text = script
	analysed := command.Analyse(script, command.Context{Shell: command.Bash, Dir: dir, Home: g.Home.Home})
	e, ok, err := broker.Read(analysed, g.Broker.SystemName())
	if !ok || err != nil {
		return p, ok, err
	}
	switch e.Kind {
	case broker.ReadClipboard:
		p.effects = []effect{{kind: paste}}
	case broker.OpenAddress:
		at, err := g.locate(g.Workspace, g.Workspace, true)
		if p.done = at.close; err != nil {
			return p, true, err
		}
		what := grant.Network
		if e.Loopback {
			what = grant.Loopback
		}
		p.effects = []effect{{kind: errand}, {kind: reach, place: at, way: way{reach: what, host: e.Host, address: e.Address}}}
	case broker.OpenDocument:
		at, err := g.locate(e.Document, dir, false)
		if p.done = at.close; err != nil {
			return p, true, err
		}
		if at.info == nil || !at.info.Mode().IsRegular() {
			return p, true, hint.New("not_found", fmt.Sprintf("there is no document %q", e.Document)).Then("check its path; a folder isn't opened")
		}
		p.effects = []effect{{kind: errand}, {kind: read, place: at}}
		p.run = func(ctx context.Context) (answer, error) {
			path, err := g.document(c, at)
			if err != nil {
				return answer{}, err
			}
			e.Document = path
			return g.do(ctx, e)
		}
		return p, true, nil
	default:
		p.effects = []effect{{kind: errand}}
	}
	if e.Kind == broker.Notify { // so that it can't pass for another's
		e.Title = c.Session.Client.Label() + ": " + e.Title
	}
	p.run = func(ctx context.Context) (answer, error) { return g.do(ctx, e) }
	return p, true, nil
}

// do runs an errand, and answers as the command would.
func (g *Gate) do(ctx context.Context, e broker.Errand) (answer, error) {
	out, err := g.Broker.Do(ctx, e)
	if err != nil {
		return answer{}, err
	}
	s := plainText([]byte(out))
	return answer{s.text, CommandOutput{Stdout: s.text, ExitCode: new(int), InvalidUTF8: s.invalid}}, nil
}

// maxDocument bounds the copy of a document, in bytes.
const maxDocument = 1 << 30

// document gives the path under which a document is opened, once it is checked. A file that commands may change could be another
// one by the time that its app opens it, so what was checked is copied to where only the session's own reader comes, and the copy,
// which can't be changed, is opened. Any other document is opened where it is.
func (g *Gate) document(c *Call, at *place) (string, error) {
	f, err := at.dir.Open(at.name)
	if err != nil {
		return "", notThere(at.given, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", notThere(at.given, err)
	}
	if !os.SameFile(info, at.info) {
		return "", hint.New("changed", fmt.Sprintf("%q changed while it was being opened", at.given)).Then("try again")
	}
	if err := broker.CheckDocument(at.real, f); err != nil {
		return "", err
	}
	r, err := g.room(c.Session)
	if err != nil {
		return "", err
	}
	if !g.openToCommands(r, at.real) {
		return at.real, nil
	}
	if info.Size() > maxDocument {
		return "", hint.New("too_large", fmt.Sprintf("%q is too large to be opened", at.given)).Then("tell the person where it is")
	}
	dir, err := os.MkdirTemp(r.Work, "opened-")
	if err != nil {
		return "", fmt.Errorf("copying a document: %w", err)
	}
	path := filepath.Join(dir, filepath.Base(at.real))
	to, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o400)
	if err != nil {
		return "", fmt.Errorf("copying a document: %w", err)
	}
	_, err = io.Copy(to, io.LimitReader(f, maxDocument))
	if err := errors.Join(err, to.Close()); err != nil {
		return "", fmt.Errorf("copying a document: %w", err)
	}
	// A command may have changed it while it was copied.
	copied, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("copying a document: %w", err)
	}
	defer copied.Close()
	return path, broker.CheckDocument(path, copied)
}

// openToCommands reports whether the commands of any session may change what lies at path. What is a session's own no other
// session reads, so r's is enough.
func (g *Gate) openToCommands(r Room, path string) bool {
	if m := r.Policy.Machine(); grant.Within(m.Temp, path) || m.Caches != "" && grant.Within(m.Caches, path) {
		return true
	}
	for _, held := range g.Grants.All() {
		for _, h := range held {
			if h.Right == grant.Edit && h.Contains(path) {
				return true
			}
		}
	}
	return false
}
