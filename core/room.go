package core

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"handrail/core/assistant"
	"handrail/core/client"
	"handrail/core/grant"
	"handrail/core/tool"
	"handrail/sandbox"
)

// room is the part of the disk that is a session's own: a folder for its temporary files and one for output. It goes
// when the session ends. What package managers download is in a folder of the client's.
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
		caches, err := clientCaches(h.opts.Work, s.Client.ID)
		if err != nil {
			return tool.Room{}, err
		}
		if r, err = newRoom(h.opts, s.ID, caches, h.kept.Elsewhere()...); err != nil {
			return tool.Room{}, err
		}
		if s.Level == client.Look {
			r.policy = r.policy.Reading().CloseSensitive()
		}
		h.rooms[s.ID] = r
	}
	return tool.Room{Policy: r.policy, Temp: r.temp, Work: r.work, Env: r.env}, nil
}

// clientCaches finds or makes the folder of a client in which package managers keep what they download. It outlives sessions, so
// that nothing is downloaded in each anew, and no other client sees it.
func clientCaches(work, client string) (string, error) {
	dir := cachesOf(work, client)
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		var info fs.FileInfo
		if info, err = os.Lstat(dir); err == nil && !info.IsDir() {
			err = errors.New("it is no folder")
		}
	}
	if err == nil {
		now := time.Now()
		err = os.Chtimes(dir, now, now) // clearWork goes by it
	}
	if err != nil {
		return "", fmt.Errorf("making a client's caches: %w", err)
	}
	return dir, nil
}

// cachesOf is where a client's caches are.
func cachesOf(work, client string) string {
	id := sha256.Sum256([]byte(client))
	return filepath.Join(work, "caches-"+hex.EncodeToString(id[:16]))
}

// cachesKept is how long caches stay that no session uses.
const cachesKept = 30 * 24 * time.Hour

// cachesName is the name of a client's caches.
var cachesName = regexp.MustCompile(`^caches-[0-9a-f]{32}$`)

// newRoom makes the room of a session. Its policy closes the folders named as well. Without caches it has its own.
func newRoom(o Options, name, caches string, closed ...string) (*room, error) {
	r := &room{dir: filepath.Join(o.Work, name)}
	r.temp, r.work = filepath.Join(r.dir, "tmp"), filepath.Join(r.dir, "work")
	dirs := []string{r.dir, r.temp, r.work}
	if caches == "" {
		caches = filepath.Join(r.dir, "caches")
		dirs = append(dirs, caches)
	}
	for _, dir := range dirs {
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

// machine gives the facts that a session's policy is made of. The files that assistants keep their servers in are secrets: they hold
// tokens, and who writes to one has a program started outside the sandbox.
func machine(o Options, temp, caches string, closed []string) sandbox.Machine {
	closed = slices.Concat(closed, assistant.Computer{Home: o.Home, Env: os.Getenv}.Files())
	m := sandbox.Machine{Home: o.Home, State: o.State, Workspace: o.Workspace, Temp: temp, Caches: caches, Rooms: o.Work, Ports: o.Ports, Secrets: closed,
		Path: o.searched(), Executable: o.Executable, Developer: developer(), SSHAgent: socket(os.Getenv("SSH_AUTH_SOCK"))}
	docker, _ := strings.CutPrefix(os.Getenv("DOCKER_HOST"), "unix://")
	m.Docker = socket(docker, "/var/run/docker.sock", filepath.Join(o.Home, ".docker/run/docker.sock"))
	return m.FollowSecrets().FollowStartUps()
}

// socket gives the first of the paths where a socket is, with links resolved; "" for none.
func socket(paths ...string) string {
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			continue
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		if info, err := os.Stat(real); err == nil && info.Mode().Type() == fs.ModeSocket {
			return real
		}
	}
	return ""
}

func (r *room) remove() { os.RemoveAll(r.dir) }

// clearWork removes the rooms of sessions that a crash left behind and caches that aren't used any more, and nothing else that stands there.
func (h *Host) clearWork() error {
	entries, err := os.ReadDir(h.opts.Work)
	if err != nil {
		return err
	}
	var failed []error // what can't be removed keeps nothing else
	for _, e := range entries {
		if cachesName.MatchString(e.Name()) {
			if info, err := e.Info(); err != nil || time.Since(info.ModTime()) < cachesKept {
				continue
			}
		} else if !roomName.MatchString(e.Name()) {
			continue
		}
		failed = append(failed, os.RemoveAll(filepath.Join(h.opts.Work, e.Name())))
	}
	return errors.Join(failed...)
}

// workTag marks a work folder as ours. Programs that make backups leave it out (bford.info/cachedir).
const (
	workTag     = "CACHEDIR.TAG"
	workTagText = "Signature: 8a477f597d28d172789f06886806bc55\n# Handrail keeps here what its sessions need for a while.\n"
)

// markWork marks the work folder, if nothing is in it that could be anybody's but ours.
func markWork(work string) error {
	entries, err := os.ReadDir(work)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := e.Name(); name != workTag && !cachesName.MatchString(name) && !roomName.MatchString(name) {
			return nil
		}
	}
	f, err := os.OpenFile(filepath.Join(work, workTag), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(workTagText)
	return errors.Join(err, f.Close())
}

// OwnsWork reports whether a folder is a work folder that Handrail made, so that all in it may be removed.
func OwnsWork(work string) bool {
	text, err := os.ReadFile(filepath.Join(work, workTag))
	return err == nil && string(text) == workTagText
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
