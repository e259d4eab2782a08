package tool

import (
	"cmp"
	"context"
	"strings"
	"time"

	"handrail/core/job"
	"handrail/sandbox"
)

// checkTime bounds the check of one Python file.
const checkTime = 5 * time.Second

// checkProgram reads a source on standard input and says what is wrong with its syntax, in one line.
const checkProgram = `import ast, sys
try:
    ast.parse(sys.stdin.buffer.read())
except SyntaxError as e:
    sys.exit("line %s: %s" % (e.lineno, e.msg))
except ValueError as e:
    sys.exit(str(e))`

// python says what is wrong with a Python source's syntax. checked is false where it can't be told: no
// Python here, no sandbox, too slow. The source is parsed, never run, and that in a sandbox that writes nothing.
func (g *Gate) python(ctx context.Context, c *Call, source []byte) (problem string, checked bool) {
	r, err := g.Session(c.Session)
	if err != nil {
		return "", false
	}
	path, err := r.program("python3")
	if err != nil {
		return "", false
	}
	j, err := g.Jobs.Start(job.Spec{Session: c.Session.ID, Tool: c.Tool.Name, Text: "checking Python syntax", Argv: []string{path, "-I", "-S", "-c", checkProgram},
		Dir: g.Workspace, Env: r.Env, Input: source, Policy: sandbox.ReadOnly(r.Policy.Machine()), Timeout: cmp.Or(g.testOnlySlow, checkTime)})
	if err != nil {
		return "", false
	}
	select {
	case <-j.Done():
	case <-ctx.Done():
		j.Stop(job.Cancelled)
		return "", false
	}
	end := j.Result()
	if end.Err != nil || end.Stopped != "" || end.ExitCode > 1 {
		return "", false
	}
	said := strings.TrimSpace(plainText(j.Output.Stream(job.Stderr).Head).text)
	if end.ExitCode == 0 {
		return "", true
	}
	if !strings.HasPrefix(said, "line ") && strings.Contains(said, "\n") { // not ours: Python itself failed
		return "", false
	}
	return firstRunes(said, 300), true
}
