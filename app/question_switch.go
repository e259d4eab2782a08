package app

import (
	"errors"
	"path/filepath"
	"strings"

	"handrail/core/approval"
)

// switchQuestion is the question whether something is turned on for a client. No client asks it.
func (w Words) switchQuestion(r approval.Request) Question {
	s := r.Switch
	who := quote(Escape(clientName(s.Client)))
	values := holes{"Who": who, "Thing": w.switchName(s)}
	return Question{
		Window: w.say("window_title", nil),
		Title:  w.spans("title_turn_on", values),
		Facts: []Fact{
			{Label: w.say("label_opens", nil), Value: w.reasons([]string{s.Opens}), Exact: true},
			{Label: w.say("label_client", nil), Value: Escape(s.Client), Exact: true},
			{Label: w.say("label_covers", nil), Value: w.say("covers_turn_on", values)},
			{Label: w.say("label_until", nil), Value: w.say("until_turned_off", nil)},
		},
		More:               w.say("more_below", nil),
		Details:            []Fact{{Label: w.say("label_switch", nil), Value: Escape(s.Name), Exact: true}},
		Refuse:             w.say("button_refuse", nil),
		Allow:              w.say("button_allow", nil),
		Authenticate:       w.say("button_authenticate", nil),
		AuthenticateReason: w.say("authenticate_turn_on", values),
	}
}

// clientName is what a client is called in a sentence, from its credential: a token's name, or a program's without its folder.
func clientName(id string) string {
	kind, name, _ := strings.Cut(id, ":")
	if kind == "stdio" {
		name = filepath.Base(name)
	}
	if name, left := cut(name, maxName); left > 0 {
		return name + " [+]"
	}
	return name
}

// switchName says what a client then does.
func (w Words) switchName(s *approval.Switch) string {
	if s.Tool {
		return w.say("switch_tool", holes{"Tool": quote(Escape(s.Name))})
	}
	return w.say("switch_"+s.Name, nil)
}

// switches are those that there are words for.
var switches = map[string]bool{"outside": true, "ssh-agent": true, "docker": true, "browser": true, "xcode": true, "home": true}

// completeSwitch says what a question about a switch lacks, or has too much: nothing else may be asked with it.
func completeSwitch(r approval.Request) error {
	s := r.Switch
	if s == nil {
		return errors.New("no switch")
	}
	rest := r
	rest.Kind, rest.Switch = "", nil
	switch {
	case r.Kind != approval.TurnOn, rest.Digest() != (approval.Request{}).Digest():
		return errors.New("a switch and another question")
	case s.Client == "" || s.Name == "" || s.Opens == "" || !s.Tool && !switches[s.Name]:
		return errors.New("no client, no switch that there is, or nothing that it opens")
	case max(len(s.Client), len(s.Name), len(s.Opens)) > approval.MaxCommand:
		return errors.New("more than can be shown")
	}
	return nil
}
