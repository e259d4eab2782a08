package core

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"handrail/core/audit"
	"handrail/core/client"
	"handrail/core/grant"
	"handrail/core/job"
	"handrail/core/tool"
)

// Records gives records of the activity log, as audit.Log.Page does.
func (h *Host) Records(before int64, most, size int) (records []audit.Record, next int64, err error) {
	return h.audit.Page(before, most, size)
}

// Home is the person's home folder, with links resolved.
func (h *Host) Home() string { return h.opts.Home }

// What the person does from the menu. All of it narrows, but for the end of a pause, and none of it can be reached by a client.

// Pause stops all jobs and refuses every call: for that long, or if it is 0 until Resume. The last Pause counts.
func (h *Host) Pause(d time.Duration) {
	was := h.pause.begin(d, h.resumed)
	if !was {
		h.jobs.Close(job.Stopped)
		h.pairing.Close()
	}
	text := "paused"
	if d > 0 {
		text = fmt.Sprintf("paused for %v", d)
	}
	h.note(text)
}

// Resume ends Pause.
func (h *Host) Resume() {
	if h.pause.end() {
		h.resumed()
	}
}

func (h *Host) resumed() {
	h.jobs.Open()
	h.note("resumed")
}

// Paused says whether the person has paused the app.
func (h *Host) Paused() bool {
	on, _ := h.pause.now()
	return on
}

// Stop ends a job, by its ID, with everything that it started. One that isn't there is none.
func (h *Host) Stop(id string) {
	for _, j := range h.jobs.List("") {
		if j.ID == id && j.Running() {
			j.Stop(job.Stopped)
			h.record(audit.Record{Kind: audit.Note, Text: "stopped " + id, Detail: j.Spec.Text, Session: j.Spec.Session, Tool: j.Spec.Tool})
		}
	}
}

// RevokeAll ends every session with its grants and jobs. Clients can connect again, and start without grants.
func (h *Host) RevokeAll() {
	h.sessions.EndAll()
	h.pairing.Close()
	h.note("revoked everything")
}

// RevokeClient ends the sessions of a client with their grants and jobs. It can connect again, and starts without grants.
func (h *Host) RevokeClient(id string) {
	sessions := h.sessionsOf(id)
	h.sessions.EndClient(id)
	if len(sessions) > 0 {
		h.record(audit.Record{Kind: audit.Note, Text: "revoked everything of a client", Client: sessions[0].Client.Label(), Detail: id})
	}
}

// RevokeFolder takes a folder back from a client, and stops the commands of its sessions that had it: those were started while
// they might use it.
func (h *Host) RevokeFolder(clientID, folder string) {
	h.revoke(clientID, "revoked a folder", folder, func(session string) bool {
		has := slices.ContainsFunc(h.grants.List(session), func(g grant.Grant) bool { return g.Folder == folder })
		h.grants.Revoke(session, folder)
		return has
	})
}

// RevokeReach takes one reach back from a client, and stops the commands of its sessions that had it.
func (h *Host) RevokeReach(clientID string, r grant.Reached) {
	h.revoke(clientID, "revoked "+r.What.String(), r.Host, func(session string) bool {
		has := h.grants.Reaches(session, r.What, r.Host)
		h.grants.RevokeReach(session, r)
		return has
	})
}

// revoke calls take for each session of a client, stops the jobs of those that had what was taken, and records it.
func (h *Host) revoke(clientID, text, what string, take func(session string) (had bool)) {
	for _, s := range h.sessionsOf(clientID) {
		if !take(s.ID) {
			continue
		}
		for _, j := range h.jobs.List(s.ID) {
			if j.Running() {
				j.Stop(job.Stopped)
			}
		}
		r := audit.Record{Kind: audit.Note, Text: text, Detail: what, Session: s.ID, Client: s.Client.Label()}
		h.record(r)
	}
}

func (h *Host) sessionsOf(clientID string) []*client.Session {
	return slices.DeleteFunc(h.sessions.Live(), func(s *client.Session) bool { return s.Client.ID != clientID })
}

// clients lists the clients of sessions and what they were granted, in the order of their names.
func (h *Host) clients(sessions []*client.Session) (list []Client, granted []Granted) {
	for _, s := range sessions {
		i := slices.IndexFunc(list, func(c Client) bool { return c.ID == s.Client.ID })
		if i < 0 {
			i = len(list)
			list = append(list, Client{ID: s.Client.ID, Name: s.Client.Label(), Level: s.Level, Tools: tool.Names(s.Level)})
		}
		c := &list[i]
		c.Sessions++
		for _, r := range h.grants.Reach(s.ID) {
			if !slices.Contains(c.Reach, r) {
				c.Reach = append(c.Reach, r)
			}
		}
		for _, g := range h.grants.List(s.ID) {
			if g.Right == grant.Delete { // beside Edit
				continue
			}
			j := slices.IndexFunc(granted, func(x Granted) bool { return x.ClientID == s.Client.ID && x.Folder == g.Folder })
			if j < 0 {
				granted = append(granted, Granted{ClientID: s.Client.ID, Client: s.Client.Label(), Folder: g.Folder, Right: g.Right})
			} else {
				granted[j].Right = max(granted[j].Right, g.Right)
			}
		}
	}
	slices.SortFunc(list, func(a, b Client) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	slices.SortFunc(granted, func(a, b Granted) int {
		return cmp.Or(cmp.Compare(a.Folder, b.Folder), cmp.Compare(a.ClientID, b.ClientID))
	})
	return list, granted
}

// recorded takes up what was written to the activity log.
func (h *Host) recorded(r audit.Record) {
	h.undoable.take(r)
	h.changed()
}

func (h *Host) note(text string) { h.record(audit.Record{Kind: audit.Note, Text: text}) }

// record writes what the person did, which has happened whether it can be recorded or not.
func (h *Host) record(r audit.Record) {
	if err := h.audit.Append(r); err != nil {
		h.log.Error("the activity log failed", "error", err)
	}
	h.changed()
}
