// Package command reads a shell script and says what it would do, without running anything.
//
//	p := command.Analyse("git status && rm -rf build", command.Context{Shell: command.Bash, Dir: "/home/me/project"})
//	answer, targets := command.Deletes(p) // Does, [build]
//
// [Analyse] makes a [Plan]: the segments of the script in order, each with its words as the shell will pass them, the
// programs they name, the wrappers around them and the scripts they carry, and what can't be told from the text
// ([Doubt]). Every policy asks the same plan:
//
//   - [Deletes]: does it delete something? It words a question; the sandbox bounds the effect whatever the answer.
//   - [ReadOnly]: may it run at the access level look?
//   - [Allowlist]: has the person allowed each of its parts?
//   - [StrictInline]: does it carry code of its own, which is asked for each time?
//   - [AlwaysAllow]: what lasting rule could be offered?
//   - [Bind]: which files must still be the same when an approved script runs?
//
// A reading that is wrong must be wrong on the safe side. So what isn't known is a doubt, zero values refuse, and what
// was allowed runs as the argument lists that were judged ([Plan.Argv]), not as text that a shell reads once more.
//
// What is not read: files (a script that is run by its name, a Makefile, the configuration of a program), except that
// programs are looked for on the PATH and it is seen whether a file that would be overwritten exists.
//
// Scripts are read as bash (mvdan.cc/sh); they are run by bash or sh, never by another shell.
package command

// MaxScript is how many bytes of a script are read; of a longer one nothing is told.
const MaxScript = 128 << 10

// Shell is who will read the script.
type Shell uint8

const (
	OtherShell Shell = iota // zsh, fish …: nothing is told, because words mean something else there
	Bash                    // bash, not in POSIX mode
	Sh                      // dash, or bash as sh: what only bash knows is a doubt
)

// ParseShell names the shell by the base name of its program. An unknown one is OtherShell.
func ParseShell(name string) Shell {
	switch name {
	case "bash":
		return Bash
	case "sh", "dash":
		return Sh
	}
	return OtherShell
}

// Context is where a script would run. The zero value knows nothing, and nothing is told.
type Context struct {
	Shell Shell
	// Dir is the working folder, absolute. Empty: relative paths lead nowhere that is known.
	Dir string
	// Home replaces a leading "~". Empty: "~" is a doubt.
	Home string
	// Path holds the folders of PATH in order. Empty: no program is found by its bare name.
	Path []string
	// Files answers what is on disk. nil: nothing is known, so what could be overwritten is.
	Files Files
	// Temp holds folders that are emptied when the work is over: moving a file there loses it. /tmp and the like are known.
	Temp []string
}

// Analyse reads a script. It never fails: what can't be read is a doubt of the plan.
func Analyse(script string, context Context) Plan {
	r := reader{context: &context, budget: 4 * MaxScript, seen: make(map[string]Program, 8)}
	p := Plan{Script: script, Context: context}
	if context.Shell == OtherShell {
		p.Doubts = UnknownShell
	}
	p.Segments = r.script(&p.Doubts, script, context.Dir, 0)
	r.shadow(p.Segments)
	for i := range p.Segments {
		p.Doubts |= p.Segments[i].all()
	}
	return p
}
