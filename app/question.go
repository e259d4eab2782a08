package app

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"handrail/core/approval"
	"handrail/core/grant"
)

// Question is what a surface shows for a request: words in the person's language, every foreign one of them escaped. The
// zero Question says nothing and can't be shown.
type Question struct {
	// Window names the window.
	Window string `json:"window"`
	// Title is one sentence: who wants what.
	Title []Span `json:"title"`
	// Facts are what the answer binds, in the order in which a person needs them.
	Facts []Fact `json:"facts"`
	// Says introduces Reason, the model's own words; both are empty when it gave none. Cut says how much of it is left
	// out, "" when nothing is.
	Says   string `json:"says,omitempty"`
	Reason string `json:"reason,omitempty"`
	Cut    string `json:"cut,omitempty"`
	// Details are the bound facts that say something to experts only, under the heading More.
	More    string `json:"more"`
	Details []Fact `json:"details"`
	// The buttons. Authenticate allows as well, after the system's own check of the person, where there is one;
	// AuthenticateReason is what the system then shows after the application's name.
	Refuse             string `json:"refuse"`
	Allow              string `json:"allow"`
	Authenticate       string `json:"authenticate"`
	AuthenticateReason string `json:"authenticate_reason"`
	// Always is the button for the lasting rule that the fact with Offer describes; Quiet is the button that refuses and asks for
	// silence. They are "" where they aren't offered. Only a dialog offers them, at most one of them.
	Always string `json:"always,omitempty"`
	Quiet  string `json:"quiet,omitempty"`
}

// Span is a piece of a sentence.
type Span struct {
	Text string `json:"text"`
	Bold bool   `json:"bold,omitempty"`
}

// Fact is one line of a question. An Exact value is a path or an identifier, to be shown letter by letter.
type Fact struct {
	Label string `json:"label"`
	Value string `json:"value"`
	Exact bool   `json:"exact,omitempty"`
	// Offer says that it is about the button Always.
	Offer bool `json:"offer,omitempty"`
	// Marks are the parts of a command, in order.
	Marks []Mark `json:"marks,omitempty"`
}

// maxName is how many characters of a client's name stand in a sentence. The whole name is among the facts.
const maxName = 60

// NewQuestion says a request in words. It is an error when the kind is unknown, or when the request lacks what the
// question is about: such a request can't be asked, and so is refused.
func NewQuestion(r approval.Request, w Words) (Question, error) {
	if w.local == nil {
		return Question{}, fmt.Errorf("asking %q: no language", r.Kind)
	}
	if err := complete(r); err != nil {
		return Question{}, fmt.Errorf("asking %q: %w", r.Kind, err)
	}
	switch r.Kind {
	case approval.WidenPolicy:
		return w.policyQuestion(r), nil
	case approval.UndoChange:
		return w.undoQuestion(r), nil
	case approval.TurnOn:
		return w.switchQuestion(r), nil
	case approval.ChangeSetting:
		return w.settingQuestion(r), nil
	case approval.Connect:
		return w.pairingQuestion(r), nil
	case approval.NewToken:
		return w.tokenQuestion(r), nil
	}
	who := w.who(r)
	title, covers, until := messages(r)
	q := Question{
		Window:             w.say("window_title", nil),
		Title:              w.spans(title, holes{"Who": who, "Thing": quote(Escape(thing(r))), "Commits": w.count("commits", int64(r.Commits), nil), "Changes": w.count("changes", int64(r.Changes), nil), "Files": w.deleted(r), "Folders": w.folders(r)}),
		More:               w.say("more_below", nil),
		Refuse:             w.say("button_refuse", nil),
		Allow:              w.say("button_allow", nil),
		Authenticate:       w.say("button_authenticate", nil),
		AuthenticateReason: w.say("authenticate_reason", holes{"Who": who}),
	}
	fact := func(label, value string) { q.Facts = append(q.Facts, Fact{Label: w.say(label, nil), Value: value}) }
	exact := func(label, value string) {
		q.Facts = append(q.Facts, Fact{Label: w.say(label, nil), Value: Escape(value), Exact: true})
	}
	if r.Host != "" {
		exact("label_host", r.Host)
	}
	if r.Address != "" {
		exact("label_address", r.Address)
	}
	if r.Kind == approval.GitPush {
		exact("label_branch", r.Branch)
		if r.NewBranch {
			q.Facts[len(q.Facts)-1].Value += " " + w.say("branch_new", nil)
		}
		q.Facts = append(q.Facts, Fact{Label: w.count("label_commits", int64(r.Commits), nil), Value: w.subjects(r), Exact: true})
	}
	if r.Kind == approval.Delete {
		q.Facts = append(q.Facts, Fact{Label: w.say("label_deletes", nil), Value: w.deletes(r), Exact: true}, Fact{Label: w.say("label_script", nil), Value: escapeDiff(strings.TrimSuffix(r.Script, "\n")), Exact: true})
	}
	if r.Command != nil {
		q.Facts = append(q.Facts, w.commandFacts(r)...)
	}
	if r.Folder != "" {
		exact(folderLabel(r), r.Folder)
	}
	isNew := func(makes bool) {
		if makes {
			q.Facts[len(q.Facts)-1].Value += " " + w.say("folder_new", nil)
		}
	}
	if r.Kind == approval.Patch {
		isNew(r.Makes)
	}
	for _, p := range r.Also {
		exact(folderLabel(approval.Request{Kind: r.Kind, File: p.File}), p.Folder)
		isNew(p.Makes)
	}
	if r.Path != "" && r.Path != r.Folder {
		exact("label_file", r.Path)
	}
	if holds := w.holds(r); holds != "" {
		fact(holdsLabel(r), holds)
	}
	fact("label_covers", w.say(covers, holes{"Who": who, "Host": Escape(host(r))}))
	if r.UndoLimited {
		fact("label_undo", w.say("undo_limited", nil))
	}
	fact("label_until", w.say(until, nil))
	w.offer(&q, r)
	fact("label_who", w.claim(r))
	if r.Who.Program != "" {
		exact("label_program", r.Who.Program)
	} else {
		fact("label_program", w.say("program_unknown", nil))
	}
	if r.Who.Signed != "" {
		fact("label_signer", w.say("signer_verified", holes{"Team": Escape(r.Who.Signed)}))
	} else {
		fact("label_signer", w.say("signer_unknown", nil))
	}
	exact("label_tool", r.Tool)
	if r.Diff != "" {
		q.Facts = append(q.Facts, Fact{Label: w.say("label_diff", nil), Value: w.diff(r.Diff), Exact: true})
	}
	q.Details = w.details(r)
	if r.Reason != "" {
		reason, left := cut(r.Reason, approval.MaxReason)
		q.Says, q.Reason = w.say("says", holes{"Who": who}), quote(escapeProse(reason))
		if left > 0 {
			q.Cut = w.count("says_cut", int64(left), nil)
		}
	}
	return q, nil
}

func complete(r approval.Request) error {
	if r.Kind == approval.WidenPolicy || r.Policy != nil {
		return completePolicy(r)
	}
	if r.Kind == approval.UndoChange || r.Undo != nil {
		return completeUndo(r)
	}
	if r.Kind == approval.TurnOn || r.Switch != nil {
		return completeSwitch(r)
	}
	if r.Kind == approval.ChangeSetting || r.Setting != nil {
		return completeSetting(r)
	}
	if r.Kind == approval.Connect || r.Kind == approval.NewToken || r.Pairing != nil {
		return completePairing(r)
	}
	switch {
	case r.Tool == "" || r.Session == "" || r.Who.ID == "":
		return fmt.Errorf("no tool, session or client")
	case r.Kind == approval.Protected && !filepath.IsAbs(r.Path):
		return fmt.Errorf("no file")
	case pastes(r):
		if r.Folder != "" || r.Path != "" || r.Host != "" {
			return fmt.Errorf("a folder, file or host for the clipboard")
		}
	case anyHost(r):
		if r.Folder != "" || r.Path != "" || r.Address != "" {
			return fmt.Errorf("a folder, file or address for all of the network")
		}
	case r.Kind != approval.Protected && !filepath.IsAbs(r.Folder):
		return fmt.Errorf("no folder")
	case r.Files < 0 || r.Bytes < 0 || r.Commits < 0:
		return fmt.Errorf("a count below zero")
	case reaches(r) && r.Kind != approval.GitPush && r.Host == "":
		return fmt.Errorf("no host")
	case r.Kind == approval.GitPush && (r.Address == "" || r.Remote == "" || r.Branch == "" || r.Commit == ""):
		return fmt.Errorf("no remote, branch or commit")
	case r.Kind == approval.Patch && (r.Diff == "" || r.Changes < 1):
		return fmt.Errorf("no changes")
	case len(r.Diff) > approval.MaxDiff || len(r.Script) > approval.MaxDiff:
		return fmt.Errorf("a diff or a script that is too long")
	case slices.ContainsFunc(r.Also, func(p approval.Place) bool {
		return r.Kind != approval.Patch && (r.Kind != approval.SearchFolders || p.File || p.Makes) || !filepath.IsAbs(p.Folder)
	}):
		return fmt.Errorf("no folder, or too many")
	case r.Kind == approval.SearchFolders && (r.File || r.Path != ""):
		return fmt.Errorf("a file where folders are searched")
	case (r.Kind == approval.Delete) != (r.Script != "") || (r.Kind == approval.Delete) != (len(r.Deletes) > 0) || len(r.Deletes) > approval.MaxDeletes || r.DeletesMore < 0:
		return fmt.Errorf("no script, or not what it deletes")
	case len(r.Subjects) > approval.MaxSubjects || len(r.Subjects) > r.Commits:
		return fmt.Errorf("more commits than there are")
	}
	if err := completeCommand(r); err != nil {
		return err
	}
	if title, _, _ := messages(r); title == "" {
		return fmt.Errorf("unknown kind of question")
	}
	return nil
}

// messages names the messages of a kind of question: its title, what Allow covers and until when. For an unknown kind,
// and for one that can't be about something to be made, the title is "".
func messages(r approval.Request) (title, covers, until string) {
	until = "until_session"
	switch r.Kind {
	case approval.EditFolder:
		title, covers = "title_edit_folder", "covers_edit_folder"
		if r.File {
			title, covers = "title_edit_file", "covers_edit_file"
		}
	case approval.EditCopies:
		title, covers = "title_edit_copies", "covers_edit_copies"
	case approval.JoinFolder:
		title, covers = "title_join_folder", "covers_join_folder"
	case approval.LookFolder:
		title, covers = "title_look_folder", "covers_look_folder"
	case approval.Protected:
		title, covers, until = "title_protected", "covers_protected", "until_once"
	case approval.Patch:
		title, covers = "title_patch", "covers_patch"
	case approval.SearchFolders:
		title, covers, until = "title_search_folders", "covers_search_folders", "until_search"
	case approval.Exec:
		title, covers, until = "title_exec", "covers_exec", "until_once"
	case approval.Outside:
		title, covers, until = "title_outside", "covers_outside", "until_once"
	case approval.Network:
		title, covers = "title_network", "covers_network"
		if r.Host == "" {
			title, covers = "title_network_any", "covers_network_any"
		}
	case approval.Loopback:
		title, covers = "title_loopback", "covers_loopback"
		if r.Host == "" {
			title = "title_loopback_any"
		}
	case approval.GitSignIn:
		title, covers = "title_git_sign_in", "covers_git_sign_in"
	case approval.GitPush:
		title, covers, until = "title_git_push", "covers_git_push", "until_once"
		if r.Host == "" {
			covers = "covers_git_push_folder"
		}
	case approval.Delete:
		title, covers = "title_delete", "covers_delete"
		if r.File {
			title, covers = "title_delete_file", "covers_delete_file"
		}
	case approval.Clipboard:
		title, covers, until = "title_clipboard", "covers_clipboard", "until_once"
	case approval.ClipboardSession:
		title, covers = "title_clipboard", "covers_clipboard_session"
	}
	if r.Makes && title != "" {
		switch r.Kind {
		case approval.Exec, approval.Outside, approval.Delete, approval.LookFolder, approval.SearchFolders, approval.GitPush, approval.GitSignIn, approval.Clipboard, approval.ClipboardSession:
			title = ""
		case approval.Protected, approval.Patch, approval.Network, approval.Loopback:
		default:
			title += "_new"
		}
	}
	return title, covers, until
}

// reaches says that a question is about what is reached, and the folder only says for what.
func reaches(r approval.Request) bool {
	return slices.Contains([]approval.Kind{approval.Network, approval.Loopback, approval.GitSignIn, approval.GitPush}, r.Kind)
}

// anyHost says that a question is about the network, or this computer's ports, as such: for no one host, and for no folder.
func anyHost(r approval.Request) bool {
	return r.Host == "" && (r.Kind == approval.Network || r.Kind == approval.Loopback)
}

// pastes says that a question is about the clipboard, and about no folder.
func pastes(r approval.Request) bool {
	return r.Kind == approval.Clipboard || r.Kind == approval.ClipboardSession
}

// host is where commits go: a computer, or a folder of this one.
func host(r approval.Request) string {
	if r.Host == "" {
		return r.Address
	}
	return r.Host
}

// subjects are the first lines of the commits, one a line, and how many are left out.
func (w Words) subjects(r approval.Request) string {
	var lines []string
	for _, s := range r.Subjects {
		lines = append(lines, "• "+Escape(s))
	}
	if left := r.Commits - len(r.Subjects); left > 0 {
		lines = append(lines, w.count("commits_left", int64(left), nil))
	}
	if len(lines) == 0 {
		return w.say("commits_none", nil)
	}
	return strings.Join(lines, "\n")
}

// deleted says in the title how many files a command deletes, as far as that is seen.
func (w Words) deleted(r approval.Request) string {
	switch {
	case r.Files > 0 && r.More:
		return w.count("deleted_more", int64(r.Files), nil)
	case r.Files > 0:
		return w.count("deleted", int64(r.Files), nil)
	}
	return w.say("deleted_some", nil)
}

// folders says in the title where files are searched.
func (w Words) folders(r approval.Request) string {
	if len(r.Also) == 0 {
		return quote(Escape(thing(r)))
	}
	return w.count("these_folders", int64(1+len(r.Also)), nil)
}

// deletes are the names by which a command calls what it deletes, one a line, and how many are left out.
func (w Words) deletes(r approval.Request) string {
	var lines []string
	for _, name := range r.Deletes {
		lines = append(lines, "• "+Escape(name))
	}
	if r.DeletesMore > 0 {
		lines = append(lines, w.count("deletes_left", int64(r.DeletesMore), nil))
	}
	return strings.Join(lines, "\n")
}

// thing is what the title names: a host, or the folder's or file's own name, with its folder's when that is a dot-folder.
func thing(r approval.Request) string {
	switch {
	case reaches(r):
		return host(r)
	case pastes(r):
		return ""
	case r.Kind != approval.Protected:
		return filepath.Base(r.Folder)
	}
	name, parent := filepath.Base(r.Path), filepath.Base(filepath.Dir(r.Path))
	if strings.HasPrefix(parent, ".") {
		return filepath.Join(parent, name)
	}
	return name
}

func holdsLabel(r approval.Request) string {
	if r.Kind == approval.Delete {
		return "label_deleted"
	}
	return "label_holds"
}

func folderLabel(r approval.Request) string {
	if r.File {
		return "label_file"
	}
	if reaches(r) && r.Tool == "git" {
		return "label_repository"
	}
	return "label_folder"
}

// who names the client in a sentence: what it calls itself, else its program's name, escaped, cut and quoted, for a name may
// itself read like a part of the sentence (“No one”).
func (w Words) who(r approval.Request) string {
	name := r.Who.Name
	if name == "" && r.Who.Program != "" {
		name = filepath.Base(r.Who.Program)
	}
	if name == "" {
		return w.say("program_unknown", nil)
	}
	return w.named(name)
}

// named is a name in a sentence: escaped, cut and quoted.
func (w Words) named(name string) string {
	name, left := cut(name, maxName)
	if left > 0 {
		return quote(Escape(name) + "…") // Escape lets no dots like these through
	}
	return quote(Escape(name))
}

// quote sets escaped text apart from the sentence it stands in: Escape lets no such quotes through.
func quote(escaped string) string { return "“" + escaped + "”" }

func (w Words) claim(r approval.Request) string {
	values := holes{"Name": Escape(r.Who.Name), "Version": Escape(r.Who.Version)}
	switch {
	case r.Who.Name != "" && r.Who.Version != "":
		return w.say("who_version", values)
	case r.Who.Name != "":
		return w.say("who_named", values)
	case r.Who.Version != "":
		return w.say("who_version_only", values)
	}
	return w.say("who_unnamed", nil)
}

// holds says what the folder holds; "" where nothing was counted because the question is about one file.
func (w Words) holds(r approval.Request) string {
	values := holes{"Size": w.size(r.Bytes)}
	switch {
	case reaches(r), pastes(r), r.Kind == approval.Patch, r.Kind.Runs(), r.Kind == approval.Delete && (r.Files == 0 || r.More):
		return ""
	case r.Makes:
		return w.say("holds_new", nil)
	case r.More:
		return w.count("holds_more", int64(r.Files), values)
	case r.Files > 0 || r.Bytes > 0:
		return w.count("holds", int64(r.Files), values)
	case r.Kind == approval.Protected:
		return ""
	}
	return w.say("holds_empty", nil)
}

func (w Words) details(r approval.Request) []Fact {
	var list []Fact
	add := func(label, value string) {
		list = append(list, Fact{Label: w.say(label, nil), Value: value, Exact: true})
	}
	add("label_connection", Escape(r.Who.ID))
	add("label_session", Escape(r.Session))
	if r.Who.PID != 0 {
		add("label_process", strconv.Itoa(r.Who.PID))
	} else {
		add("label_process", w.say("process_none", nil))
	}
	if !r.Makes && !pastes(r) {
		list = append(list, w.folderID(r.FolderID))
	}
	for _, p := range r.Also {
		if !p.Makes {
			list = append(list, w.folderID(p.FolderID))
		}
	}
	if r.Command != nil {
		list = append(list, w.commandDetails(r.Command)...)
	}
	if r.Home != "" {
		add("label_home", Escape(r.Home))
	}
	if r.Remote != "" {
		add("label_remote", Escape(r.Remote))
	}
	if r.Commit != "" {
		add("label_commit", Escape(r.Commit))
	}
	switch {
	case w.holds(r) == "": // nothing was counted
	case r.More:
		add("label_bytes", w.count("bytes_more", r.Bytes, nil))
	default:
		add("label_bytes", w.count("bytes", r.Bytes, nil))
	}
	return list
}

func (w Words) folderID(id grant.ID) Fact {
	return Fact{Label: w.say("label_folder_id", nil), Value: fmt.Sprintf("%d:%d", id.Device, id.Inode), Exact: true}
}

// cut gives at most n characters of s, and how many are left out. It doesn't part a letter from its marks.
func cut(s string, n int) (head string, left int) {
	text := []rune(s)
	if len(text) <= n {
		return s, 0
	}
	for n > 0 && (unicode.Is(unicode.M, text[n]) || text[n] == 0x0E33) { // sara am hangs on its consonant
		n--
	}
	return string(text[:n]), len(text) - n
}

// String is the question as plain text, for a terminal.
func (q Question) String() string {
	var b strings.Builder
	for _, s := range q.Title {
		b.WriteString(s.Text)
	}
	b.WriteString("\n\n")
	facts(&b, q.Facts)
	if q.Says != "" {
		fmt.Fprintf(&b, "%s\n    %s\n", q.Says, strings.TrimSpace(q.Reason+" "+q.Cut))
	}
	fmt.Fprintf(&b, "\n%s\n\n", q.More)
	facts(&b, q.Details)
	return b.String()
}

func facts(b *strings.Builder, list []Fact) {
	for _, f := range list {
		fmt.Fprintf(b, "%s\n    %s\n", f.Label, strings.ReplaceAll(f.Value, "\n", "\n    "))
	}
}
