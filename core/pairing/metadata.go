package pairing

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// The paths of the server. That of MCP itself is the endpoint's.
const (
	resourcePath  = "/.well-known/oauth-protected-resource"
	serverPath    = "/.well-known/oauth-authorization-server"
	authorizePath = "/authorize"
	tokenPath     = "/token"
	registerPath  = "/register"
	revokePath    = "/revoke"
	mcpPath       = "/mcp"
)

// The scopes are the levels that a client can ask for. It never gets more than the person chose with Connect.
var scopes = []string{"look", "ask"}

// ServeHTTP answers what isn't MCP itself. The Host and Origin of r have been checked: no web page reads an answer. It is not for
// web pages to send either (Sec-Fetch-Site, Fetch Metadata), but for the navigation that [Pairing.authorize] checks.
func (p *Pairing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if p == nil || p.mux == nil {
		http.Error(w, "there is nothing here", http.StatusNotFound)
		return
	}
	if r.URL.Path != authorizePath {
		if site := r.Header.Values("Sec-Fetch-Site"); len(site) > 0 && !slices.Equal(site, []string{"none"}) {
			http.Error(w, "web pages are not served here", http.StatusForbidden)
			return
		}
	}
	p.mux.ServeHTTP(w, r)
}

func (p *Pairing) routes() http.Handler {
	at := map[string]struct {
		method string
		serve  http.HandlerFunc
	}{
		resourcePath: {"GET", p.resourceMetadata}, resourcePath + mcpPath: {"GET", p.resourceMetadata}, serverPath: {"GET", p.serverMetadata},
		authorizePath: {"GET", p.authorize}, tokenPath: {"POST", p.token}, registerPath: {"POST", p.register}, revokePath: {"POST", p.revoke},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		route, ok := at[r.URL.Path]
		switch {
		case !ok:
			http.Error(w, "there is nothing here", http.StatusNotFound)
		case r.Method != route.method:
			w.Header().Set("Allow", route.method)
			http.Error(w, "use "+route.method, http.StatusMethodNotAllowed)
		default:
			route.serve(w, r)
		}
	})
}

// resourceMetadata is the document of RFC 9728.
func (p *Pairing) resourceMetadata(w http.ResponseWriter, r *http.Request) {
	answer(w, http.StatusOK, map[string]any{
		"resource": p.resource(r), "authorization_servers": []string{p.issuer(r)}, "scopes_supported": scopes,
		"bearer_methods_supported": []string{"header"}, "resource_name": "Handrail",
	})
}

// serverMetadata is the document of RFC 8414.
func (p *Pairing) serverMetadata(w http.ResponseWriter, r *http.Request) {
	issuer := p.issuer(r)
	answer(w, http.StatusOK, map[string]any{
		"issuer": issuer, "authorization_endpoint": issuer + authorizePath, "token_endpoint": issuer + tokenPath,
		"registration_endpoint": issuer + registerPath, "revocation_endpoint": issuer + revokePath,
		"scopes_supported": scopes, "response_types_supported": []string{"code"}, "response_modes_supported": []string{"query"},
		"grant_types_supported":                 []string{"authorization_code", "refresh_token"},
		"token_endpoint_auth_methods_supported": []string{"none"}, "revocation_endpoint_auth_methods_supported": []string{"none"},
		"code_challenge_methods_supported": []string{"S256"}, "authorization_response_iss_parameter_supported": true,
		"client_id_metadata_document_supported": true,
	})
}

// answer sends JSON.
func answer(w http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil { // no value of ours can fail
		http.Error(w, "the answer can't be written", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Pragma", "no-cache")
	w.WriteHeader(status)
	w.Write(text)
}

// failure is an error of OAuth: a code of RFC 6749 and its relatives, and what is wrong, in words for developers.
type failure struct{ code, why string }

func (f *failure) Error() string { return f.code + ": " + f.why }

func (p *Pairing) fail(w http.ResponseWriter, status int, f *failure) {
	p.opts.Log.Info("refused", "status", status, "why", f.Error())
	answer(w, status, map[string]string{"error": f.code, "error_description": plain(f.why)})
}

// plain leaves of a text what may stand in an error_description (RFC 6749, 5.2).
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return '_'
		}
		return r
	}, s)
}
