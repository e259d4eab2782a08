package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
)

// Op is what a program does to a path. The zero value is no operation and never allowed.
type Op uint8

const (
	NoOp       Op = iota
	Read          // open a file, list a folder, run a program
	Write         // change the content of what exists
	Create        // make a new name: a file, a folder, a link. Renaming is Delete of the old name and Create of the new
	Delete        // remove a name
	Attributes    // change mode, owner, times or extended attributes
)

var ops = [...]string{"nothing", "read", "write", "create", "delete", "attributes"}

func (o Op) String() string {
	if int(o) < len(ops) {
		return ops[o]
	}
	return ops[NoOp]
}

// ParseOp gives the operation of that name; NoOp if there is none.
func ParseOp(name string) Op { return Op(max(0, slices.Index(ops[:], name))) }

// seatbeltOps are the same in the profile language: one operation that stands for all of its kind.
var seatbeltOps = [...]string{"", "file-read-data", "file-write-data", "file-write-create", "file-write-unlink", "file-write-mode"}

// Seatbelt names the operation in the profile language; "" for none.
func (o Op) Seatbelt() string {
	if int(o) < len(seatbeltOps) {
		return seatbeltOps[o]
	}
	return ""
}

// What would open a path that a Decision refuses.
const (
	OpensNothing   = ""
	OpensLook      = "look grant"
	OpensEdit      = "edit grant"
	OpensProtected = "approval of this name alone"
)

// Decision is the answer for one operation on one path. The zero value refuses.
type Decision struct {
	Allowed bool
	Rule    string // which rule decided, in words
	Opens   string // what would open it: one of the Opens constants
	Closed  bool   // it is a secret, or Handrail's own
}

// Decide says whether the policy allows op on path. It looks at nothing but the policy and the path, which is absolute and
// clean and whose links the caller resolved (for a name that doesn't exist, those of the folder it would stand in).
//
// On Linux a command finds Temp at /tmp as well, and it may make a few names that Decide refuses because it doesn't look at
// the disk: the folders .git, .claude and the like, a file HEAD that makes no Git folder, and the harmless settings of a Git repository
// that the command itself makes.
func (p Policy) Decide(op Op, path string) Decision { return p.compiled().index().decide(op, path) }

// Decider gives Decide for many paths: the policy is looked up once.
func (p Policy) Decider() func(op Op, path string) Decision { return p.compiled().index().decide }

// index is a policy made ready for many decisions: each costs a look-up per path element, however many places there are.
type index struct {
	policy Policy
	// closed maps folded paths that stay closed to a rule, and above maps every folder that holds one to what it holds.
	closed, above map[string]string
	// noWrite is closed for changes only, and obeyed is protected.
	noWrite, obeyed map[string]string
	// reads and writes map what is open, unfolded, to a rule.
	reads, writes map[string]string
	files         map[string]bool // places in writes that are one file
	// rooms is Rooms where it must be closed, own what is open in it.
	rooms  string
	own    []string
	opened map[string]bool // protected paths opened alone
	roots  map[string]bool // what a grant names can't itself be removed under that grant
	// looks says that who asks looks at the disk for what is a Git folder, or becomes one, and needs no name for it.
	looks bool
}

func (p Policy) index() *index {
	x := &index{
		policy: p,
		closed: map[string]string{}, above: map[string]string{}, noWrite: map[string]string{}, obeyed: map[string]string{},
		reads: map[string]string{}, writes: map[string]string{},
		files: map[string]bool{}, opened: map[string]bool{}, roots: map[string]bool{},
	}
	if p.profile == nothing {
		return x
	}
	m := p.machine
	if p.roomsShown() {
		x.rooms, x.own = fold(m.Rooms), p.ownRooms()
	}
	for i, s := range m.secretPaths() {
		rule := "a secret: " + m.short(s)
		if i == 0 && m.State != "" {
			rule = "Handrail's own files"
		}
		x.close(x.closed, s, rule)
	}
	if m.Executable != "" {
		x.close(x.noWrite, m.Executable, "Handrail itself")
	}
	if p.profile == guarded {
		for _, s := range m.Obeyed {
			x.close(x.obeyed, s, "protected: a start-up file of the home folder leads to it")
		}
	}
	for _, s := range systemReads[m.system()] {
		x.reads[s] = "the system may be read"
	}
	for _, s := range m.toolRoots() {
		x.reads[s] = "installed tools may be read"
	}
	if m.Executable != "" {
		x.reads[m.Executable] = "Handrail's own program may be read"
	}
	x.open(x.reads, m.Workspace, "the workspace may be read")
	for _, own := range []string{m.Temp, m.Caches} {
		x.open(x.reads, own, "the session's own folder")
	}
	for _, place := range p.reads {
		x.open(x.reads, place.Path, "look grant on "+m.short(place.Path))
		x.files[place.Path] = place.File
	}
	if p.profile == readOnly {
		return x
	}
	for _, place := range p.writes {
		x.open(x.reads, place.Path, "edit grant on "+m.short(place.Path))
		x.open(x.writes, place.Path, "edit grant on "+m.short(place.Path))
		x.files[place.Path] = place.File
	}
	for _, own := range []string{m.Temp, m.Caches} {
		x.open(x.writes, own, "the session's own folder")
	}
	for _, name := range p.names {
		x.opened[name] = true
	}
	if p.profile == classic {
		for _, s := range m.classicCloses() {
			x.close(x.noWrite, s, m.short(s)+" is closed for changes")
		}
	}
	return x
}

func (x *index) open(to map[string]string, path, rule string) {
	if path != "" {
		to[path] = rule
		x.roots[path] = true
	}
}

func (x *index) close(in map[string]string, path, rule string) {
	path = fold(path)
	in[path] = rule
	for path != "/" {
		path = filepath.Dir(path)
		x.above[path] = rule
	}
}

// short writes a path with ~ for the home folder.
func (m Machine) short(path string) string {
	if m.Home != "" && m.Home != "/" && within(m.Home, path) {
		return "~" + strings.TrimPrefix(path, m.Home)
	}
	return path
}

// find gives the rule of path's nearest ancestor, or itself, in the map.
func find(in map[string]string, path string) (at, rule string, ok bool) {
	for at = path; ; at = filepath.Dir(at) {
		if rule, ok = in[at]; ok || at == "/" || at == "." || at == "" {
			return at, rule, ok
		}
	}
}

// how refines an operation by facts that a name alone doesn't show.
type how uint8

const (
	plain    how = iota
	ofFolder     // a folder is made
)

func (x *index) decide(op Op, path string) Decision { return x.decideHow(op, path, plain) }

func (x *index) decideHow(op Op, path string, h how) Decision {
	p := x.policy
	if p.profile == nothing {
		return Decision{Rule: "nothing is allowed"}
	}
	if op == NoOp || int(op) >= len(ops) {
		return Decision{Rule: "no such operation"}
	}
	if !filepath.IsAbs(path) || filepath.Clean(path) != path || strings.ContainsRune(path, 0) {
		return Decision{Rule: "no absolute and clean path"}
	}
	if p.profile == outside {
		return Decision{Allowed: true, Rule: "outside the sandbox nothing is closed"}
	}
	folded := fold(path)
	_, rule, ok := find(x.closed, folded)
	if !ok && x.policy.machine.system() == "darwin" { // it has two names for one folder
		_, rule, ok = find(x.closed, strings.TrimPrefix(folded, fold(dataVolume)))
	}
	if !ok {
		rule, ok = p.closes(path)
	}
	if !ok && within(x.rooms, folded) && !slices.ContainsFunc(x.own, func(own string) bool { return within(own, path) }) {
		rule, ok = "other sessions' files", true
	}
	if ok {
		return Decision{Rule: rule, Closed: true}
	}
	if within("/dev", path) || p.machine.system() == "linux" && within("/proc", path) {
		return x.decideDevice(op, path)
	}
	if op == Read {
		return x.decideRead(path)
	}
	if _, rule, ok := find(x.noWrite, folded); ok && p.profile != classic {
		return Decision{Rule: rule + " stays as it is"}
	}
	if rule, ok := x.above[folded]; ok && op == Delete {
		return Decision{Rule: "it holds what stays closed (" + rule + ")"}
	}
	if p.profile == classic {
		return x.decideClassic(op, path, folded)
	}
	return x.decideWrite(op, path, h)
}

// decideDevice knows a few devices by name. The others, and what the system says of other processes, are nobody's business.
func (x *index) decideDevice(op Op, path string) Decision {
	list := readDevices
	if op == Write {
		list = writeDevices
	}
	system := x.policy.machine.system()
	if op != Read && op != Write || !slices.Contains(list[system], path) || op == Write && x.policy.profile == readOnly && path != "/dev/null" {
		return Decision{Rule: "devices and processes stay as they are"}
	}
	return Decision{Allowed: true, Rule: "a device of the system"}
}

func (x *index) decideRead(path string) Decision {
	at, rule, ok := find(x.reads, path)
	for ok && x.files[at] && at != path { // a grant on a file says nothing of what would be below it
		if at == "/" {
			ok = false
			break
		}
		at, rule, ok = find(x.reads, filepath.Dir(at))
	}
	switch {
	case ok:
		return Decision{Allowed: true, Rule: rule}
	case x.policy.profile == classic:
		return Decision{Allowed: true, Rule: "classic allows what it doesn't name"}
	}
	return Decision{Rule: "nothing allows reading here", Opens: OpensLook}
}

func (x *index) decideWrite(op Op, path string, h how) Decision {
	at, rule, ok := find(x.writes, path)
	for ok && (x.files[at] && at != path || op == Delete && at == path && x.roots[at] && !x.files[at]) {
		if at == "/" {
			ok = false
			break
		}
		at, rule, ok = find(x.writes, filepath.Dir(at))
	}
	m := x.policy.machine
	if !ok {
		d := Decision{Rule: "nothing allows changes here", Opens: OpensEdit}
		if x.policy.profile == readOnly {
			d = Decision{Rule: "readonly changes nothing"}
		} else if covered(systemReads[m.system()], path) {
			d = Decision{Rule: "the system stays as it is"}
		}
		return d
	}
	if x.private(at) {
		return Decision{Allowed: true, Rule: rule}
	}
	if name, yes := Protected(path); yes && !x.opened[path] && !(x.looks && fold(name) == "head") && !(h == ofFolder && strings.HasSuffix(path, "/"+name) && madeByTools(name)) {
		return Decision{Rule: "protected: " + name, Opens: OpensProtected}
	}
	if _, why, yes := find(x.obeyed, fold(path)); yes && !x.opened[path] {
		return Decision{Rule: why, Opens: OpensProtected}
	}
	return Decision{Allowed: true, Rule: rule}
}

// private reports whether an opened root is the session's own, where no name is protected: nothing of the person's reads it, and
// nothing moves from there into a granted folder (Linux: it is another mount).
func (x *index) private(root string) bool {
	m := x.policy.machine
	return (root == m.Temp || root == m.Caches) && (m.system() != "darwin" || x.policy.staging)
}

// madeByTools reports whether a protected name may be made as a folder: what counts in it is protected by itself.
func madeByTools(name string) bool {
	name = fold(name)
	return name == ".git" || name == ".git/hooks" || protectedWays()[name] || name == "head" // only a file HEAD makes a Git folder
}
