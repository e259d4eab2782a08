//go:build linux

package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype"
)

// What isn't a font, whatever it is called, is passed over.
func TestJunkAmongFonts(t *testing.T) {
	folder := fonts(t, noto)
	below := filepath.Join(folder, "truetype", "some")
	must(t,
		os.WriteFile(filepath.Join(folder, "NotoSansThai.ttf"), []byte("no font"), 0o644),
		os.WriteFile(filepath.Join(folder, "Loma.ttf"), nil, 0o644),
		os.Mkdir(filepath.Join(folder, "Garuda.ttf"), 0o755),
		os.Symlink("nowhere", filepath.Join(folder, "Waree.ttf")),
		os.Symlink("..", filepath.Join(below, "up")),
		syscall.Mkfifo(filepath.Join(folder, "Umpush.ttf"), 0o644),
	)
	if f := loaded(t, folder); !f.has('ก') {
		t.Error("no Thai")
	}
	f := loaded(t, filepath.Join(folder, "not there"))
	if f.has('ก') || len(f.regular) != 2 {
		t.Error("Thai from nowhere")
	}
}

// A later list is searched only for what those before it don't have.
func TestFontFolders(t *testing.T) {
	asked := ""
	list := func(name, folder string) func() []string {
		return func() []string { asked += name; return []string{folder} }
	}
	thai, none := fonts(t, "*/tlwg/Loma*"), fonts(t, "")
	for _, c := range []struct {
		text   string
		first  string
		asked  string
		family string
	}{
		{"abc", none, "", ""},
		{"ก", thai, "a", "Loma"},
		{"ก", none, "ab", "Noto Sans Thai"},
		{"ก\U0010FFFD", thai, "ab", "Loma"},
	} {
		f, err := loadTypefaces()
		must(t, err)
		asked = ""
		f.complete(c.text, []func() []string{list("a", c.first), list("b", fonts(t, noto))})
		family := ""
		if len(f.regular) > 2 {
			family = f.regular[2].Describe().Family
		}
		if asked != c.asked || family != c.family {
			t.Errorf("%q: asked %q and got %q, want %q and %q", c.text, asked, family, c.asked, c.family)
		}
	}
}

func TestFontFiles(t *testing.T) {
	want := []string{
		"a/NotoSansThai-Regular.ttf", "b/NotoSansThai[wdth,wght].ttf", "a/Loma.otf", // known
		"a/NotoSansCJK-Regular.ttc", "b/FreeSans.TTF", "a/Kinnari.ttf", "b/NotoSansThaiLooped-Regular.ttf", "b/TlwgMono.ttf",
		"a/NotoSansThai-Bold.ttf", "a/Loma-Oblique.otf",
	}
	folder := t.TempDir()
	for _, name := range append(want, "a/readme.txt", "a/fonts.dir", "a/Loma.pfb", "a/Loma.woff2") {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755), os.WriteFile(filepath.Join(folder, name), nil, 0o644))
	}
	var got []string
	for _, file := range fontFiles([]string{filepath.Join(folder, "a"), filepath.Join(folder, "b"), "/nowhere"}, time.Now().Add(long)) {
		got = append(got, strings.TrimPrefix(file, folder+"/"))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if got := fontFiles([]string{folder}, time.Now().Add(-time.Second)); len(got) > 0 {
		t.Errorf("too late: %q", got)
	}
}

// A font that has characters but draws nothing, or the same for all, doesn't count: the next one is taken.
func TestDrawsNothing(t *testing.T) {
	for _, c := range []struct {
		name        string
		first, last uint32
		glyph       uint32 // of all of them
	}{
		{"the same box for everything", 0, 0x10FFFF, 36},
		{"the same box for Thai", 0x0E00, 0x0E7F, 36},
		{"blanks for Thai", 0x0E00, 0x0E7F, 3},
	} {
		folder := t.TempDir()
		odd := filepath.Join(folder, "NotoSansThai-Regular.ttf")
		must(t, os.WriteFile(odd, withCharacters(t, c.first, c.last, c.glyph), 0o644))
		if bestFace(odd, [][]rune{thai}, font.WeightNormal, "") == nil {
			t.Errorf("%s: no font, or it hasn't the characters", c.name)
		}
		f := loaded(t, folder)
		if f.complete("漢", only(folder)); f.has('ก') || f.has('漢') {
			t.Errorf("%s counts", c.name)
		}
		fill(t, folder, "*/tlwg/Loma*")
		if got := loaded(t, folder).regular.ResolveFace('ก').Describe().Family; got != "Loma" {
			t.Errorf("%s: then %s", c.name, got)
		}
	}
	if face := loaded(t, fonts(t, noto)).regular.ResolveFace('ก'); draws(face, []rune(" ")) || !draws(face, []rune("ก")) {
		t.Error("a space has ink, or a letter none")
	}
}

// withCharacters is a font that has the characters from first to last, all with one glyph. See the OpenType specification, “cmap”, format 13.
func withCharacters(t *testing.T, first, last, glyph uint32) []byte {
	t.Helper()
	files, err := filepath.Glob("/usr/share/fonts/*/noto/NotoSansThai-Regular.ttf")
	if err != nil || len(files) != 1 {
		t.Fatal("no Noto Sans Thai: run packaging/setup", err)
	}
	data, err := os.ReadFile(files[0])
	must(t, err)
	l, err := opentype.NewLoader(bytes.NewReader(data))
	must(t, err)
	var list []opentype.Table
	for _, tag := range l.Tables() {
		content, err := l.RawTable(tag)
		must(t, err)
		if tag == opentype.MustNewTag("cmap") {
			content = binary.BigEndian.AppendUint16(nil, 0)                         // version
			for _, v := range []uint16{1, 3, 10, 0, 12, 13, 0, 0, 28, 0, 0, 0, 1} { // one table at 12, of 28 bytes, with one group
				content = binary.BigEndian.AppendUint16(content, v)
			}
			for _, v := range []uint32{first, last, glyph} {
				content = binary.BigEndian.AppendUint32(content, v)
			}
		}
		list = append(list, opentype.Table{Tag: tag, Content: content})
	}
	return opentype.WriteTTF(list)
}
