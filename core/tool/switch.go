package tool

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"handrail/core/approval"
	"handrail/core/client"
	"handrail/core/grant"
	"handrail/core/hint"
	"handrail/core/job"
	"handrail/sandbox"
)

// permissionOf is what a switch opens in the sandbox; the others open something else.
var permissionOf = map[grant.Switch]sandbox.Permission{grant.SSHAgent: sandbox.SSHAgent, grant.Docker: sandbox.Docker, grant.Browser: sandbox.BrowserTest, grant.Xcode: sandbox.Xcode}

// Opens says what a wish opens, as the end of "it then …"; "" if there is no such switch or tool.
func Opens(w grant.Wish) string {
	switch {
	case w.Tool != "":
		if slices.ContainsFunc(All(), func(t Tool) bool { return t.Name == w.Tool }) {
			return "uses the tool " + w.Tool + " again, which was turned off"
		}
	case w.Switch == grant.Outside:
		return "may ask to run commands outside the sandbox, where nothing holds them back; the person is asked each time"
	case w.Switch == grant.AllHome:
		return "reads the whole home folder, but for the places where keys, passwords and sign-ins are kept"
	case permissionOf[w.Switch] != 0:
		return permissionOf[w.Switch].Sentence()
	}
	return ""
}

// SwitchRequest is the question whether a wish is to count; ok is false if there is nothing that it opens.
func SwitchRequest(w grant.Wish) (r approval.Request, ok bool) {
	opens := Opens(w)
	return approval.Request{Kind: approval.TurnOn, Switch: &approval.Switch{Client: w.Client, Name: w.Name(), Tool: w.Tool != "", Opens: opens}}, opens != ""
}

// switched widens a room by what the person turned on for its client. AllHome is a grant to look at the home folder.
func (g *Gate) switched(s *client.Session, r Room) Room {
	held := g.Switches.Of(s.Client.ID)
	for _, on := range held.On {
		switch on {
		case grant.SSHAgent:
			r.Policy = r.Policy.AllowSSHAgent()
		case grant.Docker:
			r.Policy = r.Policy.AllowDocker()
		case grant.Browser:
			r.Policy = r.Policy.AllowBrowserTest()
		case grant.Xcode:
			r.Policy = r.Policy.AllowXcode()
		case grant.AllHome:
			if id, err := grant.Identify(g.Home.Home); err == nil {
				r.Policy = r.Policy.AllowRead(sandbox.Place{Path: g.Home.Home, Device: id.Device, Inode: id.Inode})
			}
		}
	}
	if len(held.On) > 0 {
		r.Env = slices.Clone(r.Env)
		for _, e := range r.Policy.Environment() {
			if name, _, _ := strings.Cut(e, "="); r.variable(name) == "" {
				r.Env = append(r.Env, e)
			}
		}
	}
	return r
}

// leansOn reports whether a command may do something by a switch alone.
func (g *Gate) leansOn(p sandbox.Policy, s grant.Switch) bool {
	switch p.Profile() {
	case "outside":
		return s == grant.Outside
	case "classic":
		return false
	}
	return p.Allows(permissionOf[s]) || s == grant.AllHome && p.Decide(sandbox.Read, g.Home.Home).Allowed
}

// StopSwitchedOff ends the jobs that run by what isn't on any more. clientOf gives the client of a session; "" if it has ended.
func (g *Gate) StopSwitchedOff(clientOf func(session string) string) {
	for _, j := range g.Jobs.List("") {
		g.stopIfOff(j, clientOf(j.Spec.Session))
	}
}

// StopClassic ends the jobs that run without a boundary, unless the person still has it so.
func (g *Gate) StopClassic() {
	for _, j := range g.Jobs.List("") {
		g.stopIfBounded(j)
	}
}

func (g *Gate) stopIfBounded(j *job.Job) {
	if j.Spec.Policy.Profile() == "classic" && (!g.Classic() || g.offline()) && j.Running() {
		j.Stop(job.Stopped)
	}
}

func (g *Gate) stopIfOff(j *job.Job, client string) {
	g.stopIfBounded(j)
	held := g.Switches.Of(client)
	for _, s := range grant.AllSwitches() {
		if !held.Has(s) && g.leansOn(j.Spec.Policy, s) && j.Running() {
			j.Stop(job.Stopped)
		}
	}
}

// off reports whether a tool is off for a client. apply_patch does what edit and write_file do, so it is off with either.
func off(held grant.Held, t Tool) bool {
	return held.Without(t.Name) || t.Name == applyPatchTool.Name && (held.Without(editTool.Name) || held.Without(writeFileTool.Name))
}

// listed leaves out of the list of tools those that are off for the client that asks.
func (g *Gate) listed(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		list, ok := result.(*mcp.ListToolsResult)
		s := client.FromContext(ctx)
		if err != nil || !ok || s == nil {
			return result, err
		}
		held, rest := g.Switches.Of(s.Client.ID), *list
		rest.Tools = slices.DeleteFunc(slices.Clone(list.Tools), func(t *mcp.Tool) bool { return off(held, Tool{Name: t.Name}) })
		return &rest, nil
	}
}

// turnedOff says why a call of a tool isn't made: the person turned it off.
func (g *Gate) turnedOff(c *Call) error {
	if c.Session == nil {
		return nil
	}
	if held := g.Switches.Of(c.Session.Client.ID); off(held, c.Tool) {
		return hint.New("turned_off", fmt.Sprintf("the tool %s is turned off for this client", c.Tool.Name)).Because("the person did that in Handrail").
			Then("do without it, or ask them; only they can turn it on")
	}
	return nil
}
