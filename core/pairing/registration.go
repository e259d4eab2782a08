package pairing

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxDocument  = 5 << 10 // bytes of what a client says of itself
	maxClientID  = 4 << 10
	maxRedirects = 8
	maxName      = 100 // characters
	idPrefix     = "hr1."
)

// description is what a client says of itself: its name and where it takes answers.
type description struct {
	Name      string   `json:"n,omitempty"`
	Redirects []string `json:"r"`
	// Salt makes every registration another.
	Salt string `json:"s"`
}

// register answers a registration (RFC 7591). Nothing is kept: the identifier that a client gets is what it said. Whoever makes one
// up could as well have registered, so it needs no proof; and no number of registrations fills anything.
func (p *Pairing) register(w http.ResponseWriter, r *http.Request) {
	var said struct {
		RedirectURIs  []string `json:"redirect_uris"`
		ClientName    string   `json:"client_name"`
		GrantTypes    []string `json:"grant_types"`
		ResponseTypes []string `json:"response_types"`
	}
	if err := readJSON(w, r, &said); err != nil {
		p.fail(w, http.StatusBadRequest, &failure{"invalid_client_metadata", err.Error()})
		return
	}
	switch {
	case said.GrantTypes != nil && !slices.Contains(said.GrantTypes, "authorization_code"), said.ResponseTypes != nil && !slices.Contains(said.ResponseTypes, "code"):
		p.fail(w, http.StatusBadRequest, &failure{"invalid_client_metadata", "only the grant type authorization_code with the response type code is served"})
		return
	case len(said.RedirectURIs) > maxRedirects:
		p.fail(w, http.StatusBadRequest, &failure{"invalid_redirect_uri", fmt.Sprintf("more than %d redirect addresses", maxRedirects)})
		return
	}
	d := description{Name: cut(said.ClientName), Salt: rand.Text()[:13]}
	err := errors.New("there is no redirect address")
	for _, address := range said.RedirectURIs { // those that can't be used are left out
		if why := redirectable(address, p.tunneled(r)); why == nil {
			d.Redirects = append(d.Redirects, address)
		} else {
			err = why
		}
	}
	if len(d.Redirects) == 0 {
		p.fail(w, http.StatusBadRequest, &failure{"invalid_redirect_uri", err.Error()})
		return
	}
	id, err := d.id()
	if err != nil {
		p.fail(w, http.StatusBadRequest, &failure{"invalid_client_metadata", err.Error()})
		return
	}
	answer(w, http.StatusCreated, map[string]any{
		"client_id": id, "client_name": d.Name, "redirect_uris": d.Redirects, "grant_types": []string{"authorization_code", "refresh_token"},
		"response_types": []string{"code"}, "token_endpoint_auth_method": "none",
	})
}

// id is the description as a client identifier.
func (d description) id() (string, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return "", err
	}
	id := idPrefix + base64.RawURLEncoding.EncodeToString(text)
	if len(id) > maxClientID {
		return "", errors.New("the client says too much of itself")
	}
	return id, nil
}

// describe reads a client identifier that register gave. Anyone can make one up: it is checked like a registration.
func describe(id string) (description, error) {
	text, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(id, idPrefix))
	if err != nil || len(id) > maxClientID || !strings.HasPrefix(id, idPrefix) {
		return description{}, errors.New("the client identifier is unknown: register again")
	}
	var d description
	if err := json.Unmarshal(text, &d); err != nil || len(d.Redirects) == 0 || len(d.Redirects) > maxRedirects || d.Name != cut(d.Name) {
		return description{}, errors.New("the client identifier is unknown: register again")
	}
	return d, nil
}

// readJSON reads a body of at most maxDocument bytes.
func readJSON(w http.ResponseWriter, r *http.Request, into any) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return errors.New("the Content-Type is not application/json")
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxDocument))
	if err != nil {
		return fmt.Errorf("the body can't be read, or is longer than %d bytes", maxDocument)
	}
	if json.Unmarshal(text, into) != nil {
		return errors.New("the body is not the JSON that it should be")
	}
	return nil
}

// cut bounds a name, in characters.
func cut(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if utf8.RuneCountInString(s) <= maxName {
		return s
	}
	return string([]rune(s)[:maxName])
}
