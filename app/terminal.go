//go:build linux || darwin

package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"handrail/core/approval"
)

// Terminal asks on the terminal from which Handrail was started: it shows the question as text, and only the word yes,
// typed after the question has appeared, allows. It is for machines without a screen, see [Choose]. The zero Terminal asks
// nobody; use [NewTerminal].
//
// Not covered: other programs of the user can type into a terminal of theirs.
type Terminal struct {
	manner     func() Manner
	visibleFor time.Duration // 0: as the manner says
}

var _ approval.Asker = (*Terminal)(nil)

// NewTerminal gives the asker that asks on /dev/tty in the language of words.
func NewTerminal(words Words) *Terminal {
	return &Terminal{manner: func() Manner { return Manner{Words: words} }}
}

// In returns a copy that asks each question in the manner that holds then.
func (t Terminal) In(manner func() Manner) *Terminal {
	t.manner = manner
	return &t
}

const surfaceTerminal = "terminal"

// Ask shows r and waits for a line. See [approval.Asker].
func (t *Terminal) Ask(ctx context.Context, r approval.Request) approval.Decision {
	refuse := func(v approval.Verdict, err error) approval.Decision {
		return approval.Refuse(v, surfaceTerminal, err.Error())
	}
	if t == nil || t.manner == nil {
		return refuse(approval.CouldNotShow, errors.New("there is no terminal"))
	}
	m := t.manner()
	if m.Presence && ChecksPresence && irrevocable(r) {
		return refuse(approval.CouldNotShow, errors.New("in a terminal the system can't check who the person is, which they want"))
	}
	q, err := NewQuestion(r, m.Words)
	if err != nil {
		return refuse(approval.CouldNotShow, err)
	}
	q = q.withoutOffers() // other programs can type into a terminal: nothing lasting comes of it
	tty, err := openTerminal()
	if err != nil {
		return refuse(approval.CouldNotShow, err)
	}
	defer tty.Close()
	yes := m.Words.say("terminal_yes", nil) // in Thai too yes will do: not every keyboard there has Thai
	// What was typed before the question could be seen is no answer to it.
	if err := flushInput(tty); err != nil {
		return refuse(approval.CouldNotShow, err)
	}
	prompt := m.Words.say("terminal_prompt", holes{"Yes": yes})
	if _, err := fmt.Fprintf(tty, "\n%s\n%s ", q, prompt); err != nil {
		return refuse(approval.CouldNotShow, err)
	}
	line, err := readLine(ctx, tty, cmp.Or(t.visibleFor, m.VisibleFor, approval.VisibleFor))
	_ = flushInput(tty) // what follows the answer is for nobody
	says := func(message string) { fmt.Fprintf(tty, "\n%s\n", m.Words.say(message, nil)) }
	switch {
	case ctx.Err() != nil:
		says("terminal_withdrawn")
		return refuse(approval.Withdrawn, context.Cause(ctx))
	case errors.Is(err, os.ErrDeadlineExceeded):
		says("terminal_no_answer")
		return refuse(approval.NoAnswer, errors.New("nobody answered"))
	case err != nil:
		says("terminal_refused")
		return refuse(approval.NoAnswer, err)
	case line != yes && line != "yes":
		says("terminal_refused")
		return refuse(approval.Refused, errors.New("the person didn't type "+yes))
	}
	says("terminal_allowed")
	return approval.Allow(r, surfaceTerminal)
}

// hasTerminal reports whether openTerminal would succeed.
func hasTerminal() bool {
	tty, err := openTerminal()
	if err != nil {
		return false
	}
	tty.Close()
	return true
}

// openTerminal opens the process's terminal, when this process is in its foreground and no other program has taken it
// over: one that reads key by key, such as an editor or an assistant's own chat, has switched line editing off.
func openTerminal() (*os.File, error) {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the terminal: %w", err)
	}
	tty := os.NewFile(uintptr(fd), "/dev/tty")
	foreground, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	if err == nil && foreground != unix.Getpgrp() {
		err = errors.New("another program is in its foreground")
	}
	if err == nil {
		var mode *unix.Termios
		mode, err = unix.IoctlGetTermios(fd, getTermios)
		if err == nil && mode.Lflag&unix.ICANON == 0 {
			err = errors.New("another program reads from it")
		}
	}
	if err != nil {
		tty.Close()
		return nil, fmt.Errorf("opening the terminal: %w", err)
	}
	return tty, nil
}

// readLine waits for a line, without its end. It waits with select(2), since macOS's kqueue and poll don't serve /dev/tty.
func readLine(ctx context.Context, tty *os.File, within time.Duration) (string, error) {
	wake, waker, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer wake.Close()
	stop := context.AfterFunc(ctx, func() { waker.Close() })
	defer func() {
		if stop() {
			waker.Close()
		}
	}()
	fd, wakeFD := int(tty.Fd()), int(wake.Fd())
	if max(fd, wakeFD) >= unix.FD_SETSIZE {
		return "", errors.New("too many files are open")
	}
	deadline := time.Now().Add(within)
	for {
		left := unix.NsecToTimeval(max(0, time.Until(deadline)).Nanoseconds())
		var set unix.FdSet
		set.Set(fd)
		set.Set(wakeFD)
		n, err := unix.Select(max(fd, wakeFD)+1, &set, nil, nil, &left)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return "", err
		case n == 0:
			return "", os.ErrDeadlineExceeded
		case set.IsSet(wakeFD):
			return "", context.Cause(ctx)
		}
		break
	}
	buffer := make([]byte, 4096) // the longest line that a terminal edits
	n, err := unix.Read(fd, buffer)
	if err != nil {
		return "", err
	}
	line, whole := strings.CutSuffix(string(buffer[:n]), "\n")
	if !whole {
		return "", errors.New("no whole line")
	}
	return strings.TrimSpace(line), nil
}
