package core

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"handrail/core/approval"
	"handrail/core/audit"
	"handrail/core/client"
	"handrail/core/grant"
	"handrail/core/hint"
)

// OpenPairing lets one new assistant ask to connect within pairing.OpenFor, and gives the address that the assistant is to be given.
// name is what it will be called, "" for the name that it gives itself; level is look or ask. What it asks is put to the person; this
// alone lets nobody in. The person alone may cause it: by the menu, or by `handrail connect --pair`, which comes over the socket that
// no command in the sandbox can reach.
func (h *Host) OpenPairing(name string, level client.Level) (url string, err error) {
	switch {
	case h.opts.PairAddr == "":
		return "", hint.New("no_pairing", "assistants can't be paired here").Because("Handrail was started without an address for it").Then("start it with --pair-addr")
	case h.opts.Asker == nil:
		return "", hint.New("no_one_to_ask", "assistants can't be paired here").Because("you can't be asked: there is no screen and no terminal").Then("make a token: handrail connect NAME --http")
	case h.Paused():
		return "", hint.New("paused", "Handrail is paused").Then("resume it first")
	}
	url, err = h.listenPaired()
	if err == nil {
		err = h.pairing.Open(name, level)
	}
	if err != nil {
		return "", err
	}
	h.note("a new assistant may ask to connect, for 5 minutes")
	return url, nil
}

// Pairing is the address that a new assistant is given, and until when it may ask to connect; empty when none may.
func (h *Host) Pairing() (url string, until time.Time) {
	if until = h.pairing.Until(); until.IsZero() {
		return "", until
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.paired, until
}

// StopPairing ends what OpenPairing began: no assistant may ask any more.
func (h *Host) StopPairing() {
	if h.pairing.Until().IsZero() {
		return
	}
	h.pairing.Close()
	h.note("no new assistant may ask to connect any more")
}

// AskToken asks the person, in a question that only their click answers, whether a client may come in by a token that they carry to
// it, and makes one for the endpoint at url if they allow it. This is the only time that it can be seen. It waits for the answer,
// and withdraws the question when ctx ends. name is what the client will be called. Errors are hints: no_http, bad_name, name_taken,
// paused, refused.
func (h *Host) AskToken(ctx context.Context, name string) (token, url string, err error) {
	h.mu.Lock()
	url = h.address
	h.mu.Unlock()
	switch {
	case url == "":
		return "", "", hint.New("no_http", "no assistant can connect with a token").Because("Handrail doesn't listen for HTTP: another program has its port, or it was started without an address")
	case h.opts.Asker == nil:
		return "", "", hint.New("no_one_to_ask", "no token can be made here").Because("you can't be asked")
	case h.Paused():
		return "", "", hint.New("paused", "Handrail is paused").Then("resume it first")
	}
	if err := client.UsableName(name); err != nil {
		return "", "", err
	}
	if h.tokens.Taken(name) {
		return "", "", hint.New("name_taken", fmt.Sprintf("there is already a client %q", name)).Then("use another name")
	}
	r := approval.Request{Kind: approval.NewToken, Pairing: &approval.Pairing{Name: name, Level: client.Ask.String(), Resource: url}}
	if d := h.askComing(ctx, r, fmt.Sprintf("a client is to connect with a token, as %s, at most %s", name, r.Pairing.Level)); d.Covers(r) != nil {
		return "", "", hint.New("refused", "no token was made").Because("you weren't asked, or didn't allow it")
	}
	token, err = h.tokens.New(name, client.Ask)
	return token, url, err
}

// RevokeToken takes back a token that was made a moment ago and reached nobody.
func (h *Host) RevokeToken(name string) error { return h.tokens.Revoke(name) }

// ServePaired binds the port for paired assistants, if there is one that needs it. It serves until the host is closed. Otherwise it is
// bound when the person first lets one ask.
func (h *Host) ServePaired() error {
	if h.opts.PairAddr == "" || !h.tokens.HasPaired() {
		return nil
	}
	_, err := h.listenPaired()
	return err
}

// listenPaired binds the port for paired assistants, if that wasn't done, and gives its address.
func (h *Host) listenPaired() (url string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.paired != "" {
		return h.paired, nil
	}
	if h.life.Err() != nil {
		return "", errNoSession
	}
	e, err := h.server.ListenFor(h.opts.PairAddr, h.pairing)
	if err != nil {
		return "", err
	}
	h.paired = e.URL()
	h.asking.Go(func() {
		if err := e.Serve(h.life); err != nil {
			h.log.Error("paired assistants can't connect any more", "error", err)
		}
	})
	return h.paired, nil
}

// askPairing puts the question about a new assistant to the person. It withdraws it when ctx ends.
func (h *Host) askPairing(ctx context.Context, r approval.Request) approval.Decision {
	if h.Paused() {
		return approval.Refuse(approval.CouldNotShow, "", "Handrail is paused")
	}
	p := r.Pairing
	return h.askComing(ctx, r, fmt.Sprintf("a new assistant wants to connect as %s, at most %s; the answer goes to %s", p.Name, p.Level, p.Redirect))
}

// askComing asks who may come in, and records it as text. An answer that can't be recorded is none.
func (h *Host) askComing(ctx context.Context, r approval.Request, text string) approval.Decision {
	record := func(k audit.Kind, d approval.Decision) error {
		a := audit.Record{Kind: k, Client: r.Pairing.Claimed, Text: text}
		if k == audit.Decision {
			a.By, a.Outcome, a.Detail = d.Surface, d.Verdict.String(), d.Detail
		}
		return h.audit.Append(a)
	}
	if err := record(audit.Question, approval.Decision{}); err != nil {
		return approval.Refuse(approval.CouldNotShow, "", err.Error())
	}
	d := h.queue.Ask(ctx, nil, h.life, "pairing\x00"+rand.Text(), r, approval.Lives).Decision
	if err := record(audit.Decision, d); err != nil {
		return approval.Refuse(approval.CouldNotShow, d.Surface, err.Error())
	}
	return d
}

// Forget takes back what outlives the sessions of a client that is known by a token, by the client's ID: what its package managers have
// kept, its lasting rules and what is turned on for it. A new token of that name starts without any; tools that are off stay off. Where
// no keychain answers now, there may be rules from when one did.
func Forget(work string, rules *approval.Rules, switches *grant.Switches, clientID string) error {
	err := rules.Forget(clientID)
	if errors.Is(err, approval.ErrNoKey) {
		if _, missing := os.Lstat(rules.File()); errors.Is(missing, fs.ErrNotExist) {
			err = nil
		} else {
			err = fmt.Errorf("commands that were always allowed to it may still be: %w; `handrail rules clear` takes all of them back", err)
		}
	}
	return errors.Join(os.RemoveAll(cachesOf(work, clientID)), err, switches.Forget(clientID))
}
