package pairing

import (
	"crypto/subtle"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"golang.org/x/oauth2"

	"handrail/core/client"
)

const maxForm = 16 << 10 // bytes

// verifierForm is a PKCE code verifier (RFC 7636, 4.1).
var verifierForm = regexp.MustCompile(`^[A-Za-z0-9._~-]{43,128}$`)

// token gives tokens for a code or a refresh token (RFC 6749, 4.1.3 and 6).
func (p *Pairing) token(w http.ResponseWriter, r *http.Request) {
	form, f := readForm(w, r)
	if f != nil {
		p.fail(w, statusOf(f), f)
		return
	}
	var pair client.Pair
	switch form.Get("grant_type") {
	case "authorization_code":
		pair, f = p.exchange(r, form)
	case "refresh_token":
		pair, f = p.renew(r, form)
	default:
		f = &failure{"unsupported_grant_type", "grant_type must be authorization_code or refresh_token"}
	}
	if f != nil {
		p.fail(w, statusOf(f), f)
		return
	}
	answer(w, http.StatusOK, map[string]any{"access_token": pair.Access, "token_type": "Bearer", "expires_in": int(client.AccessLasts / time.Second),
		"refresh_token": pair.Refresh, "scope": pair.Level.String()})
}

// exchange gives tokens for a code. A code is good for one try, whatever comes of it; the second ends what the first gave, for one
// of the two was a thief's.
func (p *Pairing) exchange(r *http.Request, form url.Values) (client.Pair, *failure) {
	bad := &failure{"invalid_grant", "the code is not valid"}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgetCodes()
	c := p.find(form.Get("code"))
	if c == nil {
		return client.Pair{}, bad
	}
	if c.used {
		p.unpair(func() (string, error) { return p.opts.Tokens.UnpairID(c.pair) })
		return client.Pair{}, bad
	}
	c.used = true
	verifier := form.Get("code_verifier")
	switch {
	case !time.Now().Before(c.until), form.Get("client_id") != c.clientID, form.Get("redirect_uri") != c.agreed.Redirect,
		!verifierForm.MatchString(verifier) || subtle.ConstantTimeCompare([]byte(oauth2.S256ChallengeFromVerifier(verifier)), []byte(c.agreed.Challenge)) != 1:
		return client.Pair{}, bad
	case form.Get("resource") != c.agreed.Resource || p.resource(r) != c.agreed.Resource:
		return client.Pair{}, &failure{"invalid_target", "resource must be " + c.agreed.Resource}
	}
	level, err := client.ParseLevel(c.agreed.Level)
	var pair client.Pair
	if err == nil {
		pair, err = p.opts.Tokens.Pair(c.agreed.Name, level, client.Partner{Client: c.clientID, Resource: c.agreed.Resource})
	}
	if err == nil { // the name is this client's, and nobody has its token yet
		if err = p.opts.Forget(client.TokenID(pair.Name)); err != nil {
			_, also := p.opts.Tokens.UnpairID(pair.ID)
			err = errors.Join(err, also)
		}
	}
	if err != nil {
		p.opts.Log.Error("an assistant that was allowed can't be let in", "why", err)
		return client.Pair{}, &failure{"server_error", "the tokens can't be kept"}
	}
	c.pair = pair.ID
	return pair, nil
}

// renew gives new tokens for a refresh token.
func (p *Pairing) renew(r *http.Request, form url.Values) (client.Pair, *failure) {
	resource := p.resource(r)
	if form.Has("resource") && form.Get("resource") != resource {
		return client.Pair{}, &failure{"invalid_target", "resource must be " + resource}
	}
	pair, err := p.opts.Tokens.Renew(form.Get("refresh_token"), client.Partner{Client: form.Get("client_id"), Resource: resource})
	switch {
	case errors.Is(err, client.ErrBadGrant):
		if pair.Name != "" { // it ended with that
			p.unpair(func() (string, error) { return pair.Name, nil })
		}
		return client.Pair{}, &failure{"invalid_grant", err.Error()}
	case err != nil:
		p.opts.Log.Error("tokens can't be renewed", "why", err)
		return client.Pair{}, &failure{"server_error", "the tokens can't be kept"}
	}
	return pair, nil
}

// revoke ends the pairing that a token belongs to, access token or refresh token (RFC 7009). One that is unknown is answered alike.
func (p *Pairing) revoke(w http.ResponseWriter, r *http.Request) {
	form, f := readForm(w, r)
	switch {
	case f != nil:
	case form.Get("token") == "":
		f = &failure{"invalid_request", "there is no token"}
	default:
		if err := p.unpair(func() (string, error) { return p.opts.Tokens.Unpair(form.Get("token")) }); err != nil {
			f = &failure{"server_error", "the token can't be revoked"}
		}
	}
	if f != nil {
		p.fail(w, statusOf(f), f)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// unpair ends a pairing, and takes back what outlives the sessions of its client.
func (p *Pairing) unpair(end func() (name string, err error)) error {
	name, err := end()
	if err == nil && name != "" {
		err = p.opts.Forget(client.TokenID(name))
	}
	if err != nil {
		p.opts.Log.Error("ending a pairing", "why", err)
	}
	return err
}

// readForm reads the parameters of a client's request. Clients are public: one that wants to prove itself by a password isn't known.
func readForm(w http.ResponseWriter, r *http.Request) (url.Values, *failure) {
	if len(r.Header.Values("Authorization")) > 0 {
		return nil, &failure{"invalid_client", "clients have no secret here"}
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" || r.URL.RawQuery != "" {
		return nil, &failure{"invalid_request", "the parameters must be in a body of the type application/x-www-form-urlencoded"}
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxForm))
	if err != nil {
		return nil, &failure{"invalid_request", "the body can't be read, or is too long"}
	}
	form, err := url.ParseQuery(string(text))
	if err != nil {
		return nil, &failure{"invalid_request", "the body can't be read"}
	}
	for _, values := range form {
		if len(values) > 1 {
			return nil, &failure{"invalid_request", "a parameter is there twice"}
		}
	}
	if form.Has("client_secret") || form.Has("client_assertion") {
		return nil, &failure{"invalid_client", "clients have no secret here"}
	}
	return form, nil
}

func statusOf(f *failure) int {
	switch f.code {
	case "invalid_client":
		return http.StatusUnauthorized
	case "server_error":
		return http.StatusInternalServerError
	}
	return http.StatusBadRequest
}
