package app

import (
	"handrail/core/assistant"
	"handrail/core/hint"
)

// AssistantState says in a few words how an assistant stands to Handrail.
func AssistantState(w Words, a assistant.Assistant) string {
	id := "assistant_not_found"
	switch a.State {
	case assistant.Apart:
		id = "assistant_apart"
	case assistant.Connected:
		id = "assistant_connected"
	case assistant.Different:
		id = "assistant_different"
	case assistant.Taken:
		id = "assistant_taken"
	case assistant.Broken:
		id = "assistant_broken"
	}
	return w.say(id, nil)
}

// AssistantAfter says what must be done after Connect or Disconnect so that the assistant notices.
func AssistantAfter(w Words, a assistant.Assistant) string {
	if a.Terminal {
		return w.say("assistant_after_terminal", holes{"Name": a.Name})
	}
	return w.say("assistant_after_app", holes{"Name": a.Name})
}

// AssistantProblem says why Connect or Disconnect of an assistant didn't work, by the code of the hint that it gave, or that core/program gave,
// and what to do.
func AssistantProblem(w Words, a assistant.Assistant, err error) string {
	id := "assistant_problem_other"
	switch code := hint.Code(err); code {
	case "not_installed", "open_once", "config_unreadable", "config_file", "config_busy", "not_ours", "place_second_copy":
		id = "assistant_problem_" + code
	case "place_unknown", "place_translocated", "place_disk_image", "place_trash", "place_other_user":
		id = "assistant_problem_place"
	}
	return w.say(id, holes{"Name": a.Name, "File": Escape(a.File), "Program": Escape(a.Starts)})
}

// PublicAddress says in plain words, a paragraph each, what it means to let ChatGPT reach this computer: it can start no program here,
// and calls an address on the public internet. Handrail starts no tunnel.
func PublicAddress(w Words) []string {
	var all []string
	for _, id := range []string{"public_what", "public_tunnel", "public_risk", "public_instead", "public_if"} {
		all = append(all, w.say(id, nil))
	}
	return all
}
