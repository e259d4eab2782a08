package tool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"handrail/core/job"
)

var errUnseen = errors.New("the session may not see it")

// readScript reads a file inside a folder, through no link out of it.
func readScript(folder, path string, most int) ([]byte, error) {
	rel, err := filepath.Rel(folder, path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(rel)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > int64(most) {
		return nil, errors.New("it is no script")
	}
	f, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a command may have put a pipe there since
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, int64(most)))
}

const (
	noOutput  = "(no output)"
	discarded = "[earlier output was discarded at the retention cap and cannot be recovered]"
	followUp  = "Use process (list/poll/log/write/send-keys/submit/paste/kill/clear/remove) for follow-up."
)

// readable makes output fit to be read: terminal sequences and characters that only change how text looks out, an overwritten
// line as it last stood, other control characters as \xNN, bytes that are no UTF-8 replaced.
func readable(raw []byte) string {
	text := escapes.ReplaceAllString(strings.ToValidUTF8(string(raw), "\uFFFD"), "")
	var b strings.Builder
	b.Grow(len(text))
	for line := range strings.Lines(text) {
		body, end := strings.CutSuffix(line, "\n")
		body = strings.TrimRight(body, "\r")
		body = body[strings.LastIndexByte(body, '\r')+1:]
		for _, r := range body {
			switch {
			case r == '\t':
				b.WriteRune(r)
			case r < 0x20 || r >= 0x7f && r < 0xa0:
				fmt.Fprintf(&b, `\x%02x`, r)
			case unicode.Is(unicode.Cf, r):
			default:
				b.WriteRune(r)
			}
		}
		if end {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// aggregated is a job's whole output as exec and process give it: of more than maxAggregated characters the newest, below a
// line that says so.
func aggregated(j *job.Job) (text string, cut bool) {
	raw, before := j.Output.Last(2 * utf8.UTFMax * maxAggregated)
	text = readable(raw)
	if short := lastRunes(text, maxAggregated); before > 0 || len(short) < len(text) {
		return short, true
	}
	return text, false
}

// execReport tells how a command ended or that it runs.
func (g *Gate) execReport(j *job.Job, warnings []string) answer {
	text, cut := aggregated(j)
	out := ExecOutput{Aggregated: text, Cwd: j.Spec.Dir, Warnings: warnings}
	var b strings.Builder
	for _, w := range warnings {
		fmt.Fprintf(&b, "Warning: %s\n", w)
	}
	if j.Running() {
		out.Status, out.SessionID, out.PID, out.StartedAt, out.FollowUp = "running", j.ID, j.PID(), j.Started.UnixMilli(), followUp
		out.Aggregated, out.Tail, out.DurationMs = "", lastRunes(text, tailRunes), time.Since(j.Started).Milliseconds()
		g.changesOf(j)
		fmt.Fprintf(&b, "Command still running (session %s, pid %d). %s", j.ID, out.PID, followUp)
		return answer{text: b.String(), data: out}
	}
	if cut {
		b.WriteString(discarded + "\n")
		out.OutputFile, _, _ = j.Output.Save()
	}
	if text == "" {
		text = noOutput
	}
	b.WriteString(strings.TrimRight(text, "\n"))
	end := endOf(j)
	out.Status, out.ExitCode, out.ExitSignal, out.ExitReason, out.FailureKind, out.TimedOut, out.DurationMs = end.status, end.code, end.signal, end.reason, end.failure, end.reason == "overall-timeout", j.Result().Duration.Milliseconds()
	if end.said != "" {
		b.WriteString("\n\n" + end.said)
	}
	r := j.Result()
	if r.LeftRunning > 0 {
		out.Warnings = append(slices.Clone(warnings), several(r.LeftRunning, "process that it left behind was", "processes that it left behind were")+" ended with it; use background to keep one running")
		b.WriteString("\n" + out.Warnings[len(out.Warnings)-1])
	}
	if r.Stopped == "" {
		if out.Hint = explain(r, j); out.Hint != "" {
			b.WriteString("\nHint: " + out.Hint)
		}
	}
	if out.OutputFile != "" {
		b.WriteString("\nThe whole output is in " + out.OutputFile)
	}
	var changes string
	out.ChangesOutput, changes = g.changesOf(j)
	b.WriteString(changes)
	return answer{text: b.String(), data: out}
}

// ending says how a job ended, in exec's words.
type ending struct {
	status, reason, failure, signal string
	code                            *int
	said                            string
}

func endOf(j *job.Job) ending {
	r := j.Result()
	e := ending{status: "failed", reason: "exit", signal: r.Signal}
	if r.Signal == "" {
		e.code = &r.ExitCode
	}
	switch {
	case r.Err != nil:
		e.failure, e.said = "runtime-error", "How the command ended is not known."
	case r.Stopped == job.TimedOut:
		e.reason, e.failure, e.code = "overall-timeout", "overall-timeout", nil
		e.said = fmt.Sprintf("Command timed out after %g seconds.\nIt was ended with all it had started, but it may have changed things outside already: check before you run it again, and don't repeat what must not happen twice. "+
			"If it should run longer, give timeoutSeconds; if it should keep running, use background or yieldMs, not a trailing &.", j.Spec.Timeout.Seconds())
	case r.Stopped == job.Killed:
		e.status, e.reason, e.code = "completed", "manual-cancel", nil
		e.said = "Process stopped by request (signal " + r.Signal + ")."
	case r.Stopped == job.Cancelled:
		e.reason, e.failure, e.code, e.said = "aborted", "aborted", nil, "Command aborted: the call was cancelled."
	case r.Stopped != "":
		e.reason, e.failure, e.code, e.said = "stopped", "aborted", nil, "Command aborted: the person stopped it."
	case r.Signal != "":
		e.reason, e.failure, e.said = "signal", "signal", "Command aborted by signal "+r.Signal
		if r.Signal == "SIGKILL" {
			e.said += ". If nothing you know of sent it, the system may have run out of memory."
		}
	case r.ExitCode == 127:
		e.failure, e.said = "shell-command-not-found", "Command not found (exit code 127)"
	case r.ExitCode == 126:
		e.failure, e.said = "shell-not-executable", "Command can't be executed (exit code 126)"
	default:
		e.status = "completed"
		if r.ExitCode != 0 {
			e.said = fmt.Sprintf("(Command exited with code %d)", r.ExitCode)
		}
	}
	return e
}

// How many jobs that have ended a session keeps, and how long.
const (
	keepEnded  = 50
	keepFor    = 30 * time.Minute
	keepOutput = 2_000_000 // bytes of output in memory, in all; the newest is always kept
)

// pruneJobs forgets exec's jobs that ended long ago.
func (g *Gate) pruneJobs(session string) {
	n, size := 0, int64(0)
	for _, j := range slices.Backward(g.Jobs.List(session)) {
		if j.Running() || j.Spec.Tool != execName {
			continue
		}
		n++
		size += min(j.Output.All().Total, maxAggregated)
		if n > keepEnded || n > 1 && size > keepOutput || time.Since(j.Started.Add(j.Result().Duration)) > keepFor {
			g.Jobs.Remove(j)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for j := range g.polled {
		if _, ok := g.Jobs.Find(j.Spec.Session, j.ID); !ok {
			delete(g.polled, j)
		}
	}
}

// mostRunning is how many commands of a session exec runs at once.
const mostRunning = 20

func (g *Gate) runningExec(session string) (n int) {
	for _, j := range g.Jobs.List(session) {
		if j.Running() && j.Spec.Tool == execName {
			n++
		}
	}
	return n
}
