package tool

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"handrail/core/command"
	"handrail/core/hint"
	"handrail/core/job"
	"handrail/sandbox"
)

// maxOutput is how many characters of a command's output an answer holds.
const maxOutput = 10_000

// report tells how a job ended or that it runs: the text for the model, and the same as data.
func (g *Gate) report(j *job.Job) answer {
	end := min(traceback(j.Output.Stream(job.Stderr)), maxOutput*9/10)
	all := shorten(j.Output.All(), maxOutput, 0)
	out, errs := shorten(j.Output.Stream(job.Stdout), maxOutput, 0), shorten(j.Output.Stream(job.Stderr), maxOutput, end)
	if all.cut && end > 0 { // the two streams race, so the traceback may be anywhere in them together
		all.text = shorten(j.Output.Stream(job.Stdout), maxOutput-end, 0).text + "\n" + lastRunes(errs.text, end)
	}
	data := CommandOutput{Stdout: out.text, Stderr: errs.text, Truncated: all.cut || out.cut || errs.cut, InvalidUTF8: all.invalid}

	var b strings.Builder
	if data.Truncated {
		file, rotated, fileErr := j.Output.Save()
		data.OutputFile = file
		switch {
		case file == "":
			fmt.Fprintf(&b, "[%s] truncated: %d bytes; the whole output could not be kept: %v\n", j.Spec.Tool, j.Output.All().Total, fileErr)
		case rotated:
			fmt.Fprintf(&b, "[%s] truncated: %d bytes; the last part is in %s\n", j.Spec.Tool, j.Output.All().Total, file)
		default:
			fmt.Fprintf(&b, "[%s] truncated: the whole output, %d bytes, is in %s\n", j.Spec.Tool, j.Output.All().Total, file)
		}
	}
	b.WriteString(all.text)
	if all.text != "" && !strings.HasSuffix(all.text, "\n") {
		b.WriteString("\n")
	}
	r := j.Result()
	if j.Running() {
		data.Running, data.JobID, data.DurationMS = true, j.ID, time.Since(j.Started).Milliseconds()
		g.changesOf(j)
		fmt.Fprintf(&b, "[still running after %.0f s as %s; follow it with bash_bg, action status]", time.Since(j.Started).Seconds(), j.ID)
		return answer{b.String(), data}
	}
	code := r.ExitCode
	data.ExitCode, data.Signal, data.DurationMS, data.LeftRunning = &code, r.Signal, r.Duration.Milliseconds(), r.LeftRunning
	data.Stopped, data.TimedOut = string(r.Stopped), r.Stopped == job.TimedOut
	var status []string
	switch {
	case r.Err != nil:
		status = append(status, "how it ended is not known")
	case r.Stopped == job.TimedOut:
		status = append(status, fmt.Sprintf("timed out after %.0f s and was killed with all it had started", r.Duration.Seconds()))
	case r.Stopped != "":
		status = append(status, "stopped: "+string(r.Stopped))
	case r.Signal != "":
		status = append(status, "ended by "+r.Signal)
	case code != 0:
		status = append(status, fmt.Sprintf("exit code %d", code))
	}
	if r.LeftRunning > 0 {
		status = append(status, several(r.LeftRunning, "background process was", "background processes were")+" ended with it; use bash_bg to keep one running")
	}
	if all.invalid {
		status = append(status, "bytes that are no UTF-8 were replaced")
	}
	if r.Stopped == "" {
		data.Hint = explain(r, j)
	}
	if data.Hint != "" {
		status = append(status, "hint: "+data.Hint)
	}
	if len(status) > 0 {
		fmt.Fprintf(&b, "[%s]", strings.Join(status, "; "))
	}
	var changes string
	data.ChangesOutput, changes = g.changesOf(j)
	if text := b.String(); text == "" || strings.HasSuffix(text, "\n") {
		changes = strings.TrimPrefix(changes, "\n")
	}
	b.WriteString(changes)
	return answer{b.String(), data}
}

// explain gives a hint where there is evidence for one. "The sandbox" is named only where the policy
// agrees: ssh and sudo say "Permission denied" too, and so does a file's own mode.
func explain(r job.Result, j *job.Job) string {
	if r.ExitCode == 0 || r.Signal != "" {
		return ""
	}
	errs := j.Output.Stream(job.Stderr)
	in := workedIn(j.Spec)
	for line := range strings.Lines(string(errs.Head) + string(errs.Tail)) {
		line, dir := strings.TrimSpace(plainText([]byte(line)).text), in
		if shellLine.MatchString(line) && strings.Contains(line, ": cd: ") {
			dir = j.Spec.Dir
		}
		if h := explainLine(line, dir, j.Spec.Policy); h != "" {
			return h
		}
	}
	switch r.ExitCode {
	case 127:
		return "command not found: check the spelling, or use an absolute path"
	case 126:
		return "that file can't be executed: check what it is, and its mode"
	}
	if unreached(r.ExitCode, j.Spec) {
		return noNetwork
	}
	return explainDenials(j.Denials(denialWait), j.Spec.Policy)
}

// unreachedCodes are how programs end, even when they are told to print nothing, that can't reach another computer: curl(1) and wget(1), EXIT
// CODES and EXIT STATUS.
var unreachedCodes = map[string][]int{"curl": {6, 7}, "wget": {4}}

// unreached says that a script failed as one of its commands does without a network, and that it has none.
func unreached(code int, s job.Spec) bool {
	if s.Tool == "git" || s.Tool == "python_exec" || s.Policy.Allows(sandbox.Network) || s.Policy.Profile() == "classic" {
		return false
	}
	plan := command.Analyse(s.Text, command.Context{Shell: command.Bash, Dir: s.Dir, Home: s.Policy.Machine().Home})
	for seg := range plan.All() {
		if c := seg.Command(); c != nil && slices.Contains(unreachedCodes[c.Program.Name], code) {
			return true
		}
	}
	return false
}

// workedIn gives the folder that relative paths in a job's output are most likely meant from: the one in which all commands of its script
// ran; "" where there are several, or none is known. Not covered: programs that change their folder themselves (make -C).
func workedIn(s job.Spec) string {
	if s.Tool == "git" {
		return s.Dir
	}
	if s.Tool == "python_exec" {
		if strings.Contains(s.Text, "chdir") {
			return ""
		}
		return s.Dir
	}
	plan := command.Analyse(s.Text, command.Context{Shell: command.Bash, Dir: s.Dir, Home: s.Policy.Machine().Home})
	if plan.Doubts&command.Folder == 0 {
		return s.Dir
	}
	var in []string
	for seg := range plan.All() {
		if seg.Doubts&command.Folder == 0 || seg.Command() == nil || seg.Command().Program.Name != "cd" {
			in = append(in, seg.Dir)
		}
	}
	slices.Sort(in)
	if in = slices.Compact(in); len(in) == 1 {
		return in[0]
	}
	return ""
}

// denialWait is how long the answer of a command that failed waits for the system's log. Records often come later still; then there
// is no hint.
const denialWait = 400 * time.Millisecond

const noNetwork = "there is no network in the sandbox; request_access with level network asks the person for it"

// explainDenials tells of the last record of the system's log that the policy agrees with. Programs try much that they can do without,
// so a change that was refused counts before the network, and that before reading.
func explainDenials(all []sandbox.Denial, p sandbox.Policy) string {
	var best string
	rank := 0
	for _, d := range all {
		op := d.Op()
		decision := p.Decide(op, d.Path)
		says := func(this int, text string) {
			if this >= rank {
				rank, best = this, "macOS's log says that the sandbox denied "+text
			}
		}
		switch {
		case !printable(d.Path) || !printable(d.Process):
		case op == sandbox.Read && !decision.Allowed && filepath.IsAbs(d.Path):
			says(1, fmt.Sprintf("reading %s to %s (%s)%s", d.Path, d.Process, decision.Rule, opens(decision)))
		case op != sandbox.NoOp && op != sandbox.Read && !decision.Allowed && filepath.IsAbs(d.Path):
			says(3, fmt.Sprintf("changing %s to %s (%s)%s", d.Path, d.Process, decision.Rule, opens(decision)))
		case d.Operation == "network-outbound" && !p.Allows(sandbox.Network) && !strings.HasPrefix(d.Path, "/"):
			says(2, fmt.Sprintf("the network to %s; request_access with level network asks the person for it", d.Process))
		}
	}
	return best
}

// printable reports whether a text of the system's log can stand in a line.
func printable(s string) bool {
	return len(s) <= 500 && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

var (
	refusal = regexp.MustCompile(`(?i)operation not permitted|permission denied|read-only file system|no such file or directory`)
	// changes are the words by which programs say that they wanted to change something.
	changes = regexp.MustCompile(`(?i)\b(creat|writ|touch|remov|delet|unlink|renam|mov|mkdir|rmdir|truncat|link|chmod|chown|cop|sav|lock|set|open.*for writing)`)
	// shellLine is how bash and sh begin what they say themselves.
	shellLine = regexp.MustCompile(`^\S*(bash|sh): (line )?\d+: `)
	quoted    = regexp.MustCompile("'([^']+)'|\"([^\"]+)\"|[\u2018`]([^\u2019']+)[\u2019']")
)

// signs are error texts that programs print for one reason only, where the policy is as said.
var signs = []struct {
	text *regexp.Regexp
	open sandbox.Permission // with this permission the text has another reason; 0: no permission changes it
	hint string
}{
	// What osascript and open print on macOS when AppleEvents and LaunchServices are closed to them.
	{regexp.MustCompile(`(?i)execution error:.*\((-10004|-600|-1743)\)\s*$`), 0,
		"the sandbox lets no command control other apps; clicking and typing in apps isn't offered here"},
	{regexp.MustCompile(`(?i)(LSOpen|_LSOpen|LSCopy|open\().*(-10822|-54|error -?10822)`), 0,
		"the sandbox lets no command open apps; a command that is only open and one app, document or web address is done outside it"},
	{regexp.MustCompile(`(?i)sandbox_apply: operation not permitted`), 0,
		"a sandbox can't be started in the sandbox: tell the program to leave its own out"},
	{regexp.MustCompile(`(?i)"no new privileges" flag is set|effective uid is not 0`), 0,
		"no program in the sandbox gets another user's rights"},
	// A shell has no program by the name of a tool, as far as there is none.
	{regexp.MustCompile(`^\S*(bash|sh): (line )?(\d+: )?(apply_?patch|bash_bg|edit|exec|list_files|process|python_exec|rag_search|read_file|request_access|write_file): (command )?not found$`), 0,
		"that is a tool here, not a program: call it as a tool"},
	// No command can look up a name or reach an address without the permission.
	{regexp.MustCompile(`(?i)could not resolve host|temporary failure in name resolution|name or service not known|nodename nor servname provided|network is unreachable|getaddrinfo (ENOTFOUND|EAI_AGAIN)|no address associated with hostname`), sandbox.Network,
		noNetwork},
}

// explainLine explains one line of error output, if the policy would refuse what it tells of. Relative paths are dir's; with no dir nothing
// is said of them.
func explainLine(line, dir string, p sandbox.Policy) string {
	for _, sign := range signs {
		if sign.text.MatchString(line) && p.Profile() != "classic" && !p.Allows(sign.open) {
			return sign.hint
		}
	}
	at := refusal.FindStringIndex(line)
	if at == nil {
		return ""
	}
	what := strings.ToLower(line[at[0]:at[1]])
	for _, path := range pathsIn(line[:at[0]], line[at[1]:], dir) {
		// Of the root folder the policy knows less than programs may do.
		if d := p.Decide(sandbox.Read, path); !d.Allowed && path != "/" {
			if strings.HasPrefix(what, "no such") {
				return fmt.Sprintf("%s can't be seen from inside the sandbox, whether or not it exists (%s)%s", path, d.Rule, opensAt(d, path, p))
			}
			return fmt.Sprintf("the sandbox denied reading %s (%s)%s", path, d.Rule, opensAt(d, path, p))
		}
		wrote := strings.HasPrefix(what, "read-only") || changes.MatchString(line)
		// Nothing but the sandbox keeps protected names from being changed.
		if d := p.Decide(sandbox.Write, path); !d.Allowed && (wrote || d.Opens == sandbox.OpensProtected) && !strings.HasPrefix(what, "no such") {
			return fmt.Sprintf("the sandbox denied changing %s (%s); writable: %s%s", path, d.Rule, writable(p), opens(d))
		}
	}
	return ""
}

// writable lists what a command may change, its own temporary folder by the name it knows.
func writable(p sandbox.Policy) string {
	m := p.Machine()
	list := slices.DeleteFunc(p.Writable(), func(s string) bool { return s == m.Temp || s == m.Caches })
	return strings.Join(append(list, "$TMPDIR"), ", ")
}

// opensAt is opens for a path. The home folder itself can't be asked for, so its files can't be opened; whether it is a file isn't looked
// at, for the client may not know.
func opensAt(d sandbox.Decision, path string, p sandbox.Policy) string {
	if d.Opens == sandbox.OpensLook && filepath.Dir(path) == p.Machine().Home {
		return "; if it is a folder, request_access with level look asks the person to open it; if it is a file, ask them to put a copy into the workspace"
	}
	return opens(d)
}

func opens(d sandbox.Decision) string {
	switch d.Opens {
	case sandbox.OpensNothing:
		return "; no permission opens it"
	case sandbox.OpensEdit:
		return "; request_access asks the person to open the folder"
	case sandbox.OpensLook:
		return "; request_access with level look asks the person to open the folder"
	case sandbox.OpensProtected:
		return "; edit and write_file ask the person for such a file alone"
	}
	return "; it needs the permission " + d.Opens + ", which only the person can give"
}

// pathsIn finds what an error line is about: the last quoted text, or what stands between the last colons before the
// refusal, or a quoted text after it ("Permission denied: '/x'").
func pathsIn(before, after, dir string) []string {
	var words []string
	add := func(text string) {
		all := quoted.FindAllStringSubmatch(text, -1)
		for _, m := range slices.Backward(all) {
			words = append(words, cmp.Or(m[1], m[2], m[3]))
		}
	}
	add(before)
	add(after)
	if segment := strings.TrimRight(before, ": ("); len(words) == 0 && segment != "" {
		segment = segment[strings.LastIndex(segment, ": ")+1:]
		segment = strings.TrimSpace(strings.TrimPrefix(segment, ":"))
		// A shell names its line and then the file, which may hold blanks; others say "cannot touch x".
		if !filepath.IsAbs(segment) && !shellLine.MatchString(before) {
			segment = segment[strings.LastIndex(segment, " ")+1:]
		}
		words = append(words, strings.TrimPrefix(strings.TrimPrefix(segment, "cannot create "), "cannot open "))
	}
	var found []string
	for _, w := range words {
		if w == "" || strings.Contains(w, "://") {
			continue
		}
		if !filepath.IsAbs(w) {
			if dir == "" {
				continue
			}
			w = filepath.Join(dir, w)
		}
		if real, err := resolve(filepath.Clean(w)); err == nil && !slices.Contains(found, real) {
			found = append(found, real)
		}
	}
	return found
}

// shortened is output made fit for an answer.
type shortened struct {
	text    string
	cut     bool
	invalid bool
}

// traceback gives how many characters at the end of error output are a Python traceback, with those that led to it, 0 where
// there is none. Its last lines say what went wrong and its first where, so it isn't cut in its middle.
func traceback(t job.Text) int {
	text := plainText(t.Tail).text
	if t.Missing == 0 {
		text = plainText(append(slices.Clone(t.Head), t.Tail...)).text
	}
	const head = "Traceback (most recent call last):"
	at := strings.LastIndex(text, head)
	for at > 0 {
		before := strings.TrimRight(text[:at], "\n")
		if !strings.HasSuffix(before, "another exception occurred:") && !strings.HasSuffix(before, "direct cause of the following exception:") {
			break
		}
		at = strings.LastIndex(before, head)
	}
	if at < 0 {
		return 0
	}
	return utf8.RuneCountInString(text[at:])
}

// shorten gives the beginning and the end of output, at most limit characters, of the end not less than half, or end if
// that is more; end is less than limit.
func shorten(t job.Text, limit, end int) shortened {
	whole := plainText(append(slices.Clone(t.Head), t.Tail...))
	if t.Missing == 0 && utf8.RuneCountInString(whole.text) <= limit {
		return whole
	}
	var head, tail shortened
	if t.Missing == 0 {
		head, tail = whole, whole
	} else {
		head, tail = plainText(t.Head), plainText(t.Tail)
	}
	end = max(end, limit/2)
	first, last := firstRunes(head.text, limit-end), lastRunes(tail.text, end)
	return shortened{text: first + "\n[…]\n" + last, cut: true, invalid: whole.invalid}
}

func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

func lastRunes(s string, n int) string {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return s[i:]
}

func lastBytes(t job.Text, n int64) []byte {
	all := append(slices.Clone(t.Head), t.Tail...)
	return all[max(0, int64(len(all))-n):]
}

// escapes are the control sequences of terminals (ECMA-48 and the OSC, DCS, PM and APC strings of xterm).
var escapes = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[ -/]*[0-~])|\u009b[0-?]*[ -/]*[@-~]")

// plainText makes output readable: terminal sequences out, a line that was overwritten with carriage returns as it last
// stood, bytes that are no UTF-8 replaced.
func plainText(raw []byte) shortened {
	s := shortened{invalid: !utf8.Valid(raw)}
	text := escapes.ReplaceAll(bytes.ToValidUTF8(raw, []byte("\uFFFD")), nil)
	out := make([]byte, 0, len(text))
	for line := range bytes.SplitAfterSeq(text, []byte("\n")) {
		body, end := bytes.CutSuffix(line, []byte("\n"))
		body = bytes.TrimRight(body, "\r")
		body = body[bytes.LastIndexByte(body, '\r')+1:]
		start := len(out)
		for _, r := range string(body) {
			switch {
			case r == '\b' && len(out) > start:
				_, size := utf8.DecodeLastRune(out)
				out = out[:len(out)-size]
			case r == '\t' || r >= 0x20 && r != 0x7f:
				out = utf8.AppendRune(out, r)
			}
		}
		if end {
			out = append(out, '\n')
		}
	}
	s.text = string(out)
	return s
}

// notStarted says why a command was not run at all.
func notStarted(err error) error {
	h := hint.New("not_run", "the command was not run").Wrap(err)
	if missing, ok := errors.AsType[*sandbox.UnavailableError](err); ok {
		h.Code = "no_sandbox"
		h.Why = "it can't be sandboxed here, and nothing runs without a sandbox: " + missing.What
		h.Next = cmp.Or(missing.Install, "ask the person to run `handrail doctor`")
	}
	switch {
	case errors.Is(err, job.ErrClosed):
		h.Code, h.Why = "paused", "the person has paused Handrail"
	case errors.Is(err, job.ErrLimit):
		h.Code, h.Why, h.Next = "limit_reached", err.Error(), "end one with bash_bg, action kill"
	}
	return h
}
