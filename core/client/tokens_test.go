package client

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"handrail/core/hint"
)

func newTokens(t *testing.T) *Tokens {
	return OpenTokens(filepath.Join(t.TempDir(), "state", "tokens.json"))
}

func mustNew(t *testing.T, tokens *Tokens, name string, level Level) string {
	t.Helper()
	token, err := tokens.New(name, level)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestToken(t *testing.T) {
	tokens := newTokens(t)
	token := mustNew(t, tokens, "claude-code", Ask)
	if !strings.HasPrefix(token, "hr_") || len(token) != len("hr_")+52 {
		t.Errorf("token %q", token)
	}
	who, level, ok := tokens.Verify(token)
	if !ok || level != Ask || who != (Identity{ID: "http:claude-code"}) {
		t.Errorf("Verify = %+v, %v, %v", who, level, ok)
	}
	text, err := os.ReadFile(tokens.path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), token) || strings.Contains(string(text), token[3:]) {
		t.Error("the file holds the token itself")
	}
	info, err := os.Stat(tokens.path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the file: %v, %v", info.Mode(), err)
	}
	list, err := tokens.List()
	if err != nil || len(list) != 1 || list[0].Name != "claude-code" || list[0].Level != Ask ||
		time.Since(list[0].Created) > time.Minute || list[0].Used.Format(time.DateOnly) != time.Now().UTC().Format(time.DateOnly) {
		t.Errorf("List = %+v, %v", list, err)
	}
}

func TestVerifyRefuses(t *testing.T) {
	tokens := newTokens(t)
	token := mustNew(t, tokens, "a", Ask)
	revoked := mustNew(t, tokens, "b", Ask)
	if err := tokens.Revoke("b"); err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256([]byte(token))
	for name, bad := range map[string]string{
		"none": "", "prefix": "hr_", "cut": token[:len(token)-1], "longer": token + "a", "upper": strings.ToUpper(token),
		"space": " " + token, "the hash": hex.EncodeToString(hash[:]), "revoked": revoked, "no prefix": token[3:],
	} {
		if who, level, ok := tokens.Verify(bad); ok || level != None || who != (Identity{}) {
			t.Errorf("%s: let in as %+v, %v", name, who, level)
		}
	}
	if _, _, ok := (&Tokens{}).Verify(token); ok {
		t.Error("zero Tokens let somebody in")
	}
	if _, _, ok := (*Tokens)(nil).Verify(token); ok {
		t.Error("no Tokens let somebody in")
	}
	if _, err := (&Tokens{}).New("a", Ask); err == nil {
		t.Error("zero Tokens made a token")
	}
}

func TestNewRefuses(t *testing.T) {
	tokens := newTokens(t)
	mustNew(t, tokens, "taken", Look)
	for _, c := range []struct {
		name  string
		level Level
		code  string
	}{
		{"", Ask, "bad_name"},
		{"-x", Ask, "bad_name"},
		{"a b", Ask, "bad_name"},
		{"a\x00b", Ask, "bad_name"},
		{"ä", Ask, "bad_name"},
		{strings.Repeat("a", 65), Ask, "bad_name"},
		{"x", None, "bad_level"},
		{"x", Trusted, "bad_level"},
		{"x", Level(9), "bad_level"},
		{"taken", Ask, "name_taken"},
	} {
		if token, err := tokens.New(c.name, c.level); hint.Code(err) != c.code || token != "" {
			t.Errorf("New(%q, %v) = %q, %v: want %s", c.name, c.level, token, err, c.code)
		}
	}
	if err := tokens.Revoke("nobody"); hint.Code(err) != "no_token" {
		t.Errorf("Revoke(nobody): %v", err)
	}
}

// Whatever is wrong with the file, nobody is let in, the error says why, and the file isn't written over.
func TestBadFile(t *testing.T) {
	const token = "hr_a"
	sum := sha256.Sum256([]byte(token))
	hash := hex.EncodeToString(sum[:])
	good := fmt.Sprintf(`{"name":"a","level":"ask","sha256":%q,"created":"2026-01-02T03:04:05Z"}`, hash)
	file := func(entries string) string { return `{"version":1,"tokens":[` + entries + `]}` }
	for _, c := range []struct{ name, text, why string }{
		{"empty", "", ""},
		{"cut", file(good)[:40], ""},
		{"not json", "tokens", ""},
		{"text after it", file(good) + "x", ""},
		{"unknown field", `{"version":1,"tokens":[],"extra":1}`, "extra"},
		{"unknown field of a token", file(strings.Replace(good, `"level"`, `"admin":true,"level"`, 1)), "admin"},
		{"field in another case", file(strings.Replace(good, `"level"`, `"Level"`, 1)), "Level"},
		{"field twice", file(strings.Replace(good, `"level"`, `"level":"look","level"`, 1)), "duplicate"},
		{"no version", `{"tokens":[` + good + `]}`, "version"},
		{"next version", `{"version":2,"tokens":[` + good + `]}`, "version"},
		{"unknown level", file(strings.Replace(good, "ask", "root", 1)), "root"},
		{"trusted", file(strings.Replace(good, "ask", "trusted", 1)), "trusted"},
		{"no level", file(strings.Replace(good, `"level":"ask",`, "", 1)), "level"},
		{"no name", file(strings.Replace(good, `"name":"a",`, "", 1)), "name"},
		{"short hash", file(strings.Replace(good, hash, hash[:62], 1)), "hash"},
		{"no hash", file(strings.Replace(good, hash, "", 1)), "hash"},
		{"twice", file(good + "," + good), "twice"},
		{"same hash", file(good + "," + strings.Replace(good, `"a"`, `"b"`, 1)), "twice"},
		{"no date", file(strings.Replace(good, "2026-01-02T03:04:05Z", "", 1)), "made"},
		{"bad day", file(strings.Replace(good, `"name"`, `"used":"yesterday","name"`, 1)), "used"},
		{"huge", file(good) + strings.Repeat(" ", maxTokenFile), "large"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tokens := OpenTokens(filepath.Join(t.TempDir(), "tokens.json"))
			if err := os.WriteFile(tokens.path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, _, ok := tokens.Verify(token); ok {
				t.Fatal("let in")
			}
			if err := tokens.Err(); hint.Code(err) != "bad_token_file" || !strings.Contains(err.Error(), c.why) {
				t.Errorf("the error is %v, want one about %q", err, c.why)
			}
			if _, err := tokens.New("b", Ask); hint.Code(err) != "bad_token_file" {
				t.Errorf("New: %v", err)
			}
			if now, err := os.ReadFile(tokens.path); err != nil || string(now) != c.text {
				t.Errorf("the file was changed to %.80q, %v", now, err)
			}
			// Mended, it works again.
			if err := os.WriteFile(tokens.path, []byte(file(good)), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, level, ok := tokens.Verify(token); !ok || level != Ask || tokens.Err() != nil {
				t.Errorf("after it was mended: %v, %v, %v", level, ok, tokens.Err())
			}
		})
	}
	t.Run("others can write it", func(t *testing.T) {
		tokens := OpenTokens(filepath.Join(t.TempDir(), "tokens.json"))
		if err := os.WriteFile(tokens.path, []byte(file(good)), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, mode := range []os.FileMode{0o620, 0o602, 0o666} {
			if err := os.Chmod(tokens.path, mode); err != nil {
				t.Fatal(err)
			}
			if _, _, ok := tokens.Verify(token); ok || tokens.Err() == nil {
				t.Errorf("mode %o: let in, %v", mode, tokens.Err())
			}
		}
	})
	t.Run("a folder", func(t *testing.T) {
		tokens := OpenTokens(t.TempDir())
		if _, _, ok := tokens.Verify(token); ok || tokens.Err() == nil {
			t.Error("let in by a folder")
		}
	})
}

// Another process changes the file: it is noticed at the next look, and who has gone is told.
func TestChangedByAnother(t *testing.T) {
	here := newTokens(t)
	var told []string
	here.OnRevoke(func(id string) { told = append(told, id) })
	a, b := mustNew(t, here, "a", Ask), mustNew(t, here, "b", Ask)
	there := OpenTokens(here.path)
	c := mustNew(t, there, "c", Look)
	for _, token := range []string{a, b, c} {
		if _, _, ok := here.Verify(token); !ok {
			t.Fatal("refused")
		}
	}
	if err := there.Revoke("a"); err != nil {
		t.Fatal(err)
	}
	if _, _, ok := here.Verify(a); ok {
		t.Error("a revoked token is let in")
	}
	if len(told) != 1 || told[0] != "http:a" {
		t.Errorf("told of %q", told)
	}
	// A level that was lowered in the file.
	text, err := os.ReadFile(here.path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(here.path, []byte(strings.Replace(string(text), `"ask"`, `"look"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, level, ok := here.Verify(b); !ok || level != Look {
		t.Errorf("lowered level: %v, %v", level, ok)
	}
	if len(told) != 2 || told[1] != "http:b" {
		t.Errorf("told of %q", told)
	}
	// The file is removed: nobody.
	if err := os.Remove(here.path); err != nil {
		t.Fatal(err)
	}
	if _, _, ok := here.Verify(b); ok || here.Err() != nil {
		t.Errorf("without a file: let in, or %v", here.Err())
	}
	if len(told) != 4 {
		t.Errorf("told of %q", told)
	}
}

// The day of use is written once a day, and not being able to write it refuses nobody.
func TestUsed(t *testing.T) {
	tokens := newTokens(t)
	token := mustNew(t, tokens, "a", Ask)
	tokens.Verify(token)
	first, err := os.Stat(tokens.path)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, _, ok := tokens.Verify(token); !ok {
			t.Fatal("refused")
		}
	}
	again, err := os.Stat(tokens.path)
	if err != nil || !os.SameFile(first, again) {
		t.Errorf("the file was written at each call: %v", err)
	}
	other := newTokens(t)
	token = mustNew(t, other, "a", Ask)
	if err := os.Remove(other.path + ".lock"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(other.path+".lock", 0o700); err != nil { // now no change can be made
		t.Fatal(err)
	}
	for range 2 {
		if _, _, ok := other.Verify(token); !ok {
			t.Error("refused because the day of use can't be written")
		}
	}
}

// Two processes (two Tokens) make and use tokens at once: none is lost.
func TestChangedAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	var all sync.WaitGroup
	for p := range 4 {
		all.Go(func() {
			tokens := OpenTokens(path)
			for i := range 8 {
				token, err := tokens.New(fmt.Sprintf("c%d-%d", p, i), Ask)
				if err != nil {
					t.Error(err)
					return
				}
				if _, _, ok := tokens.Verify(token); !ok {
					t.Error("refused")
				}
			}
		})
	}
	all.Wait()
	list, err := OpenTokens(path).List()
	if err != nil || len(list) != 32 {
		t.Errorf("%d tokens, %v", len(list), err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".tokens.json-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

func FuzzParseTokens(f *testing.F) {
	sum := sha256.Sum256([]byte("x"))
	good := fmt.Sprintf(`{"version":1,"tokens":[{"name":"a","level":"ask","sha256":"%x","created":"2026-01-02T03:04:05Z","used":"2026-01-03"}]}`, sum)
	f.Add([]byte(good))
	f.Add([]byte(strings.Replace(good, "ask", "trusted", 1)))
	f.Add([]byte(`{"version":1,"tokens":null}`))
	f.Add([]byte(`{"version":1}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, err := parseTokens(text)
		if err != nil && entries != nil {
			t.Fatal("entries and an error")
		}
		for _, e := range entries {
			if e.level > Ask || e.hash == [sha256.Size]byte{} && e.SHA256 != strings.Repeat("0", 64) || !tokenName.MatchString(e.Name) {
				t.Fatalf("let in: %+v", e)
			}
		}
	})
}
