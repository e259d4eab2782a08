// Package pairing lets the person connect an assistant without carrying a token to it: the assistant opens a page in the browser,
// the person answers in Handrail, and the assistant gets tokens of its own. It is the OAuth 2.1 authorization server that MCP asks
// for (2025-11-25, authorization), for public clients with PKCE alone, and the consent is the person's click in a dialog that no
// page and no program can answer.
//
//	the person chooses Connect        Open: for 5 minutes, one assistant may ask
//	  → the assistant finds us        metadata.go: RFC 9728 and RFC 8414
//	  → and says what it is           registration.go: RFC 7591, of which nothing is kept; document.go: a page that describes it
//	  → the browser comes             authorize.go: is it the person's navigation, and everything in order?
//	  → the person is asked           approval.Connect; the answer holds for exactly what was shown
//	  → the assistant gets tokens     token.go: a code, once; RFC 8707 resource; renewal, with the theft of a token noticed; RFC 7009
//
// A token is client.Tokens's, like one that was carried: `handrail connect` lists and revokes both. What a client may do with it
// isn't decided here.
//
// What a client says of itself proves nothing: any program on this computer can register with any name. What the person can go by
// is that they have just begun it themselves, and where the answer goes.
package pairing

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"handrail/core/approval"
	"handrail/core/client"
	"handrail/core/hint"
)

// Limits of a pairing.
const (
	// OpenFor is how long an assistant may ask after the person chose Connect.
	OpenFor = 5 * time.Minute
	// MaxTries is how many times the browser may come in that time. A second one while the first is asked about is refused.
	MaxTries = 20
	// CodeLasts is how long the assistant may take to fetch its tokens after the person's answer.
	CodeLasts = time.Minute
	// codeRemembered is how long a code that was used is known as used.
	codeRemembered = 10 * time.Minute
)

// Options say what a Pairing works with. Tokens, Ask and Forget are required.
type Options struct {
	Tokens *client.Tokens
	// Ask puts a question to the person and waits. It returns at once when ctx is over.
	Ask func(ctx context.Context, r approval.Request) approval.Decision
	// Forget takes back what outlives a client's sessions and lets it do more, by its client.Identity.ID, such as lasting rules:
	// the next client of that name starts without them.
	Forget func(clientID string) error
	// Tunnel gives the host name of the person's own HTTPS tunnel, to which assistants on the web connect; nil, or "": there is none,
	// and nothing but loopback addresses are answered.
	Tunnel func() string
	// Changed is called when the time to ask has ended before it was over, because an assistant had its answer. Nil: nobody is told.
	Changed func()
	// Log gets what was refused and why, without tokens, codes and addresses. Nil is silent.
	Log *slog.Logger
}

// Pairing is the authorization server. The zero value refuses everything; use New.
type Pairing struct {
	opts      Options
	mux       http.Handler
	documents documents

	mu     sync.Mutex
	window *window
	codes  []*code
}

// window is the time after the person chose Connect.
type window struct {
	name   string
	level  client.Level
	until  time.Time
	tries  int
	asking bool // a browser is being answered

	over  context.Context // ends with it
	close context.CancelFunc
}

// code is an authorization code, of which only the hash is kept, and what it was given for.
type code struct {
	hash     [sha256.Size]byte
	until    time.Time
	agreed   approval.Pairing
	clientID string
	used     bool
	pair     client.PairID // what it was exchanged for: that ends when the code is used again
}

// New gives a Pairing that isn't open.
func New(o Options) (*Pairing, error) {
	if o.Tokens == nil || o.Ask == nil || o.Forget == nil {
		return nil, errors.New("making the pairing: Tokens, Ask and Forget are needed")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p := &Pairing{opts: o, documents: newDocuments()}
	p.mux = p.routes()
	return p, nil
}

// Open lets one assistant ask within OpenFor. name is what it will be called, "" for the name that it gives itself; level what it may
// do at most: look or ask. An earlier Open ends. It must be called for the person alone: a menu's click, or a command of theirs.
func (p *Pairing) Open(name string, level client.Level) error {
	if level != client.Look && level != client.Ask {
		return hint.New("bad_level", fmt.Sprintf("an assistant can't be paired with the access level %q", level)).Then("use look or ask")
	}
	if name != "" {
		if err := client.UsableName(name); err != nil {
			return err
		}
		if p.opts.Tokens.Taken(name) {
			return hint.New("name_taken", fmt.Sprintf("there is already a client %q", name)).Then("revoke it first, or use another name")
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
	w := &window{name: name, level: level, until: time.Now().Add(OpenFor)}
	w.over, w.close = context.WithCancel(context.Background())
	p.window = w
	return nil
}

// Close ends what Open began. A question that is on the screen then lets nobody in, nor does a code that wasn't used yet.
func (p *Pairing) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
	p.codes = nil
}

// end ends what Open began, and withdraws its question. p.mu is held.
func (p *Pairing) end() {
	if p.window != nil {
		p.window.close()
		p.window = nil
	}
}

// Until is when the time to ask ends; the zero time when there is none.
func (p *Pairing) Until() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.window == nil || !time.Now().Before(p.window.until) {
		return time.Time{}
	}
	return p.window.until
}

// Why a browser isn't answered.
var (
	errClosed = errors.New("the person hasn't chosen Connect, or more than 5 minutes ago")
	errBusy   = errors.New("another assistant is being asked about")
	errTries  = errors.New("the browser has come too often")
)

// enter takes the place of the one browser that may be answered. leave gives it back, for another try if the question came to
// nothing.
func (p *Pairing) enter() (w *window, leave func(again bool), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w = p.window
	switch {
	case w == nil || !time.Now().Before(w.until):
		p.end()
		return nil, nil, errClosed
	case w.asking:
		return nil, nil, errBusy
	case w.tries >= MaxTries:
		return nil, nil, errTries
	}
	w.tries++
	w.asking = true
	return w, func(again bool) {
		p.mu.Lock()
		w.asking = false
		ends := !again && p.window == w
		if ends {
			p.end()
		}
		p.mu.Unlock()
		if ends && p.opts.Changed != nil {
			p.opts.Changed()
		}
	}, nil
}

// allow makes a code for what the person has agreed to, unless Close was called since the question was asked.
func (p *Pairing) allow(w *window, agreed approval.Pairing, clientID string) (text string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.window != w {
		return "", false
	}
	text = "hr_" + strings.ToLower(rand.Text()+rand.Text())
	p.forgetCodes()
	p.codes = append(p.codes, &code{hash: sha256.Sum256([]byte(text)), until: time.Now().Add(CodeLasts), agreed: agreed, clientID: clientID})
	return text, true
}

// forgetCodes leaves out the codes whose time is long over. p.mu is held.
func (p *Pairing) forgetCodes() {
	var left []*code
	for _, c := range p.codes {
		if time.Now().Before(c.until.Add(codeRemembered)) {
			left = append(left, c)
		}
	}
	p.codes = left
}

// find gives the code with that text, in the same time for each. p.mu is held.
func (p *Pairing) find(text string) *code {
	hash := sha256.Sum256([]byte(text))
	var found *code
	for _, c := range p.codes {
		if subtle.ConstantTimeCompare(hash[:], c.hash[:]) == 1 {
			found = c
		}
	}
	return found
}

// nameFor is the name that a client will have: the one that the person chose, that of its earlier pairing, or one like the name
// that it gives itself.
func (p *Pairing) nameFor(chosen, claimed string, with client.Partner) string {
	if chosen != "" {
		return chosen
	}
	if name := p.opts.Tokens.NameOf(with); name != "" {
		return name
	}
	var b strings.Builder
	for _, r := range strings.ToLower(claimed) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	base := b.String()
	base = strings.Trim(base[:min(len(base), 40)], "-")
	if base == "" {
		base = "assistant"
	}
	name := base
	for n := 2; p.opts.Tokens.Taken(name) && n < 1000; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return name
}

// Verify says whose access token it is, for a request that was sent to us.
func (p *Pairing) Verify(r *http.Request, token string) (client.Identity, client.Level, bool) {
	return p.opts.Tokens.VerifyPaired(token, p.resource(r))
}

// Challenge is what a request without a good token is answered with: where a client learns how to get one (RFC 9728, 5.1).
func (p *Pairing) Challenge(r *http.Request) string {
	return fmt.Sprintf("Bearer resource_metadata=%q", p.issuer(r)+resourcePath+mcpPath)
}

// issuer is the address of the server as the request has it. Its Host has been checked.
func (p *Pairing) issuer(r *http.Request) string {
	if p.tunneled(r) {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

func (p *Pairing) resource(r *http.Request) string { return p.issuer(r) + mcpPath }

// Tunnel is the host name of the person's tunnel, as Options has it.
func (p *Pairing) Tunnel() string {
	if p.opts.Tunnel == nil {
		return ""
	}
	return p.opts.Tunnel()
}

// tunneled says that a request came through the person's tunnel.
func (p *Pairing) tunneled(r *http.Request) bool {
	tunnel := p.Tunnel()
	return tunnel != "" && r.Host == tunnel
}
