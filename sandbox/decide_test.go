package sandbox

import (
	"path/filepath"
	"strings"
	"testing"
)

// linux is a computer that exists nowhere.
var linux = Machine{
	System: "linux", Home: "/home/anna", State: "/home/anna/.local/share/handrail", Workspace: "/home/anna/Handrail", Temp: "/run/user/1000/handrail-1", Caches: "/home/anna/.cache/handrail-1",
	Ports: []int{7437, 7438}, Path: []string{"/usr/bin", "/home/anna/.nvm/versions/node/v24/bin", "/home/anna/tools/x/bin", "/home/anna/.ssh/bin", "/home/anna", "relative", "/srv/go/bin"},
	Executable: "/opt/handrail/handrail", Secrets: []string{"/home/anna/Handrail/site/key.pem"},
}

func TestDecide(t *testing.T) {
	g := Guarded(linux).AllowRead(at("/home/anna/Documents/taxes")).AllowWrite(at("/home/anna/Handrail/site"), at("/home/anna/Handrail/site/deep/inner"),
		Place{Path: "/home/anna/Handrail/todo.txt", Device: 1, Inode: 1, File: true})
	for _, c := range []struct {
		name   string
		policy Policy
		path   string
		want   string // operations that are allowed: r, w, c, d, a
		rule   string // part of the rule of the first that isn't; of reading where all are
		opens  string
	}{
		{"zero policy", Policy{}, "/usr/bin/ls", "", "nothing is allowed", OpensNothing},
		{"relative", g, "site/x", "", "no absolute", OpensNothing},
		{"not clean", g, "/home/anna/Handrail/site/../x", "", "no absolute", OpensNothing},
		{"trailing slash", g, "/home/anna/Handrail/site/", "", "no absolute", OpensNothing},
		{"nul", g, "/home/anna/Handrail/site/a\x00b", "", "no absolute", OpensNothing},
		{"empty", g, "", "", "no absolute", OpensNothing},
		{"system", g, "/usr/bin/ls", "r", "the system stays", OpensNothing},
		{"system secret", g, "/etc/shadow", "", "a secret: /etc/shadow", OpensNothing},
		{"device", g, "/dev/null", "rw", "devices and processes stay", OpensNothing},
		{"disk", g, "/dev/sda", "", "devices and processes stay", OpensNothing},
		{"disk under classic", Classic(linux), "/dev/sda", "", "devices and processes stay", OpensNothing},
		{"another process", g, "/proc/1/environ", "", "devices and processes stay", OpensNothing},
		{"another process under classic", Classic(linux), "/proc/1/environ", "", "devices and processes stay", OpensNothing},
		{"workspace", g, "/home/anna/Handrail/x", "r", "nothing allows changes", OpensEdit},
		{"granted", g, "/home/anna/Handrail/site/x", "rwcda", "edit grant on ~/Handrail/site", OpensNothing},
		{"granted itself", g, "/home/anna/Handrail/site", "rwca", "it holds what stays closed", OpensNothing},
		{"granted inside", g, "/home/anna/Handrail/site/deep/inner", "rwcda", "edit grant", OpensNothing},
		{"sibling", g, "/home/anna/Handrail/site2", "r", "nothing allows changes", OpensEdit},
		{"other case", g, "/home/anna/Handrail/SITE/x", "r", "nothing allows changes", OpensEdit},
		{"file", g, "/home/anna/Handrail/todo.txt", "rwcda", "edit grant", OpensNothing},
		{"below the file", g, "/home/anna/Handrail/todo.txt/x", "r", "nothing allows changes", OpensEdit},
		{"beside the file", g, "/home/anna/Handrail/todo.txt~", "r", "nothing allows changes", OpensEdit},
		{"looked at", g, "/home/anna/Documents/taxes/a.pdf", "r", "nothing allows changes", OpensEdit},
		{"home", g, "/home/anna/Documents/letter.txt", "", "nothing allows reading", OpensLook},
		{"home itself", g, "/home/anna", "", "nothing allows reading", OpensLook},
		{"root", g, "/", "", "nothing allows reading", OpensLook},
		{"secret", g, "/home/anna/.ssh/id", "", "a secret: ~/.ssh", OpensNothing},
		{"secret in other case", g, "/home/anna/.SSH/id", "", "a secret: ~/.ssh", OpensNothing},
		{"extra secret", g, "/home/anna/Handrail/site/key.pem", "", "a secret: ~/Handrail/site/key.pem", OpensNothing},
		{"state", g.AllowRead(at("/home/anna/.local/share")), "/home/anna/.local/share/handrail/x", "", "Handrail's own files", OpensNothing},
		{"beside state", g.AllowRead(at("/home/anna/.local/share")), "/home/anna/.local/share/other", "r", "nothing allows changes", OpensEdit},
		{"executable", g.AllowWrite(at("/opt/handrail")), "/opt/handrail/handrail", "r", "Handrail itself stays", OpensNothing},
		{"folder of the executable", g.AllowWrite(at("/opt")), "/opt/handrail", "rwca", "it holds what stays closed", OpensNothing},
		{"temp", g, "/run/user/1000/handrail-1/x", "rwcda", "the session's own folder", OpensNothing},
		{"temp itself", g, "/run/user/1000/handrail-1", "rwca", "nothing allows changes", OpensEdit},
		{"hook in temp", g, "/run/user/1000/handrail-1/.git/hooks/x", "rwcda", "the session's own folder", OpensNothing},
		{"hook in temp on a Mac", Guarded(mac), mac.Temp + "/.git/hooks/x", "r", "protected: .git/hooks", OpensProtected},
		{"hook in temp on a Mac for a repository", Guarded(mac).AllowRepositories(), mac.Temp + "/.git/hooks/x", "rwcda", "the session's own folder", OpensNothing},
		{"tmp", g, "/tmp/x", "", "nothing allows reading", OpensLook},
		{"tool", g, "/home/anna/.nvm/versions/node/v24/lib/x", "r", "nothing allows changes", OpensEdit},
		{"tool on path", g, "/home/anna/tools/x/lib/y", "r", "nothing allows changes", OpensEdit},
		{"tool beside", g, "/home/anna/tools/y", "", "nothing allows reading", OpensLook},
		{"tool elsewhere", g, "/srv/go/lib", "r", "nothing allows changes", OpensEdit},
		{"secret on path", g, "/home/anna/.ssh/bin/x", "", "a secret", OpensNothing},
		{"hook", g, "/home/anna/Handrail/site/.git/hooks/x", "r", "protected: .git/hooks", OpensProtected},
		{"hook outside a grant", g, "/home/anna/Handrail/.git/hooks/x", "r", "nothing allows changes", OpensEdit},
		{"opened alone", g.AllowProtected("/home/anna/Handrail/site/.mcp.json"), "/home/anna/Handrail/site/.mcp.json", "rwcda", "edit grant", OpensNothing},
		{"not opened", g.AllowProtected("/home/anna/Handrail/site/.mcp.json"), "/home/anna/Handrail/site/x/.mcp.json", "r", "protected: .mcp.json", OpensProtected},
		{"opened without a grant", g.AllowProtected("/home/anna/Handrail/.mcp.json"), "/home/anna/Handrail/.mcp.json", "r", "nothing allows changes", OpensEdit},
		{"readonly", ReadOnly(linux).AllowWrite(at("/home/anna/Handrail/site")), "/home/anna/Handrail/site/x", "r", "readonly changes nothing", OpensNothing},
		{"readonly temp", ReadOnly(linux), "/run/user/1000/handrail-1/x", "r", "readonly changes nothing", OpensNothing},
		{"readonly null", ReadOnly(linux), "/dev/null", "rw", "devices and processes stay", OpensNothing},
		{"readonly zero", ReadOnly(linux), "/dev/zero", "r", "devices and processes stay", OpensNothing},
		{"classic workspace", Classic(linux), "/home/anna/Handrail/x", "rwca", "classic deletes nothing", OpensNothing},
		{"classic home", Classic(linux), "/home/anna/Music/x", "rwcda", "classic allows", OpensNothing},
		{"classic documents", Classic(linux), "/home/anna/Documents/x", "r", "~/Documents is closed", OpensNothing},
		{"classic start-up", Classic(linux), "/home/anna/.bashrc", "r", "~/.bashrc is closed", OpensNothing},
		{"classic system", Classic(linux), "/etc/hosts", "r", "/etc is closed", OpensNothing},
		{"classic secret", Classic(linux), "/home/anna/.aws/credentials", "", "a secret", OpensNothing},
		{"classic state", Classic(linux), "/home/anna/.local/share/handrail/x", "", "Handrail's own files", OpensNothing},
		{"classic holder", Classic(linux), "/home/anna/.local/share", "rwca", "it holds what stays closed", OpensNothing},
	} {
		t.Run(c.name, func(t *testing.T) {
			for op := Read; op <= Attributes; op++ {
				d := c.policy.Decide(op, c.path)
				want := strings.Contains(c.want, map[Op]string{Read: "r", Write: "w", Create: "c", Delete: "d", Attributes: "a"}[op])
				if d.Allowed != want {
					t.Errorf("%s: %+v, want %v", op, d, want)
				}
				if d.Allowed && d.Opens != "" {
					t.Errorf("%s: allowed, and yet %q opens it", op, d.Opens)
				}
			}
			var first Decision
			for op := Attributes; op >= Read; op-- {
				if d := c.policy.Decide(op, c.path); !d.Allowed {
					first = d
				}
			}
			if c.want == "rwcda" {
				first = c.policy.Decide(Read, c.path)
			}
			if !strings.Contains(first.Rule, c.rule) || first.Opens != c.opens {
				t.Errorf("rule %q opens %q, want %q, %q", first.Rule, first.Opens, c.rule, c.opens)
			}
		})
	}
	for _, op := range []Op{NoOp, Attributes + 1, 255} {
		if d := g.Decide(op, "/usr/bin/ls"); d.Allowed {
			t.Errorf("operation %d is allowed: %+v", op, d)
		}
	}
}

func TestCopies(t *testing.T) {
	base := Guarded(linux).AllowWrite(at("/home/anna/Handrail/a"))
	one, two := base.AllowWrite(at("/home/anna/Handrail/b")), base.AllowWrite(at("/home/anna/Handrail/c"))
	if one.Decide(Write, "/home/anna/Handrail/c/x").Allowed || two.Decide(Write, "/home/anna/Handrail/b/x").Allowed || base.Decide(Write, "/home/anna/Handrail/b/x").Allowed {
		t.Error("two copies share their grants")
	}
	if base.AllowNetwork().AllowLoopback().Allows(SSHAgent) || base.Allows(Network) || !base.AllowNetwork().Allows(Network) {
		t.Error("permissions are wrong")
	}
	for _, p := range []Policy{{}, ReadOnly(linux)} {
		p = p.AllowNetwork().AllowLoopback().AllowSSHAgent().AllowDocker().AllowBrowserTest().AllowXcode().AllowWrite(at("/home/anna/Handrail/a")).AllowRead(at("/"))
		if p.permissions != 0 || len(p.Writable()) != 0 || p.Decide(Write, "/home/anna/Handrail/a/x").Allowed {
			t.Errorf("%q was widened: %v", p.Profile(), p)
		}
	}
	if (Policy{}).AllowRead(at("/")).Decide(Read, "/usr").Allowed {
		t.Error("nothing was widened")
	}
}

func TestWords(t *testing.T) {
	p := Guarded(linux).AllowWrite(at("/home/anna/Handrail/a")).AllowNetwork()
	for got, want := range map[string]string{
		(Policy{}).String():             "nothing is allowed",
		p.String():                      "guarded: reads the system, tools, /home/anna/Handrail; writes /home/anna/.cache/handrail-1, /home/anna/Handrail/a, /run/user/1000/handrail-1; network",
		strings.Join(p.Writable(), " "): "/home/anna/.cache/handrail-1 /home/anna/Handrail/a /run/user/1000/handrail-1",
		ParseOp("write").String():       "write",
		ParseOp("nonsense").String():    "nothing",
		ParseOp("").String():            "nothing",
		Op(200).String():                "nothing",
		Permission(0).String():          "none",
		(Network | Loopback).String():   "network",
		Permission(1 << 15).Sentence():  "opens nothing",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for i := range permissions {
		if one := Permission(1) << i; one.String() == "" || one.Sentence() == "" || len(one.List()) != 1 {
			t.Errorf("permission %d has no words", i)
		}
	}
	if len((Network | Xcode).List()) != 2 {
		t.Error("a set lists its permissions")
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy Policy
		ok     bool
	}{
		{"guarded", Guarded(linux), true},
		{"zero", Policy{}, false},
		{"zero machine", Guarded(Machine{}), false},
		{"state holds temp", Guarded(with(func(m *Machine) { m.Temp = m.State + "/tmp" })), false},
		{"state holds workspace", Guarded(with(func(m *Machine) { m.Workspace = m.State })), false},
		{"workspace holds state", Guarded(with(func(m *Machine) { m.State = m.Workspace + "/state" })), true},
		{"temp holds home", Guarded(with(func(m *Machine) { m.Temp = "/home" })), false},
		{"temp holds workspace", Guarded(with(func(m *Machine) { m.Temp = m.Workspace })), false},
		{"newline", Guarded(with(func(m *Machine) { m.Workspace += "\nx" })), false},
		{"not utf-8", Guarded(linux).AllowRead(at("/home/anna/\xff")), false},
		{"relative", Guarded(linux).AllowRead(at("x")), false},
		{"not clean", Guarded(linux).AllowRead(at("/home/anna/../x")), false},
		{"no identity", Guarded(linux).AllowWrite(Place{Path: "/home/anna/x"}), false},
		{"no path", Guarded(linux).AllowWrite(Place{Device: 1, Inode: 1}), false},
		{"repositories", Guarded(linux).AllowRepositories(), true},
		{"repositories and a grant", Guarded(linux).AllowRepositories().AllowWrite(at("/home/anna/x")), false},
		{"spaces", Guarded(linux).AllowWrite(at(`/home/anna/my "odd" (x) \ ก`)), true},
	} {
		if err := c.policy.Validate(); (err == nil) != c.ok {
			t.Errorf("%s: %v, want valid %v", c.name, err, c.ok)
		}
	}
}

func with(change func(*Machine)) Machine {
	m := linux
	change(&m)
	return m
}

func FuzzDecide(f *testing.F) {
	for _, s := range []string{"/home/anna/Handrail/site/x", "/home/anna/Handrail/site/.git/hooks/x", "/", "", "/home/anna/.ssh", "//", "/home/anna/Handrail/site/..", "/\x00"} {
		f.Add(uint8(2), s)
	}
	p := Guarded(linux).AllowWrite(at("/home/anna/Handrail/site"))
	x := p.index()
	f.Fuzz(func(t *testing.T, op uint8, path string) {
		d := x.decide(Op(op), path)
		if d.Rule == "" {
			t.Fatal("no rule decided")
		}
		if !d.Allowed || Op(op) == Read {
			return
		}
		clean := filepath.Clean(path)
		if !within("/home/anna/Handrail/site", clean) && !within(linux.Temp, clean) && !within(linux.Caches, clean) && !strings.HasPrefix(clean, "/dev/") {
			t.Fatalf("%s %q is allowed: %s", Op(op), path, d.Rule)
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	p := Guarded(linux).AllowWrite(at("/home/anna/Handrail/site"))
	x := p.index()
	for b.Loop() {
		x.decide(Write, "/home/anna/Handrail/site/node_modules/package/lib/index.js")
	}
}
