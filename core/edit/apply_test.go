package edit

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"handrail/core/hint"
)

// editCase is a line of testdata/edits.jsonl: a file, what is asked for, and what it becomes or which error it gives.
// What an error says must hold each of Says; one that begins with "!" must not be there.
type editCase struct {
	Name    string          `json:"name"`
	File    string          `json:"file"`
	FileHex string          `json:"file_hex"`
	Hunks   json.RawMessage `json:"hunks"`
	Want    string          `json:"want"`
	WantHex string          `json:"want_hex"`
	Code    string          `json:"code"`
	Says    []string        `json:"says"`
}

func (c editCase) file(t testing.TB) []byte { return text(t, c.File, c.FileHex) }
func (c editCase) want(t testing.TB) []byte { return text(t, c.Want, c.WantHex) }

func text(t testing.TB, s, h string) []byte {
	if h == "" {
		return []byte(s)
	}
	b, err := hex.DecodeString(h)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// hunks decodes as a server must: raw text is checked before it is decoded.
func (c editCase) hunks(t testing.TB) ([]Hunk, error) {
	if err := CheckArguments(c.Hunks); err != nil {
		return nil, err
	}
	var hunks []Hunk
	if err := json.Unmarshal(c.Hunks, &hunks); err != nil {
		t.Fatal(err)
	}
	return hunks, nil
}

// lines reads a file of JSON, one value a line.
func lines[T any](t testing.TB, file string) []T {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []T
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var v T
		if err := json.Unmarshal(in.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v in %s", file, err, in.Bytes())
		}
		list = append(list, v)
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		t.Fatalf("%s has no cases", file)
	}
	t.Logf("%s: %d cases", file, len(list))
	return list
}

// wantError checks an error's code and text.
func wantError(t *testing.T, err error, code string, says []string) {
	t.Helper()
	if hint.Code(err) != code {
		t.Errorf("error %v, want code %s", err, code)
		return
	}
	for _, s := range says {
		if not, ok := strings.CutPrefix(s, "!"); ok == strings.Contains(err.Error(), not) {
			t.Errorf("error %q, want %q", err, s)
		}
	}
}

func TestApplyCases(t *testing.T) {
	for _, c := range lines[editCase](t, "testdata/edits.jsonl") {
		t.Run(c.Name, func(t *testing.T) {
			file := c.file(t)
			before := bytes.Clone(file)
			hunks, err := c.hunks(t)
			var r Result
			if err == nil {
				r, err = Apply(file, hunks, Options{})
			}
			if !bytes.Equal(file, before) {
				t.Error("the argument was changed")
			}
			if c.Code != "" {
				wantError(t, err, c.Code, c.Says)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if want := c.want(t); !bytes.Equal(r.Text, want) {
				t.Errorf("text %q, want %q", r.Text, want)
			}
			checkResult(t, file, r)
		})
	}
}
