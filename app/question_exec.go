package app

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"handrail/core/approval"
)

// commandFacts are what a question about a command shows first: what will run, and why the person is asked.
func (w Words) commandFacts(r approval.Request) (list []Fact) {
	c := r.Command
	lines := func(label string, texts []string) {
		if len(texts) > 0 {
			list = append(list, Fact{Label: w.say(label, nil), Value: bullets(texts), Exact: true})
		}
	}
	text := func(label, s string) {
		list = append(list, Fact{Label: w.say(label, nil), Value: escapeDiff(strings.TrimSuffix(s, "\n")), Exact: true})
	}
	if r.Kind == approval.Outside {
		list = append(list, Fact{Label: w.say("label_outside", nil), Value: w.say("outside", nil)})
	}
	text("label_runs", c.Runs)
	runs := &list[len(list)-1]
	runs.Marks = marks(runs.Value, c)
	if c.Text != c.Runs {
		text("label_given", c.Text)
	}
	lines("label_deletes", c.Deletes)
	if r.Kind == approval.Outside {
		var programs []string
		for _, f := range c.Files {
			programs = append(programs, f.Real)
		}
		lines("label_programs", programs)
	}
	lines("label_environment", c.Env)
	if len(c.Inherits) > 0 {
		list = append(list, Fact{Label: w.say("label_inherits", nil), Value: Escape(strings.Join(c.Inherits, ", ")), Exact: true})
	}
	says := func(label string, texts []string) {
		if len(texts) > 0 {
			list = append(list, Fact{Label: w.say(label, nil), Value: w.reasons(texts), Exact: true})
		}
	}
	says("label_why", c.Why)
	says("label_open", c.Open)
	return list
}

// commandDetails are the files that the answer binds.
func (w Words) commandDetails(c *approval.Command) (list []Fact) {
	add := func(label, value string) {
		list = append(list, Fact{Label: w.say(label, nil), Value: value, Exact: true})
	}
	if c.Shell != "" {
		add("label_shell", Escape(c.Shell))
	}
	for _, f := range c.Files {
		label := "label_runs_program"
		if f.Script {
			label = "label_runs_script"
		}
		value := Escape(f.Path)
		if f.Real != f.Path {
			value += "\n" + Escape(f.Real)
		}
		value += fmt.Sprintf("\n%d:%d", f.ID.Device, f.ID.Inode)
		if f.SHA256 != "" {
			value += "\nSHA-256 " + Escape(f.SHA256)
		}
		add(label, value)
	}
	return list
}

func bullets(texts []string) string {
	var lines []string
	for _, t := range texts {
		lines = append(lines, "• "+Escape(t))
	}
	return strings.Join(lines, "\n")
}

// completeCommand says what a question about a command lacks.
func completeCommand(r approval.Request) error {
	c := r.Command
	switch {
	case r.Kind.Runs() != (c != nil):
		return fmt.Errorf("no command, or one for another question")
	case c == nil:
		return nil
	case c.Text == "" || c.Runs == "" || r.Makes || r.File:
		return fmt.Errorf("no command or no folder for it")
	case len(c.Text) > approval.MaxCommand || len(c.Runs) > approval.MaxCommand:
		return fmt.Errorf("a command that is too long")
	case max(len(c.Env), len(c.Inherits), len(c.Files), len(c.Open), len(c.Deletes), len(c.Why)) > approval.MaxListed:
		return fmt.Errorf("more than can be listed")
	case c.Shell != "" && !filepath.IsAbs(c.Shell):
		return fmt.Errorf("no shell")
	case c.Rule != nil && (!filepath.IsAbs(c.Rule.Program) || c.Rule.Script != "" && !filepath.IsAbs(c.Rule.Script)):
		return fmt.Errorf("a rule without a program")
	case c.Rule != nil && (len(c.Env) > 0 || len(c.Deletes) > 0 || r.Kind == approval.Outside):
		return fmt.Errorf("a rule for what is never covered by one")
	}
	return nil
}

// offer adds the button for a lasting rule to a question that offers one, and what the rule would be.
func (w Words) offer(q *Question, r approval.Request) {
	if r.Command == nil || r.Command.Rule == nil {
		return
	}
	message, rule := "offer_program", r.Command.Rule
	if rule.Script != "" {
		message = "offer_script"
	}
	q.Always = w.say("button_always", nil)
	q.Facts = append(q.Facts, Fact{Label: w.say("label_offer", nil), Offer: true,
		Value: w.say(message, holes{"Who": w.who(r), "Program": quote(Escape(rule.Program)), "Script": quote(Escape(rule.Script))})})
}

// withoutOffers is the question for a surface that offers no more than Allow and Don't Allow.
func (q Question) withoutOffers() Question {
	q.Facts = slices.DeleteFunc(slices.Clone(q.Facts), func(f Fact) bool { return f.Offer })
	q.Always, q.Quiet = "", ""
	return q
}
