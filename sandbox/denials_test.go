package sandbox

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"handrail/sandbox/sbpl"
)

func TestParseDenial(t *testing.T) {
	const tag = "handrail.command.abc234"
	record := func(pid, message string) string {
		return fmt.Sprintf(`{"processID":%s,"sender":"Sandbox","eventMessage":%q}`, pid, message)
	}
	for _, c := range []struct {
		name, line string
		want       Denial
		ok         bool
	}{
		{"a file", record("0", "Sandbox: cat(812) deny(1) file-read-data /Users/anna/.ssh/id\n"+tag), Denial{"cat", "file-read-data", "/Users/anna/.ssh/id"}, true},
		{"blanks and brackets", record("0", "Sandbox: My App (x)(812) deny(1) file-write-create /Users/anna/My (1) deny(1) x\n"+tag), Denial{"My App (x)", "file-write-create", "/Users/anna/My (1) deny(1) x"}, true},
		{"a duplicate", record("0", "2 duplicate reports for Sandbox: git(9) deny(1) file-write-unlink /x\n"+tag), Denial{"git", "file-write-unlink", "/x"}, true},
		{"a service", record("0", "Sandbox: a(9) deny(1) mach-lookup com.apple.pasteboard.1\n"+tag), Denial{"a", "mach-lookup", "com.apple.pasteboard.1"}, true},
		{"no path", record("0", "Sandbox: a(9) deny(1) process-fork\n"+tag), Denial{"a", "process-fork", ""}, true},
		{"more lines", record("0", "Sandbox: a(9) deny(1) file-read-data /x\nViolation: x\n"+tag+"\n"), Denial{"a", "file-read-data", "/x"}, true},
		{"no tag", record("0", "Sandbox: a(9) deny(1) file-read-data /x"), Denial{}, false},
		{"the tag in the path", record("0", "Sandbox: a(9) deny(1) file-read-data /"+tag), Denial{}, false},
		{"another program's words", record("77", "Sandbox: a(9) deny(1) file-read-data /x\n"+tag), Denial{}, false},
		{"nobody's words", `{"eventMessage":"Sandbox: a(9) deny(1) file-read-data /x\n` + tag + `"}`, Denial{}, false},
		{"allowed", record("0", "Sandbox: a(9) allow(1) file-read-data /x\n"+tag), Denial{}, false},
		{"another record", record("0", "Sandbox: started\n"+tag), Denial{}, false},
		{"a heading", "Filtering the log data using ...", Denial{}, false},
		{"cut off", record("0", "Sandbox: a(9) deny(1)")[:30], Denial{}, false},
		{"too long", record("0", "Sandbox: a(9) deny(1) file-read-data /"+strings.Repeat("x", maxRecord)+"\n"+tag), Denial{}, false},
		{"nothing", "", Denial{}, false},
	} {
		of, d, ok := parseDenial([]byte(c.line))
		if ok != c.ok || ok && (d != c.want || of != tag) {
			t.Errorf("%s: %q %+v %v", c.name, of, d, ok)
		}
	}
}

func TestDenialOp(t *testing.T) {
	for op, want := range map[string]Op{"file-read-data": Read, "file-read-metadata": Read, "process-exec": Read, "file-write-data": Write, "file-write-create": Create,
		"file-write-unlink": Delete, "file-write-mode": Attributes, "file-write-setugid": Attributes, "mach-lookup": NoOp, "network-outbound": NoOp, "file-link": NoOp, "": NoOp} {
		if got := (Denial{Operation: op}).Op(); got != want {
			t.Errorf("%s: %v, want %v", op, got, want)
		}
	}
}

func TestDenials(t *testing.T) {
	var n denials
	if n.any() || n.list("a") != nil {
		t.Error("the zero value has some")
	}
	for i := range 2 * maxDenials {
		n.add("a", Denial{Path: fmt.Sprint(i)})
		n.add("a", Denial{Path: fmt.Sprint(i)})
	}
	if l := n.list("a"); len(l) != maxDenials || l[len(l)-1].Path != fmt.Sprint(2*maxDenials-1) {
		t.Errorf("%d: %v", len(l), l)
	}
	for i := range maxCommands {
		n.add(mark(fmt.Sprint("b", i)), Denial{Path: "x"})
	}
	if l := n.list("a"); len(l) != 0 || !n.any() || len(n.of) != maxCommands || len(n.list("b0")) != 1 {
		t.Errorf("%d commands; %v", len(n.of), l)
	}
}

// A mark changes nothing but what the log says: every refusal bears it, and every answer is the same.
func TestTagged(t *testing.T) {
	const tag = "handrail.command.abc234"
	for _, c := range macPolicies {
		text, params, err := c.policy.SBPL()
		if err != nil {
			t.Fatal(err)
		}
		marked := tagged(text, tag)
		if got, want := strings.Count(marked, `(with message "`+tag+`")`), strings.Count(text, "\n(deny "); got != want {
			t.Errorf("%s: %d refusals of %d bear the mark", c.name, got, want)
		}
		if strings.ReplaceAll(marked, ` (with message "`+tag+`")`, "") != text {
			t.Errorf("%s: more was changed", c.name)
		}
		values := map[string]string{}
		for _, p := range params {
			values[p.Name] = p.Value
		}
		plain, err := sbpl.Parse(text, values)
		if err != nil {
			t.Fatal(err)
		}
		profile, err := sbpl.Parse(marked, values)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for _, path := range macPaths {
			for _, op := range slices.Concat([]string{"file-read-data"}, []string{"file-write-create", "file-write-unlink"}) {
				r := sbpl.Request{Op: op, Path: path}
				a, _, aerr := plain.Decide(r)
				b, _, berr := profile.Decide(r)
				if a != b || (aerr == nil) != (berr == nil) {
					t.Errorf("%s: %s %s: %v, with a mark %v", c.name, op, path, a, b)
				}
			}
		}
	}
	for _, bad := range []mark{"", "x", "handrail.command.", `handrail.command.a"))(allow default)`, "handrail.command.A"} {
		if text := tagged("(version 1)\n(deny default)\n", bad); strings.Contains(text, "with") {
			t.Errorf("%q came into %q", bad, text)
		}
	}
}
