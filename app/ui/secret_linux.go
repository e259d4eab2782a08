//go:build linux

package main

import (
	"fmt"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

// copySecret puts a text into the clipboard for a time, marked so that managers of clipboards don't keep it
// (x-kde-passwordManagerHint, which Klipper, GPaste and others know). It is in the clipboard as long as our process runs, and until
// another program copies something.
//
// Not covered: a manager that doesn't know the mark, and other programs that look at the clipboard meanwhile.
func copySecret(text string, stays time.Duration) error {
	conn, err := xgb.NewConn()
	if err != nil {
		return fmt.Errorf("%w: %w", errNoClipboard, err)
	}
	s, err := newSelection(conn, text)
	if err != nil {
		conn.Close()
		return fmt.Errorf("%w: %w", errNoClipboard, err)
	}
	time.AfterFunc(stays, conn.Close) // with which the server takes it out of the clipboard
	go s.serve()
	return nil
}

// selection is the clipboard's content, as long as it is ours (ICCCM, 2).
type selection struct {
	conn  *xgb.Conn
	owner xproto.Window
	text  string
	atoms map[string]xproto.Atom
}

func newSelection(conn *xgb.Conn, text string) (*selection, error) {
	s := &selection{conn: conn, text: text, atoms: make(map[string]xproto.Atom)}
	for _, name := range []string{"CLIPBOARD", "TARGETS", "UTF8_STRING", "text/plain;charset=utf-8", "x-kde-passwordManagerHint"} {
		reply, err := xproto.InternAtom(conn, false, uint16(len(name)), name).Reply()
		if err != nil {
			return nil, err
		}
		s.atoms[name] = reply.Atom
	}
	var err error
	if s.owner, err = xproto.NewWindowId(conn); err != nil {
		return nil, err
	}
	root := xproto.Setup(conn).DefaultScreen(conn).Root
	if err := xproto.CreateWindowChecked(conn, 0, s.owner, root, 0, 0, 1, 1, 0, xproto.WindowClassInputOnly, 0, 0, nil).Check(); err != nil {
		return nil, err
	}
	if err := xproto.SetSelectionOwnerChecked(conn, s.owner, s.atoms["CLIPBOARD"], xproto.TimeCurrentTime).Check(); err != nil {
		return nil, err
	}
	owner, err := xproto.GetSelectionOwner(conn, s.atoms["CLIPBOARD"]).Reply()
	if err == nil && owner.Owner != s.owner {
		err = fmt.Errorf("another program took it")
	}
	return s, err
}

// serve gives the text to whoever pastes it, until the clipboard is another's or the connection is closed.
func (s *selection) serve() {
	for {
		event, err := s.conn.WaitForEvent()
		switch e := event.(type) {
		case nil:
			if err == nil {
				return // the connection is closed
			}
		case xproto.SelectionClearEvent:
			s.text = ""
			s.conn.Close()
			return
		case xproto.SelectionRequestEvent:
			s.give(e)
		}
	}
}

func (s *selection) give(e xproto.SelectionRequestEvent) {
	to := e.Property
	if to == 0 { // of an old client
		to = e.Target
	}
	put := func(kind xproto.Atom, format byte, items uint32, data []byte) {
		if xproto.ChangePropertyChecked(s.conn, xproto.PropModeReplace, e.Requestor, to, kind, format, items, data).Check() != nil {
			to = 0
		}
	}
	switch e.Target {
	case s.atoms["TARGETS"]:
		var list []byte
		for _, name := range []string{"TARGETS", "UTF8_STRING", "text/plain;charset=utf-8", "x-kde-passwordManagerHint"} {
			atom := make([]byte, 4)
			xgb.Put32(atom, uint32(s.atoms[name]))
			list = append(list, atom...)
		}
		put(xproto.AtomAtom, 32, uint32(len(list)/4), list)
	case s.atoms["UTF8_STRING"], s.atoms["text/plain;charset=utf-8"], xproto.AtomString:
		put(e.Target, 8, uint32(len(s.text)), []byte(s.text))
	case s.atoms["x-kde-passwordManagerHint"]:
		put(e.Target, 8, 6, []byte("secret"))
	default:
		to = 0
	}
	told := xproto.SelectionNotifyEvent{Time: e.Time, Requestor: e.Requestor, Selection: e.Selection, Target: e.Target, Property: to}
	_ = xproto.SendEventChecked(s.conn, false, e.Requestor, 0, string(told.Bytes())).Check()
}
