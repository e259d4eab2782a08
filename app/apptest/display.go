// Package apptest drives Handrail's windows the way a person does: it starts an X server that nobody sees, finds a
// window by its title, looks at its pixels, and moves a real pointer to what it saw there. It is for tests and the
// demonstration; the product doesn't import it.
//
//	d, err := apptest.StartDisplay(ctx)
//	defer d.Close()
//	cmd.Env = append(cmd.Env, d.Env()...)
//	w, err := d.Window("Handrail: a question", 10*time.Second)
//	err = w.Click(app.AllowFill, 5*time.Second)
//
// Every wait has a deadline and ends with an error that says what didn't happen.
package apptest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
	"github.com/jezek/xgb/xtest"
)

func init() { xgb.Logger.SetOutput(io.Discard) } // it logs what it also returns

// Display is an X server that nobody sees, and a connection to it.
type Display struct {
	// Name is what DISPLAY is set to.
	Name string

	cmd    *exec.Cmd
	folder string // holds the cookie
	conn   *xgb.Conn
	root   xproto.Window
}

// StartDisplay starts Xvfb with a screen of 1280×900 on a free display from :90 on; lower numbers are left to people's
// sessions. Only who has the cookie file that Env names may use it. It ends with ctx or Close. options are Xvfb's.
func StartDisplay(ctx context.Context, options ...string) (*Display, error) {
	var last error
	for number := 90; number < 190; number++ {
		if taken(number) {
			continue
		}
		d, err := start(ctx, number, options)
		if err == nil {
			return d, nil
		}
		if last = err; ctx.Err() != nil || errors.Is(err, exec.ErrNotFound) {
			break
		}
	}
	return nil, fmt.Errorf("starting Xvfb: %w", last)
}

// taken says whether a server runs that has the display. What a killed one left behind Xvfb clears away itself.
func taken(number int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/tmp/.X%d-lock", number))
	if err != nil {
		return false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return err == nil && syscall.Kill(pid, 0) != syscall.ESRCH
}

func start(ctx context.Context, number int, options []string) (_ *Display, err error) {
	d := &Display{Name: fmt.Sprintf(":%d", number)}
	defer func() {
		if err != nil {
			d.Close()
		}
	}()
	if d.folder, err = os.MkdirTemp("", "apptest"); err != nil {
		return nil, err
	}
	if err := os.WriteFile(d.cookie(), cookie(), 0o600); err != nil {
		return nil, err
	}
	// With -displayfd it says on the pipe when it is ready.
	ready, tell, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer ready.Close()
	d.cmd = exec.CommandContext(ctx, "Xvfb", d.Name, "-screen", "0", "1280x900x24", "-nolisten", "tcp", "-noreset",
		"-auth", d.cookie(), "-displayfd", "3")
	d.cmd.Args = append(d.cmd.Args, options...)
	d.cmd.Cancel = func() error { return d.cmd.Process.Signal(syscall.SIGTERM) }
	d.cmd.WaitDelay = 10 * time.Second
	d.cmd.ExtraFiles = []*os.File{tell}
	err = d.cmd.Start()
	tell.Close()
	if err != nil {
		d.cmd = nil
		return nil, err
	}
	if err := ready.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		return nil, err
	}
	if n, err := ready.Read(make([]byte, 16)); n == 0 {
		return nil, fmt.Errorf("display %s doesn't start: %w", d.Name, err)
	}
	return d, d.connect()
}

// another makes a connection to the server.
func (d *Display) another() (*xgb.Conn, error) {
	// The library takes the cookie from the environment of this process, and only from there.
	old, had := os.LookupEnv("XAUTHORITY")
	os.Setenv("XAUTHORITY", d.cookie())
	conn, err := xgb.NewConnDisplay(d.Name)
	if had {
		os.Setenv("XAUTHORITY", old)
	} else {
		os.Unsetenv("XAUTHORITY")
	}
	return conn, err
}

func (d *Display) connect() (err error) {
	if d.conn, err = d.another(); err != nil {
		return err
	}
	d.root = xproto.Setup(d.conn).DefaultScreen(d.conn).Root
	return xtest.Init(d.conn)
}

func (d *Display) cookie() string { return filepath.Join(d.folder, "Xauthority") }

// cookie is a file of one entry that fits every host and display (Xau(3)): family, address, display, name, data.
func cookie() []byte {
	secret := make([]byte, 16)
	rand.Read(secret)
	entry := binary.BigEndian.AppendUint16(nil, 0xFFFF)
	for _, field := range []string{"", "", "MIT-MAGIC-COOKIE-1", string(secret)} {
		entry = binary.BigEndian.AppendUint16(entry, uint16(len(field)))
		entry = append(entry, field...)
	}
	return entry
}

// Env is what a program needs to show itself here.
func (d *Display) Env() []string {
	return []string{"DISPLAY=" + d.Name, "XAUTHORITY=" + d.cookie(), "LIBGL_ALWAYS_SOFTWARE=1"}
}

// Close ends the server and everything that is shown on it.
func (d *Display) Close() {
	if d.conn != nil {
		d.conn.Close()
	}
	if d.cmd != nil {
		_ = d.cmd.Process.Signal(syscall.SIGTERM) // then it removes its socket and its lock
		late := time.AfterFunc(10*time.Second, func() { _ = d.cmd.Process.Kill() })
		_ = d.cmd.Wait()
		late.Stop()
	}
	_ = os.RemoveAll(d.folder)
}

// wait calls done until it says true or the time is up.
func wait(within time.Duration, what string, done func() bool) error {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline.C:
			return fmt.Errorf("%s: not within %v", what, within)
		}
	}
	return nil
}

// Move puts the pointer at a place of the screen.
func (d *Display) Move(x, y int) error {
	return xtest.FakeInputChecked(d.conn, xproto.MotionNotify, 0, 0, d.root, int16(x), int16(y), 0).Check()
}

// Press and Release work a button of the mouse: 1 is the left one.
func (d *Display) Press(button int) error { return d.input(xproto.ButtonPress, byte(button)) }

// Release lets a mouse button go.
func (d *Display) Release(button int) error { return d.input(xproto.ButtonRelease, byte(button)) }

func (d *Display) input(kind, detail byte) error {
	var after uint32             // milliseconds
	if kind == xproto.KeyPress { // GLFW takes two presses of a key that bear the same time, as no person's do, for one
		after = 2
	}
	return xtest.FakeInputChecked(d.conn, kind, detail, after, d.root, 0, 0, 0).Check()
}

// Keys that a dialog might take for an answer (keysymdef.h).
const (
	Escape = 0xFF1B
	Return = 0xFF0D
	Space  = 0x0020
	Tab    = 0xFF09
	Enter  = 0xFF8D // of the keypad
	Home   = 0xFF50
	Up     = 0xFF52
	Down   = 0xFF54
	PageDn = 0xFF56
)

// Key types a key, given as its keysym, with Shift where it takes that; a character's is its code.
func (d *Display) Key(keysym int) error {
	setup := xproto.Setup(d.conn)
	first := setup.MinKeycode
	keys, err := xproto.GetKeyboardMapping(d.conn, first, byte(setup.MaxKeycode-first+1)).Reply()
	if err != nil {
		return err
	}
	// key finds the key that gives a keysym, alone or with Shift.
	key := func(keysym int) (code byte, shifted, ok bool) {
		for column := range 2 {
			for i := column; i < len(keys.Keysyms); i += int(keys.KeysymsPerKeycode) {
				if int(keys.Keysyms[i]) == keysym {
					return byte(first) + byte(i/int(keys.KeysymsPerKeycode)), column == 1, true
				}
			}
		}
		return 0, false, false
	}
	code, shifted, ok := key(keysym)
	if !ok {
		return fmt.Errorf("no key gives keysym %#x", keysym)
	}
	if shifted {
		const leftShift = 0xFFE1
		shift, _, _ := key(leftShift)
		if err := d.input(xproto.KeyPress, shift); err != nil {
			return err
		}
		defer d.input(xproto.KeyRelease, shift)
	}
	return errors.Join(d.input(xproto.KeyPress, code), d.input(xproto.KeyRelease, code))
}

// Clipboard is what the clipboard gives of a kind ("UTF8_STRING"); "" when nothing is in it, or nothing of that kind.
func (d *Display) Clipboard(kind string, within time.Duration) (text string, err error) {
	conn, err := d.another()
	if err != nil {
		return "", err
	}
	defer conn.Close()
	atoms := make(map[string]xproto.Atom)
	for _, name := range []string{"CLIPBOARD", "HANDRAIL_TEST", kind} {
		reply, err := xproto.InternAtom(conn, false, uint16(len(name)), name).Reply()
		if err != nil {
			return "", err
		}
		atoms[name] = reply.Atom
	}
	id, err := xproto.NewWindowId(conn)
	if err != nil {
		return "", err
	}
	err = xproto.CreateWindowChecked(conn, 0, id, d.root, 0, 0, 1, 1, 0, xproto.WindowClassInputOnly, 0, 0, nil).Check()
	if err != nil {
		return "", err
	}
	xproto.ConvertSelection(conn, id, atoms["CLIPBOARD"], atoms[kind], atoms["HANDRAIL_TEST"], xproto.TimeCurrentTime)
	late := time.AfterFunc(within, conn.Close)
	defer late.Stop()
	for {
		event, err := conn.WaitForEvent()
		if event == nil && err == nil {
			return "", fmt.Errorf("the clipboard: nothing within %v", within)
		}
		if e, ok := event.(xproto.SelectionNotifyEvent); ok {
			if e.Property == 0 {
				return "", nil
			}
			p, err := xproto.GetProperty(conn, true, id, e.Property, xproto.GetPropertyTypeAny, 0, 1<<16).Reply()
			if err != nil {
				return "", err
			}
			return string(p.Value), nil
		}
	}
}

// Window is a window on a display.
type Window struct {
	display *Display
	id      xproto.Window
}

// Window waits for a window with this title that is on the screen.
func (d *Display) Window(title string, within time.Duration) (w *Window, err error) {
	err = wait(within, fmt.Sprintf("a window %q", title), func() bool {
		w = d.find(d.root, title)
		return w != nil
	})
	return w, err
}

func (d *Display) find(in xproto.Window, title string) *Window {
	tree, err := xproto.QueryTree(d.conn, in).Reply()
	if err != nil {
		return nil
	}
	for _, id := range tree.Children {
		if d.title(id) == title && d.shown(id) {
			return &Window{d, id}
		}
		if w := d.find(id, title); w != nil {
			return w
		}
	}
	return nil
}

func (d *Display) title(id xproto.Window) string {
	for _, name := range []string{"_NET_WM_NAME", "WM_NAME"} {
		atom, err := xproto.InternAtom(d.conn, true, uint16(len(name)), name).Reply()
		if err != nil || atom.Atom == 0 {
			continue
		}
		p, err := xproto.GetProperty(d.conn, false, id, atom.Atom, xproto.GetPropertyTypeAny, 0, 1024).Reply()
		if err == nil && len(p.Value) > 0 {
			return string(p.Value)
		}
	}
	return ""
}

func (d *Display) shown(id xproto.Window) bool {
	a, err := xproto.GetWindowAttributes(d.conn, id).Reply()
	return err == nil && a.MapState == xproto.MapStateViewable
}

// Gone waits until the window isn't on the screen any more.
func (w *Window) Gone(within time.Duration) error {
	return wait(within, "the window goes away", func() bool { return !w.display.shown(w.id) })
}

// Place is where the window is on the screen, without what a window manager draws around it.
func (w *Window) Place() (image.Rectangle, error) {
	g, err := xproto.GetGeometry(w.display.conn, xproto.Drawable(w.id)).Reply()
	if err != nil {
		return image.Rectangle{}, err
	}
	at, err := xproto.TranslateCoordinates(w.display.conn, w.id, w.display.root, 0, 0).Reply()
	if err != nil {
		return image.Rectangle{}, err
	}
	return image.Rect(0, 0, int(g.Width), int(g.Height)).Add(image.Pt(int(at.DstX), int(at.DstY))), nil
}

// MoveTo moves the window.
func (w *Window) MoveTo(x, y int) error {
	return xproto.ConfigureWindowChecked(w.display.conn, w.id, xproto.ConfigWindowX|xproto.ConfigWindowY,
		[]uint32{uint32(x), uint32(y)}).Check()
}

// Close asks the window to close, as its close button does (ICCCM, WM_DELETE_WINDOW).
func (w *Window) Close() error {
	atom := func(name string) uint32 {
		reply, err := xproto.InternAtom(w.display.conn, false, uint16(len(name)), name).Reply()
		if err != nil {
			return 0
		}
		return uint32(reply.Atom)
	}
	message := xproto.ClientMessageEvent{Format: 32, Window: w.id, Type: xproto.Atom(atom("WM_PROTOCOLS")),
		Data: xproto.ClientMessageDataUnionData32New([]uint32{atom("WM_DELETE_WINDOW"), 0, 0, 0, 0})}
	return xproto.SendEventChecked(w.display.conn, false, w.id, 0, string(message.Bytes())).Check()
}

// Unfocus takes the keyboard away from the window.
func (w *Window) Unfocus() error {
	return xproto.SetInputFocusChecked(w.display.conn, xproto.InputFocusPointerRoot, xproto.InputFocusPointerRoot, xproto.TimeCurrentTime).Check()
}

// PID is the process that says that the window is its own (_NET_WM_PID), 0 when none does.
func (w *Window) PID() int {
	atom, err := xproto.InternAtom(w.display.conn, true, uint16(len("_NET_WM_PID")), "_NET_WM_PID").Reply()
	if err != nil {
		return 0
	}
	p, err := xproto.GetProperty(w.display.conn, false, w.id, atom.Atom, xproto.GetPropertyTypeAny, 0, 1).Reply()
	if err != nil || len(p.Value) != 4 {
		return 0
	}
	return int(binary.LittleEndian.Uint32(p.Value))
}

// Cover puts a window without content over the window; the function that is returned takes it away.
func (w *Window) Cover() (uncover func() error, err error) {
	place, err := w.Place()
	if err != nil {
		return nil, err
	}
	c := w.display.conn
	id, err := xproto.NewWindowId(c)
	if err != nil {
		return nil, err
	}
	screen := xproto.Setup(c).DefaultScreen(c)
	err = xproto.CreateWindowChecked(c, screen.RootDepth, id, w.display.root, int16(place.Min.X), int16(place.Min.Y), uint16(place.Dx()),
		uint16(place.Dy()), 0, xproto.WindowClassInputOutput, screen.RootVisual, xproto.CwBackPixel|xproto.CwOverrideRedirect,
		[]uint32{0x808080, 1}).Check()
	if err != nil {
		return nil, err
	}
	return func() error { return xproto.DestroyWindowChecked(c, id).Check() }, xproto.MapWindowChecked(c, id).Check()
}

// Picture is what the window shows.
func (w *Window) Picture() (*image.RGBA, error) {
	g, err := xproto.GetGeometry(w.display.conn, xproto.Drawable(w.id)).Reply()
	if err != nil {
		return nil, err
	}
	raw, err := xproto.GetImage(w.display.conn, xproto.ImageFormatZPixmap, xproto.Drawable(w.id), 0, 0, g.Width, g.Height, ^uint32(0)).Reply()
	if err != nil {
		return nil, err
	}
	img := image.NewRGBA(image.Rect(0, 0, int(g.Width), int(g.Height)))
	if len(raw.Data) != len(img.Pix) {
		return nil, fmt.Errorf("a picture of %d bytes for %v", len(raw.Data), img.Rect)
	}
	for i := 0; i < len(img.Pix); i += 4 {
		img.Pix[i], img.Pix[i+1], img.Pix[i+2], img.Pix[i+3] = raw.Data[i+2], raw.Data[i+1], raw.Data[i], 0xFF
	}
	return img, nil
}

// Changes waits until the window no longer looks like a picture of it, and gives how it looks then.
func (w *Window) Changes(from *image.RGBA, within time.Duration) (now *image.RGBA, err error) {
	err = wait(within, "the window's picture changes", func() bool {
		var failed error
		now, failed = w.Picture()
		return failed == nil && !bytes.Equal(now.Pix, from.Pix)
	})
	return now, err
}

// Area waits until a part of the window has a colour, as a button does, and gives where: the rows in which at least 40
// pixels side by side have it.
func (w *Window) Area(c color.NRGBA, within time.Duration) (area image.Rectangle, err error) {
	err = wait(within, fmt.Sprintf("an area of colour %v", c), func() bool {
		img, err := w.Picture()
		if err != nil {
			return false
		}
		area = image.Rectangle{}
		for y := range img.Rect.Dy() {
			run := 0
			for x := range img.Rect.Dx() {
				if p := img.RGBAAt(x, y); p.R != c.R || p.G != c.G || p.B != c.B {
					run = 0
				} else if run++; run >= 40 {
					area = area.Union(image.Rect(x+1-run, y, x+1, y+1))
				}
			}
		}
		return area.Dy() >= 20
	})
	return area, err
}

// Click waits for an area of a colour, moves the pointer to a corner of it, where no label is, and clicks.
func (w *Window) Click(c color.NRGBA, within time.Duration) error {
	if err := w.MoveOnto(c, within); err != nil {
		return err
	}
	return errors.Join(w.display.Press(1), w.display.Release(1))
}

// MoveOnto is Click without the click.
func (w *Window) MoveOnto(c color.NRGBA, within time.Duration) error {
	area, err := w.Area(c, within)
	if err != nil {
		return err
	}
	place, err := w.Place()
	if err != nil {
		return err
	}
	at := area.Min.Add(place.Min).Add(image.Pt(10, area.Dy()/2))
	return w.display.Move(at.X, at.Y)
}

// SavePicture writes what the window shows as a PNG file, for people to look at.
func (w *Window) SavePicture(path string) error {
	img, err := w.Picture()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(png.Encode(file, img), file.Close())
}
