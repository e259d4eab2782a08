package sandbox

import (
	"errors"
	"os"
	"syscall"
)

// plan is what the launcher does. The policy (on macOS the kernel has it already) is the first thing in its text.
type plan struct {
	Policy Policy // Linux; on macOS the zero one
	Argv   []string
	Dir    string
	// DirDevice and DirInode: see Command; 0 where they aren't looked at.
	DirDevice, DirInode uint64
	Env                 []string
	Terminal            bool
	Held                []string // Linux: paths of the folders that fdHeld and the following are
	Filter              []byte   // Linux: the program of the call filter
	// Linux: how many processes and threads the command may have.
	Processes int
	// Linux: folders that may not become Git repositories because they lie in one that isn't shown.
	Nested []string
}

func (p *plan) carry(w *wire) {
	p.Policy.carry(w)
	p.carryRest(w)
}

// written gives the plan's text.
func (p *plan) written() []byte {
	w := &wire{text: []byte(p.Policy.compiled().text)}
	p.carryRest(w)
	return w.text
}

// carryRest carries what stands after the policy.
func (p *plan) carryRest(w *wire) {
	w.strings(&p.Argv)
	w.string(&p.Dir)
	w.number(&p.DirDevice)
	w.number(&p.DirInode)
	w.strings(&p.Env)
	w.bool(&p.Terminal)
	w.strings(&p.Held)
	w.bytes(&p.Filter)
	w.int(&p.Processes)
	w.strings(&p.Nested)
}

func (p *Policy) carry(w *wire) {
	kind, permissions := uint64(p.profile), uint64(p.permissions)
	w.number(&kind)
	w.number(&permissions)
	if w.taking {
		p.profile, p.permissions = profile(kind), Permission(permissions)
		w.bad = w.bad || kind >= uint64(len(profiles)) || permissions != uint64(p.permissions)
	}
	p.machine.carry(w)
	each(w, &p.reads, carryPlace)
	each(w, &p.writes, carryPlace)
	w.strings(&p.names)
	w.bool(&p.staging)
	w.bool(&p.sensitive)
	w.bool(&p.spotlight)
}

func carryPlace(w *wire, p *Place) {
	w.string(&p.Path)
	w.number(&p.Device)
	w.number(&p.Inode)
	w.bool(&p.File)
}

func (m *Machine) carry(w *wire) {
	for _, s := range []*string{&m.Home, &m.State, &m.Workspace, &m.Temp, &m.Caches, &m.Rooms, &m.Executable, &m.Developer, &m.SSHAgent, &m.Docker, &m.System} {
		w.string(s)
	}
	each(w, &m.Ports, (*wire).int)
	w.strings(&m.Path)
	w.strings(&m.Secrets)
	w.strings(&m.Obeyed)
}

// report is what the launcher says to the host.
type report struct {
	Started bool
	Failure *failure
	Exit    *Exit
}

// failure is why nothing was run, by kind.
type failure struct {
	Kind  string // "unavailable", "place" or "command"
	What  string // what is missing; the place's path; the command's path
	Help  string
	Cause string
	Errno int
}

func (r *report) carry(w *wire) {
	failed, ended := r.Failure != nil, r.Exit != nil
	w.bool(&r.Started)
	w.bool(&failed)
	w.bool(&ended)
	if failed {
		if w.taking {
			r.Failure = &failure{}
		}
		f := r.Failure
		for _, s := range []*string{&f.Kind, &f.What, &f.Help, &f.Cause} {
			w.string(s)
		}
		w.int(&f.Errno)
	}
	if ended {
		if w.taking {
			r.Exit = &Exit{}
		}
		w.int(&r.Exit.Code)
		w.string(&r.Exit.Signal)
		w.int(&r.Exit.LeftRunning)
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
