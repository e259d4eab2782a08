// Package approval asks the person at the screen and binds the answer to exactly what was shown.
//
// A [Request] says what is wanted: who asks, in which session, with which tool, for which folder or command. An [Asker]
// puts it to the person (a native dialog, a terminal) and gives a [Decision]. The zero Decision refuses, and so does
// every failure on the way: a dialog that crashed, was killed, closed or timed out, a client that is gone. Nothing else
// answers; there is no time after which silence allows.
//
// A decision that allows is good for one use, within [ValidFor], for a request whose every field is the one that was
// shown. [Queue] shows one question at a time and keeps answers for calls that stopped waiting.
package approval

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"handrail/core/client"
	"handrail/core/grant"
)

// Kind says what a question is about. The zero value is no question and can't be asked.
type Kind string

const (
	EditFolder Kind = "edit_folder" // change files in a folder of the workspace
	EditCopies Kind = "edit_copies" // change working copies beside files of a folder outside the workspace
	LookFolder Kind = "look_folder" // read a folder outside the workspace
	JoinFolder Kind = "join_folder" // make a folder outside the workspace part of it, writable by commands too
	Protected  Kind = "protected"   // change one file that other programs act on (.git/config, .mcp.json …)
	Network    Kind = "network"     // connect to other computers; Host is the first
	Loopback   Kind = "loopback"    // connect to programs on this computer's own address
	GitSignIn  Kind = "git_sign_in" // let git use the sign-in that the person saved for Host
	GitPush    Kind = "git_push"    // send commits to a branch on Host
	Patch      Kind = "patch"       // make the changes in Diff, and then others in Folder and Also
	Delete     Kind = "delete"      // delete files in a folder that may be changed, by commands
	Clipboard  Kind = "clipboard"   // read the clipboard, this time
	// ClipboardSession is to read the clipboard until the session ends.
	ClipboardSession Kind = "clipboard_session"
	Exec             Kind = "exec"           // run Command, this time
	Outside          Kind = "outside"        // run Command outside the sandbox, this time
	WidenPolicy      Kind = "widen_policy"   // let the policy file allow more than before; no client asks this
	TurnOn           Kind = "turn_on"        // turn on Switch for a client, until it is turned off; no client asks this
	SearchFolders    Kind = "search_folders" // put Folder and Also into the search index; no right to read comes with it
	ChangeSetting    Kind = "change_setting" // have Setting allow more; no client asks this
	UndoChange       Kind = "undo_change"    // put back what stood before a change; no client asks this
	Connect          Kind = "connect"        // let a new assistant in; no client that is in asks this
	NewToken         Kind = "new_token"      // let in whoever has a new token; no client asks this
)

// Once says that an answer is used once; that of another kind holds for the session.
func (k Kind) Once() bool {
	return k == Protected || k == GitPush || k == Clipboard || k.Runs() || k == TurnOn || k == ChangeSetting || k == UndoChange || k == NewToken
}

// Runs says that a question is about a Command.
func (k Kind) Runs() bool { return k == Exec || k == Outside }

// ByPhrase says that the weakest surface, a phrase in the chat, may answer.
func (k Kind) ByPhrase() bool { return k == EditFolder || k == EditCopies }

// Request is a question. Every field is shown, or is part of what is shown, so every field is bound by the answer.
type Request struct {
	Kind    Kind            `json:"kind"`
	Who     client.Identity `json:"who"`
	Session string          `json:"session"`
	Tool    string          `json:"tool"`
	// Folder is absolute with links resolved; Home is the person's home folder, for showing it short.
	Folder string `json:"folder,omitempty"`
	Home   string `json:"home,omitempty"`
	// FolderID is the folder's identity (device and inode); all zero when Makes is set.
	FolderID grant.ID `json:"folder_id"`
	// Makes says that the folder doesn't exist and will be made.
	Makes bool `json:"makes,omitempty"`
	// File says that Folder is a single file in the workspace itself.
	File bool `json:"file,omitempty"`
	// Path is the file that the call is about, if it is about one.
	Path string `json:"path,omitempty"`
	// Files and Bytes count what the folder holds, or what Delete is seen to delete; More says that there may be more.
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	More  bool  `json:"more,omitempty"`
	// UndoLimited says that the folder holds too much for every step to be kept: what commands change in it can be put back
	// only as a whole, as it was before the session's first command.
	UndoLimited bool `json:"undo_limited,omitempty"`
	// Script is the command that deletes. Deletes are what it names, as it names it, at most MaxDeletes; DeletesMore counts
	// those left out.
	Script      string   `json:"script,omitempty"`
	Deletes     []string `json:"deletes,omitempty"`
	DeletesMore int      `json:"deletes_more,omitempty"`
	// Host is the computer that is reached, with its port where one is named; for a remote in a folder of this computer it is
	// empty. Address is the remote's whole address, without a password.
	Host    string `json:"host,omitempty"`
	Address string `json:"address,omitempty"`
	// Remote and Branch say where commits go, NewBranch that the remote isn't known to have that branch, Commit which commit
	// it will then be at. Commits counts what is sent, as far as is known; Subjects are their first lines, the newest first,
	// at most MaxSubjects.
	Remote    string   `json:"remote,omitempty"`
	Branch    string   `json:"branch,omitempty"`
	NewBranch bool     `json:"new_branch,omitempty"`
	Commit    string   `json:"commit,omitempty"`
	Commits   int      `json:"commits,omitempty"`
	Subjects  []string `json:"subjects,omitempty"`
	// Also are more folders that are asked for together with Folder. Diff is all of what is about to be changed, in Changes files,
	// at most MaxDiff bytes: lines that begin with a blank, -, + or @@, and before each file's one that names it.
	// A line that begins with \ or ( is a remark of ours in English (no line end, what isn't shown): a surface says it in its language.
	Also    []Place `json:"also,omitempty"`
	Diff    string  `json:"diff,omitempty"`
	Changes int     `json:"changes,omitempty"`
	// Command is what Exec and Outside run, in Folder.
	Command *Command `json:"command,omitempty"`
	// Policy is what WidenPolicy would have count.
	Policy *Policy `json:"policy,omitempty"`
	// Undo is what UndoChange would do.
	Undo *Undo `json:"undo,omitempty"`
	// Switch is what TurnOn would turn on.
	Switch *Switch `json:"switch,omitempty"`
	// Setting is what ChangeSetting would change.
	Setting *Setting `json:"setting,omitempty"`
	// Pairing is what Connect would let in. Of NewToken it has the Name, Level and Resource.
	Pairing *Pairing `json:"pairing,omitempty"`
	// Reason is what the model says it is for: untrusted, shown quoted, at most MaxReason characters.
	Reason string `json:"reason,omitempty"`
}

// Place is one of several folders that are asked for, with the fields that a Request has for its Folder.
type Place struct {
	Folder   string   `json:"folder"`
	FolderID grant.ID `json:"folder_id"`
	Makes    bool     `json:"makes,omitempty"`
	File     bool     `json:"file,omitempty"`
}

// Folders are the paths of all folders that are asked for.
func (r Request) Folders() []string {
	list := []string{r.Folder}
	for _, p := range r.Also {
		list = append(list, p.Folder)
	}
	return list
}

// MaxReason is how many characters of a model's reason are shown, MaxSubjects how many commits' first lines, MaxDeletes how
// many of the things that a command deletes. MaxDiff is how many bytes a diff or a script may have: what can't be shown whole
// can't be asked.
const (
	MaxReason   = 200
	MaxSubjects = 200
	MaxDeletes  = 20
	MaxDiff     = 64 << 10
)

// Digest names exactly this request.
func (r Request) Digest() [32]byte {
	text, err := json.Marshal(r)
	if err != nil { // no field of Request can fail
		panic(fmt.Sprintf("approval: marshal request: %v", err))
	}
	return sha256.Sum256(text)
}

// Verdict is how a question ended. The zero value refuses; only Allowed allows.
type Verdict uint8

const (
	Refused      Verdict = iota // the person said no
	NoAnswer                    // it was shown and nobody answered, or it was closed by the system
	CouldNotShow                // no surface could show it
	Withdrawn                   // the client went away, or the session ended
	HeldBack                    // it was not shown: the person has just refused several of this client's questions
	Allowed
)

var verdicts = [...]string{"refused", "no_answer", "could_not_show", "withdrawn", "held_back", "allowed"}

func (v Verdict) String() string {
	if int(v) < len(verdicts) {
		return verdicts[v]
	}
	return "refused"
}

// Decision is the answer to one request. The zero value refuses.
type Decision struct {
	Verdict Verdict
	// Surface that answered: "dialog", "terminal", "nonce".
	Surface string
	// Detail says why nothing could be shown, for the log.
	Detail string
	// Always says that the person allowed what Command.Rule describes, not only this run.
	Always bool
	// Quiet says that the person, who refused, doesn't want to be asked by this client for QuietFor.
	Quiet bool

	digest [32]byte
	at     time.Time
}

// ValidFor is how long an answer that allows can be used.
const ValidFor = 5 * time.Minute

// Allow is the decision that allows r, as of now. Only an Asker that had the person's answer may call it.
func Allow(r Request, surface string) Decision {
	return Decision{Verdict: Allowed, Surface: surface, digest: r.Digest(), at: time.Now()}
}

// AllowAlways is Allow where the person chose the lasting rule that r offers. A request that offers none is refused.
func AllowAlways(r Request, surface string) Decision {
	if r.Command == nil || r.Command.Rule == nil {
		return Refuse(NoAnswer, surface, "no lasting rule was offered")
	}
	d := Allow(r, surface)
	d.Always = true
	return d
}

// RefuseQuietly is the decision of a person who refused and doesn't want to be asked by this client for QuietFor.
func RefuseQuietly(surface string) Decision {
	d := Refuse(Refused, surface, "the person said no, and not to be asked for a time")
	d.Quiet = true
	return d
}

// Refuse is a decision that doesn't allow.
func Refuse(v Verdict, surface, detail string) Decision {
	if v == Allowed {
		v = Refused
	}
	return Decision{Verdict: v, Surface: surface, Detail: detail, at: time.Now()}
}

var (
	errNotAllowed = errors.New("approval: not allowed")
	errOther      = errors.New("approval: the answer was given to another request")
	errLate       = errors.New("approval: the answer is too old")
)

// Covers reports why d doesn't allow r; nil means that it does.
func (d Decision) Covers(r Request) error {
	switch {
	case d.Verdict != Allowed:
		return errNotAllowed
	case d.digest != r.Digest():
		return errOther
	case time.Since(d.at) > ValidFor:
		return errLate
	}
	return nil
}

// Asker puts a request to the person and returns when there is an answer, when ctx is over, or when the request has been
// visible for VisibleFor. It never returns an allowing decision that didn't come from the person.
type Asker interface {
	Ask(ctx context.Context, r Request) Decision
}

// VisibleFor is how long a question stays on the screen; Lives is how long it waits for its turn and for a screen that
// is locked.
const (
	VisibleFor = 2 * time.Minute
	Lives      = 30 * time.Minute
)
