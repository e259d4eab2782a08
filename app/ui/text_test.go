//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-text/typesetting/font"
)

// loaded gives the carried fonts and those that a font folder gives for Thai.
func loaded(t *testing.T, folder string) *typefaces {
	t.Helper()
	f, err := loadTypefaces()
	if err != nil {
		t.Fatal(err)
	}
	f.complete("ภาษาไทย", only(folder))
	return f
}

func only(folder string) []func() []string {
	return []func() []string{func() []string { return []string{folder} }}
}

// fonts makes a font folder; see fill.
func fonts(t *testing.T, pattern string) string {
	t.Helper()
	folder := t.TempDir()
	fill(t, folder, pattern)
	return folder
}

// fill puts those of the system's fonts into a folder whose path below /usr/share/fonts fits a pattern; for "" none.
func fill(t *testing.T, folder, pattern string) {
	t.Helper()
	below := filepath.Join(folder, "truetype", "some")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	if pattern == "" {
		return
	}
	files, err := filepath.Glob("/usr/share/fonts/" + pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no fonts %s: run packaging/setup (%v)", pattern, err)
	}
	for _, file := range files {
		if err := os.Symlink(file, filepath.Join(below, filepath.Base(file))); err != nil {
			t.Fatal(err)
		}
	}
}

const (
	noto = "*/noto/*" // fonts-noto-core
	tlwg = "*/tlwg/*" // fonts-thai-tlwg
)

// Whichever Thai font there is, each mark must be drawn on its letter and clear of the mark below it, and no ink may
// leave its line.
func TestThaiMarks(t *testing.T) {
	for _, c := range []struct{ pattern, family string }{
		{noto, "Noto Sans Thai"},
		{tlwg, "Loma"},
		{"*/tlwg/Garuda*", "Garuda"},
		{"*/tlwg/Waree*", "Waree"},
		{"*/tlwg/Umpush*", "Umpush"},
		// Not known by name:
		{"*/tlwg/Norasi*", "Norasi"},
		{"*/tlwg/Sawasdee*", "Sawasdee"},
		{"*/noto/NotoSerifThai*", "Noto Serif Thai"},
	} {
		t.Run(c.pattern, func(t *testing.T) {
			f := loaded(t, fonts(t, c.pattern))
			for name, face := range map[string]typeface{"regular": f.regular, "bold": f.bold, "mono": f.mono} {
				weight := font.WeightNormal
				if name == "bold" {
					weight = font.WeightBold
				}
				got := face.ResolveFace('ก').Describe()
				want := font.Description{Family: c.family, Aspect: font.Aspect{Style: font.StyleNormal, Weight: weight, Stretch: font.StretchNormal}}
				if got != want {
					t.Errorf("%s is %v, want %v", name, got, want)
				}
				testMarks(t, f, name, face)
			}
		})
	}
}

func testMarks(t *testing.T, f *typefaces, name string, face typeface) {
	t.Helper()
	for _, letter := range "กทปฝฟฐญฎฬ" {
		for _, vowel := range []string{"", "ั", "ิ", "ี", "ึ", "ื", "็", "ุ", "ู"} {
			for _, tone := range []string{"", "่", "้", "๊", "๋", "์"} {
				s := span{string(letter) + vowel + tone, style{face: face, size: 100}}
				inks := inked(s)
				if want := len([]rune(s.text)); len(inks) < want {
					t.Errorf("%s %q has %d glyphs, want %d", name, s.text, len(inks), want)
				}
				for i, a := range inks {
					if a.top > 100*f.above || a.bottom < -100*f.below {
						t.Errorf("%s %q leaves its line: %.0f to %.0f", name, s.text, a.top, a.bottom)
					}
					if i > 0 && (a.right > inks[0].right+30 || a.left < inks[0].left-30) {
						t.Errorf("%s %q: a mark stands off its letter", name, s.text)
					}
					for _, b := range inks[min(1, i):i] { // tall letters reach up beside their marks
						both := min(a.top, b.top) - max(a.bottom, b.bottom)
						beside := min(a.right, b.right) - max(a.left, b.left)
						if both > 10 && beside > 2 {
							t.Errorf("%s %q: two parts overlap by %.0f×%.0f", name, s.text, beside, both)
						}
					}
				}
			}
		}
	}
}

type ink struct{ left, right, top, bottom float32 }

// inked gives where each glyph of s has ink, from the start of its base line.
func inked(s span) []ink {
	var list []ink
	x := float32(0)
	for _, run := range shape(s) {
		for _, g := range run.Glyphs {
			left, top := x+float32(g.XOffset+g.XBearing)/64, float32(g.YOffset+g.YBearing)/64
			if g.Width != 0 {
				list = append(list, ink{left, left + float32(g.Width)/64, top, top + float32(g.Height)/64})
			}
			x += float32(g.Advance) / 64
		}
	}
	return list
}

func TestWrap(t *testing.T) {
	f := loaded(t, fonts(t, noto))
	prose := style{face: f.regular, size: 15}
	exact := style{face: f.mono, size: 15, exact: true}
	cell := measure(span{"m", exact})
	for _, c := range []struct {
		name  string
		text  string
		style style
		width float32
		want  []string
	}{
		{"nothing", "", prose, 100, nil},
		{"one line", "a b c", prose, 1000, []string{"a b c"}},
		{"words", "aaa bbb ccc", style{face: f.mono, size: 15}, 8 * cell, []string{"aaa bbb ", "ccc"}},
		{"a word that is too long", "aaaaaaaaa", style{face: f.mono, size: 15}, 4 * cell, []string{"aaaa", "aaaa", "a"}},
		{"a path", "/ab/cd/ef", exact, 7 * cell, []string{"/ab/cd/", "ef"}},
		{"a long name", "/abcdefgh", exact, 4 * cell, []string{"/", "abcd", "efgh"}},
		{"a space never ends a line", "abc def", exact, 4 * cell, []string{"abc", " def"}},
		{"an escape stays whole", "abc⟨U+202E⟩", exact, 9 * cell, []string{"abc", "⟨U+202E⟩"}},
		{"an escape that is too long", "⟨U+202E⟩", exact, 3 * cell, []string{"⟨U+202E⟩"}},
		{"no width at all", "ab", exact, 0, []string{"a", "b"}},
	} {
		var got []string
		for _, line := range wrap([]span{{c.text, c.style}}, c.width+1) {
			text := ""
			for _, s := range line {
				text += s.text
			}
			got = append(got, text)
		}
		if strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Whatever the width, wrapping loses nothing and parts no Thai letter from its vowels and marks.
func TestWrapThai(t *testing.T) {
	f := loaded(t, fonts(t, noto))
	const text = "/รูปถ่ายที่เชียงใหม่/น้ำตกแม่สาและผู้ร่วมเดินทางทั้งหมด ปี๒๕๖๘"
	for _, exact := range []bool{false, true} {
		for width := float32(40); width < 500; width += 7 {
			whole := ""
			for _, line := range wrap([]span{{text, style{face: f.mono, size: 14, exact: exact}}}, width) {
				part := ""
				for _, s := range line {
					part += s.text
				}
				runes := []rune(part)
				if strings.ContainsRune("ะาำิีึืุู็่้๊๋์ั", runes[0]) {
					t.Errorf("at %v a line begins %q", width, part)
				}
				if exact && strings.HasSuffix(part, " ") {
					t.Errorf("at %v a line ends with a space: %q", width, part)
				}
				if last := runes[len(runes)-1]; strings.ContainsRune("เแโใไ", last) {
					t.Errorf("at %v a line ends %q", width, part)
				}
				whole += part
			}
			if whole != text {
				t.Errorf("at %v: %q", width, whole)
			}
		}
	}
}

func TestReadable(t *testing.T) {
	const carried = "abc /x_-. ⟨U+202E⟩ é ệ Дом Ωμέγα “”–…"
	with, without := fonts(t, noto), fonts(t, "")
	for _, c := range []struct{ folder, in, want string }{
		{with, carried, carried},
		{without, carried, carried},
		{with, "ไทย ๑", "ไทย ๑"},
		{without, "ไทย", "⟨U+0E44⟩⟨U+0E17⟩⟨U+0E22⟩"},
		{with, "a\U0010FFFDb", "a⟨U+10FFFD⟩b"}, // no font has it
	} {
		if got := loaded(t, c.folder).readable(c.in); got != c.want {
			t.Errorf("readable(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}
