package job

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"handrail/sandbox"
)

// until waits for text in a job's output.
func until(t *testing.T, j *Job, want string) {
	t.Helper()
	late := time.After(time.Minute)
	for {
		grown := j.Output.Grown(j.Output.All().Total)
		if bytes.Contains(j.Output.All().Head, []byte(want)) {
			return
		}
		select {
		case <-grown:
		case <-late:
			t.Fatalf("no %q in %q", want, j.Output.All().Head)
		}
	}
}

func TestInput(t *testing.T) {
	e := engine(func(f *fake) sandbox.Exit {
		lines := bufio.NewScanner(f.stdin)
		for lines.Scan() {
			fmt.Fprintf(f.stdout, "got %s\n", lines.Text())
		}
		fmt.Fprintln(f.stdout, "end")
		return sandbox.Exit{}
	})
	s := spec(t)
	s.Interactive = true
	j := must(e.Start(s))
	if j.Stdin.Terminal() || !j.Stdin.Open() {
		t.Error("the input is no open pipe")
	}
	if n, err := j.Stdin.Write([]byte("one\n")); n != 4 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	until(t, j, "got one\n")
	if err := j.Stdin.Close(); err != nil {
		t.Error(err)
	}
	wait(t, j)
	until(t, j, "end\n")
	for _, err := range []error{second(j.Stdin.Write([]byte("x"))), j.Stdin.Close(), j.Stdin.Resize(DefaultSize)} {
		if !errors.Is(err, ErrInputClosed) {
			t.Errorf("after the end: %v", err)
		}
	}
	plain := must(e.Start(spec(t)))
	if plain.Stdin.Open() || !errors.Is(second(plain.Stdin.Write([]byte("x"))), ErrInputClosed) {
		t.Error("a job that was started without input takes some")
	}
	wait(t, plain)
}

func second[T any](_ T, err error) error { return err }

// A job that reads nothing holds up neither its writer nor its end.
func TestInputFull(t *testing.T) {
	e := engine(forever)
	s := spec(t)
	s.Interactive = true
	j := must(e.Start(s))
	n, err := 0, error(nil)
	for time := time.Millisecond; n == 0 && err == nil || n == 0 && errors.Is(err, ErrInputFull) && time < ages; time *= 2 { // a busy machine may take longer than a short time to begin
		n, err = j.Stdin.write(make([]byte, 1<<20), time)
	}
	if !errors.Is(err, ErrInputFull) || n == 0 || n == 1<<20 {
		t.Errorf("%d, %v", n, err)
	}
	waits := make(chan error, 1)
	go func() { waits <- second(j.Stdin.write(make([]byte, 1<<20), time.Hour)) }()
	j.Stop(Killed)
	wait(t, j)
	if err := within(t, waits, "the write goes on"); err == nil {
		t.Error("a write to a job that was killed went through")
	}
}

func TestJobInTerminal(t *testing.T) {
	e := engine(func(f *fake) sandbox.Exit {
		fmt.Fprint(f.stdout, "\x1b[?1h\x1b[6nready\n")
		lines := bufio.NewScanner(f.stdin)
		for lines.Scan() {
			fmt.Fprintf(f.stdout, "got %q\n", lines.Text())
		}
		fmt.Fprintln(f.stdout, "end")
		return sandbox.Exit{}
	})
	s := spec(t)
	s.Terminal = new(Size)
	j := must(e.Start(s))
	until(t, j, "ready\r\n")
	if !j.Stdin.Terminal() || j.Stdin.CursorKeys() != CursorApplication {
		t.Errorf("cursor keys %v", j.Stdin.CursorKeys())
	}
	if err := j.Stdin.Resize(Size{Columns: 80, Rows: 24}); err != nil {
		t.Error(err)
	}
	if _, err := j.Stdin.Write([]byte("hello\n")); err != nil {
		t.Error(err)
	}
	until(t, j, `got "\x1b[1;1Rhello"`)
	if err := j.Stdin.Close(); err != nil { // ^D
		t.Error(err)
	}
	wait(t, j)
	until(t, j, "end\r\n")
}

func TestTerminalRead(t *testing.T) {
	for _, c := range []struct {
		pieces string // with | between pieces
		keys   CursorKeys
		answer string
	}{
		{"plain text", CursorUnknown, ""},
		{"\x1b[?1h", CursorApplication, ""},
		{"\x1b[?1h\x1b[?1l", CursorNormal, ""},
		{"a\x1b|[?|1|h", CursorApplication, ""},
		{"\x1b[6n", CursorUnknown, "\x1b[1;1R"},
		{"\x1b[?6|n and \x1b[6n", CursorUnknown, "\x1b[1;1R\x1b[1;1R"},
		{"\x1b[31mred\x1b[0m\x1b[?1h", CursorApplication, ""},
		{"\x1b\x1b\x1b[6n", CursorUnknown, "\x1b[1;1R"},
		{"\x1b[|?1|x", CursorUnknown, ""},
	} {
		var tt terminal
		var answer []byte
		for piece := range strings.SplitSeq(c.pieces, "|") {
			answer = append(answer, tt.read([]byte(piece))...)
		}
		if string(answer) != c.answer || tt.cursorKeys() != c.keys {
			t.Errorf("%q: answer %q, keys %v", c.pieces, answer, tt.cursorKeys())
		}
		if len(tt.rest) >= longest {
			t.Errorf("%q: %d bytes are kept", c.pieces, len(tt.rest))
		}
	}
}

// Last gives the end of the output wherever that is kept.
func TestLast(t *testing.T) {
	const size = 500_000
	text := make([]byte, size)
	for i := range text {
		text[i] = byte('a' + i/7%26)
	}
	e := engine(func(f *fake) sandbox.Exit {
		f.stdout.Write(text)
		return sandbox.Exit{}
	})
	for _, work := range []string{t.TempDir(), ""} {
		s := spec(t)
		s.Work = work
		j := must(e.Start(s))
		j.Hand()
		wait(t, j)
		for _, n := range []int64{0, 1, 100, tailBytes, tailBytes + 1, 300_000, size, size + 9} {
			want := min(n, size)
			if work == "" { // in memory alone
				want = min(want, tailBytes)
			}
			end, before := j.Output.Last(n)
			if int64(len(end)) != want || before != size-want || !bytes.Equal(end, text[size-want:]) {
				t.Errorf("work %q, %d: %d bytes, %d before", work, n, len(end), before)
			}
		}
		path, _, _ := j.Output.File()
		if !e.Remove(j) {
			t.Error("it was not removed")
		}
		if _, err := os.Stat(path); work != "" && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("its file is still there: %v", err)
		}
		if _, ok := e.Find("s", j.ID); ok {
			t.Error("it is still found")
		}
	}
	j := must(engine(forever).Start(spec(t)))
	if e.Remove(j) {
		t.Error("a job that runs was removed")
	}
	j.Stop(Killed)
	wait(t, j)
}
