package client

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"handrail/core/hint"
)

var partner = Partner{Client: "hr1.x", Resource: "http://127.0.0.1:7438/mcp"}

func mustPair(t *testing.T, tokens *Tokens, name string, with Partner) Pair {
	t.Helper()
	p, err := tokens.Pair(name, Ask, with)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A renewal goes unnoticed by the client's sessions; all that ends a pairing ends them.
func TestPairRevokes(t *testing.T) {
	tokens := newTokens(t)
	var gone []string
	tokens.OnRevoke(func(id string) { gone = append(gone, id) })
	p := mustPair(t, tokens, "a", partner)
	if _, _, ok := tokens.VerifyPaired(p.Access, partner.Resource); !ok {
		t.Fatal("not let in")
	}
	second, err := tokens.Renew(p.Refresh, partner)
	if err != nil || len(gone) > 0 || second.ID != p.ID {
		t.Fatalf("renewed: %v; ended %q", err, gone)
	}
	again, err := tokens.Renew(p.Refresh, partner)
	if !errors.Is(err, ErrBadGrant) || again.Name != "a" || again.Access != "" || !slices.Equal(gone, []string{"http:a"}) {
		t.Errorf("used again: %+v, %v; ended %q", again, err, gone)
	}
	gone = nil
	p = mustPair(t, tokens, "a", partner)
	mustPair(t, tokens, "a", partner) // the same partner anew
	if _, _, ok := tokens.VerifyPaired(p.Access, partner.Resource); ok || !slices.Equal(gone, []string{"http:a"}) {
		t.Errorf("paired anew: the old token is good: %v; ended %q", ok, gone)
	}
	if _, err := tokens.Pair("a", Ask, Partner{Client: "another", Resource: partner.Resource}); hint.Code(err) != "name_taken" {
		t.Errorf("another of that name: %v", err)
	}
	gone = nil
	if err := OpenTokens(tokens.path).Revoke("a"); err != nil { // another process
		t.Fatal(err)
	}
	if tokens.HasPaired() || !slices.Equal(gone, []string{"http:a"}) {
		t.Errorf("revoked elsewhere: ended %q", gone)
	}
	if name, err := tokens.Unpair(p.Access); name != "" || err != nil {
		t.Errorf("ending what has ended: %q, %v", name, err)
	}
}

func TestPairRefuses(t *testing.T) {
	tokens := newTokens(t)
	carried := mustNew(t, tokens, "carried", Ask)
	p := mustPair(t, tokens, "a", partner)
	for name, c := range map[string]struct{ token, resource string }{
		"another resource": {p.Access, "http://127.0.0.1:7437/mcp"}, "no resource": {p.Access, ""}, "a refresh token": {p.Refresh, partner.Resource},
		"a carried token": {carried, partner.Resource}, "nothing": {"", partner.Resource}, "longer": {p.Access + "a", partner.Resource},
	} {
		if who, level, ok := tokens.VerifyPaired(c.token, c.resource); ok || level != None || who != (Identity{}) {
			t.Errorf("%s: let in", name)
		}
	}
	for _, token := range []string{p.Access, p.Refresh} {
		if _, _, ok := tokens.Verify(token); ok {
			t.Error("a paired client's token is good where carried ones are")
		}
	}
	if name, err := tokens.Unpair(carried); name != "" || err != nil {
		t.Errorf("a carried token was revoked as a paired one: %q, %v", name, err)
	}
	for _, level := range []Level{None, Trusted} {
		if _, err := tokens.Pair("b", level, Partner{Client: "b", Resource: "r"}); hint.Code(err) != "bad_level" {
			t.Errorf("paired as %v: %v", level, err)
		}
	}
	for _, with := range []Partner{{}, {Client: "b"}, {Resource: "r"}} {
		if _, err := tokens.Pair("b", Ask, with); err == nil {
			t.Errorf("paired with %+v", with)
		}
	}
	text, err := os.ReadFile(tokens.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{p.Access, p.Refresh, p.Refresh[len(tokenPrefix):][:familyLength], partner.Client} {
		if strings.Contains(string(text), secret) {
			t.Errorf("the file holds %q", secret)
		}
	}
	// Whatever is wrong with the file lets nobody in.
	for _, c := range [][2]string{
		{`"client_sha256": "`, `"client_sha256": "x`}, {`"family_sha256": "`, `"family_sha256": "0`}, {`"refresh_sha256"`, `"refresh"`}, {`"until": "`, `"until": "soon`},
		{`"refresh_until": "2`, `"refresh_until": "x`}, {`"resource": "` + partner.Resource, `"resource": "`}, {`"level": "ask"`, `"level": "trusted"`},
	} {
		bad := strings.Replace(string(text), c[0], c[1], 2)
		if bad == string(text) {
			t.Fatalf("%s isn't in the file", c[0])
		}
		if err := os.WriteFile(tokens.path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, ok := tokens.VerifyPaired(p.Access, partner.Resource); ok || tokens.Err() == nil {
			t.Errorf("with %s: let in", c[1])
		}
		if _, err := tokens.Renew(p.Refresh, partner); err == nil {
			t.Errorf("with %s: renewed", c[1])
		}
	}
}
