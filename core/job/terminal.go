package job

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
)

// CursorKeys is the cursor key mode of a terminal (DECCKM in ECMA-48 terms of xterm's control sequences).
type CursorKeys uint8

const (
	CursorUnknown     CursorKeys = iota // the job has not asked for either
	CursorNormal                        // ESC [ A
	CursorApplication                   // ESC O A
)

// terminal follows what a job tells the terminal it runs in, and answers what it asks.
type terminal struct {
	mu   sync.Mutex
	keys CursorKeys
	rest []byte // the beginning of a sequence whose end has not come yet
}

// longest is the longest sequence that terminal knows.
const longest = len("\x1b[?6n")

// sequences are what terminal knows: cursor key modes, and the question where the cursor is, of which the answer says the
// upper left corner, since nothing is drawn.
var sequences = []struct {
	text   string
	keys   CursorKeys
	answer string
}{
	{text: "\x1b[?1h", keys: CursorApplication},
	{text: "\x1b[?1l", keys: CursorNormal},
	{text: "\x1b[6n", answer: "\x1b[1;1R"},
	{text: "\x1b[?6n", answer: "\x1b[1;1R"},
}

// read takes a piece of output and gives what is to be answered.
func (t *terminal) read(p []byte) (answer []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := append(t.rest, p...)
	for {
		at := bytes.IndexByte(text, 0x1b)
		if at < 0 {
			t.rest = nil
			return answer
		}
		text = text[at:]
		known := false
		for _, s := range sequences {
			if bytes.HasPrefix(text, []byte(s.text)) {
				answer = append(answer, s.answer...)
				if s.keys != CursorUnknown {
					t.keys = s.keys
				}
				text, known = text[len(s.text):], true
				break
			}
		}
		switch {
		case known:
		case len(text) < longest:
			t.rest = bytes.Clone(text)
			return answer
		default:
			text = text[1:]
		}
	}
}

func (t *terminal) cursorKeys() CursorKeys {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.keys
}

// watched is the side of a terminal that is ours, read through t: what the job asks is answered before its output is handed on.
type watched struct {
	file  *os.File
	t     *terminal
	input *Input
}

func (w watched) Read(p []byte) (int, error) {
	n, err := w.file.Read(p)
	if answer := w.t.read(p[:n]); len(answer) > 0 {
		w.input.answer(answer)
	}
	// Linux says "input/output error" when the last process has closed the other side.
	if errors.Is(err, syscall.EIO) {
		err = io.EOF
	}
	return n, err
}
