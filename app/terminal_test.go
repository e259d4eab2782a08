//go:build linux || darwin

package app

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"handrail/core/approval"
)

// The test binary asks on its terminal when this variable names a language, and writes the verdict to descriptor 3.
const fakeTerminal = "HANDRAIL_TEST_TERMINAL"

func askOnTerminal(language string) {
	terminal := NewTerminal(NewWords(language))
	ctx := context.Background()
	switch os.Getenv(fakeTerminal + "_HOW") {
	case "impatient":
		terminal.visibleFor = 200 * time.Millisecond
	case "withdrawn":
		timeout, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		defer cancel()
		ctx = timeout
	}
	r := request(approval.EditFolder, nil)
	if kind := os.Getenv(fakeTerminal + "_KIND"); kind != "" {
		r = oneOfEach()[approval.Kind(kind)]
	}
	if os.Getenv(fakeTerminal+"_HOW") == "twice" {
		first := r
		first.Session = "another"
		if first.Policy != nil || first.Undo != nil || first.Switch != nil || first.Setting != nil || first.Pairing != nil { // no session asks
			first.Session = ""
		}
		if terminal.Ask(ctx, first).Verdict != approval.Allowed {
			os.Exit(96)
		}
		terminal.visibleFor = 200 * time.Millisecond
	}
	got := terminal.Ask(ctx, r)
	fmt.Fprintf(os.NewFile(3, "verdict"), "%v %v (%s)", got.Verdict, got.Covers(r) == nil, got.Detail)
}

func TestTerminal(t *testing.T) {
	for _, c := range []struct {
		name, language, how string
		before, typed       string // before the question appears, and after
		want                approval.Verdict
		says                string // on the terminal
	}{
		{"yes", "en", "", "", "yes\n", approval.Allowed, "Allowed."},
		{"yes with spaces", "en", "", "", "  yes \n", approval.Allowed, "Allowed."},
		{"yes in Thai", "th", "", "", "ใช่\n", approval.Allowed, "อนุญาตแล้ว"},
		{"yes in English in Thai", "th", "", "", "yes\n", approval.Allowed, "อนุญาตแล้ว"},
		{"Thai yes in English", "en", "", "", "ใช่\n", approval.Refused, "Not allowed."},
		{"Return", "en", "", "", "\n", approval.Refused, "Not allowed."},
		{"y", "en", "", "", "y\n", approval.Refused, "Not allowed."},
		{"YES", "en", "", "", "YES\n", approval.Refused, "Not allowed."},
		{"no", "en", "", "", "no\n", approval.Refused, "Not allowed."},
		{"more than yes", "en", "", "", "yes yes\n", approval.Refused, "Not allowed."},
		{"corrected", "en", "", "", "no\x7f\x7fyes\n", approval.Allowed, "Allowed."},
		{"typed ahead", "en", "impatient", "yes\nyes\n", "", approval.NoAnswer, "No answer"},
		{"end of file", "en", "", "", "\x04", approval.NoAnswer, "Not allowed."},
		{"no whole line", "en", "", "", "yes\x04", approval.NoAnswer, "Not allowed."},
		{"nothing", "en", "impatient", "", "", approval.NoAnswer, "No answer"},
		{"withdrawn", "en", "withdrawn", "", "", approval.Withdrawn, "withdrawn"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, seen := onTerminal(t, c.language, "", c.how, c.before, c.typed)
			if want := fmt.Sprintf("%v %v", c.want, c.want == approval.Allowed); !strings.HasPrefix(got, want) {
				t.Errorf("%s, want %s", got, want)
			}
			if !strings.Contains(seen, c.says) {
				t.Errorf("the terminal doesn't say %q:\n%s", c.says, seen)
			}
			for _, fact := range bound(request(approval.EditFolder, nil)) {
				if !strings.Contains(seen, fact) {
					t.Errorf("the terminal doesn't say %q", fact)
				}
			}
		})
	}
}

// onTerminal has a process ask on a terminal of its own, about a question of that kind, or the one of TestTerminal, while somebody
// types before the question stands there and after. It gives what the process says came of it and what stands on the terminal.
func onTerminal(t *testing.T, language, kind, how, before, typed string) (verdict, seen string) {
	t.Helper()
	keyboard, tty, err := pty.Open()
	must(t, err)
	defer keyboard.Close()
	_, err = io.WriteString(keyboard, before)
	must(t, err)
	hear, tell, err := os.Pipe()
	must(t, err)
	defer hear.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{fakeTerminal + "=" + language, fakeTerminal + "_HOW=" + how, fakeTerminal + "_KIND=" + kind}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.ExtraFiles = []*os.File{tell}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	must(t, cmd.Start())
	defer cmd.Wait()
	tell.Close()
	tty.Close()

	screen := make(chan string, 1)
	go func() {
		var seen strings.Builder
		out := bufio.NewReader(keyboard)
		for once := false; ; {
			r, _, err := out.ReadRune()
			if err != nil { // the process has ended
				screen <- seen.String()
				return
			}
			seen.WriteRune(r)
			if !once && (strings.HasSuffix(seen.String(), "refuses: ") || strings.HasSuffix(seen.String(), "ไม่อนุญาต: ")) {
				once = true
				_, _ = io.WriteString(keyboard, typed)
			}
		}
	}()
	must(t, hear.SetReadDeadline(time.Now().Add(time.Minute)))
	got, err := io.ReadAll(hear)
	must(t, err)
	return string(got), <-screen
}

// Without a terminal to itself it asks nobody.
func TestNoTerminal(t *testing.T) {
	child := func(prepare func(*exec.Cmd)) string {
		t.Helper()
		verdict, tell, err := os.Pipe()
		must(t, err)
		defer verdict.Close()
		cmd := exec.Command(os.Args[0])
		cmd.Env = []string{fakeTerminal + "=en"}
		cmd.ExtraFiles = []*os.File{tell}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		prepare(cmd)
		must(t, cmd.Start())
		defer cmd.Wait()
		tell.Close()
		must(t, verdict.SetReadDeadline(time.Now().Add(time.Minute)))
		got, err := io.ReadAll(verdict)
		must(t, err)
		return string(got)
	}
	if got := child(func(*exec.Cmd) {}); !strings.HasPrefix(got, "could_not_show false") {
		t.Errorf("without a terminal: %s", got)
	}
	keyboard, tty, err := pty.Open()
	must(t, err)
	defer keyboard.Close()
	defer tty.Close()
	mode, err := unix.IoctlGetTermios(int(tty.Fd()), getTermios)
	must(t, err)
	mode.Lflag &^= unix.ICANON | unix.ECHO // as an editor does
	must(t, unix.IoctlSetTermios(int(tty.Fd()), setTermios, mode))
	got := child(func(cmd *exec.Cmd) {
		cmd.Stdin = tty
		cmd.SysProcAttr.Setctty = true
	})
	if !strings.HasPrefix(got, "could_not_show false") || !strings.Contains(got, "another program reads") {
		t.Errorf("on a terminal that an editor has: %s", got)
	}
	if got := (&Terminal{}).Ask(t.Context(), request(approval.EditFolder, nil)); got.Verdict != approval.CouldNotShow {
		t.Errorf("the zero Terminal: %v", got.Verdict)
	}
}
