package pairing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/oauth2"

	"handrail/core/approval"
	"handrail/core/client"
	"handrail/core/hint"
)

const (
	host     = "127.0.0.1:7438"
	resource = "http://" + host + "/mcp"
	callback = "http://127.0.0.1:33418/callback"
)

// fixture is a Pairing whose person answers as a test says.
type fixture struct {
	*Pairing
	t      *testing.T
	tokens *client.Tokens
	file   string
	log    bytes.Buffer
	// answers is how the person answers; nil allows.
	answers func(ctx context.Context, r approval.Request) approval.Decision

	mu        sync.Mutex
	asked     []approval.Request
	forgotten []string
	stuck     error // what forgetting gives
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, file: filepath.Join(t.TempDir(), "clients.json")}
	f.tokens = client.OpenTokens(f.file)
	f.start()
	return f
}

// start begins anew, as after a restart.
func (f *fixture) start() {
	f.t.Helper()
	p, err := New(Options{Tokens: f.tokens, Log: slog.New(slog.NewTextHandler(&f.log, nil)),
		Ask: func(ctx context.Context, r approval.Request) approval.Decision {
			f.mu.Lock()
			f.asked = append(f.asked, r)
			f.mu.Unlock()
			if f.answers != nil {
				return f.answers(ctx, r)
			}
			return approval.Allow(r, "dialog")
		},
		Forget: func(id string) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.forgotten = append(f.forgotten, id)
			return f.stuck
		}})
	if err != nil {
		f.t.Fatal(err)
	}
	f.Pairing = p
}

func (f *fixture) open() {
	f.t.Helper()
	if err := f.Open("", client.Ask); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) questions() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asked)
}

// send sends a request as the endpoint hands it on.
func (f *fixture) send(r *http.Request) *httptest.ResponseRecorder {
	f.t.Helper()
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	for name, want := range map[string]string{"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY"} {
		if got := w.Header().Get(name); got != want {
			f.t.Errorf("%s %s: %s is %q", r.Method, r.URL.Path, name, got)
		}
	}
	if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") {
		f.t.Errorf("%s: Content-Security-Policy is %q", r.URL.Path, csp)
	}
	for name := range w.Header() {
		if strings.HasPrefix(name, "Access-Control-") {
			f.t.Errorf("%s: CORS header %s", r.URL.Path, name)
		}
	}
	return w
}

func request(method, path, kind, body string) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = host
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	return r
}

// post sends a form.
func (f *fixture) post(path string, form url.Values) (status int, answer map[string]any) {
	f.t.Helper()
	w := f.send(request("POST", path, "application/x-www-form-urlencoded", form.Encode()))
	_ = json.Unmarshal(w.Body.Bytes(), &answer) // an answer may be empty
	return w.Code, answer
}

// register gives a new client's identifier.
func (f *fixture) register(name string, redirects ...string) string {
	f.t.Helper()
	text, err := json.Marshal(map[string]any{"client_name": name, "redirect_uris": redirects})
	if err != nil {
		f.t.Fatal(err)
	}
	w := f.send(request("POST", registerPath, "application/json", string(text)))
	var answer struct {
		ID string `json:"client_id"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != 201 || answer.ID == "" {
		f.t.Fatalf("registering: %d %s", w.Code, w.Body)
	}
	return answer.ID
}

var verifier = strings.Repeat("v", 43)

// query is an authorization request in order.
func query(id string) url.Values {
	return url.Values{"response_type": {"code"}, "client_id": {id}, "redirect_uri": {callback}, "state": {"s&t\"<"}, "resource": {resource},
		"code_challenge": {oauth2.S256ChallengeFromVerifier(verifier)}, "code_challenge_method": {"S256"}}
}

// navigation is the person's browser opening an address that it was given.
func navigation(q url.Values) *http.Request {
	r := request("GET", authorizePath+"?"+q.Encode(), "", "")
	r.Header.Set("Sec-Fetch-Site", "none")
	r.Header.Set("Sec-Fetch-Mode", "navigate")
	r.Header.Set("Sec-Fetch-Dest", "document")
	return r
}

var refresh = regexp.MustCompile(`<meta http-equiv="refresh" content="0; url=([^"]*)">`)

// onto is where a page leads the browser; nil if it leads nowhere.
func onto(t *testing.T, page string) *url.URL {
	t.Helper()
	m := refresh.FindStringSubmatch(page)
	if m == nil {
		return nil
	}
	u, err := url.Parse(html.UnescapeString(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// code pairs up to the code.
func (f *fixture) code(id string) string {
	f.t.Helper()
	f.open()
	w := f.send(navigation(query(id)))
	u := onto(f.t, w.Body.String())
	if u == nil || u.Query().Get("code") == "" {
		f.t.Fatalf("no code: %d %s", w.Code, w.Body)
	}
	return u.Query().Get("code")
}

// form is a token request in order.
func form(id, code string) url.Values {
	return url.Values{"grant_type": {"authorization_code"}, "code": {code}, "client_id": {id}, "redirect_uri": {callback}, "code_verifier": {verifier}, "resource": {resource}}
}

// pair pairs a client wholly.
func (f *fixture) pair(id string) (access, refresh string) {
	f.t.Helper()
	status, answer := f.post(tokenPath, form(id, f.code(id)))
	if status != 200 {
		f.t.Fatalf("no tokens: %d %v", status, answer)
	}
	return answer["access_token"].(string), answer["refresh_token"].(string)
}

func renewal(id, refresh string) url.Values {
	return url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}, "client_id": {id}}
}

func (f *fixture) in(access string) bool {
	_, _, ok := f.Verify(request("POST", mcpPath, "", ""), access)
	return ok
}

// refused fails the test unless a request to the token path was answered with an error and without tokens.
func (f *fixture) refused(name string, form url.Values, want string) {
	f.t.Helper()
	status, answer := f.post(tokenPath, form)
	if status == 200 || answer["access_token"] != nil || answer["refresh_token"] != nil || answer["error"] != want {
		f.t.Errorf("%s: %d %v, want %s", name, status, answer, want)
	}
}

// What a client goes through, from nothing to tokens.
func TestPairing(t *testing.T) {
	f := newFixture(t)
	w := f.send(request("GET", resourcePath+"/mcp", "", ""))
	if !strings.Contains(w.Body.String(), `"resource":"`+resource+`"`) || !strings.Contains(w.Body.String(), `"authorization_servers":["http://`+host+`"]`) {
		t.Errorf("resource metadata: %s", w.Body)
	}
	var server map[string]any
	if err := json.Unmarshal(f.send(request("GET", serverPath, "", "")).Body.Bytes(), &server); err != nil || server["issuer"] != "http://"+host ||
		fmt.Sprint(server["code_challenge_methods_supported"], server["token_endpoint_auth_methods_supported"], server["grant_types_supported"]) != "[S256] [none] [authorization_code refresh_token]" {
		t.Errorf("server metadata: %v, %v", server, err)
	}
	id := f.register("Claude Code", callback)
	f.open()
	w = f.send(navigation(query(id)))
	if page := w.Body.String(); w.Code != 200 || strings.Contains(page, "Claude") || !strings.Contains(page, "Answer in Handrail") || strings.Contains(page, "<script") {
		t.Errorf("the page: %d %s", w.Code, page)
	}
	u := onto(t, w.Body.String())
	if u == nil || !strings.HasPrefix(u.String(), callback+"?") || u.Query().Get("state") != "s&t\"<" || u.Query().Get("iss") != "http://"+host {
		t.Fatalf("the page leads to %v", u)
	}
	p := f.asked[0].Pairing
	want := approval.Pairing{Name: "claude-code", Level: "ask", Claimed: "Claude Code", ClientSHA256: p.ClientSHA256, Redirect: callback, Resource: resource, Challenge: query(id).Get("code_challenge")}
	if len(f.asked) != 1 || *p != want || f.asked[0].Kind != approval.Connect {
		t.Errorf("asked: %+v", p)
	}
	status, answer := f.post(tokenPath, form(id, u.Query().Get("code")))
	if status != 200 || answer["token_type"] != "Bearer" || answer["expires_in"] != 3600.0 || answer["scope"] != "ask" {
		t.Fatalf("tokens: %d %v", status, answer)
	}
	access := answer["access_token"].(string)
	if who, level, ok := f.Verify(request("POST", mcpPath, "", ""), access); !ok || level != client.Ask || who.ID != "http:claude-code" {
		t.Errorf("Verify: %+v, %v, %v", who, level, ok)
	}
	if _, _, ok := f.tokens.Verify(access); ok {
		t.Error("it is good at the other port too")
	}
	if !f.Until().IsZero() {
		t.Error("it is still open")
	}
	carried, err := f.tokens.New("carried", client.Ask)
	if err != nil {
		t.Fatal(err)
	}
	if f.in(carried) {
		t.Error("a token of another way in is good here")
	}
	kept, err := os.ReadFile(f.file)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{access, answer["refresh_token"].(string), u.Query().Get("code"), verifier} {
		if strings.Contains(f.log.String(), secret) || strings.Contains(string(kept), secret) {
			t.Errorf("%q stands in the log or the file", secret)
		}
	}
	if again := f.code(id); again == "" || f.asked[1].Pairing.Name != "claude-code" {
		t.Errorf("the same client comes again as %q", f.asked[1].Pairing.Name)
	}
	other := f.register("Claude Code!", callback)
	if f.code(other); f.asked[2].Pairing.Name != "claude-code-2" {
		t.Errorf("another of that name comes as %q", f.asked[2].Pairing.Name)
	}
}

// What asks the person nothing, and gets nothing.
func TestAuthorizeRefuses(t *testing.T) {
	f := newFixture(t)
	id := f.register("Cursor", callback, "http://localhost/here")
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	set := func(name string, values ...string) func(*http.Request) {
		return func(r *http.Request) {
			q := r.URL.Query()
			q[name] = values
			r.URL.RawQuery = q.Encode()
		}
	}
	forged := func(d description) string {
		id, err := d.id()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	for _, c := range []struct {
		name   string
		change func(*http.Request)
		told   string // the error that the client is told; "": it is told nothing
	}{
		{"a link on a web page", header("Sec-Fetch-Site", "cross-site"), ""},
		{"a link on a page of this computer", header("Sec-Fetch-Site", "same-site"), ""},
		{"a link on our own page", header("Sec-Fetch-Site", "same-origin"), ""},
		{"a script", header("Sec-Fetch-Mode", "cors"), ""},
		{"an image", header("Sec-Fetch-Dest", "image"), ""},
		{"a frame", header("Sec-Fetch-Dest", "iframe"), ""},
		{"no browser", func(r *http.Request) { r.Header.Del("Sec-Fetch-Site") }, ""},
		{"two answers", func(r *http.Request) { r.Header.Add("Sec-Fetch-Site", "cross-site") }, ""},
		{"no client", set("client_id"), ""},
		{"an unknown client", set("client_id", "handrail"), ""},
		{"a client that is cut", set("client_id", id[:len(id)-3]), ""},
		{"a client without redirects", set("client_id", forged(description{})), ""},
		{"a client that made itself up, with a site", set("client_id", forged(description{Redirects: []string{"https://evil.example/"}})), ""},
		{"a client with a page on this computer", set("client_id", "https://localhost/client.json"), ""},
		{"no redirect", set("redirect_uri"), ""},
		{"another path", set("redirect_uri", "http://127.0.0.1:33418/other"), ""},
		{"another host", set("redirect_uri", "http://localhost:33418/callback"), ""},
		{"IPv6 for IPv4", set("redirect_uri", "http://[::1]:33418/callback"), ""},
		{"a user", set("redirect_uri", "http://127.0.0.1:33418@evil.example/callback"), ""},
		{"a fragment", set("redirect_uri", callback+"#x"), ""},
		{"a query more", set("redirect_uri", callback+"?x=1"), ""},
		{"https", set("redirect_uri", "https://127.0.0.1:33418/callback"), ""},
		{"our own port", set("redirect_uri", "http://127.0.0.1:7438/callback"), ""},
		{"two redirects", set("redirect_uri", callback, callback), ""},
		{"a token", set("response_type", "token"), "unsupported_response_type"},
		{"no response type", set("response_type"), "unsupported_response_type"},
		{"answer in a fragment", set("response_mode", "fragment"), "invalid_request"},
		{"answer in a form", set("response_mode", "form_post"), "invalid_request"},
		{"a request object", set("request", "x"), "invalid_request"},
		{"a request elsewhere", set("request_uri", "https://evil.example/"), "invalid_request"},
		{"no challenge", set("code_challenge"), "invalid_request"},
		{"a challenge without method", set("code_challenge_method"), "invalid_request"},
		{"plain", set("code_challenge_method", "plain"), "invalid_request"},
		{"an empty challenge", set("code_challenge", ""), "invalid_request"},
		{"a long challenge", set("code_challenge", strings.Repeat("a", 44)), "invalid_request"},
		{"no resource", set("resource"), "invalid_target"},
		{"another resource", set("resource", "http://evil.example/mcp"), "invalid_target"},
		{"the other port", set("resource", "http://127.0.0.1:7437/mcp"), "invalid_target"},
		{"a resource below", set("resource", resource+"/"), "invalid_target"},
		{"two resources", set("resource", resource, "http://evil.example/mcp"), "invalid_target"},
		{"a state that is too long", set("state", strings.Repeat("s", maxState+1)), "invalid_request"},
	} {
		f.open()
		r := navigation(query(id))
		c.change(r)
		w := f.send(r)
		u := onto(t, w.Body.String())
		switch {
		case f.questions() > 0:
			t.Fatalf("%s: the person was asked", c.name)
		case w.Code < 400:
			t.Errorf("%s: status %d", c.name, w.Code)
		case u == nil && c.told != "", u != nil && (c.told == "" || u.Query().Get("error") != c.told || u.Query().Has("code") || !strings.HasPrefix(u.String(), callback+"?")):
			t.Errorf("%s: leads to %v", c.name, u)
		}
	}
	for _, method := range []string{"POST", "HEAD", "PUT", "OPTIONS"} {
		r := navigation(query(id))
		r.Method = method
		if w := f.send(r); w.Code != 405 || f.questions() > 0 {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
	// The request that all these were made of is in order.
	if f.send(navigation(query(id))); f.questions() != 1 {
		t.Error("the person wasn't asked")
	}
}

// Only while the person has Connect open, and for one assistant.
func TestWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		id := f.register("Cursor", callback)
		closed := func(name string) {
			t.Helper()
			before := f.questions()
			w := f.send(navigation(query(id)))
			if w.Code != 403 || f.questions() != before || onto(t, w.Body.String()) != nil {
				t.Errorf("%s: %d, asked %d", name, w.Code, f.questions()-before)
			}
		}
		closed("never opened")
		f.open()
		f.Close()
		closed("closed")
		f.open()
		time.Sleep(OpenFor)
		closed("after 5 minutes")
		if !f.Until().IsZero() {
			t.Error("it says that it is open")
		}
		f.open()
		f.send(navigation(query(id)))
		closed("after an assistant was let in")
		f.open()
		f.answers = func(_ context.Context, r approval.Request) approval.Decision {
			return approval.Refuse(approval.Refused, "dialog", "")
		}
		f.send(navigation(query(id)))
		closed("after a no")
		f.open()
		bad := navigation(url.Values{})
		for range MaxTries {
			f.send(bad)
		}
		closed("after too many tries")
		if err := f.Open("", client.Trusted); hint.Code(err) != "bad_level" {
			t.Errorf("opened for a trusted one: %v", err)
		}
		if err := f.Open("../x", client.Ask); hint.Code(err) != "bad_name" {
			t.Errorf("opened for a bad name: %v", err)
		}
		if _, err := f.tokens.New("taken", client.Ask); err != nil {
			t.Fatal(err)
		}
		if err := f.Open("taken", client.Ask); hint.Code(err) != "name_taken" {
			t.Errorf("opened for a name that is taken: %v", err)
		}
	})
}

// Whatever ends a question but a yes to just this one gives no code.
func TestAnswers(t *testing.T) {
	swapped := func(swap func(*approval.Pairing)) func(context.Context, approval.Request) approval.Decision {
		return func(_ context.Context, r approval.Request) approval.Decision {
			p := *r.Pairing
			swap(&p)
			r.Pairing = &p
			return approval.Allow(r, "dialog")
		}
	}
	says := func(v approval.Verdict) func(context.Context, approval.Request) approval.Decision {
		return func(context.Context, approval.Request) approval.Decision { return approval.Refuse(v, "dialog", "") }
	}
	for _, c := range []struct {
		name    string
		answers func(context.Context, approval.Request) approval.Decision
		again   bool // another try is possible without Connect
	}{
		{"no", says(approval.Refused), false},
		{"no answer", says(approval.NoAnswer), false},
		{"a dialog that crashes", says(approval.CouldNotShow), true},
		{"withdrawn", says(approval.Withdrawn), true},
		{"held back", says(approval.HeldBack), true},
		{"nothing", func(context.Context, approval.Request) approval.Decision { return approval.Decision{} }, false},
		{"bound to nothing", func(context.Context, approval.Request) approval.Decision {
			return approval.Decision{Verdict: approval.Allowed}
		}, false},
		{"a yes to another client", swapped(func(p *approval.Pairing) { p.ClientSHA256 = "00" }), false},
		{"a yes to another redirect", swapped(func(p *approval.Pairing) { p.Redirect += "x" }), false},
		{"a yes to another resource", swapped(func(p *approval.Pairing) { p.Resource += "x" }), false},
		{"a yes to another level", swapped(func(p *approval.Pairing) { p.Level = "look" }), false},
		{"a yes to another challenge", swapped(func(p *approval.Pairing) { p.Challenge += "x" }), false},
		{"a yes to another name", swapped(func(p *approval.Pairing) { p.Name += "x" }), false},
		{"a yes that is old", func(_ context.Context, r approval.Request) approval.Decision {
			d := approval.Allow(r, "dialog")
			time.Sleep(approval.ValidFor + time.Second)
			return d
		}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t)
			id := f.register("Cursor", callback)
			f.open()
			f.answers = c.answers
			w := f.send(navigation(query(id)))
			u := onto(t, w.Body.String())
			if u == nil || u.Query().Has("code") || u.Query().Get("error") != "access_denied" || len(f.codes) > 0 {
				t.Errorf("%s: leads to %v", c.name, u)
			}
			if open := !f.Until().IsZero(); open != c.again {
				t.Errorf("%s: still open: %v", c.name, open)
			}
		})
	}
}

// What happens while the question is on the screen.
func TestWhileAsked(t *testing.T) {
	f := newFixture(t)
	id := f.register("Cursor", callback)
	shown, answer := make(chan struct{}), make(chan func(approval.Request) approval.Decision)
	f.answers = func(ctx context.Context, r approval.Request) approval.Decision {
		shown <- struct{}{}
		select {
		case a := <-answer:
			return a(r)
		case <-ctx.Done():
			return approval.Refuse(approval.Withdrawn, "", "")
		}
	}
	begin := func(ctx context.Context) (page chan *httptest.ResponseRecorder) {
		page = make(chan *httptest.ResponseRecorder, 1)
		go func() { page <- f.send(navigation(query(id)).WithContext(ctx)) }()
		<-shown
		return page
	}
	yes := func(r approval.Request) approval.Decision { return approval.Allow(r, "dialog") }
	nobody := func(name string, page chan *httptest.ResponseRecorder) {
		t.Helper()
		if u := onto(t, (<-page).Body.String()); u != nil && u.Query().Has("code") {
			t.Errorf("%s: let in", name)
		}
	}

	f.open()
	page := begin(t.Context())
	if w := f.send(navigation(query(id))); w.Code != 409 || f.questions() != 1 {
		t.Errorf("a second tab: %d, %d questions", w.Code, f.questions())
	}
	answer <- yes
	if u := onto(t, (<-page).Body.String()); u == nil || !u.Query().Has("code") {
		t.Errorf("the first tab leads to %v", u)
	}

	f.open()
	ctx, gone := context.WithCancel(t.Context())
	page = begin(ctx)
	gone()
	nobody("the tab was closed", page)
	if f.Until().IsZero() {
		t.Error("a tab that was closed leaves no other try")
	}

	page = begin(t.Context())
	f.Close() // withdraws it
	nobody("closed", page)

	f.open()
	f.answers = func(_ context.Context, r approval.Request) approval.Decision {
		f.Close()
		return yes(r)
	}
	if u := onto(t, f.send(navigation(query(id))).Body.String()); u == nil || u.Query().Has("code") {
		t.Errorf("a click that comes too late leads to %v", u)
	}
	f.open()
	f.answers = func(_ context.Context, r approval.Request) approval.Decision {
		f.open() // for another assistant
		return yes(r)
	}
	if u := onto(t, f.send(navigation(query(id))).Body.String()); u == nil || u.Query().Has("code") {
		t.Errorf("a click for the one before leads to %v", u)
	}
}

func TestLevels(t *testing.T) {
	for _, c := range []struct {
		open  client.Level
		scope string
		want  string
	}{
		{client.Ask, "", "ask"}, {client.Ask, "ask", "ask"}, {client.Ask, "look", "look"}, {client.Ask, "look ask", "ask"}, {client.Ask, "offline_access", "ask"},
		{client.Ask, "trusted", "ask"}, {client.Look, "", "look"}, {client.Look, "ask", "look"}, {client.Look, "look ask trusted", "look"},
	} {
		f := newFixture(t)
		id := f.register("Cursor", callback)
		if err := f.Open("mine", c.open); err != nil {
			t.Fatal(err)
		}
		q := query(id)
		q.Set("scope", c.scope)
		u := onto(t, f.send(navigation(q)).Body.String())
		status, answer := f.post(tokenPath, form(id, u.Query().Get("code")))
		if p := f.asked[0].Pairing; status != 200 || answer["scope"] != c.want || p.Level != c.want || p.Name != "mine" {
			t.Errorf("%v, scope %q: asked for %s as %s; got %v", c.open, c.scope, p.Level, p.Name, answer["scope"])
		}
		if _, level, ok := f.Verify(request("POST", mcpPath, "", ""), fmt.Sprint(answer["access_token"])); !ok || level.String() != c.want {
			t.Errorf("%v, scope %q: level %v", c.open, c.scope, level)
		}
	}
}

// Each of these uses up the code: what was in order comes too late then.
func TestExchangeRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(url.Values)
		want   string
	}{
		{"no verifier", func(v url.Values) { v.Del("code_verifier") }, "invalid_grant"},
		{"an empty verifier", func(v url.Values) { v.Set("code_verifier", "") }, "invalid_grant"},
		{"another verifier", func(v url.Values) { v.Set("code_verifier", strings.Repeat("w", 43)) }, "invalid_grant"},
		{"the challenge itself", func(v url.Values) { v.Set("code_verifier", oauth2.S256ChallengeFromVerifier(verifier)) }, "invalid_grant"},
		{"a short verifier", func(v url.Values) { v.Set("code_verifier", "v") }, "invalid_grant"},
		{"another redirect", func(v url.Values) { v.Set("redirect_uri", "http://127.0.0.1:33419/callback") }, "invalid_grant"},
		{"no redirect", func(v url.Values) { v.Del("redirect_uri") }, "invalid_grant"},
		{"another client", func(v url.Values) { v.Set("client_id", "hr1.e30") }, "invalid_grant"},
		{"no client", func(v url.Values) { v.Del("client_id") }, "invalid_grant"},
		{"another resource", func(v url.Values) { v.Set("resource", "http://127.0.0.1:7437/mcp") }, "invalid_target"},
		{"no resource", func(v url.Values) { v.Del("resource") }, "invalid_target"},
	} {
		f := newFixture(t)
		id := f.register("Cursor", callback)
		code := f.code(id)
		bad := form(id, code)
		c.change(bad)
		f.refused(c.name, bad, c.want)
		f.refused(c.name+", then in order", form(id, code), "invalid_grant")
		if f.tokens.HasPaired() {
			t.Errorf("%s: paired", c.name)
		}
	}
	f := newFixture(t)
	id := f.register("Cursor", callback)
	code := f.code(id)
	for name, c := range map[string]struct {
		form url.Values
		want string
	}{
		"no code": {form(id, ""), "invalid_grant"}, "a guess": {form(id, "hr_"+strings.Repeat("a", 52)), "invalid_grant"},
		"a password":          {url.Values{"grant_type": {"password"}, "username": {"ann"}, "password": {"x"}}, "unsupported_grant_type"},
		"a client of its own": {url.Values{"grant_type": {"client_credentials"}, "client_id": {id}}, "unsupported_grant_type"},
		"a secret":            {url.Values{"grant_type": {"authorization_code"}, "code": {code}, "client_id": {id}, "client_secret": {"x"}}, "invalid_client"},
		"everything twice":    {url.Values{"grant_type": {"authorization_code", "authorization_code"}, "code": {code}}, "invalid_request"},
	} {
		f.refused(name, c.form, c.want)
	}
	for name, change := range map[string]func(*http.Request){
		"JSON":           func(r *http.Request) { r.Header.Set("Content-Type", "application/json") },
		"in the address": func(r *http.Request) { r.URL.RawQuery = form(id, code).Encode() },
		"basic":          func(r *http.Request) { r.SetBasicAuth(id, "x") },
		"a web page":     func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"GET":            func(r *http.Request) { r.Method = "GET" },
	} {
		r := request("POST", tokenPath, "application/x-www-form-urlencoded", form(id, code).Encode())
		change(r)
		if w := f.send(r); w.Code < 400 || strings.Contains(w.Body.String(), "access_token") {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	// Under another name of this computer it is another resource, and another server (mix-up).
	r := request("POST", tokenPath, "application/x-www-form-urlencoded", form(id, code).Encode())
	r.Host = "localhost:7438"
	if w := f.send(r); w.Code != 400 || strings.Contains(w.Body.String(), "access_token") {
		t.Errorf("at another name: %d %s", w.Code, w.Body)
	}
	// A code is known to who gave it, not after a restart.
	code = f.code(id)
	f.start()
	f.refused("after a restart", form(id, code), "invalid_grant")
	code = f.code(id)
	f.Close()
	f.refused("after Close", form(id, code), "invalid_grant")
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		id := f.register("Cursor", callback)
		code := f.code(id)
		time.Sleep(CodeLasts)
		f.refused("after a minute", form(id, code), "invalid_grant")
	})
}

// A name that another client took while the person was asked stays that one's, with all that was set for it; and who can't be given a
// clean start isn't let in.
func TestExchangeName(t *testing.T) {
	f := newFixture(t)
	id := f.register("Cursor", callback)
	code := f.code(id)
	if _, err := f.tokens.New("cursor", client.Ask); err != nil {
		t.Fatal(err)
	}
	if status, _ := f.post(tokenPath, form(id, code)); status != 500 || f.tokens.HasPaired() || len(f.forgotten) > 0 {
		t.Errorf("a name that is taken: %d; forgotten %q", status, f.forgotten)
	}
	f = newFixture(t)
	f.stuck = errors.New("the disk is full")
	id = f.register("Cursor", callback)
	if status, answer := f.post(tokenPath, form(id, f.code(id))); status != 500 || f.tokens.HasPaired() || len(f.forgotten) != 1 {
		t.Errorf("nothing can be forgotten: %d %v; forgotten %q", status, answer, f.forgotten)
	}
}

// A code that is used twice ends what it gave: one of the two was a thief.
func TestCodeOnce(t *testing.T) {
	f := newFixture(t)
	id := f.register("Cursor", callback)
	code := f.code(id)
	status, answer := f.post(tokenPath, form(id, code))
	access := fmt.Sprint(answer["access_token"])
	if status != 200 || !f.in(access) {
		t.Fatalf("%d %v", status, answer)
	}
	status, renewed := f.post(tokenPath, renewal(id, fmt.Sprint(answer["refresh_token"])))
	if status != 200 {
		t.Fatalf("%d %v", status, renewed)
	}
	f.forgotten = nil
	f.refused("again", form(id, code), "invalid_grant")
	if f.in(fmt.Sprint(renewed["access_token"])) || f.tokens.HasPaired() || len(f.forgotten) != 1 || f.forgotten[0] != "http:cursor" {
		t.Errorf("the pairing goes on; forgotten: %q", f.forgotten)
	}
	code = f.code(id)
	var all sync.WaitGroup
	var mu sync.Mutex
	got := 0
	for range 20 {
		all.Go(func() {
			w := httptest.NewRecorder()
			f.ServeHTTP(w, request("POST", tokenPath, "application/x-www-form-urlencoded", form(id, code).Encode()))
			mu.Lock()
			defer mu.Unlock()
			if w.Code == 200 {
				got++
			}
		})
	}
	all.Wait()
	if got > 1 || f.tokens.HasPaired() {
		t.Errorf("%d of 20 got tokens at once, and they are still good: %v", got, f.tokens.HasPaired())
	}
}

func TestRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		id := f.register("Cursor", callback)
		access, refresh := f.pair(id)
		time.Sleep(client.AccessLasts - time.Minute)
		if !f.in(access) {
			t.Error("it ends too soon")
		}
		time.Sleep(time.Minute)
		if f.in(access) {
			t.Error("an access token that has expired is good")
		}
		for name, bad := range map[string]url.Values{
			"another client": renewal(f.register("Other", callback), refresh), "no client": renewal("", refresh), "an access token": renewal(id, access),
			"a guess": renewal(id, "hr_"+strings.Repeat("a", 78)), "nothing": renewal(id, ""),
		} {
			f.refused(name, bad, "invalid_grant")
		}
		other := renewal(id, refresh)
		other.Set("resource", "http://127.0.0.1:7437/mcp")
		f.refused("another resource", other, "invalid_target")
		f.start() // it outlives a restart
		status, second := f.post(tokenPath, renewal(id, refresh))
		if status != 200 || !f.in(fmt.Sprint(second["access_token"])) || second["refresh_token"] == refresh || f.in(access) {
			t.Fatalf("renewal: %d %v", status, second)
		}
		status, third := f.post(tokenPath, renewal(id, fmt.Sprint(second["refresh_token"])))
		if status != 200 || f.in(fmt.Sprint(second["access_token"])) || !f.in(fmt.Sprint(third["access_token"])) {
			t.Fatalf("second renewal: %d %v", status, third)
		}
		// The first one again: somebody has stolen it, or has used the one that was.
		f.forgotten = nil
		f.refused("used before", renewal(id, refresh), "invalid_grant")
		if f.in(fmt.Sprint(third["access_token"])) || f.tokens.HasPaired() || len(f.forgotten) != 1 {
			t.Errorf("the family lives on; forgotten: %q", f.forgotten)
		}
		f.refused("the newest, after that", renewal(id, fmt.Sprint(third["refresh_token"])), "invalid_grant")

		_, refresh = f.pair(id)
		time.Sleep(client.RefreshLasts)
		f.refused("after 30 days", renewal(id, refresh), "invalid_grant")
	})
}

func TestRevoke(t *testing.T) {
	for name, which := range map[string]int{"access": 0, "refresh": 1} {
		f := newFixture(t)
		id := f.register("Cursor", callback)
		access, refresh := f.pair(id)
		if status, _ := f.post(revokePath, url.Values{"token": {"hr_unknown"}}); status != 200 || !f.in(access) {
			t.Errorf("an unknown token: %d, still in: %v", status, f.in(access))
		}
		if status, _ := f.post(revokePath, url.Values{}); status != 400 {
			t.Errorf("no token: %d", status)
		}
		f.forgotten = nil
		status, _ := f.post(revokePath, url.Values{"token": {[]string{access, refresh}[which]}})
		if status != 200 || f.in(access) || f.tokens.HasPaired() || len(f.forgotten) != 1 {
			t.Errorf("%s: %d; forgotten %q", name, status, f.forgotten)
		}
		f.refused("after that", renewal(id, refresh), "invalid_grant")
	}
	// The person's own way: one store.
	f := newFixture(t)
	id := f.register("Cursor", callback)
	access, refresh := f.pair(id)
	if err := client.OpenTokens(f.file).Revoke("cursor"); err != nil { // as another process does
		t.Fatal(err)
	}
	if f.in(access) {
		t.Error("revoked, and let in")
	}
	f.refused("revoked", renewal(id, refresh), "invalid_grant")
}

// No number of registrations fills anything.
func TestRegistrations(t *testing.T) {
	f := newFixture(t)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	f.register("Cursor", callback)
	before := heap()
	seen := make(map[string]bool)
	for i := range 10_000 {
		id := f.register("Cursor", callback)
		if i < 100 {
			seen[id] = true
		}
	}
	if len(seen) != 100 {
		t.Error("two clients have one identifier")
	}
	if after := heap(); after > before+4<<20 {
		t.Errorf("10,000 registrations keep %d bytes", after-before)
	}
	if entries, err := os.ReadDir(filepath.Dir(f.file)); err != nil || len(entries) > 0 {
		t.Errorf("they left %v on the disk, %v", entries, err)
	}
	f.log.Reset()

	for _, c := range []struct{ name, body, want string }{
		{"nothing", ``, "invalid_client_metadata"},
		{"no object", `[]`, "invalid_client_metadata"},
		{"too long", `{"redirect_uris":["` + callback + `"],"x":"` + strings.Repeat("x", maxDocument) + `"}`, "invalid_client_metadata"},
		{"no redirect", `{"client_name":"x"}`, "invalid_redirect_uri"},
		{"a site", `{"redirect_uris":["https://evil.example/cb"]}`, "invalid_redirect_uri"},
		{"an app", `{"redirect_uris":["cursor://callback"]}`, "invalid_redirect_uri"},
		{"a script", `{"redirect_uris":["javascript:alert(1)"]}`, "invalid_redirect_uri"},
		{"many", `{"redirect_uris":[` + strings.Repeat(`"`+callback+`",`, maxRedirects) + `"` + callback + `"]}`, "invalid_redirect_uri"},
		{"implicit", `{"redirect_uris":["` + callback + `"],"response_types":["token"]}`, "invalid_client_metadata"},
		{"password", `{"redirect_uris":["` + callback + `"],"grant_types":["password"]}`, "invalid_client_metadata"},
	} {
		w := f.send(request("POST", registerPath, "application/json", c.body))
		if w.Code != 400 || !strings.Contains(w.Body.String(), `"error":"`+c.want+`"`) || strings.Contains(w.Body.String(), "client_id") {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
	}
	// A web page can send a form or text, but not this without asking first; and then it is refused.
	if w := f.send(request("POST", registerPath, "text/plain", `{"redirect_uris":["`+callback+`"]}`)); w.Code != 400 {
		t.Errorf("text: %d", w.Code)
	}
	// A hostile name is cut, and goes to the person as it is: the question escapes it. The page doesn't show it.
	name := "<script>\u202eClaude\n" + strings.Repeat("x", 200)
	id := f.register(name, callback, "https://evil.example/cb")
	f.open()
	w := f.send(navigation(query(id)))
	if p := f.asked[0].Pairing; p.Claimed != name[:len(name)-(200-(maxName-len([]rune("<script>\u202eClaude\n"))))] || p.Name != "script-claude-xxxxxxxxxxxxxxxxxxxxxxxxxx" {
		t.Errorf("claimed %q, named %q", p.Claimed, p.Name)
	}
	if strings.Contains(w.Body.String(), "<script>") {
		t.Errorf("the page: %s", w.Body)
	}
}

// The zero Pairing, and an address that isn't there.
func TestNothing(t *testing.T) {
	w := httptest.NewRecorder()
	(&Pairing{}).ServeHTTP(w, navigation(query("x")))
	if w.Code != 404 {
		t.Errorf("the zero Pairing: %d", w.Code)
	}
	if _, err := New(Options{}); err == nil {
		t.Error("made of nothing")
	}
	f := newFixture(t)
	for _, path := range []string{"/", "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server/mcp", "/authorize/", "/token/x", "/introspect"} {
		if w := f.send(request("GET", path, "", "")); w.Code != 404 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	for _, path := range []string{resourcePath, serverPath} { // a script of a page could ask; it gets nothing
		r := request("GET", path, "", "")
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		if w := f.send(r); w.Code != 403 {
			t.Errorf("%s from a page: %d", path, w.Code)
		}
	}
}
