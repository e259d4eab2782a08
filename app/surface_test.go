package app

import "testing"

func TestChoose(t *testing.T) {
	none := SurfaceFacts{}
	tty := SurfaceFacts{Terminal: true}
	display := SurfaceFacts{Display: true, Terminal: true}
	session := SurfaceFacts{Graphical: true, Terminal: true} // DISPLAY isn't set, but the user sits at a screen
	for _, c := range []struct {
		flag  string
		facts SurfaceFacts
		want  Surface
		fails bool
	}{
		{"", none, NonceSurface, false},
		{"auto", none, NonceSurface, false},
		{"auto", tty, NonceSurface, false}, // the terminal is the client's; it is used when asked for
		{"auto", display, DialogSurface, false},
		{"auto", session, DialogSurface, false},
		{"dialog", none, DialogSurface, false}, // it then says that nothing could be shown
		{"dialog", display, DialogSurface, false},
		{"terminal", tty, TerminalSurface, false},
		{"terminal", none, NoSurface, true},
		{"terminal", display, NoSurface, true},
		{"terminal", session, NoSurface, true},
		{"nonce", none, NonceSurface, false},
		{"nonce", tty, NonceSurface, false},
		{"nonce", display, NoSurface, true},
		{"nonce", session, NoSurface, true},
		{"none", display, NoSurface, false},
		{"none", none, NoSurface, false},
		{"Dialog", display, NoSurface, true},
		{"off", none, NoSurface, true},
	} {
		got, err := Choose(c.flag, c.facts)
		if got != c.want || (err != nil) != c.fails {
			t.Errorf("Choose(%q, %+v) = %v, %v; want %v", c.flag, c.facts, got, err, c.want)
		}
	}
}

func TestSurfaceString(t *testing.T) {
	for s, want := range map[Surface]string{NoSurface: "none", DialogSurface: "dialog", TerminalSurface: "terminal", NonceSurface: "nonce", 99: "none"} {
		if got := s.String(); got != want {
			t.Errorf("%d is %q", s, got)
		}
	}
}
