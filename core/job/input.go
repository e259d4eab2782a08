package job

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Size is the size of a terminal in characters. The zero Size is [DefaultSize].
type Size struct{ Columns, Rows uint16 }

// DefaultSize is the size of a terminal that nobody chose.
var DefaultSize = Size{Columns: 120, Rows: 30}

// Input is the standard input of a job that takes more of it while it runs: a pipe, or the terminal that the job runs in.
// It is safe for use by several goroutines. The zero Input is closed.
type Input struct {
	file     *os.File
	terminal *terminal // nil for a pipe
	closed   atomic.Bool
	writing  sync.Mutex // held while file is written or closed
}

// WriteFor is how long a write waits for a job that doesn't read.
const WriteFor = 5 * time.Second

// ErrInputClosed is given when a job takes no more input: it was started without, its input was closed, or it has ended.
var ErrInputClosed = errors.New("the job's standard input is closed")

// ErrInputFull is given when a job didn't read within WriteFor. What was written before stays written.
var ErrInputFull = errors.New("the job doesn't read its standard input")

// Write gives data to the job and says how many bytes it, or the system for it, has taken.
func (i *Input) Write(data []byte) (n int, err error) {
	i.writing.Lock()
	defer i.writing.Unlock()
	return i.write(data, WriteFor)
}

func (i *Input) write(data []byte, within time.Duration) (n int, err error) {
	if !i.Open() {
		return 0, ErrInputClosed
	}
	_ = i.file.SetWriteDeadline(time.Now().Add(within))
	n, err = i.file.Write(data)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return n, ErrInputFull
	case err != nil:
		return n, ErrInputClosed
	}
	return n, nil
}

// endOfFile is what a terminal takes for the end of input, at the beginning of a line (VEOF in termios(4), ^D).
const endOfFile = 0x04

// Close tells the job that no more input comes. A terminal stays open, for it carries the output too: it is given ^D.
func (i *Input) Close() error {
	i.writing.Lock()
	defer i.writing.Unlock()
	if i.terminal != nil {
		_, err := i.write([]byte{endOfFile}, WriteFor)
		return err
	}
	if !i.Open() {
		return ErrInputClosed
	}
	i.closed.Store(true)
	return i.file.Close()
}

// answer writes what a terminal answers by itself, unless something else is being written: it must hold up no output.
func (i *Input) answer(data []byte) {
	if i.writing.TryLock() {
		defer i.writing.Unlock()
		_, _ = i.write(data, 100*time.Millisecond)
	}
}

// Open says whether the job takes input.
func (i *Input) Open() bool { return i.file != nil && !i.closed.Load() }

// Terminal says whether it is a terminal.
func (i *Input) Terminal() bool { return i.terminal != nil }

// Resize tells the job that its terminal has another size.
func (i *Input) Resize(s Size) error {
	if i.terminal == nil || !i.Open() {
		return ErrInputClosed
	}
	return resize(i.file, s)
}

// CursorKeys says which codes the job's terminal expects for cursor keys, as far as the job has asked for them.
func (i *Input) CursorKeys() CursorKeys {
	if i.terminal == nil {
		return CursorUnknown
	}
	return i.terminal.cursorKeys()
}

// end closes the pipe once the job has ended; a write that still waits ends. A terminal's file is closed with the output.
func (i *Input) end() {
	if i.file == nil || i.closed.Swap(true) {
		return
	}
	_ = i.file.SetWriteDeadline(time.Unix(1, 0))
	if i.terminal == nil {
		i.writing.Lock()
		defer i.writing.Unlock()
		i.file.Close()
	}
}
