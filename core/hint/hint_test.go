package hint

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

func TestError(t *testing.T) {
	for _, c := range []struct {
		name string
		h    *Hint
		want string
	}{
		{"zero", &Hint{}, "[failed] something failed"},
		{"what", New("not_found", "no such file"), "[not_found] no such file"},
		{"all", New("stale", "the file changed").Because("another program wrote it").Then("read it again"),
			"[stale] the file changed: another program wrote it; read it again"},
		{"no why", New("x", "a").Then("b"), "[x] a; b"},
	} {
		if got := c.h.Error(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestCopies(t *testing.T) {
	h := New("a", "b")
	_ = h.Because("c").Then("d").Wrap(fs.ErrNotExist)
	if *h != (Hint{Code: "a", What: "b"}) {
		t.Errorf("a method changed its receiver: %+v", *h)
	}
}

// The cause may name what the caller must not see.
func TestCauseStaysPrivate(t *testing.T) {
	cause := errors.New("open /home/me/.ssh/id_rsa: denied")
	for _, err := range []error{New("denied", "not readable").Wrap(cause), Of(cause), Of(fmt.Errorf("doing: %w", cause))} {
		if strings.Contains(err.Error(), ".ssh") {
			t.Errorf("%q shows its cause", err)
		}
		if !errors.Is(err, cause) {
			t.Errorf("%q lost its cause", err)
		}
	}
}

func TestOf(t *testing.T) {
	h := New("stale", "x")
	if Of(nil) != nil || Code(nil) != "" {
		t.Error("no error is no hint")
	}
	if Of(fmt.Errorf("edit notes.txt: %w", h)) != h {
		t.Error("a wrapped hint was not found")
	}
	if c := Code(errors.New("x")); c != "internal" {
		t.Errorf("code of a plain error is %q", c)
	}
}
