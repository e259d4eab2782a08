package app

import "testing"

// Only a page of the web is opened, and nothing that a program would take for an option or a file.
func TestOpenPage(t *testing.T) {
	for _, address := range []string{"", "-R", "/etc/passwd", "file:///etc/passwd", "http://example.com", "https://", "javascript:alert(1)"} {
		if err := openPage(address); err == nil {
			t.Errorf("%q was opened", address)
		}
	}
}
