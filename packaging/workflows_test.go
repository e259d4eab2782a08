package packaging

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

type workflow struct {
	Permissions any
	Jobs        map[string]struct {
		Permissions any
		Timeout     int `yaml:"timeout-minutes"`
		Uses        string
		Strategy    struct{ Matrix map[string]any }
		Steps       []struct {
			Uses, Run string
			With      map[string]any
			Env       map[string]string
		}
	}
}

// granted is what a job may do beyond reading the source, and why it is needed.
var granted = map[string][]string{"release.yml/publish": {"attestations", "contents", "id-token"}}

var (
	pinned   = regexp.MustCompile(`^[a-z-]+/[a-z-]+@[0-9a-f]{40}$`)
	comment  = regexp.MustCompile(`uses: \S+@[0-9a-f]{40} # v\d+\.\d+\.\d+\n`)
	target   = regexp.MustCompile(`\bmake ([a-z-]+)`)
	outsider = regexp.MustCompile(`\$\{\{[^}]*\b(github\.event|github\.head_ref|inputs)\b`)
)

// Actions are pinned by commit, jobs may do the least, end, and run nothing that a stranger wrote; what they make exists.
func TestWorkflows(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob("../.github/workflows/*")
	if err != nil || len(names) < 2 {
		t.Fatal(names, err)
	}
	actions, targets := 0, 0
	for _, path := range names {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var w workflow
		if err := yaml.Unmarshal(text, &w); err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(path)
		wrong := func(format string, values ...any) { t.Helper(); t.Errorf(name+": "+format, values...) }
		if uses := strings.Count(string(text), "uses: "); uses != len(comment.FindAll(text, -1)) {
			wrong("of %d actions not all have a commit and say its version", uses)
		}
		if strings.Contains(string(text), "pull_request_target") || strings.Contains(string(text), "workflow_run") || outsider.Match(text) {
			wrong("runs with what a stranger wrote")
		}
		if !least(w.Permissions, nil) {
			wrong("permissions %v", w.Permissions)
		}
		for id, job := range w.Jobs {
			if job.Permissions == nil && len(granted[name+"/"+id]) > 0 || job.Permissions != nil && !least(job.Permissions, granted[name+"/"+id]) {
				wrong("job %s has permissions %v", id, job.Permissions)
			}
			if job.Timeout <= 0 || job.Timeout > 90 || job.Uses != "" {
				wrong("job %s has no end, or is another's", id)
			}
			for _, step := range job.Steps {
				if step.Uses != "" {
					actions++
					if !pinned.MatchString(step.Uses) {
						wrong("%s isn't pinned", step.Uses)
					}
					if strings.HasPrefix(step.Uses, "actions/checkout@") && step.With["persist-credentials"] != false {
						wrong("the credentials of %s stay on disk", id)
					}
				}
				if strings.Contains(step.Run, "${{") && step.Run != "make ${{ matrix.target }}" {
					wrong("%q is put together of values: they go into env", step.Run)
				}
				wanted := target.FindAllStringSubmatch(step.Run, -1)
				if step.Run == "make ${{ matrix.target }}" {
					for _, x := range job.Strategy.Matrix["target"].([]any) {
						wanted = append(wanted, []string{"", x.(string)})
					}
				}
				for _, m := range wanted {
					targets++
					if !strings.Contains(string(makefile), "\n"+m[1]+":") {
						wrong("make %s isn't there", m[1])
					}
				}
				if script, ok := strings.CutPrefix(step.Run, "packaging/"); ok {
					if info, err := os.Stat(script); err != nil || info.Mode()&0o100 == 0 {
						wrong("%s can't be run: %v", step.Run, err)
					}
				}
			}
		}
	}
	if actions < 10 || targets < 8 {
		t.Errorf("only %d actions and %d targets were found", actions, targets)
	}
}

// least says whether permissions are named, and none but reading the source and what is granted.
func least(permissions any, granted []string) bool {
	list, ok := permissions.(map[string]any)
	for name, right := range list {
		if right != "none" && !slices.Contains(granted, name) && (name != "contents" || right != "read") {
			return false
		}
	}
	return ok
}

func TestLeast(t *testing.T) {
	for text, want := range map[string]bool{"{}": true, "{contents: read}": true, "{contents: write}": false, "write-all": false, "read-all": false, "null": false, "{packages: read}": false,
		"{id-token: write, contents: read}": true, "{packages: none}": true} {
		var p any
		if err := yaml.Unmarshal([]byte(text), &p); err != nil {
			t.Fatal(err)
		}
		if got := least(p, []string{"id-token"}); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
