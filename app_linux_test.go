package main

import (
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
)

// Where another user's Handrail has the port, the app starts without it, and serve says so and doesn't.
func TestPortTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, app := range []bool{false, true} {
		var said strings.Builder
		f := hostFlags{Addr: taken.Addr().String(), withoutHTTP: app}
		h := newComputer(t).host(t)
		_, err := f.listen(h, &said)
		if app != (err == nil) || !app && !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("app %v: %v", app, err)
		}
		if app && (!strings.Contains(said.String(), "another user") || h.Status().Address != "") {
			t.Errorf("said %q, address %q", said.String(), h.Status().Address)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
}
