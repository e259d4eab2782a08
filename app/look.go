package app

import "image/color"

// The colours of the question's window. Text stands on them with a contrast of at least 4.5 (WCAG 2.2, 1.4.3).
var (
	Paper   = color.NRGBA{0xFF, 0xFF, 0xFF, 0xFF} // the window
	Sheet   = color.NRGBA{0xEF, 0xF3, 0xF4, 0xFF} // under paths and commands
	Ink     = color.NRGBA{0x16, 0x1B, 0x1D, 0xFF} // text
	PaleInk = color.NRGBA{0x53, 0x5C, 0x60, 0xFF} // labels

	ProgramInk  = color.NRGBA{0x0A, 0x50, 0x8A, 0xFF} // parts of a command, on a sheet
	RedirectInk = color.NRGBA{0x73, 0x3A, 0x96, 0xFF}
	DeleteInk   = color.NRGBA{0xAE, 0x1C, 0x1C, 0xFF}

	RefuseFill  = color.NRGBA{0x0E, 0x4C, 0x5C, 0xFF}
	RefuseInk   = color.NRGBA{0xFF, 0xFF, 0xFF, 0xFF}
	AllowFill   = color.NRGBA{0xD5, 0xE6, 0xEA, 0xFF}
	AllowInk    = color.NRGBA{0x0B, 0x3A, 0x46, 0xFF}
	AlwaysFill  = color.NRGBA{0xE6, 0xE2, 0xEE, 0xFF}
	AlwaysInk   = color.NRGBA{0x3A, 0x2A, 0x5E, 0xFF}
	QuietFill   = color.NRGBA{0xDC, 0xE4, 0xDD, 0xFF}
	QuietInk    = color.NRGBA{0x21, 0x3A, 0x26, 0xFF}
	WaitingFill = color.NRGBA{0xE9, 0xE9, 0xE9, 0xFF} // Allow, before a click counts
	UnreadyFill = color.NRGBA{0xEA, 0xE8, 0xE8, 0xFF} // Always, before a click counts
	WaitingInk  = color.NRGBA{0x5E, 0x5E, 0x5E, 0xFF}
)

// MarkInk is the colour of a part of a command.
func MarkInk(as MarkAs) color.NRGBA {
	switch as {
	case MarkProgram:
		return ProgramInk
	case MarkRedirect:
		return RedirectInk
	case MarkDelete:
		return DeleteInk
	}
	return Ink
}

// Palette is the colours of a window that shows and asks nothing. Text stands on its grounds with a contrast of at least 4.5.
type Palette struct {
	Paper, Sheet, Bar color.NRGBA // the window, what stands out in it, the bars at its edges
	Ink, PaleInk      color.NRGBA
	Chosen            color.NRGBA // the ground of what is chosen
	Focus             color.NRGBA // the frame of what the keyboard works on
	Good, Bad, Busy   color.NRGBA // inks of results
	Button, ButtonInk color.NRGBA
}

// Light and Dark are the palettes for a light and a dark desktop.
var (
	Light = Palette{
		Paper: Paper, Sheet: Sheet, Bar: color.NRGBA{0xF6, 0xF8, 0xF8, 0xFF}, Ink: Ink, PaleInk: PaleInk,
		Chosen: color.NRGBA{0xD5, 0xE6, 0xEA, 0xFF}, Focus: RefuseFill,
		Good: color.NRGBA{0x1D, 0x5E, 0x33, 0xFF}, Bad: color.NRGBA{0x9E, 0x1A, 0x1A, 0xFF}, Busy: color.NRGBA{0x6B, 0x4A, 0x00, 0xFF},
		Button: color.NRGBA{0xE1, 0xEA, 0xEC, 0xFF}, ButtonInk: AllowInk,
	}
	Dark = Palette{
		Paper: color.NRGBA{0x1B, 0x20, 0x22, 0xFF}, Sheet: color.NRGBA{0x27, 0x2E, 0x31, 0xFF}, Bar: color.NRGBA{0x22, 0x28, 0x2A, 0xFF},
		Ink: color.NRGBA{0xEC, 0xF0, 0xF1, 0xFF}, PaleInk: color.NRGBA{0xAE, 0xB9, 0xBD, 0xFF},
		Chosen: color.NRGBA{0x1F, 0x4A, 0x56, 0xFF}, Focus: color.NRGBA{0x6F, 0xC3, 0xD6, 0xFF},
		Good: color.NRGBA{0x8F, 0xD8, 0xA6, 0xFF}, Bad: color.NRGBA{0xFF, 0xA8, 0xA2, 0xFF}, Busy: color.NRGBA{0xF0, 0xCB, 0x7C, 0xFF},
		Button: color.NRGBA{0x35, 0x40, 0x44, 0xFF}, ButtonInk: color.NRGBA{0xEC, 0xF0, 0xF1, 0xFF},
	}
)
