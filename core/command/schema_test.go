package command

import (
	"encoding/json"
	goflag "flag"
	"os"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

var update = goflag.Bool("update", false, "write docs/exec-policy.schema.json")

// docs/exec-policy.schema.json is what PolicyDocument says; what it refuses, ReadPolicy refuses too.
func TestPolicySchema(t *testing.T) {
	s, err := jsonschema.For[PolicyDocument](nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", "Handrail's policy for commands: exec-policy.json in its state folder"
	enum := func(s *jsonschema.Schema, field string, values ...any) {
		if s.Properties[field] == nil {
			t.Fatalf("no field %s", field)
		}
		s.Properties[field].Enum = values
	}
	enum(s, "version", 1)
	enum(s, "mode", "deny", "allowlist", "ask")
	enum(s, "security", "deny", "allowlist")
	enum(s, "ask", "off", "on-miss", "always")
	enum(s, "askFallback", "deny")
	box := s.Properties["sandbox"]
	enum(box, "mode", "deny", "allowlist", "ask", "full")
	enum(box, "security", "deny", "allowlist", "full")
	enum(box, "ask", "off", "on-miss", "always")
	enum(s.Properties["allowlist"].Items, "action", "allow", "ask", "deny")
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	const file = "../../docs/exec-policy.schema.json"
	if *update {
		if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(text)+"\n" {
		t.Errorf("%s is out of date: run go test ./core/command -run TestPolicySchema -update", file)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text string
		ok   bool
	}{
		{asksGit, true}, {listGit, true}, {denyNPM, true}, {`{"version": 1, "safeBins": ["head"]}`, true},
		{`{"version": 1, "mode": "full"}`, false}, {`{"version": 1, "x": 1}`, false}, {`{"version": 1, "sandbox": {"mode": "auto"}}`, false}, {`{"version": 1, "askFallback": "full"}`, false},
		{`{"version": 1, "allowlist": [{"patern": "x"}]}`, false}, {`{}`, false},
	} {
		var v any
		if err := json.Unmarshal([]byte(c.text), &v); err != nil {
			t.Fatal(err)
		}
		_, read := ReadPolicy([]byte(c.text), "")
		if valid := r.Validate(v) == nil; valid != c.ok || (read == nil) != c.ok {
			t.Errorf("%s: the schema takes it: %v; it is read: %v", c.text, valid, read)
		}
	}
}

func TestAuditPolicy(t *testing.T) {
	d := testTools()
	d["/usr/bin/date"] = File{Real: "/usr/lib/x/date", ID: FileID{5, 5}, Regular: true, Exec: true}
	d["/evil/link"] = File{Real: "/t/git", ID: FileID{5, 6}, Regular: true, Exec: true}
	for _, c := range []struct {
		text        string
		risk, other int
	}{
		{`{"version": 1}`, 0, 0},
		{asksGit, 0, 0},
		{`{"version": 1, "allowlist": [{"pattern": "*"}]}`, 1, 0},
		{`{"version": 1, "allowlist": [{"pattern": "/**"}]}`, 1, 0},
		{`{"version": 1, "allowlist": [{"pattern": "*", "action": "deny"}]}`, 0, 0},
		{`{"version": 1, "allowlist": [{"pattern": "python3"}, {"pattern": "/usr/bin/awk"}, {"pattern": "**/python*"}, {"pattern": "find"}, {"pattern": "make"}]}`, 5, 0},
		{`{"version": 1, "strictInlineEval": true, "allowlist": [{"pattern": "python3"}]}`, 0, 0},
		{`{"version": 1, "allowlist": [{"pattern": "python3", "args": "-V"}]}`, 0, 0},
		{`{"version": 1, "allowlist": [{"pattern": "git"}, {"pattern": "/t/git"}, {"pattern": "/t/sh*"}]}`, 0, 0},
		{`{"version": 1, "allowlist": [{"pattern": "/t/nothing"}]}`, 0, 1},
		{`{"version": 1, "allowlist": [{"pattern": "/evil/git"}]}`, 1, 0},
		{`{"version": 1, "safeBins": ["head", "myprog"]}`, 0, 1},
		{`{"version": 1, "safeBins": ["tar"], "safeBinProfiles": {"tar": {"most": 1}}}`, 1, 0},
		{`{"version": 1, "safeBins": ["grep", "sort"]}`, 0, 0},
		{`{"version": 1, "safeBinTrustedDirs": ["/evil", "/tmp/x", "/home/me/bin", "/opt/x"]}`, 3, 0},
	} {
		p, err := ReadPolicy([]byte(c.text), "/home/me")
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		risk, other := 0, 0
		found := AuditPolicy(p, d, "/home/me")
		for _, f := range found {
			if f.Risk {
				risk++
			} else {
				other++
			}
		}
		if risk != c.risk || other != c.other {
			t.Errorf("%s: %q", c.text, found)
		}
	}
}
