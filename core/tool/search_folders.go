package tool

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"handrail/core/approval"
	"handrail/core/audit"
	"handrail/core/client"
	"handrail/core/grant"
	"handrail/core/hint"
	"handrail/sandbox"
)

// offer is the question of a session in which folders files are to be found: the workspace and what the session was granted. It is
// asked once, while the person has chosen no folder; whatever its outcome, the session asks no more.
type offer struct {
	settled chan struct{}
	by      string
	verdict approval.Verdict
	err     error // what the calls that wait are told
	waited  bool  // a call was told that the person hasn't answered yet: another one comes for the outcome
	told    bool  // a call had the outcome
}

// offers reports whether a search must put or await the question first.
func (g *Gate) offers(s *client.Session) bool {
	if g.NonceSurface || !g.Queue.Asks() {
		return false
	}
	g.mu.Lock()
	o := g.offered[s.ID]
	past := o != nil && closed(o.settled) && o.told
	g.mu.Unlock()
	if past {
		return false
	}
	chosen, err := g.Search.Chosen()
	return err == nil && len(chosen) == 0
}

// askedToSearch reports whether a session's question is over, and whether the person said no.
func (g *Gate) askedToSearch(s *client.Session) (asked, refused bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	o := g.offered[s.ID]
	if o == nil || !closed(o.settled) {
		return false, false
	}
	return true, o.verdict == approval.Refused
}

// offerSearch puts the question, or joins the one that waits, and waits as long as clients do.
func (g *Gate) offerSearch(ctx context.Context, c *Call) (by string, err error) {
	o, cancel, err := g.putOffer(c)
	if err != nil {
		return "", err
	}
	stop := c.keepAlive("Waiting for the person to answer in Handrail")
	timer := time.NewTimer(c.left())
	defer timer.Stop()
	select {
	case <-o.settled:
	case <-timer.C:
	case <-ctx.Done():
	case <-c.gone:
	}
	stop()
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case closed(o.settled):
		o.told = true
		return o.by, o.err
	case ctx.Err() == nil && !closed(c.gone):
		o.waited = true
		return "", notAnswered("")
	}
	if cancel != nil && !o.waited { // nobody knows of it
		cancel(errCallGone)
	}
	return "", errCallGone
}

// putOffer finds the session's question, or asks it; cancel is nil if it was asked before.
func (g *Gate) putOffer(c *Call) (o *offer, cancel context.CancelCauseFunc, err error) {
	r, err := g.searchRequest(c)
	if err != nil {
		return nil, nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if o := g.offered[c.Session.ID]; o != nil {
		return o, nil, nil
	}
	if err := g.append(c, audit.Record{Kind: audit.Question, Call: c.ID, Tool: c.Tool.Name, Text: asked(r), Paths: r.Folders()}); err != nil {
		return nil, nil, err
	}
	o = &offer{settled: make(chan struct{})}
	if g.offered == nil {
		g.offered = make(map[string]*offer)
	}
	g.offered[c.Session.ID] = o
	context.AfterFunc(c.Session.Context(), func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.offered, c.Session.ID)
	})
	ctx, cancel := context.WithCancelCause(c.Session.Context())
	g.telling.Go(func() {
		defer cancel(nil)
		d, err := g.settleOffer(ctx, c, r)
		g.mu.Lock()
		defer g.mu.Unlock()
		o.by, o.verdict, o.err = d.Surface+" on "+strings.Join(r.Folders(), ", "), d.Verdict, err
		close(o.settled)
	})
	return o, cancel, nil
}

// settleOffer waits for the person, and adds the very folders that they allowed.
func (g *Gate) settleOffer(ctx context.Context, c *Call, r approval.Request) (approval.Decision, error) {
	a := g.Queue.Ask(ctx, nil, ctx, c.Session.ID+"\x00"+string(r.Kind), r, approval.Lives)
	d := a.Decision
	if a.Pending != "" { // it lived as long as a question may
		d = approval.Refuse(approval.NoAnswer, "", "nobody answered in time")
	}
	if err := g.append(c, audit.Record{Kind: audit.Decision, Call: c.ID, Tool: c.Tool.Name, Text: asked(r), Paths: r.Folders(), By: d.Surface, Outcome: d.Verdict.String(), Detail: d.Detail}); err != nil {
		return approval.Decision{}, err
	}
	if d.Covers(r) != nil {
		if d.Verdict == approval.Refused {
			return d, unanswered(d, r)
		}
		return d, noIndex(true)
	}
	if err := g.open(c); err != nil { // the person may have paused while they were asked
		return d, err
	}
	for _, p := range append([]approval.Place{{Folder: r.Folder, FolderID: r.FolderID}}, r.Also...) {
		if id, err := grant.Identify(p.Folder); err != nil || id != p.FolderID {
			return d, hint.New("changed", fmt.Sprintf("%q is no longer the folder that the person allowed", p.Folder)).Because("it was replaced while they were asked").
				Then("tell them that nothing is searched, and that " + howToChoose)
		}
	}
	if err := g.Search.Choose(r.Folders()); err != nil {
		return d, hint.New("internal", "the folders can't be searched").Then("search with bash, and tell the person to look at `handrail search`").Wrap(err)
	}
	return d, nil
}

// mostOffered is how many folders are asked for together.
const mostOffered = 10

// searchRequest is the question: the workspace and the folders that the session may read by a grant.
func (g *Gate) searchRequest(c *Call) (approval.Request, error) {
	room, err := g.room(c.Session)
	if err != nil {
		return approval.Request{}, err
	}
	r := approval.Request{Kind: approval.SearchFolders, Who: c.Session.Client, Session: c.Session.ID, Tool: c.Tool.Name, Home: g.Home.Home}
	for _, at := range g.searchable(c.Session, room) {
		if r.Folder != "" && len(r.Also) == mostOffered-1 {
			break
		}
		if r.Folder == "" {
			r.Folder, r.FolderID = at.Folder, at.ID
		} else {
			r.Also = append(r.Also, approval.Place{Folder: at.Folder, FolderID: at.ID})
		}
		files, bytes, more := count(at.Folder)
		r.Files, r.Bytes, r.More = r.Files+files, r.Bytes+bytes, r.More || more
	}
	if r.Folder == "" {
		return r, noIndex(false)
	}
	return r, nil
}

// searchable are the workspace and the folders that a session may read by a grant, none inside another.
func (g *Gate) searchable(s *client.Session, room Room) (list []grant.Grant) {
	decide := room.Policy.Decider()
	for _, h := range append([]grant.Grant{{Folder: g.Workspace, ID: g.WorkspaceID}}, g.Grants.List(s.ID)...) {
		if h.File || !decide(sandbox.Read, h.Folder).Allowed || slices.ContainsFunc(list, func(o grant.Grant) bool { return grant.Within(o.Folder, h.Folder) }) {
			continue
		}
		list = append(slices.DeleteFunc(list, func(o grant.Grant) bool { return grant.Within(h.Folder, o.Folder) }), h)
	}
	return list
}

// noIndex says that no folder is searched. asked says that the session has asked the person already.
func noIndex(asked bool) error {
	h := hint.New("no_index", "no folder is searched yet").Because("the person has chosen none")
	if asked {
		h = h.Because("the person has chosen none, and is asked only once a session")
	}
	return h.Then("tell them that " + howToChoose + "; meanwhile use list_files, read_file and bash")
}

const howToChoose = "they can choose one in a terminal, handrail search add FOLDER"
