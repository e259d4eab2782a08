package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// rules say what a package must not import. "…/..." covers a package and all below it. deep looks at everything it needs,
// else only at what its own files name: app, tool and server reach the sandbox through others on purpose.
var rules = []struct {
	subject string
	not     []string
	deep    bool
	why     string
}{
	{"handrail", []string{"fyne.io/fyne/v2/..."}, true, "the resident process has no window toolkit"},
	{"handrail/app", []string{"fyne.io/fyne/v2/..."}, true, "windows are drawn by handrail-ui"},
	{"handrail/app", []string{"handrail/sandbox/...", "handrail/core/job", "handrail/core/command", "github.com/modelcontextprotocol/..."}, false, "app renders status and asks; it runs nothing"},
	{"handrail/core/...", []string{"handrail/app/...", "fyne.io/...", "github.com/progrium/darwinkit/...", "github.com/keybase/go-keychain/..."}, true, "the core has no display"},
	{"handrail/core/client", []string{"handrail/core/grant", "handrail/core/approval", "github.com/modelcontextprotocol/..."}, true, "who calls says nothing of what is allowed"},
	{"handrail/core/grant", []string{"handrail/core/approval", "handrail/core/job", "os/exec"}, true, "a grant is data"},
	{"handrail/core/approval", []string{"handrail/sandbox/...", "handrail/core/job"}, true, "asking runs nothing"},
	{"handrail/core/command", []string{"os/exec", "handrail/sandbox/...", "handrail/core/job"}, true, "reading a script never runs one"},
	{"handrail/core/edit", []string{"os/exec", "handrail/core/approval", "handrail/sandbox/..."}, true, "edits are handed an opened folder and a decision"},
	{"handrail/core/assistant", []string{"os/exec", "handrail/core/approval", "handrail/core/client", "handrail/core/grant", "handrail/core/job", "handrail/core/tool", "handrail/sandbox/...", "github.com/modelcontextprotocol/..."}, true, "it changes settings and runs nothing"},
	{"handrail/core/setting", []string{"os/exec", "handrail/core/approval", "handrail/core/client", "handrail/core/grant", "handrail/core/job", "handrail/core/tool", "handrail/sandbox/...", "github.com/modelcontextprotocol/..."}, true, "a setting is a name and a value"},
	{"handrail/core/broker", []string{"handrail/core/approval", "handrail/core/grant", "handrail/core/job", "handrail/sandbox/...", "github.com/modelcontextprotocol/..."}, true, "an errand is told that it may be run"},
	{"handrail/core/job", []string{"handrail/core/approval", "handrail/core/tool", "handrail/core/grant", "github.com/modelcontextprotocol/..."}, true, "a job is told its policy"},
	{"handrail/core/search", []string{"handrail/core/approval", "handrail/core/grant", "handrail/core/job", "handrail/core/tool", "handrail/sandbox/..."}, true, "the index is told what may be read"},
	{"handrail/core/search/document", []string{"handrail/..."}, true, "a leaf: it runs in a sandbox"},
	{"handrail/core/audit", []string{"handrail/..."}, true, "a leaf"},
	{"handrail/core/credential", []string{"handrail/..."}, true, "a leaf"},
	{"handrail/core/hint", []string{"handrail/..."}, true, "a leaf"},
	{"handrail/core/statefile", []string{"handrail/..."}, true, "a leaf"},
	{"handrail/core/release", []string{"handrail/app/...", "handrail/core/client", "handrail/core/grant", "handrail/core/audit", "handrail/sandbox/...", "os/exec"}, true, "it learns of versions, and tells"},
	{"handrail/core/program", []string{"handrail/app/...", "handrail/core/assistant", "handrail/core/client", "handrail/core/grant", "handrail/sandbox/..."}, true, "it knows a path and a volume"},
	{"handrail/core/pairing", []string{"handrail/core/tool", "handrail/core/job", "handrail/core/edit", "handrail/core/server", "handrail/sandbox/...", "os/exec", "github.com/modelcontextprotocol/..."}, true, "pairing asks who may come in, and does nothing for who is in"},
	{"handrail/core/server", []string{"handrail/core/job", "handrail/core/grant", "handrail/core/edit", "handrail/core/pairing", "handrail/sandbox/..."}, false, "the endpoint carries calls and judges none"},
	{"handrail/sandbox/...", []string{"handrail/core/...", "handrail/app/...", "handrail/assets", "fyne.io/...", "github.com/modelcontextprotocol/..."}, true, "the sandbox knows nothing of clients and tools"},
	{"handrail/assets", []string{"handrail/...", "fyne.io/..."}, true, "bytes only"},
}

// onlySandboxUser names the packages that may import the sandbox's runner: job starts commands; the gate and the host make
// policies; main hands over to the launcher.
var onlySandboxUser = []string{"handrail", "handrail/core", "handrail/core/job", "handrail/core/tool"}

// fewest is how many packages of the project there are at least: a rule that checks nothing must not pass.
const fewest = 16

type listed struct {
	ImportPath, Doc string
	Imports, Deps   []string
	Standard        bool
	Error           *struct{ Err string }
}

func TestImports(t *testing.T) {
	for _, system := range []string{"darwin", "linux"} {
		t.Run(system, func(t *testing.T) {
			packages := list(t, system)
			if len(packages) < fewest {
				t.Fatalf("only %d packages were listed", len(packages))
			}
			for _, p := range packages {
				if p.Doc == "" {
					t.Errorf("%s has no doc comment", p.ImportPath)
				}
				if slices.Contains(p.Imports, "handrail/sandbox") && !slices.Contains(onlySandboxUser, p.ImportPath) && !covers("handrail/sandbox/...", p.ImportPath) {
					t.Errorf("%s imports handrail/sandbox", p.ImportPath)
				}
				if p.ImportPath != "handrail/app/ui" && !strings.HasPrefix(p.ImportPath, "handrail/app/ui/") {
					for _, i := range p.Imports {
						if covers("fyne.io/fyne/v2/...", i) {
							t.Errorf("%s imports %s: only app/ui draws windows", p.ImportPath, i)
						}
					}
				}
			}
			for _, r := range rules {
				subjects := 0
				for _, p := range packages {
					if !covers(r.subject, p.ImportPath) {
						continue
					}
					subjects++
					imports := p.Imports
					if r.deep {
						imports = p.Deps
					}
					for _, i := range imports {
						for _, not := range r.not {
							if covers(not, i) && i != p.ImportPath {
								t.Errorf("%s must not import %s: %s", p.ImportPath, i, r.why)
							}
						}
					}
				}
				if subjects == 0 {
					t.Errorf("no package %s: was it renamed?", r.subject)
				}
			}
		})
	}
}

// covers reports whether pattern, a package or "a package/...", names path.
func covers(pattern, path string) bool {
	if tree, ok := strings.CutSuffix(pattern, "/..."); ok {
		return path == tree || strings.HasPrefix(path, tree+"/")
	}
	return path == pattern
}

// list asks the go command for the project's packages as they would be built for a system, without a compiler for it.
func list(t *testing.T, system string) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-tags", "no_emoji,x11", "-json=ImportPath,Doc,Imports,Deps,Standard,Error", "./...")
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=arm64", "CGO_ENABLED=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var packages []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Error != nil {
			if strings.Contains(p.Error.Err, "build constraints exclude all Go files") {
				continue
			}
			t.Errorf("%s: %s", p.ImportPath, p.Error.Err)
		}
		packages = append(packages, p)
	}
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"a/b", "a/b", true}, {"a/b", "a/b/c", false}, {"a/b/...", "a/b/c", true}, {"a/b/...", "a/b", true}, {"a/b/...", "a/bc", false},
	} {
		if got := covers(c.pattern, c.path); got != c.want {
			t.Errorf("covers(%q, %q) = %v", c.pattern, c.path, got)
		}
	}
}
