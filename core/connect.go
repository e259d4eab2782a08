package core

import (
	"os"

	"handrail/core/assistant"
	"handrail/core/hint"
)

// Assistants lists the assistants that Handrail can set up, as they stand to it. problem says why none can be from where our program
// stands, as core/program judges.
func (h *Host) Assistants() (all []assistant.Assistant, problem error) {
	command, problem := h.bridge()
	return h.computer().List(command), problem
}

// ConnectAssistant has an assistant on this computer start Handrail, for the person: its settings are written, as assistant.Computer
// says. It gives the assistant no right: what it may do is decided when it calls.
func (h *Host) ConnectAssistant(id string) (assistant.Change, error) {
	command, err := h.bridge()
	if err != nil {
		return assistant.Change{}, err
	}
	ch, err := h.computer().Connect(id, command, false)
	if err == nil && !ch.Nothing {
		h.note(ch.Assistant.Name + " was set up to start Handrail")
	}
	return ch, err
}

// DisconnectAssistant takes Handrail out of an assistant's settings again.
func (h *Host) DisconnectAssistant(id string) (assistant.Change, error) {
	ch, err := h.computer().Disconnect(id)
	if err == nil && !ch.Nothing {
		h.note(ch.Assistant.Name + " no longer starts Handrail")
	}
	return ch, err
}

func (h *Host) computer() assistant.Computer {
	return assistant.Computer{Home: h.opts.Home, Env: os.Getenv}
}

func (h *Host) bridge() (assistant.Command, error) {
	if h.opts.Bridge == nil {
		return assistant.Command{}, hint.New("place_unknown", "assistants can't be set up here").Because("it is not known how they would start Handrail")
	}
	return h.opts.Bridge()
}
