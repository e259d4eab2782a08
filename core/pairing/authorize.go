package pairing

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"handrail/core/approval"
	"handrail/core/client"
)

const maxState = 2 << 10 // bytes

// challengeForm is an S256 code challenge: a SHA-256 in base64url (RFC 7636, 4.2).
var challengeForm = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// authorize answers the browser that an assistant opened. The page says nothing but where the person answers; when they have, it
// goes on to the assistant. The order matters: who isn't expected learns nothing and starts nothing.
func (p *Pairing) authorize(w http.ResponseWriter, r *http.Request) {
	if err := p.navigation(r); err != nil {
		p.page(w, http.StatusForbidden, pageStrange, err)
		return
	}
	win, leave, err := p.enter()
	switch {
	case errors.Is(err, errBusy):
		p.page(w, http.StatusConflict, pageBusy, err)
		return
	case err != nil:
		p.page(w, http.StatusForbidden, pageClosed, err)
		return
	}
	again := true
	defer func() { leave(again) }()
	asked, err := p.read(r, win)
	if err != nil {
		var f *failure
		if asked.redirect == "" || !errors.As(err, &f) { // it is not known whom to tell
			p.page(w, http.StatusBadRequest, pageWrong, err)
			return
		}
		p.page(w, http.StatusBadRequest, pageWrong, err, asked.answer(url.Values{"error": {f.code}, "error_description": {plain(f.why)}}))
		return
	}
	request := approval.Request{Kind: approval.Connect, Pairing: &asked.agreed}
	finish := p.wait(w)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(win.over, cancel)()
	d := p.opts.Ask(ctx, request)
	switch d.Verdict {
	case approval.Withdrawn, approval.CouldNotShow, approval.HeldBack: // the person hasn't seen it, or it went away by itself
	default:
		again = false
	}
	if d.Covers(request) != nil {
		p.opts.Log.Info("an assistant wasn't let in", "why", d.Verdict.String())
		finish(pageRefused, asked.answer(url.Values{"error": {"access_denied"}}))
		return
	}
	again = false
	code, ok := p.allow(win, *request.Pairing, asked.clientID)
	if !ok {
		finish(pageRefused, asked.answer(url.Values{"error": {"access_denied"}}))
		return
	}
	finish(pageAllowed, asked.answer(url.Values{"code": {code}}))
}

// navigation says why a request is not the person's browser opening an address that a program gave it (Fetch Metadata). Browsers
// tell, and no page can make them lie: a link, a form, a frame, a redirect and a script each look different. Through a tunnel the
// assistant is a web site, and leads the browser here itself.
func (p *Pairing) navigation(r *http.Request) error {
	want := map[string][]string{"Sec-Fetch-Site": {"none"}, "Sec-Fetch-Mode": {"navigate"}, "Sec-Fetch-Dest": {"document"}}
	if p.tunneled(r) {
		want["Sec-Fetch-Site"] = []string{"none", "cross-site"}
	}
	for name, values := range want {
		if got := r.Header.Values(name); len(got) != 1 || !slices.Contains(values, got[0]) {
			return errors.New("this page isn't opened by another page or program; " + name + " is " + strings.Join(got, ", "))
		}
	}
	return nil
}

// asking is an authorization request that has been read.
type asking struct {
	redirect, state, issuer string // redirect is "" until it is known to be the client's
	clientID                string
	agreed                  approval.Pairing
}

// answer is where the browser goes with an answer (RFC 6749, 4.1.2; RFC 9207).
func (a asking) answer(values url.Values) string {
	if a.state != "" {
		values.Set("state", a.state)
	}
	values.Set("iss", a.issuer)
	separator := "?"
	if strings.Contains(a.redirect, "?") {
		separator = "&"
	}
	return a.redirect + separator + values.Encode()
}

// read reads an authorization request. What is wrong with it is an error, of which the client may be told if redirect is set.
func (p *Pairing) read(r *http.Request, win *window) (a asking, err error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return a, errors.New("the address can't be read")
	}
	for name, values := range q {
		if len(values) > 1 && name != "resource" {
			return a, errors.New("a parameter is there twice")
		}
	}
	a.issuer, a.clientID = p.issuer(r), q.Get("client_id")
	said, err := p.client(r.Context(), a.clientID)
	if err != nil {
		return a, err
	}
	redirect := q.Get("redirect_uri")
	if err := redirectable(redirect, p.tunneled(r)); err != nil {
		return a, err
	}
	if !registered(said.Redirects, redirect) {
		return a, errors.New("the redirect address is not the client's")
	}
	if ownPort(redirect, r.Host) {
		return a, errors.New("the redirect address is Handrail's own")
	}
	a.redirect = redirect
	if a.state = q.Get("state"); len(a.state) > maxState {
		a.state = ""
		return a, &failure{"invalid_request", "the state is too long"}
	}
	level := win.level
	if asked := strings.Fields(q.Get("scope")); slices.Contains(asked, "look") && !slices.Contains(asked, "ask") {
		level = client.Look
	}
	switch resource, challenge := p.resource(r), q.Get("code_challenge"); {
	case q.Get("response_type") != "code":
		return a, &failure{"unsupported_response_type", "response_type must be code"}
	case q.Has("response_mode") && q.Get("response_mode") != "query":
		return a, &failure{"invalid_request", "response_mode must be query"}
	case q.Has("request") || q.Has("request_uri"):
		return a, &failure{"invalid_request", "request objects are not served"}
	case q.Get("code_challenge_method") != "S256" || !challengeForm.MatchString(challenge):
		return a, &failure{"invalid_request", "code_challenge with code_challenge_method S256 is needed (RFC 7636)"}
	case len(q["resource"]) != 1 || q.Get("resource") != resource:
		return a, &failure{"invalid_target", "resource must be " + resource}
	default:
		sum := sha256.Sum256([]byte(a.clientID))
		a.agreed = approval.Pairing{
			Name:  p.nameFor(win.name, said.Name, client.Partner{Client: a.clientID, Resource: resource}),
			Level: level.String(), Claimed: said.Name, ClientSHA256: hex.EncodeToString(sum[:]),
			Redirect: redirect, Resource: resource, Challenge: challenge,
		}
	}
	if isDocument(a.clientID) {
		a.agreed.Document = a.clientID
	}
	return a, nil
}

// client gives what a client says of itself.
func (p *Pairing) client(ctx context.Context, id string) (description, error) {
	if isDocument(id) {
		return p.documents.fetch(ctx, id)
	}
	return describe(id)
}
