// Package tool holds the MCP tools, one file each, named as on the wire.
//
// A tool says what it takes and gives (two structs, from which its schemas are made), what a call would do (its effects)
// and how to do it. Between the two stands the gate (gate.go), the same for all: it classifies, looks for a grant, asks
// the person, records the intent, runs, and records the result. No tool opens a file or starts a command before the gate
// let it.
//
// [All] is the visible list. [Register] gives a server the tools that an access level sees.
package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"handrail/core/client"
	"handrail/core/hint"
)

// Tool is one MCP tool. Make one with define.
type Tool struct {
	Name        string
	Title       string
	Description string
	// Levels are the access levels that see it.
	Levels []client.Level
	// ReadOnly, Destructive, Idempotent and OpenWorld are the annotations of the MCP specification.
	ReadOnly, Destructive, Idempotent, OpenWorld bool
	// Enums lists the values of string fields.
	Enums map[string][]string

	input, output *jsonschema.Schema
	call          func(ctx context.Context, g *Gate, c *Call, args jsontext.Value) (answer, error)
}

// All lists every tool, in the order in which clients see them.
func All() []Tool {
	return []Tool{ragSearchTool, bashTool, bashLookTool, bashBGTool, execTool, processTool, pythonExecTool, gitTool, readFileTool, listFilesTool, editTool, writeFileTool, applyPatchTool, requestAccessTool,
		requestLookTool}
}

// answer is what a call gives: a text for the model and the same as data.
type answer struct {
	text string
	data any
}

// plan is what a call would do, before it does it.
type plan struct {
	// text is for the log: the call in one line.
	text string
	// effects are judged by the gate, all of them before the first is done.
	effects []effect
	// run does it, once the gate let it. It uses what the plan opened and checked, and nothing found anew.
	run func(ctx context.Context) (answer, error)
	// diff is set for a change of several files: what it asks for is asked in one question, with what this gives. It changes
	// nothing; run then does exactly what it said, or nothing.
	diff func() (text string, files int, err error)
	// by says, for the log, what the person settled beforehand because of which they aren't asked.
	by []string
	// done closes what the plan opened; it may be nil.
	done func()
}

// define completes a tool from its input and output types and its planner.
func define[In, Out any](t Tool, prepare func(ctx context.Context, g *Gate, c *Call, in In) (plan, error)) Tool {
	t.input = inputSchema[In](t)
	out, err := jsonschema.For[Out](nil)
	if err != nil {
		panic(fmt.Sprintf("tool %s: %v", t.Name, err))
	}
	t.output = out
	t.call = func(ctx context.Context, g *Gate, c *Call, args jsontext.Value) (answer, error) {
		var in In
		if err := decode(args, &in, t.input); err != nil {
			return answer{}, err
		}
		p, err := prepare(ctx, g, c, in)
		if p.done != nil {
			defer p.done()
		}
		if err != nil {
			return answer{}, g.refused(c, p, err)
		}
		return g.pass(ctx, c, p)
	}
	return t
}

// inputSchema is the schema of In, with null allowed wherever a field may be left out: models send it.
func inputSchema[In any](t Tool) *jsonschema.Schema {
	s, err := jsonschema.For[In](nil)
	if err != nil {
		panic(fmt.Sprintf("tool %s: %v", t.Name, err))
	}
	nullable(s)
	for field, values := range t.Enums {
		p := s.Properties[field]
		if p == nil {
			panic(fmt.Sprintf("tool %s has no field %s", t.Name, field))
		}
		for _, v := range values {
			p.Enum = append(p.Enum, v)
		}
		if !slices.Contains(s.Required, field) {
			p.Enum = append(p.Enum, nil)
		}
	}
	return s
}

func nullable(s *jsonschema.Schema) {
	for name, p := range s.Properties {
		nullable(p)
		if p.Items != nil {
			nullable(p.Items)
		}
		if !slices.Contains(s.Required, name) {
			if p.Type != "" {
				p.Types, p.Type = []string{p.Type, "null"}, ""
			} else if len(p.Types) > 0 && !slices.Contains(p.Types, "null") {
				p.Types = append(p.Types, "null")
			}
			// A pointer's schema puts null first; clients that read only the first type want the other.
			slices.SortStableFunc(p.Types, func(a, b string) int {
				return strings.Compare(map[string]string{"null": "1"}[a], map[string]string{"null": "1"}[b])
			})
		}
	}
}

// decode reads args into in. An unknown field, a missing one, a wrong type, a duplicate name and text that isn't valid
// Unicode (an unpaired surrogate) are hints that name the field.
func decode(args jsontext.Value, in any, schema *jsonschema.Schema) error {
	if len(args) == 0 || args.Kind() == 'n' {
		args = jsontext.Value("{}")
	}
	if args.Kind() != '{' {
		return hint.New("bad_arguments", "the arguments are not an object")
	}
	var given map[string]jsontext.Value
	if err := json.Unmarshal(args, &given); err != nil {
		return badJSON(err)
	}
	for name := range given {
		if schema.Properties[name] == nil {
			return hint.New("bad_arguments", fmt.Sprintf("there is no argument %q", name)).
				Then("the arguments are " + strings.Join(schema.PropertyOrder, ", "))
		}
	}
	for _, name := range schema.Required {
		if v, ok := given[name]; !ok || v.Kind() == 'n' {
			return hint.New("bad_arguments", fmt.Sprintf("the argument %q is missing", name))
		}
	}
	if err := json.Unmarshal(args, in, json.RejectUnknownMembers(true)); err != nil {
		return badJSON(err)
	}
	return nil
}

func badJSON(err error) error {
	var syntactic *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case errors.As(err, &syntactic) && strings.Contains(err.Error(), "surrogate"), errors.As(err, &syntactic) && strings.Contains(err.Error(), "UTF-8"):
		return hint.New("invalid_text", fmt.Sprintf("the text in %s is not valid Unicode", where(syntactic.JSONPointer))).
			Because("it holds half of a character (an unpaired surrogate or a broken byte)").Then("send the text again").Wrap(err)
	case errors.As(err, &syntactic):
		return hint.New("bad_arguments", fmt.Sprintf("the arguments can't be read at %s", where(syntactic.JSONPointer))).Wrap(err)
	case errors.As(err, &semantic) && errors.Is(err, json.ErrUnknownName):
		return hint.New("bad_arguments", fmt.Sprintf("there is no argument %s", where(semantic.JSONPointer))).Wrap(err)
	case errors.As(err, &semantic):
		h := hint.New("bad_arguments", fmt.Sprintf("%s has the wrong type or form", where(semantic.JSONPointer))).Wrap(err)
		if semantic.GoType != nil {
			h = h.Because("it should be " + typeName(semantic.GoType.Kind().String()))
		}
		return h
	}
	return hint.New("bad_arguments", "the arguments can't be read").Wrap(err)
}

func where(p jsontext.Pointer) string {
	if p == "" {
		return "the arguments"
	}
	return fmt.Sprintf("%q", strings.ReplaceAll(strings.TrimPrefix(string(p), "/"), "/", "."))
}

func typeName(kind string) string {
	switch {
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"):
		return "a whole number"
	case strings.HasPrefix(kind, "float"):
		return "a number"
	case kind == "bool":
		return "true or false"
	case kind == "slice":
		return "a list"
	case kind == "struct", kind == "map":
		return "an object"
	}
	return "a " + kind
}

// whole is a whole number; JSON's 2.0 is one too, and so is "2", which models send.
type whole int

func (w *whole) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == '"' {
		var text string
		if err := json.UnmarshalDecode(d, &text); err != nil {
			return err
		}
		n, err := strconv.ParseInt(text, 10, 54)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
		*w = whole(n)
		return nil
	}
	var f float64
	if err := json.UnmarshalDecode(d, &f); err != nil {
		return err
	}
	if f != float64(int(f)) || f > 1<<53 || f < -1<<53 {
		return fmt.Errorf("%v is not a whole number", f)
	}
	*w = whole(f)
	return nil
}

// value gives p's value, or what it is when it isn't given.
func value[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// Register gives s the tools that level sees, run through g.
func Register(s *mcp.Server, level client.Level, g *Gate) {
	s.AddReceivingMiddleware(g.listed)
	for _, t := range All() {
		if !slices.Contains(t.Levels, level) {
			continue
		}
		s.AddTool(&mcp.Tool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.input, OutputSchema: t.output,
			Annotations: &mcp.ToolAnnotations{Title: t.Title, ReadOnlyHint: t.ReadOnly, IdempotentHint: t.Idempotent,
				DestructiveHint: &t.Destructive, OpenWorldHint: &t.OpenWorld}},
			func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return g.serve(ctx, t, req)
			})
	}
}

// serve runs one call and turns what it gave into an MCP result. A tool's failure is a result that the model reads, not
// a protocol error.
func (g *Gate) serve(ctx context.Context, t Tool, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	c := g.newCall(ctx, t, req)
	leave, err := g.enter(c)
	var a answer
	if err == nil {
		defer leave()
		err = g.turnedOff(c)
	}
	if err == nil {
		a, err = t.call(ctx, g, c, jsontext.Value(req.Params.Arguments))
	}
	if err == nil && slices.Contains(t.Levels, client.Look) && c.Session.Level == client.Look {
		err = withhold(a)
	}
	if err != nil {
		h := hint.Of(err)
		if h.Cause != nil && hint.Code(h) != "bad_arguments" {
			g.Log.Error("a call failed", "tool", t.Name, "call", c.ID, "code", hint.Code(h), "cause", h.Cause)
		}
		g.answered(c, h.Error())
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: h.Error()}},
			Meta: mcp.Meta{"handrail/code": hint.Code(h)}}, nil
	}
	g.answered(c, a.text)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.text}}, StructuredContent: a.data}, nil
}

func (g *Gate) answered(c *Call, text string) {
	if g.Answered != nil {
		g.Answered(c.ID, text)
	}
}

// Names lists the tools that a level sees.
func Names(level client.Level) []string {
	var list []string
	for _, t := range All() {
		if slices.Contains(t.Levels, level) && !slices.Contains(list, t.Name) {
			list = append(list, t.Name)
		}
	}
	return list
}

// Instructions is what a client of a level is told about all tools together: at most 512 characters, where some clients cut. phrase says that
// there is no screen, so that the person answers in the chat.
func Instructions(level client.Level, phrase bool) string {
	const begin, end = "Handrail lets you work on the person's computer. Commands run in a sandbox. Reading the workspace is free; ",
		"On approval_pending tell them that a question waits, then repeat the call. On refused stop and ask them what they want."
	asks := "in a window that neither you nor a command can answer. "
	if phrase {
		asks = "through you: the answer permission_required says how; never answer for them. "
	}
	if level == client.Look {
		return begin + "you can change nothing here. For a folder elsewhere call request_access, and Handrail asks the person " + asks + end
	}
	return begin + "changing files needs the person's permission once per folder and session: make the edit, or call request_access, and Handrail asks them " + asks + end
}
