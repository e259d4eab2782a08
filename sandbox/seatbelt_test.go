package sandbox

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"handrail/sandbox/sbpl"
)

var update = flag.Bool("update", false, "write the golden files anew")

// mac is a Mac that exists nowhere.
var mac = Machine{
	System: "darwin", Home: "/Users/anna", State: "/Users/anna/Library/Application Support/Handrail", Workspace: "/Users/anna/Handrail",
	Temp: "/private/var/folders/zz/T/handrail-1", Caches: "/Users/anna/Library/Caches/Handrail/1", Ports: []int{7437, 7438},
	Path: []string{"/opt/homebrew/bin", "/usr/bin", "/bin", "/Users/anna/.cargo/bin", "/Users/anna/bin"}, Executable: "/Applications/Handrail.app/Contents/MacOS/handrail",
	Secrets: []string{"/Users/anna/Handrail/notes/private.txt"}, Obeyed: []string{"/Users/anna/Handrail/site/dot/zshrc"}, Developer: "/Library/Developer/CommandLineTools",
	SSHAgent: "/private/tmp/com.apple.launchd.x/Listeners", Docker: "/Users/anna/.docker/run/docker.sock",
}

func at(path string) Place { return Place{Path: path, Device: 1, Inode: 2} }

func inRooms(m Machine, rooms string) Machine {
	m.Rooms = rooms
	return m
}

var macPolicies = []struct {
	name   string
	policy Policy
}{
	{"guarded", Guarded(mac)},
	{"granted", Guarded(mac).AllowRead(at("/Users/anna/Documents/taxes")).AllowWrite(at("/Users/anna/Handrail/site"), at("/Users/anna/Handrail/notes"),
		Place{Path: "/Users/anna/Handrail/todo.txt", Device: 1, Inode: 3, File: true}).AllowProtected("/Users/anna/Handrail/site/.vscode/settings.json")},
	{"network", Guarded(mac).AllowWrite(at("/Users/anna/Handrail/site")).AllowNetwork()},
	{"permissions", Guarded(mac).AllowNetwork().AllowLoopback().AllowSSHAgent().AllowDocker().AllowBrowserTest().AllowXcode()},
	{"loopback", Guarded(mac).AllowLoopback()},
	{"readonly", ReadOnly(mac).AllowWrite(at("/Users/anna/Handrail/site"))},
	{"repositories", Guarded(mac).AllowRepositories().AllowNetwork()},
	{"classic", Classic(mac)},
	{"home", Guarded(inRooms(mac, "/Users/anna/Library/Caches/Handrail")).AllowRead(at("/Users/anna"), at("/Users/anna/Library/Caches/Handrail/1-work")).AllowWrite(at("/Users/anna/Handrail/site"))},
	{"look", ReadOnly(mac).CloseSensitive().AllowSpotlight().AllowRead(at("/Users/anna/Documents/taxes"))},
}

func parse(t testing.TB, p Policy) *sbpl.Profile {
	t.Helper()
	text, params, err := p.SBPL()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, param := range params {
		if old, ok := values[param.Name]; ok {
			t.Fatalf("two values for %s: %q, %q", param.Name, old, param.Value)
		}
		values[param.Name] = param.Value
	}
	profile, err := sbpl.Parse(text, values)
	if err != nil {
		t.Fatal(err)
	}
	return profile
}

func TestSBPLGolden(t *testing.T) {
	for _, c := range macPolicies {
		t.Run(c.name, func(t *testing.T) {
			text, params, err := c.policy.SBPL()
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range params {
				text += fmt.Sprintf("; -D %s=%s\n", p.Name, p.Value)
			}
			if c.name == "network" || c.name == "loopback" || c.name == "repositories" {
				return // parts of "permissions"
			}
			file := filepath.Join("testdata", c.name+".sb")
			if *update {
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if text != string(want) {
				t.Errorf("%s differs; run the test with -update and read the change", file)
			}
			for i, line := range strings.Split(text, "\n") {
				for n, str := range strings.Split(line, `"`) {
					if n%2 == 1 && len(str) > 255 {
						t.Errorf("line %d has a string of %d bytes", i+1, len(str))
					}
				}
			}
			for _, c := range strings.Split(text, "; -D ")[0] {
				if c > '~' || c < ' ' && c != '\n' {
					t.Fatalf("the character %q stands in the text", c)
				}
			}
			if strings.Contains(strings.Split(text, "; -D ")[0], "anna") {
				t.Error("a path of the computer stands in the text")
			}
		})
	}
}

func request(op, path string) sbpl.Request { return sbpl.Request{Op: op, Path: path} }

// What Seatbelt calls the operations. Reading is also asked for as running.
var allSeatbeltOps = map[Op][]string{
	Read:       {"file-read-data", "file-read-metadata", "file-map-executable", "process-exec"},
	Write:      {"file-write-data"},
	Create:     {"file-write-create"},
	Delete:     {"file-write-unlink"},
	Attributes: {"file-write-mode", "file-write-times", "file-write-owner", "file-write-xattr", "file-write-flags"},
}

var macPaths = []string{
	"/Users/anna/Handrail/site/dot", "/Users/anna/Handrail/site/dot/zshrc", "/Users/anna/Handrail/site/dot/zshrc/x", "/Users/anna/Handrail/site/dot/zshrc.bak", "/Users/anna/Handrail/site/dot/other",
	"/", "/Users", "/Users/anna", "/Users/anna/Documents/letter.txt", "/Users/anna/Documents/taxes/2024.pdf", "/Users/anna/Documents/taxes",
	"/Users/anna/Handrail", "/Users/anna/Handrail/x", "/Users/anna/Handrail/site", "/Users/anna/Handrail/site/index.html", "/Users/anna/Handrail/site2/index.html",
	"/Users/anna/Handrail/todo.txt", "/Users/anna/Handrail/todo.txt/x", "/Users/anna/Handrail/notes/private.txt", "/Users/anna/Handrail/notes", "/Users/anna/Handrail/notes/a",
	"/Users/anna/Handrail/site/.git", "/Users/anna/Handrail/site/.git/HEAD", "/Users/anna/Handrail/site/.git/config", "/Users/anna/Handrail/site/.git/config.lock",
	"/Users/anna/Handrail/site/.git/hooks", "/Users/anna/Handrail/site/.git/hooks/pre-commit", "/Users/anna/Handrail/site/.git/hooks/pre-commit.sample",
	"/Users/anna/Handrail/site/.git/refs/heads/config", "/Users/anna/Handrail/site/.git/refs/heads/hooks", "/Users/anna/Handrail/site/.git/modules/a/config", "/Users/anna/Handrail/site/.git/modules/a/hooks/x",
	"/Users/anna/Handrail/site/.git/modules/a/HEAD", "/Users/anna/Handrail/site/.git/modules", "/Users/anna/Handrail/site/.git/modules/a", "/Users/anna/Handrail/site/.git/worktrees/w", "/Users/anna/Handrail/site/.git/objects/ab/cd", "/Users/anna/Handrail/site/.git/refs/heads/.vscode", "/Users/anna/Handrail/site/.git/worktrees/w/commondir",
	"/Users/anna/Handrail/site/bare.git/config", "/Users/anna/Handrail/site/bare.git/HEAD", "/Users/anna/Handrail/site/bare.git",
	"/Users/anna/Handrail/site/.GIT/Config", "/Users/anna/Handrail/site/.git/Hooks/x", "/Users/anna/Handrail/site/deep/er/.git/config",
	"/Users/anna/Handrail/site/.vscode", "/Users/anna/Handrail/site/.vscode/settings.json", "/Users/anna/Handrail/site/.vscode/tasks.json", "/Users/anna/Handrail/site/.vscodex", "/Users/anna/Handrail/site/x.vscode",
	"/Users/anna/Handrail/site/.bashrc", "/Users/anna/Handrail/site/.BashRC", "/Users/anna/Handrail/site/.ba\u017fhrc", "/Users/anna/Handrail/site/.gitcon\ufb01g", "/Users/anna/Handrail/site/.\u212ashrc", "/Users/anna/Handrail/site/opencode.j\u017fon", "/Users/anna/Handrail/site/.git/hoo\u212as/x", "/Users/anna/Handrail/site/.claude/\u017fkills/x",
	"/Users/anna/Handrail/site/\u0e01.txt", "/Users/anna/Handrail/site/opencode.txt", "/Users/anna/Handrail/site/.git/refs/heads/\u0e01",
	"/Users/anna/Handrail/site/.claude", "/Users/anna/Handrail/site/.claude/commands/x", "/Users/anna/Handrail/site/.claude/settings.local.json", "/Users/anna/Handrail/site/.claude/other",
	"/Users/anna/Handrail/site/commondir", "/Users/anna/Handrail/site/x/commondir/y", "/Users/anna/Handrail/site/.mcp.json", "/Users/anna/Handrail/site/opencode.json", "/Users/anna/Handrail/site/.envrc",
	"/Users/anna/Handrail/site/HEAD", "/Users/anna/Handrail/site/x/Head", "/Users/anna/Handrail/site/HEAD/x", "/Users/anna/Handrail/site/HEADS", "/Users/anna/Handrail/site/.git/logs/HEAD", "/Users/anna/Handrail/site/.git/foo/HEAD",
	"/Users/anna/Handrail/site/.git/refs/remotes/origin/HEAD", "/Users/anna/Handrail/site/.git/logs/refs/HEAD", "/Users/anna/Handrail/site/.git/worktrees/w/HEAD", "/Users/anna/Handrail/site/.git/x/.git/HEAD", "/Users/anna/Handrail/site/.git/hooks/.git/HEAD",
	"/Users/anna/Handrail/site/.hg", "/Users/anna/Handrail/site/.hg/hgrc", "/Users/anna/Handrail/site/.HG/Hgrc", "/Users/anna/Handrail/site/.hg/store/data/x", "/Users/anna/Handrail/site/.hg/dirstate", "/Users/anna/Handrail/site/.hg/\u017fharedpath",
	"/Users/anna/Handrail/site/.jj", "/Users/anna/Handrail/site/.jj/repo", "/Users/anna/Handrail/site/.jj/repo/config.toml", "/Users/anna/Handrail/site/.jj/repo/op_store/x", "/Users/anna/Handrail/site/.jj/repo/store/git/hooks/x", "/Users/anna/Handrail/site/.jj/repo/store/git/objects/x",
	"/Users/anna/Handrail/site/_darcs/prefs", "/Users/anna/Handrail/site/_darcs/prefs/defaults", "/Users/anna/Handrail/site/_darc\u017f/prefs/defaults", "/Users/anna/Handrail/site/_darcs/patches/x", "/Users/anna/Handrail/site/mise.toml", "/Users/anna/Handrail/site/mi\u017fe.toml", "/Users/anna/Handrail/site/promise.toml",
	"/Users/anna/Handrail/site/.helix/config.toml", "/Users/anna/Handrail/site/x.code-workspace", "/Users/anna/Handrail/site/\u0e01.code-wor\u212a\u017fpace", "/Users/anna/Handrail/site/x.\u0e01.txt", "/Users/anna/Handrail/site/cru\u017fh.json", "/Users/anna/Handrail/site/crush.txt", "/Users/anna/Handrail/site/.claude/notes/\u0e01.md",
	"/Users/anna/.ssh/id_ed25519", "/Users/anna/.ssh", "/Users/anna/.zshrc", "/Users/anna/Library/Keychains/login.keychain-db", "/Users/anna/Library/Application Support/Handrail/tokens",
	"/Users/anna/Library/Application Support", "/Users/anna/Library/LaunchAgents/x.plist", "/Users/anna/.cargo/bin/rg", "/Users/anna/.cargo/credentials.toml", "/Users/anna/bin/x", "/Users/anna/.nvm/versions/node",
	"/System/Library/Frameworks/x", "/System/Volumes/Data/Users/anna/.ssh/id", "/System/Volumes/Data/Users/anna/Handrail/x", "/usr/bin/git", "/usr/local/bin/x", "/opt/homebrew/bin/rg", "/bin/sh",
	"/private/etc/hosts", "/private/etc/master.passwd", "/private/etc/ssh/ssh_host_rsa_key", "/private/var/root/x", "/private/tmp/x", "/Library/LaunchDaemons/x", "/Library/Fonts/x.ttf", "/Applications/Other.app",
	"/private/var/folders/zz/T/handrail-1", "/private/var/folders/zz/T/handrail-1/x", "/private/var/folders/zz/T/handrail-1/.git/config", "/private/var/folders/zz/T/handrail-2/x",
	"/Users/anna/Library/Caches/Handrail/1/npm/x", "/Users/anna/Library/Caches/other", "/Users/anna/Library/Caches/Handrail", "/Users/anna/Library/Caches/Handrail/2/npm/x", "/Users/anna/Library/Caches/Handrail/1-work/out.log", "/Users/anna/Library/Caches/Handrail/1-work2", "/Applications/Handrail.app/Contents/MacOS/handrail", "/dev/null", "/dev/zero", "/dev/disk0", "/dev/urandom",
	"/Volumes/Disk/x", "/Users/other/x",
	"/Users/anna/Handrail/.env", "/Users/anna/Handrail/a/.Env.local", "/Users/anna/Handrail/.env.example", "/Users/anna/Handrail/.env.local.sample", "/Users/anna/Handrail/.env.example/x", "/Users/anna/.env.example",
	"/Users/anna/Handrail/.environment", "/Users/anna/Handrail/x.env", "/Users/anna/Documents/taxes/ID_RSA", "/Users/anna/Documents/taxes/id_rsa.pub", "/Users/anna/Documents/taxes/keys.KDBX", "/Users/anna/Handrail/backup/.ssh/config",
	"/Users/anna/Handrail/backup/.config/gh/hosts.yml", "/Users/anna/Handrail/backup/.config/other", "/Users/anna/Handrail/backup/Library/Keychains/x", "/Users/anna/Handrail/Login Data", "/System/Library/Preferences/x", "/usr/share/doc/secrets.json",
}

// The printed profile and Decide must agree, under both precedences. What Seatbelt can't say, or Decide doesn't, stands here.
func TestSBPLAgreesWithDecide(t *testing.T) {
	n := 0
	for _, c := range macPolicies {
		profile := parse(t, c.policy)
		for _, path := range macPaths {
			for op := Read; op <= Attributes; op++ {
				want := c.policy.Decide(op, path)
				for _, name := range allSeatbeltOps[op] {
					got, rule, err := profile.Decide(sbpl.Request{Op: name, Path: path})
					if err != nil {
						t.Errorf("%s: %v", c.name, err)
						continue
					}
					n++
					switch {
					case name == "file-read-metadata" && got && !want.Allowed:
						continue // folders on the way may be looked up
					case c.name == "classic" && strings.HasPrefix(path, "/dev/"):
						continue // Decide, which has no kernel around it, knows fewer devices
					case path == "/" && op == Read:
						continue // the dynamic linker lists it
					case strings.HasPrefix(path, "/dev/") && (name == "file-map-executable" || name == "process-exec" || op != Write && op != Read):
						continue // devices are opened, nothing else
					}
					if got != want.Allowed {
						t.Errorf("%s: %s %s: the profile says %v (%v), Decide %v (%s)", c.name, name, path, got, rule, want.Allowed, want.Rule)
					}
				}
			}
		}
	}
	if n < 1000 {
		t.Fatalf("only %d answers were compared", n)
	}
	t.Logf("%d answers compared", n)
}

// protectedSamples are paths for every protected name.
func protectedSamples() []string {
	var paths []string
	paths = append(paths, protectedNames.list...)
	for _, end := range protectedEndings {
		paths = append(paths, "a"+end)
	}
	for folder, parts := range protectedParts {
		for _, part := range parts {
			paths = append(paths, folder+"/"+part)
		}
	}
	for _, name := range protectedInGit.list {
		paths = append(paths, ".git/"+name, "b.git/"+name)
	}
	paths = append(paths, "HEAD", "b.git/HEAD", "commondir", ".claude/settings.json")
	slices.Sort(paths)
	return paths
}

// Every protected name, as a file, as a folder, deeper and in capitals, is closed by the profile's text too.
func TestSBPLProtected(t *testing.T) {
	site := "/Users/anna/Handrail/site/"
	p := Guarded(mac).AllowWrite(at("/Users/anna/Handrail/site"))
	profile := parse(t, p)
	for _, name := range protectedSamples() {
		for _, path := range []string{site + name, site + "a/b/" + name, site + strings.ToUpper(name)} {
			for _, op := range []Op{Write, Create, Delete, Attributes} {
				if d := p.Decide(op, path); d.Allowed || d.Opens != OpensProtected {
					t.Errorf("%s %s: %+v", op, path, d)
				}
				if got, rule, err := profile.Decide(sbpl.Request{Op: op.Seatbelt(), Path: path, Kind: "REGULAR-FILE"}); got || err != nil {
					t.Errorf("%s %s: the profile allows it: %v, %v", op, path, rule, err)
				}
			}
		}
	}
	for way := range protectedWays() { // nothing prepared can be moved there, or away
		for _, op := range []string{"file-write-create", "file-write-unlink"} {
			if got, rule, err := profile.Decide(sbpl.Request{Op: op, Path: site + way, Kind: "DIRECTORY"}); got || err != nil {
				t.Errorf("%s %s: the profile allows it: %v, %v", op, way, rule, err)
			}
		}
	}
	for _, c := range []struct {
		op, path, kind string
		want           bool
	}{
		{"file-write-create", "head", "DIRECTORY", true}, {"file-write-create", "head", "REGULAR-FILE", false}, {"file-write-create", "HEAD", "SYMLINK", false},
		{"file-write-unlink", ".git/logs", "DIRECTORY", false}, {"file-write-unlink", ".git/modules/a/b", "DIRECTORY", false}, {"file-write-unlink", ".git/rebase-merge", "DIRECTORY", true},
		{"file-write-unlink", ".git/refs/heads/x", "DIRECTORY", true}, {"file-write-create", ".git/refs/heads/x/HEAD", "REGULAR-FILE", false},
	} {
		if got, rule, err := profile.Decide(sbpl.Request{Op: c.op, Path: site + c.path, Kind: c.kind}); got != c.want || err != nil {
			t.Errorf("%s %s (%s): %v (%v, %v), want %v", c.op, c.path, c.kind, got, rule, err, c.want)
		}
	}
}

func TestSBPLNetwork(t *testing.T) {
	for _, c := range []struct {
		policy string
		r      sbpl.Request
		want   bool
	}{
		{"guarded", sbpl.Request{Op: "network-outbound", Host: "192.0.2.1", Port: 443}, false},
		{"guarded", sbpl.Request{Op: "network-outbound", Host: "localhost", Port: 80}, false},
		{"guarded", sbpl.Request{Op: "network-bind", Host: "localhost", Port: 3000}, false},
		{"guarded", sbpl.Request{Op: "network-outbound", Path: "/private/var/run/mDNSResponder"}, false},
		{"guarded", sbpl.Request{Op: "network-outbound", Path: mac.Temp + "/s"}, true},
		{"guarded", sbpl.Request{Op: "network-outbound", Path: mac.Workspace + "/s"}, false},
		{"guarded", sbpl.Request{Op: "network-outbound", Path: mac.SSHAgent}, false},
		{"network", sbpl.Request{Op: "network-outbound", Host: "192.0.2.1", Port: 443}, true},
		{"network", sbpl.Request{Op: "network-outbound", Host: "192.0.2.1", Port: 7438}, false},
		{"network", sbpl.Request{Op: "network-outbound", Host: "localhost", Port: 80}, false},
		{"network", sbpl.Request{Op: "network-outbound", Host: "localhost", Port: 7438}, false},
		{"network", sbpl.Request{Op: "network-inbound", Host: "localhost", Port: 80}, false},
		{"network", sbpl.Request{Op: "network-outbound", Path: "/private/var/run/mDNSResponder"}, true},
		{"network", sbpl.Request{Op: "network-outbound", Path: "/var/run/docker.sock"}, false},
		{"network", sbpl.Request{Op: "mach-lookup", Name: "com.apple.SecurityServer"}, false},
		{"network", sbpl.Request{Op: "mach-lookup", Name: "com.apple.trustd.agent"}, true},
		{"guarded", sbpl.Request{Op: "mach-lookup", Name: "com.apple.trustd.agent"}, false},
		{"loopback", sbpl.Request{Op: "network-outbound", Host: "localhost", Port: 80}, true},
		{"loopback", sbpl.Request{Op: "network-outbound", Host: "192.0.2.1", Port: 80}, false},
		{"loopback", sbpl.Request{Op: "network-outbound", Host: "localhost", Port: 7438}, false},
		{"loopback", sbpl.Request{Op: "network-bind", Host: "localhost", Port: 3000}, true},
		{"permissions", sbpl.Request{Op: "network-outbound", Host: "localhost", Port: 80}, true},
		{"permissions", sbpl.Request{Op: "network-outbound", Host: "localhost", Port: 7438}, false},
		{"permissions", sbpl.Request{Op: "network-outbound", Path: mac.SSHAgent}, true},
		{"permissions", sbpl.Request{Op: "network-outbound", Path: mac.Docker}, true},
		{"permissions", sbpl.Request{Op: "network-outbound", Path: mac.SSHAgent + "x"}, false},
		{"readonly", sbpl.Request{Op: "network-outbound", Host: "192.0.2.1", Port: 443}, false},
		{"readonly", sbpl.Request{Op: "network-outbound", Path: mac.Temp + "/s"}, false},
		{"classic", sbpl.Request{Op: "network-outbound", Host: "192.0.2.1", Port: 443}, true},
		{"classic", sbpl.Request{Op: "network-outbound", Host: "localhost", Port: 7438}, false},
		{"classic", sbpl.Request{Op: "network-outbound", Path: mac.State + "/socket"}, false},
		// What opens a way out of a sandbox elsewhere.
		{"permissions", sbpl.Request{Op: "lsopen"}, false},
		{"permissions", sbpl.Request{Op: "appleevent-send", Name: "com.apple.finder"}, false},
		{"permissions", sbpl.Request{Op: "job-creation"}, false},
		{"permissions", sbpl.Request{Op: "mach-lookup", Name: "com.apple.pasteboard.1"}, false},
		{"permissions", sbpl.Request{Op: "mach-lookup", Name: "com.apple.securityd.xpc"}, false},
		{"permissions", sbpl.Request{Op: "mach-lookup", Name: "com.apple.windowserver.active"}, false},
		{"permissions", sbpl.Request{Op: "mach-lookup", Name: "com.apple.coreservices.launchservicesd"}, false},
		{"permissions", sbpl.Request{Op: "file-link", Path: mac.Workspace + "/x"}, false},
		{"guarded", sbpl.Request{Op: "signal", Outside: true}, false},
		{"guarded", sbpl.Request{Op: "signal"}, true},
		{"guarded", sbpl.Request{Op: "mach-priv-task-port", Outside: true}, false},
		{"guarded", sbpl.Request{Op: "file-read-data", Path: "/dev/ttys003"}, false},
		{"guarded", sbpl.Request{Op: "process-fork"}, true},
	} {
		var policy Policy
		for _, p := range macPolicies {
			if p.name == c.policy {
				policy = p.policy
			}
		}
		got, rule, err := parse(t, policy).Decide(c.r)
		if err != nil || got != c.want {
			t.Errorf("%s: %+v: %v (%v), %v; want %v", c.policy, c.r, got, rule, err, c.want)
		}
	}
}

// A second reader for the quoting: a Scheme in which the forms are procedures.
func TestSBPLReadByScheme(t *testing.T) {
	scheme, err := exec.LookPath("tinyscheme")
	if err != nil && runtime.GOOS == "darwin" {
		t.Skip("there is no tinyscheme here; the other reader has read every profile")
	}
	if err != nil {
		t.Fatal("tinyscheme is not installed: run make setup")
	}
	for _, c := range macPolicies {
		text, params, err := c.policy.SBPL()
		if err != nil {
			t.Fatal(err)
		}
		// Every word is a symbol, every list is quoted: what is counted is whether the text is well-formed Scheme.
		dir := t.TempDir()
		file := filepath.Join(dir, "profile.scm")
		var b strings.Builder
		b.WriteString("(define rules 0) (define params '())\n(define (param x) x)\n")
		for _, p := range params {
			fmt.Fprintf(&b, "(set! params (cons %q params))\n", p.Name)
		}
		b.WriteString("(macro (version form) 0) (macro (allow form) '(set! rules (+ rules 1))) (macro (deny form) '(set! rules (+ rules 1)))\n")
		b.WriteString(strings.ReplaceAll(text, `#"`, `"`)) // Apple's own notation for a raw string
		b.WriteString("\n(display rules)\n")
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(scheme, file).CombinedOutput()
		want := strings.Count(text, "\n(allow ") + strings.Count(text, "\n(deny ")
		if err != nil || strings.TrimSpace(string(out)) != fmt.Sprint(want) {
			t.Errorf("%s: tinyscheme reads %q (%v), want %d rules", c.name, out, err, want)
		}
	}
}

// No name can become a rule: whatever the folder is called, nothing outside it is opened, and the text stays the same.
func FuzzSBPLNames(f *testing.F) {
	for _, name := range []string{"site", `my "odd" (x)`, `a") (allow default) ("`, `a\`, "a;b", "a[b/c]d", `#"`, "ก ข", "a\nb", "..", "a/../..", "$(x)", "-D", "{0}", "\xff"} {
		f.Add(name)
	}
	number := regexp.MustCompile("_[0-9]+")
	shape := func(text string) string { // the rules, whatever the parameters' order
		lines := strings.Split(number.ReplaceAllString(text, "_"), "\n")
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	}
	mac := mac
	mac.Obeyed = nil // it would be open under one of the names alone
	plain, _, err := Guarded(mac).AllowWrite(at("/Users/anna/Handrail/site")).SBPL()
	if err != nil {
		f.Fatal(err)
	}
	none := parse(f, Guarded(mac))
	f.Fuzz(func(t *testing.T, name string) {
		place := at("/Users/anna/Handrail/" + name)
		p := Guarded(mac).AllowWrite(place)
		text, params, err := p.SBPL()
		if err != nil {
			return // refused
		}
		if !strings.Contains(name, "/") && place.Path != "/Users/anna/Handrail/notes" && shape(text) != shape(plain) {
			t.Fatalf("the name %q changed the rules", name)
		}
		values := map[string]string{}
		for _, param := range params {
			values[param.Name] = param.Value
		}
		profile, err := sbpl.Parse(text, values)
		if err != nil {
			t.Fatal(err)
		}
		// Outside the folder everything is as it is without the grant, and both precedences agree.
		for _, path := range macPaths {
			for _, op := range []string{"file-read-data", "process-exec", "file-write-data", "file-write-create", "file-write-unlink"} {
				r := sbpl.Request{Op: op, Path: path}
				allowed, rule, err := profile.Decide(r)
				if err != nil {
					t.Fatal(err)
				}
				if before, _, _ := none.Decide(r); allowed != before && !within(place.Path, path) {
					t.Fatalf("with a folder called %q, %s %s is %v: %v", name, op, path, allowed, rule)
				}
			}
		}
	})
}
