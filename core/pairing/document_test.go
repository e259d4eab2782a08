package pairing

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"

	"code.dny.dev/ssrf"
)

const documentID = "https://client.example.com/oauth/client.json"

// served gives documents that are fetched from a server of the test's, whatever their address; the last connection's guard is allowed's.
func served(t *testing.T, answer http.HandlerFunc, allowed func(string, string, syscall.RawConn) error) documents {
	t.Helper()
	s := httptest.NewTLSServer(answer)
	t.Cleanup(s.Close)
	d := documents{documentClient(allowed)}
	transport := d.http.Transport.(*http.Transport)
	transport.TLSClientConfig = s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	transport.TLSClientConfig.ServerName = "example.com"
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) { // as if the name led there
		return dial(ctx, network, s.Listener.Addr().String())
	}
	return d
}

func anywhere(string, string, syscall.RawConn) error { return nil }

func TestDocument(t *testing.T) {
	good := fmt.Sprintf(`{"client_id":%q,"client_name":"Claude Code","redirect_uris":["http://localhost/callback"],"token_endpoint_auth_method":"none"}`, documentID)
	says := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, text)
		}
	}
	d, err := served(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.String() != "/oauth/client.json" || r.Host != "client.example.com" || r.Header.Get("Cookie")+r.Header.Get("Referer")+r.Header.Get("Authorization") != "" {
			t.Errorf("asked for %s at %s: %v", r.URL, r.Host, r.Header)
		}
		says(good)(w, r)
	}, anywhere).fetch(t.Context(), documentID)
	if err != nil || d.Name != "Claude Code" || !slices.Equal(d.Redirects, []string{"http://localhost/callback"}) {
		t.Errorf("%+v, %v", d, err)
	}
	for name, answer := range map[string]http.HandlerFunc{
		"another client's": says(strings.Replace(good, "client.json", "other.json", 1)),
		"no id":            says(`{"redirect_uris":["http://localhost/callback"]}`),
		"no redirects":     says(fmt.Sprintf(`{"client_id":%q}`, documentID)),
		"a secret":         says(strings.Replace(good, `"none"`, `"client_secret_post"`, 1)),
		"no JSON":          says("<html>"),
		"nothing":          says(""),
		"too long":         says(good[:len(good)-1] + `,"x":"` + strings.Repeat("x", maxDocument) + `"}`),
		"text": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, good)
		},
		"not there":  func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(404); says(good)(w, r) },
		"a redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
		"a redirect with a page": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", documentID)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(302)
			fmt.Fprint(w, good)
		},
	} {
		asked := 0
		d, err := served(t, func(w http.ResponseWriter, r *http.Request) { asked++; answer(w, r) }, anywhere).fetch(t.Context(), documentID)
		if err == nil || asked != 1 {
			t.Errorf("%s: %+v, asked %d times", name, d, asked)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	endless := served(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, "{")
		http.NewResponseController(w).Flush()
		cancel() // the browser has gone
		<-r.Context().Done()
	}, anywhere)
	if _, err := endless.fetch(ctx, documentID); !errors.Is(err, context.Canceled) {
		t.Errorf("without an end: %v", err)
	}
	if endless.http.Timeout != documentTime {
		t.Errorf("it may take %v", endless.http.Timeout)
	}
}

// A name that leads to this computer, or into the person's network, is refused when the connection is made.
func TestDocumentAddress(t *testing.T) {
	asked := false
	guard := newDocuments()
	_, err := served(t, func(http.ResponseWriter, *http.Request) { asked = true }, ssrf.New(ssrf.WithAnyPort()).Safe).fetch(t.Context(), documentID)
	if !errors.Is(err, ssrf.ErrProhibitedIP) || asked {
		t.Errorf("a name that leads to this computer: %v", err)
	}
	transport := guard.http.Transport.(*http.Transport)
	if transport.Proxy != nil {
		t.Error("a proxy would be asked")
	}
	for _, address := range []string{
		"127.0.0.1:443", "[::1]:443", "0.0.0.0:443", "[::]:443", "10.0.0.1:443", "172.16.0.1:443", "192.168.1.1:443", "169.254.169.254:443", "100.64.0.1:443", "[fe80::1]:443", "[fd00::1]:443", "[::ffff:127.0.0.1]:443", "[64:ff9b::7f00:1]:443",
		"[2002:7f00:1::]:443", "224.0.0.1:443", "[ff02::1]:443", "255.255.255.255:443", "192.0.2.1:443", "198.51.100.1:80", "127.0.0.1:22",
	} {
		conn, err := transport.DialContext(t.Context(), "tcp", address)
		if err == nil {
			conn.Close()
		}
		if !errors.Is(err, ssrf.ErrProhibitedIP) && !errors.Is(err, ssrf.ErrProhibitedPort) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestDocumentURL(t *testing.T) {
	for _, good := range []string{documentID, "https://claude.ai/oauth/claude-code-client-metadata", "https://a.b/c"} {
		if _, err := documentURL(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", "https://", "http://client.example.com/c", "https://client.example.com", "https://client.example.com/", "https://client.example.com/c#f", "https://client.example.com/c#", "https://client.example.com/c?q", "https://client.example.com:8443/c", "https://client.example.com:443/c",
		"https://ann@client.example.com/c", "https://client.example.com/../c", "https://client.example.com/a/./c", "https://localhost/c", "https://127.0.0.1/c", "https://[::1]/c", "https://CLIENT.example.com/c", "https://client.example.com\\@x/c", "https:client.example.com/c",
		"https://client.example.com/c d", "https://a.b/" + strings.Repeat("c", maxRedirect),
	} {
		if u, err := documentURL(bad); err == nil {
			t.Errorf("%q is taken for %v", bad, u)
		}
	}
}

// A page is fetched only after the person chose Connect and for a request that the browser sends; what it says is then asked about.
func TestDocumentPairing(t *testing.T) {
	f := newFixture(t)
	asked := 0
	f.documents = served(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"client_id":%q,"client_name":"Claude Code","redirect_uris":["http://localhost/callback","http://127.0.0.1/callback"]}`, documentID)
	}, anywhere)
	f.send(navigation(query(documentID)))
	page := navigation(query(documentID))
	page.Header.Set("Sec-Fetch-Site", "cross-site")
	f.open()
	f.send(page)
	if asked > 0 {
		t.Fatal("it was fetched while nobody was expected, or for a web page")
	}
	q := query(documentID)
	q.Set("redirect_uri", "http://127.0.0.1/other")
	f.send(navigation(q))
	if f.questions() > 0 {
		t.Error("asked about a redirect that isn't the client's")
	}
	w := f.send(navigation(query(documentID)))
	u := onto(t, w.Body.String())
	if p := f.asked[0].Pairing; u == nil || p.Document != documentID || p.Claimed != "Claude Code" || p.Redirect != callback {
		t.Fatalf("asked %+v; %s", p, w.Body)
	}
	if status, answer := f.post(tokenPath, form(documentID, u.Query().Get("code"))); status != 200 {
		t.Errorf("%d %v", status, answer)
	}
}
