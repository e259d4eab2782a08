package core

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"handrail/core/approval"
	"handrail/core/assistant"
	"handrail/core/client"
	"handrail/core/hint"
)

// A token is made by the person's click on its very question, and by nothing else.
func TestAskToken(t *testing.T) {
	o := options(t)
	answer := func(r approval.Request) approval.Decision { return approval.Refuse(approval.Refused, "dialog", "") }
	var asked []approval.Request
	o.Asker = clicks(func(_ context.Context, r approval.Request) approval.Decision {
		asked = append(asked, r)
		return answer(r)
	})
	h := newHost(t, o)
	refused := func(name, code string) {
		t.Helper()
		token, _, err := h.AskToken(t.Context(), name)
		list, listErr := h.tokens.List()
		if token != "" || hint.Code(err) != code || len(list) != 0 || listErr != nil {
			t.Errorf("%q: %q, %v, want %s; %v, %v", name, token, err, code, list, listErr)
		}
	}
	refused("editor", "no_http")
	serve, err := h.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- serve(ctx) }()
	t.Cleanup(func() { cancel(); <-served })
	refused("two words", "bad_name")
	h.Pause(0)
	refused("editor", "paused")
	h.Resume()
	if len(asked) != 0 {
		t.Errorf("asked %v", asked)
	}
	refused("editor", "refused")
	answer = func(r approval.Request) approval.Decision { // to another question
		p := *r.Pairing
		p.Name, r.Pairing = "other", &p
		return approval.Allow(r, "dialog")
	}
	refused("editor", "refused")

	answer = func(r approval.Request) approval.Decision { return approval.Allow(r, "dialog") }
	token, url, err := h.AskToken(t.Context(), "editor")
	if who, level, ok := h.tokens.Verify(token); err != nil || !ok || who.ID != client.TokenID("editor") || level != client.Ask || url != h.Status().Address {
		t.Errorf("%v, %v, %v, %s, %v", who, level, ok, url, err)
	}
	if _, _, err := h.AskToken(t.Context(), "editor"); hint.Code(err) != "name_taken" {
		t.Error(err)
	}
	if r := asked[len(asked)-1]; r.Kind != approval.NewToken || r.Pairing.Name != "editor" || r.Pairing.Level != "ask" || r.Pairing.Resource != url {
		t.Errorf("asked %+v", r)
	}
}

// An assistant is set up where Handrail stays, and not where it doesn't.
func TestConnectAssistant(t *testing.T) {
	for _, variable := range []string{"XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"} {
		t.Setenv(variable, "")
	}
	o := options(t)
	place := hint.New("place_trash", "it is in the trash")
	var stays bool
	o.Bridge = func() (assistant.Command, error) {
		if !stays {
			return assistant.Command{}, place
		}
		return assistant.Command{Path: "/opt/handrail", Args: []string{"stdio"}}, nil
	}
	file := filepath.Join(o.Home, ".cursor", "mcp.json")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("{}\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	h := newHost(t, o)
	if _, err := h.ConnectAssistant("cursor"); !errors.Is(err, place) {
		t.Error(err)
	}
	if _, problem := h.Assistants(); !errors.Is(problem, place) {
		t.Error(problem)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "{}\n" {
		t.Errorf("%s, %v", text, err)
	}
	stays = true
	if ch, err := h.ConnectAssistant("cursor"); err != nil || ch.Assistant.State != assistant.Connected {
		t.Errorf("%+v, %v", ch, err)
	}
	if _, err := h.ConnectAssistant("nobody"); hint.Code(err) != "unknown_assistant" {
		t.Error(err)
	}
	if ch, err := h.DisconnectAssistant("cursor"); err != nil || !ch.Restored {
		t.Errorf("%+v, %v", ch, err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "{}\n" {
		t.Errorf("%s, %v", text, err)
	}
}
