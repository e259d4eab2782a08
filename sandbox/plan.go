package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// plan is what the launcher does.
type plan struct {
	Policy   record `json:",omitzero"` // Linux
	Argv     []string
	Dir      string
	Env      []string
	Terminal bool
	Held     []string `json:",omitempty"` // Linux: paths of the folders that fdHeld and the following are
	Filter   []byte   `json:",omitempty"` // Linux: the program of the call filter
	// Linux: how many processes and threads the command may have.
	Processes int `json:",omitempty"`
	// Linux: folders that may not become Git repositories because they lie in one that isn't shown.
	Nested []string `json:",omitempty"`
	// Linux: files in granted folders that the home folder's start-up files lead to.
	Linked []string `json:",omitempty"`
}

// record is a Policy on its way to the launcher, which decides with it.
type record struct {
	Profile     profile
	Machine     Machine
	Reads       []Place    `json:",omitempty"`
	Writes      []Place    `json:",omitempty"`
	Names       []string   `json:",omitempty"`
	Staging     bool       `json:",omitempty"`
	Sensitive   bool       `json:",omitempty"`
	Spotlight   bool       `json:",omitempty"`
	Permissions Permission `json:",omitempty"`
}

func (p Policy) record() record {
	return record{p.profile, p.machine, p.reads, p.writes, p.names, p.staging, p.sensitive, p.spotlight, p.permissions}
}

func (r record) policy() Policy {
	return Policy{r.Profile, r.Machine, r.Reads, r.Writes, r.Names, r.Staging, r.Sensitive, r.Spotlight, r.Permissions}
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

// send writes a report. Who reads it may be gone. The usual two are written out: encoding/json takes a while to get ready, and
// the launcher is started for each command.
func (r report) send(to io.Writer) {
	switch {
	case r == report{Started: true}:
		io.WriteString(to, "{\"Started\":true}\n")
	case r.Exit != nil && r.Failure == nil && !r.Started && !strings.ContainsAny(r.Exit.Signal, "\"\\"):
		fmt.Fprintf(to, "{\"Exit\":{\"Code\":%d,\"Signal\":\"%s\",\"LeftRunning\":%d}}\n", r.Exit.Code, r.Exit.Signal, r.Exit.LeftRunning)
	default:
		if text, err := json.Marshal(r); err == nil {
			to.Write(append(text, '\n'))
		}
	}
}

func failureOf(err error) *failure {
	f := &failure{Kind: "unavailable", What: "it can't be set up", Cause: err.Error()}
	var unavailable *UnavailableError
	var place *PlaceError
	var path *os.PathError
	var cause error
	switch {
	case errors.As(err, &unavailable):
		f.What, f.Help, cause = unavailable.What, unavailable.Install, unavailable.Cause
	case errors.As(err, &place):
		f.Kind, f.What, cause = "place", place.Path, place.Cause
	case errors.As(err, &path):
		f.Kind, f.What, cause = "command", path.Path, path.Err
	default:
		return f
	}
	f.Cause = ""
	if cause != nil {
		f.Cause = cause.Error()
	}
	var errno syscall.Errno
	if errors.As(cause, &errno) {
		f.Errno = int(errno)
	}
	return f
}

// err makes the error that the failure tells.
func (f failure) err() error {
	var cause error
	switch {
	case f.Errno != 0:
		cause = syscall.Errno(f.Errno)
	case f.Cause != "":
		cause = errors.New(f.Cause)
	}
	switch f.Kind {
	case "place":
		return &PlaceError{f.What, cause}
	case "command":
		return &os.PathError{Op: "running", Path: f.What, Err: cause}
	}
	return &UnavailableError{f.What, f.Help, cause}
}
