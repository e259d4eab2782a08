package tool

import (
	"handrail/core/approval"
	"handrail/core/audit"
	"handrail/core/command"
	"handrail/core/hint"
)

func (g *Gate) files() command.Files {
	if g.testOnlyFiles != nil {
		return g.testOnlyFiles
	}
	return command.System()
}

// offer finds the lasting rule that can be offered for a command of which the person is asked only because their list doesn't
// cover it. Whether one can is found out anew each time, also for a rule that they chose before.
func (x *execution) offer(g *Gate) {
	x.rule = nil
	if !g.Rules.Offers() || len(x.env) > 0 || value(x.in.PTY, false) || value(x.in.Background, false) {
		return // the environment can change what a program does, and input what it reads
	}
	rule, ok, _ := command.AlwaysAllow(x.read)
	if !ok {
		rule, ok, _ = command.HarmlessScript(x.read, func(path string) ([]byte, error) { return readScript(x.dir, path, command.MaxHarmless) })
	}
	if ok && !x.read.Run().Exact {
		x.rule = &approval.Rule{Program: rule.Program, Script: rule.Script}
	}
}

// settled has a command run that a lasting rule covers as it is now.
func (x *execution) settled(g *Gate, c *Call) error {
	if x.rule == nil {
		return nil
	}
	r, err := g.commandRequest(c, x)
	if err != nil {
		return err
	}
	if id, ok := g.Rules.Covers(r); ok {
		x.judged.Outcome, x.by = command.RunScript, "rule "+id
	}
	return nil
}

// stillSettled fails if the rule that let a command run no longer covers it: the person may have been asked about its folder
// meanwhile, and its script may have been changed.
func (x *execution) stillSettled(g *Gate, c *Call) error {
	room, err := g.room(c.Session)
	if err != nil {
		return err
	}
	now := &execution{in: x.in, dir: x.dir, shell: x.shell, env: x.env}
	if err := now.judge(g, room); err != nil {
		return err
	}
	if err := now.settled(g, c); err != nil {
		return err
	}
	if now.by != x.by {
		return hint.New("changed", "the command is no longer what the person's lasting rule covers").Because("a program, the script or the folder changed").
			Then("call exec again: they will be asked")
	}
	return nil
}

// keepRule keeps the lasting rule that the person chose. That it can't be kept is in the log, and keeps nothing from running
// once; that it can't be recorded does.
func (g *Gate) keepRule(c *Call, r approval.Request, surface string) error {
	note := audit.Record{Kind: audit.Note, Call: c.ID, Tool: c.Tool.Name, Text: "a lasting rule: exec " + r.Command.Runs, Paths: []string{r.Folder}, By: surface, Outcome: "ok"}
	id, err := r.RuleID()
	if err == nil { // it is recorded before it counts
		note.Detail = "rule " + id
		if err := g.append(c, note); err != nil {
			return err
		}
		_, err = g.Rules.Keep(r)
	}
	if err != nil {
		note.Outcome, note.Detail = "failed", err.Error()
		return g.append(c, note)
	}
	return nil
}
