// Demo plays `handrail demo` with nobody at the screen: it gives it a display of its own, and a pointer that answers its
// questions, Allow to the first and Don't Allow to the second. It keeps a picture of each question.
//
//	go run ./app/apptest/demo -programs build -pictures build/screens
package main

import (
	"context"
	"flag"
	"fmt"
	"image/color"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"handrail/app"
	"handrail/app/apptest"
)

func main() {
	programs := flag.String("programs", "build", "the folder with handrail and handrail-ui")
	pictures := flag.String("pictures", "build/screens", "the folder for the pictures")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := play(ctx, *programs, *pictures); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// answers are what the pointer does with the questions, in their order.
var answers = []struct {
	name   string
	button color.NRGBA
	says   string
}{
	{"allow", app.AllowFill, "Allow"},
	{"refuse", app.RefuseFill, "Don't Allow"},
}

const patience = 2 * time.Minute

func play(ctx context.Context, programs, pictures string) error {
	exe, err := filepath.Abs(filepath.Join(programs, "handrail"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	display, err := apptest.StartDisplay(ctx)
	if err != nil {
		return err
	}
	defer display.Close()

	demo := exec.CommandContext(ctx, exe, "demo")
	demo.Cancel = func() error { return demo.Process.Signal(os.Interrupt) }
	demo.WaitDelay = 15 * time.Second
	demo.Env = append(environment(), display.Env()...)
	demo.Stdout, demo.Stderr = os.Stdout, os.Stderr
	if err := demo.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- demo.Wait() }()
	answered := make(chan error, 1)
	go func() { answered <- answer(display, pictures) }()
	select {
	case err := <-answered:
		if err != nil {
			cancel()
			<-ended
			return err
		}
		return <-ended
	case err := <-ended:
		if err == nil {
			err = fmt.Errorf("it ended before its questions were answered")
		}
		return err
	}
}

func answer(display *apptest.Display, pictures string) error {
	for _, a := range answers {
		w, err := display.Window("Handrail: a question", patience)
		if err != nil {
			return err
		}
		// Allow turns ready when the question has stood still for a second: then everything is drawn.
		if _, err := w.Area(app.AllowFill, patience); err != nil {
			return err
		}
		picture := filepath.Join(pictures, "demo_"+a.name+".png")
		if err := w.SavePicture(picture); err != nil {
			return err
		}
		fmt.Printf("  (the pointer clicks %s; picture: %s)\n", a.says, picture)
		if err := w.Click(a.button, patience); err != nil {
			return err
		}
		if err := w.Gone(patience); err != nil {
			return err
		}
	}
	return nil
}

// environment is ours, but for the person's session: no display, bus or language of theirs.
func environment() []string {
	var list []string
	for _, e := range os.Environ() {
		switch name, _, _ := strings.Cut(e, "="); name {
		case "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "LANG", "LANGUAGE", "LC_ALL", "LC_MESSAGES":
		default:
			list = append(list, e)
		}
	}
	return append(list, "LANG=C.UTF-8")
}
