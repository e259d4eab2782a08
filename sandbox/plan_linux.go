package sandbox

// The launcher's descriptors, set up by Start. The plan says how many folders follow fdHeld.
const (
	fdArgs    = 3 + iota // bubblewrap's arguments; it closes them
	fdPlan               // what the launcher is to do (JSON), never in arguments or environment: other processes can read those
	fdSelf               // the launcher's executable
	fdStatus             // the launcher's reports
	fdControl            // orders from the host; its end of file is the host's end
	fdStdin
	fdStdout
	fdStderr
	fdHeld
)

// plan is what the launcher does.
type plan struct {
	Policy   record
	Argv     []string
	Dir      string
	Env      []string
	Terminal bool
	Held     []string // paths of the folders that fdHeld and the following are
	// Nested lists folders that may not become Git repositories because they lie in one that isn't shown.
	Nested []string
}

// report is one line of what the launcher says to the host.
type report struct {
	Started bool     `json:",omitempty"`
	Failure *failure `json:",omitempty"`
	Exit    *Exit    `json:",omitempty"`
}

// failure is why nothing was run, by kind.
type failure struct {
	Kind  string // "unavailable", "place" or "command"
	What  string // what is missing; the place's path; the command's path
	Help  string `json:",omitempty"`
	Cause string `json:",omitempty"`
	Errno int    `json:",omitempty"`
}

// The host's orders.
const orderTerminate = 't'
