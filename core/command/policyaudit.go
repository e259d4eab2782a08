package command

import (
	"fmt"
	"slices"
	"strings"
)

// PolicyFinding is something risky, broken or useless in a policy.
type PolicyFinding struct {
	// Risk says that it lets more run than the person may think; else it is only broken or of no use.
	Risk bool
	Text string
	Next string
}

// String is the finding in one line.
func (f PolicyFinding) String() string {
	if f.Next == "" {
		return f.Text
	}
	return f.Text + "; " + f.Next
}

// interpreterNames are what patterns are tried with to see whether they allow an interpreter.
var interpreterNames = strings.Fields(`python python3 python3.13 pypy3 node bun deno ruby perl php lua osascript awk gawk sed find xargs make gmake expect tclsh julia Rscript vim`)

// AuditPolicy looks for settings that are risky or do nothing. files is this computer's disk.
func AuditPolicy(p Policy, files Files, home string) (found []PolicyFinding) {
	risk := func(next, format string, args ...any) {
		found = append(found, PolicyFinding{true, fmt.Sprintf(format, args...), next})
	}
	useless := func(next, format string, args ...any) {
		found = append(found, PolicyFinding{false, fmt.Sprintf(format, args...), next})
	}
	for i, e := range p.Entries {
		if e.Action != AllowIt {
			continue
		}
		name := fmt.Sprintf("allowlist entry %d (%s)", i, e.Pattern)
		pattern := newPathPattern(e.Pattern)
		base := newPathPattern(e.Pattern[strings.LastIndexByte(e.Pattern, '/')+1:])
		switch {
		case e.Pattern == "*" || e.Pattern == "/**" || e.Pattern == "**/*":
			risk("name the programs instead", "%s allows every program", name)
		case !p.Strict && e.ArgPattern == "" && e.Exact == nil && slices.ContainsFunc(interpreterNames, base.match):
			risk("give it args, or set strictInlineEval", "%s allows an interpreter with any arguments, so any code", name)
		}
		if strings.HasPrefix(e.Pattern, "~/") {
			pattern = newPathPattern(home + e.Pattern[1:])
		}
		if !pattern.plain || !strings.Contains(e.Pattern, "/") {
			continue
		}
		f, err := files.Stat(pattern.text)
		switch {
		case err != nil || !f.Exec:
			useless("", "%s matches nothing: there is no such program", name)
		case files.Writable(pattern.text) || files.Writable(f.Real):
			risk("move it to where only the system's owner can change it", "%s allows a program that you, and so any program of yours, can replace", name)
		case f.Real != pattern.text && files.Writable(folderPath(pattern.text)):
			useless("write "+f.Real, "%s never matches: the program is a link", name)
		}
	}
	for _, name := range p.Bins.Names {
		switch {
		case carriers[family(canonical(name))] != nil && safeOptions[name] == nil:
			risk("take it out of safeBins", "safe bin %s can run code", name)
		case safeOptions[name] == nil && p.Bins.Profiles[name] == (SafeProfile{}):
			useless("give it one in safeBinProfiles", "safe bin %s has no profile, so it allows nothing", name)
		}
	}
	for _, dir := range p.Bins.Folders {
		switch {
		case files.Writable(dir):
			risk("take it out of safeBinTrustedDirs", "you, and so any program of yours, can put programs into the folder of safe bins %s", dir)
		case within(dir, "/tmp") || within(dir, "/private/tmp") || within(dir, "/var/tmp") || home != "" && within(dir, home):
			risk("take it out of safeBinTrustedDirs", "the folder of safe bins %s is for files of users", dir)
		}
	}
	return found
}
