package pairing

import (
	"net/http/httptest"
	"strings"
	"testing"
)

func TestLoopbackRedirect(t *testing.T) {
	for _, good := range []string{
		"http://127.0.0.1:33418/callback", "http://localhost:1/", "http://[::1]:65535/a/b?x=1&y", "http://localhost/callback", "http://127.0.0.1", "http://127.0.0.1:80/%20",
	} {
		if _, err := loopbackRedirect(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", "x", "/callback", "//127.0.0.1/callback", "https://127.0.0.1/cb", "HTTP://127.0.0.1/cb", "ftp://127.0.0.1/", "javascript:alert(1)//127.0.0.1", "data:text/html,x", "file:///etc/passwd", "cursor://callback", "http:127.0.0.1",
		"http:///callback", "http://evil.example/cb", "http://127.0.0.1.evil.example/", "http://localhost.evil.example/", "http://localhost./", "http://LOCALHOST/", "http://foo.localhost/",
		"http://127.0.0.2/", "http://127.1/", "http://127.0.1/", "http://0177.0.0.1/", "http://0x7f.0.0.1/", "http://2130706433/", "http://0.0.0.0/", "http://[::]/", "http://[::ffff:127.0.0.1]/", "http://[0:0:0:0:0:0:0:1]/", "http://[::1%25lo]/", "http://::1/",
		"http://ann@127.0.0.1/", "http://127.0.0.1@evil.example/", "http://127.0.0.1:80@evil.example/", "http://:@127.0.0.1/", "http://127.0.0.1\\@evil.example/", "http://evil.example\\@127.0.0.1/", "http://127.0.0.1%2eevil.example/", "http://%6cocalhost/",
		"http://127.0.0.1/#x", "http://127.0.0.1/#", "http://127.0.0.1:0/", "http://127.0.0.1:65536/", "http://127.0.0.1:080/", "http://127.0.0.1:+80/", "http://127.0.0.1:/", "http://127.0.0.1:8x/", "http://127.0.0.1:80:81/",
		"http://127.0.0.1/\nx", "http://127.0.0.1/\tx", " http://127.0.0.1/", "http://127.0.0.1/ x", "http://127.0.0.1/é", "http://127.0.0.1/\u202e", "http://127.0.0.1/\x00", "http://127.0.0.1/<b>", "http://127.0.0.1/\"", "http://127.0.0.1/'", "http://１２７.0.0.1/",
		"http://127.0.0.1/?code=x", "http://127.0.0.1/?state=x", "http://127.0.0.1/?a&iss=x", "http://127.0.0.1/?error", "http://127.0.0.1/?%63ode=x", "http://127.0.0.1/?a;b", "http://127.0.0.1/%zz",
		"http://127.0.0.1/" + strings.Repeat("a", maxRedirect),
	} {
		if u, err := loopbackRedirect(bad); err == nil {
			t.Errorf("%q is taken for %v", bad, u)
		}
	}
}

func TestRegistered(t *testing.T) {
	list := []string{"http://127.0.0.1/callback", "http://localhost:8000/cb?x=1"}
	for address, want := range map[string]bool{
		"http://127.0.0.1/callback": true, "http://127.0.0.1:33418/callback": true, "http://localhost:9/cb?x=1": true, "http://localhost/cb?x=1": true,
		"http://localhost:8000/callback": false, "http://[::1]:33418/callback": false, "http://127.0.0.1/callback/": false, "http://127.0.0.1/Callback": false, "http://127.0.0.1/callback?": false,
		"http://127.0.0.1/callback?x=1": false, "http://localhost:8000/cb": false, "http://localhost:8000/cb?x=2": false, "http://127.0.0.1:33418@evil.example/callback": false, "http://127.0.0.1/%63allback": false,
		"http://127.0.0.1/x/../callback": false, "": false,
	} {
		if got := registered(list, address); got != want {
			t.Errorf("%q: %v", address, got)
		}
	}
}

// The sites to which assistants on the web take answers are good through the person's tunnel, and only there.
func TestTunnel(t *testing.T) {
	for _, site := range tunnelRedirects {
		if redirectable(site, false) == nil {
			t.Errorf("%s without a tunnel", site)
		}
		if err := redirectable(site, true); err != nil {
			t.Errorf("%s through the tunnel: %v", site, err)
		}
		for _, other := range []string{site + "/", site + "?x", site + "#", "http" + strings.TrimPrefix(site, "https"), strings.Replace(site, "https://", "https://evil.example/", 1), strings.ToUpper(site)} {
			if redirectable(other, true) == nil {
				t.Errorf("%s through the tunnel", other)
			}
		}
	}
	if redirectable("http://127.0.0.1:1/cb", true) == nil {
		t.Error("a program on this computer through the tunnel")
	}
	f := newFixture(t)
	r := httptest.NewRequest("GET", serverPath, nil)
	for host, want := range map[string]string{"127.0.0.1:7438": "http://127.0.0.1:7438", "mine.tunnel.example": "http://mine.tunnel.example"} {
		if r.Host = host; f.issuer(r) != want || f.tunneled(r) {
			t.Errorf("without a tunnel: %s", f.issuer(r))
		}
	}
	r.Host = ""
	if f.tunneled(r) {
		t.Error("no host is a tunnel's")
	}
	f.opts.Tunnel = func() string { return "mine.tunnel.example" }
	for host, want := range map[string]bool{"mine.tunnel.example": true, "other.tunnel.example": false, "mine.tunnel.example:443": false, "127.0.0.1:7438": false} {
		if r.Host = host; f.tunneled(r) != want {
			t.Errorf("%s is the tunnel: %v", host, !want)
		}
	}
	// A site leads the browser here itself; on this computer's own address that stays refused.
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	r.Header.Set("Sec-Fetch-Mode", "navigate")
	r.Header.Set("Sec-Fetch-Dest", "document")
	for host, want := range map[string]bool{"mine.tunnel.example": true, "127.0.0.1:7438": false} {
		if r.Host = host; (f.navigation(r) == nil) != want {
			t.Errorf("from a site to %s: %v", host, f.navigation(r))
		}
	}
}

func TestOwnPort(t *testing.T) {
	for _, c := range []struct {
		address, host string
		want          bool
	}{
		{"http://127.0.0.1:7438/cb", "127.0.0.1:7438", true}, {"http://localhost:7438/cb", "127.0.0.1:7438", true}, {"http://[::1]:7438/", "[::1]:7438", true}, {"http://localhost:7438/", "[::1]:7438", true},
		{"http://127.0.0.1:7439/cb", "127.0.0.1:7438", false}, {"http://127.0.0.1/cb", "127.0.0.1:7438", false}, {"https://claude.ai/x", "mine.tunnel.example", false},
	} {
		if got := ownPort(c.address, c.host); got != c.want {
			t.Errorf("%s at %s: %v", c.address, c.host, got)
		}
	}
}
