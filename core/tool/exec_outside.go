package tool

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"handrail/core/grant"
	"handrail/core/hint"
	"handrail/sandbox"
)

// host is where a command runs, in the words of exec.
func (x *execution) host() string {
	if x.outside {
		return "gateway"
	}
	return "sandbox"
}

// mayGoOutside fails if a command is to run outside the sandbox and the person hasn't switched that on for the client. Where they
// have, each call is asked for all the same.
func (g *Gate) mayGoOutside(c *Call, x *execution) error {
	if !x.outside || g.Switches.Of(c.Session.Client.ID).Has(grant.Outside) && table[beyond][c.Session.Level] == asksEach {
		return nil
	}
	return hint.New("not_switched_on", "this client may not work outside the sandbox").
		Because("that is not switched on for it; only the person can do that, in Handrail").
		Then("run it in the sandbox: leave host and elevated out; request_access opens folders, and permissions such as the network are asked for where they are needed")
}

// inherited are the variables of the person's own that a command outside the sandbox finds. What else Handrail was started with may be a
// secret, or make programs load code.
var inherited = []string{"DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "SHELL", "SSH_AUTH_SOCK", "TMPDIR", "TZ", "USER", "WAYLAND_DISPLAY", "XAUTHORITY",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"}

// inReach reports whether an assistant, in whichever session, may change what is at path, or a link on the way to it. What can't be
// followed counts as such.
func (g *Gate) inReach(path string) bool {
	links, end := sandbox.Way(path)
	if end == "" {
		return true
	}
	held := g.Grants.All()
	return slices.ContainsFunc(append(links, end), func(at string) bool {
		if g.Home.Work != "" && grant.Within(g.Home.Work, at) {
			return true
		}
		for _, grants := range held {
			if slices.ContainsFunc(grants, func(h grant.Grant) bool { return h.Right != grant.Look && h.Contains(at) }) {
				return true
			}
		}
		return false
	})
}

// ownEnvironment is what a command outside the sandbox finds beside what its call sets: the room's PATH without folders in which an
// assistant could put a program, and the person's own variables.
func (g *Gate) ownEnvironment(r Room) []string {
	path := slices.DeleteFunc(filepath.SplitList(r.variable("PATH")), g.inReach)
	env := []string{"PATH=" + strings.Join(path, string(filepath.ListSeparator)), "TERM=dumb", "HANDRAIL=1"}
	for _, name := range inherited {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	slices.Sort(env)
	return env
}
