package core

import (
	"context"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"handrail/core/approval"
	"handrail/core/client"
	"handrail/core/hint"
	"handrail/core/server"
	"handrail/core/setting"
)

var refresh = regexp.MustCompile(`<meta http-equiv="refresh" content="0; url=([^"]*)">`)

// browse opens an address as a person's browser does, and gives where the page leads it.
func browse(ctx context.Context, address string) (*url.URL, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	r.Header = http.Header{"Sec-Fetch-Site": {"none"}, "Sec-Fetch-Mode": {"navigate"}, "Sec-Fetch-Dest": {"document"}}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	m := refresh.FindSubmatch(page)
	if m == nil {
		return nil, fmt.Errorf("it leads nowhere: %s", page)
	}
	return url.Parse(html.UnescapeString(string(m[1])))
}

// joins connects the SDK's own client by OAuth, with a browser that shows its page to the person.
func joins(t *testing.T, endpoint string) (*mcp.ClientSession, auth.OAuthHandler, error) {
	t.Helper()
	return joinsFrom(t, endpoint, "http://127.0.0.1:33418/callback")
}

// joinsFrom is joins for a client that takes the answer at an address.
func joinsFrom(t *testing.T, endpoint, callback string) (*mcp.ClientSession, auth.OAuthHandler, error) {
	t.Helper()
	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "Go SDK", RedirectURIs: []string{callback}, GrantTypes: []string{"authorization_code", "refresh_token"}}},
		RedirectURL: callback,
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			u, err := browse(ctx, args.URL)
			if err != nil {
				return nil, err
			}
			q := u.Query()
			if q.Get("error") != "" {
				return nil, fmt.Errorf("refused: %s", q.Get("error"))
			}
			return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "go-sdk"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: endpoint, OAuthHandler: handler, MaxRetries: -1}, nil)
	return session, handler, err
}

// The SDK's own client pairs, works, and is sent away again; the person's one click lies between.
func TestPairing(t *testing.T) {
	o := options(t)
	o.PairAddr = "127.0.0.1:0"
	asked := make(chan approval.Request, 10)
	o.Asker = clicks(func(_ context.Context, r approval.Request) approval.Decision {
		asked <- r
		return approval.Allow(r, "dialog")
	})
	h := newHost(t, o)
	socket, err := h.ListenSocket()
	if err != nil {
		t.Fatal(err)
	}
	plain, err := h.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 2)
	go func() { served <- socket(ctx) }()
	go func() { served <- plain(ctx) }()
	t.Cleanup(func() { cancel(); <-served; <-served })

	endpoint, err := server.Pair(Socket(o.State), "mine", client.Ask)
	if err != nil {
		t.Fatal(err)
	}
	if h.Status().Pairing.IsZero() {
		t.Error("the status doesn't say that an assistant may ask")
	}
	if again, err := server.Pair(Socket(o.State), "mine", client.Ask); err != nil || again != endpoint {
		t.Errorf("a second time: %s, %v", again, err)
	}
	session, handler, err := joins(t, endpoint)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if r := <-asked; r.Kind != approval.Connect || r.Pairing.Name != "mine" || r.Pairing.Claimed != "Go SDK" || r.Pairing.Resource != endpoint {
		t.Errorf("asked: %+v", r.Pairing)
	}
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) < 5 {
		t.Fatalf("%v, %v", tools, err)
	}
	if result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_files", Arguments: map[string]any{"path": "."}}); err != nil || result.IsError {
		t.Errorf("%+v, %v", result, err)
	}
	source, err := handler.TokenSource(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	token, err := source.Token()
	if err != nil || token.RefreshToken == "" {
		t.Fatalf("%+v, %v", token, err)
	}

	// What each port takes, and shows.
	carried, err := h.tokens.New("carried", client.Ask)
	if err != nil {
		t.Fatal(err)
	}
	other := h.Status().Address
	own, _ := url.Parse(endpoint)
	for _, c := range []struct {
		name, method, address, token string
		change                       func(*http.Request)
		want                         int
		challenge                    string
	}{
		{"no token", "POST", endpoint, "", nil, 401, `Bearer resource_metadata="http://` + own.Host + `/.well-known/oauth-protected-resource/mcp"`},
		{"a carried token", "POST", endpoint, carried, nil, 401, "Bearer resource_metadata="},
		{"the refresh token", "POST", endpoint, token.RefreshToken, nil, 401, "Bearer resource_metadata="},
		{"under another name of this computer", "POST", strings.Replace(endpoint, "127.0.0.1", "localhost", 1), token.AccessToken, nil, 401, "Bearer resource_metadata="},
		{"in the address", "POST", endpoint + "?access_token=" + token.AccessToken, "", nil, 401, "Bearer resource_metadata="},
		{"the other port", "POST", other, token.AccessToken, nil, 401, "Bearer"},
		{"the other port's documents", "GET", strings.Replace(other, "/mcp", "/.well-known/oauth-protected-resource", 1), "", nil, 404, ""},
		{"the other port's page", "GET", strings.Replace(other, "/mcp", "/authorize", 1), "", nil, 404, ""},
		{"a name of somebody's", "POST", endpoint, token.AccessToken, func(r *http.Request) { r.Host = "evil.example:" + own.Port() }, 403, ""},
		{"a web page", "POST", endpoint, token.AccessToken, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, 403, ""},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, c.address, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if c.token != "" {
			r.Header.Set("Authorization", "Bearer "+c.token)
		}
		if c.change != nil {
			c.change(r)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if got := answer.Header.Get("WWW-Authenticate"); answer.StatusCode != c.want || !strings.HasPrefix(got, c.challenge) || c.challenge == "" && got != "" || c.challenge == "Bearer" && got != "Bearer" {
			t.Errorf("%s: %d, %q", c.name, answer.StatusCode, got)
		}
	}
	for _, path := range []string{"/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server", "/authorize?client_id=x", "/token", "/register", "/revoke", "/"} {
		for name, change := range map[string]func(*http.Request){
			"another host": func(r *http.Request) { r.Host = "evil.example:" + own.Port() }, "no port": func(r *http.Request) { r.Host = "127.0.0.1" },
			"a web page": func(r *http.Request) { r.Header.Set("Origin", "http://localhost:3000") }, "no origin": func(r *http.Request) { r.Header.Set("Origin", "null") },
		} {
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+own.Host+path, nil)
			r.Header = http.Header{"Sec-Fetch-Site": {"none"}, "Sec-Fetch-Mode": {"navigate"}, "Sec-Fetch-Dest": {"document"}}
			change(r)
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != 403 || answer.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s, %s: %d", path, name, answer.StatusCode)
			}
		}
	}

	// One click, one assistant; and the person's way to end it.
	if _, _, err := joins(t, endpoint); err == nil || len(asked) > 0 {
		t.Errorf("a second assistant on the same click: %v, %d questions", err, len(asked))
	}
	if live := h.sessions.Live(); !slices.ContainsFunc(live, func(s *client.Session) bool { return s.Client.ID == "http:mine" }) {
		t.Errorf("sessions: %+v", live)
	}
	if err := Tokens(o.State).Revoke("mine"); err != nil {
		t.Fatal(err)
	}
	if result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_files", Arguments: map[string]any{"path": "."}}); err == nil {
		t.Errorf("revoked, and let in: %+v", result)
	}
	text, err := os.ReadFile(logFile(o.State))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "a new assistant wants to connect as mine, at most ask; the answer goes to http://127.0.0.1:33418/callback") || strings.Contains(string(text), token.AccessToken) {
		t.Errorf("the log: %s", text)
	}
}

// tunnel is a person's own HTTPS tunnel to a port of this computer: what is sent to host, on the internet, comes out there.
func tunnel(t *testing.T, host, port string) {
	t.Helper()
	far := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: "127.0.0.1:" + port})
		r.Out.Host = r.In.Host
		r.SetXForwarded()
	}})
	t.Cleanup(far.Close)
	internet := http.DefaultTransport.(*http.Transport).Clone()
	internet.TLSClientConfig = far.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	internet.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if name, _, _ := net.SplitHostPort(address); name == host {
			address = far.Listener.Addr().String()
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	before := http.DefaultClient.Transport
	http.DefaultClient.Transport = internet
	t.Cleanup(func() { internet.CloseIdleConnections(); http.DefaultClient.Transport = before })
}

// By the person's own tunnel an assistant on the web pairs as one on this computer does: once they have said what the tunnel is called,
// by a click, and by their click on its question. Nothing else is good there, and nothing of it elsewhere, nor once they took it away.
func TestPairingByTunnel(t *testing.T) {
	o, keychain := options(t), new(keyring)
	if err := os.MkdirAll(o.State, 0o700); err != nil {
		t.Fatal(err)
	}
	person := clicker{make(chan approval.Request), make(chan func(approval.Request) approval.Decision)}
	o.Asker, o.Settings, o.PairAddr = person, setting.Open(o.State, keychain.get), "127.0.0.1:0"
	h := newHost(t, o)
	here, err := h.OpenPairing("", client.Ask)
	if err != nil {
		t.Fatal(err)
	}
	own, _ := url.Parse(here)
	tunnel(t, "example.com", own.Port())
	const there, callback = "https://example.com/mcp", "https://chatgpt.com/connector_platform_oauth_redirect"
	status := func(address, token string, change func(*http.Request)) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		if change != nil {
			change(r)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}

	if asks, err := h.Set(setting.Tunnel, " https://Example.com/mcp "); !asks || err != nil {
		t.Fatal(asks, err)
	}
	if r := <-person.shown; *r.Setting != (approval.Setting{Name: "tunnel", Now: "example.com"}) {
		t.Fatalf("%+v", r.Setting)
	}
	if host, wanted := h.Tunnel(); host != "" || wanted != "example.com" {
		t.Errorf("before the click: %q, %q", host, wanted)
	}
	if got := status(there, "", nil); got != 403 {
		t.Errorf("before the click: %d", got)
	}
	person.answers <- allows
	until(t, h, "the tunnel is set", func(Status) bool { return h.tunnel() != "" })
	if got := status(there, "", nil); got != 401 {
		t.Errorf("after it: %d", got)
	}

	go func() {
		r := <-person.shown
		person.answers <- func(approval.Request) approval.Decision {
			if r.Kind != approval.Connect || r.Pairing.Resource != there || r.Pairing.Redirect != callback {
				return approval.Decision{}
			}
			return approval.Allow(r, "dialog")
		}
	}()
	session, handler, err := joinsFrom(t, there, callback)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if tools, err := session.ListTools(t.Context(), nil); err != nil || len(tools.Tools) < 5 {
		t.Fatalf("%v, %v", tools, err)
	}
	source, err := handler.TokenSource(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	token, err := source.Token()
	if err != nil {
		t.Fatal(err)
	}
	carried, err := h.tokens.New("carried", client.Ask)
	if err != nil {
		t.Fatal(err)
	}
	near, err := h.tokens.Pair("near", client.Ask, client.Partner{Client: "near", Resource: here})
	if err != nil {
		t.Fatal(err)
	}
	as := func(host string) func(*http.Request) { return func(r *http.Request) { r.Host = host } }
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for _, c := range []struct {
		name, address, token string
		change               func(*http.Request)
		want                 int
	}{
		{"a token of this computer's, by the tunnel", there, near.Access, nil, 401},
		{"a carried token, by the tunnel", there, carried, nil, 401},
		{"the refresh token", there, token.RefreshToken, nil, 401},
		{"the tunnel's token on this computer", here, token.AccessToken, nil, 401},
		{"with a port", there, token.AccessToken, as("example.com:443"), 403},
		{"with a dot", there, token.AccessToken, as("example.com."), 403},
		{"in capitals", there, token.AccessToken, as("EXAMPLE.com"), 403},
		{"another name", there, token.AccessToken, as("www.example.com"), 403},
		{"another name, that was forwarded", here, token.AccessToken, func(r *http.Request) {
			r.Host = "evil.example"
			r.Header.Set("X-Forwarded-Host", "example.com")
			r.Header.Set("Forwarded", "host=example.com;proto=https")
		}, 403},
		{"a web page", there, token.AccessToken, header("Origin", "https://evil.example"), 403},
		{"a web page without a name", there, token.AccessToken, header("Origin", "null"), 403},
		{"a web page of that name, not encrypted", there, token.AccessToken, header("Origin", "http://example.com"), 403},
	} {
		if got := status(c.address, c.token, c.change); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	// Through the tunnel no program on this computer takes the answer, and on this computer no site does.
	for address, to := range map[string]string{there: "http://127.0.0.1:33418/callback", here: callback} {
		if _, err := h.OpenPairing("", client.Ask); err != nil {
			t.Fatal(err)
		}
		if _, _, err := joinsFrom(t, address, to); err == nil {
			t.Errorf("%s: the answer goes to %s", address, to)
		}
	}

	if asks, err := h.Set(setting.Tunnel, ""); asks || err != nil {
		t.Fatal(asks, err)
	}
	if result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_files", Arguments: map[string]any{"path": "."}}); err == nil {
		t.Errorf("taken away, and let in: %+v", result)
	}
	if got := status(there, token.AccessToken, nil); got != 403 {
		t.Errorf("taken away: %d", got)
	}
	list, err := h.tokens.List()
	if err != nil || slices.ContainsFunc(list, func(t client.Token) bool { return t.Paired && t.Name != "near" }) || len(list) != 2 {
		t.Errorf("left: %+v, %v", list, err)
	}
}

// What can't be a tunnel's name says so, and asks nobody.
func TestTunnelName(t *testing.T) {
	h, _, _ := settingWorld(t)
	for _, name := range []string{"localhost", "127.0.0.1", "my-mac", "my-mac.local", "a..example", "example.com:443", "http://example.com", "https://example.com/other", "exam ple.com", "exämple.com",
		"-a.example", "a-.example", strings.Repeat("a", 64) + ".example", strings.Repeat("a.", 130) + "example", "user@example.com", "[::1]", "*.example.com"} {
		if asks, err := h.Set(setting.Tunnel, name); asks || hint.Code(err) != "bad_host" {
			t.Errorf("%q: %v, %v", name, asks, err)
		}
	}
	if host, wanted := h.Tunnel(); host != "" || wanted != "" {
		t.Errorf("%q, %q", host, wanted)
	}
}

func logFile(state string) string {
	file, _ := LogFiles(state)
	return file
}

type clicks func(context.Context, approval.Request) approval.Decision

func (f clicks) Ask(ctx context.Context, r approval.Request) approval.Decision { return f(ctx, r) }

// Where nobody can be asked, or wants to be, nobody is waited for; a no is a no.
func TestPairingRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Options)
		code   string
	}{
		"nobody can be asked": {func(o *Options) { o.Asker = nil }, "no_one_to_ask"},
		"a phrase can't":      {func(o *Options) { o.Asker, o.Nonce = nil, true }, "no_one_to_ask"},
		"no address":          {func(o *Options) { o.PairAddr = "" }, "no_pairing"},
		"not the network":     {func(o *Options) { o.PairAddr = "0.0.0.0:0" }, "bad_address"},
	} {
		o := options(t)
		o.PairAddr = "127.0.0.1:0"
		c.change(&o)
		h := newHost(t, o)
		if url, err := h.OpenPairing("", client.Ask); hint.Code(err) != c.code || url != "" || !h.Status().Pairing.IsZero() {
			t.Errorf("%s: %q, %v", name, url, err)
		}
	}
	o := options(t)
	o.PairAddr = "127.0.0.1:0"
	asked := 0
	o.Asker = clicks(func(context.Context, approval.Request) approval.Decision {
		asked++
		return approval.Refuse(approval.Refused, "dialog", "")
	})
	h := newHost(t, o)
	if err := h.ServePaired(); err != nil || h.paired != "" {
		t.Errorf("a port for nobody: %q, %v", h.paired, err)
	}
	endpoint, err := h.OpenPairing("", client.Ask)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := joins(t, endpoint); err == nil || asked != 1 || h.tokens.HasPaired() {
		t.Errorf("after a no: %v; asked %d times", err, asked)
	}
	for name, end := range map[string]func(){"pause": func() { h.Pause(0) }, "revoke all": h.RevokeAll} {
		h.Resume()
		if _, err := h.OpenPairing("", client.Ask); err != nil {
			t.Fatal(err)
		}
		end()
		if _, _, err := joins(t, endpoint); err == nil || asked != 1 {
			t.Errorf("after %s: %v; asked %d times", name, err, asked)
		}
	}
	h.Pause(0)
	if _, err := h.OpenPairing("", client.Ask); hint.Code(err) != "paused" {
		t.Errorf("paused: %v", err)
	}
}
