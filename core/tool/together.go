package tool

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"handrail/core/approval"
	"handrail/core/grant"
	"handrail/core/hint"
)

// together judges a change of several files. What it needs is asked for in one question, which shows the change: all folders
// that no grant covers yet. A protected name is asked for alone, and so must be changed alone.
func (g *Gate) together(ctx context.Context, c *Call, p plan) (by []string, err error) {
	var need []effect
	for _, e := range p.effects {
		cl, rule, err := g.classify(c.Session, e)
		if err != nil {
			return nil, err
		}
		if cl != never { // what it holds stands in the question and in errors
			if reads, rule, err := g.classify(c.Session, effect{kind: read, place: e.place}); err != nil {
				return nil, err
			} else if reads != readHere && e.place.info != nil {
				return nil, denied(e, never, rule, c.Session.Level)
			}
		}
		switch may := table[cl][c.Session.Level]; {
		case may == yes:
			if h, ok := g.grantBehind(c.Session, e); ok && !slices.Contains(by, "grant on "+h.Folder) {
				by = append(by, "grant on "+h.Folder)
			}
		case cl == protected && may == asksEach:
			if len(p.effects) > 1 {
				return nil, hint.New("protected", fmt.Sprintf("%q can't be changed together with others", e.place.given)).
					Because("other programs act on it, so the person is asked for it alone").Then("leave it out, and change it by a patch of its own or with edit")
			}
			if e.diff, _, err = g.shown(p); err != nil {
				return nil, err
			}
			allowed, err := g.ask(ctx, c, e, cl)
			return append(by, allowed), err
		case cl == writeElse && may == asks:
			need = append(need, e)
		default:
			return nil, denied(e, cl, rule, c.Session.Level)
		}
	}
	if len(need) == 0 {
		return by, nil
	}
	allowed, err := g.askTogether(ctx, c, p, need)
	return append(by, allowed), err
}

// shown is the diff for a question. A change that can't be shown whole can't be asked for.
func (g *Gate) shown(p plan) (text string, files int, err error) {
	if text, files, err = p.diff(); err == nil {
		text, err = fitting(text)
	}
	return text, files, err
}

// fitting gives a diff that a question can show whole.
func fitting(text string) (string, error) {
	if len(text) > approval.MaxDiff {
		return "", hint.New("too_large", "the change is too large to be asked for").Because("the person must be able to read all of it").
			Then("send it in parts, or call request_access for each folder first")
	}
	return text, nil
}

// askTogether asks for all folders that effects need, and grants them.
func (g *Gate) askTogether(ctx context.Context, c *Call, p plan, need []effect) (by string, err error) {
	var r approval.Request
	var units []effect // the first of each
	for _, e := range need {
		if slices.ContainsFunc(units, func(o effect) bool { return o.place.unit.Folder == e.place.unit.Folder }) {
			continue
		}
		one, _, err := g.question(c, e, writeElse)
		if err != nil {
			return "", err
		}
		if units = append(units, e); len(units) == 1 {
			r = one
		} else {
			r.Also = append(r.Also, approval.Place{Folder: one.Folder, FolderID: one.FolderID, Makes: one.Makes, File: one.File})
			r.UndoLimited = r.UndoLimited || one.UndoLimited
		}
	}
	text, files, err := g.shown(p)
	if err != nil {
		return "", err
	}
	var d approval.Decision
	switch {
	case !g.NonceSurface:
		r.Kind, r.Path, r.Diff, r.Changes = approval.Patch, "", text, files
		r.Files, r.Bytes, r.More = 0, 0, false
		if d, err = g.put(ctx, c, fmt.Sprintf("%s\x00%s\x00%s\x00%s", c.Session.ID, r.Kind, strings.Join(r.Folders(), "\x00"), text), r); err != nil {
			return "", err
		}
	case len(units) > 1:
		return "", hint.New("cannot_ask", "the patch touches several folders that need the person's permission").
			Because("there is no screen here, and only one folder can be asked for at a time: " + strings.Join(r.Folders(), ", ")).Then("send a patch for each folder")
	case !g.Nonces.Redeem(c.Session.ID, r.Folder, units[0].phrase):
		return "", permissionRequired(c.Tool, units[0].phrase != "", r, g.Nonces.Phrase(c.Session.ID, r.Folder))
	default:
		d = approval.Allow(r, nonce)
	}
	for _, e := range need {
		one := approval.Request{Kind: approval.EditFolder, Folder: e.place.unit.Folder, Makes: e.place.unitID == grant.ID{}}
		if _, err := g.grant(c, e, one, grant.Edit, d); err != nil {
			return "", err
		}
	}
	return d.Surface + " on " + strings.Join(r.Folders(), ", "), nil
}
