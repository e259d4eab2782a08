package app

import (
	"image/color"
	"math"
	"testing"
)

// WCAG 2.2 defines contrast by relative luminance.
func contrast(a, b color.NRGBA) float64 {
	bright, dark := luminance(a), luminance(b)
	if bright < dark {
		bright, dark = dark, bright
	}
	return (bright + 0.05) / (dark + 0.05)
}

func luminance(c color.NRGBA) float64 {
	linear := func(v uint8) float64 {
		f := float64(v) / 255
		if f <= 0.04045 {
			return f / 12.92
		}
		return math.Pow((f+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

func TestContrast(t *testing.T) {
	if got := contrast(color.NRGBA{0, 0, 0, 255}, color.NRGBA{255, 255, 255, 255}); math.Abs(got-21) > 0.01 {
		t.Fatalf("black on white is %.2f", got)
	}
	for _, c := range []struct {
		name        string
		ink, ground color.NRGBA
	}{
		{"text", Ink, Paper}, {"label", PaleInk, Paper}, {"path", Ink, Sheet}, {"program", ProgramInk, Sheet}, {"redirect", RedirectInk, Sheet}, {"delete", DeleteInk, Sheet}, {"refuse", RefuseInk, RefuseFill},
		{"allow", AllowInk, AllowFill}, {"waiting", WaitingInk, WaitingFill},
		{"always", AlwaysInk, AlwaysFill}, {"always, waiting", WaitingInk, UnreadyFill}, {"quiet", QuietInk, QuietFill},
	} {
		if got := contrast(c.ink, c.ground); got < 4.5 {
			t.Errorf("%s has a contrast of %.2f", c.name, got)
		}
	}
	for name, p := range map[string]Palette{"light": Light, "dark": Dark} {
		for _, ground := range []color.NRGBA{p.Paper, p.Sheet, p.Bar, p.Chosen} {
			for i, ink := range []color.NRGBA{p.Ink, p.PaleInk, p.Good, p.Bad, p.Busy} {
				if got := contrast(ink, ground); got < 4.5 {
					t.Errorf("%s: ink %d on %v has a contrast of %.2f", name, i, ground, got)
				}
			}
		}
		if got := contrast(p.ButtonInk, p.Button); got < 4.5 {
			t.Errorf("%s: buttons have a contrast of %.2f", name, got)
		}
		if got := contrast(p.Focus, p.Bar); got < 3 { // WCAG 2.2, 1.4.11
			t.Errorf("%s: the frame has a contrast of %.2f", name, got)
		}
	}
}
