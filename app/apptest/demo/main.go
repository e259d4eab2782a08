// Demo is `make demo`: it runs `handrail demo` and answers its questions with a real pointer, so that the main job plays
// with no hands. Where there is no display it starts one of its own. It saves a picture of each question.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"image/color"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"handrail/app"
	"handrail/app/apptest"
)

func main() {
	programs := flag.String("programs", "build", "folder of handrail and handrail-ui")
	pictures := flag.String("pictures", "build/screens", "folder for the pictures")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if err := play(ctx, *programs, *pictures); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// clicks says what to do when the demo announces a question: in the line's own words.
var clicks = []struct {
	line, picture string
	button        color.NRGBA
}{
	{"Click Allow", "demo_allow.png", app.AllowFill},
	{"Click Don't Allow", "demo_dont_allow.png", app.RefuseFill},
}

// appears is how long a question may take to be on the screen of a busy machine.
const appears = 60 * time.Second

func play(ctx context.Context, programs, pictures string) error {
	if err := os.MkdirAll(pictures, 0o755); err != nil {
		return err
	}
	// Always a display of our own: the pointer of a person's is theirs.
	d, err := apptest.StartDisplay(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	program, err := filepath.Abs(filepath.Join(programs, "handrail"))
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, "demo")
	cmd.Env = append(os.Environ(), d.Env()...)
	// Nor are their panel and keychain ours, which are found through the session bus.
	cmd.Env = append(cmd.Env, "WAYLAND_DISPLAY=", "DBUS_SESSION_BUS_ADDRESS=", "XDG_RUNTIME_DIR=", "LANG=en_US.UTF-8")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	answered := 0
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		fmt.Println(lines.Text())
		if answered < len(clicks) && strings.HasSuffix(lines.Text(), clicks[answered].line) {
			c := clicks[answered]
			if err := answer(d, filepath.Join(pictures, c.picture), c.button); err != nil {
				cmd.Process.Signal(os.Interrupt)
				return errors.Join(err, cmd.Wait())
			}
			answered++
		}
	}
	if err := cmd.Wait(); err != nil {
		return err
	}
	if answered != len(clicks) {
		return fmt.Errorf("%d questions were asked, not %d", answered, len(clicks))
	}
	return nil
}

func answer(d *apptest.Display, picture string, button color.NRGBA) error {
	w, err := d.Window("Handrail: a question", appears)
	if err != nil {
		return err
	}
	if _, err := w.Area(button, appears); err != nil { // Allow looks so once a click counts
		return err
	}
	if err := w.SavePicture(picture); err != nil {
		return err
	}
	if err := w.Click(button, appears); err != nil {
		return err
	}
	fmt.Printf("  (clicked; a picture of the question is in %s)\n", picture)
	return w.Gone(appears)
}
