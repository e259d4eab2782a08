package sandbox

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Denial is what macOS's kernel says in the system's log that it refused to a command. Its path comes from the command: it is to be
// shown, and never acted on.
type Denial struct {
	Process   string // the program's name
	Operation string // such as "file-write-create"
	Path      string // a file, a service or an address
}

// Op gives the operation on files that was refused; NoOp for others.
func (d Denial) Op() Op {
	switch {
	case strings.HasPrefix(d.Operation, "file-read"), d.Operation == "file-map-executable", strings.HasPrefix(d.Operation, "process-exec"):
		return Read
	case d.Operation == "file-write-data":
		return Write
	case d.Operation == "file-write-create":
		return Create
	case d.Operation == "file-write-unlink":
		return Delete
	case strings.HasPrefix(d.Operation, "file-write-"):
		return Attributes
	}
	return NoOp
}

// denialText is how the kernel's record begins, after how often it was left out as a duplicate. The words of our own tag stand in
// a line of their own. It is made when it is first needed, and by a function, so that it is no part of the launcher, which is
// started for each command.
var denialText struct {
	once sync.Once
	*regexp.Regexp
}

func readsDenials() *regexp.Regexp {
	denialText.once.Do(func() {
		denialText.Regexp = regexp.MustCompile(`^(?:\d+ duplicate reports? for )?Sandbox: ([^\n]*?)\((\d+)\) deny\(\d+\) ([a-z][a-z0-9*-]*)(?: ([^\n]*))?((?:\n[^\n]*)*)$`)
	})
	return denialText.Regexp
}

// maxRecord bounds a line of the log that is read, in bytes.
const maxRecord = 64 << 10

// parseDenial reads a line of `log stream --style ndjson`. ok is false for what is no denial of a command of ours.
func parseDenial(line []byte) (of mark, d Denial, ok bool) {
	var record struct {
		EventMessage string `json:"eventMessage"`
		ProcessID    *int   `json:"processID"`
	}
	if len(line) > maxRecord || json.Unmarshal(line, &record) != nil || record.ProcessID == nil || *record.ProcessID != 0 {
		return "", d, false // only the kernel's own: any program can write the words
	}
	m := readsDenials().FindStringSubmatch(record.EventMessage)
	if m == nil {
		return "", d, false
	}
	if _, err := strconv.Atoi(m[2]); err != nil {
		return "", d, false
	}
	for word := range strings.FieldsSeq(m[5]) {
		if strings.HasPrefix(word, markPrefix) {
			of = mark(word)
		}
	}
	return of, Denial{m[1], m[3], m[4]}, of != ""
}

// tagged gives a profile in which each refusal bears the mark. Allowed is what was allowed before.
func tagged(profile string, m mark) string {
	if !m.mayTell() {
		return profile
	}
	with := ` (with message "` + string(m) + `"))`
	lines := strings.Split(profile, "\n")
	denies := false
	for i, line := range lines {
		if strings.HasPrefix(line, "(deny ") {
			denies = true
		}
		if denies && strings.HasSuffix(line, ")") && (strings.HasPrefix(line, "(deny ") || i+1 == len(lines) || !strings.HasPrefix(lines[i+1], "    ")) {
			lines[i] = strings.TrimSuffix(line, ")") + with
			denies = false
		}
	}
	return strings.Join(lines, "\n")
}

// Most that is kept of denials: of one command, and of how many commands.
const (
	maxDenials  = 50
	maxCommands = 100
)

// denials are the newest denials of the newest commands. The zero value has none.
type denials struct {
	mu    sync.Mutex
	of    map[mark][]Denial
	order []mark
}

// add notes one. A command's newest take the place of its oldest.
func (n *denials) add(of mark, d Denial) {
	n.mu.Lock()
	defer n.mu.Unlock()
	list, known := n.of[of]
	if !known {
		if n.of == nil {
			n.of = make(map[mark][]Denial)
		}
		if n.order = append(n.order, of); len(n.order) > maxCommands {
			delete(n.of, n.order[0])
			n.order = n.order[1:]
		}
	}
	if slices.Contains(list, d) {
		return
	}
	if list = append(list, d); len(list) > maxDenials {
		list = list[1:]
	}
	n.of[of] = list
}

// any reports whether there was ever one: else there is nobody to wait for.
func (n *denials) any() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.of) > 0
}

// list gives those of a command, the oldest first.
func (n *denials) list(of mark) []Denial {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.of[of])
}
