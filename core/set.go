package core

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"handrail/core/approval"
	"handrail/core/audit"
	"handrail/core/client"
	"handrail/core/grant"
	"handrail/core/hint"
	"handrail/core/server"
	"handrail/core/setting"
)

// SearchSetting is the name under which a folder is asked for that would be searched.
const SearchSetting = "search"

// undoBytes is how much is kept of what edits replaced. Twice that is kept of what commands did.
func (h *Host) undoBytes() int64 {
	gb, err := strconv.ParseInt(h.opts.Settings.Get(setting.Undo), 10, 64)
	if err != nil { // it is one of a few numbers
		gb = 3
	}
	return gb << 30 / 3
}

// offline says that no client may reach other computers.
func (h *Host) offline() bool { return h.opts.Settings.Get(setting.Network) == "never" }

// classic says that commands run under the profile classic, which is no boundary.
func (h *Host) classic() bool { return h.opts.Settings.Get(setting.Profile) == "classic" }

// tunnel is the host name of the person's own HTTPS tunnel; "" for none.
func (h *Host) tunnel() string { return h.opts.Settings.Get(setting.Tunnel) }

// Tunnel is tunnel, and what waits for the person's click to be it.
func (h *Host) Tunnel() (host, wanted string) {
	host, waits := h.Setting(setting.Tunnel)
	if waits != nil {
		wanted = waits.Now
	}
	return host, wanted
}

// tunnelHost gives the host name of what a person may have copied: an address with what stands around the name.
func tunnelHost(text string) (string, error) {
	host := strings.ToLower(strings.TrimSpace(text))
	host = strings.TrimPrefix(host, "https://")
	host = strings.TrimSuffix(strings.TrimSuffix(host, "/"), server.Path)
	if host == "" {
		return "", nil
	}
	if err := setting.ValidHost(host); err != nil {
		return "", hint.New("bad_host", fmt.Sprintf("%q can't be the name of a tunnel", text)).Because("it is no host name on the internet, such as my-mac.example.com").Wrap(err)
	}
	return host, nil
}

// newLevel is what a client on the socket or on stdio may do that connects now.
func (h *Host) newLevel() client.Level {
	level, err := client.ParseLevel(h.opts.Settings.Get(setting.Level))
	if err != nil {
		return client.None
	}
	return min(level, h.opts.Level)
}

// Setting is what counts of a setting now, and what waits for the person's click, if anything does.
func (h *Host) Setting(n setting.Name) (value string, waits *setting.Change) {
	for _, c := range h.opts.Settings.Waiting() {
		if c.Name == n {
			waits = &c
		}
	}
	return h.opts.Settings.Get(n), waits
}

// SettingsProblem says what is wrong with the settings' file; nil if nothing is.
func (h *Host) SettingsProblem() error { return h.opts.Settings.Problem() }

// Set changes a setting for the person, at once where that allows nothing more. Where it does, they are asked, in a question that only
// their click answers; Set returns before they have answered, with asks set.
func (h *Host) Set(n setting.Name, value string) (asks bool, err error) {
	if n == setting.Workspace && value != "" {
		if value, err = h.canWorkIn(value); err != nil {
			return false, err
		}
	}
	if n == setting.Tunnel {
		if value, err = tunnelHost(value); err != nil {
			return false, err
		}
	}
	was := h.opts.Settings.Get(n)
	asks, err = h.opts.Settings.Set(n, value)
	switch {
	case errors.Is(err, setting.ErrNoKey):
		return false, hint.New("no_keychain", "this can't be changed here").Because("it would let assistants do more, and there is no keychain in which Handrail could keep that you agreed")
	case err != nil:
		return false, err
	case asks && h.opts.Asker == nil:
		return false, errors.Join(errors.New("no one can be asked"), h.withdraw(n, was))
	}
	if !asks && was != value {
		h.note(fmt.Sprintf("the setting %s is %q, and was %q", n, value, was))
	}
	h.mu.Lock()
	h.setting.later = nil // the person wants it now
	h.mu.Unlock()
	h.settingsChanged()
	return asks, nil
}

// canWorkIn gives a folder with links resolved, if it can be the workspace.
func (h *Host) canWorkIn(path string) (string, error) {
	refuse := func(why string) (string, error) {
		return "", hint.New("not_grantable", fmt.Sprintf("%s can't be the workspace", path)).Because(why)
	}
	if !filepath.IsAbs(path) {
		return refuse("it is no whole path")
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return refuse("it isn't there")
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return refuse("it is no folder")
	}
	limits := grant.Home{Home: h.opts.Home, State: h.opts.State, Work: h.opts.Work, Program: h.opts.Program}
	if err := limits.Grantable(real); err != nil {
		return refuse(err.Error())
	}
	if grant.Within(real, h.opts.Work) || grant.Within(h.opts.Work, real) {
		return refuse("Handrail's own files are there")
	}
	return real, nil
}

func (h *Host) withdraw(n setting.Name, to string) error {
	_, err := h.opts.Settings.Set(n, to)
	return err
}

// settingAsked is what the host knows of questions about settings.
type settingAsked struct {
	asking bool
	later  map[setting.Change]time.Time // when what couldn't be shown is asked again
	// offline is what was enforced last. enforcing is held until it has been, so that who finds it done can rely on it.
	offline   bool
	enforcing sync.Mutex
}

// settingsChanged takes note of what the settings are now: commands end that could reach other computers, or ran without a boundary,
// where nobody may any more, and assistants that came by a tunnel that is gone are paired no more; and the person is asked about what waits.
func (h *Host) settingsChanged() {
	h.enforce()
	h.askSettings()
	h.changed()
}

func (h *Host) enforce() {
	h.setting.enforcing.Lock()
	defer h.setting.enforcing.Unlock()
	off := h.offline()
	if off && !h.setting.offline {
		for _, c := range h.Status().Clients {
			for _, r := range c.Reach {
				if r.What == grant.Network || r.What == grant.SignIn {
					h.RevokeReach(c.ID, r)
				}
			}
			if c.Level == client.Trusted { // it needed no grant
				h.RevokeClient(c.ID)
			}
		}
	}
	h.setting.offline = off
	h.gate.StopClassic()
	keep := ""
	if host := h.tunnel(); host != "" {
		keep = "https://" + host + server.Path
	}
	if err := h.tokens.UnpairTunnels(keep); err != nil {
		h.log.Error("the assistants of a tunnel that is gone", "error", err)
	}
}

// askSettings asks the person about what waits, one after another. It returns at once.
func (h *Host) askSettings() {
	if h.opts.Asker == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.life.Err() != nil || h.setting.asking {
		return
	}
	h.setting.asking = true
	h.asking.Go(func() {
		for {
			c, ok := h.nextSetting()
			if !ok {
				return
			}
			h.askSetting(c)
		}
	})
}

// nextSetting is what the person is to be asked now. If there is nothing, who asks has ended.
func (h *Host) nextSetting() (c setting.Change, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.opts.Settings.Waiting() {
		if h.life.Err() == nil && time.Now().After(h.setting.later[c]) {
			return c, true
		}
	}
	h.setting.asking = false
	return c, false
}

// askSetting asks about one change and does what the person says. What they refuse, or don't answer, is taken back.
func (h *Host) askSetting(c setting.Change) {
	verdict, err := h.askChange(string(c.Name), c.Was, c.Now, c.Name == setting.Workspace, func() error { return h.opts.Settings.Agree(c) })
	if verdict != approval.Allowed && (verdict == approval.Refused || verdict == approval.NoAnswer) {
		if err := h.withdraw(c.Name, c.Was); err != nil {
			h.log.Error("the settings", "error", err)
		}
	} else if err != nil || verdict != approval.Allowed {
		h.mu.Lock()
		if h.setting.later == nil {
			h.setting.later = make(map[setting.Change]time.Time)
		}
		h.setting.later[c] = time.Now().Add(approval.Lives)
		h.mu.Unlock()
	}
	h.changed()
}

// AskSearchFolder asks the person whether a folder is to be put into the search index, and returns before they have answered. No
// right to read comes with it. An error says that nothing is asked.
func (h *Host) AskSearchFolder(folder string) error {
	real, err := filepath.EvalSymlinks(folder)
	if err == nil && !filepath.IsAbs(folder) {
		err = errors.New("it is no whole path")
	}
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(real); err == nil && !info.IsDir() {
			err = errors.New("it is no folder")
		}
	}
	if err != nil {
		return hint.New("not_found", fmt.Sprintf("%s can't be searched", folder)).Because("there is no such folder").Wrap(err)
	}
	if h.opts.Asker == nil {
		return errors.New("no one can be asked")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.life.Err() != nil {
		return errQuits
	}
	h.asking.Go(func() {
		_, _ = h.askChange(SearchSetting, "", real, true, func() error { return h.AddSearchFolders(real) })
		h.changed()
	})
	return nil
}

// askChange asks whether a setting may allow more, and calls agree if the person says so and what they were shown is so still.
func (h *Host) askChange(name, was, now string, folder bool, agree func() error) (approval.Verdict, error) {
	request := func() (r approval.Request, err error) {
		r = approval.Request{Kind: approval.ChangeSetting, Setting: &approval.Setting{Name: name, Was: was, Now: now}}
		if folder && now != "" {
			r.Setting.FolderID, err = grant.Identify(now)
		}
		return r, err
	}
	record := func(k audit.Kind, by, outcome, detail string) error {
		return h.audit.Append(audit.Record{Kind: k, Text: fmt.Sprintf("the setting %s: %q in place of %q", name, now, was), By: by, Outcome: outcome, Detail: detail})
	}
	var d approval.Decision
	r, err := request()
	if err == nil {
		err = record(audit.Question, "", "", "")
	}
	if err == nil {
		d = h.queue.Ask(h.life, nil, h.life, fmt.Sprintf("setting\x00%s\x00%s", name, now), r, approval.Lives).Decision
		if d.Verdict == approval.Allowed {
			again, rerr := request()
			if err = errors.Join(rerr, d.Covers(again)); err == nil {
				// What can't be recorded doesn't happen.
				if err = record(audit.Decision, d.Surface, d.Verdict.String(), d.Detail); err == nil {
					err = agree()
				}
			}
			if err == nil {
				return d.Verdict, nil
			}
		}
	}
	outcome, detail := d.Verdict.String(), d.Detail
	if err != nil {
		outcome, detail = "failed", err.Error()
		h.log.Error("a setting", "error", err)
	}
	if rerr := record(audit.Decision, d.Surface, outcome, detail); rerr != nil {
		h.log.Error("the activity log failed", "error", rerr)
	}
	return d.Verdict, err
}
