package app

import "fmt"

// Surface is where questions are put to the person. The zero value asks nobody, so that everything which needs a yes is
// refused.
type Surface uint8

const (
	NoSurface       Surface = iota
	DialogSurface           // a dialog, which no program answers
	TerminalSurface         // the terminal from which Handrail was started
	// NonceSurface has the model bring back a number after asking the person in the chat. It proves no
	// person, and answers one kind of question only: an edit grant in the workspace or for working copies.
	NonceSurface
)

var surfaces = [...]string{"none", "dialog", "terminal", "nonce"}

func (s Surface) String() string {
	if int(s) < len(surfaces) {
		return surfaces[s]
	}
	return "none"
}

// SurfaceFacts is what the choice of a surface rests on.
type SurfaceFacts struct {
	// Display says that a display can be used: on Linux that DISPLAY or WAYLAND_DISPLAY is set, so that a test display
	// counts; on macOS that there is a session.
	Display bool
	// Graphical says that the user has a graphical session, as the system says, whatever the environment names: a client
	// can start Handrail with any environment it likes.
	Graphical bool
	// Terminal says that this process has a terminal in whose foreground it runs.
	Terminal bool
}

// Choose picks the surface for --surface auto, dialog, terminal, nonce or none; "" is auto. auto is the dialog where the
// user has a screen, and the nonce where there is none at all. Asking for a weaker surface than the dialog while there is
// a screen is an error, as is an unknown name: the one who starts Handrail can't weaken how it asks.
func Choose(flag string, facts SurfaceFacts) (Surface, error) {
	screen := facts.Display || facts.Graphical
	switch flag {
	case "", "auto":
		if screen {
			return DialogSurface, nil
		}
		return NonceSurface, nil
	case "dialog":
		return DialogSurface, nil
	case "none":
		return NoSurface, nil
	case "terminal", "nonce":
		if screen {
			return NoSurface, fmt.Errorf("choosing --surface %s: there is a screen, so questions are asked there; use auto or dialog", flag)
		}
		if flag == "nonce" {
			return NonceSurface, nil
		}
		if !facts.Terminal {
			return NoSurface, fmt.Errorf("choosing --surface terminal: this process has no terminal to itself")
		}
		return TerminalSurface, nil
	}
	return NoSurface, fmt.Errorf("choosing --surface %q: it is auto, dialog, terminal, nonce or none", flag)
}
