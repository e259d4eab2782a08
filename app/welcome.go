package app

import "strconv"

// WelcomeWords are the words of the window that the first start opens: what Handrail does and can't stop, where assistants work, and
// connecting one.
type WelcomeWords struct {
	Title                                        string
	DoesHead, CannotHead, PlaceHead, ConnectHead string
	Does, Cannot                                 []string // a sentence for each line of a list
	Place, PlaceLater, Login, NoLogin            string
	Connect, Try, Later                          string
	Next, Back, Done                             string
}

// WelcomeWords gives the words of the first window.
func (w Words) WelcomeWords() WelcomeWords {
	say := func(id string) string { return w.say("welcome_"+id, nil) }
	return WelcomeWords{Title: say("title"),
		DoesHead: say("does_head"), Does: []string{say("does_sandbox"), say("does_asks"), say("does_undo")},
		CannotHead: say("cannot_head"), Cannot: []string{say("cannot_judge"), say("cannot_later"), say("cannot_sent")},
		PlaceHead: say("place_head"), Place: say("place"), PlaceLater: say("place_later"), Login: say("login"), NoLogin: say("no_login"),
		ConnectHead: say("connect_head"), Connect: say("connect"), Try: w.say("connect_try", nil), Later: say("later"),
		Next: say("next"), Back: say("back"), Done: say("done")}
}

// WelcomeStep says which screen this is, counted from 1, and of how many.
func (w Words) WelcomeStep(step, of int) string {
	return w.say("welcome_step", holes{"Step": strconv.Itoa(step), "Of": strconv.Itoa(of)})
}
