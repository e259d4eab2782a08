package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/theme"
	"github.com/go-text/render"
	"github.com/go-text/typesetting/di"
	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/segmenter"
	"github.com/go-text/typesetting/shaping"
	"golang.org/x/image/math/fixed"
)

// Fyne's own text parts Thai marks from their letters where it wraps, and cuts what hangs below a line that mixes fonts.
// So the dialog shapes, wraps and draws its text here: from Fyne's fonts, and for what they lack from the system's.

// typeface is a font and those that stand in for the letters it lacks.
type typeface []*font.Face

// ResolveFace implements shaping.Fontmap.
func (t typeface) ResolveFace(r rune) *font.Face {
	for _, f := range t {
		if _, ok := f.NominalGlyph(r); ok {
			return f
		}
	}
	return t[0]
}

func (t typeface) has(r rune) bool {
	_, ok := t.ResolveFace(r).NominalGlyph(r)
	return ok
}

// typefaces are the three that a dialog uses. They draw the same characters.
type typefaces struct {
	regular, bold, mono typeface
	// above and below are how far a line reaches from its base, as parts of its size: as far as any ink does.
	above, below float32
}

// loadTypefaces reads the fonts that the program carries, which are Fyne's: Latin, Greek and Cyrillic.
func loadTypefaces() (*typefaces, error) {
	var faces [3]*font.Face
	for i, carried := range []fyne.Resource{theme.DefaultTextFont(), theme.DefaultTextBoldFont(), theme.DefaultTextMonospaceFont()} {
		face, err := font.ParseTTF(bytes.NewReader(carried.Content()))
		if err != nil {
			return nil, fmt.Errorf("reading a font: %w", err)
		}
		faces[i] = face
	}
	sans, bold, mono := faces[0], faces[1], faces[2]
	return &typefaces{
		regular: typeface{sans, mono}, bold: typeface{bold, mono}, mono: typeface{mono, sans},
		above: 1.2, below: 0.48, // enough for most Thai: two marks above a letter, one below
	}, nil
}

// lacks gives the characters of s that can't be drawn, each once.
func (t *typefaces) lacks(s string) []rune {
	var list []rune
	for _, r := range s {
		if !t.has(r) && !slices.Contains(list, r) {
			list = append(list, r)
		}
	}
	return list
}

func (t *typefaces) has(r rune) bool { return t.regular.has(r) && t.mono.has(r) && t.bold.has(r) }

// readable gives s with every character that can't be drawn as its number.
func (t *typefaces) readable(s string) string {
	var b strings.Builder
	for _, r := range s {
		if t.has(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		}
	}
	return b.String()
}

// style is how a text is drawn.
type style struct {
	face  typeface
	size  float32 // in Fyne's units, as all lengths here
	color color.Color
	// exact says that the text is a path or an identifier: it breaks after a slash or anywhere, never after a space,
	// which nobody would see at the end of a line.
	exact bool
}

// span is a piece of text in one style.
type span struct {
	text string
	style
}

// cluster is what a line can't be broken in: a letter with its marks, or an escape such as ⟨U+202E⟩.
type cluster struct {
	text  string
	face  typeface
	width float32
	// after says that a line may end after the cluster: 2 is a good place, 1 a bad one, 0 none.
	after int
}

// wrap breaks spans into lines of at most width. All spans must have the size of the first.
func wrap(spans []span, width float32) [][]span {
	var text []cluster
	var styles []style
	for _, s := range spans {
		for _, c := range clusters(s) {
			text, styles = append(text, c), append(styles, s.style)
		}
	}
	var lines [][]span
	for start := 0; start < len(text); {
		end, good, used := start, 0, float32(0)
		for end < len(text) && (used+text[end].width <= width || end == start) {
			used += text[end].width
			end++
			if text[end-1].after == 2 {
				good = end
			}
		}
		if end < len(text) {
			if good > start {
				end = good
			} else {
				for back := end; back > start; back-- {
					if text[back-1].after > 0 {
						end = back
						break
					}
				}
			}
		}
		lines = append(lines, join(text[start:end], styles[start:end]))
		start = end
	}
	return lines
}

func join(text []cluster, styles []style) []span {
	var line []span
	for i, c := range text {
		if last := len(line) - 1; last >= 0 && &line[last].face[0] == &styles[i].face[0] && line[last].color == styles[i].color {
			line[last].text += c.text
			continue
		}
		line = append(line, span{c.text, styles[i]})
	}
	return line
}

func clusters(s span) []cluster {
	runes := []rune(s.text)
	var seg segmenter.Segmenter
	seg.Init(runes)
	good := make(map[int]bool) // by the index of the rune after
	if !s.exact {
		for it := seg.LineIterator(); it.Next(); {
			l := it.Line()
			good[l.Offset+len(l.Text)] = true
		}
	}
	var list []cluster
	inEscape := false
	for it := seg.GraphemeIterator(); it.Next(); {
		g := it.Grapheme()
		text, end := string(g.Text), g.Offset+len(g.Text)
		if inEscape {
			list[len(list)-1].text += text
		} else {
			list = append(list, cluster{text: text, face: s.face})
		}
		switch {
		case strings.HasSuffix(text, "⟨"):
			inEscape = true
		case strings.HasPrefix(text, "⟩"):
			inEscape = false
		}
		c := &list[len(list)-1]
		switch {
		case good[end], s.exact && text == "/":
			c.after = 2
		case text == " ", end < len(runes) && partsThai(runes[end-1], runes[end]):
			c.after = 0
		default:
			c.after = 1
		}
	}
	for i := range list {
		list[i].width = measure(span{list[i].text, s.style})
	}
	return list
}

// partsThai reports whether a line break would part a Thai vowel from its consonant: those before it must not end a
// line, those after it must not begin one.
func partsThai(before, after rune) bool {
	return strings.ContainsRune("เแโใไ", before) || strings.ContainsRune("ะาำๅๆฯ", after)
}

var shaper shaping.HarfbuzzShaper

// shape gives the glyphs of a span, left to right.
func shape(s span) []shaping.Output {
	runes := []rune(s.text)
	var seg shaping.Segmenter
	var list []shaping.Output
	for _, in := range seg.Split(shaping.Input{
		Text: runes, RunEnd: len(runes), Direction: di.DirectionLTR, Size: fixed.Int26_6(s.size * 64), Face: s.face[0],
	}, s.face) {
		list = append(list, shaper.Shape(in))
	}
	return list
}

func measure(s span) float32 {
	var width fixed.Int26_6
	for _, run := range shape(s) {
		width += run.Advance
	}
	return float32(width) / 64
}

// reach gives how far the ink of a span reaches above and below its base.
func reach(s span) (above, below float32) {
	for _, run := range shape(s) {
		for _, g := range run.Glyphs {
			top := g.YOffset + g.YBearing
			above, below = max(above, float32(top)/64), max(below, -float32(top+g.Height)/64)
		}
	}
	return above, below
}

// draw gives the objects that show lines, one below the other.
func (t *typefaces) draw(lines [][]span) []fyne.CanvasObject {
	var list []fyne.CanvasObject
	y := float32(0)
	for _, line := range lines {
		width := float32(2) // for what leans over
		for _, s := range line {
			width += measure(s)
		}
		size := fyne.NewSize(float32(math.Ceil(float64(width))), line[0].size*(t.above+t.below))
		r := canvas.NewRaster(func(w, h int) image.Image { return t.paint(line, w, h, float32(w)/size.Width) })
		r.Resize(size)
		r.Move(fyne.NewPos(0, y))
		y += size.Height
		list = append(list, r)
	}
	return list
}

// paint draws a line into an image of w×h pixels.
func (t *typefaces) paint(line []span, w, h int, scale float32) image.Image {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	x := float32(0)
	for _, s := range line {
		pen := render.Renderer{FontSize: s.size, PixScale: scale, Color: s.color}
		for _, run := range shape(s) {
			pen.DrawShapedRunAt(run, img, int(x*scale+0.5), int(s.size*t.above*scale+0.5))
			x += float32(run.Advance) / 64
		}
	}
	return img
}
