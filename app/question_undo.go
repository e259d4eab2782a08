package app

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"handrail/core/approval"
)

// undoQuestion is the question whether a change is to be put back. No client asks it: the person did.
func (w Words) undoQuestion(r approval.Request) Question {
	u := r.Undo
	who := w.say("undo_someone", nil)
	if u.Client != "" {
		who = w.named(u.Client)
	}
	title := "title_undo"
	if u.Tool == "undo" {
		title = "title_undo_undo"
	}
	q := Question{
		Window:             w.say("window_title", nil),
		Title:              w.spans(title, holes{"Who": who, "Thing": quote(Escape(filepath.Base(u.Folder)))}),
		More:               w.say("more_below", nil),
		Refuse:             w.say("button_leave", nil),
		Allow:              w.say("button_undo", nil),
		Authenticate:       w.say("button_authenticate", nil),
		AuthenticateReason: w.say("authenticate_undo", nil),
	}
	exact := func(label, value string) {
		if value != "" {
			q.Facts = append(q.Facts, Fact{Label: w.say(label, nil), Value: value, Exact: true})
		}
	}
	exact("label_back", bullets(u.Back))
	exact("label_old", bullets(u.Old))
	exact("label_gone", bullets(u.Gone))
	if u.More > 0 {
		exact("label_more_files", w.count("undo_more", int64(u.More), nil))
	}
	var left []string
	for _, l := range u.Left {
		left = append(left, "• "+Escape(l.Path)+"\n    "+w.reason(l.Why))
	}
	if u.LeftMore > 0 {
		left = append(left, w.count("undo_more", int64(u.LeftMore), nil))
	}
	exact("label_left", strings.Join(left, "\n"))
	exact("label_folder", Escape(u.Folder))
	q.Facts = append(q.Facts, Fact{Label: w.say("label_covers", nil), Value: w.say("covers_undo", nil)}, Fact{Label: w.say("label_until", nil), Value: w.say("until_once", nil)})
	if u.Tool != "" || u.Text != "" {
		exact("label_change", strings.TrimSpace(Escape(u.Tool)+" "+Escape(u.Text)))
	}
	exact("label_when", w.moment(u.Time))
	if u.Diff != "" {
		label := "label_diff"
		if u.DiffMore {
			label = "label_diff_part"
		}
		exact(label, w.diff(strings.TrimSuffix(u.Diff, "\n")))
	} else if u.DiffMore {
		q.Facts = append(q.Facts, Fact{Label: w.say("label_diff_part", nil), Value: w.say("undo_no_diff", nil)})
	}
	q.Details = []Fact{{Label: w.say("label_change_id", nil), Value: Escape(u.Change), Exact: true}, {Label: w.say("label_home", nil), Value: Escape(r.Home), Exact: true}}
	return q
}

// moment writes a time in its own time zone.
func (w Words) moment(t time.Time) string { return t.Format("2006-01-02 15:04") }

// completeUndo says what a question about a change lacks, or has too much: nothing else may be asked with it.
func completeUndo(r approval.Request) error {
	u := r.Undo
	if u == nil {
		return errors.New("no change")
	}
	rest := r
	rest.Kind, rest.Home, rest.Undo = "", "", nil
	all := slices.Concat(u.Back, u.Old, u.Gone)
	for _, l := range u.Left {
		all = append(all, l.Path)
	}
	switch {
	case r.Kind != approval.UndoChange, rest.Digest() != (approval.Request{}).Digest():
		return errors.New("a change and another question")
	case u.Change == "" || u.Time.IsZero() || !filepath.IsAbs(u.Folder) || len(u.Back)+len(u.Old)+len(u.Gone) == 0 || u.More < 0 || u.LeftMore < 0:
		return errors.New("no change, or nothing that is put back")
	case slices.ContainsFunc(all, func(p string) bool { return !filepath.IsAbs(p) }):
		return errors.New("a file without a path")
	case len(u.Back) > approval.MaxListed || len(u.Old) > approval.MaxListed || len(u.Gone) > approval.MaxListed || len(u.Left) > approval.MaxListed || len(u.Diff) > approval.MaxDiff:
		return errors.New("more than can be shown")
	}
	return nil
}
