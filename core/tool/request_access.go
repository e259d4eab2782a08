package tool

import (
	"context"
	"fmt"

	"handrail/core/client"
	"handrail/core/hint"
)

// RequestAccessInput is what request_access takes.
type RequestAccessInput struct {
	Folder string  `json:"folder" jsonschema:"the folder to open; in the workspace it is made if it doesn't exist"`
	Level  *string `json:"level,omitempty" jsonschema:"look: read it; edit: change files in it, also by commands. Default edit"`
	Reason *string `json:"reason,omitempty" jsonschema:"what it is for, in one sentence; the person is shown it"`
	Phrase *string `json:"grant_phrase,omitempty" jsonschema:"only the phrase from a permission_required answer, after the person said yes"`
}

// RequestAccessOutput says what is open now.
type RequestAccessOutput struct {
	Folder string `json:"folder"`
	Level  string `json:"level"`
}

var requestAccessTool = define[RequestAccessInput, RequestAccessOutput](Tool{
	Name: "request_access", Title: "Ask for a folder", Idempotent: true,
	Levels: []client.Level{client.Look, client.Ask, client.Trusted},
	Enums:  map[string][]string{"level": {"look", "edit"}},
	Description: "Ask the person, in a window on their screen, to open a folder for the rest of this session. Ask for the folder the task needs and no more. " +
		"A folder of the workspace can be read already; edit lets commands and edits change it.",
}, func(ctx context.Context, g *Gate, c *Call, in RequestAccessInput) (plan, error) {
	level := value(in.Level, "edit")
	p := plan{text: level + " " + in.Folder}
	at, err := g.locate(in.Folder, g.Workspace, true)
	p.done = at.close
	if err != nil {
		return p, err
	}
	if at.info != nil && !at.info.IsDir() && !(at.unit.File && at.info.Mode().IsRegular()) {
		return p, hint.New("bad_arguments", fmt.Sprintf("%q is no folder", in.Folder)).Then("ask for the folder that holds it")
	}
	if at.real != at.unit.Folder {
		// Below a unit: what is asked for and granted is the unit (BEHAVIOUR E3).
		p.text = level + " " + at.unit.Folder
	}
	e := effect{kind: join, place: at, reason: value(in.Reason, ""), phrase: value(in.Phrase, "")}
	switch level {
	case "look":
		e.kind = read
	case "edit":
	default:
		return p, hint.New("bad_arguments", fmt.Sprintf("there is no level %q", level)).Then("the levels are look and edit")
	}
	p.effects = []effect{e}
	p.run = func(context.Context) (answer, error) {
		out := RequestAccessOutput{Folder: at.unit.Folder, Level: level}
		verb := map[string]string{"look": "read", "edit": "read and change"}[level]
		return answer{fmt.Sprintf("You may %s %s until this session ends.", verb, at.unit.Folder), out}, nil
	}
	return p, nil
})
