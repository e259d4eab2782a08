package app

// #cgo CFLAGS: -fobjc-arc
// #cgo LDFLAGS: -framework AppKit -framework ApplicationServices -framework LocalAuthentication -framework Security
// #include <stdlib.h>
// #include "dialog_darwin.h"
import "C"

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/progrium/darwinkit/dispatch"
	"github.com/progrium/darwinkit/helper/action"
	"github.com/progrium/darwinkit/macos/appkit"
	"github.com/progrium/darwinkit/macos/foundation"
	"github.com/progrium/darwinkit/objc"

	"handrail/assets"
)

// What a dialog needs of our environment. The window server is found through the process, not through a variable.
var dialogEnvironment = []string{"HOME", "USER", "LOGNAME", "TMPDIR", "LANG", "__CF_USER_TEXT_ENCODING"}

// startDialog starts our own executable as a dialog. The file and its folder must be ours alone to change, and the process
// that came of it must run this file and satisfy our own signature's requirement. Not checked: the folders above, and, in
// a build that isn't signed, what is in the file.
func startDialog() (*dialogProcess, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return nil, err
	}
	if err := ownToChange(self); err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: self, Args: []string{self, "dialog"}, Env: environment(dialogEnvironment), Dir: "/"}
	return run(cmd, sameCode(self))
}

// startWindow starts handrail-ui, which stands beside our own executable, with the checks of startDialog.
func startWindow(name string) (*windowProcess, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return nil, err
	}
	ui := filepath.Join(filepath.Dir(self), "handrail-ui")
	if err := ownToChange(ui); err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: ui, Args: []string{ui, "window", name}, Env: environment(dialogEnvironment), Dir: "/"}
	return runWindow(cmd, sameCode(ui))
}

// CanAsk says why no dialog could be shown here.
func CanAsk() error {
	if !C.handrail_has_session() {
		return errors.New("there is no graphical session")
	}
	return nil
}

// ownToChange reports why a file or its folder could have been changed by others.
func ownToChange(file string) error {
	for _, path := range []string{filepath.Dir(file), file} {
		info, err := os.Lstat(path)
		if err == nil {
			err = ownFile(info)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sameCode is the check that a process runs a file, and code that our own signature's requirement takes for ours.
func sameCode(file string) func(pid int) error {
	return func(pid int) error {
		path := C.CString(file)
		defer C.free(unsafe.Pointer(path))
		if status := C.handrail_same_code(C.int(pid), path); status != 0 {
			return fmt.Errorf("its code isn't ours (%d)", int(status))
		}
		return nil
	}
}

// SystemLanguages are the person's languages, the preferred first, for [NewWords].
func SystemLanguages() []string {
	list := C.handrail_languages()
	defer C.free(unsafe.Pointer(list))
	return strings.Split(C.GoString(list), ",")
}

// SurfaceFactsNow looks at this process and asks the system.
func SurfaceFactsNow() SurfaceFacts {
	session := bool(C.handrail_has_session())
	return SurfaceFacts{Display: session, Graphical: session, Terminal: hasTerminal()}
}

// statusGone is the dialog's exit status when its parent went away or withdrew the question.
const statusGone = 3

// The panel's measures, in points.
const (
	panelWidth  = 560
	panelHeight = 460
	panelEdge   = 20
	panelFooter = 62
	panelRow    = 36 // what a second row of buttons takes
)

// ShowDialog is the process that [Dialog] starts: it shows the question that comes on in and gives the answer on out. It
// must be called on the main goroutine. It returns only when nothing can be shown; otherwise it ends the process, with
// status 0 after an answer.
//
// The panel floats above other windows and on every Space without taking the keyboard from what the person is doing.
// Escape refuses once the person has clicked into it, Return does nothing. People who don't use a mouse get a third
// button, behind which the system checks who they are.
func ShowDialog(in io.Reader, out io.Writer) error {
	runtime.LockOSThread()
	talk, err := Converse(in, out)
	if err != nil {
		return err
	}
	go func() {
		<-talk.Gone
		os.Exit(statusGone)
	}()
	if talk.Request.Presence && !bool(C.handrail_can_authenticate()) {
		return errors.New("showing the dialog: the system can't check who the person is, which they want")
	}
	if !C.handrail_has_session() {
		return errors.New("showing the dialog: there is no graphical session")
	}
	objc.WithAutoreleasePool(func() {
		application := appkit.Application_SharedApplication()
		application.SetActivationPolicy(appkit.ApplicationActivationPolicyAccessory)
		thePanel = &panel{talk: talk}
		thePanel.build()
		application.Run()
	})
	return errors.New("showing the dialog: the application ended by itself")
}

// panel is the dialog on the screen. There is one a process; all but answer runs on the main thread.
type panel struct {
	talk         *Conversation
	window       appkit.Panel
	allow        appkit.Button
	refuse       appkit.Button
	always       appkit.Button // where a lasting rule is offered
	authenticate appkit.Button
	asking       bool   // the system is checking who the person is
	wants        Answer // what it then answers
	shown        bool
	answered     sync.Once
}

var thePanel *panel

func (p *panel) build() {
	q := p.talk.Request.Question
	frame := rect(0, 0, panelWidth, panelHeight)
	p.window = appkit.NewPanelWithContentRectStyleMaskBackingDefer(frame,
		appkit.WindowStyleMaskTitled|appkit.WindowStyleMaskNonactivatingPanel, appkit.BackingStoreBuffered, false)
	p.window.SetTitle(q.Window)
	p.window.SetReleasedWhenClosed(false)
	p.window.SetHidesOnDeactivate(false)
	p.window.SetBecomesKeyOnlyIfNeeded(true)
	p.window.SetLevel(appkit.ModalPanelWindowLevel)
	p.window.SetCollectionBehavior(appkit.WindowCollectionBehaviorCanJoinAllSpaces | appkit.WindowCollectionBehaviorFullScreenAuxiliary)
	content := p.window.ContentView()

	icon := appkit.NewImageViewWithFrame(rect(panelEdge, panelHeight-panelEdge-48, 48, 48))
	icon.SetImage(appkit.NewImageWithData(assets.AppIcon))
	content.AddSubview(icon)

	text := appkit.NewTextViewWithFrame(rect(0, 0, panelWidth-2*panelEdge-64, 10))
	text.SetEditable(false)
	text.SetSelectable(true)
	text.SetRichText(true)
	text.SetDrawsBackground(false)
	text.SetVerticallyResizable(true)
	text.SetAutoresizingMask(appkit.ViewWidthSizable)
	write(text, q)
	footer := float64(panelFooter)
	if q.Always != "" || q.Quiet != "" {
		footer += panelRow
	}
	scroll := appkit.NewScrollViewWithFrame(rect(panelEdge+60, footer, panelWidth-2*panelEdge-56, panelHeight-footer-panelEdge))
	scroll.SetHasVerticalScroller(true)
	scroll.SetAutohidesScrollers(false)
	scroll.SetDrawsBackground(false)
	scroll.SetDocumentView(text)
	content.AddSubview(scroll)

	p.allow = p.button(q.Allow, panelWidth-panelEdge-110, 16, 110, func(objc.Object) { p.clicked(Allowed) })
	p.refuse = p.button(q.Refuse, panelWidth-panelEdge-230, 16, 114, func(objc.Object) { p.answer(Refused) })
	switch {
	case q.Always != "":
		p.always = p.button(q.Always, panelEdge, 16+panelRow, 270, func(objc.Object) { p.clicked(Always) })
	case q.Quiet != "":
		p.button(q.Quiet, panelEdge, 16+panelRow, 270, func(objc.Object) { p.answer(Quiet) })
	}
	p.refuse.SetKeyEquivalent("\x1b") // Escape; nothing has Return
	p.window.SetInitialFirstResponder(p.refuse)
	if C.handrail_can_authenticate() {
		p.authenticate = p.button(q.Authenticate, panelEdge, 16, 270, func(objc.Object) { p.check(Allowed) })
	}

	p.window.Center()
	p.window.OrderFrontRegardless()
	C.handrail_watch(p.window.Ptr(), p.allow.Ptr(), p.always.Ptr())
	main := dispatch.MainQueue()
	go func() {
		for range time.Tick(100 * time.Millisecond) {
			main.DispatchAsync(p.tick)
		}
	}()
	time.AfterFunc(p.talk.Request.VisibleFor(), func() { p.answer(TimedOut) })
}

func (p *panel) button(title string, x, y, width float64, clicked action.Handler) appkit.Button {
	b := appkit.NewButtonWithFrame(rect(x, y, width, 32))
	b.SetBezelStyle(appkit.BezelStyleRounded)
	b.SetTitle(title)
	b.SetKeyEquivalent("")
	action.Set(b, clicked)
	p.window.ContentView().AddSubview(b)
	return b
}

func rect(x, y, width, height float64) foundation.Rect {
	return foundation.Rect{Origin: foundation.Point{X: x, Y: y}, Size: foundation.Size{Width: width, Height: height}}
}

var markStyles = map[MarkAs]C.int{MarkProgram: C.handrail_program, MarkRedirect: C.handrail_redirect, MarkDelete: C.handrail_delete}

// write puts the question into a text view.
func write(view appkit.TextView, q Question) {
	add := func(s string, style C.int) {
		text := C.CString(s)
		defer C.free(unsafe.Pointer(text))
		C.handrail_write(view.Ptr(), text, style)
	}
	for _, s := range q.Title {
		if s.Bold {
			add(s.Text, C.handrail_title_bold)
		} else {
			add(s.Text, C.handrail_title)
		}
	}
	add("", C.handrail_prose)
	facts := func(list []Fact) {
		for _, f := range list {
			add(f.Label, C.handrail_label)
			if !f.Exact {
				add(f.Value, C.handrail_prose)
				continue
			}
			for _, parts := range f.Parts() {
				for _, p := range parts {
					style, marked := markStyles[p.As]
					if !marked {
						style = C.handrail_part
					}
					add(p.Text, style)
				}
				add("", C.handrail_exact)
			}
		}
	}
	facts(q.Facts)
	if q.Says != "" {
		add(q.Says, C.handrail_label)
		add(strings.TrimSpace(q.Reason+" "+q.Cut), C.handrail_prose)
	}
	add(q.More, C.handrail_heading)
	facts(q.Details)
}

// tick says when the panel is on the screen, and keeps Allow pressable only while a press would count.
func (p *panel) tick() {
	still := seconds(C.handrail_still())
	if !p.shown && still > 0 { // it can be seen
		p.shown = true
		if p.talk.Shown() != nil {
			os.Exit(statusGone)
		}
	}
	ready := still >= StandStill && !p.asking
	for _, b := range []appkit.Button{p.allow, p.always, p.authenticate} {
		if b.Ptr() != nil {
			b.SetEnabled(ready)
		}
	}
}

func seconds(s C.double) time.Duration { return time.Duration(float64(s) * float64(time.Second)) }

// clicked is the action of Allow, or of Always Allow, which the system also sends for a key or through accessibility.
func (p *panel) clicked(a Answer) {
	down, up := C.handrail_down(), C.handrail_up()
	origin := func(c C.struct_handrail_click) Origin {
		return QuartzOrigin(bool(c.has_event), int64(c.source_pid), int64(c.source_state))
	}
	on := func(c C.struct_handrail_click) bool {
		if a == Always {
			return bool(c.on_always)
		}
		return bool(c.on_allow)
	}
	facts := EventFacts{
		LeftUp:      bool(up.has_event),
		DownOnAllow: on(down), UpOnAllow: on(up),
		StillAtDown: seconds(down.still), StillAtUp: seconds(up.still),
		Origin: Posted,
	}
	if origin(down) == Device && origin(up) == Device {
		facts.Origin = Device
	}
	switch {
	case !Genuine(facts):
	case p.talk.Request.Presence:
		p.check(a)
	default:
		p.answer(a)
	}
}

// check has the system check the person, and then answers; its own sheet can't be clicked by programs.
func (p *panel) check(a Answer) {
	if p.asking || seconds(C.handrail_still()) < StandStill {
		return
	}
	p.asking, p.wants = true, a
	reason := C.CString(p.talk.Request.Question.AuthenticateReason)
	defer C.free(unsafe.Pointer(reason))
	C.handrail_authenticate(reason)
}

//export handrailAuthenticated
func handrailAuthenticated(success C.int) {
	thePanel.asking = false
	switch {
	case success == 1:
		thePanel.answer(thePanel.wants)
	case thePanel.talk.Request.Presence: // the person wants it so: who can't show that it is them allows nothing
		thePanel.answer(Refused)
	}
}

// answer gives the first answer and ends the process.
func (p *panel) answer(a Answer) {
	p.answered.Do(func() {
		if p.talk.Answer(a) != nil {
			os.Exit(statusGone)
		}
		os.Exit(0)
	})
}
