package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// message is what the endpoint must know of a JSON-RPC message before the SDK reads it.
type message struct {
	// id as it was sent; nil for a notification.
	id jsontext.Value
	// method is empty for an answer.
	method string
	// answers says that it has a result or an error.
	answers bool
}

func (m message) isCall() bool { return m.id != nil && m.method != "" }

// readMessage checks that text is one JSON-RPC 2.0 message of MCP and nothing else: strict JSON (RFC 8259) in valid
// UTF-8 without a name given twice; an object, not a batch (gone from MCP since 2025-06-18); an id that is a string or an
// integer that a float64 holds exactly. Params and results aren't looked into. When it isn't, the error is what to answer,
// and the message still holds the id if there was a usable one.
func readMessage(text []byte) (message, *jsonrpc.Error) {
	text = bytes.TrimSpace(text)
	if len(text) > 0 && text[0] == '[' {
		return message{}, invalid("batches are not part of MCP since 2025-06-18; send one message at a time")
	}
	m, version, err := scan(text, false)
	if bad := (*jsonrpc.Error)(nil); errors.As(err, &bad) {
		return m, bad
	}
	if err != nil {
		bad := &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "not a JSON message: " + err.Error()}
		// A call in which only a string is no Unicode text can be told from others: unanswered, its client would wait.
		if m, _, worse := scan(text, false, jsontext.AllowInvalidUTF8(true)); worse == nil && m.isCall() {
			bad.Message += "; the call was not made: send it again without half characters (one surrogate of a pair) and bytes that are no UTF-8"
			return m, bad
		}
		return message{}, bad
	}
	switch {
	case version != "2.0":
		return m, invalid(`not a JSON-RPC 2.0 message: "jsonrpc" must be "2.0"`)
	case m.method == "" && m.id == nil:
		return m, invalid("neither a request nor an answer: there is no method and no id")
	case m.method == "" && !m.answers:
		return m, invalid("neither a request nor an answer: there is no method, result or error")
	case m.method != "" && m.answers:
		return m, invalid("both a request and an answer: there is a method and a result or error")
	}
	return m, nil
}

// glance finds what kind of message text is as cheaply as possible. The rest of it isn't checked.
func glance(text []byte) message {
	m, _, _ := scan(text, true)
	return m
}

// scan walks the top level of one JSON object. An early end stops as soon as the kind and the id are known.
func scan(text []byte, early bool, o ...jsontext.Options) (m message, version string, err error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(text), o...)
	begin, err := d.ReadToken()
	if err != nil {
		return m, "", plain(err)
	}
	if begin.Kind() != '{' {
		return m, "", invalid("not a JSON-RPC message: it is not an object")
	}
	var bad *jsonrpc.Error // told only once the JSON is known to be well-formed
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return m, "", plain(err)
		}
		switch key := name.String(); key {
		case "jsonrpc", "method", "id":
			value, err := d.ReadValue()
			if err != nil {
				return m, "", plain(err)
			}
			switch key {
			case "id":
				if !usableID(value) {
					bad = invalid("the id must be a string or an integer up to 2^53")
					break
				}
				id := value.Clone()
				if id.Canonicalize() != nil { // so that the answer's is spelt alike
					bad = invalid("the id must be Unicode text")
					break
				}
				m.id = id
			case "jsonrpc":
				version = stringOf(value)
			case "method":
				if m.method = stringOf(value); m.method == "" {
					bad = invalid("the method must be a string that isn't empty")
				}
			}
		case "result", "error":
			m.answers = true
			fallthrough
		default:
			if early && m.id != nil && (m.answers || m.method != "") {
				return m, version, nil
			}
			if err := d.SkipValue(); err != nil {
				return m, "", plain(err)
			}
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return m, "", plain(err)
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return message{}, "", errors.New("there is more after the message")
	}
	if bad != nil {
		return m, version, bad
	}
	return m, version, nil
}

// stringOf is the string that a JSON value holds, "" for any other value.
func stringOf(value jsontext.Value) string {
	var s string
	if value.Kind() != '"' || json.Unmarshal(value, &s) != nil {
		return ""
	}
	return s
}

func usableID(id jsontext.Value) bool {
	switch id.Kind() {
	case '"':
		return true
	case '0':
		n, err := strconv.ParseFloat(string(id), 64)
		return err == nil && n == math.Trunc(n) && math.Abs(n) < 1<<53
	}
	return false
}

func invalid(text string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: text}
}

// plain is a JSON error without the decoder's own name.
func plain(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends too early")
	}
	if bad, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("%w at byte %d", bad.Err, bad.ByteOffset)
	}
	return err
}

// errorAnswer is the text of a JSON-RPC error. A nil id becomes null: the request could not be told (JSON-RPC 2.0, 5).
func errorAnswer(id jsontext.Value, e *jsonrpc.Error) []byte {
	if id == nil {
		id = jsontext.Value("null")
	}
	text, err := json.Marshal(struct {
		Version string         `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
		Error   any            `json:"error"`
	}{"2.0", id, struct {
		Code    int64  `json:"code"`
		Message string `json:"message"`
	}{e.Code, e.Message}})
	if err != nil { // the id was read from JSON, the rest is plain
		panic(fmt.Sprintf("server: marshal an error: %v", err))
	}
	return text
}

// htmlEscapes are what encoding/json, and so parts of the SDK, write for three characters that need no escape in JSON.
var htmlEscapes = map[string]byte{`\u003c`: '<', `\u003e`: '>', `\u0026`: '&'}

// unescape writes <, > and & in JSON text as themselves: the same to whoever reads JSON, a sixth of the bytes, and legible
// in a log. It is text itself when there is nothing to do.
func unescape(text []byte) []byte {
	if !bytes.Contains(text, []byte(`\u00`)) {
		return text
	}
	plain := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			plain = append(plain, text[i])
			continue
		}
		if i+6 <= len(text) {
			if c, ok := htmlEscapes[string(text[i:i+6])]; ok {
				plain = append(plain, c)
				i += 5
				continue
			}
		}
		plain = append(plain, text[i], text[i+1]) // a pair: what follows an escaped backslash begins no escape
		i++
	}
	return plain
}
