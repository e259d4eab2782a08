package core

import (
	"strings"
	"sync"
)

// answers holds what the last calls were answered, for the person to look at. It is in memory alone: what commands print and
// files hold never reaches our own files.
type answers struct {
	mu    sync.Mutex
	texts map[string]string
	order []string // the oldest first
	bytes int
}

// What is held: so much of an answer, and of all.
const (
	mostAnswer  = 32 << 10
	mostAnswers = 4 << 20
	answerCost  = 128 // of one, besides its text
)

// add takes up the answer to a call.
func (a *answers) add(call, text string) {
	if len(text) > mostAnswer {
		text = strings.ToValidUTF8(text[:mostAnswer], "") + "\n…"
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.texts == nil {
		a.texts = make(map[string]string)
	}
	if _, ok := a.texts[call]; ok {
		return
	}
	a.texts[call] = text
	a.order = append(a.order, call)
	for a.bytes += len(text) + answerCost; a.bytes > mostAnswers; a.order = a.order[1:] {
		a.bytes -= len(a.texts[a.order[0]]) + answerCost
		delete(a.texts, a.order[0])
	}
}

// Answer gives what a call was answered, by its ID in the activity log; ok is false when that isn't held any more.
func (h *Host) Answer(call string) (text string, ok bool) {
	h.answers.mu.Lock()
	defer h.answers.mu.Unlock()
	text, ok = h.answers.texts[call]
	return text, ok
}
