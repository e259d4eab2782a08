package app

import (
	"errors"
	"path/filepath"

	"handrail/core/approval"
)

// policyQuestion is the question whether the policy file may allow more than before. No client asks it.
func (w Words) policyQuestion(r approval.Request) Question {
	p := r.Policy
	return Question{
		Window: w.say("window_title", nil),
		Title:  w.spans("title_widen_policy", nil),
		Facts: []Fact{
			{Label: w.say("label_wider", nil), Value: w.reasons(p.Wider), Exact: true},
			{Label: w.say("label_file", nil), Value: Escape(p.File), Exact: true},
			{Label: w.say("label_covers", nil), Value: w.say("covers_widen_policy", nil)},
			{Label: w.say("label_until", nil), Value: w.say("until_policy", nil)},
		},
		More:               w.say("more_below", nil),
		Details:            []Fact{{Label: w.say("label_content", nil), Value: "SHA-256 " + Escape(p.SHA256), Exact: true}},
		Refuse:             w.say("button_refuse", nil),
		Allow:              w.say("button_allow", nil),
		Authenticate:       w.say("button_authenticate", nil),
		AuthenticateReason: w.say("authenticate_policy", nil),
	}
}

// completePolicy says what a question about the policy file lacks, or has too much: nothing else may be asked with it.
func completePolicy(r approval.Request) error {
	p := r.Policy
	if p == nil {
		return errors.New("no policy")
	}
	rest := r
	rest.Kind, rest.Policy = "", nil
	switch {
	case r.Kind != approval.WidenPolicy, rest.Digest() != (approval.Request{}).Digest():
		return errors.New("a policy and another question")
	case !filepath.IsAbs(p.File) || p.SHA256 == "" || len(p.Wider) == 0:
		return errors.New("no file, or nothing that it allows more")
	case len(p.Wider) > approval.MaxListed:
		return errors.New("more than can be listed")
	}
	return nil
}
