package main

import (
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/widget"
)

// button is a plain button for the pointer alone: no key reaches it, and it leaves the decision what a click means to its
// owner.
type button struct {
	widget.BaseWidget
	name   string
	ground *canvas.Rectangle
	text   *fyne.Container
	// pressed says that the left button went down here and hasn't left since.
	pressed  bool
	down, up func(*desktop.MouseEvent) // may be nil
}

var (
	_ desktop.Mouseable = (*button)(nil)
	_ desktop.Hoverable = (*button)(nil)
	_ fyne.Accessible   = (*button)(nil)
)

// AccessibilityLabel is the button's text.
func (b *button) AccessibilityLabel() string { return b.name }

// AccessibilityRole implements fyne.Accessible.
func (b *button) AccessibilityRole() fyne.AccessibleRole { return fyne.AccessibleRoleButton }

func newButton(name string, label []fyne.CanvasObject, fill color.Color) *button {
	b := &button{name: name, ground: canvas.NewRectangle(fill), text: container.NewWithoutLayout()}
	b.ground.CornerRadius = 7
	b.ExtendBaseWidget(b)
	b.paint(label, fill)
	return b
}

// paint changes how the button looks.
func (b *button) paint(label []fyne.CanvasObject, fill color.Color) {
	if b.ground.FillColor == fill && len(b.text.Objects) > 0 {
		return
	}
	b.ground.FillColor = fill
	b.text.Objects = label
	b.Resize(b.Size())
	b.Refresh()
}

func (b *button) width() float32 { return b.text.Objects[0].Size().Width }

// Resize keeps the label in the middle.
func (b *button) Resize(size fyne.Size) {
	b.BaseWidget.Resize(size)
	b.ground.Resize(size)
	label := b.text.Objects[0]
	label.Move(fyne.NewPos((size.Width-label.Size().Width)/2, (size.Height-label.Size().Height)/2-1))
}

func (b *button) CreateRenderer() fyne.WidgetRenderer {
	return widget.NewSimpleRenderer(container.NewStack(b.ground, b.text))
}

func (b *button) MinSize() fyne.Size { return fyne.NewSize(b.width()+40, buttonHeight) }

func (b *button) holds(p fyne.Position) bool {
	return p.X >= 0 && p.Y >= 0 && p.X < b.Size().Width && p.Y < b.Size().Height
}

// MouseDown implements desktop.Mouseable.
func (b *button) MouseDown(e *desktop.MouseEvent) {
	b.pressed = e.Button == desktop.MouseButtonPrimary
	if b.down != nil {
		b.down(e)
	}
}

// MouseUp implements desktop.Mouseable.
func (b *button) MouseUp(e *desktop.MouseEvent) {
	if b.up != nil {
		b.up(e)
	}
	b.pressed = false
}

// MouseIn implements desktop.Hoverable.
func (b *button) MouseIn(*desktop.MouseEvent) {}

// MouseMoved implements desktop.Hoverable.
func (b *button) MouseMoved(*desktop.MouseEvent) {}

// MouseOut implements desktop.Hoverable.
func (b *button) MouseOut() { b.pressed = false }
