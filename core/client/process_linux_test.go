package client

import "testing"

func TestParentOf(t *testing.T) {
	for _, c := range []struct {
		stat string
		want int
		ok   bool
	}{
		{"12 (bash) S 7 12 12 0", 7, true},
		{"12 (a) b) (c) R 1 2) S 9 12", 9, true},
		{"12 (x", 0, false},
		{"", 0, false},
		{"12 (x) S y", 0, false},
	} {
		if got, ok := parentOf([]byte(c.stat)); got != c.want || ok != c.ok {
			t.Errorf("parentOf(%q) = %d, %v", c.stat, got, ok)
		}
	}
}
