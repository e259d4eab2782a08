package pairing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// documentTime bounds the reading of a client's page, all in all.
const documentTime = 5 * time.Second

// documents fetches the pages by which clients describe themselves (OAuth Client ID Metadata Document, draft-00). A page is only
// fetched while the person has Connect open, and for the one browser that is being answered.
type documents struct{ http *http.Client }

func newDocuments() documents {
	return documents{documentClient(ssrf.New(ssrf.WithNetworks("tcp4", "tcp6"), ssrf.WithPorts(443)).Safe)}
}

// documentClient reaches the addresses that allowed lets through. It is asked when the connection is made, of the address that it
// is made to: a name that leads elsewhere the second time gains nothing. The environment's proxy isn't used, since it would ask for us.
func documentClient(allowed func(network, address string, c syscall.RawConn) error) *http.Client {
	return &http.Client{
		Timeout:       documentTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:            (&net.Dialer{Control: allowed}).DialContext,
			ForceAttemptHTTP2:      true,
			DisableKeepAlives:      true,
			MaxResponseHeaderBytes: 16 << 10,
		},
	}
}

// isDocument says that a client identifier is the address of a page.
func isDocument(id string) bool { return strings.HasPrefix(id, "https://") }

// documentURL reads the address of a client's page (draft-00, 3): https, a host name, a path; no user, port, query or fragment.
func documentURL(id string) (*url.URL, error) {
	u, err := url.Parse(id)
	bad := err != nil || len(id) > maxRedirect || u.Scheme != "https" || u.String() != id || u.User != nil || u.Port() != "" || u.Host != strings.ToLower(u.Hostname()) ||
		!strings.Contains(u.Host, ".") || net.ParseIP(u.Host) != nil || len(u.Path) < 2 || strings.ContainsAny(id, "#?\\@")
	if !bad {
		for part := range strings.SplitSeq(u.Path, "/") {
			bad = bad || part == "." || part == ".."
		}
	}
	if bad {
		return nil, errors.New("the client identifier is not the address of a page: https, a host name and a path, and nothing else")
	}
	return u, nil
}

// fetch reads the page at id and what it says of the client.
func (d documents) fetch(ctx context.Context, id string) (description, error) {
	u, err := documentURL(id)
	if err != nil {
		return description{}, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return description{}, err
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "handrail")
	answer, err := d.http.Do(r)
	if err != nil {
		return description{}, fmt.Errorf("fetching the client's page: %w", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxDocument+1))
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	switch {
	case answer.StatusCode != http.StatusOK:
		return description{}, fmt.Errorf("fetching the client's page: it was answered with status %d", answer.StatusCode)
	case err != nil:
		return description{}, fmt.Errorf("fetching the client's page: %w", err)
	case len(text) > maxDocument:
		return description{}, fmt.Errorf("the client's page is longer than %d bytes", maxDocument)
	case kind != "application/json" && !strings.HasSuffix(kind, "+json"):
		return description{}, errors.New("the client's page is not JSON")
	}
	var said struct {
		ID        string   `json:"client_id"`
		Name      string   `json:"client_name"`
		Redirects []string `json:"redirect_uris"`
		Method    string   `json:"token_endpoint_auth_method"`
	}
	switch err := json.Unmarshal(text, &said); {
	case err != nil:
		return description{}, errors.New("the client's page is not the JSON that it should be")
	case said.ID != id:
		return description{}, errors.New("the client's page is another client's")
	case said.Method != "" && said.Method != "none":
		return description{}, errors.New("the client's page asks for a way to sign in that isn't served")
	case len(said.Redirects) == 0 || len(said.Redirects) > maxDocument/20:
		return description{}, errors.New("the client's page names no redirect address")
	}
	return description{Name: cut(said.Name), Redirects: said.Redirects}, nil
}
