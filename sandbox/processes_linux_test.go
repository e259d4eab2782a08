package sandbox

import "testing"

func TestReleases(t *testing.T) {
	for release, want := range map[string]bool{"6.14": true, "6.14.0-rc1": true, "6.18.44-generic": true, "7.0.1": true, "10.2-x": true, "6.13.99": false, "6.9": false, "6.2.14": false, "5.15.0": false,
		"2.6.60": false, "": false, "6": false, "6.x": false, "x.20": false, "6.": false} {
		if got := releaseSince(release, 6, 14); got != want {
			t.Errorf("%q: %v", release, got)
		}
	}
}
