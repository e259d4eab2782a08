package app

import (
	"errors"
	"net/url"

	"handrail/core/approval"
)

// pairingQuestion is the question whether a new assistant may connect. All that it says of itself is shown as its claim.
func (w Words) pairingQuestion(r approval.Request) Question {
	p := r.Pairing
	who := w.say("assistant_unnamed", nil)
	claim := w.say("who_unnamed", nil)
	if p.Claimed != "" {
		name, left := cut(p.Claimed, maxName)
		who = Escape(name)
		if left > 0 {
			who += "…"
		}
		who, claim = quote(who), w.say("who_claims", holes{"Name": Escape(p.Claimed)})
	}
	redirect, _ := url.Parse(p.Redirect) // complete has read it
	goes := "answer_program"
	if redirect.Scheme == "https" {
		goes = "answer_site"
	}
	q := Question{
		Window: w.say("window_title", nil),
		Title:  w.spans("title_connect", holes{"Who": who}),
		Facts: []Fact{
			{Label: w.say("label_who", nil), Value: claim},
			{Label: w.say("label_answer", nil), Value: w.say(goes, holes{"Host": Escape(redirect.Host)})},
		},
		More: w.say("more_below", nil),
		Details: []Fact{
			{Label: w.say("label_redirect", nil), Value: Escape(p.Redirect), Exact: true},
			{Label: w.say("label_resource", nil), Value: Escape(p.Resource), Exact: true},
			{Label: w.say("label_challenge", nil), Value: Escape(p.Challenge), Exact: true},
			{Label: w.say("label_client_id", nil), Value: "SHA-256 " + Escape(p.ClientSHA256), Exact: true},
		},
		Refuse:             w.say("button_refuse", nil),
		Allow:              w.say("button_allow", nil),
		Authenticate:       w.say("button_authenticate", nil),
		AuthenticateReason: w.say("authenticate_connect", holes{"Who": who}),
	}
	if p.Document != "" {
		q.Facts = append(q.Facts, Fact{Label: w.say("label_document", nil), Value: Escape(p.Document), Exact: true})
	}
	q.Facts = append(q.Facts,
		Fact{Label: w.say("label_covers", nil), Value: w.say("covers_connect_"+p.Level, nil)},
		Fact{Label: w.say("label_until", nil), Value: w.say("until_connect", holes{"Name": Escape(p.Name)})},
		Fact{Label: w.say("label_listed", nil), Value: Escape(p.Name), Exact: true})
	return q
}

// tokenQuestion is the question whether whoever has a new token may connect.
func (w Words) tokenQuestion(r approval.Request) Question {
	p := r.Pairing
	return Question{
		Window: w.say("window_title", nil),
		Title:  w.spans("title_token", holes{"Name": quote(Escape(p.Name))}),
		Facts: []Fact{
			{Label: w.say("label_covers", nil), Value: w.say("covers_token", nil)},
			{Label: w.say("label_until", nil), Value: w.say("until_connect", holes{"Name": Escape(p.Name)})},
			{Label: w.say("label_listed", nil), Value: Escape(p.Name), Exact: true},
		},
		More:               w.say("more_below", nil),
		Details:            []Fact{{Label: w.say("label_resource", nil), Value: Escape(p.Resource), Exact: true}},
		Refuse:             w.say("button_refuse", nil),
		Allow:              w.say("button_allow", nil),
		Authenticate:       w.say("button_authenticate", nil),
		AuthenticateReason: w.say("authenticate_token", holes{"Name": quote(Escape(p.Name))}),
	}
}

// completePairing says what a question about a new assistant lacks, or has too much: nothing else may be asked with it.
func completePairing(r approval.Request) error {
	p := r.Pairing
	if p == nil {
		return errors.New("no assistant")
	}
	rest := r
	rest.Kind, rest.Pairing = "", nil
	if r.Kind == approval.NewToken && rest.Digest() == (approval.Request{}).Digest() {
		if p.Level != "ask" || p.Name == "" || p.Resource == "" || *p != (approval.Pairing{Name: p.Name, Level: p.Level, Resource: p.Resource}) {
			return errors.New("no name, level or endpoint for a token, or more than that")
		}
		return nil
	}
	redirect, err := url.Parse(p.Redirect)
	switch {
	case r.Kind != approval.Connect, rest.Digest() != (approval.Request{}).Digest():
		return errors.New("an assistant and another question")
	case p.Level != "look" && p.Level != "ask":
		return errors.New("no level that an assistant can have")
	case err != nil || redirect.Host == "" || redirect.Scheme != "http" && redirect.Scheme != "https":
		return errors.New("no address that the answer goes to")
	case p.Name == "" || p.ClientSHA256 == "" || p.Resource == "" || p.Challenge == "":
		return errors.New("no name, identifier, endpoint or challenge")
	}
	return nil
}
