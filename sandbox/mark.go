package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// mark is the name of a service that doesn't exist, and that on macOS the profiles of one command, or of one state folder's, alone allow
// to look up. A process runs under such a profile if it may look the name up, and may not look up another: neither a new session nor
// a new parent changes that. The kernel's records of what it refused to a command bear its mark too.
type mark string

const (
	markPrefix = "handrail.command."
	// unmarked is looked up by no profile of ours, so that whoever may is under none.
	unmarked mark = markPrefix + "none"
)

// markOf is the mark of all commands under a state folder.
func markOf(state string) mark {
	sum := sha256.Sum256([]byte(state))
	return mark(markPrefix + "of" + hex.EncodeToString(sum[:12]))
}

// mayTell reports whether a mark can stand in a profile's text.
func (m mark) mayTell() bool {
	rest, ok := strings.CutPrefix(string(m), markPrefix)
	return ok && rest != "" && !strings.ContainsFunc(rest, func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9') })
}

// markRules is the end of the profile of a command that bears the marks.
func markRules(marks ...mark) string {
	var b strings.Builder
	b.WriteString("\n; Whose processes these are.\n(deny mach-lookup (global-name-prefix \"" + markPrefix + "\"))\n")
	for _, m := range marks {
		if m.mayTell() {
			b.WriteString("(allow mach-lookup (global-name \"" + string(m) + "\"))\n")
		}
	}
	return b.String()
}
