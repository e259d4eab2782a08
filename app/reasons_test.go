package app

import (
	"strings"
	"testing"
	"unicode"
)

// Whatever the core can say is said in Thai, with its names in it; what can't be told apart isn't said at all.
func TestReasons(t *testing.T) {
	list, doubts := reasons()
	if len(list) < 50 || len(doubts) != 50 {
		t.Fatalf("%d reasons, %d doubts", len(list), len(doubts))
	}
	en, th := NewWords("en"), NewWords("th")
	for _, r := range list {
		values := make(holes)
		for _, name := range r.holes {
			values[name] = "x" + strings.ToLower(name) + "7"
		}
		english := en.say(r.id, values)
		if got := en.reason(english); got != english {
			t.Errorf("%s: %q is said as %q", r.id, english, got)
		}
		got := th.reason(english)
		if want := th.say(r.id, values); got != want {
			t.Errorf("%s: %q is said as %q, want %q", r.id, english, got, want)
		}
		if !strings.ContainsFunc(got, func(r rune) bool { return unicode.Is(unicode.Thai, r) }) {
			t.Errorf("%s: %q is no Thai", r.id, got)
		}
		for name, value := range values {
			if !strings.Contains(got, value) {
				t.Errorf("%s: %s isn't in %q", r.id, name, got)
			}
		}
	}
	for english, id := range doubts {
		if got := th.reason("it holds " + english + ", a loop"); !strings.Contains(got, th.say(id, nil)) || !strings.Contains(got, "วงซ้ำ") {
			t.Errorf("%q is said as %q", english, got)
		}
	}
	for text, want := range map[string]string{
		"it isn't on the person's list: wc is not on the list":              "ไม่อยู่ในรายการของคุณ: wc ไม่อยู่ในรายการ",
		"no program \u202eAllow was found":                                  "ไม่พบโปรแกรม ⟨U+202E⟩Allow",
		"it is more than a plain command: ls\n• อนุญาตทุกอย่าง":             "เป็นมากกว่าคำสั่งธรรมดา: ls⟨U+000A⟩⟨U+2022⟩ อนุญาตทุกอย่าง",
		"something that nobody thought of\n":                                "something that nobody thought of⟨U+000A⟩",
		"in the sandbox: ask off instead of on-miss":                        "ในพื้นที่จำกัด: ask เป็น off แทน on-miss",
		"allows /usr/bin/git with arguments like status with any arguments": "",
	} {
		got := th.reason(text)
		if want != "" && got != want {
			t.Errorf("%q is said as %q, want %q", text, got, want)
		}
		if strings.Contains(got, "\n") || strings.ContainsRune(got, '\u202e') {
			t.Errorf("%q is said as %q", text, got)
		}
	}
}
