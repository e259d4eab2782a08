package approval

import "handrail/core/grant"

// Command is what a question of the kinds Exec and Outside is about: everything that decides what will run. The answer is bound to all of it, and it is
// compared again when the command starts.
type Command struct {
	// Text is the command as it was given, Runs what will run: the same with programs by their paths, where that can be told.
	Text string `json:"text"`
	Runs string `json:"runs"`
	// Shell is the program that reads Runs; empty if Runs is one program with its words, which is started as it stands.
	Shell string `json:"shell,omitempty"`
	// Env holds the variables that the call sets, as NAME=value.
	Env []string `json:"env,omitempty"`
	// Inherits names the variables of the person's own that it finds outside the sandbox.
	Inherits []string `json:"inherits,omitempty"`
	// Files are the programs and scripts that it is bound to.
	Files []File `json:"files,omitempty"`
	// Open says what else it runs or reads that can't be bound.
	Open []string `json:"open,omitempty"`
	// Deletes names what it deletes or overwrites, as far as can be told.
	Deletes []string `json:"deletes,omitempty"`
	// Why says why the person is asked.
	Why []string `json:"why,omitempty"`
	// Rule is the lasting rule that the person may choose instead of this one run; nil if none is offered.
	Rule *Rule `json:"rule,omitempty"`
}

// Rule is a lasting rule: this client may run this command in this folder without a question, as long as everything that the
// question names is the same. It is offered only for what loads no code and no settings from files and changes nothing.
type Rule struct {
	// Program is the program's path, which the person can't write; or, if Script is set, the shell's.
	Program string `json:"program"`
	// Script is the file of a harmless script. The rule ends when its content changes.
	Script string `json:"script,omitempty"`
}

// Policy is a widening of the policy file that waits for the person.
type Policy struct {
	File string `json:"file"`
	// SHA256 is that of its text, in hex.
	SHA256 string `json:"sha256"`
	// Wider is what it allows more than they have agreed to, a line each: all of it, at most MaxListed.
	Wider []string `json:"wider"`
}

// Switch is something that would be turned on for a client, by its credential.
type Switch struct {
	Client string `json:"client"`
	// Name is the switch's, or with Tool the name of a tool that was turned off.
	Name string `json:"name"`
	Tool bool   `json:"tool,omitempty"`
	// Opens says what it opens, as the end of "it then …".
	Opens string `json:"opens"`
}

// File is one program or script. SHA256 is empty for a program that the user can't change.
type File struct {
	Path   string   `json:"path"`
	Real   string   `json:"real"`
	ID     grant.ID `json:"id"`
	Script bool     `json:"script,omitempty"`
	SHA256 string   `json:"sha256,omitempty"`
}

// MaxCommand is how many bytes of a command can be shown; a longer one can't be asked for. MaxListed is how long each list of a
// Command may be.
const (
	MaxCommand = 16 << 10
	MaxListed  = 100
)
