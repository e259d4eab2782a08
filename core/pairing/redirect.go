package pairing

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const maxRedirect = 1000 // bytes

// loopbackHosts are the names by which a program on this computer may be reached, spelled just so.
var loopbackHosts = []string{"127.0.0.1", "[::1]", "localhost"}

// tunnelRedirects are where assistants on the web take the answer to. They are good for requests through the person's tunnel alone.
var tunnelRedirects = []string{
	"https://claude.ai/api/mcp/auth_callback",
	"https://claude.com/api/mcp/auth_callback",
	"https://chatgpt.com/connector_platform_oauth_redirect",
}

// redirectable says why an answer can't be sent to an address: nil for http to a loopback address, and through a tunnel for one of
// the short list, and nothing else.
func redirectable(address string, tunneled bool) error {
	if tunneled {
		if !slices.Contains(tunnelRedirects, address) {
			return errors.New("the redirect address is not one that an assistant on the web may have here")
		}
		return nil
	}
	_, err := loopbackRedirect(address)
	return err
}

// loopbackRedirect reads a redirect address on a loopback address. Each has one spelling: whatever a browser might read otherwise
// than we do is refused.
func loopbackRedirect(address string) (*url.URL, error) {
	if address == "" || len(address) > maxRedirect {
		return nil, errors.New("the redirect address is missing or too long")
	}
	for _, r := range address {
		if r <= ' ' || r > '~' || strings.ContainsRune(`\<>"'`+"`{}|^", r) {
			return nil, errors.New("the redirect address has a character that belongs into no address")
		}
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, errors.New("the redirect address is none")
	case u.Scheme != "http" || !strings.HasPrefix(address, "http://"):
		return nil, errors.New("the redirect address is not http://")
	case u.User != nil || strings.Contains(u.Host, "@"):
		return nil, errors.New("the redirect address holds a user")
	case strings.Contains(address, "#"):
		return nil, errors.New("the redirect address holds a fragment")
	case u.Opaque != "" || u.String() != address:
		return nil, errors.New("the redirect address is not in its plain spelling")
	}
	host, port := u.Host, ""
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		host, port = host[:i], host[i+1:]
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
			return nil, errors.New("the redirect address has no port from 1 to 65535")
		}
	}
	if !slices.Contains(loopbackHosts, host) {
		return nil, fmt.Errorf("the redirect address is not on this computer: its host must be 127.0.0.1, [::1] or localhost")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errors.New("the redirect address has a query that can't be read")
	}
	for _, ours := range []string{"code", "state", "iss", "error", "error_description"} {
		if query.Has(ours) {
			return nil, fmt.Errorf("the redirect address has a query with %s of its own", ours)
		}
	}
	return u, nil
}

// registered says that an address is one that the client named. On a loopback address the port may be another, for a program gets
// one when it starts (RFC 8252, 7.3); all else is compared letter by letter.
func registered(list []string, address string) bool {
	if slices.Contains(list, address) {
		return true
	}
	portless := func(s string) (string, bool) {
		u, err := loopbackRedirect(s)
		if err != nil {
			return "", false
		}
		if port := u.Port(); port != "" {
			u.Host = strings.TrimSuffix(u.Host, ":"+port)
		}
		return u.String(), true
	}
	want, ok := portless(address)
	return ok && slices.ContainsFunc(list, func(s string) bool {
		have, ok := portless(s)
		return ok && have == want
	})
}

// ownPort says that an address leads back to the host that the request came to.
func ownPort(address, host string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return true
	}
	_, own, _ := strings.Cut(host[strings.LastIndexByte(host, ']')+1:], ":")
	return u.Scheme == "http" && own != "" && u.Port() == own
}
