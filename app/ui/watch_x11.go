//go:build linux

package main

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"os"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver"
	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

// watcher sees what happens to our window through a connection of its own to the X server, for Fyne doesn't tell: that it
// is on the screen, moves, changes its size or focus, or is covered.
type watcher struct {
	conn   *server
	window xproto.Window
	helper xproto.Window // never shown; only gets the marks of catchUp
	marks  chan struct{}
}

// change is what happened to the window.
type change int

const (
	moved   change = iota // or appeared, or was uncovered, or changed its size or focus
	covered               // or taken off the screen
)

func init() { xgb.Logger.SetOutput(io.Discard) } // it logs what it also returns

// reachDisplay connects to the X server, or reports why none can be used: without one Fyne would panic, and without
// OpenGL end or stay invisible.
func reachDisplay() (*server, error) {
	if os.Getenv("DISPLAY") == "" {
		return nil, errors.New("DISPLAY isn't set, and there is no X server without it")
	}
	conn, err := xgb.NewConn()
	if err != nil {
		return nil, err
	}
	glx, err := xproto.QueryExtension(conn, 3, "GLX").Reply()
	if err == nil && !glx.Present {
		err = errors.New("the X server has no OpenGL")
	}
	return conn, err
}

// server is a connection to the X server.
type server = xgb.Conn

// watch tells changed, on a goroutine of its own, of every change to the window from now on.
func watch(conn *server, w fyne.Window, changed func(change)) (*watcher, error) {
	native, ok := w.(driver.NativeWindow)
	if !ok {
		return nil, errors.New("the window isn't the window system's")
	}
	var id xproto.Window
	native.RunNative(func(context any) {
		if x, ok := context.(driver.X11WindowContext); ok {
			id = xproto.Window(x.WindowHandle)
		}
	})
	if id == 0 {
		return nil, errors.New("there is no window: OpenGL or the display is missing")
	}
	t := &watcher{conn: conn, window: id, marks: make(chan struct{}, 1)}
	if err := t.begin(); err != nil {
		return nil, err
	}
	go t.read(changed)
	return t, nil
}

func (t *watcher) begin() error {
	const events = xproto.EventMaskStructureNotify | xproto.EventMaskVisibilityChange | xproto.EventMaskFocusChange
	err := xproto.ChangeWindowAttributesChecked(t.conn, t.window, xproto.CwEventMask, []uint32{events}).Check()
	if err != nil {
		return fmt.Errorf("watching the window: %w", err)
	}
	if t.helper, err = xproto.NewWindowId(t.conn); err != nil {
		return err
	}
	root := xproto.Setup(t.conn).DefaultScreen(t.conn).Root
	return xproto.CreateWindowChecked(t.conn, 0, t.helper, root, 0, 0, 1, 1, 0, xproto.WindowClassInputOnly, 0, 0, nil).Check()
}

func (t *watcher) read(changed func(change)) {
	for {
		event, err := t.conn.WaitForEvent()
		if event == nil && err == nil { // the connection is gone
			changed(covered)
			return
		}
		switch e := event.(type) {
		case xproto.ConfigureNotifyEvent, xproto.MapNotifyEvent, xproto.ReparentNotifyEvent:
			changed(moved)
		case xproto.UnmapNotifyEvent, xproto.DestroyNotifyEvent:
			changed(covered)
		case xproto.VisibilityNotifyEvent:
			if e.State == xproto.VisibilityFullyObscured {
				changed(covered)
			} else {
				changed(moved)
			}
		case xproto.FocusInEvent:
			if e.Mode == xproto.NotifyModeNormal { // not while a window manager grabs the keyboard
				changed(moved)
			}
		case xproto.FocusOutEvent:
			if e.Mode == xproto.NotifyModeNormal {
				changed(moved)
			}
		case xproto.ClientMessageEvent: // a mark
			select {
			case t.marks <- struct{}{}:
			default:
			}
		}
	}
}

// catchUp waits until every change that happened before now was told. It reports false when that can't be known.
func (t *watcher) catchUp() bool {
	select {
	case <-t.marks:
	default:
	}
	mark := xproto.ClientMessageEvent{Format: 32, Window: t.helper, Type: xproto.AtomWmName, Data: xproto.ClientMessageDataUnionData32New(make([]uint32, 5))}
	if xproto.SendEventChecked(t.conn, false, t.helper, 0, string(mark.Bytes())).Check() != nil {
		return false
	}
	select {
	case <-t.marks:
		return true
	case <-time.After(time.Second):
		return false
	}
}

// shows reports whether the window is on the screen and at least least of its pixels have the colour. Where the X server
// doesn't give pixels of this window, being on the screen is enough.
func (t *watcher) shows(c color.NRGBA, least int) bool {
	attributes, err := xproto.GetWindowAttributes(t.conn, t.window).Reply()
	if err != nil || attributes.MapState != xproto.MapStateViewable {
		return false
	}
	g, err := xproto.GetGeometry(t.conn, xproto.Drawable(t.window)).Reply()
	if err != nil {
		return false
	}
	img, err := xproto.GetImage(t.conn, xproto.ImageFormatZPixmap, xproto.Drawable(t.window), 0, 0, g.Width, g.Height, ^uint32(0)).Reply()
	if err != nil || img.Depth < 24 {
		return true
	}
	found := 0
	for i := 0; i+3 < len(img.Data); i += 4 {
		if img.Data[i] == c.B && img.Data[i+1] == c.G && img.Data[i+2] == c.R {
			found++
		}
	}
	return found >= least
}
