package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const plainConfig = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"

func TestHarmlessConfig(t *testing.T) {
	for _, c := range []struct {
		name, text string
		ok         bool
	}{
		{"init", plainConfig, true},
		{"empty", "", true},
		{"clone", plainConfig + "[remote \"origin\"]\n\turl = https://example.org/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n", true},
		{"comment", "# mine\n; too\n" + plainConfig, true},
		{"ssh", "[remote \"o\"]\nurl = git@example.org:a/b.git\n", true},
		{"path", "[remote \"o\"]\nurl = /srv/a.git\n", true},
		{"quotes", "[user]\nname = \"Anna B\"\n", true},
		{"upper case", "[CORE]\nBare = true\n", true},
		{"fsmonitor", "[core]\nfsmonitor = ./evil\n", false},
		{"upper case fsmonitor", "[CORE]\nFSMonitor = ./evil\n", false},
		{"hooks path", "[core]\nhooksPath = x\n", false},
		{"pager", "[core]\npager = x\n", false},
		{"editor", "[core]\neditor = x\n", false},
		{"ssh command", "[core]\nsshCommand = x\n", false},
		{"worktree", "[core]\nworktree = /\n", false},
		{"attributes file", "[core]\nattributesFile = x\n", false},
		{"alias", "[alias]\nst = !x\n", false},
		{"filter", "[filter \"x\"]\nclean = x\n", false},
		{"diff", "[diff]\nexternal = x\n", false},
		{"textconv", "[diff \"x\"]\ntextconv = x\n", false},
		{"include", "[include]\npath = ../evil\n", false},
		{"include if", "[includeIf \"gitdir:/\"]\npath = ../evil\n", false},
		{"credential", "[credential]\nhelper = !x\n", false},
		{"gpg", "[gpg]\nprogram = x\n", false},
		{"upload pack", "[remote \"o\"]\nuploadpack = x\n", false},
		{"instead of", "[url \"ext::x\"]\ninsteadOf = https\n", false},
		{"vcs", "[remote \"o\"]\nvcs = x\n", false},
		{"proxy", "[remote \"o\"]\nproxy = x\n", false},
		{"push url", "[remote \"o\"]\npushurl = x\n", false},
		{"push remote", "[branch \"o\"]\npushRemote = x\n", false},
		{"helper", "[remote \"o\"]\nurl = ext::sh -c x\n", false},
		{"option", "[remote \"o\"]\nurl = -u./evil\n", false},
		{"option host", "[remote \"o\"]\nurl = ssh://-oProxyCommand=x/y\n", false},
		{"odd scheme", "[remote \"o\"]\nurl = evil://x\n", false},
		{"worktree config", "[extensions]\nworktreeConfig = true\n", false},
		{"submodule update", "[submodule \"x\"]\nupdate = !x\n", false},
		// What another reader may take differently.
		{"same line", "[core] fsmonitor = x\n", false},
		{"continued", "[core]\nbare = \\\n true\n", false},
		{"comment in value", "[user]\nname = a # b\n", false},
		{"escape", "[user]\nname = a\\nb\n", false},
		{"carriage return", "[core]\r\nbare = true\r\n", false},
		{"bom", "\ufeff[core]\nbare = true\n", false},
		{"nul", "[core]\nbare = true\x00\n", false},
		{"not utf-8", "[user]\nname = \xff\n", false},
		{"old subsection", "[branch.x]\nremote = o\n", false},
		{"escaped subsection", "[branch \"a\\\"b\"]\nremote = o\n", false},
		{"empty subsection", "[branch \"\"]\nremote = o\n", false},
		{"no section", "bare = true\n", false},
		{"no value", "[core]\nbare\n", false},
		{"inner quotes", "[user]\nname = a\"b\"c\n", false},
	} {
		if err := harmlessConfig(c.text); (err == nil) != c.ok {
			t.Errorf("%s: %v, want harmless %v", c.name, err, c.ok)
		}
	}
}

func TestFollowsBranches(t *testing.T) {
	before := plainConfig + "[core]\n\tfsmonitor = mine\n[remote \"origin\"]\n\turl = git@example.org:a.git\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n"
	follow := "[branch \"x\"]\n\tremote = origin\n\tmerge = refs/heads/x\n"
	for _, c := range []struct {
		name, after string
		ok          bool
	}{
		{"same", before, true},
		{"one more", before + follow, true},
		{"one less", strings.Split(before, "[branch")[0], true},
		{"itself", before + strings.Replace(follow, "origin", ".", 1), true},
		{"unknown remote", before + strings.Replace(follow, "origin", "evil", 1), false},
		{"an address", before + strings.Replace(follow, "origin", "https://evil.example", 1), false},
		{"rebase", before + "[branch \"x\"]\n\trebase = true\n", true},
		{"rebase with a program", before + "[branch \"x\"]\n\trebase = !x\n", false},
		{"another setting", before + "[user]\n\tname = x\n", false},
		{"another address", strings.Replace(before, "example.org", "evil.example", 1), false},
		{"a setting removed", strings.Replace(before, "\tfsmonitor = mine\n", "", 1), false},
		{"push remote", before + "[branch \"x\"]\n\tpushRemote = origin\n", false},
		{"no branch", before + "[branch]\n\tremote = origin\n", false},
		{"odd", before + "[core] fsmonitor = x\n", false},
	} {
		if err := followsBranches(before, c.after); (err == nil) != c.ok {
			t.Errorf("%s: %v, want %v", c.name, err, c.ok)
		}
	}
}

// What this reader takes for a setting, Git must take for the same one: else a harmful one could pass for a harmless one.
func FuzzParseGitConfig(f *testing.F) {
	git, err := exec.LookPath("git")
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{plainConfig, "[user]\nname = \"A b\"\n", "[branch \"x\"]\nremote=o\n#c\n", "[core]\nbare = true;\n", "[a \"b c\"]\nd-e = f g \n", "[a]\nb = \"c\" \n", "[a]\tb\n", "[0 \"\"]\nA=", "[0]\n A=0\t0"} {
		f.Add(s)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		settings, err := parseGitConfig(text)
		if err != nil {
			return
		}
		file := filepath.Join(dir, "config")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(git, "config", "--file", file, "--list", "-z", "--no-includes")
		cmd.Env = []string{"HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
		out, err := cmd.Output()
		if err != nil {
			return // Git refuses more
		}
		var mine strings.Builder
		for _, s := range settings {
			name := s.section + "." + s.key
			if s.sub != "" {
				name = s.section + "." + s.sub + "." + s.key
			}
			mine.WriteString(name + "\n" + s.value + "\x00")
		}
		if mine.String() != string(out) {
			t.Errorf("%q: read %q, Git reads %q", text, mine.String(), out)
		}
	})
}

func TestCheckRepository(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		ok    bool
	}{
		{"new", map[string]string{"HEAD": "ref: refs/heads/main\n", "config": plainConfig, "hooks/pre-commit.sample": "x", "refs/heads/config": "", "objects/info/x": ""}, true},
		{"harmful config", map[string]string{"config": "[core]\nfsmonitor = x\n"}, false},
		{"hook", map[string]string{"config": plainConfig, "hooks/pre-commit": "x"}, false},
		{"common folder", map[string]string{"config": plainConfig, "commondir": "../evil"}, false},
		{"worktree config", map[string]string{"config.worktree": ""}, false},
		{"module", map[string]string{"config": plainConfig, "modules/a/config": "[core]\nfsmonitor = x\n"}, false},
		{"good module", map[string]string{"config": plainConfig, "modules/a/config": plainConfig}, true},
		{"link", map[string]string{"config": "-> ../evil"}, false},
		{"hooks link", map[string]string{"config": plainConfig, "hooks": "-> ../evil"}, false},
	} {
		dir := t.TempDir()
		for name, text := range c.files {
			file := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			err := os.WriteFile(file, []byte(text), 0o600)
			if to, ok := strings.CutPrefix(text, "-> "); ok {
				os.Remove(file)
				err = os.Symlink(to, file)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := CheckRepository(dir); (err == nil) != c.ok {
			t.Errorf("%s: %v, want %v", c.name, err, c.ok)
		}
	}
}
