package git

import (
	"slices"
	"strings"
	"testing"

	"handrail/core/hint"
)

// Each command's example is its test.
func TestCommands(t *testing.T) {
	fields := []string{"paths", "message", "ref", "name", "remote", "url", "format", "max_count", "staged", "discard"}
	seen := map[string]bool{}
	for _, c := range Commands {
		if c.Does == Nothing || seen[c.String()] {
			t.Errorf("%s does nothing, or is there twice", c)
		}
		seen[c.String()] = true
		for _, f := range c.Takes {
			if !slices.Contains(fields, strings.TrimSuffix(f, "!")) {
				t.Errorf("%s takes %q", c, f)
			}
		}
		if c.argv == nil {
			continue
		}
		a := c.example
		a.Action, a.Mode = c.Action, c.Mode
		got, err := a.Command()
		if err != nil || got.String() != c.String() {
			t.Errorf("%s: its example is refused: %v", c, err)
			continue
		}
		if argv := strings.Join(got.Argv(a), " "); argv != c.gives {
			t.Errorf("%s gives\n%s, want\n%s", c, argv, c.gives)
		}
	}
	want := strings.Fields("status diff log show branch add commit push pull fetch checkout switch merge rebase stash tag clone init restore remote")
	if got := Actions(); !slices.Equal(got, want) {
		t.Errorf("actions %q", got)
	}
	for _, c := range Commands { // no command forces, skips checks of what is lost, or deletes elsewhere
		if c.argv == nil {
			continue
		}
		all := Args{Paths: []string{"p"}, Message: "m", Ref: "r", Name: "n", Format: "patch", Staged: true, Discard: true}
		for _, w := range c.argv(all) {
			if slices.Contains([]string{"-f", "--force", "-D", "--hard", "--mirror", "--delete", "--force-with-lease", "-B", "-C"}, w) {
				t.Errorf("%s passes %s", c, w)
			}
		}
	}
}

func TestArgsRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		a    Args
		says string
	}{
		{"nothing", Args{}, "no action"},
		{"unknown", Args{Action: "reset"}, "no action"},
		{"rm", Args{Action: "rm", Paths: []string{"a"}}, "no action"},
		{"unknown mode", Args{Action: "merge", Mode: "squash"}, "its modes are start, continue, abort"},
		{"mode of one without", Args{Action: "status", Mode: "list"}, "leave mode out"},
		{"missing field", Args{Action: "add"}, "add needs paths"},
		{"field too many", Args{Action: "add", Paths: []string{"a"}, Message: "m"}, "takes no message"},
		{"format", Args{Action: "log", Format: "%(trailers)"}, "no format"},
		{"count", Args{Action: "log", MaxCount: MaxCount + 1}, "max_count"},
		{"option as ref", Args{Action: "log", Ref: "--output=x"}, "starts like an option"},
		{"option as name", Args{Action: "branch", Mode: "create", Name: "-D"}, "starts like an option"},
		{"option as remote", Args{Action: "fetch", Remote: "--upload-pack=evil"}, "starts like an option"},
		{"address as remote", Args{Action: "fetch", Remote: "https://a.example/b"}, "no plain name"},
		{"helper as remote", Args{Action: "fetch", Remote: "ext::evil"}, "no plain name"},
		{"force by plus", Args{Action: "push", Name: "+main"}, "no plain name"},
		{"deletion by colon", Args{Action: "push", Name: ":main"}, "no plain name"},
		{"another branch by colon", Args{Action: "push", Name: "main:main"}, "no plain name"},
		{"all branches", Args{Action: "push", Name: "*"}, "no plain name"},
		{"push has no discard", Args{Action: "push", Discard: true}, "takes no discard"},
		{"blank in ref", Args{Action: "log", Ref: "a --output=x"}, "blank"},
		{"newline in name", Args{Action: "tag", Mode: "create", Name: "a\nb"}, "blank"},
		{"empty path", Args{Action: "add", Paths: []string{""}}, "empty"},
		{"NUL", Args{Action: "commit", Message: "a\x00"}, "NUL"},
	} {
		_, err := c.a.Command()
		if err == nil || hint.Code(err) != "bad_arguments" || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestTouches(t *testing.T) {
	const names = "diff --name-only -z --no-renames --no-ext-diff --no-textconv --ignore-submodules=dirty --no-color "
	for _, c := range []struct {
		args Args
		want []string
	}{
		{Args{Action: "status"}, nil},
		{Args{Action: "commit", Message: "m"}, nil},
		{Args{Action: "restore", Paths: []string{"a"}, Staged: true}, nil},
		{Args{Action: "switch", Name: "topic"}, []string{names + "HEAD topic --"}},
		{Args{Action: "switch", Mode: "create", Name: "topic"}, nil},
		{Args{Action: "checkout", Ref: "v1"}, []string{names + "HEAD v1 --"}},
		{Args{Action: "checkout", Ref: "v1", Paths: []string{"a"}}, []string{names + "v1 -- a"}},
		{Args{Action: "restore", Paths: []string{"-a"}}, []string{names + "-- -a"}},
		{Args{Action: "merge", Ref: "topic"}, []string{names + "HEAD...topic --"}},
		{Args{Action: "rebase", Ref: "main"}, []string{names + "HEAD...main --", names + "main...HEAD --"}},
		{Args{Action: "rebase", Mode: "abort"}, []string{names + "HEAD --", names + "HEAD ORIG_HEAD --"}},
		{Args{Action: "stash"}, []string{names + "HEAD --"}},
		{Args{Action: "stash", Mode: "pop"}, []string{"stash show --name-only -z --no-renames --no-ext-diff --no-textconv --ignore-submodules=dirty --no-color"}},
	} {
		cmd, err := c.args.Command()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, argv := range cmd.Touches(c.args) {
			got = append(got, strings.Join(argv, " "))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q", c.args, got)
		}
	}
}
