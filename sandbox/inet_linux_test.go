package sandbox

import (
	"net/netip"
	"testing"
)

// The addresses are read as net/netip reads them.
func TestAddresses(t *testing.T) {
	for _, text := range []string{"0.0.0.0", "127.0.0.1", "127.255.255.254", "128.0.0.1", "10.0.0.1", "255.255.255.255", "::", "::1", "::2", "1::", "::127.0.0.1", "::ffff:127.0.0.1",
		"::ffff:0.0.0.0", "::ffff:10.0.0.1", "::fffe:127.0.0.1", "1::ffff:127.0.0.1", "fe80::1", "2001:db8::1"} {
		want := netip.MustParseAddr(text)
		got := inet{want.As16(), 53, true}
		if want.Is4() {
			got = inet4(want.As4(), 53)
		}
		want = want.Unmap()
		if got.is4() != want.Is4() || got.isLoopback() != want.IsLoopback() || got.isUnspecified() != want.IsUnspecified() {
			t.Errorf("%s: %+v", text, got)
		}
	}
	if none := (inet{}); none.isLoopback() || none.isUnspecified() || !none.isOwn() {
		t.Error("no address is one")
	}
}
