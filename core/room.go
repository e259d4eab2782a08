package core

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"handrail/core/client"
	"handrail/core/grant"
	"handrail/core/tool"
	"handrail/sandbox"
)

// room is the part of the disk that is a session's own: a folder for its temporary files, one for output, one for what
// package managers download. It goes when the session ends.
type room struct {
	dir, temp, work string
	policy          sandbox.Policy
	env             []string
}

// room finds or makes the room of a session. A session that has ended gets none.
func (h *Host) room(s *client.Session) (tool.Room, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.rooms[s.ID]
	if r == nil {
		if s.Context().Err() != nil {
			return tool.Room{}, errNoSession
		}
		var err error
		if r, err = newRoom(h.opts, s.ID, h.kept.Elsewhere()...); err != nil {
			return tool.Room{}, err
		}
		if s.Level == client.Look {
			r.policy = r.policy.Reading().CloseSensitive()
		}
		h.rooms[s.ID] = r
	}
	return tool.Room{Policy: r.policy, Temp: r.temp, Work: r.work, Env: r.env}, nil
}

// newRoom makes the room of a session. Its policy closes the folders named as well.
func newRoom(o Options, name string, closed ...string) (*room, error) {
	r := &room{dir: filepath.Join(o.Work, name)}
	r.temp, r.work = filepath.Join(r.dir, "tmp"), filepath.Join(r.dir, "work")
	caches := filepath.Join(r.dir, "caches")
	for _, dir := range []string{r.dir, r.temp, r.work, caches} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, fmt.Errorf("making a session's folder: %w", err)
		}
	}
	id, err := grant.Identify(r.work)
	if err != nil {
		return nil, fmt.Errorf("making a session's folder: %w", err)
	}
	m := machine(o, r.temp, caches, closed)
	r.policy = sandbox.Guarded(m).AllowRead(sandbox.Place{Path: r.work, Device: id.Device, Inode: id.Inode})
	r.env = environment(r.policy)
	return r, nil
}

// askPath asks the person's login shell for the PATH of commands.
func (o Options) askPath() []string {
	return searchPath(loginPath(context.Background(), o.Shell, o.Home))
}

// searched is the PATH of commands.
func (o Options) searched() []string {
	if o.path == nil {
		return searchPath(nil)
	}
	return o.path()
}

// machine gives the facts that a session's policy is made of.
func machine(o Options, temp, caches string, closed []string) sandbox.Machine {
	m := sandbox.Machine{Home: o.Home, State: o.State, Workspace: o.Workspace, Temp: temp, Caches: caches, Port: o.Port, Secrets: closed,
		Path: o.searched(), Executable: o.Executable, Developer: developer()}
	return m.FollowSecrets().FollowStartUps()
}

func (r *room) remove() { os.RemoveAll(r.dir) }

// clearWork removes the rooms of sessions that a crash left behind, and nothing else that stands there.
func (h *Host) clearWork() error {
	entries, err := os.ReadDir(h.opts.Work)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !roomName.MatchString(e.Name()) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(h.opts.Work, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// roomName is the name of a room: a session's ID, as rand.Text makes it, or the one in which the sandbox is tried.
var roomName = regexp.MustCompile(`^([A-Z2-7]{26}|canary)$`)

// environment is what commands find: what their policy needs, and what keeps pagers and prompts, which would wait for ever, off.
// Nothing is inherited but who the person is and their language, so no secret is.
func environment(p sandbox.Policy) []string {
	temp := p.Machine().Temp
	env := append(p.Environment(), "TMP="+temp, "TEMP="+temp, "SHELL=/bin/sh", "TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "GIT_EDITOR=true", "NO_COLOR=1", "HANDRAIL=1",
		"PYTHONDONTWRITEBYTECODE=1")
	for _, name := range []string{"USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}
