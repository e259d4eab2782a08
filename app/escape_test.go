package app

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

var escapes = []struct{ name, in, want string }{
	{"empty", "", ""},
	{"path", "/home/ann/Holiday Photos/a_b-c (1).txt", "/home/ann/Holiday Photos/a_b-c (1).txt"},
	{"Thai", "/home/สมชาย/รูปถ่ายที่เชียงใหม่ น้ำตก ปี๒๕๖๘", "/home/สมชาย/รูปถ่ายที่เชียงใหม่ น้ำตก ปี๒๕๖๘"},
	{"Thai with every kind of mark", "ผู้ใหญ่ สิทธิ์ พันธุ์ ก็ ฤๅษี ฯลฯ ๆ ฿", "ผู้ใหญ่ สิทธิ์ พันธุ์ ก็ ฤๅษี ฯลฯ ๆ ฿"},
	{"Chinese, Japanese, Korean", "報告書（最終）、データベース・한국어", "報告書（最終）、データベース・한국어"},
	{"Latin with marks", "Été à Málaga, Łódź, Đà Nẵng, Straße, Ærø", "Été à Málaga, Łódź, Đà Nẵng, Straße, Ærø"},
	{"Russian", "Документы/Фото", "Документы/Фото"},
	{"Greek", "Έγγραφα", "Έγγραφα"},
	{"decomposed", "E\u0301te\u0301", "Été⟨NFD⟩"},
	{"decomposed Korean", norm.NFD.String("한국어"), "한국어⟨NFD⟩"},
	{"half decomposed", "Éte\u0301", "Éte⟨U+0301⟩"},
	{"newline and tab", "a\nb\tc\r", "a⟨U+000A⟩b⟨U+0009⟩c⟨U+000D⟩"},
	{"terminal escape", "\x1b[2J", "⟨U+001B⟩[2J"},
	{"C1 control", "a\u0085b", "a⟨U+0085⟩b"},
	{"bidi override", "invoice\u202Efdp.exe", "invoice⟨U+202E⟩fdp.exe"},
	{"bidi isolate", "\u2066a\u2069", "⟨U+2066⟩a⟨U+2069⟩"},
	{"right-to-left letters", "/א/ب", "/⟨U+05D0⟩/⟨U+0628⟩"},
	{"zero width", "a\u200bb\u200dc\ufeff", "a⟨U+200B⟩b⟨U+200D⟩c⟨U+FEFF⟩"},
	{"soft hyphen", "a\u00adb", "a⟨U+00AD⟩b"},
	{"Hangul filler", "a\u3164", "a⟨U+3164⟩"},
	{"braille blank", "\u2800", "⟨U+2800⟩"},
	{"variation selector", "a\ufe0f\U000E0101", "a⟨U+FE0F⟩⟨U+E0101⟩"},
	{"tag characters", "\U000E0041", "⟨U+E0041⟩"},
	{"combining grapheme joiner", "a\u034fb", "a⟨U+034F⟩b"},
	{"unusual spaces", "a\u00a0b\u2003c\u3000d", "a⟨U+00A0⟩b⟨U+2003⟩c⟨U+3000⟩d"},
	{"hidden spaces", " a  b ", "⟨U+0020⟩a ⟨U+0020⟩b⟨U+0020⟩"},
	{"line separators", "a\u2028b\u2029", "a⟨U+2028⟩b⟨U+2029⟩"},
	{"private use and unassigned", "\ue000\U000EFFFF", "⟨U+E000⟩⟨U+EFFFF⟩"},
	{"no UTF-8", "a\xff\xc0b", "a⟨xFF⟩⟨xC0⟩b"},
	{"a surrogate's bytes", "\xed\xa0\x80", "⟨xED⟩⟨xA0⟩⟨x80⟩"},
	{"the replacement character", "\ufffd", "⟨U+FFFD⟩"},
	{"what looks like an escape", "⟨U+202E⟩", "⟨U+27E8⟩U+202E⟨U+27E9⟩"},
	{"what looks like its brackets", "\u2329\u232a\u3008\u3009", "⟨U+2329⟩⟨U+232A⟩⟨U+3008⟩⟨U+3009⟩"},
	{"a Cyrillic letter in a Latin word", "p\u0430ypal", "p⟨U+0430⟩ypal"},
	{"a Latin letter in a Cyrillic word", "Дoм", "⟨U+0414⟩o⟨U+043C⟩"},
	{"a Cyrillic word that looks Latin", "\u0440\u0430\u0443", "⟨U+0440⟩⟨U+0430⟩⟨U+0443⟩"},
	{"Greek that looks Latin", "\u0391", "⟨U+0391⟩"},
	{"fraction slash", "a\u2044b\u2215c\uff0fd", "a⟨U+2044⟩b⟨U+2215⟩c⟨U+FF0F⟩d"},
	{"full width Latin", "\uff41\uff0e", "⟨U+FF41⟩⟨U+FF0E⟩"},
	{"ligature", "\ufb01le", "⟨U+FB01⟩le"},
	{"mathematical letters", "\U0001D41A", "⟨U+1D41A⟩"},
	{"Kelvin sign", "\u212A", "⟨U+212A⟩"},
	{"dotless i", "f\u0131le", "f⟨U+0131⟩le"},
	{"dash and quote", "a\u2013b\u2019s\u2026", "a⟨U+2013⟩b⟨U+2019⟩s⟨U+2026⟩"},
	{"one dot leader", "a\u2024txt", "a⟨U+2024⟩txt"},
	{"Greek question mark", "a\u037e", "a⟨U+037E⟩"},
	{"a mark on its own", "\u0301a", "⟨U+0301⟩a"},
	{"marks that pile up", "a\u0300\u0316\u0335", "a⟨U+0300⟩⟨U+0316⟩⟨U+0335⟩"},
	{"marks that pile up, in order", "a\u0335\u0316\u0300", "à⟨U+0335⟩⟨U+0316⟩⟨NFD⟩"},
	{"emoji", "📷", "⟨U+1F4F7⟩"},
	{"two sara e", "เเมว", "⟨U+0E40⟩⟨U+0E40⟩มว"},
	{"nikhahit and sara aa", "น\u0e4dา", "น⟨U+0E4D⟩า"},
	{"nikhahit, tone, sara aa", "น\u0e4d\u0e49า", "น⟨U+0E4D⟩⟨U+0E49⟩า"},
	{"tone marks on each other", "ก\u0e48\u0e48", "ก่⟨U+0E48⟩"},
	{"tone before vowel mark", "ก\u0e48\u0e35", "ก่⟨U+0E35⟩"},
	{"vowel marks on each other", "ก\u0e34\u0e34", "กิ⟨U+0E34⟩"},
	{"a Thai mark on a Latin letter", "a\u0e48", "a⟨U+0E48⟩"},
	{"a Thai mark first", "\u0e35", "⟨U+0E35⟩"},
}

func TestEscape(t *testing.T) {
	seen := map[string]string{}
	for _, c := range escapes {
		got := Escape(c.in)
		if got != c.want {
			t.Errorf("%s: Escape(%q) = %q, want %q", c.name, c.in, got, c.want)
		}
		if other, taken := seen[got]; taken {
			t.Errorf("%q and %q look the same", c.in, other)
		}
		seen[got] = c.in
	}
}

func TestEscapeProse(t *testing.T) {
	for in, want := range map[string]string{
		"It’s “done” – really…":  "It’s “done” – really…",
		"a\u202eb\u200b":         "a⟨U+202E⟩b⟨U+200B⟩",
		"line one\nline two":     "line one⟨U+000A⟩line two",
		"p\u0430ypal, \u2044":    "p⟨U+0430⟩ypal, ⟨U+2044⟩",
		"\u2066“quoted”\u2069 ⟨": "⟨U+2066⟩“quoted”⟨U+2069⟩ ⟨U+27E8⟩",
	} {
		if got := escapeProse(in); got != want {
			t.Errorf("escapeProse(%q) = %q, want %q", in, got, want)
		}
	}
}

// unescape reads back what Escape wrote.
func unescape(s string) string {
	s, decomposed := strings.CutSuffix(s, "⟨NFD⟩")
	var b strings.Builder
	for s != "" {
		before, rest, found := strings.Cut(s, "⟨")
		b.WriteString(before)
		if !found {
			break
		}
		token, after, _ := strings.Cut(rest, "⟩")
		var n rune
		if _, err := fmt.Sscanf(token, "U+%X", &n); err == nil {
			b.WriteRune(n)
		} else if _, err := fmt.Sscanf(token, "x%X", &n); err == nil {
			b.WriteByte(byte(n))
		} else {
			return "unreadable escape " + token
		}
		s = after
	}
	if decomposed {
		return norm.NFD.String(b.String())
	}
	return b.String()
}

func TestEscapeDiff(t *testing.T) {
	for in, want := range map[string]string{
		"":                           "",
		" \n":                        " \n",
		"+\tif x {\n-  y \n":         "+→   if x {\n-  y⟨U+0020⟩\n",
		"+a  b":                      "+a  b",
		"+\t":                        "+→   ",
		"+→   x":                     "+⟨U+2192⟩   x",
		"++ \n":                      "++⟨U+0020⟩\n",
		"+\u202e\x1b[2J\u200b\xff\r": "+⟨U+202E⟩⟨U+001B⟩[2J⟨U+200B⟩⟨xFF⟩⟨U+000D⟩",
		"+สวัสดี":                    "+สวัสดี",
		"@@ -1,2 +1,2 @@\n M a\n":    "@@ -1,2 +1,2 @@\n M a\n",
		"D a  b":                     "D a  b",
	} {
		if got := escapeDiff(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}

// What a diff says beside its texts is said in the person's language. No line of a text can look like that.
func TestDiffRemarks(t *testing.T) {
	for in, want := range map[string][2]string{
		`\ No newline at end of file`:       {"(the last line has no line break)", "(ท้ายบรรทัดสุดท้ายไม่มีการขึ้นบรรทัดใหม่)"},
		"(31 lines more)":                   {"(31 more lines)", "(อีก 31 บรรทัด)"},
		"(1 line more)":                     {"(1 more line)", "(อีก 1 บรรทัด)"},
		"(12345 bytes that are not text)":   {"(12,345 bytes that are not text)", "(12,345 ไบต์ ไม่ใช่ข้อความ)"},
		`(a link to "a` + "\u202e" + `")`:   {`(a link to "a⟨U+202E⟩")`, `(ลิงก์ไปยัง "a⟨U+202E⟩")`},
		"+(31 lines more)":                  {"+(31 lines more)", "+(31 lines more)"},
		" (31 lines more)":                  {" (31 lines more)", " (31 lines more)"},
		"(99999999999999999999 lines more)": {"(99999999999999999999 lines more)", "(99999999999999999999 lines more)"},
		"(anything)":                        {"(anything)", "(anything)"},
	} {
		for i, language := range tongues {
			if got, want := NewWords(language).diff("-a\n"+in+"\n+b"), "-a\n"+want[i]+"\n+b"; got != want {
				t.Errorf("%s: %q is shown as %q, want %q", language, in, got, want)
			}
		}
	}
}

// FuzzEscape holds Escape to its two promises: nothing that deceives gets through, and the text can be read back, so that
// no two texts look the same.
func FuzzEscape(f *testing.F) {
	if len(escapes) == 0 {
		f.Fatal("no seeds")
	}
	for _, c := range escapes {
		f.Add(c.in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		for _, as := range []style{names, prose, code} {
			out := visible(in, as)
			if !utf8.ValidString(out) {
				t.Errorf("%q gives invalid UTF-8", in)
			}
			if got := unescape(strings.ReplaceAll(out, "→   ", "⟨U+0009⟩")); got != in {
				t.Errorf("%q is shown as %q, which reads %q", in, out, got)
			}
			if !norm.NFC.IsNormalString(out) {
				t.Errorf("%q is shown as %q, which isn't composed", in, out)
			}
			for _, r := range out {
				if deceives(r) {
					t.Errorf("%q lets U+%04X through", in, r)
				}
			}
			if as == code {
				if strings.HasSuffix(out, " ") && !strings.HasSuffix(out, "→   ") {
					t.Errorf("%q ends with a space that can't be seen: %q", in, out)
				}
				continue
			}
			if strings.HasPrefix(out, " ") || strings.HasSuffix(out, " ") || strings.Contains(out, "  ") {
				t.Errorf("%q shows a space that can't be seen: %q", in, out)
			}
		}
	})
}

// deceives names the classes that must never be shown, from Unicode's own properties and so not from Escape's list.
func deceives(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Bidi_Control,
		unicode.Arabic, unicode.Hebrew, unicode.Me) ||
		unicode.Is(unicode.Zs, r) && r != ' ' ||
		!unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Zs) || // unassigned
		unicode.Is(unicode.Mn, r) && !unicode.Is(unicode.Thai, r) ||
		r == 0x2800 || r == 0xFFFC || r == 0xFFFD ||
		!unicode.Is(unicode.Thai, r) && !strings.ContainsRune("！（），？…", r) && !norm.NFKC.IsNormalString(string(r))
}

func TestEscapeEveryCharacter(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		in := "a" + string(r) + "b"
		for _, c := range Escape(in) {
			if deceives(c) {
				t.Fatalf("U+%04X is shown as U+%04X", r, c)
			}
		}
	}
}
