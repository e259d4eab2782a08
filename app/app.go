// Package app is what the person sees of Handrail, apart from the windows that need Fyne: what a question says, the
// dialog that asks it, the menu bar's menu, and the choice of the surface that asks. It renders the core's status and
// implements the core's approval.Asker; it decides nothing and knows no tool.
//
// A question starts as an approval.Request. [NewQuestion] turns it into words, [Escape] makes every foreign word in it
// safe to read, and [Dialog] puts it on the screen in a process of its own. Only a click of the person's in that process
// allows.
package app
