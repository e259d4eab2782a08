package command

import (
	"math/bits"
	"strings"
)

// Doubt is a set of things in a script that text alone doesn't settle, or that a policy may not want. Each policy names
// those it puts up with; it never names those it refuses, so a new one is refused until someone thought about it. The
// zero value is no doubt.
type Doubt uint64

// How a word is written.
const (
	Variable         Doubt = 1 << iota // $x, ${x}
	Substitution                       // $(…), `…`
	ProcessSubst                       // <(…), >(…)
	Arithmetic                         // $((…)), ((…)), let
	Glob                               // *, ?, […]
	Brace                              // {a,b}, {1..3}
	ExtGlob                            // @(…), !(…): bash reads these otherwise unless it was told to
	UserHome                           // ~name, ~+, or "~" where shells differ
	Home                               // ~ and ~/…: replaced by the home folder
	AnsiQuote                          // $'…': replaced by what it stands for
	LocaleQuote                        // $"…": may be translated
	OddBlank                           // a byte that some systems take for a blank outside quotes (0xA0, 0x85)
	Assignment                         // x=y
	Environment                        // an assignment that changes what programs load or run (PATH, LD_PRELOAD, GIT_…)
	HereDoc                            // <<
	HereString                         // <<<
	FileRedirect                       // >file, <file, >>file
	HarmlessRedirect                   // 2>/dev/null, 2>&1, </dev/null
	OtherRedirect                      // other descriptors, <>, >&file
	Background                         // &
	Coprocess                          // coproc
	Subshell                           // (…)
	Group                              // {…}
	Loop                               // for, while, until, select
	Conditional                        // if, case
	Test                               // [[ … ]]
	Negation                           // !
	Timed                              // time as a word of the shell
	PipeBoth                           // |&
	Function                           // a function is defined, or called
	Alias                              // alias
	Trap                               // trap
	Eval                               // eval
	Source                             // source, .
	Option                             // set, shopt: changes how the rest is read
	Folder                             // cd, pushd: changes where the rest runs
	BashOnly                           // something that sh, or an older bash, reads otherwise
	Syntax                             // can't be read
	ControlByte                        // NUL or carriage return
	TooLong                            // more than MaxScript bytes, or too many commands
	TooDeep                            // too deeply nested
	UnknownShell                       // not for bash or sh
	DynamicName                        // the program's name isn't known
	UnknownProgram                     // nothing is known of what this program does
	UnknownOption                      // an option or argument that isn't known
	ReadsScript                        // runs a script from a file or from standard input
	InlineCode                         // code of another language in an argument
	Elevated                           // as another user, or in another root
	Remote                             // on another computer, or in a container
	Unread                             // words that can't be passed as written: too long, not text
)

// open are doubts that leave a word's text unknown.
const open = Variable | Substitution | ProcessSubst | Arithmetic | Glob | Brace | ExtGlob | UserHome | LocaleQuote

var doubtNames = [...]string{
	"a variable", "a command substitution", "a process substitution", "arithmetic", "a file name pattern", "a brace expansion", "an extended pattern",
	"someone's home folder", "the home folder", "quotes with $'", `quotes with $"`, "an unusual blank", "an assignment", "a changed environment", "a here-document", "a here-string",
	"a redirect to a file", "a redirect to nowhere", "an unusual redirect", "a background command", "a coprocess", "a subshell", "a group", "a loop", "a condition", "a test",
	"a negation", "time", "|&", "a function", "an alias", "a trap", "eval", "source", "a shell option", "a change of folder", "something that only bash knows",
	"something that can't be read", "a control character", "too much text", "too deep nesting", "a shell that isn't bash or sh", "a program name that isn't plain text", "a program that isn't known",
	"an option that isn't known", "a script from elsewhere", "code in an argument", "another user's rights", "another computer", "text that can't be passed on",
}

// Has reports whether any of the doubts in q is in d.
func (d Doubt) Has(q Doubt) bool { return d&q != 0 }

// String names the doubts, as a person would be told; "" for none.
func (d Doubt) String() string {
	var names []string
	for rest := d; rest != 0; rest &= rest - 1 {
		names = append(names, doubtNames[bits.TrailingZeros64(uint64(rest))])
	}
	return strings.Join(names, ", ")
}
