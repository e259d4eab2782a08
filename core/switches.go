package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"handrail/core/approval"
	"handrail/core/audit"
	"handrail/core/client"
	"handrail/core/grant"
	"handrail/core/setting"
	"handrail/core/tool"
)

// ClientSwitches is what the person has set for one client, and what of it waits for their click.
type ClientSwitches struct {
	Client string // its credential: "http:" and its token's name, or "stdio:" and its program
	// Name is what it calls itself, if it is connected now: evidence, to be escaped.
	Name    string
	Held    grant.Held
	Waiting []grant.Wish
}

// ListSwitches lists the clients that have a token, are connected, or have anything set.
func ListSwitches(s *grant.Switches, tokens *client.Tokens, live []*client.Session) ([]ClientSwitches, error) {
	all := make(map[string]ClientSwitches)
	add := func(id, name string) {
		c := all[id]
		c.Client, c.Name = id, cmp.Or(c.Name, name)
		all[id] = c
	}
	list, err := tokens.List()
	for _, t := range list {
		add(client.TokenID(t.Name), "")
	}
	for _, x := range live {
		add(x.Client.ID, x.Client.Name)
	}
	for id, held := range s.Clients() {
		add(id, "")
		c := all[id]
		c.Held = held
		all[id] = c
	}
	for _, w := range s.Waiting() {
		add(w.Client, "")
		c := all[w.Client]
		c.Waiting = append(c.Waiting, w)
		all[w.Client] = c
	}
	sorted := slices.SortedFunc(maps.Values(all), func(a, b ClientSwitches) int { return cmp.Compare(a.Client, b.Client) })
	return sorted, errors.Join(err, s.Problem())
}

// Switches lists what is set for all clients that are known, for the menu.
func (h *Host) Switches() []ClientSwitches {
	list, err := ListSwitches(h.gate.Switches, h.tokens, h.sessions.Live())
	if err != nil {
		h.log.Error("the switches", "error", err)
	}
	return list
}

// Known is a client with what the person has set for it. One without sessions isn't connected.
type Known struct {
	Client
	Held    grant.Held
	Waiting []grant.Wish
}

// Known lists the clients that are connected and those that Switches lists besides, in the order of their names.
func (h *Host) Known() (list []Known) {
	connected, _ := h.clients(h.sessions.Live())
	tokens, _ := h.tokens.List() // who can't be told isn't let in either
	for _, c := range h.Switches() {
		k := Known{Client: Client{ID: c.Client, Level: h.newLevel(), Name: c.Client}, Held: c.Held, Waiting: c.Waiting}
		if kind, name, _ := strings.Cut(c.Client, ":"); kind == "stdio" {
			k.Name = filepath.Base(name)
		}
		for _, t := range tokens {
			if client.TokenID(t.Name) == c.Client {
				k.Level, k.Name = t.Level, t.Name
			}
		}
		k.Tools = tool.Names(k.Level)
		for _, x := range connected {
			if x.ID == c.Client {
				k.Client = x
			}
		}
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b Known) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return list
}

// AskSwitch turns a switch (grant.AllSwitches), or a tool by its name, off for a client, at once; or asks the person whether it is to
// be on, in a question that only their click answers, and returns before they have. Nothing else turns anything on.
func (h *Host) AskSwitch(client, name string, on bool) error {
	if err := SetSwitch(h.gate.Switches, client, name, on); err != nil {
		return err
	}
	h.mu.Lock()
	h.switching.later = nil // the person wants it now
	h.mu.Unlock()
	h.switched()
	return nil
}

// SetSwitch writes a wish, or turns something off. The name must be of a switch or a tool that there is.
func SetSwitch(s *grant.Switches, client, name string, on bool) error {
	w := grant.Wish{Client: client, Tool: name}
	if slices.Contains(grant.AllSwitches(), grant.Switch(name)) {
		w = grant.Wish{Client: client, Switch: grant.Switch(name)}
	}
	if tool.Opens(w) == "" {
		return fmt.Errorf("there is no switch and no tool %q", name)
	}
	return s.Set(client, name, on)
}

// switching is what the host knows of the switches.
type switching struct {
	asking bool
	later  map[grant.Wish]time.Time // when what couldn't be shown is asked again
	was    map[string]grant.Held    // what counted when it was looked at last
}

// watchSwitches takes note of a change of the file, and of that of the settings, until ctx is over. Where changes can't be watched, calls
// and the start take note.
func (h *Host) watchSwitches(ctx context.Context) {
	w, err := fsnotify.NewWatcher()
	if err == nil {
		err = w.Add(h.opts.State)
	}
	h.switched() // it may have changed before it was watched
	h.settingsChanged()
	if err != nil {
		h.log.Warn("changes of the switches are noticed late", "error", err)
		return
	}
	go func() {
		defer w.Close()
		for {
			select {
			case e, ok := <-w.Events:
				if !ok {
					return
				}
				switch filepath.Base(e.Name) {
				case filepath.Base(grant.SwitchFile(h.opts.State)):
					h.switched()
				case filepath.Base(setting.File(h.opts.State)):
					h.settingsChanged()
				}
			case <-w.Errors: // some were lost
				h.switched()
				h.settingsChanged()
			case <-ctx.Done():
				return
			}
		}
	}()
}

// switched takes note of what the switches are now: what runs by one that is off ends, what was turned off is recorded, and the person
// is asked about what waits.
func (h *Host) switched() {
	h.forgetRevoked()
	clients := make(map[string]string)
	for _, s := range h.sessions.Live() {
		clients[s.ID] = s.Client.ID
	}
	h.gate.StopSwitchedOff(func(session string) string { return clients[session] })
	now := h.gate.Switches.Clients()
	h.mu.Lock()
	was := h.switching.was
	h.switching.was = now
	h.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(was)) {
		for _, s := range was[id].On {
			if !now[id].Has(s) {
				h.note(fmt.Sprintf("%s was turned off for %s", s, id))
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(now)) {
		for _, t := range now[id].ToolsOff {
			if was != nil && !was[id].Without(t) {
				h.note(fmt.Sprintf("the tool %s was turned off for %s", t, id))
			}
		}
	}
	h.askSwitches()
	h.changed()
}

// forgetRevoked forgets what was turned on for clients whose token was taken back.
func (h *Host) forgetRevoked() {
	tokens, err := h.tokens.List()
	if err != nil { // nobody is let in
		return
	}
	for id := range h.gate.Switches.Clients() {
		name, http := strings.CutPrefix(id, client.TokenID(""))
		if http && !slices.ContainsFunc(tokens, func(t client.Token) bool { return t.Name == name }) {
			if err := h.gate.Switches.Forget(id); err != nil {
				h.log.Error("the switches of a client whose token was taken back", "error", err)
			}
		}
	}
}

// askSwitches asks the person about what waits, one after another. It returns at once.
func (h *Host) askSwitches() {
	if h.opts.Asker == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.life.Err() != nil || h.switching.asking {
		return
	}
	h.switching.asking = true
	h.asking.Go(func() {
		for {
			w, r, ok := h.nextWish()
			if !ok {
				return
			}
			h.askSwitch(w, r)
		}
	})
}

// nextWish is what the person is to be asked now. If there is nothing, who asks has ended.
func (h *Host) nextWish() (w grant.Wish, r approval.Request, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.gate.Switches.Waiting() {
		if r, ok := tool.SwitchRequest(w); ok && h.life.Err() == nil && time.Now().After(h.switching.later[w]) {
			return w, r, true
		}
	}
	h.switching.asking = false
	return w, r, false
}

// askSwitch asks about one wish and does what the person says. What they refuse, or don't answer, is taken back.
func (h *Host) askSwitch(w grant.Wish, r approval.Request) {
	record := func(k audit.Kind, by, outcome, detail string) error {
		return h.audit.Append(audit.Record{Kind: k, Text: fmt.Sprintf("turn on %s for %s", w.Name(), w.Client), By: by, Outcome: outcome, Detail: detail})
	}
	var d approval.Decision
	outcome := "failed"
	err := record(audit.Question, "", "", "")
	if err == nil {
		d = h.queue.Ask(h.life, nil, h.life, strings.Join([]string{"switch", w.Client, w.Name()}, "\x00"), r, approval.Lives).Decision
		outcome = d.Verdict.String()
	}
	detail := d.Detail
	switch {
	case err != nil:
	case d.Verdict == approval.Allowed:
		if now, ok := tool.SwitchRequest(w); !ok || d.Covers(now) != nil {
			err = errors.New("the answer was given to another question")
		} else if err = h.gate.Switches.CanAgree(w); err == nil {
			if err = record(audit.Decision, d.Surface, outcome, detail); err == nil { // what can't be recorded doesn't happen
				err = h.gate.Switches.Agree(w)
			}
		}
	case d.Verdict == approval.Refused, d.Verdict == approval.NoAnswer:
		err = h.gate.Switches.Set(w.Client, w.Name(), false)
	}
	if err != nil {
		outcome, detail = "failed", err.Error()
		h.log.Error("a switch", "error", err)
	}
	if outcome != approval.Allowed.String() {
		if err := record(audit.Decision, d.Surface, outcome, detail); err != nil {
			h.log.Error("the activity log failed", "error", err)
		}
		h.mu.Lock()
		if h.switching.later == nil {
			h.switching.later = make(map[grant.Wish]time.Time)
		}
		if d.Verdict != approval.Refused && d.Verdict != approval.NoAnswer || err != nil {
			h.switching.later[w] = time.Now().Add(approval.Lives)
		}
		h.mu.Unlock()
	}
	h.changed()
}
