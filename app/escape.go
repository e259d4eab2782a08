package app

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Escape makes a path, a name or a command safe to show: what a person reads is what is there. It lets through ASCII,
// Latin letters with the usual marks, Thai, Chinese, Japanese and Korean as they are, and Cyrillic and Greek words that
// can't be taken for Latin ones. Every other character stands as its number, such as ⟨U+202E⟩: controls and newlines,
// characters that turn the writing direction, that are invisible or only look like a space, marks that hide on or in
// another character, and look-alikes of what is let through (“／”, “а” in a Latin word, “ﬁ”, “–”). A byte that is no
// UTF-8 stands as ⟨xFF⟩. A space is escaped where it can't be seen: at either end and after another.
//
// Two different texts never give the same result, and nothing is left out. A text that is wholly in decomposed form, as
// macOS writes file names, is shown composed, with ⟨NFD⟩ at its end.
//
// Not covered: ASCII letters that resemble each other (l and I), and CJK characters that do. Arabic, Hebrew, the Indic
// scripts and emoji are safe but unreadable: their characters stand as numbers.
func Escape(s string) string { return visible(s, names) }

// escapeProse is Escape for sentences: it also lets typographic quotes, dashes and dots through.
func escapeProse(s string) string { return visible(s, prose) }

// escapeDiff is Escape for the lines of a diff: spaces stand as they are but at the end of a line, where they can't be seen,
// and a tab is an arrow and three spaces. What begins a line says what becomes of it, and isn't part of its text.
func escapeDiff(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		line, ended := strings.CutSuffix(line, "\n")
		if line != "" && strings.ContainsRune(" +-@", rune(line[0])) {
			b.WriteByte(line[0])
			line = line[1:]
		}
		b.WriteString(visible(line, code))
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// remarks are the lines of a diff that are none of a text and name no file (see approval.Request.Diff), with the messages that say
// the same to the person. The number or text in one is put into the message.
var remarks = []struct {
	line           *regexp.Regexp
	message, value string // no value: it is a number
}{
	{regexp.MustCompile(`^\\ No newline at end of file()$`), "diff_no_end", "None"}, // nothing is put in
	{regexp.MustCompile(`^\(([0-9]{1,15}) lines? more\)$`), "diff_more", ""},
	{regexp.MustCompile(`^\(([0-9]{1,15}) bytes? that are not text\)$`), "diff_no_text", ""},
	{regexp.MustCompile(`^\(a link to (.*)\)$`), "diff_link", "To"},
}

// diff shows a diff of ours: as escapeDiff does, with remarks in the person's language. A line that isn't known stands as it is.
func (w Words) diff(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		line, ended := strings.CutSuffix(line, "\n")
		b.WriteString(w.diffLine(line))
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func (w Words) diffLine(line string) string {
	for _, r := range remarks {
		m := r.line.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if r.value != "" {
			return w.say(r.message, holes{r.value: Escape(m[1])})
		}
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err == nil {
			return w.count(r.message, n, nil)
		}
	}
	return escapeDiff(line)
}

// style is what is to be shown. The zero value lets least through.
type style uint8

const (
	names style = iota
	prose
	code
)

func visible(s string, as style) string {
	ending := ""
	if utf8.ValidString(s) && !norm.NFC.IsNormalString(s) {
		if c := norm.NFC.String(s); norm.NFD.String(c) == s {
			s, ending = c, "⟨NFD⟩"
		}
	}
	var b strings.Builder
	text := decode(s)
	for i := 0; i < len(text); {
		end := wordEnd(text, i)
		foreign := i < end && hideForeign(text[i:end])
		for end = max(end, i+1); i < end; i++ {
			r := text[i]
			switch {
			case r < 0:
				fmt.Fprintf(&b, "⟨x%02X⟩", -r)
			case as == code && r == '\t':
				b.WriteString("→   ")
			case as == code && r == ' ' && at(text, i+1) != none:
				b.WriteByte(' ')
			case plain(text, i, foreign, as == prose):
				b.WriteRune(r)
			default:
				fmt.Fprintf(&b, "⟨U+%04X⟩", r)
			}
		}
	}
	return b.String() + ending
}

// decode gives the characters of s; a byte that is no UTF-8 is given as its negative.
func decode(s string) []rune {
	text := make([]rune, 0, len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			r = -rune(s[i])
		}
		text = append(text, r)
		i += n
	}
	return text
}

// wordEnd is the end of the word that starts at i; i itself when none does.
func wordEnd(text []rune, i int) int {
	for i < len(text) && text[i] >= 0 && unicode.In(text[i], unicode.L, unicode.M, unicode.N) {
		i++
	}
	return i
}

// hideForeign reports whether the Cyrillic and Greek letters of a word must be shown as numbers: the word mixes them with
// each other or with Latin, or consists of letters alone that look like another script's.
func hideForeign(word []rune) bool {
	var latin, cyrillic, greek, distinct bool
	for _, r := range word {
		switch {
		case unicode.Is(unicode.Latin, r):
			latin = true
		case unicode.Is(unicode.Cyrillic, r):
			cyrillic = true
			distinct = distinct || !strings.ContainsRune(lookAlikes, r)
		case unicode.Is(unicode.Greek, r):
			greek = true
			distinct = distinct || !strings.ContainsRune(lookAlikes, r)
		}
	}
	return latin && (cyrillic || greek) || cyrillic && greek || !distinct
}

// Cyrillic and Greek letters that look like a Latin letter, a digit, or each other (after Unicode's confusables.txt).
const lookAlikes = "АВЕЅЗІЈКМНОРСТУХЬГПФЛ" + "аеорсухѕіјкьзб" + "ЀЁЇЃЌЍЎЋЂҐѐёїѓќѝўћђґ" +
	"ΑΒΕΖΗΙΚΜΝΟΡΤΥΧΓΠΦΛ" + "αβικνορστυχωηε" + "ΪΫϊϋΆΈΉΊΌΎάέήίόύώΐΰ"

// plain reports whether the character at i can be shown as it is.
func plain(text []rune, i int, hideForeign, prose bool) bool {
	r := text[i]
	before, after := at(text, i-1), at(text, i+1)
	switch {
	case r == ' ':
		return before != none && after != none && before != ' '
	case r > ' ' && r <= '~':
		return true
	case r < 0x80:
		return false
	case r >= 0x0E00 && r <= 0x0E7F:
		return plainThai(text, i)
	case unicode.Is(unicode.Latin, r):
		return plainLatin(r)
	case unicode.Is(cyrillicOrGreek, r):
		return !hideForeign && norm.NFC.IsNormalString(string(r))
	case unicode.Is(cjk, r):
		return unicode.IsGraphic(r) && norm.NFC.IsNormalString(string(r))
	}
	return prose && strings.ContainsRune("‘’“”–—…•", r)
}

// none stands for the character before the first and after the last.
const none rune = 0

func at(text []rune, i int) rune {
	if i < 0 || i >= len(text) {
		return none
	}
	return text[i]
}

// plainLatin lets an ASCII letter with marks through (é, ệ), and the letters that look like nothing else.
func plainLatin(r rune) bool {
	if strings.ContainsRune("ßæœøđðþłÆŒØĐÞŁ", r) {
		return true
	}
	parts := []rune(norm.NFD.String(string(r)))
	return len(parts) > 1 && parts[0] < 0x80 && norm.NFC.IsNormalString(string(r))
}

// The Cyrillic and Greek letters in use today; older and borrowed ones have more doubles.
var cyrillicOrGreek = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x0386, Hi: 0x0386, Stride: 1},
	{Lo: 0x0388, Hi: 0x038A, Stride: 1},
	{Lo: 0x038C, Hi: 0x038C, Stride: 1},
	{Lo: 0x038E, Hi: 0x03A1, Stride: 1},
	{Lo: 0x03A3, Hi: 0x03CE, Stride: 1},
	{Lo: 0x0400, Hi: 0x045F, Stride: 1},
	{Lo: 0x0490, Hi: 0x0491, Stride: 1},
}}

// Chinese, Japanese and Korean writing with its punctuation. Left out are the ideographic space (U+3000), the brackets
// that look like the ones an escape stands in (U+3008, U+3009), “゠” and the compatibility forms.
var cjk = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x3001, Hi: 0x3002, Stride: 1},
		{Lo: 0x3005, Hi: 0x3007, Stride: 1},
		{Lo: 0x300A, Hi: 0x3011, Stride: 1},
		{Lo: 0x3014, Hi: 0x3015, Stride: 1},
		{Lo: 0x301C, Hi: 0x301C, Stride: 1},
		{Lo: 0x3041, Hi: 0x3096, Stride: 1},
		{Lo: 0x309D, Hi: 0x309E, Stride: 1},
		{Lo: 0x30A1, Hi: 0x30FE, Stride: 1},
		{Lo: 0x3105, Hi: 0x312F, Stride: 1},
		{Lo: 0x3400, Hi: 0x4DBF, Stride: 1},
		{Lo: 0x4E00, Hi: 0x9FFF, Stride: 1},
		{Lo: 0xAC00, Hi: 0xD7A3, Stride: 1},
		{Lo: 0xFF01, Hi: 0xFF01, Stride: 1},
		{Lo: 0xFF08, Hi: 0xFF09, Stride: 1},
		{Lo: 0xFF0C, Hi: 0xFF0C, Stride: 1},
		{Lo: 0xFF1F, Hi: 0xFF1F, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x20000, Hi: 0x2A6DF, Stride: 1},
		{Lo: 0x2A700, Hi: 0x2EBE0, Stride: 1},
		{Lo: 0x30000, Hi: 0x323AF, Stride: 1},
	},
}

// plainThai lets Thai through where every character shows: a mark must sit on a consonant, at most one vowel mark and
// then at most one tone mark, for others are drawn on top of each other. Two characters that together look like a third
// (เเ for แ, ◌ํ with า for ำ) are no Thai spelling.
func plainThai(text []rune, i int) bool {
	r, before, after := text[i], at(text, i-1), at(text, i+1)
	switch {
	case thaiVowelMark(r):
		return thaiConsonant(before)
	case thaiToneMark(r):
		return thaiConsonant(before) || thaiVowelMark(before) && thaiConsonant(at(text, i-2))
	case r == 0x0E33: // sara am
		return thaiConsonant(before) || thaiToneMark(before) && thaiConsonant(at(text, i-2))
	case r == 0x0E40: // sara e; two look like sara ae
		return before != r && after != r
	case r == 0x0E45: // lakkhangyao looks like sara aa, but for its place
		return before == 0x0E24 || before == 0x0E26
	case r == 0x0E4D, r == 0x0E4E: // nikhahit and yamakkan serve Pali
		return false
	}
	return r >= 0x0E01 && r <= 0x0E32 && r != 0x0E31 || r >= 0x0E3F && r <= 0x0E46 || r >= 0x0E4F && r <= 0x0E5B
}

func thaiConsonant(r rune) bool { return r >= 0x0E01 && r <= 0x0E2E }

func thaiVowelMark(r rune) bool {
	return r == 0x0E31 || r >= 0x0E34 && r <= 0x0E3A || r == 0x0E47
}

// thaiToneMark also takes thanthakhat, which stands in the same place.
func thaiToneMark(r rune) bool { return r >= 0x0E48 && r <= 0x0E4C }
