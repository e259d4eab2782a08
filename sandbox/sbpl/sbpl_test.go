package sbpl

import (
	"errors"
	"strings"
	"testing"
)

func TestDecide(t *testing.T) {
	for _, c := range []struct {
		name, rules string
		r           Request
		last, spec  bool // by precedence
	}{
		{"default", ``, Request{Op: "file-read-data", Path: "/a"}, false, false},
		{"literal", `(allow file-read-data (literal "/a"))`, Request{Op: "file-read-data", Path: "/a"}, true, true},
		{"literal below", `(allow file-read-data (literal "/a"))`, Request{Op: "file-read-data", Path: "/a/b"}, false, false},
		{"other operation", `(allow file-read-data (literal "/a"))`, Request{Op: "file-write-data", Path: "/a"}, false, false},
		{"wildcard", `(allow file-read* (subpath "/a"))`, Request{Op: "file-read-metadata", Path: "/a/b"}, true, true},
		{"subpath by elements", `(allow file-read* (subpath "/a"))`, Request{Op: "file-read-data", Path: "/ab"}, false, false},
		{"subpath of the root", `(allow file-read* (subpath "/"))`, Request{Op: "file-read-data", Path: "/ab"}, true, true},
		{"prefix", `(allow file-read* (prefix "/a"))`, Request{Op: "file-read-data", Path: "/ab"}, true, true},
		{"no filter", `(allow file-read*)`, Request{Op: "file-read-data", Path: "/x"}, true, true},
		{"last", `(allow file-read-data (subpath "/a")) (deny file-read-data (literal "/a/b"))`, Request{Op: "file-read-data", Path: "/a/b"}, false, false},
		{"specific before wildcard", `(deny file-write-unlink (subpath "/a")) (allow file-write* (subpath "/a"))`, Request{Op: "file-write-unlink", Path: "/a/b"}, true, false},
		{"wildcard before specific", `(allow file-write* (subpath "/a")) (deny file-write-unlink (subpath "/a"))`, Request{Op: "file-write-unlink", Path: "/a/b"}, false, false},
		{"named beside the wildcard", `(deny file-write* file-write-unlink (subpath "/a")) (allow file-write* file-write-unlink (subpath "/a"))`, Request{Op: "file-write-unlink", Path: "/a/b"}, true, true},
		{"regex", `(deny file-read* (regex #"/[.]git/"))(allow file-read* (regex #"^/a$"))`, Request{Op: "file-read-data", Path: "/a"}, true, true},
		{"all", `(allow file-read* (require-all (subpath "/a") (vnode-type DIRECTORY)))`, Request{Op: "file-read-data", Path: "/a", Kind: "DIRECTORY"}, true, true},
		{"all, unknown kind", `(allow file-read* (require-all (subpath "/a") (vnode-type DIRECTORY)))`, Request{Op: "file-read-data", Path: "/a"}, false, false},
		{"any", `(allow file-read* (require-any (literal "/a") (literal "/b")))`, Request{Op: "file-read-data", Path: "/b"}, true, true},
		{"not", `(allow file-read* (require-not (literal "/a")))`, Request{Op: "file-read-data", Path: "/a"}, false, false},
		{"words for the log", `(allow file-read* (subpath "/a")) (deny file-read-data (literal "/a/b") (with message "x"))`, Request{Op: "file-read-data", Path: "/a/c"}, true, true},
		{"words for the log, alone", `(allow file-read* (subpath "/a")) (deny file-read-data (with message "x"))`, Request{Op: "file-read-data", Path: "/a/c"}, false, false},
		{"several filters", `(allow file-read* (literal "/a") (literal "/b"))`, Request{Op: "file-read-data", Path: "/b"}, true, true},
		{"param", `(allow file-read* (subpath (param "HOME")))`, Request{Op: "file-read-data", Path: "/Users/anna/x"}, true, true},
		{"service", `(allow mach-lookup (global-name "a"))`, Request{Op: "mach-lookup", Name: "a"}, true, true},
		{"another service", `(allow mach-lookup (global-name "a"))`, Request{Op: "mach-lookup", Name: "ab"}, false, false},
		{"services", `(allow mach-lookup (global-name-prefix "a."))`, Request{Op: "mach-lookup", Name: "a.b"}, true, true},
		{"any host", `(allow network-outbound (remote ip))`, Request{Op: "network-outbound", Host: "192.0.2.1", Port: 1}, true, true},
		{"not a socket with a path", `(allow network-outbound (remote ip))`, Request{Op: "network-outbound", Path: "/s"}, false, false},
		{"this computer", `(allow network-outbound (remote ip "localhost:*"))`, Request{Op: "network-outbound", Host: "192.0.2.1", Port: 1}, false, false},
		{"a port", `(allow network-outbound (remote tcp "*:80"))`, Request{Op: "network-outbound", Host: "192.0.2.1", Port: 81}, false, false},
		{"localhost is no bound for listening", `(allow network-bind (local ip "localhost:*"))`, Request{Op: "network-bind", Host: "192.0.2.1", Port: 1}, true, true},
		{"a socket with a path", `(allow network-outbound (remote unix-socket (subpath "/t")))`, Request{Op: "network-outbound", Path: "/t/s"}, true, true},
		{"outside", `(allow signal (target same-sandbox))`, Request{Op: "signal", Outside: true}, false, false},
	} {
		p, err := Parse("(version 1)\n(deny default)\n"+c.rules, map[string]string{"HOME": "/Users/anna"})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		last, _ := p.DecideBy(LastWins, c.r)
		spec, _ := p.DecideBy(SpecificWins, c.r)
		if last != c.last || spec != c.spec {
			t.Errorf("%s: %v, %v, want %v, %v", c.name, last, spec, c.last, c.spec)
		}
		allowed, _, err := p.Decide(c.r)
		if c.last != c.spec {
			if allowed || !errors.Is(err, ErrAmbiguous) {
				t.Errorf("%s: %v, %v, want it called ambiguous", c.name, allowed, err)
			}
		} else if err != nil || allowed != c.last {
			t.Errorf("%s: %v, %v", c.name, allowed, err)
		}
	}
	if allowed, _, err := (&Profile{}).Decide(Request{Op: "file-read-data", Path: "/"}); allowed || err != nil {
		t.Error("the zero profile allows something")
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{``, "empty"},
		{`(deny default)`, "version"},
		{`(version 2)`, "version"},
		{`(version 1) (import "system.sb")`, "unknown form"},
		{`(version 1) (allow)`, "no operation"},
		{`(version 1) (allow file-read* (subpath "/a")`, "without an end"},
		{`(version 1) (allow file-read* (subpath "/a)`, "without an end"},
		{`(version 1) (allow file-read* (subpath))`, "unknown filter"},
		{`(version 1) (allow file-read* (subpath /a))`, "not a string"},
		{`(version 1) (allow file-read* (subpath (param "X")))`, "no value"},
		{`(version 1) (allow file-read* (subpath (string-append "a" "b")))`, "not a string"},
		{`(version 1) (allow file-read* (unheard-of "x"))`, "unknown filter"},
		{`(version 1) (allow file-read* (with no-sandbox))`, "unknown modifier"},
		{`(version 1) (allow file-read* (with message "x"))`, "unknown modifier"},
		{`(version 1) (deny file-read* (with message x))`, "unknown modifier"},
		{`(version 1) (deny default (with send-signal "x"))`, "unknown modifier"},
		{`(version 1) (allow file-read* (regex #"\."))`, "backslash"},
		{`(version 1) (allow file-read* (regex #"("))`, "regular expression"},
		{`(version 1) (allow file-read* (regex #"a{2}"))`, "two ways"},
		{`(version 1) (allow file-read* (require-all))`, "of nothing"},
		{`(version 1) (allow network-outbound (remote ip "127.0.0.1:80"))`, "host must be"},
		{`(version 1) (allow network-outbound (remote ip "localhost:0"))`, "no port"},
		{`(version 1) (allow network-outbound (remote ip "localhost"))`, "host must be"},
		{`(version 1) (allow FILE (literal "/"))`, "no operation"},
		{`(version 1) (allow file-read* (literal "/")) (deny default)`, "default"},
		{`(version 1) stray`, "outside"},
		{`(version 1) )`, "unexpected"},
		{"(version 1)\n\xff", "UTF-8"},
		{`(version 1) (allow file-read* (literal "` + strings.Repeat("a", 1100) + `"))`, "1025"},
		{`(version 1) ` + strings.Repeat("(", 50), "deep"},
	} {
		_, err := Parse(c.text, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.text[:min(len(c.text), 80)], err, c.want)
		}
	}
}

func TestRuleSays(t *testing.T) {
	p, err := Parse("(version 1)\n(deny default)\n; a comment\n(allow file-read*\n  (literal \"/a\"))\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, rule, err := p.Decide(Request{Op: "file-read-data", Path: "/a"})
	if err != nil || rule.String() != "line 4: (allow file-read* …)" {
		t.Errorf("%v, %v", rule, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"(version 1)(deny default)(allow file-read* (subpath \"/a\"))", "(version 1) (allow network* (remote ip \"*:80\"))", "(", "\"", ";", "(version 1)(allow a (require-not (regex #\"x\")))"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text, map[string]string{"A": "/a"})
		if err != nil {
			return
		}
		p.Decide(Request{Op: "file-read-data", Path: "/a"})
		p.Decide(Request{Op: "network-outbound", Host: "localhost", Port: 80})
	})
}
