package sandboxtest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"handrail/sandbox"
	"handrail/sandbox/sbpl"
)

// settings are the profiles and grants of the grid's columns.
var settings = []struct {
	name   string
	policy func(b *Bench) sandbox.Policy
}{
	{"guarded", func(b *Bench) sandbox.Policy { return sandbox.Guarded(b.Machine) }},
	{"look", func(b *Bench) sandbox.Policy {
		return sandbox.Guarded(b.Machine).AllowRead(b.Place(b.Machine.Home + "/Pictures"))
	}},
	{"edit", func(b *Bench) sandbox.Policy { return b.Guarded().AllowWrite(b.file("todo.txt")) }},
	{"outside", func(b *Bench) sandbox.Policy {
		return sandbox.Guarded(b.Machine).AllowWrite(b.Place(b.Machine.Home+"/Pictures"), b.Place(b.Outside))
	}},
	{"network", func(b *Bench) sandbox.Policy {
		return b.Guarded().AllowNetwork().AllowLoopback().AllowSSHAgent().AllowDocker().AllowBrowserTest().AllowXcode()
	}},
	{"readonly", func(b *Bench) sandbox.Policy {
		return sandbox.ReadOnly(b.Machine).AllowRead(b.Place(b.Machine.Home + "/Pictures")).AllowWrite(b.Place(b.Machine.Workspace + "/granted")).AllowNetwork()
	}},
	{"classic", func(b *Bench) sandbox.Policy { return sandbox.Classic(b.Machine) }},
}

// file is the place of a file that stands in the workspace itself.
func (b *Bench) file(name string) sandbox.Place {
	p := b.Place(b.Machine.Workspace)
	p.Path = filepath.Join(p.Path, name)
	p.File = true
	return p
}

// grid says which operations (read, write, create, delete, change attributes) are allowed on each class of path under each of
// the settings; "-" is none of them, and no cell is empty. A path is below the home folder, or below the bench's root after "/"; %s makes it another one for each attempt.
var grid = []struct {
	class string
	path  string
	want  [7]string // by settings
}{
	//                                                       guarded  look     edit     outside  network  readonly classic
	{"workspace", "work/a-%s.txt", [7]string{"r", "r", "r", "r", "r", "r", "rwca"}},
	{"folder without a grant", "work/other/%s/a.txt", [7]string{"r", "r", "r", "r", "r", "r", "rwca"}},
	{"granted", "work/granted/a-%s.txt", [7]string{"r", "r", "rwcda", "r", "rwcda", "r", "rwca"}},
	{"granted, deep", "work/granted/b/%s/c/d.txt", [7]string{"r", "r", "rwcda", "r", "rwcda", "r", "rwca"}},
	{"granted, odd name", "work/granted/it's \"odd\" (x) \\ %s\tก.txt", [7]string{"r", "r", "rwcda", "r", "rwcda", "r", "rwca"}},
	{"name that starts like the granted", "work/granted-%s/a.txt", [7]string{"r", "r", "r", "r", "r", "r", "rwca"}},
	{"folder looked at", "Pictures/a-%s.jpg", [7]string{"-", "r", "-", "rwcda", "-", "r", "rwcda"}},
	{"granted outside home", "/outside/a-%s.txt", [7]string{"-", "-", "-", "rwcda", "-", "-", "rwcda"}},
	{"home", "Music/a-%s.mp3", [7]string{"-", "-", "-", "-", "-", "-", "rwcda"}},
	{"documents", "Documents/a-%s.txt", [7]string{"-", "-", "-", "-", "-", "-", "r"}},
	{"secret", ".ssh/id-%s", [7]string{"-", "-", "-", "-", "-", "-", "-"}},
	{"secret of a client", ".claude/%s.json", [7]string{"-", "-", "-", "-", "-", "-", "-"}},
	{"own state", ".local/share/Handrail/%s", [7]string{"-", "-", "-", "-", "-", "-", "-"}},
	{"beside own state", ".local/share/other/%s", [7]string{"-", "-", "-", "-", "-", "-", "rwcda"}},
	{"secret in the workspace", "work/private/%s.txt", [7]string{"-", "-", "-", "-", "-", "-", "-"}},
	{"start-up files", ".config/fish/%s.fish", [7]string{"-", "-", "-", "-", "-", "-", "r"}},
	{"tools", "tools/lib/%s.so", [7]string{"r", "r", "r", "r", "r", "r", "rwcda"}},
	{"session's folder", "/temp/a-%s", [7]string{"rwcda", "rwcda", "rwcda", "rwcda", "rwcda", "r", "rwcda"}},
	{"caches", "/caches/%s/b", [7]string{"rwcda", "rwcda", "rwcda", "rwcda", "rwcda", "r", "rwcda"}},
	{"hook in the session's folder", "/temp/%s/.git/hooks/pre-commit", hookInTemp()},

	{"Git object", "work/granted/r/.git/objects/%s", [7]string{"r", "r", "rwcda", "r", "rwcda", "r", "rwca"}},
	{"Git branch called config", "work/granted/r%s/.git/refs/heads/config", [7]string{"r", "r", "rwcda", "r", "rwcda", "r", "rwca"}},
	{"Git config", "work/granted/r%s/.git/config", [7]string{"r", "r", "r", "r", "r", "r", "rwca"}},
	{"Git config, deep", "work/granted/x/y/z%s/.git/config", [7]string{"r", "r", "r", "r", "r", "r", "rwca"}},
	{"Git config, other case", "work/granted/r%s/.GIT/Config", [7]string{"r", "r", "r", "r", "r", "r", "rwca"}},
	{"Git hook", "work/granted/r/.git/hooks/h-%s", [7]string{"r", "r", "r", "r", "r", "r", "rwca"}},
	{"sample of a hook", "work/granted/r/.git/hooks/h-%s.sample", [7]string{"r", "r", "rwcda", "r", "rwcda", "r", "rwca"}},
	{"Git hook of a module", "work/granted/r/.git/modules/m/hooks/h-%s", [7]string{"r", "r", "r", "r", "r", "r", "rwca"}},
	{"Git config of a worktree", "work/granted/r/.git/worktrees/w%s/config.worktree", [7]string{"r", "r", "r", "r", "r", "r", "rwca"}},
	{"Git's common folder", "work/granted/c%s/commondir", [7]string{"r", "r", "r", "r", "r", "r", "rwca"}},
	{"Git pointer", "work/granted/w%s/.git", [7]string{"r", "r", "r", "r", "r", "r", "rwca"}},
	{"bare repository", "work/granted/b%s.git/config", [7]string{"r", "r", "r", "r", "r", "r", "rwca"}},
	{"editor's settings", "work/granted/.vscode/%s.json", [7]string{"r", "r", "r", "r", "r", "r", "rwca"}},
	{"editor's settings, deep", "work/granted/p/%s/.idea/x.xml", [7]string{"r", "r", "r", "r", "r", "r", "rwca"}},
	{"start-up file in a project", "work/granted/%s/.bashrc", [7]string{"r", "r", "r", "r", "r", "r", "rwca"}},
	{"start-up file, other case", "work/granted/%s/.ZshRC", [7]string{"r", "r", "r", "r", "r", "r", "rwca"}},
	{"assistant's commands", "work/granted/.claude/commands/%s.md", [7]string{"r", "r", "r", "r", "r", "r", "rwca"}},
	{"assistant's settings", "work/granted/%s/.mcp.json", [7]string{"r", "r", "r", "r", "r", "r", "rwca"}},
	{"assistant's other files", "work/granted/.claude/notes-%s.md", [7]string{"r", "r", "rwcda", "r", "rwcda", "r", "rwca"}},
	{"Mercurial's settings", "work/granted/%s/.hg/hgrc", [7]string{"r", "r", "r", "r", "r", "r", "rwca"}},
	{"Mercurial's store", "work/granted/h/.hg/store/%s", [7]string{"r", "r", "rwcda", "r", "rwcda", "r", "rwca"}},
	{"Jujutsu's settings", "work/granted/%s/.jj/repo/config.toml", [7]string{"r", "r", "r", "r", "r", "r", "rwca"}},
	{"workspace of an editor", "work/granted/a-%s.code-workspace", [7]string{"r", "r", "r", "r", "r", "r", "rwca"}},
	{"interpreter's start-up file", "work/granted/%s/.ghci", [7]string{"r", "r", "r", "r", "r", "r", "rwca"}},
	{"environment of a folder", "work/granted/%s/.envrc", [7]string{"r", "r", "r", "r", "r", "r", "rwca"}},
}

// hookInTemp is the one row that differs between systems: on macOS a folder could be moved from there into a granted one.
func hookInTemp() [7]string {
	if runtime.GOOS == "darwin" {
		return [7]string{"r", "r", "r", "r", "r", "r", "rwcda"}
	}
	return [7]string{"rwcda", "rwcda", "rwcda", "rwcda", "rwcda", "r", "rwcda"}
}

// letters are the operations of the grid's cells.
var letters = map[byte]sandbox.Op{'r': sandbox.Read, 'w': sandbox.Write, 'c': sandbox.Create, 'd': sandbox.Delete, 'a': sandbox.Attributes}

// Grid runs the whole grid. It reports how many attempts there were.
func Grid(t *testing.T) {
	for _, row := range grid {
		for column, cell := range row.want {
			if cell == "" || cell != "-" && strings.Trim(cell, "rwcda") != "" {
				t.Errorf("%s under %s: the cell %q says nothing", row.class, settings[column].name, cell)
			}
		}
	}
	total := 0
	for column, setting := range settings {
		t.Run(setting.name, func(t *testing.T) {
			b := NewBench(t)
			p := setting.policy(b)
			b.Require(p)
			profile := b.readBack(p)
			type expected struct {
				Attempt
				letter  byte
				class   string
				allowed bool
				before  string
			}
			var all []expected
			var attempts []Attempt
			for class, row := range grid {
				for letter, list := range routes {
					for n, r := range list {
						if r.name == "link" && runtime.GOOS == "darwin" {
							continue // no profile there allows links
						}
						path := b.path(fmt.Sprintf(row.path, fmt.Sprintf("%c%d", letter, n)))
						e := expected{Attempt{r.name, path, filepath.Join(filepath.Dir(path), fmt.Sprintf("beside-%c%d-%d%s", letter, n, class, filepath.Ext(path)))}, letter, row.class,
							strings.IndexByte(row.want[column], letter) >= 0, ""}
						b.File(e.Beside, "beside\n")
						if letter != 'c' {
							b.File(path, "before\n")
						}
						if (r.name == "replace" || r.name == "rename" || r.name == "rename away") && setting.name == "classic" {
							e.allowed = e.allowed && strings.Contains(row.want[column], "d") // renaming removes the old name too
						}
						all = append(all, e)
						attempts = append(attempts, e.Attempt)
					}
				}
			}
			for i := range all {
				all[i].before = state(all[i].Path)
			}
			results := b.Probe(p, attempts)
			how := map[string]map[string]int{} // by class: how often each error denied an attempt
			through := map[string]int{}
			for i, e := range all {
				got := results[i] == ""
				if !e.allowed {
					if how[e.class] == nil {
						how[e.class] = map[string]int{}
					}
					if how[e.class][results[i]]++; got {
						through[e.class]++
					}
				}
				if got != e.allowed {
					t.Errorf("%s (%s): %s: %q, want allowed %v", e.class, e.Path, e.Route, results[i], e.allowed)
				}
				if !e.allowed {
					if after := state(e.Path); after != e.before && e.letter != 'r' {
						t.Errorf("%s: %s was denied and changed %s from %s to %s", e.class, e.Route, e.Path, e.before, after)
					}
					switch results[i] {
					case "EPERM", "EACCES", "EROFS", "ENOENT", "": // ENOENT: it isn't shown
					case "EXDEV":
						if !strings.Contains(e.Route, "rename") && e.Route != "link" && e.Route != "replace" {
							t.Errorf("%s: %s failed with EXDEV", e.class, e.Route)
						}
					default:
						t.Errorf("%s: %s failed with %s: that is no denial", e.class, e.Route, results[i])
					}
				} else if after := state(e.Path); got && e.letter != 'r' && after == e.before && changes(e.Route) {
					t.Errorf("%s: %s said it was done, and %s is as before", e.class, e.Route, e.Path)
				}
			}
			cells := 0
			for _, row := range grid {
				if n := 0; how[row.class] != nil {
					var words []string
					for _, errno := range slices.Sorted(maps.Keys(how[row.class])) {
						words = append(words, fmt.Sprintf("%s %d", errno, how[row.class][errno]))
						n += how[row.class][errno]
					}
					triedSome(n, setting.name, row.class, through[row.class] == 0, fmt.Sprintf("%d ways (%s)", n, strings.Join(words, ", ")))
				}
				for letter, op := range letters {
					path := b.path(fmt.Sprintf(row.path, "x"))
					allowed := strings.IndexByte(row.want[column], letter) >= 0
					if d := p.Decide(op, path); d.Allowed != allowed {
						t.Errorf("%s: Decide says %+v for %s, want %v", row.class, d, op, allowed)
					}
					got, rule, err := profile.Decide(sbpl.Request{Op: op.Seatbelt(), Path: path})
					if row.class == "hook in the session's folder" && setting.name != "classic" {
						allowed = letter == 'r' // on macOS, where it could be moved from there
					}
					if err != nil || got != allowed {
						t.Errorf("%s: the profile says %v (%v, %v) for %s, want %v", row.class, got, rule, err, op, allowed)
					}
					cells++
				}
			}
			total += len(all)
			t.Logf("%d cells, %d attempts", cells, len(all))
		})
	}
	if total < 1000 {
		t.Errorf("only %d attempts were made", total)
	}
}

// changes reports whether a route, when it works, changes what state shows. Some only open.
func changes(route string) bool {
	switch route {
	case "truncate", "replace", "open truncating", "unlink", "unlink relative to a folder", "rename away", "mode", "mode relative to a folder", "mode by descriptor", "times", "times in microseconds":
		return true
	}
	for _, r := range routes['c'] {
		if r.name == route {
			return true
		}
	}
	return false
}

// state says what stands at a path.
func state(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return "nothing"
	}
	s := fmt.Sprintf("%v %v", info.Mode(), info.ModTime())
	if info.Mode().IsRegular() {
		text, err := os.ReadFile(path)
		s += fmt.Sprintf(" %q %v", text, err)
	}
	return s
}

func (b *Bench) path(rel string) string {
	if rel, ok := strings.CutPrefix(rel, "/"); ok {
		return filepath.Join(b.Root, rel)
	}
	return filepath.Join(b.Machine.Home, rel)
}

// readBack reads the policy's Seatbelt profile.
func (b *Bench) readBack(p sandbox.Policy) *sbpl.Profile {
	b.T.Helper()
	text, params, err := p.SBPL()
	if err != nil {
		b.T.Fatal(err)
	}
	values := map[string]string{}
	for _, param := range params {
		values[param.Name] = param.Value
	}
	profile, err := sbpl.Parse(text, values)
	if err != nil {
		b.T.Fatal(err)
	}
	return profile
}
