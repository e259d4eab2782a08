package server

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// hosts are what a request's Host header may be.
type hosts map[string]bool

func hostsOf(port int) hosts {
	h := hosts{}
	for _, name := range []string{"127.0.0.1", "[::1]", "localhost"} {
		h[name+":"+strconv.Itoa(port)] = true
		if port == 80 {
			h[name] = true
		}
	}
	return h
}

// check refuses what a web page could have sent. A page can make a browser send requests here, and can give our address a
// name of its own (DNS rebinding): so the Host must be a loopback name with our port, and an Origin, which browsers add
// and clients needn't, must be that same host. There are no CORS headers, so no other page ever gets an answer.
// (MCP 2025-11-25, transports: security warning.) It covers every method. tunnel is the host of the person's own HTTPS tunnel, by
// which requests come as well; "" for none. Its name is theirs, so no page's.
func (h hosts) check(r *http.Request, tunnel string) error {
	own := "http://" + r.Host
	switch {
	case tunnel != "" && r.Host == tunnel:
		own = "https://" + tunnel
	case !h[r.Host]:
		return fmt.Errorf("the Host header %q is not this endpoint's: use 127.0.0.1, [::1] or localhost with its port", r.Host)
	}
	origins := r.Header.Values("Origin")
	switch {
	case len(origins) == 0:
		return nil
	case len(origins) == 1 && origins[0] == own:
		return nil
	}
	return fmt.Errorf("the Origin header %q: web pages are not served here", strings.Join(origins, ", "))
}

// bearer is the token in a request's Authorization header (RFC 6750, 2.1), "" if there isn't exactly one. A token
// anywhere else, as in the address, is not looked for.
func bearer(r *http.Request) string {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return ""
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// loopback reads an address to listen on: the port of "127.0.0.1:port", "[::1]:port" or "localhost:port". Which of them it
// says makes no difference: both addresses are bound, since "localhost" is either. Port 0 chooses one.
func loopback(addr string) (port int, err error) {
	host, service, err := net.SplitHostPort(addr)
	if err != nil {
		return 0, fmt.Errorf("the address %q is not host:port", addr)
	}
	switch host {
	case "127.0.0.1", "::1", "localhost":
	case "":
		return 0, errors.New("an address without a host would listen to the network; use 127.0.0.1:port")
	default:
		return 0, fmt.Errorf("%q is not a loopback address; use 127.0.0.1:port", host)
	}
	n, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("the port %q is not a number up to 65535", service)
	}
	return int(n), nil
}
