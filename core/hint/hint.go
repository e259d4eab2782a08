// Package hint is an error that a person, or the model that works for them, can act on.
//
// Ordinary errors in Handrail say what was being done to what, for engineers. What leaves the core towards a client or a
// window is a hint: what happened, why, and what to do next. A hint carries a stable code, so that a client can branch
// and a test can name it, and a private cause that is never shown.
//
//	return hint.New("not_found", "old_string does not occur in notes.txt").
//		Because("the file was changed after it was read").
//		Then("call read_file and copy the text again").
//		Wrap(err)
//
// It is a leaf: it imports no other package of the project.
package hint

import (
	"errors"
	"strings"
)

// Hint is an error with a code and up to three sentences. The zero value says that something failed, and no more.
type Hint struct {
	// Code names the kind of failure on the wire: lower-case words joined with "_". It never changes once released.
	Code string
	// What happened, Why, and what to do Next. Lower-case, no full stop. What stands first; the others may be empty.
	What, Why, Next string
	// Cause is for errors.Is and the log. It is never shown: it may hold paths or text that the caller may not see.
	Cause error
}

// New gives a hint that only says what happened.
func New(code, what string) *Hint { return &Hint{Code: code, What: what} }

// Because returns a copy that also says why.
func (h Hint) Because(why string) *Hint { h.Why = why; return &h }

// Then returns a copy that also says what to do next.
func (h Hint) Then(next string) *Hint { h.Next = next; return &h }

// Wrap returns a copy with a private cause.
func (h Hint) Wrap(cause error) *Hint { h.Cause = cause; return &h }

// Error gives the sentences in one line, headed by the code: "[code] what: why; next".
func (h *Hint) Error() string {
	var b strings.Builder
	b.WriteString("[" + h.code() + "] ")
	if h.What == "" {
		b.WriteString("something failed")
	} else {
		b.WriteString(h.What)
	}
	if h.Why != "" {
		b.WriteString(": " + h.Why)
	}
	if h.Next != "" {
		b.WriteString("; " + h.Next)
	}
	return b.String()
}

// Unwrap gives the private cause.
func (h *Hint) Unwrap() error { return h.Cause }

func (h *Hint) code() string {
	if h.Code == "" {
		return "failed"
	}
	return h.Code
}

// Of finds the hint in err's chain. An error without one becomes a hint with the code "internal" whose text says only
// that; the error stays its cause. Of(nil) is nil.
func Of(err error) *Hint {
	if err == nil {
		return nil
	}
	if h, ok := errors.AsType[*Hint](err); ok {
		return h
	}
	return &Hint{Code: "internal", What: "Handrail could not do this", Next: "look at the activity log, or try again", Cause: err}
}

// Code gives the code of the hint in err's chain, "" for nil, "internal" for an error without a hint.
func Code(err error) string {
	if err == nil {
		return ""
	}
	return Of(err).code()
}
