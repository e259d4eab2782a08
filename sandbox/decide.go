package sandbox

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

// What would open a path that a Decision refuses.
const (
	OpensNothing   = ""
	OpensLook      = "look grant"
	OpensEdit      = "edit grant"
	OpensProtected = "approval each time" // of the protected name alone
)

// Decision is the answer for one operation on one path.
type Decision struct {
	Allowed bool
	Rule    string // which rule decided, in words
	Opens   string // one of the Opens constants or a permission's name: what would open it
}

// Decide says whether the policy allows op on path. It looks at nothing but the policy and the path, which is absolute,
// clean and has its links resolved by the caller.
func (p Policy) Decide(op Op, path string) Decision {
	return Decision{Rule: "not decided yet"}
}

// Protected reports whether path names something that another program trusts and runs or obeys later (a Git hook, a shell
// start-up file, an editor's or assistant's settings), and which of its elements says so. Such names are asked for alone, each time,
// also inside a granted folder, whether or not they exist.
func Protected(path string) (name string, ok bool) { return "", false }
