package sandbox

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// What the launcher writes is what the host reads, one line each.
func TestReports(t *testing.T) {
	for _, r := range []report{
		{Started: true},
		{Exit: &Exit{}},
		{Exit: &Exit{Code: 137, Signal: "SIGKILL", LeftRunning: 2}},
		{Exit: &Exit{Code: 1, Signal: "\"odd\\"}},
		{Failure: &failure{Kind: "place", What: "/a \"b\"", Errno: 2}},
		{},
	} {
		var b strings.Builder
		r.send(&b)
		var got report
		if err := json.Unmarshal([]byte(b.String()), &got); err != nil || !reflect.DeepEqual(got, r) || strings.Count(b.String(), "\n") != 1 || !strings.HasSuffix(b.String(), "\n") {
			t.Errorf("%+v became %q: %+v, %v", r, b.String(), got, err)
		}
	}
}
