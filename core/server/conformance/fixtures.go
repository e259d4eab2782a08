//go:build conformance

//lint:file-ignore SA1019 the runner tests features that are leaving MCP: roots, sampling, logging

package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What the runner asks of a server that it tests is said in its scenarios' descriptions; each fixture is named by it.

// picture is a PNG of one pixel, sound a WAV file without samples.
var (
	picture = decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==")
	sound   = decode("UklGRiQAAABXQVZFZm10IBAAAAABAAEAgD4AAAB9AAACABAAZGF0YQAAAAA=")
)

func decode(s string) []byte {
	data, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return data
}

const anything = `{"type":"object"}`

// fixture is one tool.
type fixture struct {
	name   string
	schema string // of its arguments
	run    func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error)
}

func fixtureServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "handrail-conformance", Version: "1"}, &mcp.ServerOptions{
		CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}, nil
		},
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	for _, f := range slices.Concat(contents, talking, asking, triggers(s)) {
		s.AddTool(&mcp.Tool{Name: f.name, Description: "Conformance: " + f.name, InputSchema: json.RawMessage(f.schema)}, f.run)
	}
	addResources(s)
	addPrompts(s)
	return s
}

func content(c ...mcp.Content) *mcp.CallToolResult { return &mcp.CallToolResult{Content: c} }

func text(format string, args ...any) *mcp.TextContent {
	return &mcp.TextContent{Text: fmt.Sprintf(format, args...)}
}

func resource(uri, kind, s string) *mcp.EmbeddedResource {
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: kind, Text: s}}
}

// always gives the same result at each call.
func always(name string, c ...mcp.Content) fixture {
	return fixture{name, anything, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return content(c...), nil }}
}

var contents = []fixture{
	always("test_simple_text", text("This is a simple text response for testing.")),
	always("test_image_content", &mcp.ImageContent{Data: picture, MIMEType: "image/png"}),
	always("test_audio_content", &mcp.AudioContent{Data: sound, MIMEType: "audio/wav"}),
	always("test_embedded_resource", resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")),
	always("test_multiple_content_types", text("Multiple content types test:"), &mcp.ImageContent{Data: picture, MIMEType: "image/png"},
		resource("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)),
	always("test_streaming_elicitation", text("The stream held this answer and no request.")),
	{"test_error_handling", anything, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		result := content(text("This tool intentionally returns an error for testing"))
		result.IsError = true
		return result, nil
	}},
	{"json_schema_2020_12_tool", `{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "additionalProperties": false,
		"$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
		"properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
			"contactMethod": {"type": "string", "enum": ["phone", "email"]}, "phone": {"type": "string"}, "email": {"type": "string"}},
		"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
		"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
		"then": {"required": ["phone"]}, "else": {"required": ["email"]}}`,
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return content(text("%s", req.Params.Arguments)), nil
		}},
	{"test_x_mcp_header", `{"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "level": {"type": "integer"}}}`,
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return content(text("%s", req.Params.Arguments)), nil
		}},
}

// pause lets a client receive one message before the next.
func pause(ctx context.Context) {
	select {
	case <-time.After(50 * time.Millisecond):
	case <-ctx.Done():
	}
}

// say sends a log message, a feature that newer clients must ask for and that is leaving MCP.
func say(ctx context.Context, req *mcp.CallToolRequest, words string) {
	req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: words})
}

// argument is one string argument.
func argument(req *mcp.CallToolRequest, name string) string {
	var arguments map[string]any
	json.Unmarshal(req.Params.Arguments, &arguments)
	value, _ := arguments[name].(string)
	return value
}

// talking are the tools that send something of their own while they run.
var talking = []fixture{
	{"test_tool_with_logging", anything, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i, words := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			if i > 0 {
				pause(ctx)
			}
			say(ctx, req, words)
		}
		return content(text("Three log messages were sent.")), nil
	}},
	{"test_logging_tool", anything, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		say(ctx, req, "only for clients that ask for it")
		return content(text("A log message was sent to who asked for it.")), nil
	}},
	{"test_tool_with_progress", anything, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		token := req.Params.GetProgressToken()
		for done := 0; done <= 100; done += 50 {
			if token != nil {
				req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(done), Total: 100})
			}
			pause(ctx)
		}
		return content(text("%v", token)), nil
	}},
	{"test_reconnection", anything, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if req.Extra.CloseSSEStream != nil {
			req.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: 20 * time.Millisecond})
		}
		pause(ctx)
		pause(ctx)
		return content(text("The answer came on a stream that was resumed.")), nil
	}},
	{"test_missing_capability", anything, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if c := req.ClientCapabilities(); c != nil && c.Sampling != nil {
			return content(text("The client can sample.")), nil
		}
		return nil, &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "the client must be able to sample",
			Data: json.RawMessage(`{"requiredCapabilities":{"sampling":{}}}`)}
	}},
	{"test_sampling", `{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}`,
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			answer, err := req.Session.CreateMessage(ctx, sample(argument(req, "prompt"), 100))
			if err != nil {
				return nil, err
			}
			if t, ok := answer.Content.(*mcp.TextContent); ok {
				return content(text("LLM response: %s", t.Text)), nil
			}
			return content(text("LLM response without text")), nil
		}},
	{"test_elicitation", `{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`,
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return elicit(ctx, req, argument(req, "message"), `{"type":"object","required":["username","email"],"properties":{
				"username":{"type":"string","description":"User's response"},"email":{"type":"string","description":"User's email address"}}}`)
		}},
	{"test_elicitation_sep1034_defaults", anything, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return elicit(ctx, req, "Defaults of every primitive type", `{"type":"object","properties":{
			"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},
			"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}}`)
	}},
	{"test_elicitation_sep1330_enums", anything, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return elicit(ctx, req, "Every kind of choice", `{"type":"object","properties":{
			"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
			"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
			"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
			"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
			"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}}`)
	}},
}

func elicit(ctx context.Context, req *mcp.CallToolRequest, message, schema string) (*mcp.CallToolResult, error) {
	answer, err := req.Session.Elicit(ctx, form(message, schema))
	if err != nil {
		return nil, err
	}
	given, err := json.Marshal(answer.Content)
	if err != nil {
		return nil, err
	}
	return content(text("Elicitation completed: action=%s, content=%s", answer.Action, given)), nil
}

func form(message, schema string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Message: message, RequestedSchema: json.RawMessage(schema)}
}

func sample(prompt string, tokens int64) *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{MaxTokens: tokens,
		Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: prompt}}}}
}

// stateKey signs what a client carries from one round of a call to the next.
var stateKey = func() []byte {
	key := make([]byte, 32)
	rand.Read(key)
	return key
}()

func sign(state string) string {
	mac := hmac.New(sha256.New, stateKey)
	mac.Write([]byte(state))
	return state + "." + hex.EncodeToString(mac.Sum(nil))
}

// signed gives the state back, or the error of a state that isn't ours.
func signed(carried string) (string, error) {
	state, _, _ := strings.Cut(carried, ".")
	if !hmac.Equal([]byte(sign(state)), []byte(carried)) {
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the requestState was changed"}
	}
	return state, nil
}

const (
	nameForm    = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`
	okForm      = `{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`
	colourForm  = `{"type":"object","properties":{"color":{"type":"string"}},"required":["color"]}`
	contextForm = `{"type":"object","properties":{"context":{"type":"string"}},"required":["context"]}`
)

// ask is the result that asks the client for input. The questions are its keys.
func ask(state string, questions mcp.InputRequestMap) *mcp.CallToolResult {
	return &mcp.CallToolResult{InputRequests: questions, RequestState: state}
}

// filled is one field of a form that the person filled in.
func filled(answers mcp.InputResponseMap, key, field string) (value any, ok bool) {
	answer, _ := answers[key].(*mcp.ElicitResult)
	if answer == nil || answer.Action != "accept" {
		return nil, false
	}
	value, ok = answer.Content[field]
	return value, ok
}

// sampled is the text that the client's model gave.
func sampled(answers mcp.InputResponseMap, key string) (string, bool) {
	answer, _ := answers[key].(*mcp.CreateMessageWithToolsResult)
	if answer == nil || len(answer.Content) == 0 {
		return "", false
	}
	t, ok := answer.Content[0].(*mcp.TextContent)
	if !ok {
		return "", false
	}
	return t.Text, true
}

// roots counts the client's roots.
func roots(answers mcp.InputResponseMap, key string) (int, bool) {
	answer, _ := answers[key].(*mcp.ListRootsResult)
	if answer == nil {
		return 0, false
	}
	return len(answer.Roots), true
}

// asking are the tools that need input, which a client gives by calling again (MCP 2026-07-28).
var asking = []fixture{
	{"test_input_required_result_elicitation", anything, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if name, ok := filled(req.Params.InputResponses, "user_name", "name"); ok {
			return content(text("Hello, %v!", name)), nil
		}
		return ask("", mcp.InputRequestMap{"user_name": form("What is your name?", nameForm)}), nil
	}},
	{"test_input_required_result_sampling", anything, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if answer, ok := sampled(req.Params.InputResponses, "capital_question"); ok {
			return content(text("%s", answer)), nil
		}
		return ask("", mcp.InputRequestMap{"capital_question": sample("What is the capital of France?", 100)}), nil
	}},
	{"test_input_required_result_list_roots", anything, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if answer, _ := req.Params.InputResponses["client_roots"].(*mcp.ListRootsResult); answer != nil {
			var uris []string
			for _, root := range answer.Roots {
				uris = append(uris, root.URI)
			}
			return content(text("roots: %s", strings.Join(uris, " "))), nil
		}
		return ask("", mcp.InputRequestMap{"client_roots": &mcp.ListRootsParams{}}), nil
	}},
	{"test_input_required_result_request_state", anything, confirmed},
	{"test_input_required_result_tampered_state", anything, confirmed},
	{"test_input_required_result_multiple_inputs", anything, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answers := req.Params.InputResponses
		name, named := filled(answers, "user_name", "name")
		greeting, greeted := sampled(answers, "greeting")
		n, rooted := roots(answers, "client_roots")
		if named && greeted && rooted {
			if _, err := signed(req.Params.RequestState); err != nil {
				return nil, err
			}
			return content(text("%s, %v, with %d roots", greeting, name, n)), nil
		}
		return ask(sign("several"), mcp.InputRequestMap{
			"user_name":    form("What is your name?", nameForm),
			"greeting":     sample("Generate a greeting", 50),
			"client_roots": &mcp.ListRootsParams{},
		}), nil
	}},
	{"test_input_required_result_multi_round", anything, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if req.Params.RequestState == "" {
			return ask(sign("first"), mcp.InputRequestMap{"step1": form("Step 1: What is your name?", nameForm)}), nil
		}
		state, err := signed(req.Params.RequestState)
		if err != nil {
			return nil, err
		}
		if state == "first" {
			name, _ := filled(req.Params.InputResponses, "step1", "name")
			return ask(sign(fmt.Sprintf("second:%v", name)), mcp.InputRequestMap{"step2": form("Step 2: What is your favorite color?", colourForm)}), nil
		}
		colour, _ := filled(req.Params.InputResponses, "step2", "color")
		return content(text("%s likes %v", strings.TrimPrefix(state, "second:"), colour)), nil
	}},
	{"test_input_required_result_capabilities", anything, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if len(req.Params.InputResponses) > 0 {
			return content(text("The input came.")), nil
		}
		questions := mcp.InputRequestMap{}
		if can := req.ClientCapabilities(); can != nil {
			if can.Elicitation != nil {
				questions["user_name"] = form("What is your name?", nameForm)
			}
			if can.Sampling != nil {
				questions["greeting"] = sample("Generate a greeting", 50)
			}
			if can.RootsV2 != nil {
				questions["client_roots"] = &mcp.ListRootsParams{}
			}
		}
		if len(questions) == 0 {
			return content(text("The client can be asked for nothing.")), nil
		}
		return ask("", questions), nil
	}},
}

// confirmed asks for a yes, and trusts only a state that it has signed.
func confirmed(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Params.RequestState == "" {
		return ask(sign("confirm"), mcp.InputRequestMap{"confirm": form("Please confirm", okForm)}), nil
	}
	if _, err := signed(req.Params.RequestState); err != nil {
		return nil, err
	}
	if _, ok := filled(req.Params.InputResponses, "confirm", "ok"); !ok {
		return ask(sign("confirm"), mcp.InputRequestMap{"confirm": form("Please confirm", okForm)}), nil
	}
	return content(text("state-ok")), nil
}

// triggers are the tools that change a list, so that whoever listens is told.
func triggers(s *mcp.Server) []fixture {
	return []fixture{
		{"test_trigger_tool_change", anything, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			again := always("test_added_later", text("added"))
			s.AddTool(&mcp.Tool{Name: again.name, Description: "Conformance: a tool that comes and stays", InputSchema: json.RawMessage(anything)}, again.run)
			return content(text("The list of tools has changed.")), nil
		}},
		{"test_trigger_prompt_change", anything, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			s.AddPrompt(&mcp.Prompt{Name: "test_prompt_added_later", Description: "Conformance: a prompt that comes and stays"},
				func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
					return says(text("added")), nil
				})
			return content(text("The list of prompts has changed.")), nil
		}},
	}
}

func addResources(s *mcp.Server) {
	add := func(name, kind string, contents mcp.ResourceContents) {
		uri := "test://" + name
		contents.URI, contents.MIMEType = uri, kind
		s.AddResource(&mcp.Resource{Name: name, Description: "Conformance: " + name, URI: uri, MIMEType: kind},
			func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{&contents}}, nil
			})
	}
	add("static-text", "text/plain", mcp.ResourceContents{Text: "This is the content of the static text resource."})
	add("static-binary", "image/png", mcp.ResourceContents{Blob: picture})
	add("watched-resource", "text/plain", mcp.ResourceContents{Text: "Watched."})
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "template", Description: "Conformance: a template", URITemplate: "test://template/{id}/data", MIMEType: "application/json"},
		func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(req.Params.URI, "test://template/"), "/data")
			data, err := json.Marshal(map[string]any{"id": id, "templateTest": true, "data": "Data for ID: " + id})
			if err != nil {
				return nil, err
			}
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: "application/json", Text: string(data)}}}, nil
		})
}

func says(parts ...mcp.Content) *mcp.GetPromptResult {
	result := &mcp.GetPromptResult{}
	for _, part := range parts {
		result.Messages = append(result.Messages, &mcp.PromptMessage{Role: "user", Content: part})
	}
	return result
}

func addPrompts(s *mcp.Server) {
	add := func(name string, arguments []string, get func(arguments map[string]string) *mcp.GetPromptResult) {
		p := &mcp.Prompt{Name: name, Description: "Conformance: " + name}
		for _, a := range arguments {
			p.Arguments = append(p.Arguments, &mcp.PromptArgument{Name: a, Description: "Conformance: " + a, Required: true})
		}
		s.AddPrompt(p, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return get(req.Params.Arguments), nil
		})
	}
	add("test_simple_prompt", nil, func(map[string]string) *mcp.GetPromptResult {
		return says(text("This is a simple prompt for testing."))
	})
	add("test_prompt_with_arguments", []string{"arg1", "arg2"}, func(a map[string]string) *mcp.GetPromptResult {
		return says(text("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"]))
	})
	add("test_prompt_with_embedded_resource", []string{"resourceUri"}, func(a map[string]string) *mcp.GetPromptResult {
		return says(resource(a["resourceUri"], "text/plain", "Embedded resource content for testing."), text("Please process the embedded resource above."))
	})
	add("test_prompt_with_image", nil, func(map[string]string) *mcp.GetPromptResult {
		return says(&mcp.ImageContent{Data: picture, MIMEType: "image/png"}, text("Please analyze the image above."))
	})
	s.AddPrompt(&mcp.Prompt{Name: "test_input_required_result_prompt", Description: "Conformance: a prompt that asks first"},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			if answer, ok := filled(req.Params.InputResponses, "user_context", "context"); ok {
				return says(text("Context: %v", answer)), nil
			}
			return &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{"user_context": form("What context should the prompt use?", contextForm)}}, nil
		})
}
