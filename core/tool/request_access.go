package tool

import (
	"context"
	"fmt"
	"strings"

	"handrail/core/client"
	"handrail/core/grant"
	"handrail/core/hint"
)

// RequestAccessInput is what request_access takes.
type RequestAccessInput struct {
	Folder *string `json:"folder,omitempty" jsonschema:"for look and edit: the folder to open; in the workspace it is made if it doesn't exist"`
	Level  *string `json:"level,omitempty" jsonschema:"look: read the folder; edit: change files in it, also by commands; network: let commands reach other computers; loopback: let them reach this computer's own ports, and the person the servers that they start. Default edit"`
	Reason *string `json:"reason,omitempty" jsonschema:"what it is for, in one sentence; the person is shown it"`
	Phrase *string `json:"grant_phrase,omitempty" jsonschema:"only the phrase from a permission_required answer, after the person said yes"`
}

// RequestAccessOutput says what is open now.
type RequestAccessOutput struct {
	Folder string `json:"folder,omitempty"`
	Level  string `json:"level"`
}

// reaches are the levels that are about no folder.
var reaches = map[string]grant.Reach{"network": grant.Network, "loopback": grant.Loopback}

var reached = map[string]string{"network": "other computers", "loopback": "this computer's own ports"}

var requestAccessTool = define[RequestAccessInput, RequestAccessOutput](Tool{
	Name: "request_access", Title: "Ask for a folder or the network", Idempotent: true,
	Levels: []client.Level{client.Ask, client.Trusted},
	Enums:  map[string][]string{"level": {"look", "edit", "network", "loopback"}},
	Description: "Ask the person to open a folder, or the network, for the rest of this session. Ask for what the task needs and no more. " +
		"A folder of the workspace can be read already; edit lets commands and edits change it.",
}, requestAccess)

// RequestLookInput is what request_access takes at the level look.
type RequestLookInput struct {
	Folder *string `json:"folder,omitempty" jsonschema:"the folder to open"`
	Level  *string `json:"level,omitempty" jsonschema:"look: read it"`
	Reason *string `json:"reason,omitempty" jsonschema:"what it is for, in one sentence; the person is shown it"`
}

var requestLookTool = define[RequestLookInput, RequestAccessOutput](Tool{
	Name: "request_access", Title: "Ask to read a folder", Idempotent: true,
	Levels: []client.Level{client.Look},
	Enums:  map[string][]string{"level": {"look"}},
	Description: "Ask the person, in a window on their screen, to let you read a folder outside the workspace for the rest of this session. " +
		"Ask for the folder the task needs and no more.",
}, func(ctx context.Context, g *Gate, c *Call, in RequestLookInput) (plan, error) {
	level := value(in.Level, "look")
	if level != "look" {
		what := "this client may only look"
		if in.Folder != nil {
			what += fmt.Sprintf(", so %q stays as it is", *in.Folder)
		}
		return plan{text: strings.TrimSpace(level + " " + value(in.Folder, ""))}, hint.New("denied", what).
			Because("its access level is look").Then("ask the person to do this, or to give this client another level")
	}
	return requestAccess(ctx, g, c, RequestAccessInput{Folder: in.Folder, Level: &level, Reason: in.Reason})
})

func requestAccess(ctx context.Context, g *Gate, c *Call, in RequestAccessInput) (plan, error) {
	level := value(in.Level, "edit")
	folder := value(in.Folder, "")
	p := plan{text: strings.TrimSpace(level + " " + folder)}
	if what, ok := reaches[level]; ok {
		p.effects = []effect{{kind: reach, way: way{reach: what}, reason: value(in.Reason, "")}}
		p.run = func(context.Context) (answer, error) {
			return answer{"Commands may reach " + reached[level] + " until this session ends.", RequestAccessOutput{Level: level}}, nil
		}
		return p, nil
	}
	if level != "look" && level != "edit" {
		return p, hint.New("bad_arguments", fmt.Sprintf("there is no level %q", level)).Then("the levels are look, edit, network and loopback")
	}
	if folder == "" {
		return p, hint.New("bad_arguments", fmt.Sprintf("level %s needs folder", level))
	}
	at, err := g.locate(folder, g.Workspace, true)
	p.done = at.close
	if err != nil {
		return p, err
	}
	if at.info != nil && !at.info.IsDir() && !(at.unit.File && at.info.Mode().IsRegular()) {
		return p, hint.New("bad_arguments", fmt.Sprintf("%q is no folder", folder)).Then("ask for the folder that holds it")
	}
	if at.real != at.unit.Folder {
		// Below a unit: what is asked for and granted is the unit.
		p.text = level + " " + at.unit.Folder
	}
	e := effect{kind: join, place: at, reason: value(in.Reason, ""), phrase: value(in.Phrase, "")}
	if level == "look" {
		e.kind = read
	}
	p.effects = []effect{e}
	p.run = func(context.Context) (answer, error) {
		out := RequestAccessOutput{Folder: at.unit.Folder, Level: level}
		verb := map[string]string{"look": "read", "edit": "read and change"}[level]
		return answer{fmt.Sprintf("You may %s %s until this session ends.", verb, at.unit.Folder), out}, nil
	}
	return p, nil
}
