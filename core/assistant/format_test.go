package assistant

import (
	"bytes"
	"testing"
)

var testEntry = entry{{"command", `/Applications/ราว "จับ".app/Contents/MacOS/handrail`}, {"args", []string{"stdio"}}, {"env", nil}, {"enabled", true}, {"timeout", 300}}

var formats = map[string]struct {
	format    format
	container string
	seeds     []string
}{
	"json": {jsonFormat{}, "mcpServers", []string{
		"", "{}", "{ }", "{\n}\n", `{"a":1}`, `{"mcpServers":{}}`, `{"mcpServers":{"x":{"command":"y"}},"z":[1,2.50,1e400]}`,
		"{\n\t\"mcpServers\": {\n\t\t\"x\": {}\n\t}\n}", "{\r\n  \"mcpServers\": {\r\n  }\r\n}\r\n", `{"mcpServers":{"handrail":{"command":"z"}}}`,
		"\xef\xbb\xbf{\n    \"a\": \"\\u0e01\",\n    \"a\": 2\n}", `{"mcpServers":{"a":{},"handrail":{}}, "mcpServers\u0041": 1}`, `{ "mcpServers" : { "a" : 1 , "handrail" : 2 } }`,
		"{\n  \"mcpServers\": {\n    \"handrail\": {\n      \"command\": \"x\"\n    },\n    \"b\": {}\n  }\n}\n", `{"mcpServers":{"a":1,"handrail":null,"b":2}}`,
	}},
	"jsonc": {jsonFormat{lenient: true}, "servers", []string{
		"// nothing\n", "{\n  // one\n  \"servers\": { // two\n    \"a\": {}, // three\n    /* four */\n  }, // five\n}\n", "{\"servers\":{/*x*/\"a\":1,/*y\n*/}}",
		"/* a */ { /* b */ \"servers\" /* c */ : /* d */ { /* e */ \"handrail\" /* f */ : /* g */ {} /* h */ , /* i */ } /* j */ }", "{\n//\r\n}", "{\"servers\":{\"a\":1//x\n}}",
	}},
	"toml": {tomlFormat{}, "mcp_servers", []string{
		"", "# nothing", "model = \"x\"\n\n[mcp_servers.a] # one\ncommand = \"b\"\nargs = [\n  \"c\", # two\n]\n\n[profiles.x]\nnan = nan\nd = 1979-05-27T07:32:00Z\nl = 07:32:00\n",
		"[mcp_servers.handrail]\ncommand = 'x'\n# mine\nargs = []\n\n[mcp_servers.handrail.env]\nA = \"b\"\n\n# other\n[other]\n", "mcp_servers = { a = { command = \"x\" }, handrail = {command='y'} }\n",
		"mcp_servers = {}\r\na = 1\r\n", "[mcp_servers]\nhandrail.command = \"x\"\nhandrail.args = []\nb = {}\n", "mcp_servers.handrail = {command = \"x\"}\n", "[[mcp_servers]]\n", "[\"mcp_servers\".'handrail']\na=\"\"\"\n[x]\n\"\"\"",
		"mcp_servers.a.command = \"x\"\n",
	}},
	"yaml": {yamlFormat{}, "extensions", []string{
		"", "# nothing\n", "extensions:\n  a:\n    cmd: b\n    args:\n    - c\n  # about d\n  d: {}\nGOOSE: x\n", "extensions: {}\n", "extensions:\nb: 1\n", "{extensions: {a: {cmd: b}}}", "{a: 1}\n",
		"extensions:\n  handrail:\n    cmd: x\n    description: |\n      [a]\n\n      b\n\nz: 1\n", "a: 1\nextensions:\n    handrail: {cmd: x}", "extensions: # one\n\n  # two\n  a: &x {cmd: y}\n  b: *x\n", "---\na: ไทย\nextensions: { \"handrail\": { \"cmd\": \"x}\" }, b: {} }\n...\n",
		"extensions: {handrail: {cmd: x}}\r\n", "? extensions\n: a: {}\n", "a: 'x\n\n  extensions:\n'\n", "a: [1,\n 2]\r\nextensions:\r\n  b: c\r\n",
	}},
}

// What is put in is there, all that was there is in the file byte for byte, and taking it out gives a text that says what it said.
func fuzzFormat(f *testing.F, name string) {
	for _, s := range formats[name].seeds {
		f.Add([]byte(s))
	}
	form, container := formats[name].format, formats[name].container
	f.Fuzz(func(t *testing.T, text []byte) {
		_, there, err := read(form, text, container)
		if err != nil {
			return
		}
		after, err := add(form, text, container, testEntry)
		if err != nil {
			return
		}
		got, _, err := read(form, after, container)
		if err != nil || !testEntry.matches(got) {
			t.Fatalf("%q: put in: %q\nread: %v, %v", text, after, got, err)
		}
		if !there && !inserted(text, after) {
			t.Fatalf("%q: more than one place changed: %q", text, after)
		}
		again, err := add(form, after, container, testEntry)
		if err != nil {
			t.Fatalf("%q: a second time: %q, %v", text, after, err)
		}
		for _, drop := range []bool{false, true} {
			out, err := remove(form, again, container, drop)
			if err != nil {
				t.Fatalf("%q: taken out of %q: %v", text, again, err)
			}
			if _, still, err := read(form, out, container); err != nil || still {
				t.Fatalf("%q: still there: %q %v", text, out, err)
			}
			if err := sameButOurs(form, text, out, container); err != nil {
				t.Fatalf("%q: %q: %v", text, out, err)
			}
		}
	})
}

func FuzzJSON(f *testing.F)  { fuzzFormat(f, "json") }
func FuzzJSONC(f *testing.F) { fuzzFormat(f, "jsonc") }
func FuzzTOML(f *testing.F)  { fuzzFormat(f, "toml") }
func FuzzYAML(f *testing.F)  { fuzzFormat(f, "yaml") }

// inserted reports whether after is before with some text put in at one place.
func inserted(before, after []byte) bool {
	n := 0
	for n < len(before) && n < len(after) && before[n] == after[n] {
		n++
	}
	return len(after) >= len(before) && bytes.HasSuffix(after, before[n:])
}

// All seeds that can be read can be changed, but for those few that are named.
func TestSeeds(t *testing.T) {
	cant := map[string]bool{"[[mcp_servers]]\n": true, "? extensions\n: a: {}\n": true}
	for name, f := range formats {
		for _, seed := range f.seeds {
			_, err := add(f.format, []byte(seed), f.container, testEntry)
			if (err != nil) != cant[seed] {
				t.Errorf("%s: %q: %v", name, seed, err)
			}
		}
	}
}
