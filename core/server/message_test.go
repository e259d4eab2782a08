package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// messages are texts, and what readMessage says of them: the error's code, 0 for none, and the id it found.
var messages = []struct {
	name, text string
	code       int64
	id, method string
}{
	{"call", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, 0, "1", "ping"},
	{"spaces around", " \t{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r", 0, "1", "ping"},
	{"id last", `{"method":"tools/call","params":{"id":2,"method":"x","a":[{}]},"jsonrpc":"2.0","id":"a b"}`, 0, `"a b"`, "tools/call"},
	{"notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, 0, "", "notifications/initialized"},
	{"answer", `{"jsonrpc":"2.0","id":5,"result":{}}`, 0, "5", ""},
	{"error", `{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":""}}`, 0, "5", ""},
	{"unknown field", `{"jsonrpc":"2.0","id":1,"method":"ping","extra":1}`, 0, "1", "ping"},
	{"largest id", `{"jsonrpc":"2.0","id":9007199254740991,"method":"ping"}`, 0, "9007199254740991", "ping"},
	{"negative id", `{"jsonrpc":"2.0","id":-3,"method":"ping"}`, 0, "-3", "ping"},
	{"id spelt otherwise", `{"jsonrpc":"2.0","id":1.0e1,"method":"ping"}`, 0, "10", "ping"},
	{"empty id", `{"jsonrpc":"2.0","id":"","method":"ping"}`, 0, `""`, "ping"},
	{"escaped method", `{"jsonrpc":"2.0","id":1,"method":"p\u0069ng"}`, 0, "1", "ping"},
	{"lone surrogate escape in a string", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\ud800"}}`, jsonrpc.CodeParseError, "1", "ping"},
	{"half a pair, and then text", `{"jsonrpc":"2.0","method":"tools/call","params":{"a":["x\ud83dy"]},"id":"k"}`, jsonrpc.CodeParseError, `"k"`, "tools/call"},
	{"the second half first", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\udc4d\ud83d"}}`, jsonrpc.CodeParseError, "1", "ping"},
	{"half a pair in a name", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"\ud800":1}}`, jsonrpc.CodeParseError, "1", "ping"},
	{"half a pair in the id", `{"jsonrpc":"2.0","id":"\ud800","method":"ping"}`, jsonrpc.CodeParseError, "", ""},
	{"half a pair in the method", `{"jsonrpc":"2.0","id":1,"method":"\ud800"}`, jsonrpc.CodeParseError, "", ""},
	{"half a pair in a notification", `{"jsonrpc":"2.0","method":"notifications/x","params":{"a":"\ud800"}}`, jsonrpc.CodeParseError, "", ""},
	{"half a pair in an answer", `{"jsonrpc":"2.0","id":1,"result":{"a":"\ud800"}}`, jsonrpc.CodeParseError, "", ""},
	{"half a pair, and a name twice", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping","params":{"a":"\ud800"}}`, jsonrpc.CodeParseError, "", ""},
	{"half a pair, and cut", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\ud800"`, jsonrpc.CodeParseError, "", ""},

	{"empty", ``, jsonrpc.CodeParseError, "", ""},
	{"words", `hello`, jsonrpc.CodeParseError, "", ""},
	{"cut", `{"jsonrpc":"2.0","id":1,"method":"pi`, jsonrpc.CodeParseError, "", ""},
	{"not closed", `{"jsonrpc":"2.0","id":1,"method":"ping"`, jsonrpc.CodeParseError, "", ""},
	{"two", `{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}`, jsonrpc.CodeParseError, "", ""},
	{"more after it", `{"jsonrpc":"2.0","id":1,"method":"ping"} x`, jsonrpc.CodeParseError, "", ""},
	{"single quotes", `{'jsonrpc':'2.0'}`, jsonrpc.CodeParseError, "", ""},
	{"comment", `{"jsonrpc":"2.0",/**/"id":1,"method":"ping"}`, jsonrpc.CodeParseError, "", ""},
	{"final comma", `{"jsonrpc":"2.0","id":1,"method":"ping",}`, jsonrpc.CodeParseError, "", ""},
	{"invalid UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":\"\xff\"}}", jsonrpc.CodeParseError, "1", "ping"},
	{"UTF-8 surrogate", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":\"\xed\xa0\x80\"}}", jsonrpc.CodeParseError, "1", "ping"},
	{"NUL", "{\"jsonrpc\":\"2.0\",\x00\"id\":1,\"method\":\"ping\"}", jsonrpc.CodeParseError, "", ""},
	{"NUL in a string", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\x00\"}", jsonrpc.CodeParseError, "", ""},
	{"byte order mark", "\ufeff{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", jsonrpc.CodeParseError, "", ""},
	{"name twice", `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}`, jsonrpc.CodeParseError, "", ""},
	{"name twice inside", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"a":2}}`, jsonrpc.CodeParseError, "", ""},
	{"name twice, one escaped", `{"jsonrpc":"2.0","id":1,"method":"ping","m\u0065thod":"tools/call"}`, jsonrpc.CodeParseError, "", ""},

	{"batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, jsonrpc.CodeInvalidRequest, "", ""},
	{"empty batch", `[]`, jsonrpc.CodeInvalidRequest, "", ""},
	{"string", `"ping"`, jsonrpc.CodeInvalidRequest, "", ""},
	{"number", `7`, jsonrpc.CodeInvalidRequest, "", ""},
	{"null", `null`, jsonrpc.CodeInvalidRequest, "", ""},
	{"empty object", `{}`, jsonrpc.CodeInvalidRequest, "", ""},
	{"no version", `{"id":1,"method":"ping"}`, jsonrpc.CodeInvalidRequest, "1", "ping"},
	{"old version", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, jsonrpc.CodeInvalidRequest, "1", "ping"},
	{"version as a number", `{"jsonrpc":2.0,"id":1,"method":"ping"}`, jsonrpc.CodeInvalidRequest, "1", "ping"},
	{"null id", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, jsonrpc.CodeInvalidRequest, "", "ping"},
	{"fractional id", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, jsonrpc.CodeInvalidRequest, "", "ping"},
	{"huge id", `{"jsonrpc":"2.0","id":9007199254740992,"method":"ping"}`, jsonrpc.CodeInvalidRequest, "", "ping"},
	{"infinite id", `{"jsonrpc":"2.0","id":1e999,"method":"ping"}`, jsonrpc.CodeInvalidRequest, "", "ping"},
	{"object id", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, jsonrpc.CodeInvalidRequest, "", "ping"},
	{"boolean id", `{"jsonrpc":"2.0","id":true,"method":"ping"}`, jsonrpc.CodeInvalidRequest, "", "ping"},
	{"method as a number", `{"jsonrpc":"2.0","id":1,"method":7}`, jsonrpc.CodeInvalidRequest, "1", ""},
	{"empty method", `{"jsonrpc":"2.0","id":1,"method":""}`, jsonrpc.CodeInvalidRequest, "1", ""},
	{"neither", `{"jsonrpc":"2.0","id":1}`, jsonrpc.CodeInvalidRequest, "1", ""},
	{"both", `{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, jsonrpc.CodeInvalidRequest, "1", "ping"},
	{"answer without an id", `{"jsonrpc":"2.0","result":{}}`, jsonrpc.CodeInvalidRequest, "", ""},
	{"answer to null", `{"jsonrpc":"2.0","id":null,"result":{}}`, jsonrpc.CodeInvalidRequest, "", ""},
}

func TestReadMessage(t *testing.T) {
	for _, c := range messages {
		m, bad := readMessage([]byte(c.text))
		var code int64
		if bad != nil {
			code = bad.Code
		}
		if code != c.code || string(m.id) != c.id || m.method != c.method {
			t.Errorf("%s: id %s, method %q, error %v; want %s, %q, %d", c.name, m.id, m.method, bad, c.id, c.method, c.code)
		}
		if bad != nil {
			answer := errorAnswer(m.id, bad)
			if back, worse := readMessage(answer); c.id != "" && (worse != nil || !back.answers || string(back.id) != c.id) {
				t.Errorf("%s: the answer %s is not one: %v", c.name, answer, worse)
			}
			if c.id == "" && !strings.HasPrefix(string(answer), `{"jsonrpc":"2.0","id":null,"error":{"code":-32`) {
				t.Errorf("%s: the answer is %s", c.name, answer)
			}
		}
	}
}

// What the SDK reads from a message that was let through is what was seen here, and a glance sees the same.
func FuzzReadMessage(f *testing.F) {
	for _, c := range messages {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, bad := readMessage(text)
		glance(text)
		if bad != nil {
			if !json.Valid(errorAnswer(m.id, bad)) {
				t.Fatalf("the answer isn't JSON: %s", errorAnswer(m.id, bad))
			}
			return
		}
		if g := glance(text); !bytes.Equal(g.id, m.id) || g.method != m.method || g.answers != m.answers {
			t.Fatalf("a glance at %q sees %+v, not %+v", text, g, m)
		}
		msg, err := jsonrpc.DecodeMessage(bytes.TrimSpace(text))
		if err != nil {
			return // stricter than we are: refused too
		}
		switch msg := msg.(type) {
		case *jsonrpc.Request:
			if msg.Method != m.method || msg.IsCall() != m.isCall() {
				t.Fatalf("%q: the SDK reads %q (call: %v), we %q (%v)", text, msg.Method, msg.IsCall(), m.method, m.isCall())
			}
		case *jsonrpc.Response:
			if !m.answers {
				t.Fatalf("%q: the SDK reads an answer", text)
			}
		}
	})
}

func TestUnescape(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{``, ``},
		{`plain`, `plain`},
		{`\u003c\u003e\u0026`, `<>&`},
		{`\\u003c`, `\\u003c`},
		{`\\\u003c`, `\\<`},
		{`\"\u003c\"`, `\"<\"`},
		{`\u0022\u005c\u003c`, `\u0022\u005c<`},
		{`\u003`, `\u003`},
		{`\u00`, `\u00`},
		{`\u003c\`, `<\`},
		{`\u2028`, `\u2028`},
	} {
		if got := string(unescape([]byte(c.text))); got != c.want {
			t.Errorf("unescape(%s) = %s, want %s", c.text, got, c.want)
		}
	}
}

// Unescaped JSON means the same.
func FuzzUnescape(f *testing.F) {
	for _, s := range []string{"<a href='x'>&amp;</a>", `\u003c`, `\\u003c \`, "\u2028", "plain"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "?")
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var back string
		if err := json.Unmarshal(unescape(text), &back); err != nil || back != s {
			t.Fatalf("%q became %q: %v", s, back, err)
		}
	})
}

func BenchmarkReadMessage(b *testing.B) {
	text := fmt.Appendf(nil, `{"method":"tools/call","params":{"a":"%s"},"jsonrpc":"2.0","id":1}`, strings.Repeat("line of text\\n", 80_000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, bad := readMessage(text); bad != nil {
			b.Fatal(bad)
		}
	}
}
