package app

import (
	"errors"
	"strings"
	"testing"

	"handrail/core/assistant"
	"handrail/core/hint"
)

// Every state and every problem has words of its own in both languages, with its file and the program where they matter, escaped.
func TestAssistantWords(t *testing.T) {
	for _, language := range []string{"en", "th"} {
		w := NewWords(language)
		seen := map[string]string{}
		distinct := func(what, text string, holds ...string) {
			if other := seen[text]; other != "" || len(text) < 5 {
				t.Errorf("%s: %s has the words of %s: %s", language, what, other, text)
			}
			seen[text] = what
			for _, h := range holds {
				if !strings.Contains(text, h) {
					t.Errorf("%s: %s lacks %s: %s", language, what, h, text)
				}
			}
			if strings.ContainsAny(text, "\u202e") || strings.Contains(text, "no value") {
				t.Errorf("%s: %s: %q", language, what, text)
			}
		}
		a := assistant.Assistant{Name: "Zed", File: "/home/a\u202eb/settings.json", Starts: "/opt/x\u202ey"}
		for a.State = assistant.NotFound; a.State <= assistant.Broken; a.State++ {
			distinct(a.State.String(), AssistantState(w, a))
		}
		const file, program = "/home/a⟨U+202E⟩b/settings.json", "/opt/x⟨U+202E⟩y"
		for code, holds := range map[string][]string{
			"not_installed": {"Zed"}, "open_once": {"Zed"}, "config_unreadable": {"Zed", file}, "config_file": {"Zed", file}, "config_busy": {"Zed"},
			"not_ours": {"Zed", file, program}, "place_disk_image": nil, "place_second_copy": nil, "bad_program": {"Zed"},
		} {
			distinct(code, AssistantProblem(w, a, hint.New(code, "x")), holds...)
		}
		if got := AssistantProblem(w, a, errors.New("x")); got != AssistantProblem(w, a, hint.New("bad_program", "x")) {
			t.Errorf("%s: an error without a hint: %s", language, got)
		}
		distinct("after", AssistantAfter(w, a), "Zed")
		a.Terminal = true
		distinct("after, in a terminal", AssistantAfter(w, a), "Zed")
		for _, p := range PublicAddress(w) {
			distinct("a paragraph", p)
		}
	}
}
