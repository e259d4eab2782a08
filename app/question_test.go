package app

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"handrail/core/approval"
	"handrail/core/client"
	"handrail/core/grant"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares got with testdata/name, or writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run the test with -update and look at the change\n--- got\n%s\n--- want\n%s", path, got, want)
	}
}

var (
	claude = client.Identity{ID: "stdio:/opt/claude/claude", Name: "Claude", Version: "1.2.3", Program: "/opt/claude/claude", PID: 4711, Signed: "Example Software Ltd"}
	nobody = client.Identity{ID: "http:cursor"}
)

// request is a whole request, with what change alters.
func request(kind approval.Kind, change func(*approval.Request)) approval.Request {
	r := approval.Request{
		Kind: kind, Who: claude, Session: "LWNOB7XFVUX5M3QZKQGT2TXAZI", Tool: "edit",
		Folder: "/home/ann/Handrail/Holiday Photos", Home: "/home/ann", FolderID: grant.ID{Device: 2049, Inode: 1310733},
		Files: 214, Bytes: 1_234_567_890,
	}
	if change != nil {
		change(&r)
	}
	return r
}

var questions = []struct {
	name    string
	request approval.Request
}{
	{"edit_folder", request(approval.EditFolder, func(r *approval.Request) {
		r.Path = "/home/ann/Handrail/Holiday Photos/list.txt"
		r.Reason = "I’d like to sort the photos by month – and rename them."
	})},
	{"edit_folder_new", request(approval.EditFolder, func(r *approval.Request) {
		r.Makes, r.FolderID, r.Files, r.Bytes, r.Tool = true, grant.ID{}, 0, 0, "write_file"
		r.Path = "/home/ann/Handrail/Holiday Photos/list.txt"
	})},
	{"edit_folder_large", request(approval.EditFolder, func(r *approval.Request) {
		r.Files, r.More, r.UndoLimited, r.Tool = 20_000, true, true, "request_access"
	})},
	{"edit_file", request(approval.EditFolder, func(r *approval.Request) {
		r.File, r.Folder, r.Files, r.Bytes = true, "/home/ann/Handrail/notes.txt", 1, 812
		r.Path = r.Folder
	})},
	{"edit_copies", request(approval.EditCopies, func(r *approval.Request) {
		r.Folder, r.Path, r.Files, r.Bytes = "/home/ann/Taxes", "/home/ann/Taxes/2025.ods", 1, 45_678
		r.Who = nobody
	})},
	{"look_folder", request(approval.LookFolder, func(r *approval.Request) {
		r.Folder, r.More, r.Files, r.Tool = "/home/ann/Taxes", true, 10_000, "request_access"
		r.Who.Signed, r.Who.Version = "", ""
		r.Reason = strings.Repeat("Please, please let me read them. ", 9)
	})},
	{"join_folder", request(approval.JoinFolder, func(r *approval.Request) {
		r.Folder, r.Tool, r.Files, r.Bytes = "/home/ann/src/website", "request_access", 0, 0
		r.Who.Name, r.Who.PID = "", 0
	})},
	{"protected", request(approval.Protected, func(r *approval.Request) {
		r.Folder, r.Path = "/home/ann/Handrail/website/.git", "/home/ann/Handrail/website/.git/config"
		r.Files, r.Bytes = 0, 0
	})},
	{"network", request(approval.Network, func(r *approval.Request) {
		r.Host, r.Address, r.Tool, r.Files, r.Bytes = "example.com", "https://example.com/ann/site.git", "git", 0, 0
		r.Makes, r.FolderID = true, grant.ID{}
	})},
	{"loopback", request(approval.Loopback, func(r *approval.Request) {
		r.Host, r.Address, r.Tool, r.Files, r.Bytes = "127.0.0.1:8080", "http://127.0.0.1:8080/site.git", "git", 0, 0
	})},
	{"network_any", request(approval.Network, func(r *approval.Request) {
		r.Folder, r.FolderID, r.Tool, r.Files, r.Bytes = "", grant.ID{}, "request_access", 0, 0
		r.Reason = "install the packages of the site"
	})},
	{"loopback_any", request(approval.Loopback, func(r *approval.Request) {
		r.Folder, r.FolderID, r.Tool, r.Files, r.Bytes = "", grant.ID{}, "request_access", 0, 0
	})},
	{"git_sign_in", request(approval.GitSignIn, func(r *approval.Request) {
		r.Host, r.Address, r.Tool, r.Files, r.Bytes = "example.com", "https://ann@example.com/ann/site.git", "git", 0, 0
	})},
	{"git_push", request(approval.GitPush, func(r *approval.Request) {
		push(r)
		r.Commits, r.Subjects = 3, []string{"Show the photos by month", "เพิ่มหน้าแรกภาษาไทย", "Hide\u202e and\x1b[2J seek"}
	})},
	{"git_push_new", request(approval.GitPush, func(r *approval.Request) {
		push(r)
		r.NewBranch, r.Commits = true, 1200
		for range approval.MaxSubjects {
			r.Subjects = append(r.Subjects, "Begin")
		}
	})},
	{"git_push_folder", request(approval.GitPush, func(r *approval.Request) {
		push(r)
		r.Host, r.Address = "", "/home/ann/Handrail/site.git"
	})},
	{"open_address", request(approval.Network, func(r *approval.Request) {
		r.Host, r.Address, r.Tool, r.Files, r.Bytes = "example.com:8443", "https://example.com:8443/search?q=holiday%20photos&from=Handrail#more", "bash", 0, 0
		r.Folder = "/home/ann/Handrail"
	})},
	{"search_folders", request(approval.SearchFolders, func(r *approval.Request) {
		searched(r)
		r.Also = []approval.Place{{Folder: "/home/ann/Documents/สัญญา", FolderID: grant.ID{Device: 2049, Inode: 78}},
			{Folder: "/home/ann/Taxes", FolderID: grant.ID{Device: 2049, Inode: 79}}}
	})},
	{"search_folder", request(approval.SearchFolders, searched)},
	{"clipboard", request(approval.Clipboard, paste)},
	{"clipboard_session", request(approval.ClipboardSession, paste)},
	{"patch", request(approval.Patch, func(r *approval.Request) {
		patch(r)
		r.UndoLimited = true
		r.Also = []approval.Place{{Folder: "/home/ann/Handrail/notes.txt", FolderID: grant.ID{Device: 2049, Inode: 77}, File: true},
			{Folder: "/home/ann/Handrail/เว็บไซต์", Makes: true}}
	})},
	{"patch_one", request(approval.Patch, func(r *approval.Request) {
		patch(r)
		r.Changes, r.Diff = 1, "M Holiday Photos/list.txt\n@@ -1,1 +1,1 @@\n-June\n+July"
	})},
	{"patch_new", request(approval.Patch, func(r *approval.Request) {
		patch(r)
		r.Makes, r.FolderID, r.Changes = true, grant.ID{}, 1
		r.Diff = "A Holiday Photos/run.sh (becomes executable)\n@@ -0,0 +1,2 @@\n+#!/bin/sh\n+rm -rf \u202e~ \x1b[2J\u200b"
	})},
	{"patch_protected", request(approval.Protected, func(r *approval.Request) {
		r.Folder, r.Path, r.Tool = "/home/ann/Handrail/website/.vscode", "/home/ann/Handrail/website/.vscode/tasks.json", "apply_patch"
		r.Files, r.Bytes, r.Diff = 0, 0, "M website/.vscode/tasks.json\n@@ -1,1 +1,1 @@\n-{}\n+{\"tasks\": []}"
	})},
	{"delete", request(approval.Delete, func(r *approval.Request) {
		r.Folder, r.Tool, r.Files, r.Bytes = "/home/ann/Handrail/website/build", "bash", 14, 182_400
		r.Script, r.Deletes = "cd website\nrm -rf build/*.html build/old && make", []string{"build/*.html", "build/old"}
	})},
	{"delete_unknown", request(approval.Delete, func(r *approval.Request) {
		r.Tool, r.Files, r.Bytes, r.More, r.UndoLimited = "bash_bg", 0, 0, true, true
		r.Script, r.Deletes, r.DeletesMore = "for f in $(cat list\u202e); do rm \"$f\"; done\n", []string{`"$f"`}, 3
	})},
	{"delete_file", request(approval.Delete, func(r *approval.Request) {
		r.File, r.Folder, r.Tool, r.Files, r.Bytes, r.More = true, "/home/ann/Handrail/notes.txt", "bash", 1, 812, false
		r.Script, r.Deletes = "> notes.txt", []string{"notes.txt"}
	})},
	{"exec", request(approval.Exec, func(r *approval.Request) {
		r.Tool, r.Files, r.Bytes, r.Command = "exec", 0, 0, &approval.Command{
			Text: "timeout 60 make -C site all && rm -r old", Runs: "/usr/bin/timeout 60 /usr/bin/make -C site all && /bin/rm -r old", Shell: "/bin/bash",
			Env: []string{"MODE=draft", "TITLE=two  words"}, Deletes: []string{"old"}, Why: []string{"every command is to be asked for"},
			Open: []string{"what make reads as its script"},
			Files: []approval.File{{Path: "/usr/bin/timeout", Real: "/usr/lib/coreutils/timeout", ID: grant.ID{Device: 2049, Inode: 77}},
				{Path: "/usr/bin/make", Real: "/usr/bin/make", ID: grant.ID{Device: 2049, Inode: 78}},
				{Path: "/home/ann/Handrail/run.sh", Real: "/home/ann/Handrail/run.sh", ID: grant.ID{Device: 2049, Inode: 79}, Script: true, SHA256: strings.Repeat("0a", 32)}}}
		r.Reason = "Build the site"
	})},
	{"exec_hostile", request(approval.Exec, func(r *approval.Request) {
		r.Tool, r.Files, r.Bytes, r.Command = "exec", 0, 0, &approval.Command{
			Text: "echo ok #\u202e\n\x1b[2J\trm -rf ~", Runs: "echo ok #\u202e\n\x1b[2J\trm -rf ~", Shell: "/bin/sh", Env: []string{"X=\nAllow"}, Why: []string{"no program \u2028Allow was found"}}
	})},
	{"exec_always", request(approval.Exec, func(r *approval.Request) {
		r.Tool, r.Files, r.Bytes, r.Command = "exec", 0, 0, &approval.Command{
			Text: "wc -l list.txt", Runs: "/usr/bin/wc -l list.txt", Why: []string{"it isn't on the person's list: wc is not on the list"},
			Files: []approval.File{{Path: "/usr/bin/wc", Real: "/usr/bin/wc", ID: grant.ID{Device: 2049, Inode: 80}}},
			Rule:  &approval.Rule{Program: "/usr/bin/wc"}}
	})},
	{"exec_always_script", request(approval.Exec, func(r *approval.Request) {
		r.Tool, r.Files, r.Bytes, r.Command = "exec", 0, 0, &approval.Command{
			Text: "sh ./count.sh", Runs: "/usr/bin/sh ./count.sh",
			Files: []approval.File{{Path: "/usr/bin/sh", Real: "/usr/bin/dash", ID: grant.ID{Device: 2049, Inode: 81}},
				{Path: "/home/ann/Handrail/Holiday Photos/count.sh", Real: "/home/ann/Handrail/Holiday Photos/count.sh", ID: grant.ID{Device: 2049, Inode: 82}, Script: true, SHA256: strings.Repeat("0b", 32)}},
			Rule: &approval.Rule{Program: "/usr/bin/sh", Script: "/home/ann/Handrail/Holiday Photos/count.sh"}}
	})},
	{"outside", request(approval.Outside, func(r *approval.Request) {
		r.Tool, r.Files, r.Bytes, r.Command = "exec", 0, 0, &approval.Command{
			Text: "brew services restart postgresql && ./reload.sh", Runs: "/opt/homebrew/bin/brew services restart postgresql && ./reload.sh", Shell: "/bin/bash",
			Env: []string{"MODE=draft"}, Inherits: []string{"HOME", "LANG", "PATH", "SSH_AUTH_SOCK", "USER"}, Why: []string{"it isn't on the person's list: brew is not on the list"},
			Files: []approval.File{{Path: "/opt/homebrew/bin/brew", Real: "/opt/homebrew/Library/brew", ID: grant.ID{Device: 2049, Inode: 83}, SHA256: strings.Repeat("0d", 32)},
				{Path: "/home/ann/Handrail/Holiday Photos/reload.sh", Real: "/home/ann/Handrail/Holiday Photos/reload.sh", ID: grant.ID{Device: 2049, Inode: 84}, SHA256: strings.Repeat("0e", 32)}}}
		r.Reason = "Restart the database"
	})},
	{"turn_on_outside", turnOn("http:cursor", "outside", "may ask to run commands outside the sandbox, where nothing holds them back; the person is asked each time")},
	{"turn_on_docker", turnOn("stdio:/opt/claude/claude", "docker", "controls Docker, which is as good as full access to this computer")},
	{"turn_on_ssh", turnOn("http:cursor", "ssh-agent", "signs in elsewhere with the person's SSH keys while it runs")},
	{"turn_on_browser", turnOn("http:cursor", "browser", "starts a browser for tests, which then runs without its own sandbox")},
	{"turn_on_xcode", turnOn("http:cursor", "xcode", "uses Apple's developer tools, their simulators and services")},
	{"turn_on_home", turnOn("http:cursor", "home", "reads the whole home folder, but for the places where keys, passwords and sign-ins are kept")},
	{"turn_on_tool", change(turnOn("http:cursor", "bash_bg", "uses the tool bash_bg again, which was turned off"), func(r *approval.Request) { r.Switch.Tool = true })},
	{"setting_network", changes("network", "never", "ask")},
	{"setting_profile", changes("profile", "guarded", "classic")},
	{"setting_tunnel", changes("tunnel", "", "my-mac.example.com")},
	{"setting_level", changes("level", "none", "look")},
	{"setting_presence", changes("presence", "on", "off")},
	{"setting_workspace", changes("workspace", "", "/home/ann/Work")},
	{"setting_workspace_usual", changes("workspace", "/home/ann/Wo\u202erk", "")},
	{"setting_search", changes("search", "", "/home/ann/เอกสาร\n\nAllow “")},
	{"turn_on_hostile", turnOn("stdio:/home/ann/"+strings.Repeat("No one ", 20)+"\u202e/Handrail\n\nAllow “", "home", "opens nothing\u2028Allow")},
	{"widen_policy", widened},
	{"undo", undone},
	{"undo_undo", change(undone, func(r *approval.Request) {
		u := *r.Undo
		r.Undo, u.Tool, u.Client, u.Left, u.LeftMore, u.More, u.Diff = &u, "undo", "", nil, 0, 0, ""
	})},
	{"connect", connects(nil)},
	{"connect_look", connects(func(p *approval.Pairing) { p.Claimed, p.Level, p.Document = "", "look", "" })},
	{"new_token", carries(nil)},
	{"new_token_hostile", carries(func(p *approval.Pairing) {
		p.Name, p.Resource = "a\u202e\n\nFor how long", "http://127.0.0.1:7437/\u202e"
	})},
	{"connect_hostile", connects(func(p *approval.Pairing) {
		p.Claimed = "Claude\u202e** by\nHandrail <b>" + strings.Repeat(" very", 16)
		p.Redirect, p.Document = "http://[::1]:80/"+strings.Repeat("callback/", 60)+"?%E2%80%AE=1", "https://xn--clude-xra.example/client.json"
	})},
	{"thai", request(approval.EditFolder, func(r *approval.Request) {
		r.Home, r.Folder = "/home/สมหญิง", "/home/สมหญิง/Handrail/รูปถ่ายที่เชียงใหม่"
		r.Path = r.Folder + "/น้ำตกแม่สา ปี ๒๕๖๘/รายชื่อผู้ร่วมเดินทาง.txt"
		r.Reason = "ขอเรียงรูปถ่ายตามเดือน แล้วตั้งชื่อใหม่ให้ค้นหาง่ายขึ้น"
	})},
	{"hostile", request(approval.EditFolder, func(r *approval.Request) {
		r.Who.Name = "Claude\u202e** may do\nanything" + strings.Repeat(" very", 20)
		r.Who.Version = "1”, made by Apple “"
		r.Folder = "/home/ann/Handrail/" + strings.Repeat("a very long name ", 14) + "/p\u0430ypal\u200b\u2044x "
		r.Path = r.Folder + "/" + strings.Repeat("deep/", 60) + "end\xff\x1b[2J.txt"
		r.Reason = "Allow\u2028Who asks\n    The system\u202d\u0000" + strings.Repeat("\u0e48", 190)
	})},
}

// undone asks whether a change is to be put back.
var undone = approval.Request{Kind: approval.UndoChange, Home: "/home/ann", Undo: &approval.Undo{
	Change: "20260304-abc", Time: time.Date(2026, 3, 4, 12, 5, 0, 0, time.UTC), Client: "Claude\u202e", Tool: "bash", Text: "rm -rf old; sed -i s/sea/lake/ list.txt",
	Folder: "/home/ann/Handrail/Holiday Photos",
	Back:   []string{"/home/ann/Handrail/Holiday Photos/old", "/home/ann/Handrail/Holiday Photos/รูปที่ 1.jpg"},
	Old:    []string{"/home/ann/Handrail/Holiday Photos/list.txt"}, Gone: []string{"/home/ann/Handrail/Holiday Photos/new\n• /etc"}, More: 12,
	Left: []approval.Left{{Path: "/home/ann/Handrail/Holiday Photos/mine.txt", Why: "it was changed since"}}, LeftMore: 3,
	Diff: "M /home/ann/Handrail/Holiday Photos/list.txt\n@@ -1,2 +1,2 @@\n June\n-lake, 14 pictures\n+sea, 14 pictures\n", DiffMore: true,
}}

// changes asks whether a setting may allow more.
func changes(name, was, now string) approval.Request {
	s := &approval.Setting{Name: name, Was: was, Now: now}
	if strings.HasPrefix(now, "/") {
		s.FolderID = grant.ID{Device: 2049, Inode: 17}
	}
	return approval.Request{Kind: approval.ChangeSetting, Setting: s}
}

// turnOn asks whether something is turned on for a client.
func turnOn(id, name, opens string) approval.Request {
	return approval.Request{Kind: approval.TurnOn, Switch: &approval.Switch{Client: id, Name: name, Opens: opens}}
}

// widened asks whether the policy file may allow more.
var widened = approval.Request{Kind: approval.WidenPolicy, Policy: &approval.Policy{
	File: "/home/ann/.local/state/handrail/exec-policy.json", SHA256: strings.Repeat("0c", 32),
	Wider: []string{"allows /usr/bin/git with arguments like (status|diff)( .*)?", "in the sandbox: ask off instead of on-miss", "safe bin \u202ecut\n\nFor how long"},
}}

// connects asks whether a new assistant may connect, with what change alters.
func connects(change func(*approval.Pairing)) approval.Request {
	p := approval.Pairing{Name: "claude-code", Level: "ask", Claimed: "Claude Code", Document: "https://claude.example/client.json", ClientSHA256: strings.Repeat("0d", 32),
		Redirect: "http://localhost:33418/callback", Resource: "http://127.0.0.1:7438/mcp", Challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}
	if change != nil {
		change(&p)
	}
	return approval.Request{Kind: approval.Connect, Pairing: &p}
}

// carries asks whether a client may come in by a token.
func carries(change func(*approval.Pairing)) approval.Request {
	p := approval.Pairing{Name: "web-tool", Level: "ask", Resource: "http://127.0.0.1:7437/mcp"}
	if change != nil {
		change(&p)
	}
	return approval.Request{Kind: approval.NewToken, Pairing: &p}
}

// push makes r a request to push.
func push(r *approval.Request) {
	r.Host, r.Address, r.Remote, r.Branch, r.Commit = "example.com", "https://ann@example.com/ann/site.git", "origin", "topic/photos", "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3"
	r.Tool, r.Files, r.Bytes = "git", 0, 0
}

// paste makes r a request to read the clipboard.
func paste(r *approval.Request) {
	r.Folder, r.FolderID, r.Tool, r.Files, r.Bytes = "", grant.ID{}, "bash", 0, 0
}

// searched makes r a request to have folders searched.
func searched(r *approval.Request) { r.Folder, r.Tool = "/home/ann/Handrail", "rag_search" }

// patch makes r a request to apply a patch.
func patch(r *approval.Request) {
	r.Tool, r.Files, r.Bytes, r.Changes = "apply_patch", 0, 0, 4
	r.Diff = "M Holiday Photos/list.txt\n@@ -1,3 +1,3 @@\n June \n-\tsea, 14 pictures\n+    sea, 15 pictures\n เชียงใหม่\n\\ No newline at end of file\n\n" +
		"A เว็บไซต์/index.html\n@@ -0,0 +1,2 @@\n+<h1>สวัสดี</h1>\n+\n\n" +
		"R Holiday Photos/old.txt -> Holiday Photos/new.txt\n\n" +
		"D notes.txt\n-remember\n(31 lines more)"
}

var tongues = []string{"en", "th"}

func TestQuestion(t *testing.T) {
	for _, c := range questions {
		// The window's tests show the same requests.
		text, err := json.MarshalIndent(c.request, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "question_"+c.name+".json", string(text)+"\n")
		for _, language := range tongues {
			t.Run(c.name+"_"+language, func(t *testing.T) {
				q, err := NewQuestion(c.request, NewWords(language))
				if err != nil {
					t.Fatal(err)
				}
				text := q.String()
				golden(t, "question_"+c.name+"_"+language+".golden", show(q))
				for _, fact := range bound(c.request) {
					if !strings.Contains(text, fact) {
						t.Errorf("%q isn't in the text", fact)
					}
				}
				for _, says := range said(c.request) {
					if in := NewWords(language).reason(says); !strings.Contains(text, in) || language == "en" && in != Escape(says) {
						t.Errorf("%q isn't in the text", in)
					}
				}
				for i, r := range text {
					if r != '\n' && deceives(r) && r != '…' {
						t.Errorf("U+%04X at %d", r, i)
					}
				}
			})
		}
	}
}

// A name may read like a part of the sentence that it stands in: it is always quoted.
func TestNamesAreQuoted(t *testing.T) {
	for _, c := range questions {
		for _, language := range tongues {
			r := c.request
			switch r.Kind {
			case approval.WidenPolicy, approval.UndoChange, approval.TurnOn, approval.ChangeSetting, approval.NewToken: // nobody asks it
				continue
			case approval.Connect:
				p := *r.Pairing
				p.Claimed, r.Pairing = "No one", &p
			default:
				r.Who.Name = "No one"
			}
			r.Path = ""
			if r.Folder != "" {
				r.Folder = "/home/ann/Handrail/nothing"
			}
			if r.Kind == approval.Protected {
				r.Path = r.Folder + "/file"
			}
			q, err := NewQuestion(r, NewWords(language))
			if err != nil {
				t.Fatal(err)
			}
			title := strings.SplitAfter(q.String(), "\n")[0]
			text := q.String() + q.AuthenticateReason
			if strings.Count(text, "No one") != strings.Count(text, "“No one”") || strings.Count(title, "nothing") != strings.Count(title, "“nothing”") {
				t.Errorf("%s: a name that isn't quoted:\n%s", c.name, text)
			}
		}
	}
}

// What the question says of how long it holds is what the answer is used for.
func TestHowLong(t *testing.T) {
	w := NewWords("en")
	for _, c := range questions {
		q, err := NewQuestion(c.request, w)
		if err != nil {
			t.Fatal(err)
		}
		if c.request.Kind == approval.TurnOn || c.request.Kind == approval.ChangeSetting || c.request.Kind == approval.NewToken { // the answer is used once, what it turns on stays on
			continue
		}
		if says := strings.Contains(q.String(), w.say("until_once", nil)); says != c.request.Kind.Once() {
			t.Errorf("%s: it says once: %v; it is used once: %v", c.name, says, !says)
		}
	}
}

// show is the question with everything that a surface gets.
func show(q Question) string {
	var b strings.Builder
	for _, s := range q.Title {
		if s.Bold {
			fmt.Fprintf(&b, "**%s**", s.Text)
		} else {
			b.WriteString(s.Text)
		}
	}
	_, rest, _ := strings.Cut(q.String(), "\n")
	always := ""
	if q.Always != "" {
		always = "[" + q.Always + "] "
	}
	return fmt.Sprintf("%s\n%s\n%s[%s] [%s] [%s]\n%s\n", b.String(), rest, always, q.Refuse, q.Allow, q.Authenticate, q.AuthenticateReason)
}

// said is what the core says about a request in words of its own.
func said(r approval.Request) (list []string) {
	if c := r.Command; c != nil {
		list = append(slices.Clone(c.Why), c.Open...)
	}
	if r.Policy != nil {
		list = append(list, r.Policy.Wider...)
	}
	if r.Undo != nil {
		for _, l := range r.Undo.Left {
			list = append(list, l.Why)
		}
	}
	if r.Switch != nil {
		list = append(list, r.Switch.Opens)
	}
	return list
}

// bound is what the answer binds, as it must stand in the text.
func bound(r approval.Request) []string {
	list := []string{Escape(r.Who.ID), Escape(r.Session), Escape(r.Tool), Escape(r.Folder), Escape(r.Path), Escape(r.Home),
		Escape(r.Who.Name), Escape(r.Who.Version), Escape(r.Who.Program), Escape(r.Who.Signed)}
	list = append(list, Escape(r.Host), Escape(r.Address), Escape(r.Remote), Escape(r.Branch), Escape(r.Commit))
	if p := r.Pairing; p != nil {
		list = append(list, Escape(p.Name), Escape(p.Claimed), Escape(p.Document), p.ClientSHA256, Escape(p.Redirect), Escape(p.Resource), p.Challenge)
	}
	for _, subject := range r.Subjects {
		list = append(list, Escape(subject))
	}
	for _, p := range r.Also {
		if list = append(list, Escape(p.Folder)); !p.Makes {
			list = append(list, fmt.Sprintf("%d:%d", p.FolderID.Device, p.FolderID.Inode))
		}
	}
	for line := range strings.Lines(r.Diff) {
		if strings.HasPrefix(line, "\\") || strings.HasPrefix(line, "(") {
			continue // a remark, in the question's language: see TestDiffRemarks
		}
		list = append(list, escapeDiff(strings.TrimSuffix(line, "\n")))
	}
	if r.Changes > 0 {
		list = append(list, groups(int64(r.Changes)))
	}
	for line := range strings.Lines(r.Script) {
		list = append(list, escapeDiff(strings.TrimSuffix(line, "\n")))
	}
	for _, name := range r.Deletes {
		list = append(list, Escape(name))
	}
	if c := r.Command; c != nil {
		for line := range strings.Lines(c.Text + "\n" + c.Runs) {
			list = append(list, escapeDiff(strings.TrimSuffix(line, "\n")))
		}
		list = append(list, Escape(c.Shell))
		for _, l := range [][]string{c.Env, c.Inherits, c.Deletes} {
			for _, text := range l {
				list = append(list, Escape(text))
			}
		}
		for _, f := range c.Files {
			list = append(list, Escape(f.Path), Escape(f.Real), f.SHA256, fmt.Sprintf("%d:%d", f.ID.Device, f.ID.Inode))
		}
		if rule := c.Rule; rule != nil {
			if list = append(list, Escape(rule.Program), Escape(rule.Script)); rule.Script != "" {
				list = append(list, quote(Escape(rule.Script)))
			}
		}
	}
	if s := r.Switch; s != nil {
		list = append(list, Escape(s.Client), Escape(s.Name))
	}
	if s := r.Setting; s != nil {
		list = append(list, Escape(s.Name))
		for _, value := range []string{s.Was, s.Now} {
			if filepath.IsAbs(value) {
				list = append(list, Escape(value))
			}
		}
		if s.FolderID != (grant.ID{}) {
			list = append(list, fmt.Sprintf("%d:%d", s.FolderID.Device, s.FolderID.Inode))
		}
	}
	if p := r.Policy; p != nil {
		list = append(list, Escape(p.File), p.SHA256)
	}
	if u := r.Undo; u != nil {
		for _, path := range slices.Concat(u.Back, u.Old, u.Gone) {
			list = append(list, Escape(path))
		}
		for _, l := range u.Left {
			list = append(list, Escape(l.Path))
		}
		for line := range strings.Lines(u.Diff) {
			if strings.HasPrefix(line, "\\") || strings.HasPrefix(line, "(") {
				continue // a remark, in the question's language: see TestDiffRemarks
			}
			list = append(list, escapeDiff(strings.TrimSuffix(line, "\n")))
		}
		list = append(list, u.Change, u.Time.Format("2006-01-02 15:04"), Escape(u.Client), Escape(u.Tool), Escape(u.Text), Escape(u.Folder))
		for _, n := range []int{u.More, u.LeftMore} {
			if n > 0 {
				list = append(list, fmt.Sprint(n))
			}
		}
	}
	if r.Commits > 0 {
		list = append(list, groups(int64(r.Commits)))
	}
	if r.Kind == approval.EditFolder || r.Kind == approval.EditCopies || r.Kind == approval.LookFolder || r.Kind == approval.JoinFolder ||
		r.Kind == approval.SearchFolders {
		list = append(list, groups(r.Bytes))
	}
	if r.Who.PID != 0 {
		list = append(list, fmt.Sprint(r.Who.PID))
	}
	if !r.Makes && !pastes(r) && r.Policy == nil && r.Undo == nil && r.Switch == nil && r.Setting == nil && r.Pairing == nil {
		list = append(list, fmt.Sprintf("%d:%d", r.FolderID.Device, r.FolderID.Inode))
	}
	if r.Files > 0 {
		list = append(list, groups(int64(r.Files)))
	}
	reason, _ := cut(r.Reason, approval.MaxReason)
	return append(list, escapeProse(reason))
}

// A field that is added to a request must be shown too: whoever adds one comes by here.
func TestEveryFieldIsShown(t *testing.T) {
	for typ, want := range map[reflect.Type]int{
		reflect.TypeFor[approval.Request](): 35,
		reflect.TypeFor[approval.Command](): 10,
		reflect.TypeFor[approval.Switch]():  4,
		reflect.TypeFor[approval.Setting](): 4,
		reflect.TypeFor[approval.Rule]():    2,
		reflect.TypeFor[approval.Policy]():  3,
		reflect.TypeFor[approval.Undo]():    14,
		reflect.TypeFor[approval.Left]():    2,
		reflect.TypeFor[approval.Pairing](): 8,
		reflect.TypeFor[approval.File]():    5,
		reflect.TypeFor[approval.Place]():   4,
		reflect.TypeFor[client.Identity]():  6,
		reflect.TypeFor[grant.ID]():         2,
	} {
		if got := typ.NumField(); got != want {
			t.Errorf("%v has %d fields, %d are shown: say the new ones in NewQuestion and in bound", typ, got, want)
		}
	}
}

func change(r approval.Request, f func(*approval.Request)) approval.Request {
	f(&r)
	return r
}

func TestNoQuestion(t *testing.T) {
	good := NewWords("en")
	for _, c := range []struct {
		name  string
		r     approval.Request
		words Words
	}{
		{"the zero request", approval.Request{}, good},
		{"no language", request(approval.EditFolder, nil), Words{}},
		{"unknown kind", request("launch_rocket", nil), good},
		{"no kind", request("", nil), good},
		{"no tool", request(approval.EditFolder, func(r *approval.Request) { r.Tool = "" }), good},
		{"no session", request(approval.EditFolder, func(r *approval.Request) { r.Session = "" }), good},
		{"no client", request(approval.EditFolder, func(r *approval.Request) { r.Who.ID = "" }), good},
		{"no folder", request(approval.EditFolder, func(r *approval.Request) { r.Folder = "" }), good},
		{"relative folder", request(approval.LookFolder, func(r *approval.Request) { r.Folder = "a" }), good},
		{"no file", request(approval.Protected, nil), good},
		{"reading what isn't there", request(approval.LookFolder, func(r *approval.Request) { r.Makes = true }), good},
		{"no host", request(approval.Network, nil), good},
		{"no host to sign in to", request(approval.GitSignIn, nil), good},
		{"deletes without a script", request(approval.Delete, func(r *approval.Request) { r.Deletes = []string{"a"} }), good},
		{"deletes nothing", request(approval.Delete, func(r *approval.Request) { r.Script = "rm a" }), good},
		{"a script for another question", request(approval.EditFolder, func(r *approval.Request) { r.Script = "rm a" }), good},
		{"push of nothing", request(approval.GitPush, nil), good},
		{"push to no branch", request(approval.GitPush, func(r *approval.Request) { push(r); r.Branch = "" }), good},
		{"push of no commit", request(approval.GitPush, func(r *approval.Request) { push(r); r.Commit = "" }), good},
		{"more subjects than commits", request(approval.GitPush, func(r *approval.Request) { push(r); r.Subjects = []string{"a"} }), good},
		{"patch of nothing", request(approval.Patch, nil), good},
		{"patch of no files", request(approval.Patch, func(r *approval.Request) { patch(r); r.Changes = 0 }), good},
		{"patch in a relative folder", request(approval.Patch, func(r *approval.Request) { patch(r); r.Also = []approval.Place{{Folder: "a"}} }), good},
		{"folders of another question", request(approval.EditFolder, func(r *approval.Request) { r.Also = []approval.Place{{Folder: "/a"}} }), good},
		{"a file where folders are searched", request(approval.SearchFolders, func(r *approval.Request) { searched(r); r.File = true }), good},
		{"searching one more file", request(approval.SearchFolders, func(r *approval.Request) { searched(r); r.Also = []approval.Place{{Folder: "/a", File: true}} }), good},
		{"searching a folder to be made", request(approval.SearchFolders, func(r *approval.Request) { searched(r); r.Also = []approval.Place{{Folder: "/a", Makes: true}} }), good},
		{"searching a relative folder", request(approval.SearchFolders, func(r *approval.Request) { searched(r); r.Also = []approval.Place{{Folder: "a"}} }), good},
		{"searching no folder", request(approval.SearchFolders, func(r *approval.Request) { searched(r); r.Folder = "" }), good},
		{"a diff that is too long", request(approval.Patch, func(r *approval.Request) { patch(r); r.Diff = strings.Repeat("+a\n", approval.MaxDiff/3+1) }), good},
		{"no command", request(approval.Exec, nil), good},
		{"a command of another question", request(approval.EditFolder, func(r *approval.Request) { r.Command = &approval.Command{Text: "a", Runs: "a"} }), good},
		{"an empty command", request(approval.Exec, func(r *approval.Request) { r.Command = &approval.Command{Text: "a"} }), good},
		{"a command that is too long", request(approval.Exec, func(r *approval.Request) {
			r.Command = &approval.Command{Text: "a", Runs: strings.Repeat("a", approval.MaxCommand+1)}
		}), good},
		{"too many reasons", request(approval.Exec, func(r *approval.Request) {
			r.Command = &approval.Command{Text: "a", Runs: "a", Why: make([]string, approval.MaxListed+1)}
		}), good},
		{"a rule for nothing", request(approval.Exec, func(r *approval.Request) { r.Command = &approval.Command{Text: "a", Runs: "a", Rule: &approval.Rule{}} }), good},
		{"a rule for what deletes", request(approval.Exec, func(r *approval.Request) {
			r.Command = &approval.Command{Text: "a", Runs: "a", Deletes: []string{"a"}, Rule: &approval.Rule{Program: "/bin/a"}}
		}), good},
		{"a policy without a file", change(widened, func(r *approval.Request) { r.Policy = &approval.Policy{Wider: []string{"a"}} }), good},
		{"an undo of nothing", change(undone, func(r *approval.Request) { r.Undo = &approval.Undo{Change: "x", Time: noon, Folder: "/a"} }), good},
		{"no undo", change(undone, func(r *approval.Request) { r.Undo = nil }), good},
		{"an undo with too much to show", change(undone, func(r *approval.Request) {
			u := *r.Undo
			r.Undo, u.Diff = &u, strings.Repeat("x", approval.MaxDiff+1)
		}), good},
		{"an undo of a relative path", change(undone, func(r *approval.Request) {
			u := *r.Undo
			r.Undo, u.Gone = &u, []string{"a"}
		}), good},
		{"an undo that a client asks", change(undone, func(r *approval.Request) { r.Who = claude }), good},
		{"an undo with another question", request(approval.EditFolder, func(r *approval.Request) { r.Undo = undone.Undo }), good},
		{"no policy", change(widened, func(r *approval.Request) { r.Policy = nil }), good},
		{"a policy that allows nothing more", change(widened, func(r *approval.Request) { r.Policy = &approval.Policy{File: "/a", SHA256: "0a"} }), good},
		{"a policy that allows too much to show", change(widened, func(r *approval.Request) {
			r.Policy = &approval.Policy{File: "/a", SHA256: "0a", Wider: make([]string, approval.MaxListed+1)}
		}), good},
		{"a policy asked for by a client", change(widened, func(r *approval.Request) { r.Who = claude }), good},
		{"a policy and a folder", change(widened, func(r *approval.Request) { r.Folder = "/a" }), good},
		{"a policy with another question", request(approval.EditFolder, func(r *approval.Request) { r.Policy = widened.Policy }), good},
		{"a rule outside the sandbox", request(approval.Outside, func(r *approval.Request) {
			r.Command = &approval.Command{Text: "a", Runs: "a", Rule: &approval.Rule{Program: "/bin/a"}}
		}), good},
		{"no command outside the sandbox", request(approval.Outside, nil), good},
		{"no switch", approval.Request{Kind: approval.TurnOn}, good},
		{"a switch that there isn't", turnOn("http:a", "everything", "a"), good},
		{"a switch for nobody", turnOn("", "docker", "a"), good},
		{"a switch that opens nothing", turnOn("http:a", "docker", ""), good},
		{"a switch asked for by a client", change(turnOn("http:a", "docker", "a"), func(r *approval.Request) { r.Who = claude }), good},
		{"a switch with a reason", change(turnOn("http:a", "docker", "a"), func(r *approval.Request) { r.Reason = "please" }), good},
		{"a switch with another question", request(approval.EditFolder, func(r *approval.Request) { r.Switch = turnOn("http:a", "docker", "a").Switch }), good},
		{"a switch and a policy", change(widened, func(r *approval.Request) { r.Switch = turnOn("http:a", "docker", "a").Switch }), good},
		{"a switch that can't be shown whole", turnOn("http:"+strings.Repeat("a", approval.MaxCommand), "docker", "a"), good},
		{"no assistant", change(connects(nil), func(r *approval.Request) { r.Pairing = nil }), good},
		{"an assistant of no level", connects(func(p *approval.Pairing) { p.Level = "none" }), good},
		{"an assistant that is trusted", connects(func(p *approval.Pairing) { p.Level = "trusted" }), good},
		{"an assistant without a challenge", connects(func(p *approval.Pairing) { p.Challenge = "" }), good},
		{"an answer that goes nowhere", connects(func(p *approval.Pairing) { p.Redirect = "" }), good},
		{"an answer to an app", connects(func(p *approval.Pairing) { p.Redirect = "app://callback" }), good},
		{"an assistant and a folder", change(connects(nil), func(r *approval.Request) { r.Folder = "/a" }), good},
		{"an assistant asked for by a client", change(connects(nil), func(r *approval.Request) { r.Who = claude }), good},
		{"a token without a name", carries(func(p *approval.Pairing) { p.Name = "" }), good},
		{"a token of another level", carries(func(p *approval.Pairing) { p.Level = "trusted" }), good},
		{"a token that goes somewhere", carries(func(p *approval.Pairing) { p.Redirect = "http://localhost:1/" }), good},
		{"a token for nobody", change(carries(nil), func(r *approval.Request) { r.Pairing = nil }), good},
		{"a token with another question", change(carries(nil), func(r *approval.Request) { r.Folder = "/home/ann" }), good},
		{"an assistant with another question", request(approval.EditFolder, func(r *approval.Request) { r.Pairing = connects(nil).Pairing }), good},
		{"negative count", request(approval.EditFolder, func(r *approval.Request) { r.Files = -1 }), good},
	} {
		if q, err := NewQuestion(c.r, c.words); err == nil {
			t.Errorf("%s: asked %q", c.name, q.String())
		}
	}
}

func TestNewWords(t *testing.T) {
	for _, c := range []struct {
		wanted []string
		want   string
	}{
		{nil, "en"},
		{[]string{"", "C", "POSIX"}, "en"},
		{[]string{"th_TH.UTF-8"}, "th"},
		{[]string{"th"}, "th"},
		{[]string{"de_DE.UTF-8", "th-TH"}, "th"},
		{[]string{"en_GB.UTF-8", "th"}, "en"},
		{[]string{"ja"}, "en"},
		{[]string{"not a language"}, "en"},
	} {
		if got := NewWords(c.wanted...).Language(); got != c.want {
			t.Errorf("%q gives %s, want %s", c.wanted, got, c.want)
		}
	}
}

func TestSize(t *testing.T) {
	w := NewWords("en")
	for n, want := range map[int64]string{
		0: "0 bytes", 1: "1 byte", 999: "999 bytes", 1000: "1.0 KB", 1999: "1.9 KB", 999_999: "999.9 KB", 1_000_000: "1.0 MB",
		1_234_567_890: "1.2 GB", 5_000_000_000_000: "5.0 TB", 1<<63 - 1: "9,223,372.0 TB",
	} {
		if got := w.size(n); got != want {
			t.Errorf("size(%d) = %q, want %q", n, got, want)
		}
	}
}
