package main

import (
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype"
	"github.com/go-text/typesetting/font/opentype/tables"
	"github.com/go-text/typesetting/fontscan"
)

// The fonts that the dialog carries have no Thai and no Chinese, Japanese or Korean: those it takes from the system's
// font files. It looks at their names first, so that Thai is found in the first file or two that it opens, and writes
// nothing: package fontscan, which could search as well, keeps an index in the user's cache.

// How much is looked at before the letters count as not found.
const (
	searchTime  = 2 * time.Second
	searchFiles = 20_000 // in each list of folders
)

// systemFonts gives the folders with fonts, each list to be searched only when those before it don't suffice: first the
// standard ones, the system's before the person's, then all that fontconfig's settings name.
var systemFonts = []func() []string{
	func() []string {
		folders := []string{"/usr/share/fonts", "/usr/local/share/fonts"}
		if home, err := os.UserHomeDir(); err == nil {
			folders = append(folders, filepath.Join(home, ".local/share/fonts"), filepath.Join(home, ".fonts"))
		}
		return folders
	},
	func() []string {
		folders, _ := fontscan.DefaultFontDirectories(silent{})
		return folders
	},
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// complete adds fonts of the folders for the characters of text that t lacks, as far as it finds any.
func (t *typefaces) complete(text string, folders []func() []string) {
	wanted := sets(t.lacks(text))
	until := time.Now().Add(searchTime)
	seen := make(map[string]bool)
	for _, list := range folders {
		if len(wanted) == 0 {
			return
		}
		files := fontFiles(list(), until)
		for _, file := range files {
			if len(wanted) == 0 || time.Now().After(until) {
				return
			}
			if seen[file] {
				continue
			}
			seen[file] = true
			face := bestFace(file, wanted, font.WeightNormal, "")
			if face == nil {
				continue
			}
			var found [][]rune
			wanted = slices.DeleteFunc(wanted, func(set []rune) bool {
				if !draws(face, set) {
					return false
				}
				found = append(found, set)
				return true
			})
			if len(found) > 0 {
				t.add(face, boldOf(face, file, files, found))
				t.makeRoom(found)
			}
		}
	}
}

// add lets a font stand in for letters that the others lack; bold may be nil.
func (t *typefaces) add(regular, bold *font.Face) {
	t.regular, t.mono = append(t.regular, regular), append(t.mono, regular)
	if bold != nil {
		t.bold = append(t.bold, bold)
	}
	t.bold = append(t.bold, regular)
}

// makeRoom makes lines high enough for sets of characters.
func (t *typefaces) makeRoom(found [][]rune) {
	const size = 64
	for _, set := range found {
		text := string(set)
		if len(set) > 1 {
			text = thaiStacks
		}
		for _, face := range []typeface{t.regular, t.bold, t.mono} {
			above, below := reach(span{text, style{face: face, size: size}})
			t.above, t.below = max(t.above, above/size+0.02), max(t.below, below/size+0.02) // 0.02 for soft edges
		}
	}
}

// thai is the Thai that every Thai font has: letters, vowels, marks and digits.
var thai = func() []rune {
	var list []rune
	for _, r := range [][2]rune{{0x0E01, 0x0E3A}, {0x0E40, 0x0E4C}, {0x0E50, 0x0E59}} {
		for c := r[0]; c <= r[1]; c++ {
			list = append(list, c)
		}
	}
	return list
}()

// thaiStacks has the letters, each with each pair of marks, that reach highest and lowest.
var thaiStacks = func() string {
	var b strings.Builder
	for _, letter := range "กปฬฐฎญ" {
		for _, vowel := range []string{"", "ั", "ิ", "ี", "ึ", "ื", "็", "ุ", "ู"} {
			for _, tone := range "่้๊๋์" {
				b.WriteString(string(letter) + vowel + string(tone))
			}
		}
	}
	return b.String()
}()

// sets parts characters into those that one font must have together. Thai is such a set, for a mark and its letter must
// be of one font; every other character is alone.
func sets(characters []rune) [][]rune {
	var list [][]rune
	hasThai := false
	for _, r := range characters {
		switch {
		case !slices.Contains(thai, r):
			list = append(list, []rune{r})
		case !hasThai:
			list, hasThai = append(list, thai), true
		}
	}
	return list
}

func hasAll(c font.Cmap, set []rune) bool {
	return !slices.ContainsFunc(set, func(r rune) bool {
		_, ok := c.Lookup(r)
		return !ok
	})
}

// fontFiles lists the font files below folders, the likeliest first.
func fontFiles(folders []string, until time.Time) []string {
	var list []string
	for _, folder := range folders {
		_ = fs.WalkDir(os.DirFS(folder), ".", func(name string, d fs.DirEntry, err error) error {
			switch {
			case len(list) >= searchFiles || time.Now().After(until):
				return fs.SkipAll
			case err != nil || d.IsDir(): // a folder that can't be read is left out
			case slices.Contains([]string{".ttf", ".otf", ".ttc", ".otc"}, strings.ToLower(filepath.Ext(name))):
				list = append(list, filepath.Join(folder, name))
			}
			return nil
		})
	}
	ranks := make(map[string]int, len(list))
	for _, file := range list {
		ranks[file] = rank(file)
	}
	slices.SortStableFunc(list, func(a, b string) int { return ranks[a] - ranks[b] })
	return list
}

// thaiSans are Thai fonts that read well on a screen, the best first, as their files are called.
var thaiSans = []string{
	"notosansthai", "notosansthaiui", "loma", "garuda", "waree", "umpush", "ibmplexsansthai", "droidsansthai",
	"leelawui", "leelawad", "tahoma", "sukhumvitset", "thonburi",
}

// rank orders font files by their names: known Thai fonts, then upright sans-serif ones of ordinary weight, then others.
func rank(file string) int {
	family, style := nameOf(file)
	if i := slices.Index(thaiSans, family); i >= 0 && (style == "" || style == "-regular" || style[0] == '[') {
		return i
	}
	contains := func(words ...string) int {
		if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(family+style, w) }) {
			return 1
		}
		return 0
	}
	return len(thaiSans) + 1 - contains("sans") + 2*contains("serif", "looped", "mono", "type") +
		4*contains("bold", "italic", "oblique", "light", "thin", "medium", "black", "condensed")
}

// nameOf parts a font file's name, “NotoSansThai-Bold.ttf”, into “notosansthai” and “-bold”.
func nameOf(file string) (family, style string) {
	name := strings.ToLower(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)))
	end := strings.IndexAny(name, "-[")
	if end < 0 {
		end = len(name)
	}
	return name[:end], name[end:]
}

// bestFace gives the upright font of a file, which may be a collection, whose weight is nearest: one of the family that
// has all of the sets, or without a family one that has any. It is nil when there is none.
func bestFace(file string, wanted [][]rune, weight font.Weight, family string) *font.Face {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	loaders, err := opentype.NewLoaders(f)
	if err != nil {
		return nil
	}
	var best *opentype.Loader
	least := math.Inf(1)
	for _, l := range loaders {
		has := coverage(l)
		if has == nil {
			continue
		}
		lacks := func(set []rune) bool { return !hasAll(has, set) }
		if family == "" && !slices.ContainsFunc(wanted, func(s []rune) bool { return !lacks(s) }) ||
			family != "" && slices.ContainsFunc(wanted, lacks) {
			continue
		}
		d, _ := font.Describe(l, nil)
		off := math.Abs(float64(d.Aspect.Weight - weight))
		if d.Aspect.Style != font.StyleNormal || d.Aspect.Stretch != font.StretchNormal {
			off += 1000
		}
		if family != "" && (font.NormalizeFamily(d.Family) != family || off > 150) {
			continue
		}
		if off < least {
			best, least = l, off
		}
	}
	if best == nil {
		return nil
	}
	loaded, err := font.NewFont(best)
	if err != nil {
		return nil
	}
	return font.NewFace(loaded)
}

// boldOf gives the bold of a font, in its own file or in one beside it with a like name; nil when there is none.
func boldOf(regular *font.Face, file string, files []string, wanted [][]rune) *font.Face {
	family := font.NormalizeFamily(regular.Describe().Family)
	start, _ := nameOf(file)
	for _, f := range files {
		name, _ := nameOf(f)
		if f != file && (name != start || filepath.Dir(f) != filepath.Dir(file)) {
			continue
		}
		face := bestFace(f, wanted, font.WeightBold, family)
		if face != nil && !slices.ContainsFunc(wanted, func(set []rune) bool { return !draws(face, set) }) {
			return face
		}
	}
	return nil
}

// draws reports whether a font has a drawing of its own for each character of a set. There are fonts that have every
// character as the same box or as nothing; they also have U+FDD0, which is no character.
func draws(face *font.Face, set []rune) bool {
	if _, ok := face.NominalGlyph(0xFDD0); ok {
		return false
	}
	drawn := make(map[font.GID]bool, len(set))
	for _, r := range set {
		glyph, ok := face.NominalGlyph(r)
		if !ok || drawn[glyph] {
			return false
		}
		drawn[glyph] = true
		if outline, ok := face.GlyphData(glyph).(font.GlyphOutline); !ok || len(outline.Segments) == 0 {
			return false
		}
	}
	return true
}

// coverage gives the characters of a font without reading the rest of it; nil when it can't be read.
func coverage(l *opentype.Loader) font.Cmap {
	raw, err := l.RawTable(opentype.MustNewTag("cmap"))
	if err != nil {
		return nil
	}
	table, _, err := tables.ParseCmap(raw)
	if err != nil {
		return nil
	}
	c, _, err := font.ProcessCmap(table, tables.FPNone)
	if err != nil {
		return nil
	}
	return c
}
