package assets

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/fyne-io/oksvg"
	"github.com/srwiley/rasterx"
)

var update = flag.Bool("update", false, "write the PNG files")

// Every PNG file, from which SVG it is drawn, and how.
var icons = func() []icon {
	var list []icon
	for _, size := range []int{16, 32, 64, 128, 256, 512, 1024} {
		list = append(list, icon{fmt.Sprintf("icons/app-%d.png", size), "icons/app.svg", size, false})
	}
	for _, state := range []string{"idle", "working", "waiting"} {
		svg := "icons/tray-" + state + ".svg"
		list = append(list, icon{"icons/tray-" + state + ".png", svg, 64, false}, icon{"icons/tile-" + state + ".png", svg, 64, true})
	}
	return list
}()

type icon struct {
	png, svg string
	size     int
	tile     bool // white on the app icon's ground
}

const tile = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect x="0" y="0" width="32" height="32" rx="7" ry="7" fill="#0E4C5C"/></svg>`

func (i icon) render(t *testing.T) *image.RGBA {
	t.Helper()
	svg, err := os.ReadFile(i.svg)
	if err != nil {
		t.Fatal(err)
	}
	img := image.NewRGBA(image.Rect(0, 0, i.size, i.size))
	if !i.tile {
		drawSVG(t, img, svg, 0)
		return img
	}
	drawSVG(t, img, []byte(tile), 0)
	shape := image.NewRGBA(img.Rect)
	drawSVG(t, shape, svg, i.size/8)
	draw.DrawMask(img, img.Rect, image.NewUniform(color.White), image.Point{}, shape, image.Point{}, draw.Over)
	return img
}

func drawSVG(t *testing.T, img *image.RGBA, svg []byte, margin int) {
	t.Helper()
	shape, err := oksvg.ReadIconStream(bytes.NewReader(svg), oksvg.StrictErrorMode)
	if err != nil {
		t.Fatal(err)
	}
	w := img.Rect.Dx()
	shape.SetTarget(float64(margin), float64(margin), float64(w-2*margin), float64(w-2*margin))
	shape.Draw(rasterx.NewDasher(w, w, rasterx.NewScannerGV(w, w, img, img.Rect)), 1)
}

func TestIcons(t *testing.T) {
	for _, i := range icons {
		want := i.render(t)
		if *update {
			var b bytes.Buffer
			if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, want); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(i.png, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if d := difference(want, decode(t, i.png)); d > 4 { // processors round differently
			t.Errorf("%s isn't what %s gives (a channel differs by %d): go generate ./assets", i.png, i.svg, d)
		}
	}
	files, err := fs.Glob(os.DirFS("."), "icons/*.png")
	if err != nil || len(files) != len(icons) {
		t.Errorf("%d PNG files, %d expected (%v)", len(files), len(icons), err)
	}
}

func decode(t *testing.T, name string) *image.RGBA {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	got, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	img := image.NewRGBA(got.Bounds())
	draw.Draw(img, img.Rect, got, img.Rect.Min, draw.Src)
	return img
}

// difference is the largest one of any channel; 256 when the sizes differ.
func difference(a, b *image.RGBA) int {
	if a.Rect != b.Rect {
		return 256
	}
	most := 0
	for i := range a.Pix {
		most = max(most, int(a.Pix[i])-int(b.Pix[i]), int(b.Pix[i])-int(a.Pix[i]))
	}
	return most
}

// A template image is black with the shape in its alpha channel, and the three states must be told apart at a glance.
func TestTemplates(t *testing.T) {
	states := []*image.RGBA{decode(t, "icons/tray-idle.png"), decode(t, "icons/tray-working.png"), decode(t, "icons/tray-waiting.png")}
	for n, img := range states {
		for i := 0; i < len(img.Pix); i += 4 {
			if img.Pix[i] != 0 || img.Pix[i+1] != 0 || img.Pix[i+2] != 0 {
				t.Fatalf("state %d isn't black everywhere", n)
			}
		}
		other := states[(n+1)%3]
		differ := 0
		for i := 3; i < len(img.Pix); i += 4 {
			if (img.Pix[i] > 127) != (other.Pix[i] > 127) {
				differ++
			}
		}
		if share := differ * 100 / (64 * 64); share < 3 {
			t.Errorf("states %d and %d differ in %d %% of their area", n, (n+1)%3, share)
		}
	}
}

// A message is a string, or one string a plural form.
type message map[string]string

func (m *message) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*m = message{"other": s}
		return nil
	}
	return json.Unmarshal(b, (*map[string]string)(m))
}

var hole = regexp.MustCompile(`\{\{[^}]*\}\}|\*\*`)

// Each language has every message, with the same holes.
func TestTranslations(t *testing.T) {
	read := func(name string) map[string]message {
		data, err := Translations.ReadFile("translations/" + name)
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]message
		if err := json.Unmarshal(data, &m); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return m
	}
	english, thai := read("en.json"), read("th.json")
	if len(english) == 0 {
		t.Fatal("no messages")
	}
	for id, m := range english {
		want := hole.FindAllString(m["other"], -1)
		slices.Sort(want)
		for form, text := range thai[id] {
			got := hole.FindAllString(text, -1)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s (%s): Thai has %v, English %v", id, form, got, want)
			}
		}
		if thai[id]["other"] == "" {
			t.Errorf("%s has no Thai", id)
		}
	}
	for id := range thai {
		if english[id] == nil {
			t.Errorf("%s has no English", id)
		}
	}
}
