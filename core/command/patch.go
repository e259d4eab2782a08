package command

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// patchCall is the first line of a script that is a call of apply_patch and nothing else: perhaps "cd folder &&" before it, and
// its input in a here-document. A folder is a plain word or a quoted text without anything that a shell replaces.
var patchCall = regexp.MustCompile(`^[ \t]*(?:cd[ \t]+(?:([A-Za-z0-9_./@%+,:][A-Za-z0-9_./@%+,:=-]*)|'([^'~-][^']*)'|"([^"$` + "`" + `\\!~-][^"$` + "`" + `\\!]*)")[ \t]+&&[ \t]+)?` +
	`(?:apply_patch|applypatch)[ \t]*<<[ \t]*(?:'([A-Za-z0-9_]+)'|"([A-Za-z0-9_]+)"|([A-Za-z0-9_]+))[ \t]*$`)

// PatchIn takes the patch out of a script that only calls apply_patch, which is no program but a tool: models write it as one.
// dir is the folder that the script goes to first, "" if it stays. The script is one of
//
//	apply_patch <<'END'              cd folder && apply_patch <<'END'
//	…                                …
//	END                              END
//
// ok is false for any other script: with another command before, after or beside it, with two folders, with a here-document
// whose text a shell would change ($, ` or \ and END without quotes).
func PatchIn(script string) (patch, dir string, ok bool) {
	script = strings.TrimLeft(script, "\n")
	head, rest, _ := strings.Cut(script, "\n")
	m := patchCall.FindStringSubmatch(head)
	if m == nil || !utf8.ValidString(script) || strings.IndexByte(script, 0) >= 0 {
		return "", "", false
	}
	dir = m[1] + m[2] + m[3]
	end := m[4] + m[5] + m[6]
	at := strings.Index("\n"+rest+"\n", "\n"+end+"\n")
	if at < 0 {
		return "", "", false
	}
	patch = rest[:at]
	after := rest[min(at+len(end), len(rest)):]
	if strings.TrimSpace(after) != "" || m[6] != "" && strings.ContainsAny(patch, "$`\\") {
		return "", "", false
	}
	return patch, dir, true
}
