package git

import (
	"slices"
	"testing"
)

// settings makes a list from key, value, key, value …
func settings(words ...string) []Setting {
	var list []Setting
	for i := 0; i+1 < len(words); i += 2 {
		list = append(list, Setting{Scope: "local", Key: words[i], Value: words[i+1]})
	}
	return list
}

func TestParseSettings(t *testing.T) {
	got, err := ParseSettings([]byte("local\x00core.bare\nfalse\x00local\x00remote.a.b.url\nx\ny\x00worktree\x00core.quiet\x00"), true)
	want := []Setting{{"local", "core.bare", "false"}, {"local", "remote.a.b.url", "x\ny"}, {"worktree", "core.quiet", "true"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if section, sub, name := got[1].split(); section != "remote" || sub != "a.b" || name != "url" {
		t.Errorf("%q %q %q", section, sub, name)
	}
	if got, err := ParseSettings([]byte("a.b\nc\x00"), false); err != nil || !slices.Equal(got, []Setting{{"", "a.b", "c"}}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"local\x00core.bare\nfalse", "local", "local\x00bare\x00"} {
		if got, err := ParseSettings([]byte(bad), true); err == nil {
			t.Errorf("%q: %+v", bad, got)
		}
	}
}

func TestNeutral(t *testing.T) {
	hostile := settings("filter.evil.clean", "run", "filter.with.dots.process", "run", "merge.evil.driver", "run", "hook.evil.command", "run", "credential.https://a.b.helper", "!run",
		"http.https://a.b/.proxy", "evil:1", "remote.origin.proxy", "evil", "remote.origin.mirror", "true", "core.fsmonitor", "run", "core.alternaterefscommand", "run")
	modules := settings("submodule.lib.path", "lib", "submodule.lib.ignore", "none")
	for _, c := range []struct{ key, want string }{
		{"core.fsmonitor", "false"}, {"core.hooksPath", "/dev/null"},
		{"filter.evil.clean", ""}, {"filter.evil.smudge", ""}, {"filter.evil.process", ""}, {"filter.evil.required", "true"}, {"filter.with.dots.process", ""}, {"filter.lfs.required", "true"},
		{"merge.evil.driver", textMerge}, {"hook.evil.enabled", "false"}, {"credential.https://a.b.helper", ""}, {"credential.helper", ""}, {"http.https://a.b/.proxy", ""},
		{"remote.origin.proxy", ""}, {"remote.origin.mirror", "false"}, {"submodule.lib.ignore", "dirty"}, {"core.alternaterefscommand", "true"},
	} {
		if got, ok := Last(Neutral(hostile, modules, true, "lfs"), c.key); !ok || got != c.want {
			t.Errorf("%s = %q, %v; want %q", c.key, got, ok, c.want)
		}
	}
	if got, _ := Last(Neutral(hostile, nil, false), "filter.evil.required"); got != "false" {
		t.Errorf("required for reading: %q", got)
	}
	for _, s := range Neutral(nil, nil, false) {
		if s.Value == "run" {
			t.Errorf("%s", s.Key)
		}
	}
}

func TestHazards(t *testing.T) {
	for _, c := range []struct {
		key, value string
		want       bool
	}{
		{"include.path", "x", true}, {"includeif.gitdir:/a/.path", "x", true}, {"url.https://evil/.insteadof", "https://good/", true}, {"http.cookiefile", "x", true},
		{"http.https://a/.sslcainfo", "x", true}, {"http.proxy", "x", false}, {"http.postbuffer", "1", false}, {"remote.o.vcs", "evil", true},
		{"remote.o.fetch", "+refs/*:refs/*", true}, {"remote.o.fetch", "+refs/heads/*:refs/heads/*", true}, {"remote.o.fetch", "+refs/heads/*:refs/remotes/o/*", false},
		{"remote.o.fetch", "refs/tags/*:refs/tags/*", false}, {"remote.o.fetch", "^refs/heads/x", false}, {"remote.o.url", "ext::evil", false}, {"core.fsmonitor", "x", false},
	} {
		if got := len(Hazards(settings(c.key, c.value))) > 0; got != c.want {
			t.Errorf("%s = %s: %v", c.key, c.value, got)
		}
	}
	if got := Hazards(settings("url.b.insteadof", "x", "include.path", "x", "url.b.insteadof", "y")); !slices.Equal(got, []string{"include.path", "url.b.insteadof"}) {
		t.Errorf("%q", got)
	}
}

func TestChanged(t *testing.T) {
	base := settings("core.bare", "false", "core.fsmonitor", "mine", "remote.o.url", "https://a.example/x", "user.name", "Ann")
	with := func(words ...string) []Setting { return append(slices.Clone(base), settings(words...)...) }
	for _, c := range []struct {
		name  string
		after []Setting
		want  []string
	}{
		{"nothing", base, nil},
		{"another order", backward(base), nil},
		{"a remote", with("remote.n.url", "https://b.example/y", "remote.n.fetch", "+refs/heads/*:refs/remotes/n/*"), nil},
		{"a branch", with("branch.main.remote", "o", "branch.main.merge", "refs/heads/main"), nil},
		{"plain core", with("core.ignorecase", "true"), nil},
		{"a remote gone", slices.Clone(base[:2:2]), []string{"user.name"}},
		{"a helper's address", with("remote.n.url", "ext::evil"), []string{"remote.n.url"}},
		{"a program for a remote", with("remote.o.uploadpack", "evil"), []string{"remote.o.uploadpack"}},
		{"a refspec over branches", with("remote.o.fetch", "+refs/*:refs/*"), []string{"remote.o.fetch"}},
		{"programs", with("core.fsmonitor", "evil", "alias.x", "!evil"), []string{"alias.x", "core.fsmonitor"}},
		{"one that was there twice", with("user.name", "Ann"), []string{"user.name"}},
	} {
		if got := Changed(base, c.after); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func backward(list []Setting) []Setting {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
}
