package edit

import (
	"regexp"
	"testing"
	"time"
)

func TestRuns(t *testing.T) {
	for _, c := range []struct {
		content string
		perm    uint32
		want    bool
	}{
		{"text", 0o644, false}, {"", 0o644, false}, {"", 0o755, true}, {"text", 0o744, true}, {"text", 0o601, true},
		{"#!/bin/sh\n", 0o644, true}, {"#", 0o644, false}, {" #!/bin/sh\n", 0o644, false}, {"\x7fELF\x02", 0o600, true}, {"\xcf\xfa\xed\xfe\x07", 0o644, true},
		{"\xca\xfe\xba\xbe", 0o644, true}, {"%PDF", 0o644, false},
	} {
		if got := runs([]byte(c.content), c.perm); got != c.want {
			t.Errorf("%q, %o: %v", c.content, c.perm, got)
		}
	}
	if mark := quarantineMark(time.Unix(0x6734abcd, 0)); !regexp.MustCompile(`^[0-9a-f]{4};[0-9a-f]{8};[^;]+;$`).MatchString(mark) || mark != "0081;6734abcd;Handrail;" {
		t.Errorf("%q", mark)
	}
}
